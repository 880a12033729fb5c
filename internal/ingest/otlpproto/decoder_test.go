package otlpproto

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// decodeAll decodes one message and returns each record in words.
func decodeAll(t testing.TB, d *Decoder, data []byte, keepAll bool) ([]string, *decode.Report) {
	t.Helper()
	return decodeInto(t, d, data, model.NewBatch(model.NewDict(), keepAll))
}

// decodeShown keeps all attributes and shows secret values.
func decodeShown(t testing.TB, data []byte) ([]string, *decode.Report) {
	t.Helper()
	b := model.NewBatch(model.NewDict(), true)
	b.ShowSensitive = true
	return decodeInto(t, new(Decoder), data, b)
}

func decodeInto(t testing.TB, d *Decoder, data []byte, b *model.Batch) ([]string, *decode.Report) {
	t.Helper()
	rep := new(decode.Report)
	d.Decode(decode.Block{Path: "x.pb", Family: "x.pb", Data: data, Offset: 1000}, b, rep)
	var out []string
	for i := range b.Records {
		out = append(out, describe(b, &b.Records[i]))
	}
	if int64(len(out)) != rep.Spans {
		t.Errorf("%d records, but the report says %d spans", len(out), rep.Spans)
	}
	return out, rep
}

func describe(b *model.Batch, r *model.Record) string {
	var s strings.Builder
	d := b.Dict
	fmt.Fprintf(&s, "%s %s<%s %q kind=%d %d..%d scope=%q", d.TraceIDText(r.Trace), d.SpanIDText(r.ID), d.SpanIDText(r.Parent), d.Str(r.Name), r.Kind, r.Start, r.End, d.Str(r.Scope))
	res := d.Res(r.Res)
	fmt.Fprintf(&s, " res=%q,%q,%q,%d", res.Instance, res.Service, res.Host, res.PID)
	if r.Flags&model.RecordError != 0 {
		s.WriteString(" ERROR")
	}
	attrs := b.AttrsOf(r)
	for i := range attrs {
		a := &attrs[i]
		fmt.Fprintf(&s, " %s=", d.KeyName(a.Key))
		switch a.Kind {
		case model.StrValue:
			fmt.Fprintf(&s, "%q", b.TextOf(a))
		case model.FloatValue:
			fmt.Fprint(&s, math.Float64frombits(a.Bits))
		case model.BoolValue:
			fmt.Fprint(&s, a.Bits != 0)
		default:
			fmt.Fprint(&s, int64(a.Bits))
		}
	}
	return s.String()
}

func texts(rep *decode.Report) string {
	var all []string
	for _, p := range rep.Problems {
		all = append(all, fmt.Sprintf("%d: %s", p.Offset, p.Text))
	}
	return strings.Join(all, "\n")
}

