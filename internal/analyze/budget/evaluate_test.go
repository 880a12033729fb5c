package budget

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

const ms = 1_000_000

// A run makes the requests of a subject: request(i) is the i-th.
func run(n int, request func(i int, r *model.Row)) *Subject {
	dict := model.NewDict()
	agg := report.New(dict, report.Options{})
	for i := range n {
		r := requestOf(i)
		request(i, r)
		agg.Add(r)
	}
	return &Subject{Name: "run", Figures: agg.Figures(&report.Capture{})}
}

// requestOf is the i-th request of a run: of 100 ms, its root of 90 ms, one a second.
func requestOf(i int) *model.Row {
	id := fmt.Sprintf("r%04d", i)
	return &model.Row{
		Identity: model.Identity{ID: id}, Hash: xxhash.Sum64String(id), Flags: model.RowRealRoot | model.RowRootClosed | model.RowComplete | model.RowVocabulary,
		Start: model.Time(1_700_000_000e9 + int64(i)*1e9), Window: 100 * ms, RootDuration: model.Some(90 * ms),
	}
}

// stage adds a span of a stage to a request.
func stage(r *model.Row, s model.Stage, ns, critical int64) {
	r.Spans = append(r.Spans, model.RowSpan{Stage: s.ID(), Owner: s.Info().Owner, NS: ns})
	for i := range r.Stages {
		if at := &r.Stages[i]; at.Stage == s.ID() {
			at.Spans++
			at.Counted++
			at.Union += ns
			at.Critical += critical
			return
		}
	}
	r.Stages = append(r.Stages, model.RowStage{Stage: s.ID(), Owner: s.Info().Owner, Spans: 1, Counted: 1, Union: ns, Critical: critical})
}

func none(string, []string) string { return "" }

