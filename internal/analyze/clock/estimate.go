package clock

import (
	"cmp"
	"math"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// R5.3, R5.4.
const (
	fewestPairs = 5  // of two processes, and of a slice of time
	maxSlices   = 64 // of time
	fewestDrift = 3  // slices with pairs that a drift is seen in
)

// A Basis says how the clocks of two processes are known.
type Basis uint8

const (
	BasisNone   Basis = iota // not: too few pairs, or bounds from one side only
	BasisZero                // no pair contradicts equal clocks, so they are (R5.4)
	BasisPairs               // from pairs that bound both sides
	BasisStarts              // from starts alone: most ends contradict them (R5.2)
	BasisRoute               // over other processes (R5.5)
)

func (b Basis) String() string { return [...]string{"none", "zero", "pairs", "starts", "route"}[b] }

// An estimate is what is known of the clocks of processes a and b: what must be added to b's clock to read it on a's.
type estimate struct {
	a, b             model.ProcID
	moved, reference model.ProcID // a and b: which of them is the server in most pairs, and the other
	basis            Basis
	pairs            int64 // in the sample
	disagreeing      int64 // contradict the estimate
	ends             bool  // false: the ends of the pairs did not count (R5.2)
	first, last      int64 // instants of the first and the last bound used, on b's clock
	corridor         corridor
	width            int64 // the larger uncertainty of those at first and last
}

// known reports whether there is an offset.
func (e *estimate) known() bool { return e.basis != BasisNone && e.width >= 0 }

// disagrees reports that pairs contradict one another too often (finding clock_disagreement).
func (e *estimate) disagrees() bool { return !e.ends || e.disagreeing*20 > e.pairs }

// at is the offset at an instant of b's clock, how far it may be wrong, and how it drifts (ns per ns).
func (e *estimate) at(t int64) (offset, uncertainty int64, drift float64) {
	if e.basis == BasisZero {
		low, high, _ := e.corridor.at(min(max(t, e.first), e.last))
		base := float64(e.corridor.base)
		return 0, wholeNS(math.Ceil(max(high+base, -low-base, 0))), 0
	}
	low, high, drift := e.corridor.at(t)
	return e.middle(low, high), wholeNS(math.Ceil((high - low) / 2)), drift
}

// offset is that of at alone.
func (e *estimate) offset(t int64) int64 {
	if e.basis == BasisZero {
		return 0
	}
	low, high, _ := e.corridor.at(t)
	return e.middle(low, high)
}

func (e *estimate) middle(low, high float64) int64 {
	return e.corridor.base + wholeNS(math.Floor((low+high)/2+0.5))
}

// wholeNS is a whole number as an integer, kept in a range in which processors agree and sums do not overflow.
func wholeNS(x float64) int64 { return int64(min(max(x, -1<<61), 1<<61)) }

// estimateOf fits the clocks of two processes to their pairs, which are in no order and stay as they are.
func estimateOf(pp procPair, pairs []pair) *estimate {
	e := &estimate{a: pp.a, b: pp.b, moved: pp.b, reference: pp.a, pairs: int64(len(pairs)), ends: true, width: -1}
	swapped, both, empty := 0, 0, 0
	for i := range pairs {
		p := &pairs[i]
		if p.serverIsA {
			swapped++
		}
		if p.bounded() {
			both++
			if p.low > p.high {
				empty++
			}
		}
	}
	if 2*swapped > len(pairs) {
		e.moved, e.reference = pp.a, pp.b
	}
	e.ends = 2*empty <= both
	if len(pairs) < fewestPairs {
		return e
	}
	if !e.ends { // R5.2
		e.disagreeing = int64(empty)
		pairs = startsOf(pairs)
	}
	all := agreement{lows: make([]point, 0, len(pairs)), highs: make([]point, 0, len(pairs))}
	for i := range pairs {
		all.add(&pairs[i])
	}
	basis := BasisPairs
	if !e.ends {
		basis = BasisStarts
	}
	if e.fit(&all, steepest, basis) {
		return e
	}
	if best, agreeing, drifts := mostAgree(inTime(pairs)); agreeing > 0 {
		steep := float64(steepest)
		if !drifts {
			steep = 0
		}
		if e.fit(best, steep, basis) {
			e.disagreeing = max(e.disagreeing, int64(len(pairs)-agreeing))
		}
	}
	return e
}

// inTime are the pairs in order of their instants, those of one instant in that of all that they say.
func inTime(pairs []pair) []*pair {
	type timed struct {
		at int64
		*pair
	}
	order := make([]timed, len(pairs))
	for i := range pairs {
		order[i] = timed{pairs[i].at(), &pairs[i]}
	}
	slices.SortFunc(order, func(x, y timed) int {
		if x.at != y.at {
			return cmp.Compare(x.at, y.at)
		}
		return comparePairs(*x.pair, *y.pair)
	})
	out := make([]*pair, len(order))
	for i := range order {
		out[i] = order[i].pair
	}
	return out
}

// startsOf are the pairs without what their ends say.
func startsOf(pairs []pair) []pair {
	out := slices.Clone(pairs)
	for i := range out {
		if p := &out[i]; p.bounded() {
			p.hasLow, p.hasHigh = !p.serverIsA, p.serverIsA
		}
	}
	return out
}

// An agreement is a set of bounds that some line keeps, or should.
type agreement struct {
	lows, highs []point
}

func (g *agreement) add(p *pair) {
	if p.hasLow {
		g.lows = append(g.lows, point{p.lowAt, p.low})
	}
	if p.hasHigh {
		g.highs = append(g.highs, point{p.highAt, p.high})
	}
}

// allowsZero reports whether equal clocks contradict no bound.
func (g *agreement) allowsZero() bool {
	above := func(p point) bool { return p.v > 0 }
	below := func(p point) bool { return p.v < 0 }
	return !slices.ContainsFunc(g.lows, above) && !slices.ContainsFunc(g.highs, below)
}

// fit takes the corridor through a set of bounds as the estimate, if there is one.
func (e *estimate) fit(g *agreement, steep float64, basis Basis) bool {
	c, ok := newCorridor(g.lows, g.highs, steep)
	if !ok {
		return false
	}
	e.corridor, e.basis = c, basis
	if g.allowsZero() { // R5.4
		e.basis = BasisZero
	}
	e.first, e.last = g.lows[0].at, g.lows[0].at
	for _, side := range [...][]point{g.lows, g.highs} {
		for _, p := range side {
			e.first, e.last = min(e.first, p.at), max(e.last, p.at)
		}
	}
	_, atFirst, _ := e.at(e.first)
	_, atLast, _ := e.at(e.last)
	e.width = max(atFirst, atLast)
	return true
}

// mostAgree finds the line that the most pairs hold, where no line keeps all bounds (R5.3): the bounds of the pairs that hold it, how many
// these are, and whether it could drift.
//
//  1. cut time into slices; the slope through their median pairs gives a first drift
//  2. take it off; the slope through the intervals inside the most pairs of each slice corrects it
//  3. take both off; the middle of the interval inside the most of all pairs is the line's place
func mostAgree(pairs []*pair) (best *agreement, agreeing int, drifts bool) {
	f := fitter{}
	for _, p := range pairs {
		if p.bounded() {
			f.pairs = append(f.pairs, p)
		}
	}
	if len(f.pairs) == 0 {
		return nil, 0, false
	}
	f.origin, f.base = f.pairs[0].at(), f.pairs[0].low
	cuts := f.slices()
	var drift float64
	if drifts = len(cuts) >= fewestDrift; drifts {
		drift = clamp(theilSen(f.medians(cuts)))
		drift = clamp(drift + theilSen(f.fullest(cuts, drift)))
	}
	place, n := f.fullestOf(f.pairs, drift)
	if n == 0 {
		return nil, 0, false
	}
	best = &agreement{}
	for _, p := range pairs {
		if low, high := f.bounds(p, drift); (!p.hasLow || low <= place) && (!p.hasHigh || place <= high) {
			best.add(p)
			agreeing++
		}
	}
	return best, agreeing, drifts
}

func clamp(slope float64) float64 { return min(max(slope, -steepest), steepest) }

// A fitter works on pairs that bound both sides, in order of time.
type fitter struct {
	pairs        []*pair
	origin, base int64 // what instants and values are counted from
}

// A mark is a place in (instant, value), from origin and base.
type mark struct{ at, v float64 }

// bounds are those of a pair once a drift is taken off, from base.
func (f *fitter) bounds(p *pair, drift float64) (low, high float64) {
	low = float64(p.low-f.base) - float64(drift*float64(p.lowAt-f.origin))
	high = float64(p.high-f.base) - float64(drift*float64(p.highAt-f.origin))
	return low, high
}

// slices cuts the pairs into up to maxSlices of equal length in time; one with too few is joined to the next, the last to the one before it.
func (f *fitter) slices() [][]*pair {
	first, last := f.pairs[0].at(), f.pairs[len(f.pairs)-1].at()
	length := (last-first)/maxSlices + 1
	var out [][]*pair
	lo := 0
	for hi := range f.pairs {
		ends := hi == len(f.pairs)-1 || (f.pairs[hi+1].at()-first)/length != (f.pairs[hi].at()-first)/length
		if ends && hi+1-lo >= fewestPairs {
			out = append(out, f.pairs[lo:hi+1])
			lo = hi + 1
		}
	}
	if n := len(out); lo < len(f.pairs) && n > 0 {
		out[n-1] = f.pairs[lo-len(out[n-1]):]
	} else if lo < len(f.pairs) {
		out = append(out, f.pairs[lo:])
	}
	return out
}

// medians are the median instant and the median midpoint of each slice.
func (f *fitter) medians(cuts [][]*pair) []mark {
	out := make([]mark, len(cuts))
	for i, cut := range cuts {
		var vs []float64
		for _, p := range cut {
			vs = append(vs, (float64(p.low-f.base)+float64(p.high-f.base))/2)
		}
		out[i] = mark{f.medianAt(cut), median(vs)}
	}
	return out
}

func (f *fitter) medianAt(cut []*pair) float64 {
	at := make([]float64, len(cut))
	for i, p := range cut {
		at[i] = float64(p.at() - f.origin)
	}
	return median(at)
}

// fullest are the median instant of each slice and the middle of the interval inside the most of its pairs.
func (f *fitter) fullest(cuts [][]*pair, drift float64) []mark {
	var out []mark
	for _, cut := range cuts {
		if v, n := f.fullestOf(cut, drift); n > 0 {
			out = append(out, mark{f.medianAt(cut), v})
		}
	}
	return out
}

// fullestOf is the middle of the interval inside the most of some pairs once a drift is taken off, and how many hold it; of several intervals
// the one of the smallest values.
func (f *fitter) fullestOf(pairs []*pair, drift float64) (middle float64, most int) {
	type end struct {
		v     float64
		opens int // 1, or −1
	}
	ends := make([]end, 0, 2*len(pairs))
	for _, p := range pairs {
		if low, high := f.bounds(p, drift); low <= high {
			ends = append(ends, end{low, 1}, end{high, -1})
		}
	}
	slices.SortFunc(ends, func(x, y end) int {
		if x.v != y.v {
			return cmp.Compare(x.v, y.v)
		}
		return cmp.Compare(y.opens, x.opens)
	})
	n := 0
	for i, x := range ends {
		if n += x.opens; n > most { // the next end closes or opens: either way the interval so far is [x, next]
			most, middle = n, (x.v+ends[i+1].v)/2
		}
	}
	return middle, most
}

// theilSen is the median slope between any two marks; 0 without any.
func theilSen(marks []mark) float64 {
	var slopes []float64
	for i, a := range marks {
		for _, b := range marks[i+1:] {
			if a.at != b.at {
				slopes = append(slopes, (b.v-a.v)/(b.at-a.at))
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	return median(slopes)
}

// median is the middle value, or the mean of the two in the middle; vs is sorted and not empty.
func median(vs []float64) float64 {
	slices.Sort(vs)
	n := len(vs)
	if n%2 == 1 {
		return vs[n/2]
	}
	return (vs[n/2-1] + vs[n/2]) / 2
}
