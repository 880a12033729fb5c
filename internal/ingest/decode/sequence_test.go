package decode

import (
	"math/rand/v2"
	"testing"
)

func TestSequences(t *testing.T) {
	for _, c := range []struct {
		name string
		seen []int64
		lost int64
	}{
		{"none", nil, 0},
		{"one", []int64{7}, 0}, // what came before the recording was not lost
		{"in order", []int64{1, 2, 3}, 0},
		{"out of order", []int64{3, 1, 2, 5, 4}, 0},
		{"repeated", []int64{1, 1, 2, 2, 1}, 0},
		{"a gap", []int64{1, 2, 5}, 2},
		{"gaps", []int64{10, 1, 5, 6}, 6},
		{"a gap that is filled later", []int64{1, 4, 2, 3}, 0},
		{"no numbers", []int64{0, -4, 1 << 60, 3}, 0},
	} {
		var s, left, right Sequences
		for i, n := range c.seen {
			s.Add([]byte("i-1"), 1, n)
			if i%2 == 0 {
				left.Add([]byte("i-1"), 1, n)
			} else {
				right.Add([]byte("i-1"), 1, n)
			}
		}
		if s.Lost() != c.lost {
			t.Errorf("%s: %d lost, want %d", c.name, s.Lost(), c.lost)
		}
		left.Merge(&right)
		if left.Lost() != c.lost {
			t.Errorf("%s, in two parts: %d lost, want %d", c.name, left.Lost(), c.lost)
		}
	}
	var s Sequences
	s.Add([]byte("i-1"), 1, 5) // streams are apart: another start of a process counts from 1 again
	s.Add([]byte("i-1"), 2, 1)
	s.Add([]byte("i-2"), 1, 9)
	if s.Lost() != 0 {
		t.Errorf("%d lost", s.Lost())
	}
}

// Against a set, in any order and any parts.
func TestSequencesAgainstSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		parts := make([]Sequences, 3)
		seen, low, high := map[int64]bool{}, int64(1<<40), int64(0)
		for range r.IntN(60) {
			n := 1 + r.Int64N(50)
			seen[n], low, high = true, min(low, n), max(high, n)
			parts[r.IntN(3)].Add([]byte("x"), 3, n)
		}
		want := int64(0)
		if len(seen) > 0 {
			want = high - low + 1 - int64(len(seen))
		}
		var rep Report
		for i := range parts {
			rep.Merge(&Report{Sequences: parts[i]})
		}
		if rep.Sequences.Lost() != want {
			t.Fatalf("%d lost, want %d of %v", rep.Sequences.Lost(), want, seen)
		}
	}
}

// Sequences full of holes take bounded memory, and still tell how much is missing.
func TestSequencesAreBounded(t *testing.T) {
	var s Sequences
	for n := range int64(3 * maxIntervals) {
		s.Add([]byte("x"), 1, 1+2*n)
	}
	if len(s.streams[Stream{"x", 1}].seen) > maxIntervals || s.Lost() != 3*maxIntervals-1 {
		t.Errorf("%d intervals, %d lost", len(s.streams[Stream{"x", 1}].seen), s.Lost())
	}
	for i := range int64(2 * maxStreams) {
		s.Add([]byte("y"), i, 1)
	}
	if len(s.streams) > maxStreams {
		t.Errorf("%d streams", len(s.streams))
	}
}
