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

func gramHash(b []byte) uint32 {
	return binary.LittleEndian.Uint32(b) * 2654435761 >> (32 - shiftBits)
}

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

// lanes is how many parts of a text are gone through at a time: each step waits for what the last one read, so that four take little longer than one.
const lanes = 4

// next is where the match in b[from:] ends that ends first, -1 without any.
func (m *matcher) next(b []byte, from int) int {
	at, end := from+m.shortest-gram, len(b)-gram+1
	part := (end - at) / lanes
	if part < 2<<10 {
		return m.scan(b, from, at, end)
	}
	stops := [lanes]int{at + part, at + 2*part, at + 3*part, end}
	p, q, r, s := at, stops[0], stops[1], stops[2]
	for p < stops[0] && q < stops[1] && r < stops[2] && s < stops[3] {
		i, j, k, l := m.shift[gramHash(b[p:])], m.shift[gramHash(b[q:])], m.shift[gramHash(b[r:])], m.shift[gramHash(b[s:])]
		if i == 0 || j == 0 || k == 0 || l == 0 {
			for n, at := range [lanes]int{p, q, r, s} {
				if m.shift[gramHash(b[at:])] == 0 && m.matches(b[from:at+gram]) {
					return m.first(b, from, [lanes]int{p, q, r, s}, stops, n)
				}
			}
			i, j, k, l = max(i, 1), max(j, 1), max(k, 1), max(l, 1)
		}
		p += int(i)
		q += int(j)
		r += int(k)
		s += int(l)
	}
	return m.first(b, from, [lanes]int{p, q, r, s}, stops, lanes-1)
}

// first is next for what the lanes up to the nth have not gone through.
func (m *matcher) first(b []byte, from int, at, stops [lanes]int, n int) int {
	for i := range n + 1 {
		if found := m.scan(b, from, at[i], stops[i]); found >= 0 {
			return found
		}
	}
	return -1
}

// scan is next for windows whose last bytes begin at at or behind, and before end.
func (m *matcher) scan(b []byte, from, at, end int) int {
	for at < end {
		s := m.shift[gramHash(b[at:at+gram])]
		if s == 0 {
			if m.matches(b[from : at+gram]) {
				return at + gram
			}
			s = 1
		}
		at += int(s)
	}
	return -1
}

// matches reports whether one of the patterns ends b.
func (m *matcher) matches(b []byte) bool {
	for _, n := range m.buckets[gramHash(b[len(b)-gram:])] {
		if bytes.HasSuffix(b, m.patterns[n]) {
			return true
		}
	}
	return false
}
