package check

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

var factNames = [numFacts]string{"any", "engine", "no ttft", "no engine", "server", "no server", "blend", "no scheduler", "no worker", "both", "apart",
	"lookup", "no numbers", "no phases", "move", "no root", "orphan", "shutdown", "ambiguous", "stitched", "leaked", "at most"}

// factsOf are the names of the facts that one request shows.
func factsOf(t *Tally) string {
	var out []string
	for f := range numFacts {
		if t.n[f] > 0 {
			out = append(out, factNames[f])
		}
	}
	return strings.Join(out, ", ")
}

func set(numbers ...int) (s model.FindingSet) {
	for _, n := range numbers {
		s |= 1 << n
	}
	return s
}

func TestTally(t *testing.T) {
	asked := model.RowHits{Requested: model.Some(1024), Hit: model.Some(512)}
	for _, c := range []struct {
		name, text string
		row        model.Row
		want       string
	}{
		{"all of a request in one trace", `
llm_request           engine  0ms 100ms  trace=a
  cb.request          sched   1ms 90ms   trace=a
    cb.schedule       sched   1ms 60ms   trace=a
      cb.lookup.rpc   sched   2ms 55ms   trace=a
        cb.lookup     server  3ms 50ms   trace=a
    cb.execute        worker  60ms 90ms  trace=a
      cb.start_load_kv worker 61ms 70ms  trace=a
        cb.retrieve   server  62ms 69ms  trace=a`,
			model.Row{Flags: model.RowLLM | model.RowHasLookup, TTFT: model.Some(95e6), Hits: asked}, "any, engine, server, blend, both, lookup"},
		{"the standard path beside an engine", `
llm_request           engine  0ms 100ms  trace=a
request               server  1ms 90ms   trace=b
  mp.lookup_prefetch  server  2ms 10ms   trace=b
  mp.retrieve         server  12ms 20ms  trace=b`,
			model.Row{Flags: model.RowLLM | model.RowHasLookup, Hits: asked}, "any, engine, no ttft, server, both, apart, lookup, no phases, move"},
		{"with phases, without numbers", `
request               server  1ms 90ms   trace=b
  mp.lookup_prefetch  server  2ms 10ms   trace=b
  mp.store            server  12ms 20ms  trace=b
    transfer.staging  server  12ms 18ms  trace=b`,
			model.Row{Flags: model.RowHasLookup, Transfers: []model.RowTransfer{{Staging: 6e6}}}, "any, no engine, server, lookup, no numbers, move"},
		{"CacheBlend of today, the server alone", `
cb.request            server  0ms 30ms   trace=b scope=lmcache_mp.blend
  cb.lookup           server  0ms 28ms   trace=b
  cb.retrieve         server  40ms 60ms  trace=b`,
			model.Row{Flags: model.RowHasLookup, Hits: asked}, "any, no engine, server, blend, no scheduler, no worker, lookup"},
		{"its root was never exported", `
cb.lookup             server  0ms 28ms   trace=b`,
			model.Row{Flags: model.RowHasLookup, Hits: asked, Findings: set(finding.Orphan), Lookups: []model.RowLookup{{AtMost: true}}},
			"any, no engine, server, blend, no scheduler, lookup, no root, orphan, at most"},
		{"a scheduler whose server is not there", `
cb.request            sched   1ms 90ms   trace=a
  cb.schedule         sched   1ms 60ms   trace=a
    cb.lookup.rpc     sched   2ms 55ms   trace=a`,
			model.Row{Flags: model.RowHasLookup, Hits: asked}, "any, no server, lookup"},
		{"findings", `
request               server  1ms 90ms   trace=b`,
			model.Row{Findings: set(finding.Shutdown, finding.AmbiguousJoin, finding.StitchedRanks, finding.ContextLeak)},
			"any, no engine, server, shutdown, ambiguous, stitched, leaked"},
	} {
		var tally Tally
		r := modeltest.Linked(t, c.text)
		c.row.Flags |= model.RowVocabulary
		c.row.ID = "r"
		tally.Add(r, &c.row)
		if got := factsOf(&tally); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
		c.row.Flags &^= model.RowVocabulary
		tally = Tally{}
		tally.Add(r, &c.row)
		if tally.n != [numFacts]int64{} {
			t.Errorf("%s: counted without a stage of the vocabulary", c.name)
		}
	}
}

