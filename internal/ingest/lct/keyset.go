package lct

import (
	"math"
	"math/bits"
)

const (
	exactKeys    = 1 << 20 // different keys that are counted exactly
	registerBits = 16
	registers    = 1 << registerBits
)

// KeysError is the standard error of an estimated number of keys, relative to it.
const KeysError = 1.04 / 256 // 1.04/√registers

// A keySet counts different keys by their hashes: exactly up to exactKeys (two of that many have the same 64 bits with a chance of 3·10⁻⁸), above that as
// HyperLogLog does (Flajolet et al., 2007), from how many zeros hashes begin with. It takes 16 MiB at most. The zero value is empty.
type keySet struct {
	table []uint64 // hashes, by open addressing; 0 is free
	n     int      // in table
	zero  bool     // the hash 0 was added
	rank  []uint8  // of HyperLogLog, once there were too many
}

func (s *keySet) add(h uint64) {
	if s.rank != nil {
		s.estimate(h)
		return
	}
	if h == 0 {
		s.zero = true
		return
	}
	if s.table == nil {
		s.table = make([]uint64, 1<<10)
	}
	if !s.put(h) {
		return
	}
	switch s.n++; {
	case s.n > exactKeys:
		s.giveUp()
	case 2*s.n > len(s.table):
		s.grow()
	}
}

// put adds a hash to the table, and reports whether it was new.
func (s *keySet) put(h uint64) bool {
	mask := uint64(len(s.table) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		switch s.table[at] {
		case 0:
			s.table[at] = h
			return true
		case h:
			return false
		}
	}
}

func (s *keySet) grow() {
	old := s.table
	s.table = make([]uint64, 2*len(old))
	for _, h := range old {
		if h != 0 {
			s.put(h)
		}
	}
}

// giveUp goes over to an estimate.
func (s *keySet) giveUp() {
	s.rank = make([]uint8, registers)
	if s.zero {
		s.estimate(0)
	}
	for _, h := range s.table {
		if h != 0 {
			s.estimate(h)
		}
	}
	s.table = nil
}

// estimate notes a hash: the first bits choose a register, which keeps the longest run of zeros that the others began with.
func (s *keySet) estimate(h uint64) {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd // its first bits must depend on all of it
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	at := h >> (64 - registerBits)
	run := uint8(min(bits.LeadingZeros64(h<<registerBits), 64-registerBits) + 1)
	s.rank[at] = max(s.rank[at], run)
}

// count is how many different keys there were.
func (s *keySet) count() (n int64, exact bool) {
	if s.rank == nil {
		n = int64(s.n)
		if s.zero {
			n++
		}
		return n, true
	}
	var of [64 - registerBits + 2]int64 // registers by their rank: integers, so that the sum has one value only
	for _, r := range s.rank {
		of[r]++
	}
	sum := 0.0
	for r := len(of) - 1; r >= 0; r-- {
		sum += math.Ldexp(float64(of[r]), -r)
	}
	const alpha = 0.7213 / (1 + 1.079/registers)
	return int64(math.Round(alpha * registers * registers / sum)), false
}
