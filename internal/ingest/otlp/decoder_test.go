package otlp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// decodeAll decodes a block and describes each record in a line.
func decodeAll(t testing.TB, d *Decoder, data string, keepAll bool) (lines []string, rep decode.Report, n int) {
	t.Helper()
	b := model.NewBatch(model.NewDict(), keepAll)
	n = d.Decode(decode.Block{Path: "a.jsonl", Family: "a.jsonl", Data: []byte(data), Line: 1}, b, &rep)
	for i := range b.Records {
		lines = append(lines, describe(b, &b.Records[i]))
	}
	if int64(len(lines)) != rep.Spans {
		t.Errorf("%d records, but the report says %d spans", len(lines), rep.Spans)
	}
	return lines, rep, n
}

func describe(b *model.Batch, r *model.Record) string {
	var s strings.Builder
	d := b.Dict
	fmt.Fprintf(&s, "%s %s<%s %q kind=%d %d..%d scope=%q line=%d", d.TraceIDText(r.Trace), d.SpanIDText(r.ID), d.SpanIDText(r.Parent), d.Str(r.Name), r.Kind, r.Start, r.End, d.Str(r.Scope), r.Pos)
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

func problems(rep *decode.Report) string {
	var all []string
	for _, p := range rep.Problems {
		all = append(all, fmt.Sprintf("%d: %s", p.Line, p.Text))
	}
	return strings.Join(all, "\n")
}

func want(t *testing.T, got []string, lines ...string) {
	t.Helper()
	if !slices.Equal(got, lines) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

// export is one line with the given spans.
func export(spans ...string) string {
	return `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[` + strings.Join(spans, ",") + `]}]}]}` + "\n"
}

const (
	trace  = "0123456789abcdef0123456789abcdef"
	ids    = `"traceId":"` + trace + `","spanId":"00000000000000a1"`
	prefix = trace + ` 00000000000000a1< `
	nobody = ` scope="" line=1 res="","","",0`
)

const collector = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"vllm"}},{"key":"service.instance.id","value":{"stringValue":"i-1"}},{"key":"host.name","value":{"stringValue":"node-7"}},` +
	`{"key":"process.pid","value":{"intValue":"42"}}]},"scopeSpans":[{"scope":{"name":"lmcache_mp.blend","version":"1"},"spans":[{"traceId":"` + trace + `","spanId":"00000000000000b2","parentSpanId":"00000000000000a1","flags":256,` +
	`"name":"cb.lookup.rpc","kind":3,"startTimeUnixNano":"1750000000000000001","endTimeUnixNano":"1750000000000000004","attributes":[{"key":"request_id","value":{"stringValue":"req-1"}},{"key":"n_polls","value":{"intValue":"4"}},` +
	`{"key":"timed_out","value":{"boolValue":true}},{"key":"recomp_ratio","value":{"doubleValue":0.25}},{"key":"other","value":{"stringValue":"x"}}],"events":[{"timeUnixNano":"1","name":"e"}],"status":{"code":2}}]}]}]}`

const collectorLine = trace + ` 00000000000000b2<00000000000000a1 "cb.lookup.rpc" kind=3 1750000000000000001..1750000000000000004 scope="lmcache_mp.blend" line=1 res="i-1","vllm","node-7",42 ERROR request_id="req-1" n_polls=4 timed_out=true recomp_ratio=0.25`

// One span in the spellings of FORMATS 1 is one record, whichever tier reads it.
func TestSpellings(t *testing.T) {
	var value any
	if err := json.Unmarshal([]byte(collector), &value); err != nil {
		t.Fatal(err)
	}
	sorted, _ := json.Marshal(value) // keys by name: attributes before ids, the scope before its spans, keys before values
	snake := strings.NewReplacer("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "traceId", "trace_id", "spanId", "span_id", "parentSpanId", "parent_span_id", "startTimeUnixNano", "start_time_unix_nano",
		"endTimeUnixNano", "end_time_unix_nano", "stringValue", "string_value", "intValue", "int_value", "boolValue", "bool_value", "doubleValue", "double_value", "timeUnixNano", "time_unix_nano")
	protojson := strings.NewReplacer(trace, "ASNFZ4mrze8BI0VniavN7w==", "00000000000000b2", "AAAAAAAAALI=", "00000000000000a1", "AAAAAAAAAKE=", `"kind":3`, `"kind":"SPAN_KIND_CLIENT"`, `"code":2`, `"code":"STATUS_CODE_ERROR"`)
	numbers := strings.NewReplacer(`"1750000000000000001"`, `1.750000000000000001e18`, `"1750000000000000004"`, `1750000000000000004`, `"42"`, `42`, `"4"`, `4`, `"kind":3`, `"kind":"3"`, `"code":2`, `"code":"2"`)
	cut := strings.Index(collector, `"scopeSpans"`)
	resource, scopes := collector[len(`{"resourceSpans":[{`):cut-1], collector[cut:len(collector)-len(`}]}`)]
	scopeAt, spansAt := strings.Index(scopes, `"scope":{`), strings.Index(scopes, `"spans":`)
	scopeLast := scopes[:scopeAt] + scopes[spansAt:len(scopes)-2] + "," + scopes[scopeAt:spansAt-1] + "}]"
	var pretty bytes.Buffer
	_ = json.Indent(&pretty, []byte(collector), "", "  ")
	for name, text := range map[string]string{
		"collector":              collector,
		"escaped":                strings.Replace(collector, `"cb.lookup.rpc"`, `"cb\u002elookup.rpc"`, 1),
		"keys by name":           string(sorted),
		"snake case":             snake.Replace(collector),
		"protojson":              protojson.Replace(collector),
		"numbers":                numbers.Replace(collector),
		"batches":                strings.Replace(collector, "resourceSpans", "batches", 1),
		"library spans":          strings.NewReplacer("scopeSpans", "instrumentationLibrarySpans", `"scope":`, `"instrumentationLibrary":`).Replace(collector),
		"library spans, snake":   strings.NewReplacer("scopeSpans", "instrumentation_library_spans", `"scope":`, `"instrumentation_library":`).Replace(collector),
		"deprecated scope spans": strings.Replace(collector, "scopeSpans", "deprecatedScopeSpans", 1),
		"api_v3":                 `{"result":` + collector + `}`,
		"tempo v2":               `{"trace":` + collector + `,"metrics":{"inspectedBytes":"4096"}}`,
		"array":                  "[" + collector + "]",
		"resource last":          `{"resourceSpans":[{` + scopes + "," + resource + `}]}`,
		"scope last":             `{"resourceSpans":[{` + scopeLast + "," + resource + `}]}`,
		"white space":            strings.NewReplacer(`":`, `" : `, `,"`, "\t, \r \"").Replace(collector),
		"nulls":                  strings.Replace(collector, `"flags":256`, `"flags":null,"links":null,"traceState":null`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			got, rep, n := decodeAll(t, new(Decoder), text, false)
			want(t, got, collectorLine)
			if rep.ErrorCount != 0 || n != len(text) || rep.Truncated || len(rep.Signals) > 0 {
				t.Errorf("%d of %d bytes, signals %v, problems: %s", n, len(text), rep.Signals, problems(&rep))
			}
		})
	}
	t.Run("pretty", func(t *testing.T) {
		got, rep, _ := decodeAll(t, new(Decoder), "\n"+pretty.String(), false)
		line := 1 + strings.Count(pretty.String()[:strings.Index(pretty.String(), `"traceId"`)], "\n")
		want(t, got, strings.Replace(collectorLine, "line=1", fmt.Sprintf("line=%d", line), 1))
		if rep.ErrorCount != 0 {
			t.Error(problems(&rep))
		}
	})
}

