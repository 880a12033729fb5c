package report

import (
	"math/big"
	"testing"
)

// The table of R9.2: with one value less there is no upper bound.
func TestNeededN(t *testing.T) {
	for p, want := range map[int64]int64{500: 5, 900: 29, 950: 59, 990: 299, 999: 2995} {
		if have := NeededN(p); have != want {
			t.Errorf("p%d needs %d values, want %d", p, have, want)
		}
		if _, upper := OrderBounds(want, p, Confidence); upper != want {
			t.Errorf("p%d of %d: upper bound at rank %d, want the largest", p, want, upper)
		}
		if _, upper := OrderBounds(want-1, p, Confidence); upper != 0 {
			t.Errorf("p%d of %d: upper bound at rank %d, want none", p, want-1, upper)
		}
	}
}

// By hand, from sums of binomial coefficients. n = 10, p50: P(Bin ≥ 2) = 1013/1024 and P(Bin ≥ 3) = 968/1024 = 0.945, and the same from above.
func TestOrderBoundsByHand(t *testing.T) {
	for _, row := range []struct{ n, p, lower, upper int64 }{
		{0, 500, 0, 0},
		{4, 500, 0, 0}, // P(Bin ≥ 1) = 15/16 = 0.9375
		{5, 500, 1, 5}, // 31/32
		{10, 500, 2, 9},
		{20, 500, 6, 15},  // P(Bin ≥ 6) = 0.9793, P(Bin ≥ 7) = 0.9423
		{20, 900, 16, 0},  // P(Bin ≥ 16) = 0.9568, P(Bin ≥ 17) = 0.8670
		{1, 990, 1, 0},    // P(Bin ≥ 1) = 0.99
		{100, 0, 0, 0},    // not a percentile
		{100, 1000, 0, 0}, // nor this
	} {
		if lower, upper := OrderBounds(row.n, row.p, Confidence); lower != row.lower || upper != row.upper {
			t.Errorf("n %d, p%d: ranks %d and %d, want %d and %d", row.n, row.p, lower, upper, row.lower, row.upper)
		}
	}
}

// The same by exact sums, of terms C(n, k)·p^k·(1000−p)^(n−k) in units of 1000^−n.
func TestOrderBoundsAgainstExactSums(t *testing.T) {
	power := func(x, k int64) *big.Int { return new(big.Int).Exp(big.NewInt(x), big.NewInt(k), nil) }
	for _, p := range []int64{500, 900, 950, 990, 999} {
		for _, n := range []int64{1, 2, 7, 29, 30, 58, 59, 100, 299, 300} {
			// In twentieths: a confidence of 19/20 is reached by what is at least 19·1000^n.
			limit := new(big.Int).Mul(power(1000, n), big.NewInt(19))
			atLeast := func(part *big.Int) bool { return new(big.Int).Mul(part, big.NewInt(20)).Cmp(limit) >= 0 }
			below, lower, upper := new(big.Int), int64(0), int64(0) // below is P(Bin < k)
			for k := int64(1); k <= n; k++ {
				term := new(big.Int).Binomial(n, k-1)
				below.Add(below, term.Mul(term, new(big.Int).Mul(power(p, k-1), power(1000-p, n-k+1))))
				if atLeast(new(big.Int).Sub(power(1000, n), below)) {
					lower = k
				}
				if upper == 0 && atLeast(below) {
					upper = k
				}
			}
			if l, u := OrderBounds(n, p, Confidence); l != lower || u != upper {
				t.Errorf("n %d, p%d: ranks %d and %d, want %d and %d", n, p, l, u, lower, upper)
			}
		}
	}
}

func TestOrderBoundsOfADay(t *testing.T) {
	// n = 1 000 000, p99: the normal approximation gives 990 000 ∓ 1.645·√9900 = 163.7.
	lower, upper := OrderBounds(1_000_000, 990, Confidence)
	if lower < 989_830 || lower > 989_842 || upper < 990_158 || upper > 990_170 {
		t.Errorf("ranks %d and %d", lower, upper)
	}
}
