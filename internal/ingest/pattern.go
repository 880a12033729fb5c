package ingest

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A matcher finds any of several byte strings in one pass that looks at a fraction of the bytes (Wu and Manber, "A fast algorithm for multi-pattern
// searching", 1994): where the four bytes at the end of a window stand in none of the strings, the window moves past them.
type matcher struct {
	patterns [][]byte
	shortest int
	shift    [1 << shiftBits]uint8 // by hash of four bytes: how far the window may move
	buckets  map[uint32][]int      // patterns whose window ends in four bytes with this hash
}

const (
	shiftBits  = 14 // 16 KiB: stays in the processor's first cache
	gram       = 4  // bytes that are looked at
	minPattern = 5  // bytes of a pattern
	maxPattern = 255
)

func gramHash(b []byte) uint32 { return binary.LittleEndian.Uint32(b) * 2654435761 >> (32 - shiftBits) }

// newMatcher makes a matcher of patterns of minPattern to maxPattern bytes; there is at least one.
func newMatcher(patterns [][]byte) *matcher {
	m := &matcher{patterns: patterns, shortest: maxPattern, buckets: map[uint32][]int{}}
	for _, p := range patterns {
		m.shortest = min(m.shortest, len(p))
	}
	farthest := m.shortest - gram + 1
	for i := range m.shift {
		m.shift[i] = uint8(farthest)
	}
	for n, p := range patterns {
		end := p[len(p)-m.shortest:] // ids of one kind begin alike
		for at := 0; at+gram <= m.shortest; at++ {
			h := gramHash(end[at:])
			m.shift[h] = min(m.shift[h], uint8(m.shortest-gram-at))
		}
		last := gramHash(end[m.shortest-gram:])
		m.buckets[last] = append(m.buckets[last], n)
	}
	return m
}

// longest is the length of the longest pattern.
func (m *matcher) longest() int {
	return len(slices.MaxFunc(m.patterns, func(a, b []byte) int { return len(a) - len(b) }))
}

// next is where the match in b[from:] ends that ends first, -1 without any.
func (m *matcher) next(b []byte, from int) int {
	for at := from + m.shortest - gram; at+gram <= len(b); {
		h := gramHash(b[at : at+gram])
		if s := m.shift[h]; s != 0 {
			at += int(s)
			continue
		}
		at += gram
		for _, n := range m.buckets[h] {
			if bytes.HasSuffix(b[from:at], m.patterns[n]) {
				return at
			}
		}
		at -= gram - 1
	}
	return -1
}