func TestIDsAndTimes(t *testing.T) {
	got, rep, _ := decodeAll(t, new(Decoder), export(
		`{`+ids+`,"parentSpanId":"0000000000000000","name":"zeros"}`,
		`{"traceId":"0x0123456789ABCDEF0123456789ABCDEF","spanId":"A1","parentSpanId":"","name":"short"}`,
		`{"traceId":"trace-123","spanId":"zzz","parentSpanId":"yyy","name":"opaque"}`,
		`{`+ids+`,"name":"zero times","startTimeUnixNano":"0","endTimeUnixNano":0}`,
		`{`+ids+`,"name":"null times","startTimeUnixNano":null,"endTimeUnixNano":""}`,
		`{`+ids+`,"name":"long","startTimeUnixNano":{"low":-1601582592,"high":407453626,"unsigned":true},"endTimeUnixNano":{"low":-1601582492,"high":407453626}}`,
		`{`+ids+`,"name":"late","startTimeUnixNano":"9223372036854775808","endTimeUnixNano":"5"}`,
		`{"name":"nobody","traceId":null}`,
		`null`,
	), false)
	want(t, got,
		prefix+`"zeros" kind=0 0..0`+nobody,
		prefix+`"short" kind=0 0..0`+nobody,
		`trace-123 zzz<yyy "opaque" kind=0 0..0`+nobody,
		prefix+`"zero times" kind=0 0..0`+nobody,
		prefix+`"null times" kind=0 0..0`+nobody,
		prefix+`"long" kind=0 1750000001000000000..1750000001000000100`+nobody,
		prefix+`"late" kind=0 0..5`+nobody,
		` < "nobody" kind=0 0..0`+nobody,
	)
	if p := problems(&rep); p != "1: span: start time is past the year 2262; left out" || rep.Skipped != 0 {
		t.Errorf("problems %q", p)
	}
}

