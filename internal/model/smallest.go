package model

import "slices"

// NthSmallest is the n-th smallest value, from 1. It is found digit by digit, from the front, among those that begin alike; vs is scratch.
func NthSmallest(vs []uint64, n int) uint64 {
	for shift := 56; ; shift -= 8 {
		var counts [256]int
		for _, v := range vs {
			counts[byte(v>>shift)]++
		}
		digit := byte(0)
		for n > counts[digit] {
			n -= counts[digit]
			digit++
		}
		alike := vs[:0]
		for _, v := range vs {
			if byte(v>>shift) == digit {
				alike = append(alike, v)
			}
		}
		if vs = alike; shift == 0 || len(vs) == 1 {
			return vs[0]
		}
	}
}

// Smallest keeps the smallest of many hashes, N of them, and says which is the last. It needs memory for N and a quarter. The zero value knows of
// none; N is set before Add.
type Smallest struct {
	N      int
	hashes []uint64
	full   bool // there were N
	last   uint64
}

// Add takes a hash in.
func (s *Smallest) Add(hash uint64) {
	if s.full && hash > s.last {
		return
	}
	if s.hashes = append(s.hashes, hash); len(s.hashes) >= s.N+s.N/4+1 {
		s.prune()
	}
}

// Merge takes in all that another one did, which has the same N.
func (s *Smallest) Merge(o *Smallest) {
	s.hashes = append(s.hashes, o.hashes...)
	s.prune()
}

// Last is the N-th smallest hash; ok is false where there are fewer.
func (s *Smallest) Last() (last uint64, ok bool) {
	s.prune()
	return s.last, s.full
}

func (s *Smallest) prune() {
	if s.N == 0 || len(s.hashes) < s.N {
		return
	}
	s.full, s.last = true, NthSmallest(slices.Clone(s.hashes), s.N)
	s.hashes = slices.DeleteFunc(s.hashes, func(h uint64) bool { return h > s.last })
}