func want(t *testing.T, got []string, lines ...string) {
	t.Helper()
	if !slices.Equal(got, lines) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

const rpcLine = `a0010203 04050607 08090a0b 0c0d0e0f 0000000000000012<0000000000000011 "cb.lookup.rpc" kind=3 1000000000..1090000000 scope="cb.scheduler" res="i-1","vllm","node-7",42 ERROR`

// Fields in ascending order (most libraries), and in descending order at every level (the collector): the same record.
func TestFieldOrder(t *testing.T) {
	line := strings.Replace(rpcLine, "a0010203 04050607 08090a0b 0c0d0e0f", "a00102030405060708090a0b0c0d0e0f", 1) + ` n_polls=4 request_id="req-1"`
	attrs := []msg{pair("n_polls", intValue(4)), pair("request_id", strValue("req-1"))}
	resource := []msg{pair("service.name", strValue("vllm")), pair("service.instance.id", strValue("i-1")), pair("host.name", strValue("node-7")), pair("process.pid", intValue(42))}

	up := request(resourceOf(resource...), "cb.scheduler", fullSpan(attrs...))
	for i := range attrs {
		attrs[i] = attrs[i].down()
	}
	for i := range resource {
		resource[i] = resource[i].down()
	}
	scopes := msg{sub(2, fullSpan(attrs...).down()), sub(1, msg{text(2, "0.1"), text(1, "cb.scheduler")})}
	down := msg{sub(1, msg{text(3, "https://schema"), sub(2, scopes), sub(1, resourceOf(resource...))})}.bytes()

	for name, data := range map[string][]byte{"up": up, "down": down} {
		t.Run(name, func(t *testing.T) {
			got, rep := decodeAll(t, new(Decoder), data, false)
			want(t, got, line)
			if rep.ErrorCount != 0 || rep.Truncated {
				t.Errorf("problems: %s", texts(rep))
			}
		})
	}
	if bytes.Equal(up, down) {
		t.Error("both orders are the same bytes")
	}
}

// Two ResourceSpans with two ScopeSpans each: a resource or scope that comes last goes to its own spans only.
func TestPatchOwnSpans(t *testing.T) {
	span := func(n byte) []byte { return sub(2, msg{length(2, []byte{0, 0, 0, 0, 0, 0, 0, n})}) }
	scope := func(name string, spans ...[]byte) []byte {
		return sub(2, append(msg(spans), sub(1, msg{text(1, name)})))
	}
	none := sub(2, msg{span(5)}) // no scope
	rs := func(service string, scopes ...[]byte) []byte {
		return sub(1, append(msg(scopes), sub(1, resourceOf(pair("service.name", strValue(service))))))
	}
	data := msg{rs("a", scope("s1", span(1), span(2)), scope("s2", span(3))), rs("b", scope("s3", span(4)), none), sub(1, msg{scope("s4", span(6))})}.bytes()
	got, _ := decodeAll(t, new(Decoder), data, false)
	for i, w := range []string{"1 s1 a", "2 s1 a", "3 s2 a", "4 s3 b", "5  b", "6 s4 "} {
		p := strings.Split(w, " ")
		if !strings.Contains(got[i], "000"+p[0]+"<") || !strings.Contains(got[i], fmt.Sprintf("scope=%q res=\"\",%q", p[1], p[2])) {
			t.Errorf("span %d: got %s, want %s", i, got[i], w)
		}
	}
}

func TestIDs(t *testing.T) {
	id := func(n int) []byte { return bytes.Repeat([]byte{7}, n) }
	for _, c := range []struct {
		name  string
		trace []byte
		span  []byte
		up    []byte
		want  string // the beginning of the record, or of the problem
	}{
		{"whole", id(16), id(8), id(8), strings.Repeat("07", 16) + " 0707070707070707<0707070707070707 "},
		{"none", nil, nil, nil, ` < ""`},
		{"zeros", make([]byte, 16), make([]byte, 8), make([]byte, 8), ` < ""`},
		{"64-bit trace", id(8), id(8), nil, "1002: span: trace id: want 16 bytes, have 8"},
		{"hex text", id(32), id(8), nil, "1002: span: trace id: want 16 bytes, have 32"},
		{"long span", id(16), id(9), nil, "1002: span: span id: want 8 bytes, have 9"},
		{"short parent", id(16), id(8), id(7), "1002: span: parent span id: want 8 bytes, have 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spans := msg{sub(2, msg{length(1, c.trace), length(2, c.span), length(4, c.up)}), sub(2, msg{text(5, "next")})}
			data := msg{sub(1, msg{sub(2, spans)})}.bytes()
			got, rep := decodeAll(t, new(Decoder), data, false)
			if rep.Skipped == 0 {
				if !strings.HasPrefix(got[0], c.want) {
					t.Errorf("got %s", got[0])
				}
				return
			}
			if rep.Skipped != 1 || len(got) != 1 || !strings.Contains(got[0], `"next"`) || !strings.HasPrefix(texts(rep), strings.Replace(c.want, "1002", "1004", 1)) {
				t.Errorf("skipped %d, %q, %v", rep.Skipped, texts(rep), got)
			}
		})
	}
}