// A span with something unreadable in it is lost alone.
func TestBrokenSpans(t *testing.T) {
	got, rep, n := decodeAll(t, new(Decoder), export(
		`{`+ids+`,"name":"a"}`,
		`{"traceId":7,"spanId":"00000000000000a1"}`,
		`{`+ids+`,"startTimeUnixNano":"soon"}`,
		`{`+ids+`,"endTimeUnixNano":-5}`,
		`{`+ids+`,"endTimeUnixNano":NaN}`,
		`{`+ids+`,"parentSpanId":{}}`,
		`"span"`,
		`{`+ids+`,"name":"b","kind":"SPAN_KIND_INVALID_TYPE"}`,
		`{`+ids+`,"name":7,"kind":99,"status":"bad","attributes":{"a":1}}`,
	), false)
	want(t, got, prefix+`"a" kind=0 0..0`+nobody, prefix+`"b" kind=0 0..0`+nobody, prefix+`"" kind=0 0..0`+nobody)
	if rep.Skipped != 6 || rep.ErrorCount != 6 || n == 0 {
		t.Errorf("%d skipped, want 6: %s", rep.Skipped, problems(&rep))
	}
	for _, text := range []string{"trace id: want text", "start time: want a number", "end time: negative", "end time: want a number", "parent span id: want text", "span: want an object"} {
		if !strings.Contains(problems(&rep), text) {
			t.Errorf("no problem says %q: %s", text, problems(&rep))
		}
	}
}

func attr(key, value string) string { return `{"key":"` + key + `","value":` + value + `}` }