// However requests are spread over tallies, the sum and its examples are the same, and the earliest are the examples.
func TestTallyMerges(t *testing.T) {
	r := modeltest.Linked(t, "request server 1ms 90ms trace=b")
	var whole Tally
	parts := make([]Tally, 3)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, i := range rng.Perm(40) {
		row := &model.Row{Identity: model.Identity{ID: fmt.Sprintf("r%02d", i)}, Start: model.Time(1 + i/2), Flags: model.RowVocabulary, Model: fmt.Sprint("m", i%3)}
		whole.Add(r, row)
		parts[rng.IntN(3)].Add(r, row)
	}
	sum := Tally{}
	for i := range parts {
		sum.Merge(&parts[i])
	}
	whole.traces, sum.traces = nil, nil
	if !reflect.DeepEqual(whole, sum) {
		t.Errorf("%+v\nwant\n%+v", sum, whole)
	}
	if got := strings.Join(whole.exemplars(lacksEngine), " "); got != "r00 r01 r02" || whole.n[lacksEngine] != 40 || whole.models["m1"] != 13 {
		t.Errorf("%s, %d requests, models %v", got, whole.n[lacksEngine], whole.models)
	}
}

// clean is a capture with nothing to say about.
func clean() *Subject {
	d := model.NewDict()
	s := &Subject{
		Inputs: []model.InputStats{{File: "a.jsonl", Format: "otlp-json", Spans: 8, Named: true}}, Dict: d,
		Report:   &report.Document{Requests: report.Requests{Total: 4}, Survey: "whole", Quality: report.Quality{SpansRead: 8}, Clock: []report.Clock{{Process: "a", Reference: "b", Basis: "zero"}}},
		Requests: &Tally{models: map[string]int64{"llama": 4}, processes: map[model.ProcID]bool{}},
	}
	for _, f := range []fact{anyRequest, hasEngine, hasServer, hasBlend, bothSides, hasLookup, hasMove} {
		s.Requests.n[f] = 4
	}
	return s
}

