package model

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A list takes 4 bytes a value until one does not fit; what a series answers and writes is the same whichever comes first.
func TestSeriesWidths(t *testing.T) {
	const fits = math.MaxUint32
	ascending := []int64{-1, 0, 7, fits - 1, fits, fits + 1, math.MaxInt64}
	short := seriesOf(0, 7, fits, 0, fits-1)
	if short.values.long != nil || short.Max() != fits || short.Quantile(500) != 7 {
		t.Errorf("values of 4 bytes: %+v", short.values)
	}
	long := seriesOf(0, math.MaxInt64, -1, fits+1)
	if long.values.long == nil || long.values.short != nil {
		t.Errorf("values of 8 bytes: %+v", long.values)
	}
	whole := seriesOf(0, ascending...)
	for name, parts := range map[string][2]*Series{"long into short": {short, long}, "short into long": {long, short}} {
		var s Series
		s.Merge(parts[0])
		s.Merge(parts[1])
		var got []int64
		for v, n := range s.All() {
			if n != 1 {
				t.Errorf("%s: %d comes %d times", name, v, n)
			}
			got = append(got, v)
		}
		if !slices.Equal(got, ascending) || !bytes.Equal(s.Append(nil), whole.Append(nil)) || s.Total() != whole.Total() {
			t.Errorf("%s: %v, total %d", name, got, s.Total())
		}
	}
	// one that was counted already when a longer value came
	s := seriesOf(8, 3, 1)
	if s.Total() != 4 || s.Rank(1) != 1 {
		t.Errorf("total %d, smallest %d", s.Total(), s.Rank(1))
	}
	if s.AddN(-5, 2); s.Total() != -6 || s.Rank(1) != -5 || s.Rank(3) != 1 || s.Max() != 3 {
		t.Errorf("total %d, ranks %d %d, largest %d", s.Total(), s.Rank(1), s.Rank(3), s.Max())
	}
}

// There is never room for more values than the limit, of either width.
func TestSeriesRoom(t *testing.T) {
	s := NewSeries(100_000)
	for i := range int64(100_000) {
		s.Add(i)
		if c := cap(s.values.short); c > 100_000 {
			t.Fatalf("room for %d after %d", c, i+1)
		}
	}
	if s.Add(-1); s.Exact() || s.N() != 100_001 || s.values.len() != 0 {
		t.Errorf("exact %v, n %d", s.Exact(), s.N())
	}
}

// Many values are packed run by run. What a series answers is what a sorted list of them says, whether it was packed, joined, asked before, or has values
// that do not fit.
func TestSeriesPacked(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	values := func(n int) []int64 {
		vs := make([]int64, n)
		for i := range vs {
			vs[i] = int64(rng.ExpFloat64() * 20e6) // ns
		}
		return vs
	}
	check := func(name string, s *Series, want []int64) {
		t.Helper()
		want = slices.Sorted(slices.Values(want))
		if s.N() != int64(len(want)) || s.Min() != want[0] || s.Max() != want[len(want)-1] || !s.Exact() {
			t.Fatalf("%s: n %d, min %d, max %d, exact %v", name, s.N(), s.Min(), s.Max(), s.Exact())
		}
		total := int64(0)
		for _, v := range want {
			total += v
		}
		if s.Total() != total {
			t.Errorf("%s: total %d, should be %d", name, s.Total(), total)
		}
		for _, k := range []int{1, 2, packRun - 1, packRun, packRun + 1, len(want) / 2, len(want) - 1, len(want)} {
			if got := s.Rank(int64(k)); got != want[k-1] {
				t.Errorf("%s: the value of rank %d is %d, should be %d", name, k, got, want[k-1])
			}
		}
		var got []int64
		for v, n := range s.All() {
			for range n {
				got = append(got, v)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: other values", name)
		}
		var plain Series
		plain.values.room(len(want), want[0])
		for _, v := range want {
			plain.Add(v)
		}
		if !bytes.Equal(s.Append(nil), plain.Append(nil)) {
			t.Errorf("%s: other bytes", name)
		}
	}
	for _, n := range []int{packRun + 1, 2 * packRun, 3*packRun + 17} {
		a, b := values(n), values(packRun+5)
		one := seriesOf(0, a...)
		if one.values.n < packRun || len(one.values.packed) > 3*one.values.n {
			t.Errorf("%d values: %d packed into %d bytes", n, one.values.n, len(one.values.packed))
		}
		check("packed", one, a)
		for _, v := range b {
			one.Add(v)
		}
		check("added after it was asked", one, slices.Concat(a, b))
		two := seriesOf(0, a...)
		two.Merge(seriesOf(0, b...))
		check("joined", two, slices.Concat(a, b))
		long := []int64{-1, math.MaxInt32 << 8, 3}
		two.Merge(seriesOf(0, long...))
		check("joined with long ones", two, slices.Concat(a, b, long))
		three := seriesOf(0, long...)
		three.Merge(seriesOf(0, a...))
		check("joined to long ones", three, slices.Concat(long, a))
		last := seriesOf(0, a...)
		last.Add(-7)
		check("a long one at last", last, append(slices.Clone(a), -7))
		low, direct := seriesOf(0, a...), seriesOf(n-1, a...)
		if low.Limit(n - 1); low.Exact() || !bytes.Equal(low.Append(nil), direct.Append(nil)) {
			t.Errorf("%d values, limit lowered: exact %v or other bytes", n, low.Exact())
		}
		sum := seriesOf(n-1, b...)
		if sum.Merge(one); sum.Exact() || sum.N() != int64(n+2*len(b)) {
			t.Errorf("%d values merged beyond the limit: exact %v, n %d", n, sum.Exact(), sum.N())
		}
	}
}
