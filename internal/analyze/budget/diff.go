package budget

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/stats"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Compare tells what is different in b, seen from a: every metric with the statistics of baseline rules, in both directions, and Holm's procedure
// over all of them, so that two captures of one distribution are told apart at most once in 1/α times. jobs is how many goroutines there are;
// 0: one per processor.
func Compare(a, b *Subject, jobs int) (*Diff, error) {
	d := &Diff{
		Schema: DiffSchema, A: DiffSide{a.Name, a.Figures.Requests.Total}, B: DiffSide{b.Name, b.Figures.Requests.Total},
		Appeared: []string{}, Vanished: []string{}, Findings: []DiffFinding{}, Notes: []string{}, Leading: "request", Alpha: DefaultAlpha,
	}
	leading := metric{of: ofRequest, stat: mean}
	if a.Figures.Decision.ByTTFT && b.Figures.Decision.ByTTFT {
		d.Leading, leading.of = "ttft", ofTTFT
	}
	metrics := compared(a.Figures, b.Figures)
	pa, err := a.population(&filter{}, metrics)
	if err != nil {
		return nil, err
	}
	pb, err := b.population(&filter{}, metrics)
	if err != nil {
		return nil, err
	}
	draws := drawsFor(len(metrics), d.Alpha)
	pairs := make([]*pair, len(metrics))
	var next atomic.Int64
	var wg sync.WaitGroup
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	for range min(jobs, len(metrics)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(metrics)); i = next.Add(1) - 1 {
				pairs[i] = pairOf(metrics[i], pa, pb, draws)
			}
		})
	}
	wg.Wait()
	tested := slices.DeleteFunc(slices.Clone(pairs), func(x *pair) bool { return !x.row.P.OK })
	p := make([]float64, len(tested))
	for i, x := range tested {
		p[i] = x.row.P.V
	}
	for i, step := range stats.Holm(p, d.Alpha) {
		tested[i].decide(step)
	}
	contributions(d, pairs, a.Figures, b.Figures)
	for _, x := range pairs {
		if x.row.NA+x.row.NB > 0 {
			d.Metrics = append(d.Metrics, x.row)
			d.Changed = d.Changed || x.row.Verdict == Better || x.row.Verdict == Worse
		}
	}
	slices.SortStableFunc(d.Metrics, func(x, y DiffMetric) int {
		switch {
		case x.ContributionNS.OK != y.ContributionNS.OK:
			return map[bool]int{true: -1, false: 1}[x.ContributionNS.OK]
		case !x.ContributionNS.OK:
			return 0
		}
		return cmp.Or(cmp.Compare(size(y.ContributionNS.V), size(x.ContributionNS.V)), strings.Compare(x.Metric, y.Metric))
	})
	d.stages(a.Figures, b.Figures)
	d.findings(a.Figures, b.Figures)
	d.mix(leading, pa, pb)
	for _, s := range []*Subject{a, b} {
		if kept := int64(s.Figures.Table.Len()); kept < s.Figures.Table.Total {
			d.Notes = append(d.Notes, fmt.Sprintf("%s: values and intervals are of %d of %d requests", s.Name, kept, s.Figures.Table.Total))
		}
	}
	return d, nil
}

// drawsFor is how many draws so many metrics need: the least p-value, which is two-sided, must be small enough for Holm's procedure among all of
// them, with room.
func drawsFor(metrics int, alpha float64) int {
	return max(stats.BlockDraws, int(math.Ceil(4*float64(metrics)/alpha)))
}

func size(v int64) int64 { return max(v, -v) }

