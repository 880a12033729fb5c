package report

import (
	"math"
	"math/bits"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A sum adds integers in 128 bits, so that it neither overflows nor depends on their order (R2.5).
type sum struct {
	hi int64
	lo uint64
}

func (s *sum) add(v int64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, uint64(v), 0)
	s.hi += v>>63 + int64(carry)
}

func (s *sum) merge(o sum) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, o.lo, 0)
	s.hi += o.hi + int64(carry)
}

// int64 is the sum, at most what fits.
func (s sum) int64() int64 {
	switch {
	case s.hi == int64(s.lo)>>63:
		return int64(s.lo)
	case s.hi < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

func (s sum) float() float64 {
	if s.hi == int64(s.lo)>>63 {
		return float64(int64(s.lo))
	}
	return float64(float64(s.hi)*(1<<64)) + float64(s.lo)
}

// over is s/t, unknown when t is 0.
func (s sum) over(t sum) model.OptFloat {
	if t == (sum{}) {
		return model.OptFloat{}
	}
	return model.SomeFloat(s.float() / t.float())
}

// An optSum is the sum of the known ones among numbers, unknown when none was.
type optSum struct {
	sum   sum
	known bool
}

func (s *optSum) add(v model.Opt) {
	if v.OK {
		s.sum.add(v.V)
		s.known = true
	}
}

func (s *optSum) merge(o optSum) {
	s.sum.merge(o.sum)
	s.known = s.known || o.known
}

func (s optSum) opt() model.Opt { return model.Opt{V: s.sum.int64(), OK: s.known} }

// one is how a ratio of 1 is added up (R2.5).
const one = 1 << 32

// fixed is round(x·2³²); ok is false for what is no number, and for what does not fit.
func fixed(x float64) (v int64, ok bool) {
	x = math.Round(x * one)
	if !(math.Abs(x) < 1<<62) {
		return 0, false
	}
	return int64(x), true
}
