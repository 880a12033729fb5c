package model

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func seriesOf(limit int, vs ...int64) *Series {
	s := NewSeries(limit)
	for _, v := range vs {
		s.Add(v)
	}
	return s
}

// Nearest rank: of 1 … 10 the median is 5, the 90th percentile 9, the 91st and all above 10 (R8.1).
func TestSeriesQuantile(t *testing.T) {
	s := seriesOf(0, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
	for _, c := range []struct{ p, want int64 }{{0, 1}, {100, 1}, {101, 2}, {500, 5}, {501, 6}, {900, 9}, {901, 10}, {999, 10}, {1000, 10}} {
		if got := s.Quantile(c.p); got != c.want {
			t.Errorf("quantile %d‰ = %d, want %d", c.p, got, c.want)
		}
	}
	if s.Total() != 55 || s.Mean() != 5 || s.Min() != 1 || s.Max() != 10 || s.N() != 10 || !s.Exact() {
		t.Errorf("total %d mean %d min %d max %d n %d exact %v", s.Total(), s.Mean(), s.Min(), s.Max(), s.N(), s.Exact())
	}
	if got := s.Linear(250); got != 3.25 { // numpy.percentile(range(1, 11), 25)
		t.Errorf("linear p25 = %v", got)
	}
	if got := seriesOf(0, 7).Linear(990); got != 7 {
		t.Errorf("linear p99 of one value = %v", got)
	}
	var none Series
	if none.Quantile(500) != 0 || none.Mean() != 0 || none.Linear(500) != 0 {
		t.Error("an empty series has percentiles")
	}
}

func TestSeriesSums(t *testing.T) {
	for _, c := range []struct {
		vs          []int64
		total, mean int64
	}{
		{[]int64{-1, 0}, -1, -1}, // rounded down, not to zero
		{[]int64{-4, 0}, -4, -2},
		{[]int64{1, 2}, 3, 1},
		{[]int64{math.MaxInt64, math.MaxInt64}, math.MaxInt64, math.MaxInt64},
		{[]int64{math.MinInt64, math.MinInt64}, math.MinInt64, math.MinInt64},
		{[]int64{math.MaxInt64, math.MinInt64}, -1, -1},
	} {
		s := seriesOf(0, c.vs...)
		if s.Total() != c.total || s.Mean() != c.mean {
			t.Errorf("%v: total %d, mean %d; want %d, %d", c.vs, s.Total(), s.Mean(), c.total, c.mean)
		}
	}
	s := NewSeries(4)
	s.AddN(math.MaxInt64, 3)
	s.AddN(-5, 2)
	if s.Exact() || s.Mean() != math.MaxInt64/5*3-1 { // 2⁶³−1 = 5k + 2, and (3·(5k + 2) − 10) / 5 = 3k − 0.8
		t.Errorf("mean %d", s.Mean())
	}
}

// R8.3: a value and the middle of its bucket differ by at most 0.4 %; values to 255 are their own buckets; buckets ascend with the values.
func TestHistogramBuckets(t *testing.T) {
	for v := int64(-255); v <= 255; v++ {
		if m := bucketMiddle(bucketOf(v)); m != v {
			t.Fatalf("middle of the bucket of %d is %d", v, m)
		}
	}
	if bucketOf(256) != bucketOf(257) || bucketOf(257) == bucketOf(258) || bucketOf(512) != bucketOf(515) || bucketOf(511) == bucketOf(512) {
		t.Error("a power of two does not have 128 buckets")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	vs := []int64{math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1}
	for range 20_000 {
		vs = append(vs, int64(rng.Uint64())>>rng.IntN(64))
	}
	slices.Sort(vs)
	for i, v := range vs {
		b := bucketOf(v)
		if b < -maxBucket || b > maxBucket {
			t.Fatalf("bucket %d of %d", b, v)
		}
		if off := math.Abs(float64(bucketMiddle(b)) - float64(v)); off > 0.004*math.Abs(float64(v)) {
			t.Fatalf("middle of the bucket of %d is %d", v, bucketMiddle(b))
		}
		if i > 0 && bucketOf(vs[i-1]) > b {
			t.Fatalf("bucket of %d after that of %d", vs[i-1], v)
		}
	}
}

// A series is a function of its values: shuffled, and split in 1, 2 and 7 parts, exact and not, it is the same to the byte and survives encoding.
func TestSeriesOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 7, 100, 101, 5000} {
		vs := make([]int64, n)
		for i := range vs {
			vs[i] = int64(rng.ExpFloat64()*1e9) - 1e6
		}
		want := seriesOf(100, vs...).Append(nil)
		if exact := n <= 100; seriesOf(100, vs...).Exact() != exact {
			t.Errorf("%d values, limit 100: exact is not %v", n, exact)
		}
		for _, parts := range []int{1, 2, 7} {
			rng.Shuffle(n, func(i, j int) { vs[i], vs[j] = vs[j], vs[i] })
			piece := make([]*Series, parts)
			for i := range piece {
				piece[i] = NewSeries(0)
			}
			for i, v := range vs {
				piece[i*i%parts].Add(v)
			}
			sum := NewSeries(100)
			for _, p := range piece {
				sum.Merge(p)
			}
			if got := sum.Append(nil); !bytes.Equal(got, want) {
				t.Errorf("%d values in %d parts: other bytes", n, parts)
			}
		}
		var back Series
		rest, err := back.Decode(append(slices.Clone(want), 1, 2))
		if err != nil || !bytes.Equal(rest, []byte{1, 2}) || !bytes.Equal(back.Append(nil), want) {
			t.Errorf("%d values: decoded with %v, rest %v", n, err, rest)
		}
		slices.Sort(vs)
		for _, p := range []int64{500, 900, 999} {
			if n == 0 {
				break
			}
			exact := vs[max(0, (int64(n)*p+999)/1000-1)]
			if got := back.Quantile(p); math.Abs(float64(got-exact)) > 0.004*math.Abs(float64(exact)) || n <= 100 && got != exact {
				t.Errorf("%d values: %d‰ = %d, want %d", n, p, got, exact)
			}
		}
	}
}

