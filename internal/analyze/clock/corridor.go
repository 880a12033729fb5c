package clock

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// A point is a bound: a value (ns) at an instant (ns).
type point struct{ at, v int64 }

// steepest is the largest drift that a corridor holds, as ns per ns: 1 000 ppm. No clock drifts or is slewed faster, and bounds that lie
// close together in time would allow anything.
const steepest = 1e-3

// halfTick is how far, in ns, a line may miss a bound and still keep it: bounds are whole ns, lines are not.
const halfTick = 0.5

// A line is an offset that drifts: v + slope·(t − at).
type line struct {
	at, v int64
	slope float64
}

// A corridor holds all lines that keep a set of bounds. At each instant the values that they take there form an interval.
type corridor struct {
	origin, base int64 // what instants and values of the pieces are counted from
	pieces       []piece
}

// A piece is a stretch of a corridor in which both its sides are straight: from an instant on, to that of the next. The highest value of a line at an
// instant x is up + upSlope·x, the lowest −(down + downSlope·x).
type piece struct {
	from            float64
	up, upSlope     float64
	down, downSlope float64
}

// newCorridor is the corridor of the lines no steeper than steep that lie on or above all of lows and on or below all of highs; ok is false
// when there is none, or when one side has no bound.
//
// The lines form a convex set in (slope, offset). For each slope the highest low and the lowest high that a line can touch are corners of two
// convex chains; going through the slopes from −steep to steep they move along the chains, lows leftward, highs rightward. Between two moves
// the room between them is linear in the slope. The corners of the set are where it becomes zero, and where a touched point changes while
// there is room: no other lines are ever the highest or the lowest.
func newCorridor(lows, highs []point, steep float64) (c corridor, ok bool) {
	if len(lows) == 0 || len(highs) == 0 {
		return corridor{}, false
	}
	lo, hi := chain(lows, 1), chain(highs, -1)
	i, j := len(lo)-1, 0
	for i > 0 && slope(lo[i-1], lo[i]) <= -steep {
		i--
	}
	for j < len(hi)-1 && slope(hi[j], hi[j+1]) <= -steep {
		j++
	}
	var corners []line
	room := func(d float64) float64 {
		return float64(hi[j].v-lo[i].v) - float64(d*float64(hi[j].at-lo[i].at))
	}
	touch := func(d float64) {
		corners = append(corners, line{lo[i].at, lo[i].v, d}, line{hi[j].at, hi[j].v, d})
	}
	for d := -steep; ; {
		next := steep
		if i > 0 {
			next = min(next, slope(lo[i-1], lo[i]))
		}
		if j < len(hi)-1 {
			next = min(next, slope(hi[j], hi[j+1]))
		}
		next = max(next, d)
		before, after := room(d), room(next)
		if before >= -halfTick {
			touch(d)
		}
		if before < 0 && after > 0 || before > 0 && after < 0 {
			corners = append(corners, line{lo[i].at, lo[i].v, slope(lo[i], hi[j])})
		}
		if after >= -halfTick {
			touch(next)
		}
		if d = next; d >= steep {
			break
		}
		for i > 0 && slope(lo[i-1], lo[i]) <= d {
			i--
		}
		for j < len(hi)-1 && slope(hi[j], hi[j+1]) <= d {
			j++
		}
	}
	if len(corners) == 0 {
		return corridor{}, false
	}
	c = corridor{origin: lo[0].at, base: lo[0].v}
	c.pieces = piecesOf(envelopeOf(corners, c.origin, c.base, 1), envelopeOf(corners, c.origin, c.base, -1))
	return c, true
}

// at is the interval of values at an instant, relative to base, and the slope of its middle there.
func (c *corridor) at(t int64) (low, high, drift float64) {
	x := float64(t - c.origin)
	k, end := 0, len(c.pieces)
	for end-k > 1 { // the last that begins before x, or the first
		if mid := (k + end) / 2; c.pieces[mid].from < x {
			k = mid
		} else {
			end = mid
		}
	}
	p := &c.pieces[k]
	high = p.up + float64(p.upSlope*x)
	low = p.down + float64(p.downSlope*x)
	return -low, max(high, -low), (p.upSlope - p.downSlope) / 2
}

// piecesOf are the pieces between an upper envelope and, negated, that of the negatives.
func piecesOf(up, down envelope) []piece {
	var out []piece
	for i, j := 0, 0; ; {
		out = append(out, piece{max(up.from[i], down.from[j]), up.v[i], up.slope[i], down.v[j], down.slope[j]})
		nextUp, nextDown := up.end(i), down.end(j)
		if nextUp == nextDown && math.IsInf(nextUp, 1) {
			return out
		}
		if nextUp <= nextDown {
			i++
		}
		if nextDown <= nextUp {
			j++
		}
	}
}

