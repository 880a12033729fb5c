package stats

import (
	"math"
	"slices"
)

// MannWhitney is the two-sided p-value of two samples having one distribution, by the normal approximation with ties and continuity corrected.
// It looks at the whole of both, where a percentile looks at one place. Fewer than eight values on a side say nothing: NaN. It sorts both.
func MannWhitney(a, b []float64) float64 {
	n, m := float64(len(a)), float64(len(b))
	if min(len(a), len(b)) < 8 {
		return math.NaN()
	}
	slices.Sort(a)
	slices.Sort(b)
	rankSum, ties := 0.0, 0.0
	for i, j := 0, 0; i < len(a) || j < len(b); {
		v := math.Inf(1)
		if i < len(a) {
			v = a[i]
		}
		if j < len(b) {
			v = min(v, b[j])
		}
		i0, j0 := i, j
		for i < len(a) && a[i] == v {
			i++
		}
		for j < len(b) && b[j] == v {
			j++
		}
		t := float64(i - i0 + j - j0)
		rankSum += float64(float64(i-i0) * (float64(i0+j0) + (t+1)/2)) // all values that are equal have their middle rank
		ties += float64(t*t*t) - t
	}
	u := rankSum - n*(n+1)/2
	all := n + m
	variance := n * m / 12 * (all + 1 - ties/(all*(all-1)))
	d := math.Abs(u-n*m/2) - 0.5
	if variance <= 0 || d <= 0 {
		return 1
	}
	return math.Erfc(d / math.Sqrt(2*variance))
}
