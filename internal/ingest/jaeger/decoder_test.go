package jaeger

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

func floatOf(bits uint64) float64 { return math.Float64frombits(bits) }

func texts(rep *decode.Report) string {
	var all []string
	for _, p := range rep.Problems {
		all = append(all, fmt.Sprintf("%d: %s", p.Line, p.Text))
	}
	return strings.Join(all, "\n")
}

// one decodes an answer with one span that has the given members beside its ids, and returns its line without ids and the report.
func one(t *testing.T, members string, keepAll bool) (string, *decode.Report) {
	t.Helper()
	got, rep, _ := decodeAll(t, []byte(`{"data":[{"traceID":"a","spans":[{"traceID":"a","spanID":"1",`+members+`}],"processes":{"p1":{"serviceName":"s","tags":[]}}}]}`), keepAll)
	if len(got) == 0 {
		return "", rep
	}
	return strings.TrimPrefix(got[0], strings.Repeat("0", 31)+"a "+strings.Repeat("0", 15)+"1<"), rep
}

// Files of other projects and of real Jaegers: counts as in their manifest, values as encoding/json reads them.
func TestFiles(t *testing.T) {
	for _, c := range []struct {
		file                    string
		spans, traces, services int
		roots                   int        // spans without a parent
		first, last             model.Time // last 0: not known
	}{
		// CRISP's traces start at 0, which counts as no time (R3.5).
		{"crisp-4.json", 3, 1, 3, 1, 0, 100000},
		{"crisp-9.json", 4, 1, 4, 1, 0, 160000},
		{"crisp-15.json", 7, 1, 7, 1, 0, 100000},
		{"crisp-err_pattern2-err1.json", 2, 1, 2, 1, 0, 100000},
		{"jaegerui-child-after-parent.json", 2, 1, 2, 1, 100000, 500000},
		{"jaegerui-multi-out.json", 4, 1, 1, 1, 1711138246940000000, 1711138247116321000},
		{"jaegerui-otlp2jaeger-out.json", 2, 1, 1, 0, 1706678909209712000, 1706678909209835000},
		{"jaegerui-span-longer-as-parent.json", 8, 1, 2, 1, 1573196810396000000, 1573196810409940000},
		{"jaegerui-tracegraph.json", 11, 1, 2, 1, 1542666452979000000, 1542666453979000000},
		{"jaegerui-upload-flamegraph.json", 4, 1, 2, 1, 1660049722779884000, 1660049723961480000},
		{"perses-authenticate-error.json", 3, 1, 2, 1, 1744817139545250000, 1744817140277779000},
		{"quickwit-jaeger-ui-bare.json", 5, 1, 2, 2, 1485467191639875000, 1485467191639880000},
		{"traceweaver-hotel-11166765bdbfa605.json", 11, 1, 6, 1, 1655759363729315000, 1655759363748225000},
		{"traceweaver-node-short-id-ff6f8d697499ff.json", 6, 1, 6, 1, 1695317729981000000, 1695317729990000000},
		{"live-api_trace_one.json", 20, 1, 3, 1, 0, 0},
		{"live-api_traces_sdk.json", 4, 2, 1, 2, 1795971760151107000, 1795971760155535000},
		{"16-follows-from-before-child-of.json", 4, 1, 1, 1, 1750000000000000000, 1750000000100000000},
		// protobuf JSON: 21:46:31 UTC with all nine decimals
		{"jaeger-model-proto-json.json", 5, 1, 2, 2, 1485467191639875139, 1485467191639880139},
		{"live-grpc_api_v2_findtraces.json", 20, 1, 3, 1, 0, 0},
		{"es-span-doc.json", 1, 1, 1, 0, 1485467191639875000, 1485467191639880000},
		{"es-span-doc-string-tags.json", 1, 1, 1, 0, 1485467191639875000, 1485467191639880000},
	} {
		t.Run(c.file, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + c.file)
			if err != nil {
				t.Fatal(err)
			}
			b := model.NewBatch(model.NewDict(), false)
			var rep decode.Report
			if n := new(Decoder).Decode(decode.Block{Data: data, Line: 1}, b, &rep); n != len(data) || rep.ErrorCount != 0 {
				t.Fatalf("read %d of %d bytes; %s", n, len(data), texts(&rep))
			}
			traces, services, roots := map[model.TraceID]bool{}, map[string]bool{}, 0
			first, last := model.Time(math.MaxInt64), model.Time(0)
			for _, r := range b.Records {
				traces[r.Trace], services[b.Dict.Res(r.Res).Service] = true, true
				first, last = min(first, r.Start), max(last, r.End)
				if r.Parent.IsZero() {
					roots++
				}
			}
			if len(b.Records) != c.spans || len(traces) != c.traces || len(services) != c.services || roots != c.roots {
				t.Errorf("%d spans, %d traces, %d services, %d roots", len(b.Records), len(traces), len(services), roots)
			}
			if c.last != 0 && (first != c.first || last != c.last) {
				t.Errorf("from %d to %d", first, last)
			}
			compare(t, data)
		})
	}
}

