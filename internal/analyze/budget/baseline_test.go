package budget

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// windows makes a subject of requests with these windows in ms.
func windows(ms_ ...float64) *Subject {
	return run(len(ms_), func(i int, r *model.Row) { r.Window = int64(ms_[i] * ms) })
}

// steady are n windows around a middle, in ms, the same of each seed.
func steady(n int, middle float64, seed uint64) []float64 {
	rnd := rand.New(rand.NewPCG(seed, 1))
	out := make([]float64, n)
	for i := range out {
		out[i] = middle * math.Exp(0.1*rnd.NormFloat64())
	}
	return out
}

// R9.3: it fails only when it is over the ratio, over the delta, and no chance.
func TestBaselineRules(t *testing.T) {
	base := windows(steady(400, 100, 1)...)
	slow := Input{Current: windows(steady(400, 120, 2)...), Baselines: []*Subject{base}}
	for rule, want := range map[string]string{
		"{max_ratio: 1.05}":                  Fail,
		"{max_ratio: 1.05, min_delta: 10ms}": Fail,
		"{max_ratio: 1.05, min_delta: 40ms}": Pass,
		"{max_ratio: 1.4}":                   Pass,
		"{min_ratio: 0.95}":                  Pass,
		"{max_ratio: 1.05}, model: '*'":      Fail,
	} {
		r := gate(t, slow, "metric: request.p95, baseline: "+rule).Results[0]
		check(t, rule, r.Verdict, want)
	}
	r := gate(t, slow, "metric: request.p95, baseline: {max_ratio: 1.05}").Results[0]
	check(t, "bound", r.Bound.V, math.Round(r.Baseline.V*1.05))
	check(t, "delta", r.Delta.V, r.Value.V-r.Baseline.V)
	check(t, "ratio", r.Ratio.V, r.Value.V/r.Baseline.V)
	check(t, "no draw is smaller", r.P.V, 1./10_001)
	check(t, "no bounds of the value", []bool{r.Low.OK, r.High.OK}, []bool{false, false})
	if !(r.DeltaLow.V > 0 && r.DeltaLow.V < r.Delta.V && r.Delta.V < r.DeltaHigh.V) {
		t.Errorf("the delta of %v lies in %v … %v", r.Delta, r.DeltaLow, r.DeltaHigh)
	}
	if !strings.Contains(r.Message, "run-to-run noise unknown") {
		t.Errorf("says %q", r.Message)
	}
	fast := Input{Current: windows(steady(400, 80, 2)...), Baselines: []*Subject{base}}
	check(t, "faster", gate(t, fast, "metric: request.p95, baseline: {max_ratio: 1.05}").Results[0].Verdict, Pass)
	check(t, "too fast", gate(t, fast, "metric: request.p95, baseline: {min_ratio: 0.95}").Results[0].Verdict, Fail)
	few := Input{Current: windows(steady(58, 120, 2)...), Baselines: []*Subject{base}}
	check(t, "58 requests", gate(t, few, "metric: request.p95, baseline: {max_ratio: 1.05}").Results[0].Verdict, Insufficient)
	few = Input{Current: slow.Current, Baselines: []*Subject{windows(steady(58, 100, 2)...)}}
	check(t, "58 in the baseline", gate(t, few, "metric: request.p95, baseline: {max_ratio: 1.05}").Results[0].Verdict, Insufficient)
	same := Input{Current: base, Baselines: []*Subject{base}}
	r = gate(t, same, "metric: request.p95, baseline: {max_ratio: 1}").Results[0]
	check(t, "itself", []any{r.Verdict, r.Delta.V, r.Ratio.V, r.P.V > 0.3}, []any{Pass, 0., 1., true})
}

// Percentiles of a baseline rule are per request: two loads of 3 and 5 ms, one after the other, are one value of 8 ms.
func TestBaselinePercentilesArePerRequest(t *testing.T) {
	s := run(10, func(i int, r *model.Row) {
		stage(r, model.StageScatter, 3*ms, 0)
		stage(r, model.StageScatter, 5*ms, 0)
	})
	d := gate(t, Input{Current: s, Baselines: []*Subject{s}}, "metric: cb.scatter.p50, baseline: {max_ratio: 1.05}", "metric: cb.scatter.p50, max: 1s",
		"metric: cb.scatter.mean, baseline: {max_ratio: 1.05}")
	check(t, "per request, per span, mean of spans", []float64{d.Results[0].Value.V, d.Results[1].Value.V, d.Results[2].Value.V}, []float64{8 * ms, 3 * ms, 4 * ms})
	check(t, "n", []int64{d.Results[0].N, d.Results[1].N}, []int64{10, 20})
}

