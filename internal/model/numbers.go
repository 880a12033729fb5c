package model

import (
	"encoding/binary"
	"iter"
	"math"
	"sync"
)

// numbers are integers in a list, of 4 bytes each while all of them fit: durations in ns do up to 4.29 s, tokens and ppm always. Of many the first ones
// are packed into half of that. It never takes up more room than it was told to make.
type numbers struct {
	short  []uint32
	long   []int64  // all of them, once one did not fit
	packed []byte   // those before short: runs of packRun in ascending order, the first of a run and the steps as varints
	starts []uint32 // of the runs, in packed
	n      int      // how many are packed
}

// packRun is how many are packed together.
const packRun = 1 << 12

func fitsShort(v int64) bool { return uint64(v) <= math.MaxUint32 }

func (l *numbers) len() int { return l.n + len(l.short) + len(l.long) }

// at is number i. A packed one takes reading half a run.
func (l *numbers) at(i int) int64 {
	switch {
	case l.long != nil:
		return l.long[i]
	case i >= l.n:
		return int64(l.short[i-l.n])
	}
	v, rest := uint64(0), l.packed[l.starts[i/packRun]:]
	for range i%packRun + 1 {
		step, k := binary.Uvarint(rest)
		v, rest = v+step, rest[k:]
	}
	return int64(v)
}

// all are the numbers in their order.
func (l *numbers) all() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		v, rest := uint64(0), l.packed
		for i := range l.n {
			if i%packRun == 0 {
				v = 0
			}
			step, k := binary.Uvarint(rest)
			rest = rest[k:]
			if v += step; !yield(int64(v)) {
				return
			}
		}
		for _, v := range l.short {
			if !yield(int64(v)) {
				return
			}
		}
		for _, v := range l.long {
			if !yield(v) {
				return
			}
		}
	}
}

// push appends v where there is room for it.
func (l *numbers) push(v int64) bool {
	if n := len(l.short); n < cap(l.short) && fitsShort(v) {
		l.short = l.short[:n+1]
		l.short[n] = uint32(v)
		return true
	}
	if n := len(l.long); n < cap(l.long) {
		l.long = l.long[:n+1]
		l.long[n] = v
		return true
	}
	return false
}

// fits reports whether there is room for n more like v.
func (l *numbers) fits(n int, v int64) bool {
	if l.long == nil {
		return fitsShort(v) && n <= cap(l.short)-len(l.short)
	}
	return n <= cap(l.long)-len(l.long)
}

// room makes room for n in all, of which v is one.
func (l *numbers) room(n int, v int64) {
	switch {
	case l.long != nil:
		l.long = append(make([]int64, 0, n), l.long...)
	case fitsShort(v):
		l.short = append(make([]uint32, 0, n-l.n), l.short...)
	default:
		long := make([]int64, 0, n)
		for v := range l.all() {
			long = append(long, v)
		}
		*l = numbers{long: long}
	}
}

// fullRun reports whether what is not packed is a run that can be.
func (l *numbers) fullRun() bool { return len(l.short) == packRun && cap(l.short) == packRun }

// pack packs a full run, which leaves room for another one.
func (l *numbers) pack() {
	space := runs.Get().(*[packRun]uint32)
	sortWith(l.short, space[:])
	runs.Put(space)
	l.packSorted(l.short)
	l.short = l.short[:0]
}

var runs = sync.Pool{New: func() any { return new([packRun]uint32) }}

// packSorted packs a run that is in order.
func (l *numbers) packSorted(run []uint32) {
	l.starts = append(l.starts, uint32(len(l.packed)))
	last := uint32(0)
	for _, v := range run {
		l.packed = binary.AppendUvarint(l.packed, uint64(v-last))
		last = v
	}
	l.n += len(run)
}

// join appends another list as it is packed; neither is of the long kind. There is no room left behind it.
func (l *numbers) join(o *numbers) {
	for _, at := range o.starts {
		l.starts = append(l.starts, at+uint32(len(l.packed)))
	}
	l.packed = append(l.packed, o.packed...)
	l.n += o.n
	l.short = append(l.short, o.short...)
	l.short = l.short[:len(l.short):len(l.short)]
}

// widest is a value like the one that takes most room.
func (l *numbers) widest() int64 {
	if l.long != nil {
		return -1
	}
	return 0
}

// bound gives up the room for more than n.
func (l *numbers) bound(n int) {
	l.short = l.short[:len(l.short):min(cap(l.short), max(n-l.n, len(l.short)))]
	l.long = l.long[:len(l.long):min(cap(l.long), max(n, len(l.long)))]
}

// sort puts all of them in order.
func (l *numbers) sort() {
	if l.n == 0 {
		sortInts(l.short)
		sortInts(l.long)
		return
	}
	all := make([]uint32, 0, l.len())
	for v := range l.all() {
		all = append(all, uint32(v))
	}
	sortInts(all)
	l.packed, l.starts, l.n = l.packed[:0], l.starts[:0], 0
	for ; len(all) >= packRun; all = all[packRun:] {
		l.packSorted(all[:packRun])
	}
	l.short = append(make([]uint32, 0, len(all)), all...)
}
