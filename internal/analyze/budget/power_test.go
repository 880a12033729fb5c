package budget

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/stats"
	"github.com/cbtrace/cbtrace/internal/model"
)

// How often the gate is wrong, and what it can see: simulations with fixed seeds, a table each. `make stats-power` runs them, which takes
// half an hour of one core; docs/statistics.md holds what they print. Without -power there are few trials of what is asserted, and no tables.
var power = flag.Bool("power", false, "run all simulations of false alarms and power, and print their tables")

// trials is how many there are, with -power and without.
func trials(all, few int) int {
	if *power {
		return all
	}
	return few
}

// tell prints a part of a table.
func tell(format string, args ...any) {
	if *power {
		fmt.Printf(format, args...)
	}
}

// simulatedStages are ten stages; two rules each are twenty.
var simulatedStages = []model.Stage{model.StageSchedule, model.StageLookupRPC, model.StageBuildMeta, model.StageLookup, model.StageStartLoadKV, model.StageRetrieve,
	model.StageScatter, model.StageModelForward, model.StagePartial, model.StageCheck}

// twenty are twenty rules that nothing but the statistics keeps from failing.
func twenty(ratio string) (rules []string) {
	for _, s := range simulatedStages {
		for _, p := range []string{"p50", "p95"} {
			rules = append(rules, fmt.Sprintf("stage: %s, metric: %s, baseline: {max_ratio: %s}", s, p, ratio))
		}
	}
	return rules
}

// sample makes a run of n requests: each stage lognormal, a part of each request's time common to its stages. effect is the standard deviation
// of the logarithm of a factor that each stage has in this run; slower is a factor of the first stage.
func sample(n int, rnd *rand.Rand, effect, slower float64) *Subject {
	factors := make([]float64, len(simulatedStages))
	for i := range factors {
		factors[i] = 10 * math.Exp(effect*rnd.NormFloat64())
	}
	factors[0] *= slower
	return run(n, func(i int, r *model.Row) {
		common := rnd.NormFloat64()
		for j, s := range simulatedStages {
			sigma := 0.2 + 0.05*float64(j)
			ns := int64(factors[j] * math.Exp(0.1*common+sigma*rnd.NormFloat64()) * ms)
			stage(r, s, ns, ns)
		}
	})
}

// repeated runs something n times on all processors and counts how often it is true; each has a generator of its own.
func repeated(n int, seed uint64, what func(rnd *rand.Rand) bool) int {
	var next, hits atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if what(rand.New(rand.NewPCG(seed, uint64(i)))) {
					hits.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return int(hits.Load())
}

// allowed is a share of n runs that α allows: α and two standard errors.
func allowed(alpha float64, n int) float64 { return alpha + 2*math.Sqrt(alpha*(1-alpha)/float64(n)) }

// Runs of one distribution: the share that fails is at most α and two standard errors, with one baseline, and with five when runs differ by 3 %. With
// one baseline and runs that differ it is not, which is why the output says "run-to-run noise unknown".
func TestPowerFalseAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	const n = 500
	tell("\n| 20 rules, %d requests a run | pairs | runs that fail | at most |\n|---|--:|--:|--:|\n", n)
	for _, c := range []struct {
		name      string
		ratio     string
		effect    float64
		baselines int
		pairs     int
		asserted  bool
	}{
		{"runs do not differ, one baseline, `max_ratio` 1", "1", 0, 1, trials(500, 5), true},
		{"runs differ by 3 %, five baselines, `max_ratio` 1", "1", 0.03, 5, trials(500, 3), true},
		{"runs differ by 3 %, one baseline, `max_ratio` 1", "1", 0.03, 1, trials(100, 0), false},
		{"runs differ by 3 %, one baseline, `max_ratio` 1.05", "1.05", 0.03, 1, trials(100, 0), false},
		{"runs differ by 3 %, one baseline, `max_ratio` 1.15", "1.15", 0.03, 1, trials(100, 0), false},
	} {
		if c.pairs == 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			b := parse(t, twenty(c.ratio)...)
			failed := repeated(c.pairs, 1, func(rnd *rand.Rand) bool {
				in := Input{Current: sample(n, rnd, c.effect, 1), Nearest: none, Jobs: 1}
				for range c.baselines {
					in.Baselines = append(in.Baselines, sample(n, rnd, c.effect, 1))
				}
				d, err := b.Evaluate(&in)
				return err != nil || d.Verdict == Fail
			})
			share, most := float64(failed)/float64(c.pairs), allowed(DefaultAlpha, c.pairs)
			bound := "(measured)"
			if c.asserted {
				bound = fmt.Sprintf("%.1f %%", 100*most)
			}
			tell("| %s | %d | %.1f %% | %s |\n", c.name, c.pairs, 100*share, bound)
			if c.asserted && share > most {
				t.Errorf("%s: %.3f of %d runs fail, at most %.3f may", c.name, share, c.pairs, most)
			}
		})
	}
}

