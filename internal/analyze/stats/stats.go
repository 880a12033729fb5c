// Package stats holds the statistics that decide whether something got worse (R8.5, R9.2, R9.3): tails of distributions, Holm's procedure,
// and bootstraps over requests and over blocks of requests.
//
// Everything here is a function of its arguments: draws come from PCG generators whose seeds are given, and floats are only added in a fixed
// order, so that a verdict is the same on every machine and for any number of workers.
package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// StudentTail is P(T > t) of Student's distribution with df degrees of freedom.
func StudentTail(t float64, df int) float64 {
	switch {
	case math.IsNaN(t) || df < 1:
		return math.NaN()
	case math.IsInf(t, 1):
		return 0
	case math.IsInf(t, -1):
		return 1
	}
	v := float64(df)
	half := mathext.RegIncBeta(v/2, 0.5, v/(v+t*t)) / 2
	if t < 0 {
		return 1 - half
	}
	return half
}

// Exceeds is the one-sided p-value of one more value x being larger than k values of the same kind are (R9.3):
// t = (x − mean) / (s·√(1 + 1/k)) with k − 1 degrees of freedom. It takes two values or more. Values that do not differ at all leave no
// doubt: 0 when x is above them, otherwise 1.
func Exceeds(x float64, values []float64) float64 {
	k := float64(len(values))
	mean := Mean(values)
	ss := 0.0
	for _, v := range values {
		d := v - mean
		ss += float64(d * d)
	}
	s := math.Sqrt(ss / (k - 1))
	if s == 0 {
		if x > mean {
			return 0
		}
		return 1
	}
	return StudentTail((x-mean)/(s*math.Sqrt(1+1/k)), len(values)-1)
}

// Mean is the arithmetic mean.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// ChiSquareTail is P(X > x) of the χ² distribution with df degrees of freedom.
func ChiSquareTail(x float64, df int) float64 {
	if df < 1 || x <= 0 {
		return 1
	}
	return mathext.GammaIncRegComp(float64(df)/2, x/2)
}

// Homogeneous is the p-value of two rows of counts being draws from the same shares (Pearson's χ² test). Classes of which fewer than five
// would be expected in the smaller row are put together; with one class left nothing speaks against it: 1.
func Homogeneous(a, b []int64) float64 {
	var na, nb int64
	for i := range a {
		na, nb = na+a[i], nb+b[i]
	}
	if na == 0 || nb == 0 {
		return 1
	}
	share := float64(min(na, nb)) / float64(na+nb)
	var restA, restB float64
	x, classes := 0.0, 0
	add := func(ca, cb float64) {
		both := ca + cb
		ea, eb := both*float64(na)/float64(na+nb), both*float64(nb)/float64(na+nb)
		x += float64((ca-ea)*(ca-ea))/ea + float64((cb-eb)*(cb-eb))/eb
		classes++
	}
	for i := range a {
		ca, cb := float64(a[i]), float64(b[i])
		switch {
		case ca+cb == 0:
		case (ca+cb)*share < 5:
			restA, restB = restA+ca, restB+cb
		default:
			add(ca, cb)
		}
	}
	if restA+restB > 0 {
		add(restA, restB)
	}
	return ChiSquareTail(x, classes-1)
}

// A Step is what Holm's procedure says of one p-value.
type Step struct {
	Limit    float64 // what the p-value had to be at most: α / (how many are not smaller)
	Rejected bool    // its hypothesis is: it is small enough, and all smaller ones are
}

// Holm goes through p-values from the smallest up (ties in the order given) and rejects while the i-th of m is at most α / (m − i + 1), so
// that the chance of any wrong rejection is at most α however the p-values depend on one another (R9.3).
func Holm(p []float64, alpha float64) []Step {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	steps, going := make([]Step, len(p)), true
	for i, at := range order {
		limit := alpha / float64(len(p)-i)
		going = going && p[at] <= limit
		steps[at] = Step{limit, going}
	}
	return steps
}
