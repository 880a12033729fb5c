package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The n-th smallest value is the n-th of all in order, also where many are the same.
func TestNthSmallest(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, most := range []uint64{1, 3, 1000, 1 << 40, math.MaxUint64} {
		vs := make([]uint64, 500)
		for i := range vs {
			vs[i] = rng.Uint64N(most)
		}
		sorted := slices.Sorted(slices.Values(vs))
		for _, n := range []int{1, 2, 250, 499, 500} {
			if got := NthSmallest(slices.Clone(vs), n); got != sorted[n-1] {
				t.Errorf("below %d: number %d is %d, want %d", most, n, got, sorted[n-1])
			}
		}
	}
}

// The last of the N smallest is that of all, in whatever parts they come.
func TestSmallest(t *testing.T) {
	if _, ok := new(Smallest).Last(); ok {
		t.Error("the zero value knows of a hash")
	}
	rng := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{0, 5, 99, 100, 101, 126, 5000} {
		for _, most := range []uint64{1, 50, math.MaxUint64} {
			a, b := Smallest{N: 100}, Smallest{N: 100}
			var all []uint64
			for range n {
				h := rng.Uint64N(most)
				if all = append(all, h); h%3 == 0 {
					a.Add(h)
				} else {
					b.Add(h)
				}
			}
			a.Merge(&b)
			slices.Sort(all)
			if last, ok := a.Last(); ok != (n >= 100) || ok && last != all[99] {
				t.Errorf("%d hashes below %d: %d %v", n, most, last, ok)
			}
		}
	}
}