// The p-value of either test alone is no smaller than it says: of many rules of one distribution no more than α fail, by the draws and by the
// spread between runs. A baseline rule takes the larger of both.
func TestPowerOfChance(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	m := parse(t, "metric: request.p50, baseline: {max_ratio: 1}").Rules[0]
	const n = 100
	draws := trials(2000, 120)
	failed := repeated(draws, 2, func(rnd *rand.Rand) bool {
		some := func() stats.Blocked {
			s := make(side, n)
			for i := range s {
				s[i].num, s[i].den = 10*math.Exp(0.4*rnd.NormFloat64())*ms, 1
			}
			return s.blocked(m.metric, nil)
		}
		_, _, p, _, _ := against(m.metric, m.bound, 1, some(), []stats.Blocked{some()}, false)
		return p <= DefaultAlpha
	})
	if most := allowed(DefaultAlpha, draws); float64(failed) > most*float64(draws) {
		t.Errorf("draws: %d of %d", failed, draws)
	}
	for _, k := range []int{3, 5, 10} { // 20 rules each, with Holm
		const pairs = 5000
		failed := repeated(pairs, uint64(k), func(rnd *rand.Rand) bool {
			p := make([]float64, 20)
			for i := range p {
				values := make([]float64, k)
				for j := range values {
					values[j] = 10 * ms * math.Exp(0.03*rnd.NormFloat64())
				}
				p[i] = runs(m.metric, m.bound, 10*ms*math.Exp(0.03*rnd.NormFloat64()), values)
			}
			return slices.ContainsFunc(stats.Holm(p, DefaultAlpha), func(s stats.Step) bool { return s.Rejected })
		})
		if most := allowed(DefaultAlpha, pairs); float64(failed) > most*pairs {
			t.Errorf("spread between %d runs: %d of %d", k, failed, pairs)
		}
	}
}

// What several baselines can see: the change of a metric, of which runs differ by 3 %, that fails in half and in 80 % of runs when 20 rules share α.
func TestPowerBaselines(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	const sigma, rules = 0.03, 20
	sims := trials(20_000, 2000)
	tell("\n| baselines | in half of runs | in 80 %% |\n|--:|--:|--:|\n")
	last := math.Inf(1)
	for _, k := range []int{3, 5, 10} {
		var seen []float64
		for _, want := range []float64{0.5, 0.8} {
			lo, hi := 0.0, 3.0 // of the logarithm
			for hi-lo > 0.001 {
				mid := (lo + hi) / 2
				n := repeated(sims, uint64(k), func(rnd *rand.Rand) bool {
					values := make([]float64, k)
					for i := range values {
						values[i] = sigma * rnd.NormFloat64()
					}
					return stats.Exceeds(mid+sigma*rnd.NormFloat64(), values) <= DefaultAlpha/rules
				})
				if float64(n) < want*float64(sims) {
					lo = mid
				} else {
					hi = mid
				}
			}
			seen = append(seen, 100*(math.Exp(hi)-1))
		}
		tell("| %d | +%.0f %% | +%.0f %% |\n", k, seen[0], seen[1])
		if seen[1] >= last {
			t.Errorf("%d baselines see no more than fewer do: %v", k, seen)
		}
		last = seen[1]
	}
}