// compared are the metrics of a diff, those of stages by name.
func compared(a, b *report.Figures) (out []metric) {
	for _, of := range []family{ofTTFT, ofRequest, ofQueue, ofDecodePerToken} {
		for _, p := range []int64{500, 950, 990} {
			out = append(out, metric{of: of, stat: percentile, p: p})
		}
		out = append(out, metric{of: of, stat: mean})
	}
	var stages []metric
	for _, f := range []*report.Figures{a, b} {
		for _, s := range f.Stages {
			m := metric{of: ofStage, stage: s.Stage, owner: ownerOf(s.Owner)}
			if s.Class != model.Point.String() && s.Class != model.Breakdown.String() && m.tabled() && !slices.Contains(stages, m) {
				stages = append(stages, m)
			}
		}
	}
	slices.SortFunc(stages, func(x, y metric) int { return strings.Compare(x.stageName(), y.stageName()) })
	for _, s := range stages {
		for _, stat := range []statistic{critical, criticalShare} {
			s.stat = stat
			out = append(out, s)
		}
		for _, p := range []int64{500, 950} {
			s.stat, s.p = percentile, p
			out = append(out, s)
		}
	}
	for part := range lookupParts {
		out = append(out, metric{of: ofLookup, stat: percentile, p: 500, part: part}, metric{of: ofLookup, stat: percentile, p: 950, part: part})
		if part > 0 {
			out = append(out, metric{of: ofLookup, stat: share, part: part})
		}
	}
	for part := range hitParts {
		out = append(out, metric{of: ofHits, stat: rate, part: part})
	}
	out = append(out, metric{of: ofReuse, stat: rate}, metric{of: ofFailed, stat: rate})
	for code := range finding.Registry {
		if shown(a, code)+shown(b, code) > 0 && finding.Registry[code].Scope == finding.Request {
			out = append(out, metric{of: ofFinding, stat: rate, code: code})
		}
	}
	return out
}

func ownerOf(name string) model.Owner {
	for o := model.Engine; o <= model.Server; o++ {
		if o.String() == name {
			return o
		}
	}
	return model.OwnerNone
}

// shown is how many requests show a finding.
func shown(f *report.Figures, code int) int64 {
	for i := range f.Findings {
		if f.Findings[i].Code == finding.Registry[code].Code {
			return f.Findings[i].Count
		}
	}
	return 0
}

// A pair is a metric on both sides.
type pair struct {
	metric
	row DiffMetric
}

func pairOf(m metric, pa, pb *population, howMany int) *pair {
	x := &pair{m, DiffMetric{Metric: m.name(), Verdict: Insufficient, Unit: m.unit().String()}}
	r := &x.row
	a, b := sideOf(pa.table, pa.table.at(m), nil), sideOf(pb.table, pb.table.at(m), nil)
	r.NA, r.NB = int64(len(a)), int64(len(b))
	sa, sb := a.blocked(m, nil), b.blocked(m, nil)
	va, vb := stats.Whole(sa), stats.Whole(sb)
	if m.of == ofHits && m.part > 0 && va == 0 && vb == 0 { // nobody said anything of that part
		r.NA, r.NB = 0, 0
		return x
	}
	r.A, r.B = m.round(va), m.round(vb)
	if r.A.OK && r.B.OK {
		r.Delta = m.round(r.B.V - r.A.V)
		if r.A.V != 0 {
			r.Ratio = model.SomeFloat(r.B.V / r.A.V)
		}
	}
	if m.stat == percentile && m.p == 500 {
		r.WholeP = model.SomeFloat(stats.MannWhitney(a.values(), b.values()))
	}
	if len(a) < m.least() || len(b) < m.least() || !r.Delta.OK {
		return x
	}
	draws := stats.DifferencesOf(howMany, sb, []stats.Blocked{sa}, (&measurement{metric: m}).seed(Selection{}))
	r.P = model.SomeFloat(min(1, 2*min(stats.Larger(draws), stats.Smaller(draws))))
	low, high := stats.Bounds(draws)
	r.Low, r.High = m.round(low), m.round(high)
	r.Verdict = NoSign
	return x
}

func (s side) values() []float64 {
	out := make([]float64, len(s))
	for i := range s {
		out[i] = s[i].num
	}
	return out
}

