package model

import (
	"encoding/binary"
	"math"
)

// numbers are integers in a list, of 4 bytes each while all of them fit: durations in ns do up to 4.29 s, tokens and ppm always. It never takes up
// more room than it was told to make.
type numbers struct {
	short []uint32
	long  []int64 // all of them, once one did not fit
}

func fitsShort(v int64) bool { return uint64(v) <= math.MaxUint32 }

func (l *numbers) len() int { return len(l.short) + len(l.long) }

func (l *numbers) at(i int) int64 {
	if l.long != nil {
		return l.long[i]
	}
	return int64(l.short[i])
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
		l.short = append(make([]uint32, 0, n), l.short...)
	default:
		l.long = make([]int64, len(l.short), n)
		for i, v := range l.short {
			l.long[i] = int64(v)
		}
		l.short = nil
	}
}

// widest is a value like the one that takes most room.
func (l *numbers) widest() int64 {
	if l.long != nil {
		return -1
	}
	return 0
}

// append appends those of another list, for which there is room.
func (l *numbers) append(o *numbers) {
	switch {
	case l.long == nil:
		l.short = append(l.short, o.short...)
	case o.long != nil:
		l.long = append(l.long, o.long...)
	default:
		for _, v := range o.short {
			l.long = append(l.long, int64(v))
		}
	}
}

// bound gives up the room for more than n.
func (l *numbers) bound(n int) {
	l.short = l.short[:len(l.short):min(cap(l.short), n)]
	l.long = l.long[:len(l.long):min(cap(l.long), n)]
}

func (l *numbers) sort() {
	sortInts(l.short)
	sortInts(l.long)
}

// forget drops all and keeps the room.
func (l *numbers) forget() { l.short, l.long = l.short[:0], l.long[:0] }

// encode appends all in little-endian, of 8 bytes each where they are wide.
func (l *numbers) encode(b []byte) (out []byte, wide bool) {
	for _, v := range l.short {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range l.long {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b, l.long != nil
}

// decode takes in what encode wrote of a list.
func (l *numbers) decode(b []byte, wide bool) {
	if wide {
		l.long = make([]int64, len(b)/8)
		for i := range l.long {
			l.long[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
		return
	}
	l.short = make([]uint32, len(b)/4)
	for i := range l.short {
		l.short[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
}