func TestBuild(t *testing.T) {
	count := func(f fact, n int64) func(*Subject) {
		return func(s *Subject) {
			s.Requests.n[f] = n
			s.Requests.first[f] = []example{{1, "x"}, {2, "y"}}
		}
	}
	found := func(code string, n int64) func(*Subject) {
		return func(s *Subject) {
			s.Report.Findings = []report.Finding{{Code: "orphan", Scope: "request", Count: 2}, {Code: code, Scope: "capture", Count: n, Exemplars: []string{"x"}}}
		}
	}
	input := func(in model.InputStats) func(*Subject) {
		return func(s *Subject) { s.Inputs = append(s.Inputs, in) }
	}
	for _, c := range []struct {
		name   string
		change func(*Subject)
		want   []string // code, severity, count/of unit, the first exemplar; a problem each
	}{
		{"clean", func(*Subject) {}, nil},
		{"no request", func(s *Subject) {
			s.Report.Requests.Total, s.Requests = 0, &Tally{}
			s.Inputs[0].Names = []string{"db.query", "GET /", "db.query"}
		}, []string{"no_request bad 1/0 capture GET /"}},
		{"nothing of the vocabulary", func(s *Subject) { s.Requests = &Tally{} }, []string{"no_vocabulary note 1/0 capture"}},
		{"named and useless", input(model.InputStats{File: "b", Named: true, Unusable: "no spans in it"}), []string{"unusable_input bad 1/2 input b: no spans in it"}},
		{"a format and useless", input(model.InputStats{File: "b", Format: "jaeger-json", Unusable: "cut"}), []string{"unusable_input bad 1/2 input b: cut"}},
		{"found and closed to us", input(model.InputStats{File: "b", Unread: true, Unusable: "permission denied"}), []string{"unusable_input bad 1/2 input b: permission denied"}},
		{"found and damaged", input(model.InputStats{File: "b", Unread: true, Unusable: "gzip: cut", ErrorCount: 1, Errors: []string{"b: offset 0: gzip: cut"}, Truncated: true}),
			[]string{"unusable_input bad 1/2 input b: offset 0: gzip: cut"}},
		{"found below a folder", input(model.InputStats{File: "a/b", Path: "day/a/b", Format: "otlp-json", Spans: 2, Skipped: 1, ErrorCount: 1, Errors: []string{"a/b:7: x"}}), []string{"skipped_records bad 1/0 record day/a/b:7: x"}},
		{"found and foreign", input(model.InputStats{File: "README", Unusable: "an unknown format"}), []string{"foreign_file note 1/2 input README: an unknown format"}},
		{"broken records", input(model.InputStats{File: "b", Format: "otlp-json", Spans: 2, Skipped: 3, ErrorCount: 3, Errors: []string{"b:7: x", "b:9: y"}}),
			[]string{"skipped_records bad 3/0 record b:7: x"}},
		{"cut in a record and in its compression", input(model.InputStats{File: "b", Format: "otlp-json+gzip", Spans: 2, Skipped: 1, ErrorCount: 2, Errors: []string{"b: offset 9: gzip: cut", "b:3: cut"}, Truncated: true}),
			[]string{"skipped_records bad 1/0 record b:3: cut", "truncated_input bad 1/2 input b"}},
		{"broken records of an input without lines", input(model.InputStats{File: "b", Format: "otlp-proto+gzip", Spans: 2, Skipped: 1, ErrorCount: 2, Errors: []string{"b: offset 5: x", "b: offset 9: gzip: cut"}, Truncated: true}),
			[]string{"skipped_records bad 1/0 record b: offset 5: x", "truncated_input bad 1/2 input b"}},
		{"broken records, of an unusable input too", func(s *Subject) {
			input(model.InputStats{File: "b", Format: "otlp-json", Spans: 2, Skipped: 2, ErrorCount: 2, Errors: []string{"b:7: x", "b:9: y"}})(s)
			input(model.InputStats{File: "c", Format: "otlp-json", Unusable: "nothing in it could be read: z", Skipped: 1, ErrorCount: 1, Errors: []string{"c:1: z"}})(s)
		}, []string{"unusable_input bad 1/3 input c:1: z", "skipped_records bad 3/0 record b:7: x"}},
		{"parts of records", input(model.InputStats{File: "b", Format: "otlp-json", Spans: 2, ErrorCount: 4, Errors: []string{"b:3: span: a time is past the year 2262; left out"}}),
			[]string{"damaged_input bad 1/2 input b:3: span: a time is past the year 2262; left out"}},
		{"cut", input(model.InputStats{File: "b", Format: "otlp-json", Spans: 2, ErrorCount: 1, Errors: []string{"b:9: cut"}, Truncated: true}),
			[]string{"truncated_input bad 1/2 input b"}},
		{"gaps", input(model.InputStats{File: "b.lct", Format: "lct-events", Records: 2, Gaps: 5000}), []string{"dropped_events bad 5000/0 record b.lct: 5,000"}},
		{"cut and gaps are the finding told in detail", found("capture_incomplete", 1), nil},
		{"calls without hashes", input(model.InputStats{File: "b.lct", Format: "lct-storage+gzip", Records: 2}), []string{"no_lookup_hashes note 1/0 input b.lct"}},
		{"calls with hashes", func(s *Subject) {
			input(model.InputStats{File: "b.lct", Format: "lct-storage", Records: 2})(s)
			input(model.InputStats{File: "h.jsonl", Format: "lookup-hashes", Records: 2})(s)
		}, nil},
		{"clocks contradict", found("clock_disagreement", 2), []string{"clock_disagreement bad 2/0 process x"}},
		{"sightings contradict", found("dual_mismatch", 1), []string{"dual_mismatch bad 1/0 stage x"}},
		{"no engine", found("no_llm_request", 1), []string{"no_llm_request note 1/0 capture"}},
		{"loose clocks", func(s *Subject) {
			s.Report.Clock = append(s.Report.Clock, report.Clock{Process: "c", Reference: "a", Basis: "none"}, report.Clock{Process: "b", Reference: "a", Basis: "none"})
		}, []string{"clock_unknown note 1/3 clock c and a (pairs of spans: 0, needed: 5)"}}, // b and a are known from another pair
		{"clocks bounded from one side", func(s *Subject) {
			s.Report.Clock = []report.Clock{{Process: "c", Reference: "a", Basis: "none", Pairs: 1280}}
		}, []string{"clock_unknown note 1/1 clock c and a (1,280 pairs of spans, bounded from one side only)"}},
		{"a clock beside the others", func(s *Subject) {
			s.Report.Clock = append(s.Report.Clock, report.Clock{Process: "lone", Basis: "none"})
		}, []string{"clock_unknown note 1/2 clock lone and any other (no pair of spans compares them)"}},
		{"two models", func(s *Subject) { s.Requests.models["qwen"] = 9 }, []string{"several_models note 2/0 model qwen"}},
		{"no name", func(s *Subject) { s.Requests.processes[s.Dict.Process("svc/a.jsonl")] = true }, []string{"process_unnamed note 1/0 process svc/a.jsonl"}},
		{"without engine", count(lacksEngine, 2), []string{"some_without_llm_request note 2/4 request x"}},
		{"without ttft", count(lacksTTFT, 2), []string{"no_ttft note 2/4 request x"}},
		{"without server", count(lacksServer, 2), []string{"no_server_spans note 2/4 request x"}},
		{"no server at all", func(s *Subject) { s.Requests.n[hasServer] = 0 }, []string{"no_server_spans note 1/0 capture"}},
		{"apart", count(apart, 3), []string{"no_propagation note 3/4 request x"}},
		{"scheduler", count(lacksScheduler, 3), []string{"no_scheduler note 3/4 request x"}},
		{"worker", count(lacksWorker, 3), []string{"no_worker note 3/4 request x"}},
		{"at most", count(atMost, 1), []string{"l2_upper_bound note 1/4 request x"}},
		{"numbers", count(lacksNumbers, 1), []string{"no_hit_numbers note 1/4 request x"}},
		{"phases", count(lacksPhases, 1), []string{"no_transfer_phases note 1/4 request x"}},
		{"root", count(lacksRoot, 1), []string{"lost_root note 1/4 request x"}},
		{"orphans", count(orphans, 1), []string{"orphans note 1/4 request x"}},
		{"shutdown", count(shutdown, 1), []string{"shutdown_spans note 1/4 request x"}},
		{"ambiguous", count(ambiguous, 1), []string{"ambiguous_ids note 1/4 request x"}},
		{"stitched", count(stitched, 1), []string{"ranks_mixed note 1/4 request x"}},
		{"leaked", count(leaked, 1), []string{"context_leak note 1/4 request x"}},
		{"quality", func(s *Subject) {
			s.Report.Quality = report.Quality{SpansRead: 9, Unattributed: 1, Duplicated: 2, Conflicting: 3, Untimed: 4, Negative: 5, Open: 6}
		}, []string{"unattributed_spans note 1/9 span", "duplicated_spans note 2/9 span", "conflicting_spans note 3/9 span", "untimed_spans note 4/9 span",
			"negative_spans note 5/9 span", "open_spans note 6/9 span"}},
		{"bad first", func(s *Subject) {
			count(apart, 3)(s)
			found("clock_disagreement", 1)(s)
		}, []string{"clock_disagreement bad 1/0 process x", "no_propagation note 3/4 request x"}},
	} {
		s := clean()
		c.change(s)
		d := Build(s)
		verdict, got := Clean, []string(nil)
		for _, p := range d.Problems {
			first := ""
			if len(p.Exemplars) > 0 {
				first = " " + p.Exemplars[0]
			}
			got = append(got, fmt.Sprintf("%s %s %d/%d %s%s", p.Code, p.Severity, p.Count, p.Of, p.Unit, first))
			if verdict == Clean || p.Severity == Bad {
				verdict = map[string]string{Bad: Bad, note: Notes}[p.Severity]
			}
			if p.Message == "" || p.WhatToDo == "" || p.Exemplars == nil {
				t.Errorf("%s: %+v", c.name, p)
			}
		}
		if !slices.Equal(got, c.want) || d.Verdict != verdict {
			t.Errorf("%s: %s %q\nwant %q", c.name, d.Verdict, got, c.want)
		}
		if len(d.Inputs) != len(s.Inputs) || d.Requests != s.Report.Requests.Total || slices.ContainsFunc(d.Findings, func(f report.Finding) bool { return f.Scope != "capture" }) {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}

// Of clocks it is said what would tell them apart: more requests where pairs are few, other spans where they bound from one side.
func TestClockRemedy(t *testing.T) {
	for _, c := range []struct {
		pairs          []int64
		more, bothWays bool
	}{{[]int64{3}, true, false}, {[]int64{28}, false, true}, {[]int64{3, 28}, true, true}} {
		s := clean()
		s.Report.Clock = nil
		for i, n := range c.pairs {
			s.Report.Clock = append(s.Report.Clock, report.Clock{Process: fmt.Sprint("p", i), Reference: fmt.Sprint("q", i), Pairs: n, Basis: "none"})
		}
		do := Build(s).Problems[0].WhatToDo
		if strings.Contains(do, "Five requests or more") != c.more || strings.Contains(do, "More requests do not help") != c.bothWays {
			t.Errorf("%v: %s", c.pairs, do)
		}
	}
}

// The switches are those that the projects have, to be copied as they are.
func TestSwitches(t *testing.T) {
	s := clean()
	for _, f := range []fact{apart, lacksServer} {
		s.Requests.n[f] = 1
	}
	s.Report.Findings = []report.Finding{{Code: "no_llm_request", Scope: "capture", Count: 1}}
	s.Inputs = append(s.Inputs, model.InputStats{File: "b.lct", Format: "lct-storage", Records: 2})
	want := map[string]string{"no_llm_request": "--otlp-traces-endpoint", "no_propagation": "LMCACHE_MP_TRACE_CONTEXT=1", "no_server_spans": "--enable-tracing --otlp-endpoint",
		"no_lookup_hashes": "--lookup-hash-log-dir"}
	for _, p := range Build(s).Problems {
		if !strings.Contains(p.Switch, want[p.Code]) || want[p.Code] == "" {
			t.Errorf("%s: %q", p.Code, p.Switch)
		}
		delete(want, p.Code)
	}
	if len(want) > 0 {
		t.Errorf("not said: %v", want)
	}
}
