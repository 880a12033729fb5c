package model

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"math/bits"
)

// How many values a Series keeps exactly (R8.3).
const (
	SeriesLimit      = 1 << 20 // in a run
	SavedSeriesLimit = 8192    // in a saved report
)

// A Series is a multiset of integers (ns, tokens, ppm of a ratio) of which percentiles are wanted. It is exact up to its limit, above that a
// Histogram, with exact n, total, min and max all the same. What it answers depends on the values and the limit alone, never on the order of
// Add and Merge. The zero value is empty and has SeriesLimit. Not safe for concurrent use, reading included: it adds up and sorts when first asked.
type Series struct {
	limit    int     // 0: SeriesLimit
	values   numbers // while exact; there is no room for more than the limit
	away     *away   // values in a spool; nil: none
	counted  int64   // how many are in what follows: all of a histogram; those elsewhere and the first ones of values
	sum      int128
	min, max int64
	unsorted bool
	hist     *Histogram // above the limit
}

// NewSeries returns an empty series that is exact up to limit values.
func NewSeries(limit int) *Series { return &Series{limit: limit} }

func (s *Series) bound() int64 {
	if s.limit == 0 {
		return SeriesLimit
	}
	return int64(s.limit)
}

// Add adds a value.
func (s *Series) Add(v int64) {
	if !s.values.push(v) {
		s.add(v, 1)
	}
}

// AddN adds a value n times.
func (s *Series) AddN(v, n int64) {
	switch {
	case n == 1:
		s.Add(v)
	case n > 1:
		s.add(v, n)
	}
}

func (s *Series) add(v, n int64) {
	s.Release()
	if s.fit(n, v); s.hist != nil {
		s.addHist(v, n)
		return
	}
	for ; n > 0; n-- {
		s.values.push(v)
	}
}

// fit makes room for n more values like v, or the histogram they go to.
func (s *Series) fit(n, v int64) {
	if s.hist != nil {
		return
	}
	have, bound := int64(s.values.len()), s.bound()-s.elsewhere()
	switch {
	case n > bound-have:
		s.toHistogram()
	case !s.values.fits(int(n), v):
		more := have
		if have >= manyValues {
			more /= 4
		}
		s.values.room(int(min(max(have+more, have+n, 4), bound)), v)
	}
}

// manyValues is from when on a series grows by a quarter instead of doubling.
const manyValues = 1 << 16

func (s *Series) addHist(v, n int64) {
	s.cover(v, v)
	s.counted += n
	s.sum.addProduct(v, n)
	s.hist.Add(v, n)
}

// cover widens min and max.
func (s *Series) cover(lo, hi int64) {
	if s.counted == 0 {
		s.min, s.max = lo, hi
	}
	s.min, s.max = min(s.min, lo), max(s.max, hi)
}

// count adds up the values that were not yet.
func (s *Series) count() {
	n := s.N()
	if s.hist != nil || s.counted == n {
		return
	}
	begin := int(s.counted - s.elsewhere())
	first := s.values.at(begin)
	before := s.values.at(max(begin-1, 0))
	s.cover(first, first)
	for i := begin; i < s.values.len(); i++ {
		v := s.values.at(i)
		s.min, s.max = min(s.min, v), max(s.max, v)
		s.sum.add(int128{v >> 63, uint64(v)})
		s.unsorted = s.unsorted || v < before
		before = v
	}
	s.counted = n
}

func (s *Series) toHistogram() {
	s.count()
	h := &Histogram{}
	s.each(func(v int64) { h.Add(v, 1) })
	s.hist, s.values, s.away, s.unsorted = h, numbers{}, nil, false
}

// each calls fn for the values while they are exact, in no order.
func (s *Series) each(fn func(v int64)) {
	all := func(l *numbers) {
		for i := range l.len() {
			fn(l.at(i))
		}
	}
	if s.elsewhere() > 0 {
		s.eachAway(all)
	}
	all(&s.values)
}

// Merge adds the values of another series; the smaller limit of the two holds. o is not changed.
func (s *Series) Merge(o *Series) {
	s.Limit(int(o.bound()))
	n := o.N()
	if n == 0 {
		return
	}
	s.Release()
	if s.hist == nil && (o.hist != nil || n > s.bound()-s.N()) {
		s.toHistogram()
	}
	switch {
	case s.hist == nil:
		s.mergeAway(o)
		s.fit(int64(o.values.len()), o.values.widest())
		s.values.append(&o.values)
	case o.hist != nil:
		s.cover(o.min, o.max)
		s.counted += n
		s.sum.add(o.sum)
		s.hist.Merge(o.hist)
	default:
		o.each(func(v int64) { s.addHist(v, 1) })
	}
}

