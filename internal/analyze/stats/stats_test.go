package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(t *testing.T, what string, have, want, within float64) {
	t.Helper()
	if !(math.Abs(have-want) <= within) {
		t.Errorf("%s: have %v, want %v", what, have, want)
	}
}

// The t table of any textbook, to its last digit.
func TestStudentTail(t *testing.T) {
	for _, c := range []struct {
		t    float64
		df   int
		want float64
	}{
		{6.314, 1, 0.05}, {2.920, 2, 0.05}, {2.353, 3, 0.05}, {2.015, 5, 0.05}, {3.365, 5, 0.01}, {1.833, 9, 0.05}, {0, 4, 0.5}, {-2.015, 5, 0.95},
	} {
		near(t, "tail", StudentTail(c.t, c.df), c.want, 5e-5)
	}
	near(t, "infinite", StudentTail(math.Inf(1), 3), 0, 0)
	near(t, "minus infinite", StudentTail(math.Inf(-1), 3), 1, 0)
}

// R9.3 by hand: of 10, 12, 14 the mean is 12 and s 2; t of 16 is 4 / (2·√(4/3)) = √3, and with two degrees of freedom the tail is
// (1 − t/√(2 + t²)) / 2 = (1 − √(3/5)) / 2.
func TestExceeds(t *testing.T) {
	near(t, "16 over 10, 12, 14", Exceeds(16, []float64{10, 12, 14}), (1-math.Sqrt(0.6))/2, 1e-12)
	near(t, "8 over 10, 12, 14", Exceeds(8, []float64{10, 12, 14}), (1+math.Sqrt(0.6))/2, 1e-12)
	near(t, "the mean", Exceeds(12, []float64{10, 12, 14}), 0.5, 1e-12)
	near(t, "above equal values", Exceeds(12.5, []float64{12, 12, 12}), 0, 0)
	near(t, "one of equal values", Exceeds(12, []float64{12, 12, 12}), 1, 0)
}

func TestChiSquareTail(t *testing.T) {
	for _, c := range []struct {
		x    float64
		df   int
		want float64
	}{{3.841, 1, 0.05}, {5.991, 2, 0.05}, {11.070, 5, 0.05}, {0, 3, 1}, {7, 0, 1}} {
		near(t, "tail", ChiSquareTail(c.x, c.df), c.want, 5e-5)
	}
}

// 30 of 100 against 50 of 100: 40 and 60 are expected of 100 each, χ² = 2·(10²/40 + 10²/60) = 8.333 with one degree of freedom.
func TestHomogeneous(t *testing.T) {
	near(t, "30 and 50 of 100", Homogeneous([]int64{30, 70}, []int64{50, 50}), ChiSquareTail(25./3, 1), 1e-12)
	near(t, "the same shares", Homogeneous([]int64{30, 70}, []int64{300, 700}), 1, 0)
	near(t, "one class", Homogeneous([]int64{30, 0}, []int64{50, 0}), 1, 0)
	near(t, "nothing", Homogeneous([]int64{0, 0}, []int64{50, 0}), 1, 0)
	// 4 + 4 and 1 + 1 would be expected too seldom: they are one class of 5 + 5
	near(t, "rare classes together", Homogeneous([]int64{90, 8, 0, 2}, []int64{90, 0, 8, 2}), 1, 0)
}

// The example of any text on it: 0.005 ≤ 0.05/4 and 0.01 ≤ 0.05/3 are rejected, 0.03 > 0.05/2 is not, and so 0.04 is not either.
func TestHolm(t *testing.T) {
	have := Holm([]float64{0.01, 0.04, 0.03, 0.005}, 0.05)
	want := []Step{{0.05 / 3, true}, {0.05, false}, {0.05 / 2, false}, {0.05 / 4, true}}
	if !slices.Equal(have, want) {
		t.Errorf("have %v, want %v", have, want)
	}
	if got := Holm([]float64{0.0125, 0.0125, 0.0125, 0.0125}, 0.05); slices.ContainsFunc(got, func(s Step) bool { return !s.Rejected }) {
		t.Errorf("four at α/4: %v", got)
	}
	if got := Holm(nil, 0.05); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// The percentile of a draw is that of the values written out as often as they were drawn.
func TestPercentileOfDraws(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + rnd.IntN(700)
		values := make([]Value, n)
		for i := range values {
			values[i] = Value{rnd.Int64N(200), 1 + rnd.Int64N(3)}
		}
		p := []int64{500, 900, 950, 990, 999}[rnd.IntN(5)]
		s := NewPercentile(p, values)
		counts := make([]int64, s.Blocks())
		for range counts {
			counts[rnd.IntN(len(counts))]++
		}
		var all []int64
		for i, v := range values {
			for range counts[i*len(counts)/n] * v.Weight {
				all = append(all, v.V)
			}
		}
		slices.Sort(all)
		rank := (p*int64(len(all)) + 999) / 1000
		if have, want := s.At(counts), float64(all[max(rank, 1)-1]); have != want {
			t.Fatalf("p%d of %d values in %d blocks: have %v, want %v", p, n, len(counts), have, want)
		}
	}
	if v := Whole(NewPercentile(950, nil)); v == v {
		t.Errorf("a percentile of nothing is %v", v)
	}
	// R9.3: 250 requests lie in 100 blocks of two or three
	if b := NewPercentile(500, make([]Value, 250)).Blocks(); b != 100 {
		t.Errorf("%d blocks", b)
	}
	if b := NewPercentile(500, make([]Value, 7)).Blocks(); b != 7 {
		t.Errorf("%d blocks of 7", b)
	}
}