// What is lowered to the limit of a saved report equals what was collected under it.
func TestSeriesLimit(t *testing.T) {
	late, early := NewSeries(0), NewSeries(8)
	for v := range int64(9) {
		late.Add(v * 1000)
		early.Add(v * 1000)
	}
	if !late.Exact() || early.Exact() {
		t.Fatal("the limits do not hold")
	}
	late.Limit(8)
	if late.Exact() || !bytes.Equal(late.Append(nil), early.Append(nil)) {
		t.Error("lowering the limit is not collecting under it")
	}
	late.Limit(100)
	if late.Exact() {
		t.Error("the limit was raised")
	}
}

func TestSeriesDecodeRefuses(t *testing.T) {
	whole := seriesOf(4, 10, 20, 30, 40, 50, 60).Append(nil)
	for n := range whole {
		if _, err := new(Series).Decode(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are taken", n, len(whole))
		}
	}
	for name, b := range map[string][]byte{
		"limit 0":            {0, 0},
		"n beyond the bytes": {0xff, 0x3f, 0xff, 0x3f, seriesExact, 1},
		"unknown kind":       {4, 1, 9, 1},
		"exact beyond limit": {1, 2, seriesExact, 1, 1},
		"descending":         {4, 2, seriesExact, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
	} {
		if _, err := new(Series).Decode(b); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func BenchmarkSeriesAddAboveLimit(b *testing.B) {
	s := NewSeries(1)
	for v := int64(0); b.Loop(); v += 12_345 {
		s.Add(v & (1<<36 - 1))
	}
}

// What a series holds in memory is its values, then no more than the buckets between the smallest and the largest and some room.
func TestSeriesSize(t *testing.T) {
	s := NewSeries(3)
	for i, want := range []int{1, 2, 3} {
		s.Add(1000)
		if s.Size() != want {
			t.Errorf("%d values take %d", i+1, s.Size())
		}
	}
	s.Add(1001) // a bucket holds 4 values there: one bucket in use, 128 of room on either side
	if s.Exact() || s.Size() != 1+2*128 {
		t.Errorf("the histogram of one bucket takes %d", s.Size())
	}
}
