package model

import (
	"math/bits"
	"slices"
)

// Values are sorted by digits of 11 bits when there are many: percentiles of a day's stages are a large part of making a report otherwise.
const (
	radixBits = 11
	radixMin  = 1 << 12 // fewer are sorted by comparing
)

// sortInts sorts values in ascending order.
func sortInts[T int64 | uint32](values []T) {
	if len(values) < radixMin {
		slices.Sort(values)
		return
	}
	lo, hi := values[0], values[0]
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	from, to := values, make([]T, len(values))
	digits := (bits.Len64(uint64(hi)-uint64(lo)) + radixBits - 1) / radixBits
	for d := range digits {
		shift := d * radixBits
		var starts [1 << radixBits]int
		for _, v := range from {
			starts[(uint64(v)-uint64(lo))>>shift&(1<<radixBits-1)]++
		}
		at := 0
		for i, n := range starts {
			starts[i], at = at, at+n
		}
		for _, v := range from {
			i := (uint64(v) - uint64(lo)) >> shift & (1<<radixBits - 1)
			to[starts[i]] = v
			starts[i]++
		}
		from, to = to, from
	}
	if digits%2 == 1 {
		copy(values, from)
	}
}