func TestAttributes(t *testing.T) {
	span := func(attrs ...string) string {
		return export(`{` + ids + `,"name":"s","attributes":[` + strings.Join(attrs, ",") + `]}`)
	}
	const s = prefix + `"s" kind=0 0..0` + nobody
	for _, c := range []struct {
		name  string
		attrs []string
		all   bool
		want  string
	}{
		{"texts of numbers and truths", []string{attr("hit_tokens", `{"stringValue":"1280"}`), attr("success", `{"stringValue":"True"}`), attr("worker_id", `{"intValue":"3"}`), attr("device", `{"stringValue":"None"}`)}, false,
			` hit_tokens=1280 success=true worker_id="3"`},
		{"integers beyond 2^53", []string{attr("bytes", `{"intValue":9007199254740993}`), attr("l2_keys", `{"intValue":"-9007199254740993"}`), attr("chunks", `{"intValue":"18446744073709551615"}`)}, false,
			" bytes=9007199254740993 l2_keys=-9007199254740993 chunks=1.8446744073709552e+19"},
		{"no values", []string{attr("bytes", `{}`), attr("chunks", `null`), attr("ms", `{"doubleValue":"NaN"}`), attr("found", `{"doubleValue":NaN}`), attr("model", `{"stringValue":null}`), `{"key":"stale"}`, `{}`, `null`, `7`}, false, ""},
		{"values before keys", []string{`{"value":{"intValue":"7"},"key":"bytes"}`, `{"value":{"stringValue":"m"},"key":"model"}`, `{"value":{"intValue":"7"},"key":"other"}`}, false, ` bytes=7 model="m"`},
		{"escaped keys and values", []string{`{"key":"mod\u0065l","value":{"stringValue":"a\"b\\"}}`, attr("dispatch", "{\"stringValue\":\"caf\xc3\xa9\xff\"}")}, false, ` model="a\"b\\" dispatch="café` + "\ufffd" + `"`},
		{"floats", []string{attr("recomp_ratio", `{"doubleValue":0.75}`), attr("hit_tokens", `{"doubleValue":1280}`), attr("ms", `{"doubleValue":"1e-3"}`)}, false, " recomp_ratio=0.75 hit_tokens=1280 ms=0.001"},
		{"keys outside the table", []string{attr("other", `{"stringValue":"x"}`), attr("bytes", `{"intValue":"1"}`)}, false, " bytes=1"},
		{"kept", []string{attr("other", `{"stringValue":"x"}`), attr("n", `{"intValue":"5"}`), attr("f", `{"doubleValue":0.5}`), attr("t", `{"boolValue":false}`), attr("raw", `{"bytesValue":"AAEC"}`)}, true, ` other="x" n=5 f=0.5 t=false raw="AAEC"`},
		{"lists", []string{attr("list", `{"arrayValue":{"values":[{"stringValue":"a\"\n"},{"intValue":"9007199254740993"},{"doubleValue":1.5},{"boolValue":true},{},null,{"arrayValue":{"values":[]}},{"kvlistValue":{}}]}}`)}, true,
			` list="[\"a\\\"\\u000a\",9007199254740993,1.5,true,null,null,[],{}]"`},
		{"maps", []string{attr("map", `{"kvlistValue":{"values":[{"key":"a","value":{"intValue":"1"}},{"value":{"stringValue":"v"},"key":"b"},{"key":"c"}]}}`)}, true, ` map="{\"a\":1,\"b\":\"v\",\"c\":null}"`},
		{"lists under keys of the table", []string{attr("model", `{"arrayValue":{"values":[{"stringValue":"m"}]}}`)}, false, ` model="[\"m\"]"`},
		{"secrets", []string{attr("authorization", `{"stringValue":"Bearer"}`), attr("token_ids", `{"arrayValue":{"values":[{"intValue":"1"},{"intValue":"2"}]}}`), attr("gen_ai.prompt.0.content", `{"stringValue":"hello"}`)}, true,
			` authorization="<redacted 6 bytes>" token_ids="<redacted 5 bytes>" gen_ai.prompt.0.content="<redacted 5 bytes>"`},
		{"secrets within", []string{attr("call", `{"kvlistValue":{"values":[{"key":"cache_salt","value":{"stringValue":"pepper"}},{"key":"n","value":{"intValue":"1"}}]}}`)}, true, ` call="{\"cache_salt\":\"<redacted 6 bytes>\",\"n\":1}"`},
		{"no key", []string{`{"value":{"intValue":"4"}}`}, true, ` =4`},
		{"unknown value", []string{attr("bytes", `{"stringValueStrindex":4}`), attr("x", `{"futureValue":{"a":[1]}}`)}, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, rep, _ := decodeAll(t, new(Decoder), span(c.attrs...), c.all)
			want(t, got, s+c.want)
			if rep.ErrorCount != 0 {
				t.Error(problems(&rep))
			}
		})
	}
}

