package inspect

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/critpath"
	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/split"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// analysed is a linked request with its analyses.
func analysed(r *model.Request) *Subject {
	var w critpath.Work
	var sp split.Splitter
	return &Subject{Request: r, Row: &model.Row{Model: "unknown"}, Path: critpath.Analyze(r, &w), Split: sp.Split(r)}
}

// from adds a source to the span of an id.
func from(t *testing.T, r *model.Request, id string, src ...model.Source) *model.Span {
	t.Helper()
	for _, s := range r.Spans {
		if r.Dict.SpanIDText(s.ID) == id {
			s.Sources = append(s.Sources, src...)
			return s
		}
	}
	t.Fatalf("no span %q", id)
	return nil
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// compact takes the line breaks and indentation out of JSON.
func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestDocument is one small request as a whole, worked out by hand.
func TestDocument(t *testing.T) {
	r := modeltest.Linked(t, `
llm_request          engine  0ms 10ms  id=E trace=1 gen_ai.latency.time_to_first_token=0.008 gen_ai.latency.time_in_queue=0.001
cb.lookup.rpc        sched   1ms 5ms   id=K trace=2 n_polls=2
  cb.lookup          server  2ms 4ms   id=L trace=2 requested_tokens=1024 hit_tokens=512 prefix_hit_tokens=512 non_prefix_hit_tokens=0
cb.start_load_kv     worker0 6ms 7ms   id=S trace=3 parent=gone rank=0
  cb.retrieve        server  6ms 7ms   id=R trace=3 num_chunks=2 worker_id=0
cb.store_final       server  9ms 12ms  id=B trace=2
x.note               sched   - -       id=N trace=2
`)
	r.ID, r.External = "req-1", "ext-1"
	spans, lines := r.Dict.AddFile("run/spans.json"), r.Dict.AddFile("run/profile.jsonl")
	r.Dict.File(lines).Lines = true
	from(t, r, "E", model.Source{File: spans, Pos: 0, Joined: model.JoinNormalised})
	from(t, r, "K", model.Source{File: lines, Pos: 7, Joined: model.JoinID}, model.Source{File: spans, Pos: 300, Joined: model.JoinTrace}, model.Source{File: lines, Pos: 3, Joined: model.JoinID})
	s := analysed(r)
	s.Inputs = []model.InputStats{{File: "run/profile.jsonl", Format: "cb-profile"}, {File: "run/spans.json", Format: "otlp-json+gzip"}}
	s.Row = &model.Row{Model: "m", TTFT: model.Some(8e6), Queue: model.Some(1e6), PromptTokens: model.Some(1200),
		Joins: map[model.JoinKey]int64{{From: "server", To: "engine", By: model.JoinTrace}: 1, {From: "profile", To: "engine", By: model.JoinID}: 2}}
	tail := from(t, r, "B")
	s.Findings = []finding.Found{{Number: finding.Relookup, Message: "m1"}, {Number: finding.StaleChunks, Message: "m2"}, {Number: finding.RankNotOK, Message: "m3", Spans: []*model.Span{tail, r.Root}},
		{Number: finding.EarlyExit, Message: "m4"}}
	s.Clock = []report.Clock{{Process: "elsewhere", Reference: "engine", Basis: "pairs"}, {Process: "server", Reference: "sched", OffsetNS: model.Some(0), UncertaintyNS: model.Some(1000), Pairs: 9, Basis: "zero"}}
	got := Build(s)

	part := func(what string, v any, want string) {
		t.Helper()
		if have, want := compact(t, asJSON(t, v)), compact(t, want); have != want {
			t.Errorf("%s\n have %s\n want %s", what, have, want)
		}
	}
	const trace1, trace2, trace3 = "0000000000000001af63ac4c86019afc", "0000000000000001af63af4c8601a015", "0000000000000001af63ae4c86019e62"
	part("request", got.Request, `{"id":"req-1","external_id":"ext-1","key":"id","traces":["`+trace1+`","`+trace3+`","`+trace2+`"],"model":"m","root_stage":"llm_request","root_duration_ns":10000000,
		"ttft_ns":8000000,"queue_ns":1000000,"prefill_ns":null,"decode_ns":null,"prompt_tokens":1200,"completion_tokens":null}`)
	part("window", got.Window, `{"start_unix_ns":1700000000000000000,"duration_ns":10000000,"uncertainty_ns":0}`)
	part("tail", got.TailNS, `2000000`)
	part("path", got.CriticalPath, `{"total_ns":10000000,"segments":[
		{"kind":"self","stage":"llm_request","span":"E","start_ns":0,"duration_ns":1000000,"bound":"queue"},
		{"kind":"self","stage":"cb.lookup.rpc","span":"K","start_ns":1000000,"duration_ns":1000000,"bound":"rpc"},
		{"kind":"self","stage":"cb.lookup","span":"L","start_ns":2000000,"duration_ns":2000000,"bound":"match"},
		{"kind":"self","stage":"cb.lookup.rpc","span":"K","start_ns":4000000,"duration_ns":1000000,"bound":"poll"},
		{"kind":"self","stage":"llm_request","span":"E","start_ns":5000000,"duration_ns":1000000,"bound":"engine"},
		{"kind":"self","stage":"cb.retrieve","span":"R","start_ns":6000000,"duration_ns":1000000,"bound":"gpu_copy"},
		{"kind":"self","stage":"llm_request","span":"E","start_ns":7000000,"duration_ns":1000000,"bound":"engine"},
		{"kind":"self","stage":"llm_request","span":"E","start_ns":8000000,"duration_ns":2000000,"bound":"decode"}],
		"by_stage":[{"stage":"llm_request","ns":5000000,"share":0.5,"drag_ns":5000000,"uncertainty_ns":0},{"stage":"cb.lookup","ns":2000000,"share":0.2,"drag_ns":2000000,"uncertainty_ns":0},
			{"stage":"cb.lookup.rpc","ns":2000000,"share":0.2,"drag_ns":2000000,"uncertainty_ns":0},{"stage":"cb.retrieve","ns":1000000,"share":0.1,"drag_ns":1000000,"uncertainty_ns":0}],
		"by_bound":[{"bound":"decode","ns":2000000},{"bound":"engine","ns":2000000},{"bound":"match","ns":2000000},{"bound":"gpu_copy","ns":1000000},
			{"bound":"poll","ns":1000000},{"bound":"queue","ns":1000000},{"bound":"rpc","ns":1000000}],
		"ttft":{"total_ns":8000000,"by_stage":[{"stage":"llm_request","ns":3000000,"share":0.375,"drag_ns":3000000,"uncertainty_ns":0},{"stage":"cb.lookup","ns":2000000,"share":0.25,"drag_ns":2000000,"uncertainty_ns":0},
			{"stage":"cb.lookup.rpc","ns":2000000,"share":0.25,"drag_ns":2000000,"uncertainty_ns":0},{"stage":"cb.retrieve","ns":1000000,"share":0.125,"drag_ns":1000000,"uncertainty_ns":0}],
			"by_bound":[{"bound":"engine","ns":2000000},{"bound":"match","ns":2000000},{"bound":"gpu_copy","ns":1000000},{"bound":"poll","ns":1000000},{"bound":"queue","ns":1000000},{"bound":"rpc","ns":1000000}]}}`)
	var ids []string
	for _, s := range got.Spans {
		ids = append(ids, s.ID)
	}
	if have := strings.Join(ids, " "); have != "E K L R S B N" {
		t.Errorf("spans in the order %s", have)
	}
	part("the root", got.Spans[0], `{"id":"E","trace":"`+trace1+`","edge":"root","stage":"llm_request","name":"llm_request","owner":"engine","process":"engine","class":"work",
		"start_ns":0,"raw_start_unix_ns":1700000000000000000,"duration_ns":10000000,"self_ns":4000000,"critical_ns":5000000,
		"attributes":{"gen_ai.latency.time_in_queue":0.001,"gen_ai.latency.time_to_first_token":0.008},
		"sources":[{"file":"run/spans.json","format":"otlp-json+gzip","offset":0,"joined":"normalised_id"}],"flags":[],"uncertainty_ns":0}`)
	part("the rpc", got.Spans[1], `{"id":"K","trace":"`+trace2+`","parent":"E","edge":"adopted","stage":"cb.lookup.rpc","name":"cb.lookup.rpc","owner":"scheduler","process":"sched","class":"work",
		"start_ns":1000000,"raw_start_unix_ns":1700000000001000000,"duration_ns":4000000,"self_ns":2000000,"critical_ns":2000000,"attributes":{"n_polls":2},
		"sources":[{"file":"run/profile.jsonl","format":"cb-profile","line":3,"joined":"id"},{"file":"run/profile.jsonl","format":"cb-profile","line":7,"joined":"id"},
			{"file":"run/spans.json","format":"otlp-json+gzip","offset":300,"joined":"trace"}],"flags":[],"uncertainty_ns":null}`)
	part("an orphan", got.Spans[4], `{"id":"S","trace":"`+trace3+`","parent":"E","original_parent":"gone","edge":"adopted","stage":"cb.start_load_kv","name":"cb.start_load_kv","owner":"worker",
		"process":"worker0","class":"work","start_ns":6000000,"raw_start_unix_ns":1700000000006000000,"duration_ns":1000000,"self_ns":0,"critical_ns":0,"attributes":{"rank":"0"},"flags":["orphan"],"uncertainty_ns":null}`)
	part("without a time", got.Spans[6], `{"id":"N","trace":"`+trace2+`","parent":"E","edge":"adopted","stage":"x.note","name":"x.note","process":"sched","class":"work",
		"start_ns":null,"raw_start_unix_ns":null,"duration_ns":null,"self_ns":null,"critical_ns":null,"flags":["untimed","transparent"],"uncertainty_ns":null}`)
	part("lookup", got.Lookup, `[{"rpc_ns":4000000,"submit_ns":1000000,"l2_load_ns":0,"l2_load_min_ns":null,"server_other_ns":2000000,"poll_wait_ns":1000000,"server_ns":null,"wait_ns":null,
		"n_polls":2,"poll_max_interval_ns":null,"overshoot_ns":null,"basis":"inferred_upper","uncertainty_ns":null,"upper_bounds":["server_other"]}]`)
	part("hits", got.Hits, `{"requested_tokens":1024,"hit_tokens":512,"hit_rate":0.5,"class":"partial","prefix_tokens":512,"segmented_prefix_tokens":null,"non_prefix_tokens":0,"l1_tokens":null,
		"l2_tokens":null,"l1_keys":null,"l2_keys":null,"written_tokens":null,"effective_reuse":null,"shortfall_tokens":null}`)
	part("loads", got.Loads, `{"attempts":1,"overlapping":false,"passes":[{"attempt":1,"worker":"0","span":"S","start_ns":6000000,"duration_ns":1000000,"written_tokens":null}],"verdict":"none","wasted_tokens":0}`)
	part("transfers", got.Transfers, `[]`)
	part("findings", got.Findings, `[{"code":"rank_not_ok","severity":"error","message":"m3","spans":["B","E"]},{"code":"early_exit","severity":"warning","message":"m4","spans":[]},
		{"code":"stale_chunks","severity":"warning","message":"m2","spans":[]},{"code":"relookup","severity":"note","message":"m1","spans":[]}]`)
	part("clock", got.Clock, `[{"process":"server","reference":"sched","offset_ns":0,"uncertainty_ns":1000,"drift_ppm":null,"pairs":9,"disagreeing":0,"basis":"zero"}]`)
	part("quality", got.Quality, `{"spans_read":2,"records_read":2,"skipped":null,"duplicated":0,"conflicting":0,"unattributed":0,"orphaned":1,"adopted":4,"clipped":0,"outside":0,"cycles":0,"negative":0,
		"untimed":1,"open":0,"unknown_stages":0,"joins":[{"from":"profile","to":"engine","by":"id","n":2},{"from":"server","to":"engine","by":"trace","n":1}],"open_copies":0,"coalesced":0,"dual":0}`)
}

// TestUnknown: what nobody said is null or absent, never 0 (DESIGN 10).
func TestUnknown(t *testing.T) {
	r := modeltest.Linked(t, "x.only sched - - id=A")
	got := Build(analysed(r))
	text := compact(t, asJSON(t, got))
	for _, want := range []string{
		`"window":{"start_unix_ns":null,"duration_ns":null,"uncertainty_ns":null}`, `"root_stage":"(synthetic)","root_duration_ns":null`, `"segments":[],"by_stage":[],"by_bound":[]}`,
		`"lookup":[]`, `"hit_rate":null,"class":"none"`, `"written_tokens":null,"effective_reuse":null,"shortfall_tokens":null}`, `"passes":[],"verdict":"none"`,
		`"l2_bytes":null,"l2_chunks":null,"l2_gbps":null`, `"scatter_tokens_per_s":null,"imp_count":null,"recomp_ratio":null,"imp_empty":null}`, `"transfers":[],"findings":[],"clock":[]`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %s in\n%s", want, text)
		}
	}
	for _, absent := range []string{"external_id", "ttft\"", "early_exit_reason", "dispatch", "attributes", "sources"} {
		if strings.Contains(text, absent) {
			t.Errorf("%s is there in\n%s", absent, text)
		}
	}
}

