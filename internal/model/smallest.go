package model

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