// Values in a row: what is not OTLP stops the decoder where it stands; broken values lose what is broken.
func TestValues(t *testing.T) {
	span := func(name string) string { return export(`{` + ids + `,"name":"` + name + `"}`) }
	rs := func(name string) string {
		return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(span(name)), `{"resourceSpans":[`), `]}`)
	}
	names := func(lines []string) (out []string) {
		for _, l := range lines {
			out = append(out, strings.Split(l, `"`)[1]+l[strings.Index(l, "line="):strings.Index(l, " res=")])
		}
		return
	}
	for _, c := range []struct {
		name, text string
		spans      string
		problems   string
		rest       string
		truncated  bool
		signals    string
	}{
		{"lines", span("a") + "\r\n  \n" + span("b"), "aline=1 bline=4", "", "", false, "map[]"},
		{"nothing between", strings.TrimSpace(span("a")) + strings.TrimSpace(span("b")), "aline=1 bline=1", "", "", false, "map[]"},
		{"cut line", span("a") + span("b")[:80], "aline=1", "2: ends in the middle of a record", "", true, "map[]"},
		{"cut line within", span("a") + span("b")[:80] + "\n" + span("c"), "aline=1 cline=3", "2: want '\"', have the end of the line", "", false, "map[]"},
		{"cut between tokens within", span("a") + `{"resourceSpans":[` + "\n" + span("c"), "aline=1 cline=3", "2: ends in the middle of a record", "", false, "map[]"},
		{"broken resource", `{"resourceSpans":[` + rs("a") + "," + rs("b") + `,{"scopeSpans":[{"spans":[{"name":"c"},{"name" "d"}]}]}]}` + "\n" + span("e"), "aline=1 bline=1 eline=2", "1: want ':', have '\"'", "", false, "map[]"},
		{"other signals", `{"resourceMetrics":[{}]}` + span("a") + `{"resourceLogs":[]}{"resourceProfiles":[]}{"resource_logs":[]}{}{"resourceSpans":[]}`, "aline=1", "", "", false, "map[exports without spans:1 logs:2 metrics:1 profiles:1 values without keys:1]"},
		{"foreign", span("a") + `{"name":"sched","ts":1}` + span("b"), "aline=1", "", `{"name":"sched"`, false, "map[]"},
		{"text", span("a") + "INFO started\n" + span("b"), "aline=1", "", "INFO", false, "map[]"},
		{"foreign array", `[null,1]`, "", "", "[null", false, "map[]"},
		{"scalar in an array", "[" + strings.TrimSpace(span("a")) + ",7]", "aline=1", "1: an element that is no OTLP", "", false, "map[]"},
		{"two lists", `{"resourceSpans":[` + rs("a") + `],"batches":[` + rs("b") + `]}`, "aline=1 bline=1", "", "", false, "map[]"},
		{"both kinds of scopes", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}],"instrumentationLibrarySpans":[{"spans":[{"name":"b"}]}]}]}`, "aline=1 bline=1", "", "", false, "map[]"},
		{"partial", `{"trace":{"resourceSpans":[` + rs("a") + `]},"status":"PARTIAL","message":"too large"}`, "aline=1", "", "", true, "map[]"},
		{"error answer", `{"error":{"httpCode":404,"message":"No traces found"}}`, "", "1: the answer of a query that failed: 404 No traces found", "", false, "map[]"},
		{"nested too deep", `{"resourceSpans":[` + rs("a") + `,{"x":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}]}` + "\n" + span("b"), "aline=1 bline=2", "1: JSON nested more than 512 deep", "", false, "map[]"},
		{"wrong types", `{"resourceSpans":{"a":1}}{"resourceSpans":[7,{"scopeSpans":7},{"scopeSpans":[7,{"spans":7}]}]}`, "", "", "", false, "map[exports without spans:1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, rep, n := decodeAll(t, new(Decoder), c.text, false)
			if s := strings.Join(names(got), " "); s != c.spans {
				t.Errorf("spans %q, want %q", s, c.spans)
			}
			if p := problems(&rep); p != c.problems {
				t.Errorf("problems %q, want %q", p, c.problems)
			}
			if !strings.HasPrefix(c.text[n:], c.rest) || c.rest == "" && n != len(c.text) {
				t.Errorf("stopped before %.20q, want %q", c.text[n:], c.rest)
			}
			if rep.Truncated != c.truncated || fmt.Sprint(rep.Signals) != c.signals {
				t.Errorf("truncated %v, signals %v", rep.Truncated, rep.Signals)
			}
		})
	}
	_, rep, _ := decodeAll(t, new(Decoder), `{"trace":{"resourceSpans":[]},"status":"PARTIAL","message":"too large"}`, false)
	if fmt.Sprint(rep.Notes) != "[Tempo answered with a part of the trace only (PARTIAL): too large]" {
		t.Errorf("notes %q", rep.Notes)
	}
}

// Resources and scopes repeat, alternate and come last; each span has its own. One decoder serves several dictionaries and files.
func TestResources(t *testing.T) {
	rs := func(service string, pid int, last bool) string {
		resource := fmt.Sprintf(`"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"%s"}},{"value":{"intValue":%d},"key":"process.pid"}]}`, service, pid)
		spans := `"scopeSpans":[{"scope":{"name":"s-` + service + `"},"spans":[{"name":"a"}]},{"spans":[{"name":"b"}]}]`
		if last {
			return `{` + spans + `,` + resource + `}`
		}
		return `{` + resource + `,` + spans + `}`
	}
	var text string
	var lines []string
	for i := range 100 {
		service := fmt.Sprintf("svc%d", i*7%11)
		text += `{"resourceSpans":[` + rs(service, i*7%11, i%3 == 0) + `,{"scopeSpans":[{"spans":[{"name":"none"}]}]}]}` + "\n"
		res := fmt.Sprintf(`line=%d res="","%s","",%d`, i+1, service, i*7%11)
		lines = append(lines, ` < "a" kind=0 0..0 scope="s-`+service+`" `+res, ` < "b" kind=0 0..0 scope="" `+res, fmt.Sprintf(` < "none" kind=0 0..0 scope="" line=%d res="","","",0`, i+1))
	}
	var d Decoder
	for range 2 {
		got, rep, _ := decodeAll(t, &d, text, false)
		want(t, got, lines...)
		if rep.ErrorCount != 0 {
			t.Error(problems(&rep))
		}
	}
}