// R9.3: with three baselines of 100, 110 and 121 ms (10 % apart, by logarithms) and 133.1 ms here, t is 2 steps of ln 1.1 over a spread of ln 1.1
// times √(4/3): √3, and its tail with two degrees of freedom (1 − √0.6) / 2. The draws see no chance at all: the larger p decides.
func TestSeveralBaselines(t *testing.T) {
	flat := func(v float64) *Subject {
		w := make([]float64, 100)
		for i := range w {
			w[i] = v
		}
		return windows(w...)
	}
	in := Input{Current: flat(133.1), Baselines: []*Subject{flat(100), flat(110), flat(121)}}
	d := gate(t, in, "metric: request.p50, baseline: {max_ratio: 1.05}")
	r := d.Results[0]
	if want := (1 - math.Sqrt(0.6)) / 2; math.Abs(r.P.V-want) > 1e-6 {
		t.Errorf("p is %v, want %v", r.P.V, want)
	}
	check(t, "verdict", r.Verdict, Warn)
	if want := math.Round((100 + 110 + 121) * ms / 3.); r.Baseline.V != want {
		t.Errorf("baseline %v, want %v", r.Baseline.V, want)
	}
	if strings.Contains(r.Message, "noise unknown") || len(d.Notes) > 0 {
		t.Errorf("%q, %q", r.Message, d.Notes)
	}
	// two baselines are one of 200 requests, and nothing tells how runs differ
	in.Baselines = in.Baselines[:2]
	d = gate(t, in, "metric: request.p50, baseline: {max_ratio: 1.05}")
	check(t, "two", []any{d.Results[0].Verdict, d.Results[0].Baseline.V, d.Notes}, []any{Fail, 100. * ms,
		[]string{"2 baselines: run-to-run noise unknown; with 3 or more the spread between runs enters the test"}})
	// a baseline with too few requests does not count
	in.Baselines = []*Subject{flat(100), flat(110), flat(121), windows(500)}
	r = gate(t, in, "metric: request.p50, baseline: {max_ratio: 1.05}").Results[0]
	check(t, "one too small", r.Baseline.V, math.Round((100+110+121)*ms/3.))
	// of three one is too small for p95, which takes 59 requests; a median takes 5, so that for it there are three
	in.Baselines = []*Subject{flat(100), flat(110), windows(steady(58, 121, 3)...)}
	d = gate(t, in, "metric: request.p50, baseline: {max_ratio: 1.05}", "metric: request.p95, baseline: {max_ratio: 1.05}", "metric: ttft.p95, baseline: {max_ratio: 1.05}")
	check(t, "too small for one rule", d.Notes,
		[]string{"request.p95: run-to-run noise unknown, since only 2 of 3 baselines have the 59 requests that it takes; with 3 or more the spread between runs enters the test"})
	if steps := strings.Join(d.Results[1].Steps(), "\n"); !strings.Contains(steps, "2 baselines with at least 59 requests, of 3, and three are needed: the requests of all are put together,") {
		t.Errorf("how it was decided:\n%s", steps)
	}
}

// R9.3: all baseline rules of level error share α: one p-value of about 0.02 fails alone and does not beside nine others. Those of level warn and those
// without evidence do not count.
func TestHolmOverRules(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	base := windows(steady(400, 100, 1)...)
	var in Input
	for seed := uint64(10); ; seed++ { // a run that is slower by little
		in = Input{Current: windows(steady(400, 102.2, seed)...), Baselines: []*Subject{base}}
		if p := gate(t, in, "metric: request.p50, baseline: {max_ratio: 1}").Results[0].P.V; p > 0.01 && p < 0.03 {
			break
		}
		if seed == 100 {
			t.Fatal("no such run")
		}
	}
	rule := "metric: request.p50, baseline: {max_ratio: 1}"
	others := []string{}
	for i := range 9 {
		others = append(others, fmt.Sprintf("metric: request.p50, baseline: {max_ratio: 1.%d}", i+1))
	}
	check(t, "alone", gate(t, in, rule).Results[0].Verdict, Fail)
	d := gate(t, in, append(others, rule)...)
	check(t, "beside nine", []any{d.Results[9].Verdict, d.Results[0].Holm.V}, []any{Warn, 0.005})
	for i := range others {
		others[i] += ", level: warn"
	}
	check(t, "beside nine that only warn", gate(t, in, append(others, rule)...).Results[9].Verdict, Fail)
	check(t, "beside one without evidence", gate(t, in, "metric: request.p99.9, baseline: {max_ratio: 1}", rule).Results[1].Verdict, Fail)
}