func TestOpenAndNegative(t *testing.T) {
	r := modeltest.Linked(t, `
cb.request     sched 0ms 10ms id=Q
  cb.schedule  sched 1ms -    id=S
  cb.execute   sched 5ms 3ms  id=X
`)
	got := Build(analysed(r))
	if s := got.Spans[1]; s.ID != "S" || s.DurationNS.OK || s.SelfNS.OK || s.CriticalNS != model.Some(0) || s.StartNS != model.Some(1e6) || s.Flags[0] != "open" {
		t.Errorf("open: %+v", s)
	}
	if s := got.Spans[2]; s.ID != "X" || s.DurationNS != model.Some(-2e6) || s.SelfNS != model.Some(0) || s.Flags[0] != "negative" {
		t.Errorf("negative: %+v", s)
	}
	if got.Request.RootDurationNS != model.Some(10e6) {
		t.Errorf("root duration %v", got.Request.RootDurationNS)
	}
}

func TestAttributes(t *testing.T) {
	r := modeltest.Linked(t, "cb.request sched 0ms 10ms id=Q")
	span := from(t, r, "Q")
	add := func(name string, v model.Value) {
		k := model.AttrOf([]byte(name))
		if k == model.AttrNone {
			k = model.NumAttrs + model.AttrKey(r.Dict.InternString(name))
		}
		span.Attrs = append(span.Attrs, model.Attr{Key: k, Value: v})
	}
	text := func(s string) model.Value { return model.Value{Kind: model.StrValue, Str: s} }
	add("hit_tokens", model.Value{Kind: model.IntValue, Int: 7})
	add("hit_tokens", model.Value{Kind: model.IntValue, Int: 9007199254740993})
	add("app.share", model.Value{Kind: model.FloatValue, Float: 0.25})
	add("app.nan", model.Value{Kind: model.FloatValue, Float: math.NaN()})
	add("app.on", model.Value{Kind: model.BoolValue, Int: 1})
	add("app.text", text("a<b"))
	add("app.none", model.Value{})
	add("token_ids", text("1,2,3"))
	add("gen_ai.prompt.0.content", text("<redacted 17 bytes>"))
	add("authorization", text("<redacted 0x bytes>"))
	s := analysed(r)
	const want = `{"app.nan":"NaN","app.on":true,"app.share":0.25,"app.text":"a<b","authorization":"<redacted 19 bytes>","gen_ai.prompt.0.content":"<redacted 17 bytes>",` +
		`"hit_tokens":9007199254740993,"token_ids":"<redacted 5 bytes>"}`
	if got := compact(t, asJSON(t, Build(s).Spans[0].Attributes)); got != want {
		t.Errorf("have %s\nwant %s", got, want)
	}
	s.ShowSensitive = true
	if got := Build(s).Spans[0].Attributes["token_ids"]; got != "1,2,3" {
		t.Errorf("token_ids with ShowSensitive: %v", got)
	}
}

func TestBlend(t *testing.T) {
	r := modeltest.Linked(t, `
cb.request            sched  0ms 100ms
  cb.lookup           server 1ms 50ms
    cb.sparse_prefetch server 2ms 45ms l2_keys=4
      cb.l2_load      server 2ms 22ms  bytes=40000000 chunks=8
      cb.l2_load      server 12ms 42ms bytes=20000000 chunks=4
  cb.check            worker 60ms 70ms recomp_ratio=0.1 dispatch=unified imp_count=10
  cb.check            worker 71ms 80ms recomp_ratio=0.3 dispatch=flex imp_count=20
  cb.check            worker 81ms 82ms dispatch=unified imp_empty=True
`)
	b := Build(analysed(r)).Blend
	if b.L2Bytes != model.Some(60e6) || b.L2Chunks != model.Some(12) || b.L2GBps != model.SomeFloat(1.5) { // 60 MB in 40 ms
		t.Errorf("loads: %+v", b)
	}
	if b.RecompRatio != model.SomeFloat(0.2) || b.Dispatch != "flex,unified" || b.ImpCount != model.Some(30) || b.ImpEmpty != model.Some(1) {
		t.Errorf("recompute: %+v", b)
	}
}
