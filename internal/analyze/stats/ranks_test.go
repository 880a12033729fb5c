package stats

import (
	"math"
	"testing"
)

// By hand: 1 … 8 against 9 … 16 has U = 0 where 32 are expected, with a variance of 8·8·17/12 = 90.67: z = 31.5/9.522 = 3.308, p = 0.00094.
func TestMannWhitney(t *testing.T) {
	count := func(from, n int) (out []float64) {
		for i := range n {
			out = append(out, float64(from+i))
		}
		return
	}
	near(t, "apart", MannWhitney(count(1, 8), count(9, 8)), 0.00094, 2e-5)
	near(t, "the other way round", MannWhitney(count(9, 8), count(1, 8)), 0.00094, 2e-5)
	near(t, "the same", MannWhitney(count(1, 8), count(1, 8)), 1, 0)
	near(t, "all equal", MannWhitney(make([]float64, 9), make([]float64, 9)), 1, 0)
	if p := MannWhitney(count(1, 7), count(1, 8)); !math.IsNaN(p) {
		t.Errorf("of seven values: %v", p)
	}
	// ties: 10 zeros and 10 ones against 5 zeros and 15 ones; U = 150 where 200 are expected. The variance is 400/12·(41 − (15³−15 + 25³−25)/(40·39))
	// = 961.5: z = 49.5/31.01 = 1.596, p = 0.1104
	a, b := make([]float64, 20), make([]float64, 20)
	for i := range 10 {
		a[i] = 1
	}
	for i := range 15 {
		b[i] = 1
	}
	near(t, "ties", MannWhitney(a, b), 0.1104, 5e-4)
}
