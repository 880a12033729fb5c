package model

import (
	"bytes"
	"math"
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
