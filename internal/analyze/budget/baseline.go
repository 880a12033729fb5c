package budget

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/stats"
	"github.com/cbtrace/cbtrace/internal/model"
)

// enoughBaselines is from how many baselines on the spread between runs enters the test (R9.3).
const enoughBaselines = 3

// A comparison is a metric beside its baselines (R9.3).
type comparison struct {
	value, baseline float64
	p               float64 // the largest of those that must be small
	over, far       bool    // over max_ratio (or under min_ratio); by more than min_delta
	usable, given   int     // baselines that have requests enough, and all
	pooled          bool    // fewer than three are usable

	mixed     bool    // the mix of requests differs, and what follows is of the same mix on both sides
	same      bool    // over and far with the same mix too
	explained float64 // part of the delta that the mix explains
}

// An entry is a request in a comparison.
type entry struct {
	num, den float64
	mix      mix
	start    model.Time
	id       string
}

// A side is the requests of one run, in order of (start, id).
type side []entry

// sideOf is the requests of a population that have a metric.
func sideOf(t *table, c *column, change *change) side {
	at := make([]int32, len(t.id)) // by place in time: the row of the column, from 1
	for i, row := range c.row {
		at[t.rank[row]] = int32(i) + 1
	}
	out := make(side, 0, len(c.row))
	for place, i := range at {
		if i > 0 {
			row := t.byTime[place]
			out = append(out, entry{c.num[i-1], c.den[i-1], t.mix[row], t.start[row], t.id[row]})
		}
	}
	return change.entries(out)
}

// pool puts several runs into one.
func pool(sides []side) side {
	if len(sides) == 1 {
		return sides[0]
	}
	all := slices.Concat(sides...)
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.start, b.start), strings.Compare(a.id, b.id)) })
	return all
}

// blocked is a side as a statistic of blocks; weight, where it is given, says how much the requests of a class count, nothing for 0.
func (s side) blocked(m metric, weight map[mix]int64) stats.Blocked {
	if m.stat == percentile {
		values := make([]stats.Value, 0, len(s))
		for _, e := range s {
			w := int64(1)
			if weight != nil {
				w = weight[m.class(e.mix)]
			}
			if w > 0 {
				values = append(values, stats.Value{V: int64(e.num), Weight: w})
			}
		}
		return stats.NewPercentile(m.p, values)
	}
	rows := make([]stats.Pair, 0, len(s))
	for _, e := range s {
		w := 1.0
		if weight != nil {
			w = float64(weight[m.class(e.mix)])
		}
		if w > 0 {
			rows = append(rows, stats.Pair{Num: w * e.num, Den: w * e.den})
		}
	}
	return stats.NewRatio(rows)
}

// class is the class by which the requests of a metric are compared. What was found is no reason for what was found.
func (m metric) class(x mix) mix {
	if m.of == ofHits || m.of == ofReuse {
		return x.length()
	}
	return x
}

// least is how many requests a side needs.
func (m metric) least() int {
	if m.stat == percentile {
		return int(report.NeededN(m.p))
	}
	return leastRequests
}

// compare takes what decides a baseline rule; compared decides it.
func (t *task) compare() {
	m, r := t.m, &t.result
	if !m.tabled() {
		t.insufficient("the request table has no stages outside the vocabulary to compare")
		return
	}
	current := sideOf(t.current.table, m.column, t.change)
	r.N = int64(len(current))
	var before []side
	for _, p := range t.before {
		before = append(before, sideOf(p.table, p.table.at(m.metric), nil))
	}
	usable := slices.DeleteFunc(slices.Clone(before), func(s side) bool { return len(s) < m.least() })
	c := &comparison{usable: len(usable), given: len(before), pooled: len(usable) < enoughBaselines}
	if !c.pooled {
		if n := len(before) - len(usable); n > 0 {
			r.step(fmt.Sprintf("%s with fewer than %d requests left out.", finding.Counted(n, "baseline"), m.least()))
		}
		before = usable
	} else {
		before = []side{pool(before)}
	}
	total := 0
	for _, s := range before {
		total += len(s)
	}
	if whole := stats.Whole(current.blocked(m.metric, nil)); !math.IsNaN(whole) {
		r.Value = m.round(whole)
	}
	if len(current) < m.least() || total < m.least() {
		t.insufficient(fmt.Sprintf("%d requests here and %d in the baseline, at least %d are needed", len(current), total, m.least()))
		return
	}
	b, seed := t.rule.bound, m.seed(t.rule.Select)
	x, values, p, low, high := against(m.metric, b, seed, current.blocked(m.metric, nil), blockedAll(m.metric, before, nil), !c.pooled)
	c.value, c.p = x, p
	c.baseline = stats.Mean(values)
	if math.IsNaN(c.value) || math.IsNaN(c.baseline) {
		t.insufficient("nothing to measure")
		return
	}
	c.over, c.far = b.worse(c.value, c.baseline)
	r.Value, r.Baseline = m.round(c.value), m.round(c.baseline)
	r.Bound = m.round(c.baseline * b.limit)
	r.Delta = m.round(r.Value.V - r.Baseline.V)
	if c.baseline != 0 {
		r.Ratio = model.SomeFloat(r.Value.V / r.Baseline.V)
	}
	r.DeltaLow, r.DeltaHigh = m.round(low), m.round(high)
	t.comparison = c
	t.say(len(current), total, len(before))
	t.mix(current, before)
	r.P = model.SomeFloat(c.p)
}