// R3.5: a time that was not written is 0, one that does not fit counts as not written and is said.
func TestTimes(t *testing.T) {
	span := msg{fixed(7, 5), fixed(8, 1<<63)}
	got, rep := decodeAll(t, new(Decoder), request(nil, "s", span, msg{text(5, "timeless")}), false)
	if !strings.Contains(got[0], " 5..0 ") || !strings.Contains(got[1], " 0..0 ") || rep.ErrorCount != 1 || rep.Skipped != 0 {
		t.Errorf("got %v, %s", got, texts(rep))
	}
}

func TestKindAndStatus(t *testing.T) {
	for _, c := range []struct {
		name string
		span msg
		want string
	}{
		{"server, ok", msg{number(6, 2), sub(15, msg{number(3, 1)})}, `kind=2 0..0 scope="s" res="","","",0`},
		{"unknown kind", msg{number(6, 99)}, `kind=0 0..0 scope="s" res="","","",0`},
		{"deprecated code is not the code", msg{sub(15, msg{number(1, 2)})}, `kind=0 0..0 scope="s" res="","","",0`},
		{"error", msg{sub(15, msg{number(3, 2), text(2, "late")})}, `kind=0 0..0 scope="s" res="","","",0 ERROR`},
	} {
		got, _ := decodeAll(t, new(Decoder), request(nil, "s", c.span), false)
		if len(got) != 1 || !strings.HasSuffix(got[0], c.want) {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}

func TestAttributes(t *testing.T) {
	attrs := []msg{
		pair("hit_tokens", strValue("1280")),    // numbers may be text (R7.6)
		pair("hit_tokens", intValue(-7)),        // of a key that repeats the last counts: both are kept, in order
		pair("recomp_ratio", floatValue(0.15)),  //
		pair("success", strValue("True")),       //
		pair("worker_id", intValue(3)),          // a text key
		pair("early_exit_reason", msg{}),        // an empty value
		{text(1, "matches")},                    // no value at all
		pair("dispatch", listValue()),           //
		pair("other", boolValue(1)),             // outside the table
		pair("raw", bytesValue([]byte{1, 2})),   //
		pair("big", intValue(9007199254740993)), // past 2^53
		pair("list", arrayValue(strValue("a\"\x01é\xff"), intValue(-1), boolValue(0), floatValue(math.Inf(-1)), floatValue(0.5), msg{}, bytesValue([]byte{1}), listValue(pair("k", arrayValue())))),
		pair("\xff", strValue("bad \xc3 text")),
	}
	data := request(nil, "s", msg(nil).with(attrs))
	table := ` hit_tokens=1280 hit_tokens=-7 recomp_ratio=0.15 success=true worker_id="3" dispatch="{}"`
	got, rep := decodeAll(t, new(Decoder), data, false)
	if !strings.HasSuffix(got[0], `,"",0`+table) || rep.ErrorCount != 0 {
		t.Errorf("got %s, %s", got, texts(rep))
	}
	got, _ = decodeAll(t, new(Decoder), data, true)
	all := table + ` other=true raw="AQI=" big=9007199254740993 list="[\"a\\\"\\u0001é` + "\uFFFD" + `\",-1,false,\"-Infinity\",0.5,null,\"AQ==\",{\"k\":[]}]"` + " \uFFFD=" + `"bad ` + "\uFFFD" + ` text"`
	if !strings.HasSuffix(got[0], all) {
		t.Errorf("got  %s\nwant …%s", got[0], all)
	}
}

func (m msg) with(attrs []msg) msg {
	for _, a := range attrs {
		m = append(m, sub(9, a))
	}
	return m
}

// R3.6: also inside lists, and numbers too.
func TestSecrets(t *testing.T) {
	data := request(nil, "s", msg(nil).with([]msg{
		pair("gen_ai.prompt.0.content", strValue("the prompt")),
		pair("token_ids", arrayValue(intValue(11), intValue(22))),
		pair("cache_salt", intValue(12345)),
		pair("body", listValue(pair("authorization", strValue("Bearer x")), pair("n", intValue(1)))),
	}))
	got, _ := decodeAll(t, new(Decoder), data, true)
	if w := ` gen_ai.prompt.0.content="<redacted 10 bytes>" token_ids="<redacted 7 bytes>" cache_salt="<redacted 5 bytes>" body="{\"authorization\":\"<redacted 8 bytes>\",\"n\":1}"`; !strings.HasSuffix(got[0], w) {
		t.Errorf("got %s", got[0])
	}
	got, _ = decodeShown(t, data)
	if w := ` gen_ai.prompt.0.content="the prompt" token_ids="[11,22]" cache_salt=12345 body="{\"authorization\":\"Bearer x\",\"n\":1}"`; !strings.HasSuffix(got[0], w) {
		t.Errorf("got %s", got[0])
	}
}

// A value that nests too deep loses the attribute, not the span, whether attributes are kept or not.
func TestDeepNesting(t *testing.T) {
	deep := func(n int) msg {
		v := intValue(1)
		for range n {
			v = arrayValue(v)
		}
		return v
	}
	for _, keepAll := range []bool{false, true} {
		got, rep := decodeAll(t, new(Decoder), request(nil, "s", msg(nil).with([]msg{pair("a", deep(maxDepth)), pair("n_polls", intValue(2))})), keepAll)
		if rep.ErrorCount != 0 || !strings.Contains(got[0], "n_polls=2") {
			t.Errorf("%d levels: %s", maxDepth, texts(rep))
		}
		got, rep = decodeAll(t, new(Decoder), request(nil, "s", msg(nil).with([]msg{pair("a", deep(5000)), pair("n_polls", intValue(2))})), keepAll)
		if rep.ErrorCount != 1 || rep.Skipped != 0 || !strings.Contains(texts(rep), "nests deeper than 64 levels") || !strings.HasSuffix(got[0], ",0 n_polls=2") {
			t.Errorf("5000 levels: %v, %s", got, texts(rep))
		}
	}
}

// A message that is cut anywhere keeps the spans that are whole, says so once, and never invents one.
func TestCut(t *testing.T) {
	whole := request(resourceOf(pair("service.name", strValue("a"))), "s", msg{text(5, "one"), length(2, spanOne)}, msg{text(5, "two"), length(2, spanTwo)})
	whole = append(whole, request(resourceOf(pair("service.name", strValue("b"))), "s", msg{text(5, "three")})...)
	all, _ := decodeAll(t, new(Decoder), whole, false)
	seen := map[int]bool{}
	for n := 1; n < len(whole); n++ {
		got, rep := decodeAll(t, new(Decoder), whole[:n], false)
		boundary := n == len(whole)-len(request(resourceOf(pair("service.name", strValue("b"))), "s", msg{text(5, "three")}))
		if rep.Truncated == boundary {
			t.Fatalf("%d bytes: truncated is %v", n, rep.Truncated)
		}
		if !boundary && (rep.Skipped != 1 || !strings.Contains(texts(rep), "message: ends in the middle of a record")) {
			t.Fatalf("%d bytes: %d skipped: %s", n, rep.Skipped, texts(rep))
		}
		if !slices.Equal(got, all[:len(got)]) {
			t.Fatalf("%d bytes: got %q", n, got)
		}
		seen[len(got)] = true
	}
	if !seen[0] || !seen[1] || !seen[2] || !seen[3] {
		t.Errorf("counts of spans seen: %v", seen)
	}
}

// A broken message inside a whole one is reported with its place, and what follows it counts.
func TestBroken(t *testing.T) {
	bad := []byte{0x0a, 0x7f} // a length past its message
	next := request(nil, "s", msg{text(5, "next")})
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"span", "span: a field runs past", request(nil, "s", msg{bad})},
		{"attribute", "span: attribute: a field runs past", request(nil, "s", msg{sub(9, msg{bad})})},
		{"attribute type", "span: attribute: a known field of another type", request(nil, "s", msg{sub(9, msg{number(1, 4)})})},
		{"value type", "span: attribute: a known field of another type", request(nil, "s", msg{sub(9, msg{text(1, "k"), sub(2, msg{number(1, 4)})})})},
		{"start as a number", "span: a known field of another type", request(nil, "s", msg{number(7, 4)})},
		{"group", "span: a group", request(nil, "s", msg{tag(20, 3), tag(20, 4)})},
		{"field 0", "span: not a protobuf field", request(nil, "s", msg{{0, 1}})},
		{"long integer", "span: an integer of more than 64 bits", request(nil, "s", msg{append(tag(6, 0), bytes.Repeat([]byte{0xff}, 12)...)})},
		{"status", "span: status: a field runs past", request(nil, "s", msg{sub(15, msg{bad})})},
		{"scope spans", "scope spans: a field runs past", msg{sub(1, msg{sub(2, msg{sub(2, msg{text(5, "kept")}), bad})})}.bytes()},
		{"resource spans", "resource spans: a field runs past", msg{sub(1, msg{sub(2, msg{sub(2, msg{text(5, "kept")})}), bad})}.bytes()},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, rep := decodeAll(t, new(Decoder), append(c.data, next...), false)
			if rep.Skipped != 1 || rep.Truncated || !strings.Contains(texts(rep), c.want) {
				t.Errorf("skipped %d: %s", rep.Skipped, texts(rep))
			}
			if len(got) == 0 || !strings.Contains(got[len(got)-1], `"next"`) {
				t.Errorf("got %v", got)
			}
			if strings.HasSuffix(c.name, "spans") && (len(got) != 2 || !strings.Contains(got[0], `"kept"`)) {
				t.Errorf("got %v", got)
			}
		})
	}
	got, rep := decodeAll(t, new(Decoder), append(slices.Clone(next), 0x07), false)
	if len(got) != 1 || rep.Skipped != 1 || !strings.Contains(texts(rep), "message: not a protobuf field") {
		t.Errorf("garbage after a message: %v, %s", got, texts(rep))
	}
	// The resource is broken: its spans count, its readable part too.
	res := msg{sub(1, pair("service.name", strValue("a"))), bad}
	got, rep = decodeAll(t, new(Decoder), request(res, "s", msg{text(5, "x")}), false)
	if len(got) != 1 || !strings.Contains(got[0], `res="","a"`) || rep.ErrorCount != 1 || rep.Skipped != 0 {
		t.Errorf("broken resource: %v, %s", got, texts(rep))
	}
}

