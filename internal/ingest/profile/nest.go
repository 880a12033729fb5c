package profile

import (
	"cmp"
	"math"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A piece is one line as far as nesting goes: a start and a duration in the units of their keys.
type piece struct {
	owner      uint64 // request, process, rank and thread
	start, dur float64
}

// A nesting is how the lines of requests lie in one another when starts and durations are in certain units.
type nesting struct {
	lines   int // of requests with several
	crosses int // lines that begin inside another and end outside
	inside  int // lines that begin later than another and end inside it
}

// agreed reports whether enough lines do not contradict a unit (R4.12).
func agreed(n, of int) bool { return of > 0 && n*100 >= of*95 }

func (n nesting) fits() bool { return n.inside > 0 && agreed(n.lines-n.crosses, n.lines) }

// nest looks at the lines of each request in one process, a start unit being step duration units. grain is what the numbers are rounded to, in units
// of the start. pieces are in order of (owner, start).
func nest(pieces []piece, step, grain float64) (n nesting) {
	var open, same []piece // open: those around the place, ends in dur
	for lo := 0; lo < len(pieces); {
		hi := lo + 1
		for hi < len(pieces) && pieces[hi].owner == pieces[lo].owner {
			hi++
		}
		if hi-lo == 1 {
			lo = hi
			continue
		}
		n.lines += hi - lo
		open = open[:0]
		same = append(same[:0], pieces[lo:hi]...)
		for i := range same {
			same[i].dur /= step
		}
		slices.SortFunc(same, func(a, b piece) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.dur, a.dur)) })
		for _, p := range same {
			end := p.start + p.dur
			slack := 2*grain + p.dur/100
			for len(open) > 0 && open[len(open)-1].dur <= p.start+slack {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				around := open[len(open)-1]
				switch {
				case end > around.dur+slack:
					n.crosses++
				case p.start > around.start+2*grain:
					n.inside++
				}
			}
			open = append(open, piece{start: p.start, dur: end})
		}
		lo = hi
	}
	return n
}

// The units that a time may be in.
var units = [...]model.ProfileUnit{model.Nanoseconds, model.Microseconds, model.Milliseconds, model.Seconds}

func pow10(e int) float64 { return math.Pow10(e) }

// ratioOf finds by how many powers of ten the start's unit is larger than the duration's (of those given): the only one under which lines nest, or the largest
// of several. A ratio too small draws durations out until lines cross; one too large shrinks them until none lies inside another. Some lines nest under
// larger durations too (a child near the beginning of a parent without other children): so of those that fit the shortest durations count, as long as
// they leave nearly as many lines inside others. ok is false where the lines tell nothing.
func ratioOf(pieces []piece, ratios []int, grain float64) (ratio int, ok bool) {
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.start, b.start)) })
	most := 0
	found := make([]nesting, len(ratios))
	for i, r := range ratios {
		if found[i] = nest(pieces, pow10(r), grain); found[i].fits() {
			most = max(most, found[i].inside)
		}
	}
	for i, r := range ratios {
		if n := found[i]; n.fits() && agreed(n.inside, most) && (!ok || r > ratio) {
			ratio, ok = r, true
		}
	}
	return ratio, ok
}