// Hits took 20 ms and misses 100 ms, and still do; only there are more misses now. That is the mix, and no rule fails for it; when misses take longer
// too, it does.
func TestMixShift(t *testing.T) {
	traffic := func(hits int, seed uint64, slower float64) *Subject {
		rnd := rand.New(rand.NewPCG(seed, 1))
		return run(600, func(i int, r *model.Row) {
			r.PromptTokens = model.Some(1000)
			r.Hits.Class = model.HitMiss
			middle := 100.0
			if i*37%100 < hits {
				r.Hits.Class, middle = model.HitFull, 20
			}
			r.Window = int64(slower * middle * math.Exp(0.05*rnd.NormFloat64()) * ms)
		})
	}
	base := []*Subject{traffic(60, 1, 1)}
	rules := []string{"metric: request.mean, baseline: {max_ratio: 1.05}", "metric: request.p50, baseline: {max_ratio: 1.05}"}
	d := gate(t, Input{Current: traffic(60, 2, 1), Baselines: base}, rules...)
	check(t, "the same mix", []any{d.Verdict, d.Results[0].MixExplained.OK}, []any{Pass, false})
	d = gate(t, Input{Current: traffic(40, 2, 1), Baselines: base}, rules...)
	check(t, "more misses", []any{d.Verdict, d.Results[0].Verdict, d.Results[1].Verdict}, []any{Warn, Warn, Warn})
	r := d.Results[0] // 0.6·20 + 0.4·100 = 52 becomes 0.4·20 + 0.6·100 = 68: 16 ms of mix
	if math.Abs(r.MixExplained.V-16*ms) > 0.5*ms || math.Abs(r.Delta.V-16*ms) > 1*ms {
		t.Errorf("mix explains %v of %v", r.MixExplained.V, r.Delta.V)
	}
	if !strings.Contains(r.Message, "the mix of hit class and prompt length differs and explains ") {
		t.Errorf("says %q", r.Message)
	}
	d = gate(t, Input{Current: traffic(40, 2, 1.2), Baselines: base}, rules...)
	check(t, "more misses, and slower", []any{d.Results[0].Verdict, d.Results[1].Verdict}, []any{Fail, Fail})
	if r := d.Results[0]; math.Abs(r.MixExplained.V-16*ms) > 0.5*ms {
		t.Errorf("mix explains %v of %v", r.MixExplained.V, r.Delta.V)
	}
	// with three baselines, each of another mix
	three := []*Subject{traffic(60, 1, 1), traffic(50, 3, 1), traffic(70, 4, 1)}
	check(t, "three baselines", gate(t, Input{Current: traffic(30, 2, 1), Baselines: three}, rules...).Verdict, Warn)
	// the hit rate is no matter of mix: what was found is what is asked about
	hits := func(share int) *Subject {
		return run(600, func(i int, r *model.Row) {
			r.Hits.Class, r.Hits.Requested, r.Hits.Hit = model.HitMiss, model.Some(100), model.Some(0)
			if i*37%100 < share {
				r.Hits.Class, r.Hits.Hit = model.HitFull, model.Some(100)
			}
		})
	}
	d = gate(t, Input{Current: hits(40), Baselines: []*Subject{hits(60)}}, "metric: hit_rate, baseline: {min_ratio: 0.95}")
	check(t, "fewer hits", d.Results[0].Verdict, Fail)
}

// The answer does not depend on how many goroutines there are.
func TestJobs(t *testing.T) {
	in := Input{Current: windows(steady(300, 105, 2)...), Baselines: []*Subject{windows(steady(300, 100, 1)...)}}
	rules := []string{"metric: request.p95, baseline: {max_ratio: 1.05}", "metric: request.p50, baseline: {max_ratio: 1.01}", "metric: request.mean, max: 100ms", "metric: request.p90, max: 90ms"}
	want := gate(t, in, rules...)
	for _, jobs := range []int{1, 2, 7} {
		in.Jobs = jobs
		check(t, fmt.Sprint(jobs, " jobs"), gate(t, in, rules...), want)
	}
}