// gate evaluates rules in YAML's flow style.
func gate(t *testing.T, in Input, rules ...string) *Document {
	t.Helper()
	b := parse(t, rules...)
	in.Nearest = none
	d, err := b.Evaluate(&in)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func parse(t *testing.T, rules ...string) *Budget {
	t.Helper()
	b, err := Parse("b", []byte("version: 1\nbudgets:\n  - {"+strings.Join(rules, "}\n  - {")+"}\n"), none)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func check(t *testing.T, what string, have, want any) {
	t.Helper()
	if !reflect.DeepEqual(have, want) {
		t.Errorf("%s: have %v, want %v", what, have, want)
	}
}

// numbers are value, low and high of a result; −1 stands for unknown.
func numbers(r *Result) [3]float64 {
	get := func(v model.OptFloat) float64 {
		if !v.OK {
			return -1
		}
		return v.V
	}
	return [3]float64{get(r.Value), get(r.Low), get(r.High)}
}

// R9.2 by hand, for 59 values of 1 … 59 ms: p95 is number ⌈0.95·59⌉ = 57. P(Bin(59, 0.95) ≥ 53) = 0.968 and P(≥ 54) = 0.925, so the lower bound is
// number 53; P(Bin < 59) = 1 − 0.95^59 = 0.9515 and P(Bin < 58) = 0.801, so the upper bound is number 59.
func TestPercentileRules(t *testing.T) {
	in := Input{Current: run(59, func(i int, r *model.Row) { r.Window = int64(i+1) * ms })}
	for _, c := range []struct {
		bound, verdict string
	}{
		{"max: 57ms", Pass}, {"max: 56ms", Warn}, {"max: 53ms", Warn}, {"max: 52999999ns", Fail},
		{"min: 57ms", Pass}, {"min: 58ms", Warn}, {"min: 59ms", Warn}, {"min: 59000001ns", Fail},
	} {
		r := gate(t, in, "metric: request.p95, "+c.bound).Results[0]
		check(t, c.bound+" verdict", r.Verdict, c.verdict)
		check(t, c.bound+" numbers", numbers(&r), [3]float64{57 * ms, 53 * ms, 59 * ms})
		check(t, c.bound+" n", r.N, int64(59))
	}
	r := gate(t, in, "metric: request.p95, max: 1ms").Results[0]
	check(t, "exemplars of a max", r.Exemplars, []string{"r0058", "r0057", "r0056"})
	r = gate(t, in, "metric: request.p95, min: 1s").Results[0]
	check(t, "exemplars of a min", r.Exemplars, []string{"r0000", "r0001", "r0002"})
	// one value fewer is not enough, whatever the point says
	in = Input{Current: run(58, func(i int, r *model.Row) { r.Window = int64(i+1) * ms })}
	for _, bound := range []string{"max: 1h", "max: 1ns", "min: 1h"} {
		check(t, "58 values, "+bound, gate(t, in, "metric: request.p95, "+bound).Results[0].Verdict, Insufficient)
	}
}

// R2.6: of what was added up and counts requests twice, notes say so, and exemplars name each once: r0000 took 1 and 2 ms, r0001 3 and 4 ms, r0004
// 9 and 10 ms.
func TestRepeated(t *testing.T) {
	twice := run(10, func(i int, r *model.Row) {
		r.ID = fmt.Sprintf("r%04d", i%5)
		r.Hash = xxhash.Sum64String(r.ID)
		r.Window = int64(i%5*2+1+i/5) * ms
		r.Findings = 1 << finding.LatePoll
	})
	d := gate(t, Input{Current: twice}, "metric: request.p50, max: 1ns", "metric: request.p50, min: 1h", "finding: late_poll, max_rate: 0", "finding: late_poll, max_rate: 0, model: '*'")
	check(t, "notes", d.Notes, []string{"run: at least 5 requests in two shards, counted in each of them: counts and totals are too high by that, " +
		"and percentiles, shares and their bounds take such a request for several"})
	largest := []string{"r0004", "r0003", "r0002"}
	for i, want := range [][]string{largest, {"r0000", "r0001", "r0002"}, largest, largest} {
		check(t, d.Results[i].Rule, d.Results[i].Exemplars, want)
	}
	once := run(10, func(_ int, r *model.Row) { r.Findings = 1 << finding.LatePoll })
	check(t, "notes of each once", gate(t, Input{Current: once}, "finding: late_poll, max_rate: 0").Notes, []string{})
}

// Of every metric of the closed list the value, for two kinds of requests: 30 with a lookup of 10 ms of which 4 are poll wait, 10 of 100 tokens
// found; 10 with twice as much of everything and 50 of 100 found.
func TestMetrics(t *testing.T) {
	in := Input{Current: run(40, func(i int, r *model.Row) {
		k := int64(1 + i/30)
		r.Window, r.RootDuration = k*100*ms, model.Some(k*90*ms)
		r.TTFT, r.Queue, r.Decode, r.CompletionTokens = model.Some(k*50*ms), model.Some(k*ms), model.Some(k*40*ms), model.Some(21)
		stage(r, model.StageScatter, k*3*ms, k*2*ms)
		stage(r, model.StageScatter, k*5*ms, k*2*ms)
		r.Lookups = []model.RowLookup{{RPC: model.Some(k * 10 * ms), Submit: model.Some(k * ms), L2Load: model.Some(k * 2 * ms), ServerOther: model.Some(k * 3 * ms), PollWait: model.Some(k * 4 * ms)}}
		hit := int64(10 + 40*(k-1))
		r.Flags |= model.RowHasLookup
		r.Hits = model.RowHits{Requested: model.Some(100), Hit: model.Some(hit), Prefix: model.Some(hit - 5), Segmented: model.Some(0), NonPrefix: model.Some(5), Written: model.Some(hit / 2)}
		if k == 2 {
			r.Findings = 1 << finding.DroppedChunks
		}
		if i == 0 {
			r.Findings |= 1 << finding.RetrieveFailed
		}
	})}
	for metric, want := range map[string]float64{
		"request.p50": 100 * ms, "latency.max": 200 * ms, "request.mean": 125 * ms, "request.total": 5000 * ms, "request.count": 40,
		"root.p90": 180 * ms, "ttft.p99": 100 * ms, "queue.mean": 1.25 * ms, "decode_per_token.p50": 2 * ms, "ttft.over(50ms)": 0.25,
		"cb.scatter.p50": 5 * ms, "cb.scatter.max": 10 * ms, "cb.scatter.mean": 5 * ms, "cb.scatter.total": 400 * ms, "cb.scatter.count": 80,
		"cb.scatter.critical_share": 0.04, "cb.l2_load.critical_share": 0, "cb.l2_load.count": 0,
		"lookup.rpc.p50": 10 * ms, "lookup.poll_wait.p90": 8 * ms, "lookup.poll_wait.share": 0.4, "lookup.submit.share": 0.1, "lookup.l2_load.p50": 2 * ms,
		"lookup.server_other.share": 0.3, "hit_rate": 0.2, "hit_rate.prefix": 0.15, "hit_rate.segmented": 0, "hit_rate.non_prefix": 0.05, "effective_reuse": 0.1,
		"finding.dropped_chunks.rate": 0.25, "finding.dropped_chunks.count": 10, "requests": 40, "failed.rate": 0.025,
	} {
		bound := "max: 0"
		r := gate(t, in, "metric: "+metric+", "+bound).Results[0]
		if !r.Value.OK || math.Abs(r.Value.V-want) > 1e-9*math.Max(1, want) {
			t.Errorf("%s: have %v, want %v", metric, r.Value, want)
		}
		if r.N == 0 {
			t.Errorf("%s: of nothing", metric)
		}
	}
	for _, metric := range []string{"hit_rate.l1", "mp.retrieve.p50", "mp.retrieve.mean"} { // known, but none here (R9.4)
		r := gate(t, in, "metric: "+metric+", max: 0").Results[0]
		check(t, metric+" without any", []any{r.Verdict, r.Value.OK, r.N}, []any{Insufficient, false, int64(0)})
	}
	check(t, "who found most", gate(t, in, "metric: hit_rate, max: 0.1").Results[0].Exemplars, []string{"r0030", "r0031", "r0032"})
	check(t, "who shows it", gate(t, in, "finding: dropped_chunks, max_rate: 0").Results[0].Exemplars, []string{"r0030", "r0031", "r0032"})
	check(t, "who failed", gate(t, in, "metric: failed.rate, max: 0").Results[0].Exemplars, []string{"r0000"})
}

// A filter over a request table gives what figures of those requests would, and of a stage the time per request.
func TestSelectionsOfSavedReports(t *testing.T) {
	in := Input{Current: run(40, func(i int, r *model.Row) {
		r.Window = int64(i+1) * ms
		stage(r, model.StageScatter, 3*ms, 0)
		stage(r, model.StageScatter, 5*ms, 0)
		r.Model = []string{"small", "large"}[i%2]
		r.Hits = model.RowHits{Requested: model.Some(100), Hit: model.Some(int64(i))}
		r.Lookups = []model.RowLookup{{RPC: model.Some(2 * ms), PollWait: model.Some(ms)}, {RPC: model.Some(4 * ms), PollWait: model.Some(ms)}}
	})}
	for rule, want := range map[string][2]float64{ // value, n
		"metric: request.p50, max: 1s, model: small":                              {19 * ms, 20},
		"metric: request.p50, max: 1s, model: '*all'":                             {19 * ms, 20},
		"metric: request.max, max: 1s, model: 'l*'":                               {40 * ms, 20},
		"metric: request.mean, max: 1s, model: large":                             {21 * ms, 20},
		"metric: request.total, max: 1s, model: large":                            {420 * ms, 20},
		"metric: request.over(20ms), max: 1, model: large":                        {0.5, 20},
		"metric: requests, max: 0, model: huge":                                   {0, 0},
		"metric: requests, max: 0, model: small":                                  {20, 20},
		"metric: cb.scatter.max, max: 1s, model: small":                           {8 * ms, 20},
		"metric: cb.scatter.mean, max: 1s, model: small":                          {4 * ms, 40},
		"metric: cb.scatter.count, max: 1, model: small":                          {40, 20},
		"metric: cb.scatter.total, max: 1s, model: small":                         {160 * ms, 40},
		"metric: lookup.rpc.p50, max: 1s, model: small":                           {2 * ms, 40},
		"metric: lookup.poll_wait.share, max: 1, model: small":                    {1. / 3, 20},
		"metric: hit_rate, min: 0, where: '{ span.hit_rate >= 0.5 }'":             {0, 0},
		"metric: hit_rate, min: 0, where: '{ span.hit_rate >= 0.3 }'":             {0.345, 10},
		"metric: requests, min: 1, where: '{ request.duration > 30ms }'":          {10, 10},
		"metric: failed.rate, max: 1, where: '{ request.duration > 30ms }'":       {0, 10},
		"metric: finding.orphan.count, max: 1, where: '{ request.hit_rate = 0 }'": {0, 1},
	} {
		r := gate(t, in, rule).Results[0]
		if math.Abs(r.Value.V-want[0]) > 1e-9*math.Max(1, want[0]) || float64(r.N) != want[1] {
			t.Errorf("%s: have %v of %d, want %v", rule, r.Value, r.N, want)
		}
	}
	_, err := parse(t, "metric: requests, min: 1, where: '{ span.scattered_tokens > 5 }'").Evaluate(&Input{Current: in.Current, Nearest: none})
	if err == nil || !strings.HasPrefix(err.Error(), "b:3:1: where: ") { // R9.5
		t.Errorf("an attribute that no saved report keeps: %v", err)
	}
}

// R9.1: a pattern gives a result per stage by name, points and breakdowns left out; R9.4: what nobody knows is a mistake.
func TestPatterns(t *testing.T) {
	in := Input{Nearest: none, Current: run(5, func(i int, r *model.Row) {
		for _, s := range []model.Stage{model.StageScatter, model.StageRetrieve, model.StageFingerprintsRegistered, model.StageTransferStaging} {
			stage(r, s, ms, 0)
			r.Stages[len(r.Stages)-1].Class = s.Info().Class
		}
	})}
	var have []string
	for _, r := range gate(t, in, "metric: requests, min: 1", `stage: "*", metric: max, max: 1s`, `stage: "mp.*", metric: p50, max: 1s`).Results {
		have = append(have, r.Metric+" "+r.Verdict)
	}
	check(t, "results", have, []string{"requests pass", "cb.retrieve.max pass", "cb.scatter.max pass", "mp.*.p50 insufficient"})
	for _, c := range [][2]string{{"stage: cb.lookup.rcp, metric: p50, max: 1s", `b:3:1: unknown stage "cb.lookup.rcp"`}, {`stage: "zz*", metric: p50, max: 1s`, `b:3:1: unknown stage "zz*"`}} {
		if _, err := parse(t, c[0]).Evaluate(&in); err == nil || !strings.HasPrefix(err.Error(), c[1]) {
			t.Errorf("%s: %v", c[0], err)
		}
	}
}

// The stage that is called request is told from the latency of that name.
func TestStageCalledAsALatency(t *testing.T) {
	in := Input{Current: run(5, func(i int, r *model.Row) { stage(r, model.StageRequest, 3*ms, 0) })}
	d := gate(t, in, "stage: request, metric: p50, max: 1s", "metric: request.p50, max: 1s", "metric: request@server.p50, max: 2s")
	var have []string
	for _, r := range d.Results {
		have = append(have, fmt.Sprint(r.Metric, " ", r.Value.V/ms))
	}
	check(t, "results", have, []string{"request@server.p50 3", "request.p50 100", "request@server.p50 3"})
}

// R9.4: fail over insufficient over warn over pass; rules of level warn only warn, those that are off are not there.
// Five hundred results can still fail, more cannot.
func TestTooManyBaselineRules(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	s := run(6, func(i int, r *model.Row) {})
	for _, n := range []int{500, 501} {
		var rules []string
		for i := range n {
			rules = append(rules, fmt.Sprintf("metric: request.mean, baseline: {max_ratio: %d}", i+1))
		}
		d := gate(t, Input{Current: s, Baselines: []*Subject{s}}, rules...)
		if said := strings.Contains(strings.Join(d.Notes, "\n"), "baseline results share an alpha of 0.05: none can fail"); said != (n > 500) {
			t.Errorf("%d rules: %q", n, d.Notes)
		}
	}
}

func TestRunVerdict(t *testing.T) {
	in := Input{Current: run(10, func(i int, r *model.Row) { r.Window = int64(i+1) * ms })}
	pass, fail, few, near := "metric: request.p50, max: 1s", "metric: request.p50, max: 1ns", "metric: request.p99, max: 1s", "metric: request.p50, max: 4ms"
	mild := func(rule string) string { return rule + ", level: warn" }
	for _, c := range []struct {
		want    string
		results int
		rules   []string
	}{
		{Pass, 1, []string{pass}}, {Fail, 4, []string{few, near, fail, pass}}, {Insufficient, 3, []string{near, few, pass}}, {Warn, 2, []string{pass, near}},
		{Warn, 2, []string{pass, mild(fail)}}, {Warn, 2, []string{pass, mild(few)}}, {Pass, 1, []string{pass, fail + ", level: off"}},
	} {
		d := gate(t, in, c.rules...)
		check(t, fmt.Sprint(c.rules), []any{d.Verdict, len(d.Results)}, []any{c.want, c.results})
	}
	var order []string
	for _, r := range gate(t, in, mild(fail), near, "metric: request.p50, max: 1ms", few, fail).Worst() {
		order = append(order, r.Rule+" "+r.Level)
	}
	check(t, "worst first", order, []string{"request.p50 ≤ 1ns error", "request.p50 ≤ 1ms error", "request.p99 ≤ 1s error", "request.p50 ≤ 4ms error", "request.p50 ≤ 1ns warn"})
}

// R9.1, R9.4: what is suggested for an unknown metric is one.
func TestSuggestedMetrics(t *testing.T) {
	for _, name := range metricNames(stageNames()) {
		if _, wrong := parseMetric(name); wrong != nil {
			t.Errorf("%s is suggested and unknown", name)
		}
	}
	if _, wrong := parseMetric("request.critical_share"); wrong == nil {
		t.Error("request.critical_share is a metric: request is the latency there, not the stage")
	}
}