func TestTempoAnswer(t *testing.T) {
	trace := request(resourceOf(pair("service.name", strValue("a"))), "s", msg{text(5, "x")})
	metrics := text(2, "\x08\x05")
	for _, c := range []struct {
		name    string
		data    []byte
		spans   int
		partial bool
	}{
		{"complete", msg{length(1, trace), metrics}.bytes(), 1, false},
		{"partial", msg{length(1, trace), metrics, number(3, 1), text(4, "trace exceeds the limit")}.bytes(), 1, true},
		{"descending", msg{length(1, trace), metrics, number(3, 1), text(4, "trace exceeds the limit")}.down().bytes(), 1, true},
		{"two resources", msg{length(1, append(slices.Clone(trace), trace...))}.bytes(), 2, false},
		{"bare", trace, 1, false},
		{"bare without scopes", msg{sub(1, msg{sub(1, resourceOf(pair("k", strValue("v")), pair("k", strValue("v"))))})}.bytes(), 0, false},
		{"empty", nil, 0, false},
	} {
		got, rep := decodeAll(t, new(Decoder), c.data, false)
		if len(got) != c.spans || rep.ErrorCount != 0 {
			t.Errorf("%s: %d spans, %s", c.name, len(got), texts(rep))
		}
		if note := strings.Join(rep.Notes, "|"); strings.Contains(note, "PARTIAL): trace exceeds the limit") != c.partial || rep.Truncated != c.partial {
			t.Errorf("%s: notes %q, truncated %v", c.name, note, rep.Truncated)
		}
	}
}

