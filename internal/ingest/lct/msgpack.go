package lct

import (
	"encoding/binary"
	"math"
)

// A walk over msgpack values. Every function takes the bytes and the place of a value and returns the place after it, -1 where there is no
// value of that kind that ends inside the bytes.

// Sizes of values by their first byte: above 0 all of it, where that is fixed; otherwise what has to be read to know.
const (
	sizeLen8  = -1 - iota // text, bytes: a length
	sizeLen16             //
	sizeLen32             //
	sizeExt8              // extensions: a length and a type
	sizeExt16             //
	sizeExt32             //
	sizeArray16
	sizeArray32
	sizeMap16
	sizeMap32
	sizeFixArray
	sizeFixMap
	sizeNever // 0xc1 is no value
)

var sizes = func() (t [256]int8) {
	for c := range 256 {
		switch {
		case c >= 0x80 && c <= 0x8f:
			t[c] = sizeFixMap
		case c >= 0x90 && c <= 0x9f:
			t[c] = sizeFixArray
		case c >= 0xa0 && c <= 0xbf:
			t[c] = 1 + int8(c&31)
		default:
			t[c] = 1
		}
	}
	for i, size := range [...]int8{1, sizeNever, 1, 1, sizeLen8, sizeLen16, sizeLen32, sizeExt8, sizeExt16, sizeExt32, 5, 9, 2, 3, 5, 9, 2, 3, 5, 9,
		3, 4, 6, 10, 18, sizeLen8, sizeLen16, sizeLen32, sizeArray16, sizeArray32, sizeMap16, sizeMap32} {
		t[0xc0+i] = size
	}
	return
}()

// skip passes over a value. It takes no memory, however deep the value is nested.
func skip(b []byte, i int) int {
	for pending := 1; pending > 0; pending-- {
		if uint(i) >= uint(len(b)) {
			return -1
		}
		c := b[i]
		size := sizes[c]
		if size > 0 {
			i += int(size)
			continue
		}
		i++
		switch size {
		case sizeFixArray:
			pending += int(c & 15)
			continue
		case sizeFixMap:
			pending += 2 * int(c&15)
			continue
		case sizeNever:
			return -1
		}
		n, width := lengthAt(b, i, size)
		if width == 0 {
			return -1
		}
		i += width
		switch size {
		case sizeLen8, sizeLen16, sizeLen32:
			i += n
		case sizeExt8, sizeExt16, sizeExt32:
			i += n + 1
		case sizeArray16, sizeArray32:
			pending += n
		default:
			pending += 2 * n
		}
	}
	if i > len(b) {
		return -1
	}
	return i
}

// lengthAt reads the length that follows the first byte of a value, and how many bytes it takes: 0 where they are not there.
func lengthAt(b []byte, i int, size int8) (n, width int) {
	switch size {
	case sizeLen8, sizeExt8:
		if i < len(b) {
			return int(b[i]), 1
		}
	case sizeLen16, sizeExt16, sizeArray16, sizeMap16:
		if i+2 <= len(b) {
			return int(binary.BigEndian.Uint16(b[i:])), 2
		}
	case sizeLen32, sizeExt32, sizeArray32, sizeMap32:
		if i+4 <= len(b) {
			return int(binary.BigEndian.Uint32(b[i:])), 4
		}
	}
	return 0, 0
}

// mapAt enters a map of n pairs. n is what the map says: no memory may be taken for it.
func mapAt(b []byte, i int) (n, next int) {
	if i < len(b) {
		switch c := b[i]; sizes[c] {
		case sizeFixMap:
			return int(c & 15), i + 1
		case sizeMap16, sizeMap32:
			if n, width := lengthAt(b, i+1, sizes[c]); width > 0 {
				return n, i + 1 + width
			}
		}
	}
	return 0, -1
}

// arrayAt enters an array; see mapAt.
func arrayAt(b []byte, i int) (n, next int) {
	if i < len(b) {
		switch c := b[i]; sizes[c] {
		case sizeFixArray:
			return int(c & 15), i + 1
		case sizeArray16, sizeArray32:
			if n, width := lengthAt(b, i+1, sizes[c]); width > 0 {
				return n, i + 1 + width
			}
		}
	}
	return 0, -1
}

// textAt reads a text.
func textAt(b []byte, i int) (text []byte, next int) {
	if i < len(b) {
		if c := b[i]; c&0xe0 == 0xa0 || c >= 0xd9 && c <= 0xdb {
			return bytesAt(b, i)
		}
	}
	return nil, -1
}

// blobAt reads bytes, or a text.
func blobAt(b []byte, i int) (blob []byte, next int) {
	if i < len(b) {
		if c := b[i]; c&0xe0 == 0xa0 || c >= 0xd9 && c <= 0xdb || c >= 0xc4 && c <= 0xc6 {
			return bytesAt(b, i)
		}
	}
	return nil, -1
}

func bytesAt(b []byte, i int) ([]byte, int) {
	size := sizes[b[i]]
	i++
	n := int(size) - 1
	if size < 0 {
		var width int
		if n, width = lengthAt(b, i, size); width == 0 {
			return nil, -1
		}
		i += width
	}
	if n > len(b)-i {
		return nil, -1
	}
	return b[i : i+n : i+n], i + n
}

// intAt reads an integer that fits into 64 bits with a sign.
func intAt(b []byte, i int) (n int64, next int) {
	if i >= len(b) {
		return 0, -1
	}
	c := b[i]
	next = i + int(sizes[c])
	i++
	switch {
	case c <= 0x7f:
		return int64(c), i
	case c >= 0xe0:
		return int64(int8(c)), i
	case c < 0xcc || c > 0xd3 || next > len(b):
		return 0, -1
	}
	switch c {
	case 0xcc:
		n = int64(b[i])
	case 0xcd:
		n = int64(binary.BigEndian.Uint16(b[i:]))
	case 0xce:
		n = int64(binary.BigEndian.Uint32(b[i:]))
	case 0xcf:
		u := binary.BigEndian.Uint64(b[i:])
		if u > math.MaxInt64 {
			return 0, -1
		}
		n = int64(u)
	case 0xd0:
		n = int64(int8(b[i]))
	case 0xd1:
		n = int64(int16(binary.BigEndian.Uint16(b[i:])))
	case 0xd2:
		n = int64(int32(binary.BigEndian.Uint32(b[i:])))
	case 0xd3:
		n = int64(binary.BigEndian.Uint64(b[i:]))
	}
	return n, next
}

// numberAt reads an integer or a float.
func numberAt(b []byte, i int) (f float64, next int) {
	if i < len(b) {
		switch c := b[i]; {
		case c == 0xcb && i+9 <= len(b):
			return math.Float64frombits(binary.BigEndian.Uint64(b[i+1:])), i + 9
		case c == 0xca && i+5 <= len(b):
			return float64(math.Float32frombits(binary.BigEndian.Uint32(b[i+1:]))), i + 5
		case c == 0xca || c == 0xcb:
			return 0, -1
		}
	}
	n, next := intAt(b, i)
	return float64(n), next
}

// isTrue reports whether a value is true.
func isTrue(b []byte, i int) bool { return i < len(b) && b[i] == 0xc3 }
