package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// How often is drawn, and from how many blocks (R9.2, R9.3).
const (
	RowDraws   = 2_000
	BlockDraws = 10_000
	MaxBlocks  = 100
)

// Confidence is that of one-sided bounds.
const Confidence = 0.95

// generator is the source of all draws of one statistic.
func generator(seed uint64) *rand.PCG { return rand.NewPCG(seed, 0) }

// RatioBounds are the one-sided 95 % bounds of Σnum/Σden over n rows, by 2 000 draws of n rows with replacement: the values at the nearest
// ranks of 5 % and 95 % (R9.2). Draws in which Σden is 0 count as the lowest for low and as the highest for high. Without rows both are NaN.
func RatioBounds(num, den []float64, seed uint64) (low, high float64) {
	n := len(num)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	g := generator(seed)
	values := make([]float64, 0, RowDraws)
	empty := 0
	for range RowDraws {
		x, y := 0.0, 0.0
		for i := 0; i < n; i += 2 {
			r := g.Uint64() // two rows: n is far below 2³²
			at := (r >> 32) * uint64(n) >> 32
			x, y = x+num[at], y+den[at]
			if i+1 < n {
				at = (r & (1<<32 - 1)) * uint64(n) >> 32
				x, y = x+num[at], y+den[at]
			}
		}
		if y == 0 {
			empty++
			continue
		}
		values = append(values, x/y)
	}
	slices.Sort(values)
	tail := nearestRank(RowDraws, 1-Confidence)
	low, high = math.Inf(-1), math.Inf(1)
	if at := tail - empty; at > 0 {
		low = values[at-1]
	}
	if at := nearestRank(RowDraws, Confidence); at <= len(values) {
		high = values[at-1]
	}
	return low, high
}

// nearestRank is the rank, from 1, of the share p of n values.
func nearestRank(n int, p float64) int { return max(1, int(math.Ceil(p*float64(n)-1e-9))) }

// A Blocked is a statistic of requests that were cut into blocks of time.
type Blocked interface {
	Blocks() int
	// At is the statistic of counts[b] times the requests of each block b, all of which sum to Blocks; NaN where there is none.
	At(counts []int64) float64
}

// blocksOf is how many blocks n requests are cut into; the i-th of them lies in block blockOf(i, n).
func blocksOf(n int) int { return min(n, MaxBlocks) }

func blockOf(i, n int) int { return i * blocksOf(n) / n }

// Whole is the statistic of the requests themselves.
func Whole(b Blocked) float64 {
	counts := make([]int64, b.Blocks())
	for i := range counts {
		counts[i] = 1
	}
	return b.At(counts)
}

// Differences draws blocks with replacement, for each side as many as it has, 10 000 times, and returns how much larger the statistic of
// the current side is than the mean of those of the others (R9.3). NaN where a draw has no statistic.
func Differences(current Blocked, before []Blocked, seed uint64) []float64 {
	return DifferencesOf(BlockDraws, current, before, seed)
}

// DifferencesOf is Differences with so many draws: the least p-value that they can give is 1 / (draws + 1).
func DifferencesOf(draws int, current Blocked, before []Blocked, seed uint64) []float64 {
	g := generator(seed)
	most := current.Blocks()
	for _, b := range before {
		most = max(most, b.Blocks())
	}
	counts := make([]int64, most)
	draw := func(b Blocked) float64 {
		n := b.Blocks()
		c := counts[:n]
		clear(c)
		for i := 0; i < n; i += 2 {
			r := g.Uint64() // two blocks, of at most 100
			c[(r>>32)*uint64(n)>>32]++
			if i+1 < n {
				c[(r&(1<<32-1))*uint64(n)>>32]++
			}
		}
		return b.At(c)
	}
	out := make([]float64, draws)
	for i := range out {
		x, sum := draw(current), 0.0
		for _, b := range before {
			sum += draw(b)
		}
		out[i] = x - sum/float64(len(before))
	}
	return out
}

// Larger is the one-sided p-value of the current side being larger: (1 + draws with a difference ≤ 0) / (draws + 1). Draws without a
// statistic speak against it. Smaller is that of the other direction.
func Larger(differences []float64) float64 {
	n := 1
	for _, d := range differences {
		if !(d > 0) {
			n++
		}
	}
	return float64(n) / float64(len(differences)+1)
}

// Smaller is the one-sided p-value of the current side being smaller; see Larger.
func Smaller(differences []float64) float64 {
	n := 1
	for _, d := range differences {
		if !(d < 0) {
			n++
		}
	}
	return float64(n) / float64(len(differences)+1)
}

// Bounds are the one-sided 95 % bounds of what was drawn, by nearest rank; draws without a statistic are left out. It sorts in place.
func Bounds(draws []float64) (low, high float64) {
	draws = slices.DeleteFunc(draws, math.IsNaN)
	if len(draws) == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(draws)
	return draws[nearestRank(len(draws), 1-Confidence)-1], draws[nearestRank(len(draws), Confidence)-1]
}
