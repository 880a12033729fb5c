package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// Exact reading: a decoder that knows how its most frequent writer spells things reads that one spelling byte by byte, without looking for
// keys and white space, and falls back to the calls above where the spelling differs:
//
//	m := s.Mark()
//	if s.Exact(`,"kind":`) && … {
//		return
//	}
//	s.Return(m)
//
// Each of these moves on only when what it wants is there. Brackets in what Exact reads are the caller's to match.

// A Mark is a place to come back to.
type Mark struct {
	pos   int
	first bool
}

// Mark marks the place of what is read next. It is good in the container it was made in, as long as no error occurs.
func (s *Scanner) Mark() Mark { return Mark{s.pos, s.first} }

// Return goes back.
func (s *Scanner) Return(m Mark) { s.pos, s.first = m.pos, m.first }

// Exact passes over p. It counts as the beginning of a member or element.
func (s *Scanner) Exact(p string) bool {
	end := s.pos + len(p)
	if end > len(s.b) || string(s.b[s.pos:end]) != p {
		return false
	}
	s.pos, s.first = end, false
	return true
}

// Pass moves to pos, over text without newlines that the caller has read himself and in which deeper containers more were opened than closed. What is next stands
// behind a member or element.
func (s *Scanner) Pass(pos, deeper int) { s.pos, s.depth, s.first = pos, s.depth+deeper, false }

// Byte is the next byte, white space too; 0 at the end.
func (s *Scanner) Byte() byte {
	if s.pos < len(s.b) {
		return s.b[s.pos]
	}
	return 0
}

// Plain reads what is left of a string whose quote was passed, and its closing quote: ASCII without escapes.
func (s *Scanner) Plain() (text []byte, ok bool) {
	end := PlainEnd(s.b, s.pos)
	if end < 0 {
		return nil, false
	}
	text = s.b[s.pos:end]
	s.pos = end + 1
	return text, true
}

// PlainEnd is where the closing quote stands of a string that begins at b[i], behind its quote; -1 where anything in it needs more than copying: an escape, a
// control character, a byte outside ASCII.
func PlainEnd(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		if m := stops(w) | w&highs; m != 0 {
			if i += bits.TrailingZeros64(m) >> 3; b[i] != '"' {
				return -1
			}
			return i
		}
	}
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i
		case c == '\\' || c < ' ' || c >= 0x80:
			return -1
		}
	}
	return -1
}

// Hex reads 16 hex digits.
func (s *Scanner) Hex() (n uint64, ok bool) {
	if len(s.b)-s.pos < 16 {
		return 0, false
	}
	if n, ok = Hex16(s.b[s.pos:]); !ok {
		return 0, false
	}
	s.pos += 16
	return n, true
}

// Hex16 is the number that b, of at least 16 bytes, begins with in 16 hex digits.
func Hex16(b []byte) (n uint64, ok bool) {
	high, bad1 := hex8(binary.LittleEndian.Uint64(b))
	low, bad2 := hex8(binary.LittleEndian.Uint64(b[8:]))
	return uint64(bits.ReverseBytes32(high))<<32 | uint64(bits.ReverseBytes32(low)), bad1|bad2 == 0
}

// hex8 reads 8 hex digits, the first in the lowest byte of w, into bytes, the first of which is the lowest; bad is 0 if they are that. All bytes are worked on at
// once: a digit is its low four bits, a letter nine more; the text is spelled back from the values to see that it was hex.
func hex8(w uint64) (n uint32, bad uint64) {
	v := w&(ones*0x0f) + w>>6&ones*9
	spelled := v + ones*'0' + (v+ones*6)>>4&ones*('a'-'9'-1)
	bad = spelled ^ (w | ones*0x20) | v&(ones*0xf0) | ^(w|w>>1)&(ones*0x20)
	v = (v<<4 | v>>8) & 0x00ff00ff00ff00ff // pairs of digits are bytes
	v = (v | v>>8) & 0x0000ffff0000ffff
	return uint32(v | v>>16), bad
}

// Digits reads a number of up to 19 decimal digits without sign; it stops at the first other byte, which is not passed.
func (s *Scanner) Digits() (n uint64, ok bool) {
	b, i := s.b, s.pos
	if i+16 <= len(b) {
		if v, ok := digits8(binary.LittleEndian.Uint64(b[i:])); ok {
			n, i = v, i+8
			if v, ok := digits8(binary.LittleEndian.Uint64(b[i:])); ok {
				n, i = n*100_000_000+v, i+8
			}
		}
	}
	for i < len(b) && b[i]-'0' <= 9 {
		if n = n*10 + uint64(b[i]-'0'); i-s.pos >= 19 {
			return 0, false
		}
		i++
	}
	if i == s.pos {
		return 0, false
	}
	s.pos = i
	return n, true
}

// Digits19 is the number that b, of at least 24 bytes, begins with in 19 decimal digits, as instants in ns are written.
func Digits19(b []byte) (n uint64, ok bool) {
	high, ok1 := digits8(binary.LittleEndian.Uint64(b))
	middle, ok2 := digits8(binary.LittleEndian.Uint64(b[8:]))
	low, count := LeadingDigits(binary.LittleEndian.Uint64(b[16:]))
	return high*100_000_000_000 + middle*1000 + low, ok1 && ok2 && count == 3
}

// digits8 reads 8 decimal digits, the first in the lowest byte of w: pairs, then fours, then all eight are put together.
func digits8(w uint64) (n uint64, ok bool) {
	v := w - ones*'0'
	if (w&(ones*0xf0)^ones*0x30)|(v+ones*6)&(ones*0xf0) != 0 {
		return 0, false
	}
	v = v*10 + v>>8
	const mask = 0x000000ff000000ff
	return ((v&mask)*(100+1_000_000<<32) + (v>>16&mask)*(1+10_000<<32)) >> 32, true
}

// LeadingDigits are the decimal digits in the lowest bytes of w, up to the first byte that is none, as a number, and how many they are.
func LeadingDigits(w uint64) (n uint64, count int) {
	v := w - ones*'0'
	bad := (w&(ones*0xf0) ^ ones*0x30) | (v+ones*6)&(ones*0xf0)
	count = bits.TrailingZeros64(bad) >> 3
	v <<= uint(64-8*count) & 63 // digits that are not there are zeros before the others; without any the sum below is not looked at
	v = v*10 + v>>8
	const mask = 0x000000ff000000ff
	return ((v&mask)*(100+1_000_000<<32) + (v>>16&mask)*(1+10_000<<32)) >> 32, count
}