// The exact tier and the general one read the corpus of the benchmark alike, and pdata reads the same.
func TestTiersAgree(t *testing.T) {
	data := corpus(t, 6)
	exact, rep, _ := decodeAll(t, new(Decoder), string(data), true)
	if rep.ErrorCount != 0 || rep.Spans != 6*benchSpans {
		t.Fatalf("%d spans: %s", rep.Spans, problems(&rep))
	}
	var spaced bytes.Buffer
	for _, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, line, "", ""); err != nil {
			t.Fatal(err)
		}
		spaced.Write(bytes.ReplaceAll(pretty.Bytes(), []byte("\n"), []byte(" ")))
		spaced.WriteByte('\n')
	}
	general, _, _ := decodeAll(t, new(Decoder), spaced.String(), true)
	want(t, general, exact...)
}

func TestNoAllocations(t *testing.T) {
	data := corpus(t, 6)
	b := model.NewBatch(model.NewDict(), false)
	var d Decoder
	var rep decode.Report
	run := func() {
		b.Reset()
		d.Decode(decode.Block{Data: data, Line: 1}, b, &rep)
	}
	run()
	if n := testing.AllocsPerRun(3, run) / (6 * benchSpans); n > 0.05 {
		t.Errorf("%.3f allocations a span, want at most 0.05", n)
	}
}
