package budget

import (
	"fmt"
	"math"
	"slices"

	"github.com/cbtrace/cbtrace/internal/analyze/stats"
)

// When hit classes or prompt lengths are distributed otherwise than in the baseline, requests are compared within classes: those of the baseline
// are weighted so that each class has the share it has here, and classes that one side lacks stay out. A rule fails only if it does so too
// with the same mix on both sides; the rest of the change is that of the traffic.
const (
	mixAlpha   = 0.01    // the mix differs when chance alone would not do that this often
	mixMatched = 0.5     // of the requests here that must have their class in the baseline, or nothing is reweighted
	mixWeight  = 1 << 40 // weight of all requests of a side
)

// mix compares with the same mix on both sides where it differs.
func (t *task) mix(current side, before []side) {
	m, c, r := t.m.metric, t.comparison, &t.result
	here := classes(m, current)
	there := make([]map[mix]int64, len(before))
	pooled := map[mix]int64{}
	for i, s := range before {
		there[i] = classes(m, s)
		for k, n := range there[i] {
			pooled[k] += n
		}
	}
	p := homogeneous(here, pooled)
	if p >= mixAlpha {
		return
	}
	weights, only, matched := reweight(here, there)
	if matched < mixMatched {
		r.step(fmt.Sprintf("The mix of hit class and prompt length differs (p %s), but only %.0f %% of the requests here are of a kind that the baseline has: nothing is reweighted.", chance(p), 100*matched))
		return
	}
	value, values, pSame, _, _ := against(m, t.rule.bound, t.m.seed(t.rule.Select)+1, current.blocked(m, only), blockedAll(m, before, weights), !c.pooled)
	baseline := stats.Mean(values)
	if math.IsNaN(value) || math.IsNaN(baseline) {
		return
	}
	c.mixed = true
	over, far := t.rule.bound.worse(value, baseline)
	c.same = over && far
	c.explained = baseline - c.baseline + c.value - value // the latter: of kinds that only this run has
	c.p = max(c.p, pSame)
	r.MixExplained = m.round(c.explained)
	r.step(fmt.Sprintf("The mix of hit class and prompt length differs (p %s). With the mix of this run, of the kinds that both have (%.0f %% of the requests here), the baseline would be %s and this run is %s; the mix explains %s of %s, and p is %s.",
		chance(p), 100*matched, amount(baseline, m.unit()), amount(value, m.unit()), amount(c.explained, m.unit()), amount(c.value-c.baseline, m.unit()), chance(pSame)))
}

// classes counts the requests of each class.
func classes(m metric, s side) map[mix]int64 {
	out := map[mix]int64{}
	for i := range s {
		out[m.class(s[i].mix)]++
	}
	return out
}

// homogeneous is the p-value of two mixes being the same: the least of those of the hit classes, of the lengths, and of both together, of which
// each may be it (Bonferroni). Among many classes a shift of the few that matter is easily lost.
func homogeneous(a, b map[mix]int64) float64 {
	p := min(homogeneousIn(a, b), homogeneousIn(by(mix.hit, a), by(mix.hit, b)), homogeneousIn(by(mix.length, a), by(mix.length, b)))
	return min(1, 3*p)
}

// by puts classes together.
func by(wider func(mix) mix, counts map[mix]int64) map[mix]int64 {
	out := map[mix]int64{}
	for k, n := range counts {
		out[wider(k)] += n
	}
	return out
}

func homogeneousIn(a, b map[mix]int64) float64 {
	var keys []mix
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	x, y := make([]int64, len(keys)), make([]int64, len(keys))
	for i, k := range keys {
		x[i], y[i] = a[k], b[k]
	}
	return stats.Homogeneous(x, y)
}

// reweight makes the weights of each baseline's classes that give it the mix of here, among the classes that all sides have; only are the same
// for here. matched is the share of the requests here that are of such a class.
func reweight(here map[mix]int64, there []map[mix]int64) (weights []map[mix]int64, only map[mix]int64, matched float64) {
	only = map[mix]int64{}
	all, common := int64(0), int64(0)
	for k, n := range here {
		all += n
		if !slices.ContainsFunc(there, func(b map[mix]int64) bool { return b[k] == 0 }) {
			only[k] = 1
			common += n
		}
	}
	for _, b := range there {
		w := map[mix]int64{}
		for k := range only {
			w[k] = max(1, int64(math.Round(mixWeight*float64(here[k])/float64(common)/float64(b[k]))))
		}
		weights = append(weights, w)
	}
	return weights, only, float64(common) / float64(max(all, 1))
}
