package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A speller writes JSON in the ways of many writers.
type speller struct{ *rand.Rand }

func (r speller) one(of ...string) string { return of[r.IntN(len(of))] }

// object writes members in any order, with keys in any spelling and white space anywhere.
func (r speller) object(members ...string) string {
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + r.space() + strings.Join(members, r.space()+","+r.space()) + r.space() + "}"
}

func (r speller) space() string {
	if r.IntN(4) > 0 {
		return ""
	}
	return r.one(" ", "\t", " \r ", "   ")
}

// member writes a key in camelCase or snake_case, now and then with an escape.
func (r speller) member(key, value string) string {
	if r.IntN(4) == 0 {
		var snake strings.Builder
		for _, c := range key {
			if c >= 'A' && c <= 'Z' {
				snake.WriteByte('_')
				c += 'a' - 'A'
			}
			snake.WriteRune(c)
		}
		key = snake.String()
	}
	if r.IntN(20) == 0 {
		at := r.IntN(len(key))
		key = key[:at] + fmt.Sprintf("\\u%04x", key[at]) + key[at+1:]
	}
	return `"` + key + `"` + r.space() + ":" + r.space() + value
}

func (r speller) text(s string) string {
	var out strings.Builder
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			out.WriteString(`\` + string(c))
		case c < ' ' || r.IntN(30) == 0 && c < 0x10000:
			fmt.Fprintf(&out, "\\u%04X", c)
		default:
			out.WriteRune(c)
		}
	}
	return `"` + out.String() + `"`
}

func (r speller) number(n int64) string {
	digits := fmt.Sprint(n)
	text := digits
	if n > 0 && len(digits) > 1 {
		text = r.one(digits, digits, digits, digits[:1]+"."+digits[1:]+fmt.Sprintf("e%d", len(digits)-1), digits+".0", digits+"E+0")
	}
	if n > 0 && r.IntN(8) == 0 {
		return fmt.Sprintf(`{"high":%d,"low":%d}`, n>>32, r.lowHalf(n))
	}
	return r.one(text, `"`+text+`"`, `"`+text+`"`)
}

// lowHalf is the low word of a Long, with or without a sign.
func (r speller) lowHalf(n int64) int64 {
	if r.IntN(2) == 0 {
		return int64(int32(n))
	}
	return int64(uint32(n))
}

func (r speller) id(n uint64, size int) string {
	b := make([]byte, size)
	for i := size - 1; i >= size-8; i-- {
		b[i], n = byte(n), n>>8
	}
	h := hex.EncodeToString(b)
	return `"` + r.one(h, h, strings.ToUpper(h), "0x"+h, base64.StdEncoding.EncodeToString(b), base64.URLEncoding.EncodeToString(b), base64.StdEncoding.EncodeToString([]byte(h))) + `"`
}

func (r speller) attribute(key, kind, value string) string {
	return r.object(r.member("key", r.text(key)), r.member("value", r.object(r.member(kind, value))))
}

func (r speller) list(items []string) string {
	return "[" + r.space() + strings.Join(items, r.space()+","+r.space()) + r.space() + "]"
}

// Whatever the spelling, the record is the one that was written.
func TestRandomSpellings(t *testing.T) {
	r := speller{rand.New(rand.NewPCG(20251129, 1))}
	kinds := []string{"UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"}
	var d Decoder
	for range 300 {
		var doc, lines []string
		for range 1 + r.IntN(3) {
			service, scope := r.one("vllm", "lmcache \"0\"", "caf\u00e9"), r.one("", "lmcache_mp.blend", "a\tb")
			var spans []string
			for range r.IntN(4) {
				name := r.one("cb.lookup", "cb.retrieve", "with \\ \"quotes\"", "\u4e16\u754c", "a much longer name of a span that is not in the vocabulary")
				trace, id, parent := r.Uint64()|1, r.Uint64()|1, r.Uint64()*uint64(r.IntN(2))
				start, end, kind, failed := r.Int64N(1<<62), r.Int64N(1<<62), r.IntN(6), r.IntN(2) == 1
				members := []string{
					r.member("traceId", r.id(trace, 16)), r.member("spanId", r.id(id, 8)), r.member("name", r.text(name)), r.member("startTimeUnixNano", r.number(start)), r.member("endTimeUnixNano", r.number(end)),
					r.member("kind", r.one(fmt.Sprint(kind), fmt.Sprintf("%q", fmt.Sprint(kind)), `"SPAN_KIND_`+kinds[kind]+`"`)), r.member("traceState", `"a=b"`), r.member("events", `[{"name":"x","attributes":[{"key":"bytes","value":{"intValue":9}}]},null]`),
				}
				if parent != 0 {
					members = append(members, r.member("parentSpanId", r.id(parent, 8)))
				}
				line := fmt.Sprintf("%032x %016x<", trace, id)
				if parent != 0 {
					line += fmt.Sprintf("%016x", parent)
				}
				line += fmt.Sprintf(" %q kind=%d %d..%d scope=%q line=1 res=\"\",%q,\"\",77", name, kind, start, end, scope, service)
				if failed {
					members = append(members, r.member("status", r.object(r.member("code", r.one("2", `"2"`, `"STATUS_CODE_ERROR"`)), r.member("message", `"no"`), r.member("deprecatedCode", "1"))))
					line += " ERROR"
				} else {
					members = append(members, r.member("status", r.one("{}", "null", `{"code":1}`, `{"deprecatedCode":2}`)))
				}
				var attrs []string
				for range r.IntN(5) {
					n := r.Int64N(1 << 60)
					switch r.IntN(5) {
					case 0:
						attrs = append(attrs, r.attribute("bytes", "intValue", r.number(n)))
						line += fmt.Sprintf(" bytes=%d", n)
					case 1:
						attrs = append(attrs, r.attribute("model", "stringValue", r.text(name)))
						line += fmt.Sprintf(" model=%q", name)
					case 2:
						attrs = append(attrs, r.attribute("success", "boolValue", r.one("true", `"true"`)))
						line += " success=true"
					case 3:
						attrs = append(attrs, r.attribute("recomp_ratio", "doubleValue", r.one("0.25", `"0.25"`, "2.5e-1", "25E-2")))
						line += " recomp_ratio=0.25"
					default:
						attrs = append(attrs, r.attribute("not in the table", r.one("stringValue", "bytesValue", "arrayValue"), r.one(`"x"`, `{"values":[{"intValue":1}]}`, "7")))
					}
				}
				members = append(members, r.member("attributes", r.list(attrs)))
				spans, lines = append(spans, r.object(members...)), append(lines, line)
			}
			resource := r.object(r.member("attributes", r.list([]string{r.attribute("service.name", "stringValue", r.text(service)), r.attribute("process.pid", "intValue", r.number(77)), r.attribute("x", "doubleValue", "1.5")})))
			scopes := r.object(r.member("scope", r.object(r.member("name", r.text(scope)), r.member("version", `"1"`))), r.member("spans", r.list(spans)), r.member("schemaUrl", `""`))
			doc = append(doc, r.object(r.member("resource", resource), r.member(r.one("scopeSpans", "instrumentationLibrarySpans"), r.list([]string{scopes})), r.member("schemaUrl", `""`)))
		}
		text := r.object(r.member(r.one("resourceSpans", "batches"), r.list(doc)))
		if r.IntN(4) == 0 {
			text = r.object(r.member("trace", text), r.member("status", `"COMPLETE"`))
		}
		got, rep, n := decodeAll(t, &d, text, false)
		if want(t, got, lines...); t.Failed() || rep.ErrorCount != 0 || n != len(text) {
			t.Fatalf("%d of %d bytes, %s\n%s", n, len(text), problems(&rep), text)
		}
	}
}
