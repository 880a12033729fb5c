package cut

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// files collects what a writer appends.
type files map[string]string

func (f files) append(name string, b []byte) error {
	f[name] += string(b)
	return nil
}

// R4.11: files of one family are one file of a shard, whose number is a rotation stamp behind an extension; lines and spans never share one.
func TestBases(t *testing.T) {
	have := bases([]Input{{Family: "traces.jsonl"}, {Family: "traces.jsonl"}, {Family: "node1/traces.jsonl"}, {Family: "traces.jsonl", Lines: true}, {Family: "DUMP"}, {Family: "../x/.hidden/y.json"},
		{Family: "/abs/node_modules/z.log"}, {Family: "-"}})
	want := []string{"traces.jsonl", "traces.jsonl", "node1/traces.jsonl", "traces~2.jsonl", "DUMP.jsonl", "_/x/_hidden/y.json", "abs/_node_modules/z.log", "-.jsonl"}
	if !slices.Equal(have, want) {
		t.Errorf("%q\nwant %q", have, want)
	}
	if name := (place{12, "node1/traces.jsonl"}).name(); name != "shard-12/node1/traces.jsonl.12" {
		t.Error(name)
	}
}

// R4.2: an external id that several internal ones fit, and those, go into one shard, whatever their own hashes are.
func TestAmbiguousGroupStaysTogether(t *testing.T) {
	const n = 97
	out := files{}
	r := modeltest.Request(t, "cb.request sched 0ms 9ms\n")
	w := New(r.Dict, n, []Input{{Family: "a.jsonl"}}, out.append)
	r.Spans[0].Sources = []model.Source{{File: 0, Pos: 1}}
	for _, id := range []model.Identity{{ID: "chat-7", Ambiguous: true, External: "chat-7"}, {ID: "0_chat-7-00000001", Candidate: true, External: "chat-7"}, {ID: "1_chat-7-00000002", Candidate: true, External: "chat-7"}} {
		r.Identity = id
		if err := w.Request(r); err != nil {
			t.Fatal(err)
		}
	}
	r.Identity = model.Identity{ID: "1_chat-7-00000002"}
	if Shard(r.ID, n) == Shard("chat-7", n) {
		t.Fatal("a bad example")
	}
	if err := w.Request(r); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	together := place{Shard("chat-7", n), "a.jsonl"}.name()
	if len(out) != 2 || strings.Count(out[together], `"cbtrace.request"`) != 3 || w.Requests != 4 || w.Spans != 4 {
		t.Errorf("%v in %q", slices.Sorted(maps.Keys(out)), together)
	}
}

// Every line is JSON that says what the span said, with the request beside it.
func TestLines(t *testing.T) {
	r := modeltest.Request(t, `
cb.request     sched   0ms  9ms  requested_tokens=1280 model=a"b\c error
  cb.schedule  sched   1ms  5ms
  my.span      worker  6ms  7ms
`)
	for _, s := range r.Spans {
		s.Sources = []model.Source{{}}
	}
	extra := r.Dict.InternString("x\x01\u2028\xff")
	r.Spans[0].Attrs = append(r.Spans[0].Attrs, model.Attr{Key: model.NumAttrs + model.AttrKey(extra), Value: model.Value{Kind: model.FloatValue, Float: math.Inf(1)}},
		model.Attr{Key: model.AttrResolved, Value: model.Value{Kind: model.StrValue, Str: "of an earlier cut"}})
	out := files{}
	w := New(r.Dict, 1, []Input{{Family: "a.jsonl"}}, out.append)
	if err := w.Request(r); err != nil {
		t.Fatal(err)
	}
	s := *r.Spans[2]
	s.Line, s.Res = true, r.Dict.Resource(model.Resource{PID: 7}, "a.jsonl")
	lines := New(r.Dict, 1, []Input{{Family: "p.jsonl", Lines: true}}, out.append)
	if err := lines.Process(&s); err != nil {
		t.Fatal(err)
	}
	s.RawStart, s.RawEnd = 0, 0 // of a unit that nobody knows
	if err := lines.Process(&s); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*Writer{w, lines} {
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]string{
		"shard-0/a.jsonl.0": {
			`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.instance.id","value":{"stringValue":"sched"}}]},"scopeSpans":[{"scope":{"name":"lmcache_cacheblend"},"spans":[` +
				`{"traceId":"` + r.Dict.TraceIDText(r.Spans[0].Trace) + `","spanId":"0000000000000001","name":"cb.request","kind":1,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000009000000",` +
				`"attributes":[{"key":"requested_tokens","value":{"intValue":"1280"}},{"key":"model","value":{"stringValue":"a\"b\\c"}},{"key":"x\u0001` + "\u2028\ufffd" + `","value":{"doubleValue":"Infinity"}},` +
				`{"key":"cbtrace.request","value":{"stringValue":"r"}}],"status":{"code":2}},` +
				`{"traceId":"` + r.Dict.TraceIDText(r.Spans[0].Trace) + `","spanId":"0000000000000002","parentSpanId":"0000000000000001","name":"cb.schedule","kind":1,"startTimeUnixNano":"1700000000001000000",` +
				`"endTimeUnixNano":"1700000000005000000","attributes":[{"key":"cbtrace.request","value":{"stringValue":"r"}}]}]}]}]}`,
			`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.instance.id","value":{"stringValue":"worker"}}]},"scopeSpans":[{"scope":{"name":"lmcache_cacheblend"},"spans":[` +
				`{"traceId":"` + r.Dict.TraceIDText(r.Spans[0].Trace) + `","spanId":"0000000000000003","parentSpanId":"0000000000000001","name":"my.span","kind":1,"startTimeUnixNano":"1700000000006000000",` +
				`"endTimeUnixNano":"1700000000007000000","attributes":[{"key":"cbtrace.request","value":{"stringValue":"r"}}]}]}]}]}`,
		},
		"shard-0/p.jsonl.0": {`{"name":"my.span","cbtrace.start_ns":1700000000006000000,"dur_ns":1000000,"pid":7,"cbtrace.request":""}`, `{"name":"my.span","ts":1,"pid":7,"cbtrace.request":""}`},
	}
	for name, text := range want {
		have := strings.Split(strings.TrimSuffix(out[name], "\n"), "\n")
		if !slices.Equal(have, text) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(have, "\n"), strings.Join(text, "\n"))
		}
		for _, line := range have {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: no JSON: %s", name, line)
			}
		}
	}
	if w.Spans != 3 || lines.Lines != 2 {
		t.Errorf("%d spans, %d lines", w.Spans, lines.Lines)
	}
}

// A recording goes where there are records that say that the capture was cut.
func TestRecording(t *testing.T) {
	r := modeltest.Request(t, "cb.request sched 0ms 9ms\n")
	r.Spans[0].Sources = []model.Source{{}}
	w := New(r.Dict, 50, []Input{{Family: "a.jsonl"}}, files{}.append)
	if w.Recording("x.lct") != Shard("x.lct", 50) {
		t.Error("without records any shard will do")
	}
	if err := w.Request(r); err != nil {
		t.Fatal(err)
	}
	if have, want := w.Recording("x.lct"), Shard("r", 50); have != want {
		t.Errorf("shard %d, want %d", have, want)
	}
}
