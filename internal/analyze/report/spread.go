package report

import (
	"github.com/cbtrace/cbtrace/internal/model"
)

// An Interval is where a percentile lies with 95 % confidence, by order statistics (R8.5). A bound for which there are too few values is null.
type Interval struct {
	Metric     string    `json:"metric" enum:"ttft|latency"`
	Percentile string    `json:"percentile" enum:"p50|p95|p99"`
	N          int64     `json:"n"`
	LowNS      model.Opt `json:"low_ns"`
	HighNS     model.Opt `json:"high_ns"`
}

// twoSided is the confidence of each of the two bounds of an Interval.
const twoSided = 0.975

// intervals are those of the two series that headlines are about, as far as there is a bound.
func (t *tally) intervals() []Interval {
	out := []Interval{}
	for _, s := range []struct {
		metric string
		series *series
	}{{"ttft", &t.ttft}, {"latency", &t.latency}} {
		for _, p := range []struct {
			name      string
			thousands int64
		}{{"p50", 500}, {"p95", 950}, {"p99", 990}} {
			low, high := OrderBounds(s.series.N(), p.thousands, twoSided)
			i := Interval{Metric: s.metric, Percentile: p.name, N: s.series.N()}
			if low > 0 {
				i.LowNS = model.Some(s.series.Rank(low))
			}
			if high > 0 {
				i.HighNS = model.Some(s.series.Rank(high))
			}
			if i.LowNS.OK || i.HighNS.OK {
				out = append(out, i)
			}
		}
		s.series.Release()
	}
	return out
}
