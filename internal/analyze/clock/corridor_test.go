package clock

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// slowCorridor is the interval at t by trying every line through two bounds, and every steepest line through one.
func slowCorridor(lows, highs []point, steep float64, t int64) (low, high float64, ok bool) {
	all := append(append([]point{}, lows...), highs...)
	try := func(p point, d float64) {
		if math.Abs(d) > steep*(1+1e-12) {
			return
		}
		at := func(x int64) float64 { return float64(p.v) + d*float64(x-p.at) }
		const slack = 1e-3
		for _, q := range lows {
			if at(q.at) < float64(q.v)-slack {
				return
			}
		}
		for _, q := range highs {
			if at(q.at) > float64(q.v)+slack {
				return
			}
		}
		if !ok {
			low, high, ok = at(t), at(t), true
		}
		low, high = min(low, at(t)), max(high, at(t))
	}
	for i, p := range all {
		try(p, steep)
		try(p, -steep)
		for _, q := range all[:i] {
			if p.at != q.at {
				try(p, float64(p.v-q.v)/float64(p.at-q.at))
			}
		}
	}
	return low, high, ok
}

func TestCorridorAgainstEveryLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	feasible, not := 0, 0
	for round := range 3000 {
		offset, drift := rng.Int64N(1e9)-5e8, (rng.Float64()*2-1)*1.2e-3
		n, span := 1+rng.IntN(12), int64(1+rng.IntN(1_000_000))*int64([]int{1, 1000, 1_000_000}[rng.IntN(3)])
		exact := func(x int64) int64 { return offset + int64(drift*float64(x)) }
		var lows, highs []point
		for range n {
			x, y := rng.Int64N(span), rng.Int64N(span)
			lows = append(lows, point{x, exact(x) - rng.Int64N(1000)})
			highs = append(highs, point{y, exact(y) + rng.Int64N(1000)})
			if rng.IntN(30) == 0 {
				highs[len(highs)-1].v -= 1500
			}
		}
		c, ok := newCorridor(lows, highs, steepest)
		for _, x := range []int64{0, span / 2, span, -span, 3 * span, lows[0].at} {
			low, high, want := slowCorridor(lows, highs, steepest, x)
			if ok != want && !want {
				// A line that misses by half a tick is taken, and slowCorridor is stricter: moved apart by a tick they must agree.
				if _, _, want = slowCorridor(moved(lows, -1), moved(highs, 1), steepest, x); want {
					continue
				}
			}
			if ok != want {
				t.Fatalf("round %d: feasible is %v, want %v; lows %v highs %v", round, ok, want, lows, highs)
			}
			if !ok {
				not++
				continue
			}
			feasible++
			l, h, _ := c.at(x)
			l, h = l+float64(c.base), h+float64(c.base)
			near := 2 + 1e-9*math.Abs(high) // half a tick of room, seen from afar
			if far := math.Abs(float64(x)) > float64(span); far {
				near += 10
			}
			if math.Abs(l-low) > near || math.Abs(h-high) > near {
				t.Fatalf("round %d at %d of %d: [%.3f, %.3f], want [%.3f, %.3f]; lows %v highs %v", round, x, span, l, h, low, high, lows, highs)
			}
		}
	}
	if feasible < 5000 || not < 500 {
		t.Errorf("%d feasible, %d not: the cases are lopsided", feasible, not)
	}
}

func moved(points []point, by int64) []point {
	out := slices.Clone(points)
	for i := range out {
		out[i].v += by
	}
	return out
}