// chain are the points that a line can touch that keeps all of them on one side: below it with sign 1, above it with sign −1. Ascending.
// Of many points the chain of a few tells most of the others away: what lies on it or inside is no corner of the whole.
func chain(points []point, sign int64) []point {
	const many, oneOf = 256, 32
	if len(points) < many {
		return chainOf(slices.Clone(points), sign)
	}
	few := make([]point, 0, len(points)/oneOf+1)
	for i := 0; i < len(points); i += oneOf {
		few = append(few, points[i])
	}
	if few = chainOf(few, sign); len(few) < 2 {
		return chainOf(slices.Clone(points), sign)
	}
	outer := few[:len(few):len(few)]
	for _, p := range points {
		if p.at >= few[0].at && p.at <= few[len(few)-1].at {
			k, end := 0, len(few)-1
			for end-k > 1 { // the two that it lies between
				if mid := (k + end) / 2; few[mid].at <= p.at {
					k = mid
				} else {
					end = mid
				}
			}
			if turn(few[k], p, few[end])*int(sign) >= 0 {
				continue
			}
		}
		outer = append(outer, p)
	}
	return chainOf(outer, sign)
}

// chainOf is the chain of points, which are put in another order.
func chainOf(points []point, sign int64) []point {
	slices.SortFunc(points, func(x, y point) int {
		if x.at != y.at {
			return cmp.Compare(x.at, y.at)
		}
		return cmp.Compare(sign*y.v, sign*x.v)
	})
	out := points[:0]
	for _, p := range points {
		if n := len(out); n > 0 && out[n-1].at == p.at {
			continue // the tighter of two at one instant came first
		}
		for n := len(out); n > 1 && turn(out[n-2], out[n-1], p)*int(sign) >= 0; n = len(out) {
			out = out[:n-1]
		}
		out = append(out, p)
	}
	return out
}

// turn is the sign of the turn to the left at b on the way from a to c, exactly.
func turn(a, b, c point) int {
	return compareProducts(b.at-a.at, c.v-b.v, c.at-b.at, b.v-a.v)
}

// compareProducts is the sign of a·b − c·d for a, c ≥ 0.
func compareProducts(a, b, c, d int64) int {
	if b < 0 != (d < 0) {
		x, y := a != 0 && b != 0, c != 0 && d != 0
		switch {
		case !x && !y:
			return 0
		case b < 0 && x, d >= 0 && y:
			return -1
		}
		return 1
	}
	xh, xl := bits.Mul64(uint64(a), magnitude(b))
	yh, yl := bits.Mul64(uint64(c), magnitude(d))
	sign := cmp.Or(cmp.Compare(xh, yh), cmp.Compare(xl, yl))
	if b < 0 {
		return -sign
	}
	return sign
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// slope is that of the line through two points of different instants; of the same instant it is without bound.
func slope(a, b point) float64 {
	if a.at == b.at {
		return math.Inf(1)
	}
	return float64(b.v-a.v) / float64(b.at-a.at)
}

// An envelope is the largest of several linear functions: piece k, v[k] + slope[k]·x, from from[k] to from[k+1].
type envelope struct {
	from, v, slope []float64
}

// envelopeOf is the upper envelope of lines, or with sign −1 of their negatives.
func envelopeOf(lines []line, origin, base int64, sign float64) envelope {
	type function struct{ v, slope float64 }
	fs := make([]function, len(lines))
	for k, l := range lines {
		fs[k] = function{sign * (float64(l.v-base) + float64(l.slope*float64(origin-l.at))), sign * l.slope}
	}
	slices.SortFunc(fs, func(x, y function) int { return cmp.Or(cmp.Compare(x.slope, y.slope), cmp.Compare(y.v, x.v)) })
	var e envelope
	for k, f := range fs {
		if k > 0 && f.slope == fs[k-1].slope {
			continue // the larger of two that are parallel came first
		}
		start := math.Inf(-1)
		for n := len(e.from); n > 0; n = len(e.from) {
			start = (e.v[n-1] - f.v) / (f.slope - e.slope[n-1])
			if start > e.from[n-1] {
				break
			}
			e.from, e.v, e.slope = e.from[:n-1], e.v[:n-1], e.slope[:n-1]
			start = math.Inf(-1)
		}
		e.from, e.v, e.slope = append(e.from, start), append(e.v, f.v), append(e.slope, f.slope)
	}
	return e
}

// end is where piece k ends.
func (e *envelope) end(k int) float64 {
	if k+1 == len(e.from) {
		return math.Inf(1)
	}
	return e.from[k+1]
}