func TestRatioOfDraws(t *testing.T) {
	r := NewRatio([]Pair{{1, 2}, {3, 4}, {0, 10}})
	near(t, "whole", Whole(r), 4./16, 0)
	near(t, "a draw", r.At([]int64{2, 1, 0}), 5./8, 0)
	if v := r.At([]int64{0, 0, 0}); v == v {
		t.Errorf("a ratio of nothing is %v", v)
	}
}

// Two of a hundred values: the chance that a draw of 100 has none of them is 0.98^100 = 0.13, so the lower bound is 0; and the normal
// approximation of half of 400 is 0.5 ± 1.645·0.025.
func TestRatioBounds(t *testing.T) {
	ones := func(n, k int) (num, den []float64) {
		num, den = make([]float64, n), make([]float64, n)
		for i := range den {
			den[i] = 1
			if i < k {
				num[i] = 1
			}
		}
		return
	}
	num, den := ones(100, 2)
	low, high := RatioBounds(num, den, 7)
	near(t, "low of 2 in 100", low, 0, 0)
	near(t, "high of 2 in 100", high, 0.045, 0.006) // P(≤ 4) is 0.949
	num, den = ones(400, 200)
	low, high = RatioBounds(num, den, 7)
	near(t, "low of half", low, 0.4589, 0.005)
	near(t, "high of half", high, 0.5411, 0.005)
	if again, _ := RatioBounds(num, den, 7); again != low {
		t.Errorf("again %v, before %v", again, low)
	}
	low, high = RatioBounds([]float64{3}, []float64{4}, 1)
	near(t, "low of one row", low, 0.75, 0)
	near(t, "high of one row", high, 0.75, 0)
	low, high = RatioBounds([]float64{0}, []float64{0}, 1)
	if !math.IsInf(low, -1) || !math.IsInf(high, 1) {
		t.Errorf("of 0/0: %v, %v", low, high)
	}
	if low, _ := RatioBounds(nil, nil, 1); low == low {
		t.Errorf("of nothing: %v", low)
	}
}

// R9.3: p counts the draws that are not larger, and itself: never 0, 1 when no draw is.
func TestLarger(t *testing.T) {
	near(t, "one of four", Larger([]float64{1, 2, 3, 0}), 2./5, 0)
	near(t, "all", Larger([]float64{1, 2, 3, 4}), 1./5, 0)
	near(t, "unknown ones count against it", Larger([]float64{1, math.NaN()}), 2./3, 0)
	near(t, "smaller", Smaller([]float64{-1, 2, 3, 0}), 4./5, 0)
}

// A draw takes blocks, so requests of one block come together: with one block of slow requests among 100 the share of draws without it is
// (99/100)^100 = 0.366, and p99 is slow in the others.
func TestDifferencesDrawBlocks(t *testing.T) {
	slow, flat := make([]Value, 5000), make([]Value, 5000)
	for i := range slow {
		slow[i], flat[i] = Value{10, 1}, Value{10, 1}
	}
	for i := range 50 { // the first block
		slow[i].V = 20
	}
	d := Differences(NewPercentile(999, slow), []Blocked{NewPercentile(999, flat)}, 3)
	if len(d) != BlockDraws {
		t.Fatalf("%d draws", len(d))
	}
	near(t, "p", Larger(d), 0.366, 0.015)
	low, high := Bounds(d)
	near(t, "low", low, 0, 0)
	near(t, "high", high, 10, 0)
	// against the mean of several baselines
	d = Differences(NewPercentile(500, slow), []Blocked{NewPercentile(500, flat), NewPercentile(500, []Value{{40, 1}})}, 3)
	near(t, "against the mean", d[0], 10-25, 0)
}

func BenchmarkDifferences(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	values := make([]Value, 30_000)
	for i := range values {
		values[i] = Value{rnd.Int64N(1e9), 1}
	}
	x, y := NewPercentile(950, values), NewPercentile(950, values)
	b.ReportAllocs()
	for b.Loop() {
		Differences(x, []Blocked{y}, 1)
	}
}

func BenchmarkRatioBounds(b *testing.B) {
	num, den := make([]float64, 30_000), make([]float64, 30_000)
	for i := range num {
		num[i], den[i] = float64(i%7), float64(1+i%11)
	}
	for b.Loop() {
		RatioBounds(num, den, 1)
	}
}

func BenchmarkDifferencesOfFew(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	values := make([]Value, 500)
	for i := range values {
		values[i] = Value{rnd.Int64N(1e9), 1}
	}
	for _, p := range []int64{500, 950} {
		b.Run(fmt.Sprint("p", p), func(b *testing.B) {
			x, y := NewPercentile(p, values), NewPercentile(p, values)
			for b.Loop() {
				Differences(x, []Blocked{y}, 1)
			}
		})
	}
}