// distributions of one metric of which 10 % more is to be seen.
var distributions = []struct {
	name string
	draw func(*rand.Rand) float64
}{
	{"lognormal, σ 0.3", func(r *rand.Rand) float64 { return math.Exp(0.3 * r.NormFloat64()) }},
	{"lognormal, σ 0.6", func(r *rand.Rand) float64 { return math.Exp(0.6 * r.NormFloat64()) }},
	{"two humps: 70 % hits around 1, 30 % misses around 5, σ 0.2", func(r *rand.Rand) float64 {
		if r.Float64() < 0.7 {
			return math.Exp(0.2 * r.NormFloat64())
		}
		return 5 * math.Exp(0.2*r.NormFloat64())
	}},
	{"two humps: 94 % hits, 6 % misses, p95 between them", func(r *rand.Rand) float64 {
		if r.Float64() < 0.94 {
			return math.Exp(0.2 * r.NormFloat64())
		}
		return 5 * math.Exp(0.2*r.NormFloat64())
	}},
	{"Pareto, index 2.5", func(r *rand.Rand) float64 { return math.Pow(1-r.Float64(), -1/2.5) }},
}

// One rule on p95 with max_ratio 1.05 sees 10 % more of a usual distribution at n = 2 000 in at least 95 % of runs.
func TestPowerOfOneRule(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	const n = 2000
	runs := trials(400, 60)
	rule := parse(t, "metric: request.p95, baseline: {max_ratio: 1.05, min_delta: 0ns}").Rules[0]
	tell("\n| distribution | at n = %d | n for 95 %% |\n|---|--:|--:|\n", n)
	seen := func(draw func(*rand.Rand) float64, n, runs int) float64 {
		k := repeated(runs, uint64(n), func(rnd *rand.Rand) bool {
			requests := func(factor float64) stats.Blocked { // what sideOf takes from a request table
				s := make(side, n)
				for i := range s {
					s[i].num, s[i].den = 100*factor*draw(rnd)*ms, 1
				}
				return s.blocked(rule.metric, nil)
			}
			value, base, p, _, _ := against(rule.metric, rule.bound, 1, requests(1.1), []stats.Blocked{requests(1)}, false)
			over, far := rule.bound.worse(value, base[0])
			return over && far && p <= DefaultAlpha
		})
		return float64(k) / float64(runs)
	}
	for i, c := range distributions {
		at := seen(c.draw, n, runs)
		if i == 0 && at < 0.95 {
			t.Errorf("%s: %.3f", c.name, at)
		}
		if !*power {
			break
		}
		need := "over 30 000"
		for _, size := range []int{250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000} {
			if seen(c.draw, size, runs/2) >= 0.95 {
				need = fmt.Sprint(size)
				break
			}
		}
		tell("| %s | %.0f %% | %s |\n", c.name, 100*at, need)
	}
}

// A traffic is the requests of one capture, of which runs are drawn.
func traffic(n int, rnd *rand.Rand) []*model.Row {
	rows := make([]*model.Row, n)
	for i := range rows {
		r := &model.Row{Flags: model.RowRealRoot | model.RowRootClosed | model.RowComplete | model.RowVocabulary}
		r.PromptTokens = model.Some(int64(500 * math.Exp(rnd.NormFloat64())))
		r.Hits = model.RowHits{Requested: r.PromptTokens, Hit: model.Some(0), Class: model.HitMiss}
		forward := 20 + 0.05*float64(r.PromptTokens.V)
		if rnd.Float64() < 0.6 {
			r.Hits.Class, r.Hits.Hit = model.HitFull, r.PromptTokens
			forward /= 4
		}
		total := int64(0)
		for j, s := range simulatedStages {
			ns := int64(10 * math.Exp(0.3*rnd.NormFloat64()) * ms)
			if s == model.StageModelForward {
				ns = int64(forward * math.Exp(0.2*rnd.NormFloat64()) * ms)
			}
			if j < 8 {
				total += ns
			}
			stage(r, s, ns, ns)
		}
		r.Window = total
		rows[i] = r
	}
	return rows
}

