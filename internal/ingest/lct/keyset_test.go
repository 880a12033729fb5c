package lct

import (
	"math"
	"testing"
)

func TestKeySet(t *testing.T) {
	var s keySet
	if n, exact := s.count(); n != 0 || !exact {
		t.Errorf("empty: %d, %v", n, exact)
	}
	add := func(from, to int) {
		for i := from; i < to; i++ {
			s.add(mix(uint64(i), 1))
		}
	}
	s.add(0)
	s.add(0)
	for range 2 {
		add(0, 1000)
	}
	if n, exact := s.count(); n != 1001 || !exact {
		t.Errorf("%d, exact %v; want 1001", n, exact)
	}
	add(0, exactKeys-1)
	add(0, exactKeys-1)
	if n, exact := s.count(); n != exactKeys || !exact {
		t.Errorf("%d, exact %v; want %d", n, exact, exactKeys)
	}
	for _, total := range []int{1 << 21, 3_000_000, 1 << 23} {
		add(0, total)
		n, exact := s.count()
		if off := math.Abs(float64(n)/float64(total+1) - 1); exact || off > 4*KeysError {
			t.Errorf("%d of %d keys: off by %.2f %%", n, total+1, 100*off)
		}
		if s.table != nil {
			t.Error("the table is kept beside the estimate")
		}
	}
}

// Order does not matter to an estimate.
func TestKeySetOrder(t *testing.T) {
	var up, down keySet
	const n = exactKeys + 5000
	for i := range n {
		up.add(mix(uint64(i), 1))
		down.add(mix(uint64(n-1-i), 1))
	}
	a, _ := up.count()
	if b, _ := down.count(); a != b {
		t.Errorf("%d and %d", a, b)
	}
}