// R9.6: the capture made worse must break every rule; what cannot be judged is named, and a rule that cannot fail is found out.
func TestSelfTest(t *testing.T) {
	in := Input{Nearest: none, Baselines: []*Subject{windows(steady(100, 100, 1)...)}, Current: run(100, func(i int, r *model.Row) {
		stage(r, model.StageScatter, 3*ms, ms)
		r.Hits = model.RowHits{Requested: model.Some(100), Hit: model.Some(int64(i)), Written: model.Some(int64(i))}
		r.Lookups = []model.RowLookup{{RPC: model.Some(10 * ms), L2Load: model.Some(0), PollWait: model.Some(4 * ms)}}
	})}
	rules := []string{
		"metric: request.p95, max: 150ms", "metric: request.p95, min: 1ms", "metric: cb.scatter.max, max: 1s", "metric: cb.scatter.mean, max: 4ms", "metric: cb.scatter.total, max: 1s",
		"metric: lookup.l2_load.p50, max: 1ms", "metric: lookup.poll_wait.share, max: 0.5", "metric: lookup.l2_load.share, max: 0.5", "metric: cb.scatter.critical_share, max: 0.1",
		"metric: request.over(1s), max: 0.01", "metric: hit_rate, min: 0.2", "metric: effective_reuse, min: 0.2", "finding: late_poll, max_rate: 0", "finding: late_poll, max_rate: 0.2",
		"metric: finding.late_poll.count, max: 7", "metric: failed.rate, max: 0", "metric: requests, min: 80", "metric: cb.scatter.count, max: 1000",
		"metric: request.p50, baseline: {max_ratio: 1.05, min_delta: 1s}", "metric: request.p50, baseline: {min_ratio: 0.5}", "metric: request.mean, baseline: {max_ratio: 1.2}",
	}
	d, err := parse(t, rules...).SelfTest(&in)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "verdict", d.Verdict, Pass)
	for _, r := range d.Rules {
		if r.Verdict != Fail || r.Change == "" {
			t.Errorf("%s: %s with %s: %s", r.Rule, r.Verdict, r.Change, r.Message)
		}
	}
	for _, c := range []struct{ rule, verdict string }{
		{"metric: request.p99.9, max: 1s", Insufficient}, {"metric: hit_rate, min: 0", Fail}, {"metric: lookup.poll_wait.share, max: 1", Fail}, {"metric: requests, min: 1", Fail},
	} {
		d, err := parse(t, c.rule).SelfTest(&in)
		if err != nil || d.Verdict != c.verdict {
			t.Errorf("%s: %v, %v", c.rule, d.Verdict, err)
		}
	}
	if r := gate(t, in, rules[0]).Results[0]; r.Verdict != Pass {
		t.Errorf("the capture itself was changed: %s", r.Message)
	}
}

// A shift of hit classes is not lost among many lengths, and requests of kinds that only this run has are a change of mix too.
func TestMixOfManyKinds(t *testing.T) {
	here, there := map[mix]int64{}, map[mix]int64{}
	for octave := range mix(12) { // 300 of 600 hits become 255: each length alone says nothing
		hit, miss := octave<<4|mix(model.HitFull), octave<<4|mix(model.HitMiss)
		there[hit], there[miss] = 25, 25
		here[hit], here[miss] = 21, 29
	}
	if p := homogeneousIn(here, there); p < mixAlpha {
		t.Errorf("p of all classes %v: this tests nothing", p)
	}
	here[mix(model.HitFull)], here[mix(model.HitMiss)] = 6, 44
	if p := homogeneousIn(here, there); p < mixAlpha {
		t.Errorf("p of all classes %v: this tests nothing", p)
	}
	if p := homogeneous(here, there); p >= mixAlpha { // 237 : 363 against 300 : 300 is p 0.0003, three times that 0.0009
		t.Errorf("p %v", p)
	}

	traffic := func(long int) *Subject { // of 200, requests of 8 000 tokens that take 400 ms beside those of 1 000 that take 100
		return run(200, func(i int, r *model.Row) {
			r.PromptTokens, r.Window = model.Some(1000), int64(100*ms+i)
			if i < long {
				r.PromptTokens, r.Window = model.Some(8000), int64(400*ms+i)
			}
		})
	}
	d := gate(t, Input{Current: traffic(40), Baselines: []*Subject{traffic(0)}}, "metric: request.mean, baseline: {max_ratio: 1.05}")
	if r := d.Results[0]; r.Verdict != Warn || math.Abs(r.MixExplained.V-60*ms) > 1000 || math.Abs(r.Delta.V-60*ms) > 1000 {
		t.Errorf("a new kind: %s, mix explains %v of %v", r.Verdict, r.MixExplained.V, r.Delta.V)
	}
	diff := compare(t, traffic(0), traffic(40))
	if v := diff.Mix.ExplainedNS; !v.OK || math.Abs(float64(v.V)-60*ms) > 1000 {
		t.Errorf("diff: mix explains %v", v)
	}
}