// Limit lowers the number of values that are kept exactly, as for a saved report. It is never raised.
func (s *Series) Limit(limit int) {
	if int64(limit) >= s.bound() {
		return
	}
	s.limit = max(limit, 1)
	if s.hist == nil && s.N() > int64(s.limit) {
		s.toHistogram()
	}
	s.values.bound(int(s.bound() - s.elsewhere()))
}

// Size is how many integers the series holds: its values, or the buckets of its histogram.
func (s *Series) Size() int {
	if s.hist != nil {
		return len(s.hist.counts)
	}
	return int(s.N())
}

// N is how many values there are.
func (s *Series) N() int64 {
	if s.hist == nil {
		return s.elsewhere() + int64(s.values.len())
	}
	return s.counted
}

// Exact reports whether ranks are values that were added; otherwise they are within 0.4 % of those.
func (s *Series) Exact() bool { return s.hist == nil }

// Min and Max are exact; 0 when empty.
func (s *Series) Min() int64 {
	s.count()
	return s.min
}

// Max is the largest value; 0 when empty.
func (s *Series) Max() int64 {
	s.count()
	return s.max
}

// Total is the exact sum, or the nearest int64 to it.
func (s *Series) Total() int64 {
	s.count()
	return s.sum.clamp()
}

// Mean is total / n rounded down; 0 when empty.
func (s *Series) Mean() int64 {
	s.count()
	if s.counted == 0 {
		return 0
	}
	return s.sum.floorDiv(s.counted)
}

// Rank is the k-th smallest value, k from 1 to N; outside it is the first or the last one. 0 when empty.
func (s *Series) Rank(k int64) int64 {
	s.count()
	k = min(max(k, 1), s.counted)
	switch {
	case s.counted == 0:
		return 0
	case k == 1:
		return s.min
	case k == s.counted:
		return s.max
	case s.hist == nil:
		s.sort()
		return s.values.at(int(k - 1))
	}
	for v, n := range s.hist.All() {
		if k -= n; k <= 0 {
			return min(max(v, s.min), s.max)
		}
	}
	return s.max
}

// Quantile is the nearest-rank percentile (gonum's stat.Empirical): the smallest value with at least p thousandths of all at or below it.
func (s *Series) Quantile(p int64) int64 { return s.Rank(ceilShare(s.N(), p)) }

// ceilShare is n·p/1000, rounded up.
func ceilShare(n, p int64) int64 { return n/1000*p + (n%1000*p+999)/1000 }

// Linear is the percentile at p thousandths by linear interpolation between ranks (numpy's type 7); 0 when empty.
func (s *Series) Linear(p int64) float64 {
	if s.N() == 0 {
		return 0
	}
	last := s.N() - 1
	whole, part := last/1000*p+last%1000*p/1000, last%1000*p%1000
	a, b := float64(s.Rank(whole+1)), float64(s.Rank(whole+2))
	return a + float64((b-a)*float64(part))/1000
}

// All are the values and how often each was added, ascending: the middles of buckets when not exact.
func (s *Series) All() iter.Seq2[int64, int64] {
	if s.hist != nil {
		return s.hist.All()
	}
	s.sort()
	return func(yield func(int64, int64) bool) {
		for i := 0; i < s.values.len(); {
			v, n := s.values.at(i), int64(0)
			for ; i < s.values.len() && s.values.at(i) == v; i++ {
				n++
			}
			if !yield(v, n) {
				return
			}
		}
	}
}

func (s *Series) sort() {
	s.load()
	if s.count(); s.unsorted {
		s.values.sort()
		s.unsorted = false
	}
}

// How the values of an encoded series are written.
const (
	seriesExact = iota
	seriesHistogram
)

var errSeries = errors.New("a series of values that does not add up")