// decide gives a metric its verdict: more is worse but for what was found.
func (x *pair) decide(step stats.Step) {
	r := &x.row
	if !step.Rejected || r.Delta.V == 0 {
		return
	}
	r.Verdict = Worse
	if (r.Delta.V < 0) != (x.of == ofHits || x.of == ofReuse) {
		r.Verdict = Better
	}
}

// contributions says of each stage by how much its mean time on the leading path changed. A stage without a row of its own, as the root's gaps of
// a made-up root, has none.
func contributions(d *Diff, pairs []*pair, a, b *report.Figures) {
	means := func(f *report.Figures) map[string]float64 {
		out := map[string]float64{}
		n := float64(f.Latency.N())
		path := f.CriticalPath.ByStage
		if d.Leading == "ttft" {
			n, path = float64(f.TTFT.N()), nil
			if first := f.CriticalPath.TTFT; first != nil {
				path = first.ByStage
			}
		}
		for _, s := range path {
			if n > 0 {
				out[s.Stage] = float64(s.NS) / n
			}
		}
		return out
	}
	before, after := means(a), means(b)
	given := map[string]bool{}
	for _, own := range []bool{true, false} { // a path names a stage whoever owns it: that of the vocabulary comes first
		for _, x := range pairs {
			if x.of != ofStage || x.stat != critical || given[x.stage] || own && x.stageName() != x.stage {
				continue
			}
			given[x.stage] = true
			x.row.ContributionNS = model.Some(int64(math.Round(after[x.stage] - before[x.stage])))
		}
	}
}

// stages lists those that one side alone has. They are a change when chance alone would hardly put all requests that have one on one side.
func (d *Diff) stages(a, b *report.Figures) {
	alone := func(of, other *report.Figures) []string {
		out := []string{}
		for _, s := range of.Stages {
			if s.Spans == 0 || slices.ContainsFunc(other.Stages, func(o report.Stage) bool { return o.Stage == s.Stage && o.Owner == s.Owner && o.Spans > 0 }) {
				continue
			}
			out = append(out, metric{of: ofStage, stage: s.Stage, owner: ownerOf(s.Owner)}.stageName())
			share := float64(of.Requests.Total) / float64(of.Requests.Total+other.Requests.Total)
			d.Changed = d.Changed || math.Pow(share, float64(s.Requests)) < mixAlpha
		}
		slices.Sort(out)
		return out
	}
	d.Appeared, d.Vanished = alone(b, a), alone(a, b)
}

func (d *Diff) findings(a, b *report.Figures) {
	for code := range finding.Registry {
		if x, y := shown(a, code), shown(b, code); x+y > 0 {
			d.Findings = append(d.Findings, DiffFinding{finding.Registry[code].Code, x, y})
		}
	}
	slices.SortFunc(d.Findings, func(x, y DiffFinding) int { return strings.Compare(x.Code, y.Code) })
}

// mix says how much of the change of the leading mean a change of the mix explains: with the mix of b on both sides that much of it is gone.
func (d *Diff) mix(m metric, pa, pb *population) {
	a, b := sideOf(pa.table, pa.table.at(m), nil), sideOf(pb.table, pb.table.at(m), nil)
	here, there := classes(m, b), classes(m, a)
	p := homogeneous(here, there)
	if p >= mixAlpha {
		return
	}
	weights, only, matched := reweight(here, []map[mix]int64{there})
	if matched < mixMatched {
		d.Notes = append(d.Notes, fmt.Sprintf("the mix of hit class and prompt length differs, and only %.0f %% of the requests of %s are of a kind that %s has", 100*matched, d.B.Label, d.A.Label))
		return
	}
	v := stats.Whole(a.blocked(m, weights[0])) - stats.Whole(a.blocked(m, nil))
	if v += stats.Whole(b.blocked(m, nil)) - stats.Whole(b.blocked(m, only)); !math.IsNaN(v) { // kinds that only b has are mix too
		d.Mix.ExplainedNS = model.Some(int64(math.Round(v)))
	}
}
