package model

import (
	"iter"
	"math/bits"
)

// subBits: a power of two has 1<<subBits buckets (R8.3).
const subBits = 7

// The buckets of every histogram, by number: 0 … 255 hold one value each, above that a power of two is cut into 128, so that the middle of
// a bucket is within 1/256 of each of its values. Negative values mirror the positive ones.
const maxBucket = 56<<subBits + 1<<subBits // of the magnitude of the smallest int64

// bucketOf is the number of the bucket that holds v.
func bucketOf(v int64) int {
	if v < 0 {
		return -bucketOfMagnitude(-uint64(v))
	}
	return bucketOfMagnitude(uint64(v))
}

func bucketOfMagnitude(m uint64) int {
	e := max(0, bits.Len64(m)-subBits-1)
	return e<<subBits + int(m>>e)
}

// bucketMiddle is the value that stands for those of a bucket.
func bucketMiddle(i int) int64 {
	if i < 0 {
		return -int64(min(middleOfMagnitude(-i), 1<<63))
	}
	return int64(min(middleOfMagnitude(i), 1<<63-1))
}

func middleOfMagnitude(i int) uint64 {
	if i < 2<<subBits {
		return uint64(i)
	}
	e := i>>subBits - 1
	return uint64(i-e<<subBits)<<e + 1<<e>>1
}

// A Histogram counts values in the fixed log-linear buckets of R8.3: 128 sub-buckets per power of two. Two histograms of the same values
// are equal, in whatever order and parts the values came. The zero value is empty.
type Histogram struct {
	first  int     // number of the bucket that counts[0] is of
	counts []int64 // between the first and the last bucket in use, and some room
}

// Add counts n values v.
func (h *Histogram) Add(v, n int64) { h.addBucket(bucketOf(v), n) }

func (h *Histogram) addBucket(b int, n int64) {
	if i := b - h.first; i >= 0 && i < len(h.counts) {
		h.counts[i] += n
		return
	}
	lo, hi := b, b+1
	if len(h.counts) > 0 {
		lo, hi = min(lo, h.first), max(hi, h.first+len(h.counts))
	}
	const room = 1 << subBits // so that values that grow little by little do not move the counts each time
	lo, hi = max(lo-room, -maxBucket), min(hi+room, maxBucket+1)
	counts := make([]int64, hi-lo)
	if len(h.counts) > 0 {
		copy(counts[h.first-lo:], h.counts)
	}
	h.first, h.counts = lo, counts
	h.counts[b-lo] += n
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(o *Histogram) {
	for b, n := range o.buckets() {
		h.addBucket(b, n)
	}
}

// buckets are the numbers of the buckets in use and their counts, ascending.
func (h *Histogram) buckets() iter.Seq2[int, int64] {
	return func(yield func(int, int64) bool) {
		for i, n := range h.counts {
			if n != 0 && !yield(h.first+i, n) {
				return
			}
		}
	}
}

// All are the middles of the buckets in use and how many values each holds, ascending.
func (h *Histogram) All() iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) {
		for b, n := range h.buckets() {
			if !yield(bucketMiddle(b), n) {
				return
			}
		}
	}
}