// A collector writes metrics, logs and profiles through the same exporter into the same file (FORMATS 0.5).
func TestOtherSignals(t *testing.T) {
	one := func(record msg) []byte {
		return request(resourceOf(pair("service.name", strValue("a"))), "s", record, record)
	}
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"metrics", one(msg{text(1, "queue.length"), text(2, "how long"), text(3, "1"), sub(5, msg{sub(1, msg{fixed(3, 5)})})})},
		{"metrics", one(msg{text(1, "sixteen-letters!"), text(2, "eight...s"), sub(7, msg{number(3, 1)})})},
		{"logs", one(msg{fixed(1, 5), number(2, 9), sub(5, strValue("a line")), fixed(11, 5)})},
		{"profiles", one(msg{sub(1, msg{number(1, 2)}), sub(2, msg{number(1, 1)}), fixed(3, 5), number(4, 6)})},
	} {
		got, rep := decodeAll(t, new(Decoder), c.data, false)
		if len(got) != 0 || rep.Skipped != 0 || rep.Signals[c.name] != 1 || len(rep.Signals) != 1 {
			t.Errorf("%s: %v, signals %v, %s", c.name, got, rep.Signals, texts(rep))
		}
	}
	// A broken span is no signal.
	if _, rep := decodeAll(t, new(Decoder), one(msg{text(1, "short"), fixed(7, 1), fixed(8, 2), sub(9, pair("k", strValue("v")))}), false); rep.Skipped != 2 || rep.Signals != nil {
		t.Errorf("broken spans: %d skipped, signals %v", rep.Skipped, rep.Signals)
	}
}