// drawn is a run of n requests drawn with replacement, those of which accept says so.
func drawn(rows []*model.Row, n int, rnd *rand.Rand, accept func(*model.Row) bool) *Subject {
	dict := model.NewDict()
	agg := report.New(dict, report.Options{})
	for i := range n {
		from := rows[rnd.IntN(len(rows))]
		for !accept(from) {
			from = rows[rnd.IntN(len(rows))]
		}
		r := *from
		r.ID = fmt.Sprintf("r%05d", i)
		r.Hash, r.Start = xxhash.Sum64String(r.ID), model.Time(1_700_000_000e9+int64(i)*1e9)
		agg.Add(&r)
	}
	return &Subject{Name: "run", Figures: agg.Figures(&report.Capture{})}
}

// Resamples of one capture fail at most α of the time; with another mix of hits the change is said to be mix; one slow stage is named first.
func TestPowerResamples(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	const n = 600
	runs, diffs := trials(200, 3), trials(200, 2)
	rows := traffic(1000, rand.New(rand.NewPCG(5, 5)))
	rules := append([]string{"metric: request.p50, baseline: {max_ratio: 1}", "metric: request.mean, baseline: {max_ratio: 1}"}, twenty("1")[:18]...)
	b := parse(t, rules...)
	all := func(*model.Row) bool { return true }
	fewer := func(rnd *rand.Rand) func(*model.Row) bool {
		return func(r *model.Row) bool { return r.Hits.Class != model.HitFull || rnd.Float64() < 0.5 }
	}
	evaluate := func(current, base *Subject) *Document {
		d, err := b.Evaluate(&Input{Current: current, Baselines: []*Subject{base}, Nearest: none, Jobs: 1})
		if err != nil {
			t.Error(err)
			return &Document{}
		}
		return d
	}
	failed := repeated(runs, 11, func(rnd *rand.Rand) bool {
		return evaluate(drawn(rows, n, rnd, all), drawn(rows, n, rnd, all)).Verdict == Fail
	})
	var mixFailed atomic.Int64
	mixSaid := repeated(runs, 12, func(rnd *rand.Rand) bool {
		d := evaluate(drawn(rows, n, rnd, fewer(rnd)), drawn(rows, n, rnd, all))
		if d.Verdict == Fail {
			mixFailed.Add(1)
		}
		r := d.Results[1]
		return r.MixExplained.OK && r.MixExplained.V > 0.5*r.Delta.V
	})
	named := repeated(diffs, 13, func(rnd *rand.Rand) bool {
		slow := make([]*model.Row, len(rows))
		for i, r := range rows {
			c := *r
			c.Stages = slices.Clone(r.Stages)
			for j := range c.Stages {
				if s := &c.Stages[j]; s.Stage == model.StageScatter.ID() {
					s.Union, s.Critical, c.Window = s.Union+10*ms, s.Critical+10*ms, c.Window+10*ms
				}
			}
			slow[i] = &c
		}
		d, err := Compare(drawn(rows, n, rnd, all), drawn(slow, n, rnd, all), 1)
		return err == nil && d.Changed && strings.HasPrefix(d.Metrics[0].Metric, "cb.scatter.") && d.Metrics[0].Verdict == Worse
	})
	told := repeated(diffs, 14, func(rnd *rand.Rand) bool {
		d, err := Compare(drawn(rows, n, rnd, all), drawn(rows, n, rnd, all), 1)
		return err != nil || d.Changed
	})
	percent := func(k, n int) string { return fmt.Sprintf("%.1f %%", 100*float64(k)/float64(n)) }
	tell("\n| %d pairs of runs | share |\n|---|--:|\n", runs)
	tell("| the gate fails | %s |\n| half as many hits: the gate fails | %s |\n| half as many hits: mix is said to explain most of the change of the mean | %s |\n",
		percent(failed, runs), percent(int(mixFailed.Load()), runs), percent(mixSaid, runs))
	tell("| one stage slower by 10 ms: `diff` names it first | %s |\n| `diff` tells a difference where there is none | %s |\n", percent(named, diffs), percent(told, diffs))
	most := func(n int) int { return int(allowed(DefaultAlpha, n) * float64(n)) }
	if failed > most(runs) || int(mixFailed.Load()) > most(runs) || told > most(diffs) || mixSaid < runs*95/100 || named < diffs*95/100 {
		t.Errorf("of %d %d fail, %d with another mix, in %d mix is said; of %d %d are told, %d named", runs, failed, mixFailed.Load(), mixSaid, diffs, told, named)
	}
}