// Append writes the series behind b: the same bytes for the same values and limit.
func (s *Series) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(s.bound()))
	b = binary.AppendUvarint(b, uint64(s.N()))
	if s.N() == 0 {
		return b
	}
	prev := int64(0)
	if s.hist == nil {
		b = append(b, seriesExact)
		s.sort()
		for i := range s.values.len() { // the first may be negative, the steps wrap around and are not
			v := s.values.at(i)
			b = binary.AppendUvarint(b, uint64(v)-uint64(prev))
			prev = v
		}
		return b
	}
	b = append(b, seriesHistogram)
	b = binary.AppendVarint(b, s.min)
	b = binary.AppendVarint(b, s.max)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.sum.hi))
	b = binary.LittleEndian.AppendUint64(b, s.sum.lo)
	for k, n := range s.hist.buckets() {
		b = binary.AppendVarint(b, int64(k)-prev)
		b = binary.AppendUvarint(b, uint64(n))
		prev = int64(k)
	}
	return b
}

// Decode reads what Append wrote into s, whose former content is dropped, and returns the bytes behind it.
func (s *Series) Decode(b []byte) ([]byte, error) {
	*s = Series{}
	bad := false
	uvarint := func() uint64 {
		v, k := binary.Uvarint(b)
		bad = bad || k <= 0
		b = b[max(k, 0):]
		return v
	}
	varint := func() int64 {
		v, k := binary.Varint(b)
		bad = bad || k <= 0
		b = b[max(k, 0):]
		return v
	}
	limit, n := uvarint(), uvarint()
	if bad || limit == 0 || limit > SeriesLimit || n > math.MaxInt64>>1 {
		return nil, errSeries
	}
	s.limit = int(limit)
	if n == 0 {
		return b, nil
	}
	if len(b) == 0 {
		return nil, errSeries
	}
	kind := b[0]
	b = b[1:]
	switch {
	case kind == seriesExact && n <= limit && n <= uint64(len(b)):
		s.values.room(int(n), 0)
		for prev := uint64(0); n > 0; n-- {
			prev += uvarint()
			if k := s.values.len(); k > 0 && int64(prev) < s.values.at(k-1) {
				return nil, errSeries
			}
			s.Add(int64(prev))
		}
	case kind == seriesHistogram && n > limit:
		s.hist = &Histogram{}
		s.counted, s.min, s.max = int64(n), varint(), varint()
		if bad || len(b) < 16 {
			return nil, errSeries
		}
		s.sum.hi, s.sum.lo = int64(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint64(b[8:])
		b = b[16:]
		first, last := int64(bucketOf(s.min)), int64(bucketOf(s.max))
		k, begun := int64(0), false
		for left := n; left > 0; begun = true {
			step, count := varint(), uvarint()
			k += step
			if bad || begun && step <= 0 || !begun && k != first || k > last || count == 0 || count > left {
				return nil, errSeries
			}
			s.hist.addBucket(int(k), int64(count))
			left -= count
		}
		bad = k != last
	default:
		return nil, errSeries
	}
	if bad {
		return nil, errSeries
	}
	return b, nil
}

// An int128 is a sum of products of int64s; hi and lo are the words of its two's complement.
type int128 struct {
	hi int64
	lo uint64
}

func (x *int128) add(y int128) {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	x.lo, x.hi = lo, x.hi+y.hi+int64(carry)
}

// addProduct adds v·n, n ≥ 0.
func (x *int128) addProduct(v, n int64) {
	hi, lo := bits.Mul64(uint64(v), uint64(n))
	if v < 0 { // uint64(v) is v + 2⁶⁴
		hi -= uint64(n)
	}
	x.add(int128{int64(hi), lo})
}

func (x int128) clamp() int64 {
	switch {
	case x.hi == 0 && x.lo <= math.MaxInt64, x.hi == -1 && x.lo > math.MaxInt64:
		return int64(x.lo)
	case x.hi < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// floorDiv is x / n rounded down, for n > 0 and a result that fits.
func (x int128) floorDiv(n int64) int64 {
	if x.hi >= 0 {
		if uint64(x.hi) >= uint64(n) {
			return math.MaxInt64
		}
		q, _ := bits.Div64(uint64(x.hi), x.lo, uint64(n))
		return int64(min(q, math.MaxInt64))
	}
	// −⌈−x/n⌉, with −x = (^x) + 1 and ⌈(y+1)/n⌉ = ⌊y/n⌋ + 1
	hi, lo := ^uint64(x.hi), ^x.lo
	if hi >= uint64(n) {
		return math.MinInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(n))
	if q >= math.MaxInt64 {
		return math.MinInt64
	}
	return -int64(q) - 1
}
