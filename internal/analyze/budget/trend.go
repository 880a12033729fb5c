package budget

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/stats"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A Trend says since when requests have taken as long as they do: stretches of time, of whole buckets, between which the leading time changed by
// more than chance.
type Trend struct {
	Metric    string // ttft.p95 or request.p95, p50 where few requests tell
	Stretches []Stretch
}

// A Stretch is the requests from the start of a bucket up to the next stretch.
type Stretch struct {
	StartUnixNS int64
	N           int64 // of the request table
	ValueNS     int64 // the metric of them
}

const (
	trendAlpha    = 0.01 // a change is told when chance alone would not bring one as large this often
	trendLeast    = 0.02 // and when it is larger than this share
	trendDepth    = 2    // how often a stretch is cut in two: four of them at most
	trendShuffles = 2000
)

// TrendOf finds the stretches: it cuts the requests, in order of time, at the start of that bucket where the share of requests over their
// percentile, or over their median, differs most from one side to the other, and each side again. Whether it differs by more than chance say
// shuffles of blocks of requests (R9.3), each cut where it differs most. nil where there are too few requests or buckets to tell.
func TrendOf(f *report.Figures) *Trend {
	m := metric{of: ofRequest, stat: percentile, p: 950}
	if f.Decision.ByTTFT && f.TTFT.N() > 0 {
		m.of = ofTTFT
	}
	t := tableOf(f, nil, []metric{m}, false)
	requests := sideOf(t, t.at(m), nil)
	if len(requests) < 2*m.least() {
		m.p = 500
	}
	if len(requests) < 2*m.least() || len(f.Buckets) < 2 {
		return nil
	}
	var starts []int // of each bucket, the first request of it or of a later one
	for i := range f.Buckets {
		starts = append(starts, sort.Search(len(requests), func(n int) bool { return requests[n].start >= model.Time(f.Buckets[i].StartUnixNS) }))
	}
	c := &cutter{m: m, requests: requests, starts: starts}
	out := &Trend{Metric: m.name()}
	for _, b := range c.cut(0, len(starts), trendDepth) {
		lo, hi := starts[b[0]], c.end(b[1])
		if b[0] == 0 {
			lo = 0
		}
		out.Stretches = append(out.Stretches, Stretch{f.Buckets[b[0]].StartUnixNS, int64(hi - lo), c.value(lo, hi)})
	}
	return out
}

type cutter struct {
	m        metric
	requests side
	starts   []int
}

// end is where the requests before a bucket end.
func (c *cutter) end(bucket int) int {
	if bucket == len(c.starts) {
		return len(c.requests)
	}
	return c.starts[bucket]
}

// value is the metric of some of the requests.
func (c *cutter) value(lo, hi int) int64 {
	v := c.requests[lo:hi].values()
	slices.Sort(v)
	return int64(nearest(v, c.m.p))
}

// cut parts the buckets from one up to another one where they changed.
func (c *cutter) cut(from, to, depth int) [][2]int {
	whole := [][2]int{{from, to}}
	lo, hi := c.starts[from], c.end(to)
	if depth == 0 || hi-lo < 2*c.m.least() {
		return whole
	}
	over := excess(c.requests[lo:hi].values(), []int64{c.m.p, 500})
	best, most := -1, 0.0
	for b := from + 1; b < to; b++ {
		if n := c.starts[b] - lo; n >= c.m.least() && hi-c.starts[b] >= c.m.least() {
			if x := imbalance(over, over[n], n); x > most {
				best, most = b, x
			}
		}
	}
	if best < 0 || chanceOfCut(over, c.m.least()) > trendAlpha {
		return whole
	}
	before, after := float64(c.value(lo, c.starts[best])), float64(c.value(c.starts[best], hi))
	if math.Abs(after-before) <= trendLeast*before {
		return whole
	}
	return append(c.cut(from, best, depth-1), c.cut(best, to, depth-1)...)
}

// nearest is a percentile of sorted values.
func nearest(sorted []float64, p int64) float64 {
	return sorted[(int64(len(sorted))*p+999)/1000-1]
}

// limits is how many percentiles requests are counted over.
const limits = 2

// excess is how many of the first i values are over each of some percentiles of all.
func excess(values []float64, of []int64) [][limits]int64 {
	sorted := slices.Sorted(slices.Values(values))
	over := make([][limits]int64, len(values)+1)
	for i, v := range values {
		over[i+1] = over[i]
		for k, p := range of {
			if v > nearest(sorted, p) {
				over[i+1][k]++
			}
		}
	}
	return over
}

// imbalance is how far the first n requests have more or fewer than their part of those that are over a limit, in units of what chance gives,
// of the limit where it is most: it is large at the edges as seldom as in the middle.
func imbalance(over [][limits]int64, first [limits]int64, n int) (most float64) {
	of := float64(len(over) - 1)
	part := float64(n) / of
	for k, all := range over[len(over)-1] {
		share := float64(all) / of
		if x := math.Abs(float64(first[k])-float64(float64(all)*part)) / math.Sqrt(part*(1-part)*of*share*(1-share)); x > most { // NaN where all have one value
			most = x
		}
	}
	return most
}

// chanceOfCut is the p-value of the largest imbalance between blocks of equal count, of which over[i] says how many of the first i requests are
// over each limit: shuffled, blocks have one as large that often.
func chanceOfCut(over [][limits]int64, least int) float64 {
	n := len(over) - 1
	blocks := min(n, stats.MaxBlocks)
	count := make([][limits]int64, blocks)
	size := make([]int, blocks)
	order := make([]int, blocks)
	for b := range blocks {
		lo, hi := b*n/blocks, (b+1)*n/blocks
		order[b], size[b] = b, hi-lo
		for k := range count[b] {
			count[b][k] = over[hi][k] - over[lo][k]
		}
	}
	largest := func() (most float64) {
		var sum [limits]int64
		at := 0
		for _, b := range order {
			at += size[b]
			for k := range sum {
				sum[k] += count[b][k]
			}
			if at >= least && n-at >= least {
				most = max(most, imbalance(over, sum, at))
			}
		}
		return most
	}
	seen := largest()
	rnd := rand.New(rand.NewPCG(uint64(n), 0))
	as := 1
	for range trendShuffles {
		rnd.Shuffle(blocks, func(i, j int) { order[i], order[j] = order[j], order[i] })
		if largest() >= seen*(1-1e-12) {
			as++
		}
	}
	return float64(as) / (trendShuffles + 1)
}
