package stats

import (
	"cmp"
	"math"
	"slices"
)

// A Value is the number of one request; Weight says how many requests it stands for, in any unit, and is over 0.
type Value struct{ V, Weight int64 }

// step is how many values lie between two of the prepared sums of a Percentile; a percentile that lies fewer than nearEnd values from the end is
// counted from there.
const (
	step    = 64
	nearEnd = 96
)

// A Percentile is the nearest-rank percentile of values in blocks. A draw costs a search: per step values the weights of the blocks before
// them are added up once.
type Percentile struct {
	p      int64
	blocks int
	values []placed // ascending
	each   int64    // the weight of every block, 0 where they differ
	sums   []int64  // of row r: the weights of each block among the first r·step values; the last row is of all
}

type placed struct {
	v, weight int64
	block     int32
}

// NewPercentile is the percentile at p thousandths of values in order of time (start, id); they are cut into min(n, 100) blocks of equal
// count (R9.3).
func NewPercentile(p int64, values []Value) *Percentile {
	n := len(values)
	s := &Percentile{p: p, blocks: blocksOf(n), values: make([]placed, n)}
	for i, v := range values {
		s.values[i] = placed{v.V, v.Weight, int32(blockOf(i, n))}
	}
	slices.SortFunc(s.values, func(a, b placed) int { return cmp.Or(cmp.Compare(a.v, b.v), cmp.Compare(a.block, b.block)) })
	sum := make([]int64, s.blocks)
	for i, v := range s.values {
		if i%step == 0 {
			s.sums = append(s.sums, sum...)
		}
		sum[v.block] += v.weight
	}
	s.sums = append(s.sums, sum...)
	if n > 0 && slices.Min(sum) == slices.Max(sum) {
		s.each = sum[0]
	}
	return s
}

// Blocks is how many blocks there are.
func (s *Percentile) Blocks() int { return s.blocks }

// At is the percentile of counts[b] times the values of each block b, all of which sum to Blocks: the smallest value with at least that share of
// all weight at or below.
func (s *Percentile) At(counts []int64) float64 {
	rows := (len(s.values) + step - 1) / step // the row of all comes after them
	total := s.each * int64(s.blocks)
	if total == 0 {
		total = s.sum(rows, counts)
	}
	if total == 0 {
		return math.NaN()
	}
	want := max(1, total/1000*s.p+(total%1000*s.p+999)/1000)
	if len(s.values)*int(1000-s.p)/1000 < nearEnd {
		return s.fromEnd(counts, total-want)
	}
	// The sum of row lo is below want, that of hi is not. Most draws are nearEnd to where the percentile of all values lies.
	lo, hi := 0, rows
	for at, by := int(int64(rows)*s.p/1000), 1; lo < at && at < hi; by *= 2 {
		if s.sum(at, counts) < want {
			lo, at = at, at+by
		} else {
			hi, at = at, at-by
		}
	}
	for hi-lo > 1 {
		if m := (lo + hi) / 2; s.sum(m, counts) < want {
			lo = m
		} else {
			hi = m
		}
	}
	sum := s.sum(lo, counts)
	for i := lo * step; ; i++ {
		v := &s.values[i]
		if sum += v.weight * counts[v.block]; sum >= want {
			return float64(v.v)
		}
	}
}

// fromEnd is the smallest value with no more than a weight above it.
func (s *Percentile) fromEnd(counts []int64, above int64) float64 {
	sum, i := int64(0), len(s.values)
	for sum <= above {
		i--
		v := &s.values[i]
		sum += v.weight * counts[v.block]
	}
	return float64(s.values[i].v)
}

func (s *Percentile) sum(row int, counts []int64) int64 {
	t, of := int64(0), s.sums[row*s.blocks:][:len(counts)]
	for b, n := range counts {
		t += n * of[b]
	}
	return t
}

// A Ratio is Σnum/Σden of rows in blocks.
type Ratio struct{ num, den []float64 } // of each block

// A Pair is the part of one request in a ratio.
type Pair struct{ Num, Den float64 }

// NewRatio is the ratio of rows in order of time (start, id), cut into blocks as those of NewPercentile.
func NewRatio(rows []Pair) *Ratio {
	n := len(rows)
	r := &Ratio{make([]float64, blocksOf(n)), make([]float64, blocksOf(n))}
	for i, row := range rows {
		b := blockOf(i, n)
		r.num[b] += row.Num
		r.den[b] += row.Den
	}
	return r
}

// Blocks is how many blocks there are.
func (r *Ratio) Blocks() int { return len(r.num) }

// At is the ratio of counts[b] times each block b.
func (r *Ratio) At(counts []int64) float64 {
	x, y := 0.0, 0.0
	for b, n := range counts {
		x += float64(float64(n) * r.num[b])
		y += float64(float64(n) * r.den[b])
	}
	if y == 0 {
		return math.NaN()
	}
	return x / y
}