// compare holds the decoder against encoding/json.
func compare(t *testing.T, data []byte) {
	t.Helper()
	want, ok := slowDecode(data)
	if !ok {
		return
	}
	got, rep, n := decodeAll(t, data, false)
	for i := range got {
		got[i] = bare(got[i])
	}
	if n != len(data) || rep.ErrorCount != 0 && !strings.Contains(texts(rep), "query that failed") || !slices.Equal(got, want) {
		t.Errorf("read %d of %d bytes; %s\ngot\n%s\nwant\n%s", n, len(data), texts(rep), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What real files hold that a count does not show.
func TestFileDetails(t *testing.T) {
	read := func(file string) ([]string, *decode.Report) {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		got, rep, _ := decodeAll(t, data, true)
		return got, rep
	}
	got, _ := read("live-api_traces_sdk.json")
	if w := `7cd39769a6fcc80bbd722989c6f0af8d 970e41d272217d35<a6cc7fc97fb59cb0 "gnnmt.cb_unified_poll" kind=1 1795971760153357000..1795971760155535000 scope="cbtrace/lab" res="","cbtrace-sdk","gpu-node-00",0 ERROR otel.status_description="deadline exceeded"`; got[0] != w {
		t.Errorf("a FOLLOWS_FROM alone is the parent:\n%s", got[0])
	}
	if w := `tags="[\"a\",\"b\"]" tokens=1099511627776`; !strings.HasSuffix(got[1], w) || !strings.Contains(got[1], " cache.hit=true f=0.5 ") {
		t.Errorf("tags: %s", got[1])
	}
	// protobuf JSON: ns, base64 ids, a reference without a type, a process in the span
	got, rep := read("live-grpc_api_v2_findtraces.json")
	if !strings.HasPrefix(got[0], `388b147addac304cac223834a6275068 fa7d99178a14e8a9<b5677b07f7258c43 "gnnmt.kv_disk_read" kind=1 1764403200073866913..1764403200082920971 scope="gnnmt/kvstore" res="kv-store-7d9f8b6c5-0000","kv-store","gpu-node-08",4020 cache.hit=true cache.tier="hbm"`) {
		t.Errorf("got %s", got[0])
	}
	if !slices.Equal(rep.Notes, []string{noteUnadjusted}) {
		t.Errorf("notes %q", rep.Notes)
	}
	// Elasticsearch: CHILD_OF in the same trace before the others
	got, _ = read("es-span-doc-string-tags.json")
	if w := `00000000000000010000000000000000 0000000000000002<0000000000000003 "test-general-conversion" kind=0 1485467191639875000..1485467191639880000 scope="testing-library" res="","service-x","",0 ERROR peer.service="service-y" peer.ipv4=23456 blob="00003039" temperature=72.5`; got[0] != w {
		t.Errorf("got %s", got[0])
	}
	// int64 past 2^53, as a number
	got, _ = read("jaeger-model-proto-json.json")
	if !strings.HasSuffix(got[1], `ERROR peer.service="service-y" peer.ipv4=23456 temperature=72.5 javascript_limit=9223372036854775222 blob="AAAwOQ=="`) {
		t.Errorf("got %s", got[1])
	}
}

func TestReferences(t *testing.T) {
	ref := func(kind, trace, span string) string {
		return fmt.Sprintf(`{"refType":%q,"traceID":%q,"spanID":%q}`, kind, trace, span)
	}
	const other = `{"traceID":"a","spanID":"2"}`
	for _, c := range []struct {
		name, members, parent string
	}{
		{"none", `"references":[]`, ""},
		{"null", `"references":null`, ""},
		{"child of", `"references":[` + ref("CHILD_OF", "a", "9") + `]`, "9"},
		{"the first child of", `"references":[` + ref("CHILD_OF", "a", "2") + "," + ref("CHILD_OF", "a", "3") + `]`, "2"},
		{"follows from before child of", `"references":[` + ref("FOLLOWS_FROM", "a", "2") + "," + ref("CHILD_OF", "a", "3") + `]`, "3"},
		{"another trace first", `"references":[` + ref("CHILD_OF", "b", "7") + "," + ref("CHILD_OF", "a", "3") + `]`, "3"},
		{"another trace only", `"references":[` + ref("CHILD_OF", "b", "7") + `]`, ""},
		{"the same trace with all digits", `"references":[` + ref("CHILD_OF", strings.Repeat("0", 31)+"A", "3") + `]`, "3"},
		{"follows from alone", `"references":[` + ref("FOLLOWS_FROM", "a", "2") + `]`, "2"},
		{"follows from a span that is not there", `"references":[` + ref("FOLLOWS_FROM", "a", "5") + `]`, ""},
		{"the first follows from counts", `"references":[` + ref("FOLLOWS_FROM", "b", "2") + "," + ref("FOLLOWS_FROM", "a", "2") + "," + ref("FOLLOWS_FROM", "a", "1") + `]`, "2"},
		{"the old key", `"parentSpanID":"4"`, "4"},
		{"the old key and child of", `"parentSpanID":"4","references":[` + ref("CHILD_OF", "a", "3") + `]`, "3"},
		{"the old key before follows from", `"references":[` + ref("FOLLOWS_FROM", "a", "2") + `],"parentSpanID":"4"`, "4"},
		{"a reference to nothing", `"references":[` + ref("CHILD_OF", "a", "0") + "," + ref("CHILD_OF", "a", "3") + `]`, "3"},
		{"without a trace", `"references":[{"refType":"CHILD_OF","spanID":"3"}]`, "3"},
		{"enum's number", `"references":[{"refType":1,"traceID":"a","spanID":"2"},{"refType":0,"traceID":"a","spanID":"3"}]`, "3"},
	} {
		for _, ids := range []string{`{"traceID":"a","spanID":"1",` + c.members + `}`, `{` + c.members + `,"spanID":"1","traceID":"a"}`} {
			got, _, _ := decodeAll(t, []byte(`{"data":[{"spans":[`+ids+`,`+other+`]}]}`), false)
			want := c.parent
			if want != "" {
				want = strings.Repeat("0", 16-len(want)) + want
			}
			if parent := strings.Fields(got[0])[1]; parent != strings.Repeat("0", 15)+"1<"+want {
				t.Errorf("%s: %s, want %s", c.name, parent, c.parent)
			}
		}
	}
}

func TestIDs(t *testing.T) {
	for _, c := range []struct{ trace, span, want string }{
		{"ff6f8d697499ff", "b", "000000000000000000ff6f8d697499ff 000000000000000b"}, // zeros dropped
		{"FF6F8D697499FF", "0B", "000000000000000000ff6f8d697499ff 000000000000000b"},
		{"trace-123", "zzz", "trace-123 zzz"}, // opaque
		{base64ID(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), base64ID(0, 0, 0, 0, 0, 0, 0, 2), "00000000000000000000000000000001 0000000000000002"},
		{"0", "0", " "},
	} {
		got, _, _ := decodeAll(t, fmt.Appendf(nil, `{"spans":[{"traceID":%q,"spanID":%q,"references":[{"traceID":%q,"spanID":%q}]}]}`, c.trace, c.span, c.trace, c.span), false)
		_, id, _ := strings.Cut(c.want, " ")
		if !strings.HasPrefix(got[0], c.want+"<"+id+" ") {
			t.Errorf("%s %s: got %s", c.trace, c.span, got[0])
		}
	}
	// The trace's id where spans have none, also when it comes last.
	got, _, _ := decodeAll(t, []byte(`{"spans":[{"spanID":"1"}],"traceID":"a"}`), false)
	if !strings.HasPrefix(got[0], strings.Repeat("0", 31)+"a ") {
		t.Errorf("got %s", got[0])
	}
	if _, rep := one(t, `"parentSpanID":7`, false); rep.Skipped != 1 || texts(rep) != "1: span: parent span id: want text" {
		t.Errorf("a number as an id: %s", texts(rep))
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct{ members, times, problem string }{
		{`"startTime":1750000000000001,"duration":3`, "1750000000000001000..1750000000000004000", ""},
		{`"duration":3,"startTime":1750000000000001`, "1750000000000001000..1750000000000004000", ""},
		{`"startTime":"1750000000000001","duration":"3"`, "1750000000000001000..1750000000000004000", ""},
		{`"startTime":1750000000000001.25,"duration":0.5009`, "1750000000000001250..1750000000000001750", ""}, // cut to ns
		{`"startTime":1.75e15,"duration":1e3`, "1750000000000000000..1750000000001000000", ""},
		{`"startTime":5`, "5000..0", ""}, // open
		{`"startTime":5,"duration":null`, "5000..0", ""},
		{`"startTime":5,"duration":0`, "5000..5000", ""},
		{`"duration":7`, "0..7000", ""}, // untimed
		{`"flags":1`, "0..0", ""},
		{`"startTime":"2017-01-26T16:46:31.639875139-05:00","duration":"5000ns"`, "1485467191639875139..1485467191639880139", ""},
		{`"startTime":"2025-11-29T08:00:00.073866913Z","duration":"0.009054058s"`, "1764403200073866913..1764403200082920971", ""},
		{`"startTime":"","duration":"-5ns"`, "0..-5", ""},
		{`"startTime":5,"duration":18446744073709551615`, "5000..0", "1: span: duration is past the year 2262; left out"},
		{`"startTime":9223372036854775,"duration":1`, "9223372036854775000..0", "1: span: end is past the year 2262; left out"},
		{`"startTime":9223372036854776,"duration":1`, "0..1000", "1: span: start time is past the year 2262; left out"},
		{`"startTime":"3017-01-26T16:46:31Z"`, "0..0", "1: span: start time is past the year 2262; left out"},
		{`"startTime":"today"`, "", "1: span: start time: want a number"},
		{`"startTime":{}`, "", "1: span: start time: want a number"},
		{`"startTime":-5`, "", "1: span: start time: negative"},
		{`"duration":"fivens"`, "", "1: span: duration: want a number with a unit"},
	} {
		got, rep := one(t, c.members, false)
		if texts(rep) != c.problem || c.times != "" && !strings.Contains(got, " "+c.times+" ") || c.times == "" && got != "" {
			t.Errorf("%s: got %s, %s", c.members, got, texts(rep))
		}
	}
}

func TestTags(t *testing.T) {
	tag := func(key, typ, value string) string {
		return fmt.Sprintf(`"tags":[{"key":%q,"type":%q,"value":%s}]`, key, typ, value)
	}
	const head = ` "" kind=%d 0..0 scope=%q res="","","",0`
	for _, c := range []struct {
		name, members, want string
	}{
		{"table", tag("hit_tokens", "int64", `1280`), head + ` hit_tokens=1280`},
		{"table, as text", tag("hit_tokens", "string", `"1280"`), head + ` hit_tokens=1280`},
		{"int64 past 2^53", tag("big", "int64", `"9007199254740993"`), head + ` big=9007199254740993`},
		{"int64 past 2^63", tag("big", "int64", `9223372036854775808`), head + ` big="9223372036854775808"`},
		{"bool", tag("success", "bool", `true`), head + ` success=true`},
		{"bool as text", tag("other", "bool", `"true"`), head + ` other=true`},
		{"text that looks like a bool", tag("other", "string", `"true"`), head + ` other="true"`},
		{"number as text", tag("other", "int64", `"23456"`), head + ` other=23456`},
		{"float", tag("other", "float64", `72.5`), head + ` other=72.5`},
		{"whole float", tag("other", "float64", `72`), head + ` other=72`},
		{"float as text", tag("other", "float64", `"72.5"`), head + ` other=72.5`},
		{"binary", tag("other", "binary", `"AAAwOQ=="`), head + ` other="AAAwOQ=="`},
		{"no type, text", `"tags":[{"key":"other","value":"7"}]`, head + ` other="7"`},
		{"no type, whole", `"tags":[{"key":"other","value":7}]`, head + ` other=7`},
		{"no type, float", `"tags":[{"key":"other","value":7.5}]`, head + ` other=7.5`},
		{"any order", `"tags":[{"value":"7","type":"int64","key":"other"},{"value":"server","key":"span.kind"}]`, `"" kind=2 0..0 scope="" res="","","",0 other=7`},
		{"null", tag("other", "string", `null`), head},
		{"no value", `"tags":[{"key":"other","type":"string"}]`, head + ` other=""`},
		{"an object", tag("other", "string", `{"a": [1, "x\n", null], "authorization": "Bearer x"}`), head + ` other="{\"a\":[1,\"x\\u000a\",null],\"authorization\":\"<redacted 8 bytes>\"}"`},
		{"secret", tag("gen_ai.prompt", "string", `"the prompt"`), head + ` gen_ai.prompt="<redacted 10 bytes>"`},
		{"protobuf, defaults left out", `"tags":[{"key":"a"},{"key":"b","vType":"BOOL"},{"key":"c","vType":"INT64"},{"key":"d","vType":2,"vInt64":"5"},{"vStr":"e","key":"e"}]`, head + ` a="" b=false c=0 d=5 e="e"`},
		{"error", tag("error", "bool", `true`), head + ` ERROR`},
		{"error as text", tag("error", "string", `"true"`), head + ` ERROR`},
		{"no error", tag("error", "bool", `false`), head},
		{"a message in error", tag("error", "string", `"it broke"`), head + ` error="it broke"`},
		{"status", tag("otel.status_code", "string", `"ERROR"`), head + ` ERROR`},
		{"status ok", tag("otel.status_code", "string", `"OK"`), head},
		{"Elasticsearch's map", `"tag":{"http@status_code":"200","span@kind":"client","hit_tokens":5}`, `"" kind=3 0..0 scope="" res="","","",0 http.status_code="200" hit_tokens=5`},
		{"scope", tag("otel.scope.name", "string", `"lmcache_mp.server"`), `"" kind=0 0..0 scope="lmcache_mp.server" res="","","",0`},
		{"scope, older", tag("otel.library.name", "string", `"lmcache"`), `"" kind=0 0..0 scope="lmcache" res="","","",0`},
	} {
		want := c.want
		if strings.HasPrefix(want, head) {
			want = fmt.Sprintf(head, 0, "") + strings.TrimPrefix(want, head)
		}
		got, rep := one(t, c.members, true)
		if strings.TrimSpace(got) != strings.TrimSpace(want) || rep.ErrorCount != 0 {
			t.Errorf("%s:\ngot  %s\nwant %s\n%s", c.name, got, want, texts(rep))
		}
	}
	for kind, n := range map[string]int{"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5, "else": 0} {
		if got, _ := one(t, tag("span.kind", "string", `"`+kind+`"`), false); !strings.HasPrefix(got, fmt.Sprintf(` "" kind=%d `, n)) {
			t.Errorf("%s: %s", kind, got)
		}
	}
	// Only attributes of the table count for a report.
	if got, _ := one(t, tag("other", "string", `"x"`), false); strings.Contains(got, "other") {
		t.Errorf("kept: %s", got)
	}
}

func TestProcesses(t *testing.T) {
	const span = `{"spanID":"%x","processID":"p%d"}`
	var spans, procs []string
	for i := range 40 { // more than are looked for one by one
		spans = append(spans, fmt.Sprintf(span, i+1, i))
		procs = append(procs, fmt.Sprintf(`"p%d":{"serviceName":"s%d","tags":[{"key":"host.name","type":"string","value":"h"},{"key":"process.pid","type":"int64","value":%d}]}`, i, i, 100+i))
	}
	spans = append(spans, `{"spanID":"fe","process":{"serviceName":"inline","tags":[{"key":"service.instance.id","vStr":"i-1"},{"key":"hostname","value":"old"}]},"processID":"p1"}`, `{"spanID":"ff","processID":"nowhere"}`, `{"spanID":"fd"}`)
	for _, doc := range []string{
		`{"traceID":"a","spans":[` + strings.Join(spans, ",") + `],"processes":{` + strings.Join(procs, ",") + `}}`,
		`{"traceID":"a","processes":{` + strings.Join(procs, ",") + `},"spans":[` + strings.Join(spans, ",") + `]}`,
	} {
		got, rep, _ := decodeAll(t, []byte(doc), false)
		if len(got) != 43 || rep.ErrorCount != 0 {
			t.Fatalf("%d spans, %s", len(got), texts(rep))
		}
		for i := range 40 {
			if w := fmt.Sprintf(`res="","s%d","h",%d`, i, 100+i); !strings.HasSuffix(got[i], w) {
				t.Errorf("span %d: %s, want %s", i, got[i], w)
			}
		}
		for i, w := range []string{`res="i-1","inline","old",0`, `res="","","",0`, `res="","","",0`} {
			if !strings.HasSuffix(got[40+i], w) {
				t.Errorf("got %s, want %s", got[40+i], w)
			}
		}
	}
	// Processes are those of their trace; protobuf JSON has a list of them.
	got, _, _ := decodeAll(t, []byte(`{"data":[{"spans":[{"spanID":"1","processID":"p1"}],"processes":{"p1":{"serviceName":"a"}}},{"spans":[{"spanID":"2","processID":"p1"}]}]}
{"spans":[{"spanId":"AAAAAAAAAAM=","processId":"p1"}],"processMap":[{"process":{"serviceName":"c","tags":[{"key":"process.pid","vType":"INT64","vInt64":"7"}]},"processId":"p1"}]}`), false)
	for i, w := range []string{`res="","a","",0`, `res="","","",0`, `res="","c","",7`} {
		if !strings.HasSuffix(got[i], w) {
			t.Errorf("got %s, want %s", got[i], w)
		}
	}
}

func TestShapes(t *testing.T) {
	const trace = `{"traceID":"a","spans":[{"traceID":"a","spanID":"1"}]}`
	const doc = `{"traceID":"a","spanID":"1","operationName":"x","tag":{},"process":{"serviceName":"s"}}`
	for _, c := range []struct {
		name, data string
		spans      int
		problem    string
	}{
		{"answer", `{"data":[` + trace + `],"total":0,"errors":null}`, 1, ""},
		{"data is an object", `{"data":` + trace + `,"_comment":"x"}`, 1, ""},
		{"a trace alone", trace, 1, ""},
		{"a list of traces", `[` + trace + `,` + trace + `]`, 2, ""},
		{"lines", trace + "\n" + trace + "\n\n" + trace, 3, ""},
		{"values in a row", trace + trace, 2, ""},
		{"documents in lines", doc + "\n" + doc, 2, ""},
		{"documents, the ids last", `{"process":{"serviceName":"s"},"spanID":"1","traceID":"a"}`, 1, ""},
		{"a list of documents", `[` + doc + `,` + doc + `]`, 2, ""},
		{"elasticdump", `{"_index":"jaeger-span-2025-01-01","_source":` + doc + "}\n" + `{"_index":"x","_source":` + doc + `}`, 2, ""},
		{"a search", `{"took":1,"hits":{"total":{"value":2},"hits":[{"_source":` + doc + `},{"_source":` + doc + `}]}}`, 2, ""},
		{"an error", `{"data":null,"total":0,"errors":[{"code":404,"msg":"trace not found"}]}`, 0, "1: the answer of a query that failed: 404 trace not found"},
		{"names of services", `{"data":["jaeger","vllm"],"total":2,"errors":null}`, 0, "1: data that holds no trace"},
		{"a document of something else", `{"_source":{"message":"a log line"}}`, 0, "1: span: neither spanID nor operationName"},
		{"a span that is none", `{"spans":[5,null,{"traceID":"a","spanID":"1"}]}`, 1, "1: span: want an object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, rep, n := decodeAll(t, []byte(c.data), false)
			if len(got) != c.spans || texts(rep) != c.problem || n != len(c.data) {
				t.Errorf("%d spans, read %d of %d, %s", len(got), n, len(c.data), texts(rep))
			}
		})
	}
	for name, data := range map[string]string{"empty": `{"data":[],"errors":null}`, "no spans": `{"traceID":"a","spans":[]}`, "data null": `{"data":null}`} {
		if _, rep, _ := decodeAll(t, []byte(data), false); rep.Signals[EmptyAnswer] != 1 || rep.ErrorCount != 0 {
			t.Errorf("%s: %v, %s", name, rep.Signals, texts(rep))
		}
	}
	// What is not Jaeger's is left to others.
	for _, other := range []string{`{"resourceSpans":[]}`, `{}`, `[1]`, `5`, `[]x`, `{"foo":1,`, `{"traceId":"1","id":"1"}`, `[{"traceId":"1","spanId":"1"}]`, `{"operationName":"GET","time":1}`} {
		data := trace + "\n" + other
		if got, _, n := decodeAll(t, []byte(data), false); len(got) != 1 || n != len(trace)+1 && other != `{"foo":1,` {
			t.Errorf("%s: %d spans, stopped at %d", other, len(got), n)
		}
	}
}

// A Decoder goes from block to block, and other decoders fill the same batch.
func TestDecoderIsReused(t *testing.T) {
	b := model.NewBatch(model.NewDict(), false)
	d := new(Decoder)
	var rep decode.Report
	block := decode.Block{Data: []byte(`{"traceID":"a","spans":[{"spanID":"1","processID":"p1"}],"processes":{"p1":{"serviceName":"s"}}}`), Line: 1}
	for range 2 {
		other := b.Begin()
		other.Res = b.Dict.Resource(model.Resource{Service: "other"}, "")
		b.End()
		d.Decode(block, b, &rep)
	}
	for i, service := range []string{"other", "s", "other", "s"} {
		if got := b.Dict.Res(b.Records[i].Res).Service; got != service || (b.Records[i].Trace.Lo == 10) != (service == "s") {
			t.Errorf("record %d: %s, %v", i, got, b.Records[i].Trace)
		}
	}
	b.Reset()
	d.Decode(block, b, &rep)
	if len(b.Records) != 1 || rep.Spans != 3 || rep.ErrorCount != 0 {
		t.Errorf("%d records, %d spans, %s", len(b.Records), rep.Spans, texts(&rep))
	}
}

func TestBegins(t *testing.T) {
	for data, want := range map[string]bool{`{"data":[`: true, "\n[ {\n\"traceID\":": true, `{"spans"`: true, `{"spans`: false, `{"resourceSpans":`: false, `{"database":1`: false, ``: false, `{`: false} {
		if got := Begins([]byte(data)); got != want {
			t.Errorf("%s: %v", data, got)
		}
	}
}

func TestWarnings(t *testing.T) {
	for text, note := range map[string]string{
		"This span's timestamps were adjusted by -62.827073ms":                                    noteAdjusted,
		"clock skew adjustment disabled; not applying calculated delta of -62.827073ms":           noteUnadjusted,
		"max clock skew adjustment delta of 10ms exceeded; not applying calculated delta of 35ms": noteUnadjusted,
		"some span warning": "",
	} {
		_, rep := one(t, `"warnings":["`+text+`","`+text+`"]`, false)
		if got := strings.Join(rep.Notes, "|"); got != note {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// A document that is cut keeps the spans before the cut; one that is broken is reported with its line, and the next value counts.
func TestBroken(t *testing.T) {
	doc := "{\"data\":[{\"traceID\":\"a\",\n\"spans\":[{\"spanID\":\"1\"},\n {\"spanID\":\"2\"}],\n\"processes\":{}}]}"
	for n := 1; n < len(doc); n++ {
		got, rep, read := decodeAll(t, []byte(doc[:n]), false)
		whole := strings.Count(doc[:n], `"}`)
		if len(got) != whole || !rep.Truncated || rep.Skipped != 1 || read != n || !strings.Contains(texts(rep), decode.ErrTruncated.Error()) {
			t.Fatalf("%d bytes: %d spans of %d, %s", n, len(got), whole, texts(rep))
		}
	}
	broken := strings.Replace(doc, `"2"}`, `"2"]`, 1) + "\n" + `{"spans":[{"spanID":"3"}]}`
	got, rep, _ := decodeAll(t, []byte(broken), false)
	if len(got) != 2 || rep.Skipped != 1 || texts(rep) != "3: want ',' or '}', have ']'" || rep.Truncated {
		t.Errorf("%v, %s", got, texts(rep))
	}
	deep := `{"spans":[{"spanID":"1","tags":[{"key":"hit_tokens","value":` + strings.Repeat("[", 100000) + "\n" + `{"spans":[{"spanID":"3"}]}`
	if got, rep, _ := decodeAll(t, []byte(deep), true); len(got) != 1 || !strings.Contains(texts(rep), "nested more than") {
		t.Errorf("deep: %v, %s", got, texts(rep))
	}
	if got, rep, _ := decodeAll(t, []byte(`{"spanID":"1","startTime":5..5}`), false); len(got) != 0 || rep.Skipped == 0 {
		t.Errorf("broken number: %v, %s", got, texts(rep))
	}
}

func FuzzJaegerJSON(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 20 {
		f.Fatalf("%v, %v", files, err)
	}
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil && len(data) < 6000 {
			f.Add(data)
		}
	}
	f.Add([]byte(`{"hits":{"hits":[{"_source":{"spanID":"1","tag":{"error":true}}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		for _, keepAll := range []bool{false, true} {
			a, repA, n := decodeAll(t, data, keepAll)
			b, repB, m := decodeAll(t, data, keepAll)
			if n != m || n > len(data) || !slices.Equal(a, b) || texts(repA) != texts(repB) {
				t.Fatalf("two runs differ: %d and %d spans", len(a), len(b))
			}
		}
		compare(t, data)
	})
}
