package ingest

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A matcher finds any of several byte strings in one pass that looks at a fraction of the bytes (Wu and Manber, "A fast algorithm for multi-pattern
// searching", 1994): where the four bytes at the end of a window stand in none of the strings, the window moves past them. A window is as wide as the
// shortest string, and no wider than maxWidth: the end of an id tells it from others, its beginning is the same in all of a kind. Windows move alike over
// letters of either case: only where a match may end does it count whether case matters.
type matcher struct {
	patterns []needle
	width    int                   // of the window, in bytes
	shift    [1 << shiftBits]uint8 // by hash of four bytes: how many bytes the window may move
	buckets  map[uint32][]int      // patterns that end in four bytes with this hash
}

// A needle is what a matcher looks for.
type needle struct {
	b    []byte
	fold bool // b is hex digits in lower case, maybe in quotes: it stands for them in either case, one by one
}

const (
	shiftBits  = 14 // 16 KiB: stays in the processor's first cache
	gram       = 4  // bytes that are looked at
	minPattern = 5  // bytes of a pattern
	maxPattern = 255
	maxWidth   = 19 // bytes; wider windows are no faster, as memory is read no faster
	ahead      = 4  // places that are looked at together
)

// gramHash is a hash of four bytes, the same for letters of either case.
func gramHash(b []byte) uint32 {
	return (binary.LittleEndian.Uint32(b) | 0x20202020) * 2654435761 >> (32 - shiftBits)
}

// newMatcher makes a matcher of patterns of minPattern to maxPattern bytes; there is at least one.
func newMatcher(patterns []needle) *matcher {
	m := &matcher{patterns: patterns, width: maxWidth, buckets: map[uint32][]int{}}
	for _, p := range patterns {
		m.width = min(m.width, len(p.b))
	}
	for i := range m.shift {
		m.shift[i] = uint8(m.farthest())
	}
	for n, p := range patterns {
		end := p.b[len(p.b)-m.width:]
		for at := 0; at+gram <= m.width; at++ {
			h := gramHash(end[at:])
			m.shift[h] = min(m.shift[h], uint8(m.width-gram-at))
		}
		last := gramHash(end[m.width-gram:])
		m.buckets[last] = append(m.buckets[last], n)
	}
	return m
}

// farthest is how many bytes the window moves where nothing hints at a match.
func (m *matcher) farthest() int { return m.width - gram + 1 }

// longest is the length of the longest pattern.
func (m *matcher) longest() int {
	return len(slices.MaxFunc(m.patterns, func(a, b needle) int { return len(a.b) - len(b.b) }).b)
}

// next is where the match in b[from:] ends that ends first, -1 without any. It goes through both halves of b at a time: of two streams memory gives more
// than of one.
func (m *matcher) next(b []byte, from int) int {
	p, end := from+m.width-gram, len(b)-gram+1 // the last bytes of a window begin at p or q
	half := p + (end-p)/2
	for q, step := half, ahead*m.farthest(); ; {
		if p, q = m.skip(b, p, q, half); p+step > half || q >= end {
			if p, found := m.scan(b, from, p, half); found {
				return p + gram
			}
			if q, found := m.scan(b, from, q, end); found {
				return q + gram
			}
			return -1
		}
		var found bool
		if p, found = m.scan(b, from, p, p+step); found {
			return p + gram
		}
		if q, found = m.scan(b, from, q, min(q+step, end)); found {
			if p, found = m.scan(b, from, p, half); found {
				return p + gram
			}
			return q + gram
		}
	}
}

// skip moves two windows on while they can move as far as any, as nearly all can. This is tried of some places of both together, so that none waits for what
// was read at the one before it. It stops before places where a window moves less, or where p would pass half or q the end of b.
func (m *matcher) skip(b []byte, p, q, half int) (int, int) {
	far := m.farthest()
	span := (ahead-1)*far + gram
	for p+ahead*far <= half && q+span <= len(b) {
		v, w := b[p:p+span], b[q:q+span]
		if m.at(v, 0)&m.at(v, far)&m.at(v, 2*far)&m.at(v, 3*far)&m.at(w, 0)&m.at(w, far)&m.at(w, 2*far)&m.at(w, 3*far) != uint8(far) {
			break
		}
		p += ahead * far
		q += ahead * far
	}
	return p, q
}

// at is how many bytes a window may move whose last bytes begin at w[i].
func (m *matcher) at(w []byte, i int) uint8 { return m.shift[gramHash(w[i:i+gram])] }

// scan moves a window on whose last bytes begin at at, one step after the other, until they are those of a match or begin at end or behind.
func (m *matcher) scan(b []byte, from, at, end int) (stop int, found bool) {
	for at < end {
		s := m.shift[gramHash(b[at:at+gram])]
		if s == 0 {
			if m.matches(b[from : at+gram]) {
				return at, true
			}
			s = 1
		}
		at += int(s)
	}
	return at, false
}

// matches reports whether one of the patterns ends b.
func (m *matcher) matches(b []byte) bool {
	for _, n := range m.buckets[gramHash(b[len(b)-gram:])] {
		p := &m.patterns[n]
		if p.fold && len(b) >= len(p.b) && bytes.EqualFold(b[len(b)-len(p.b):], p.b) || !p.fold && bytes.HasSuffix(b, p.b) {
			return true
		}
	}
	return false
}
