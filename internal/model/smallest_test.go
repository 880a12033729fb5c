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
