package report

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Confidence is that of the one-sided bounds of a percentile (R9.2).
const Confidence = 0.95

// OrderBounds gives the ranks, from 1, of the values of n in ascending order that bound the true percentile at p thousandths, each with
// the given one-sided confidence (R8.5). The value at rank lower is at most the percentile: lower is the largest k with
// P(Bin(n, p) ≥ k) ≥ confidence. The value at rank upper is at least the percentile: upper is the smallest k with
// P(Bin(n, p) < k) ≥ confidence. A rank of 0 says that n is too small for that bound.
func OrderBounds(n, p int64, confidence float64) (lower, upper int64) {
	if n <= 0 || p <= 0 || p >= 1000 {
		return 0, 0
	}
	x := float64(p) / 1000
	// atLeast is P(Bin(n, x) ≥ k), which falls with k.
	atLeast := func(k int64) float64 {
		switch {
		case k <= 0:
			return 1
		case k > n:
			return 0
		}
		return mathext.RegIncBeta(float64(k), float64(n-k+1), x)
	}
	lo, hi := int64(0), n+1 // atLeast(lo) ≥ confidence > atLeast(hi)
	for hi-lo > 1 {
		if k := lo + (hi-lo)/2; atLeast(k) >= confidence {
			lo = k
		} else {
			hi = k
		}
	}
	lower = lo
	if least := 1 - atLeast(n); least < confidence {
		return lower, 0
	}
	lo, hi = 0, n // P(Bin < hi) ≥ confidence
	for hi-lo > 1 {
		if k := lo + (hi-lo)/2; 1-atLeast(k) >= confidence {
			hi = k
		} else {
			lo = k
		}
	}
	return lower, hi
}

// NeededN is the least number of values whose largest bounds a percentile from above with the confidence of R9.2: p50 5, p90 29, p95 59,
// p99 299, p99.9 2995.
func NeededN(p int64) int64 {
	return int64(math.Ceil(math.Log(1-Confidence) / math.Log(float64(p)/1000)))
}