// round makes a value one of the metric's unit: durations are whole.
func (m metric) round(v float64) model.OptFloat {
	if m.unit() == ns {
		v = math.Round(v)
	}
	return model.SomeFloat(v)
}

func blockedAll(m metric, sides []side, weights []map[mix]int64) (out []stats.Blocked) {
	for i, s := range sides {
		var w map[mix]int64
		if weights != nil {
			w = weights[i]
		}
		out = append(out, s.blocked(m, w))
	}
	return out
}

// worse says whether a value is over the factor, and by more than the least delta.
func (b bound) worse(value, baseline float64) (over, far bool) {
	if b.least() {
		return value < baseline*b.limit, baseline-value > b.minDelta
	}
	return value > baseline*b.limit, value-baseline > b.minDelta
}

// against is a metric and that of the baselines, the p-value of being worse, and the bounds of the delta. With apart each baseline is a run of
// its own and their spread enters the p-value.
func against(m metric, b bound, seed uint64, current stats.Blocked, before []stats.Blocked, apart bool) (value float64, values []float64, p, low, high float64) {
	value = stats.Whole(current)
	for _, s := range before {
		values = append(values, stats.Whole(s))
	}
	d := stats.Differences(current, before, seed)
	if p = stats.Larger(d); b.least() {
		p = stats.Smaller(d)
	}
	low, high = stats.Bounds(d)
	if apart {
		p = max(p, runs(m, b, value, values))
	}
	return value, values, p, low, high
}

// runs is the p-value of a value among those of several runs: by logarithms for durations, which vary by shares.
func runs(m metric, b bound, value float64, values []float64) float64 {
	x, all := value, slices.Clone(values)
	if m.unit() == ns && value > 0 && slices.Min(values) > 0 {
		x = math.Log(x)
		for i := range all {
			all[i] = math.Log(all[i])
		}
	}
	if b.least() {
		x = -x
		for i := range all {
			all[i] = -all[i]
		}
	}
	return stats.Exceeds(x, all)
}

// say notes how the comparison was made.
func (t *task) say(here, there, runs int) {
	r, c, u := &t.result, t.comparison, t.m.unit()
	r.step(fmt.Sprintf("Here %s over %s, in the baseline %s over %d: a delta of %s.", amount(c.value, u), finding.Counted(here, "request"), amount(c.baseline, u), there, amount(c.value-c.baseline, u)))
	r.step(fmt.Sprintf("10 000 draws of blocks of requests in order of time: the delta lies between %s and %s (one-sided bounds of 95 %%).", amount(r.DeltaLow.V, u), amount(r.DeltaHigh.V, u)))
	if c.pooled {
		r.step(fmt.Sprintf("%s with at least %d requests, of %d, and three are needed: the requests of all are put together, and run-to-run noise is unknown.",
			finding.Counted(c.usable, "baseline"), t.m.least(), c.given))
	} else {
		r.step(fmt.Sprintf("%d baselines: p is the larger one of the draws' and of a t-test of this run against theirs.", runs))
	}
}

// compared decides a baseline rule when Holm's procedure has gone through all of them (R9.3).
func (t *task) compared(step stats.Step, family int) {
	r, c, u := &t.result, t.comparison, t.m.unit()
	b := t.rule.bound
	r.Holm = model.SomeFloat(step.Limit)
	r.step(fmt.Sprintf("p is %s; among %s it had to be at most %s.", chance(c.p), finding.Counted(family, "baseline rule"), chance(step.Limit)))
	change := fmt.Sprintf("%s is %s, in the baseline %s", r.Metric, amount(c.value, u), amount(c.baseline, u))
	if r.Ratio.OK {
		change += fmt.Sprintf(" (× %s)", digits(r.Ratio.V))
	}
	limit := fmt.Sprintf("× %s", digits(b.limit))
	if b.minDelta > 0 {
		limit += fmt.Sprintf(" and %s", amount(b.minDelta, u))
	}
	side := "over"
	if b.least() {
		side = "under"
	}
	switch {
	case !c.over || !c.far:
		r.Verdict = Pass
		r.Message = fmt.Sprintf("%s: not %s %s", change, side, limit)
	case c.mixed && !c.same:
		r.Verdict = Warn
		r.Message = fmt.Sprintf("%s: %s %s, but not among requests of the same kind", change, side, limit)
	case !step.Rejected:
		r.Verdict = Warn
		r.Message = fmt.Sprintf("%s: %s %s, but that may be chance: p %s, at most %s is needed", change, side, limit, chance(c.p), chance(step.Limit))
	default:
		r.Verdict = Fail
		r.Message = fmt.Sprintf("%s: %s %s, p %s, the delta is at least %s", change, side, limit, chance(c.p), amount(r.DeltaLow.V, u))
		if b.least() {
			r.Message = fmt.Sprintf("%s: %s %s, p %s, the delta is at most %s", change, side, limit, chance(c.p), amount(r.DeltaHigh.V, u))
		}
	}
	if c.mixed {
		r.Message += fmt.Sprintf("; the mix of hit class and prompt length differs and explains %s of %s", amount(c.explained, u), amount(c.value-c.baseline, u))
	}
	if c.pooled && r.Verdict != Pass {
		r.Message += "; run-to-run noise unknown"
	}
	t.finish()
}