func TestCorridorByHand(t *testing.T) {
	for _, c := range []struct {
		name        string
		lows, highs []point
		steep       float64
		at          int64
		low, high   float64
		ok          bool
	}{
		{"one of each at one instant: the steepest lines open it", []point{{0, -10}}, []point{{0, 10}}, steepest, 10_000, -20, 20, true},
		{"no drift allowed", []point{{0, -10}, {100, -5}}, []point{{0, 10}, {50, 7}}, 0, 1_000_000, -5, 7, true},
		// The lines between (0, 0) … (0, 10) and (10⁶, 0) … (10⁶, 10) fan out to −10 … 20 twice as far away.
		{"it fans out past its bounds", []point{{0, 0}, {1e6, 0}}, []point{{0, 10}, {1e6, 10}}, steepest, 2e6, -10, 20, true},
		{"and is as narrow as they are between them", []point{{0, 0}, {1e6, 0}}, []point{{0, 10}, {1e6, 10}}, steepest, 5e5, 0, 10, true},
		{"a clock that drifts 20 ppm and two exact pairs", []point{{0, 5}, {1e9, 20_005}}, []point{{0, 5}, {1e9, 20_005}}, steepest, 5e8, 10_005, 10_005, true},
		{"contradiction", []point{{0, 1}}, []point{{0, -1}}, steepest, 0, 0, 0, false},
		{"a step of 1 ms in 10 ms is no drift", []point{{0, 0}, {1e7, 1e6}}, []point{{0, 10}, {1e7, 1e6 + 10}}, steepest, 0, 0, 0, false},
		{"one side alone bounds nothing", []point{{0, 1}, {5, 2}}, nil, steepest, 0, 0, 0, false},
	} {
		got, ok := newCorridor(c.lows, c.highs, c.steep)
		if ok != c.ok {
			t.Errorf("%s: ok is %v", c.name, ok)
			continue
		}
		if !ok {
			continue
		}
		low, high, _ := got.at(c.at)
		low, high = low+float64(got.base), high+float64(got.base)
		if math.Abs(low-c.low) > 0.01 || math.Abs(high-c.high) > 0.01 {
			t.Errorf("%s: [%v, %v], want [%v, %v]", c.name, low, high, c.low, c.high)
		}
	}
}

func TestCompareProducts(t *testing.T) {
	big := int64(1) << 62
	for _, c := range []struct {
		a, b, c, d int64
		want       int
	}{
		{2, 3, 6, 1, 0}, {2, 3, 5, 1, 1}, {2, -3, 5, -1, -1}, {2, -3, 6, -1, 0}, {0, -3, 5, 0, 0}, {0, -3, 5, 1, -1}, {1, -3, 0, 7, -1}, {1, 3, 1, -3, 1},
		{0, 3, 1, -3, 1}, {0, 3, 0, -3, 0}, {big, big, big, big - 1, 1}, {big, -big, big, -big + 1, -1}, {big, big - 1, big - 1, big, 0},
	} {
		if got := compareProducts(c.a, c.b, c.c, c.d); got != c.want {
			t.Errorf("%d·%d against %d·%d: %d, want %d", c.a, c.b, c.c, c.d, got, c.want)
		}
	}
}

// The chain of many points is that of all of them put in order, whether they lie anyhow, on few instants, on a line or on a bow.
func TestChainOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, c := range []struct {
		name  string
		point func(i int) point
	}{
		{"anyhow", func(int) point { return point{rng.Int64N(1e12), rng.Int64N(1e6)} }},
		{"few instants", func(int) point { return point{rng.Int64N(5), rng.Int64N(100)} }},
		{"one instant", func(int) point { return point{3, rng.Int64N(100)} }},
		{"a line", func(i int) point { return point{int64(i) * 10, int64(i) * 7} }},
		{"a bow", func(i int) point { return point{int64(i), int64(i) * int64(i-3000)} }},
		{"a bow on its head", func(i int) point { return point{int64(i), -int64(i) * int64(i-3000)} }},
	} {
		points := make([]point, 3000)
		for i := range points {
			points[i] = c.point(i)
		}
		rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		for _, sign := range []int64{1, -1} {
			before := slices.Clone(points)
			if got, want := chain(points, sign), chainOf(slices.Clone(points), sign); !slices.Equal(got, want) {
				t.Errorf("%s, sign %d: %d points, want %d", c.name, sign, len(got), len(want))
			}
			if !slices.Equal(points, before) {
				t.Errorf("%s: the points have moved", c.name)
			}
		}
	}
}
