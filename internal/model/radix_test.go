package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSortInts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, value := range map[string]func() int64{
		"all alike":     func() int64 { return 7 },
		"one digit":     func() int64 { return rnd.Int64N(2000) },
		"durations":     func() int64 { return rnd.Int64N(5_000_000_000) },
		"around zero":   func() int64 { return rnd.Int64N(1000) - 500 },
		"every integer": func() int64 { return int64(rnd.Uint64()) },
		"extremes":      func() int64 { return []int64{math.MinInt64, -1, 0, math.MaxInt64}[rnd.IntN(4)] },
	} {
		for _, n := range []int{0, 1, radixMin - 1, radixMin, 3*radixMin + 1} {
			have := make([]int64, n)
			for i := range have {
				have[i] = value()
			}
			want := slices.Sorted(slices.Values(have))
			if sortInts(have); !slices.Equal(have, want) {
				t.Errorf("%d values, %s: not in order", n, name)
			}
		}
	}
}

func BenchmarkSortInts(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	values, work := make([]int64, 1<<20), make([]int64, 1<<20)
	for i := range values {
		values[i] = rnd.Int64N(2_000_000_000)
	}
	for name, sort := range map[string]func([]int64){"radix": sortInts[int64], "compare": slices.Sort[[]int64]} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				copy(work, values)
				sort(work)
			}
			if !slices.IsSorted(work) {
				b.Fatal("not in order")
			}
		})
	}
}