// Known files of other projects and of ours: counts as in their manifests.
func TestFiles(t *testing.T) {
	for _, c := range []struct {
		file                            string
		spans, traces, services, failed int
		first, last                     model.Time // 0: not known
		service                         string     // of the first span
	}{
		{"duckdb-otlp-traces.pb", 1, 1, 1, 0, 1609459200000000000, 1609459200100000000, ""},
		{"otlp2parquet-traces.pb", 19, 19, 8, 0, 1760738064624180000, 1760738083067180000, ""},
		{"proto-single.pb", 7, 2, 3, 1, 0, 0, "vllm-scheduler"},
		{"proto-scope-field-1000.pb", 7, 2, 3, 1, 0, 0, "vllm-scheduler"},
		{"jaeger-api-v3-chunk.pb", 2, 1, 1, 1, 1795971760153354617, 1795971760155536492, "cbtrace-sdk"},
	} {
		data, err := os.ReadFile("testdata/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		b := model.NewBatch(model.NewDict(), false)
		var rep decode.Report
		new(Decoder).Decode(decode.Block{Data: data, Family: c.file}, b, &rep)
		traces, services, failed := map[model.TraceID]bool{}, map[string]bool{}, 0
		first, last := model.Time(math.MaxInt64), model.Time(0)
		for _, r := range b.Records {
			traces[r.Trace], services[b.Dict.Res(r.Res).Service] = true, true
			first, last = min(first, r.Start), max(last, r.End)
			if r.Flags&model.RecordError != 0 {
				failed++
			}
		}
		if len(b.Records) != c.spans || len(traces) != c.traces || len(services) != c.services || failed != c.failed || rep.ErrorCount != 0 {
			t.Errorf("%s: %d spans, %d traces, %d services, %d failed; %s", c.file, len(b.Records), len(traces), len(services), failed, texts(&rep))
		}
		if c.first != 0 && (first != c.first || last != c.last) {
			t.Errorf("%s: %d to %d", c.file, first, last)
		}
		if got := b.Dict.Res(b.Records[0].Res).Service; c.service != "" && got != c.service {
			t.Errorf("%s: service %q", c.file, got)
		}
	}
}

func TestReportsTruncatedAsSuch(t *testing.T) {
	var rep decode.Report
	d := Decoder{rep: &rep, blk: decode.Block{}}
	d.message([]byte{0x0a})
	if !rep.Truncated || !strings.Contains(rep.Problems[0].Text, decode.ErrTruncated.Error()) || errors.Is(errShort, decode.ErrTruncated) {
		t.Errorf("%+v", rep)
	}
}

func TestASCII(t *testing.T) {
	for n := range 40 {
		s := bytes.Repeat([]byte("a"), n)
		if !ascii(s) {
			t.Errorf("%d letters are not ASCII", n)
		}
		for i := range s {
			if s[i] = 0x80; ascii(s) {
				t.Errorf("%d bytes with 0x80 at %d are ASCII", n, i)
			}
			s[i] = 'a'
		}
	}
}
