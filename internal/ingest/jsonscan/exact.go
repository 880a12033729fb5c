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

// ExactBytes is Exact for bytes.
func (s *Scanner) ExactBytes(p []byte) bool {
	end := s.pos + len(p)
	if end > len(s.b) || string(s.b[s.pos:end]) != string(p) {
		return false
	}
	s.pos, s.first = end, false
	return true
}

// Since is what was read since m.
func (s *Scanner) Since(m Mark) []byte { return s.b[m.pos:s.pos] }

// Byte is the next byte, white space too; 0 at the end.
func (s *Scanner) Byte() byte {
	if s.pos < len(s.b) {
		return s.b[s.pos]
	}
	return 0
}

// Plain reads what is left of a string whose quote was passed, and its closing quote: ASCII without escapes.
func (s *Scanner) Plain() (text []byte, ok bool) {
	b, i := s.b, s.pos
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		if m := stops(w) | w&highs; m != 0 {
			i += bits.TrailingZeros64(m) >> 3
			if b[i] != '"' {
				return nil, false
			}
			text = b[s.pos:i]
			s.pos = i + 1
			return text, true
		}
		i += 8
	}
	return nil, false
}

// Hex reads 16 hex digits.
func (s *Scanner) Hex() (n uint64, ok bool) {
	if len(s.b)-s.pos < 16 {
		return 0, false
	}
	high, ok1 := hex8(binary.LittleEndian.Uint64(s.b[s.pos:]))
	low, ok2 := hex8(binary.LittleEndian.Uint64(s.b[s.pos+8:]))
	if !ok1 || !ok2 {
		return 0, false
	}
	s.pos += 16
	return uint64(high)<<32 | uint64(low), true
}

// hex8 reads 8 hex digits, the first in the lowest byte of w. All bytes are worked on at once: a digit is its low four bits, a letter nine
// more; the text is spelled back from the values to see that it was hex.
func hex8(w uint64) (n uint32, ok bool) {
	v := w&(ones*0x0f) + w>>6&ones*9
	lower := w | ones*0x20
	spelled := v + ones*'0' + (v+ones*6)>>4&ones*('a'-'9'-1)
	if spelled != lower || v&(ones*0xf0) != 0 || (w|w>>1)&(ones*0x20) != ones*0x20 {
		return 0, false
	}
	v = (v<<4 | v>>8) & 0x00ff00ff00ff00ff // pairs of digits are bytes
	v = (v | v>>8) & 0x0000ffff0000ffff
	return bits.ReverseBytes32(uint32(v | v>>16)), true
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

// Stops has the high bit of each byte of w set that is not plain in a string: its quote, an escape, a control character, a byte outside ASCII. Bits above
// the lowest one that is right may be wrong.
func Stops(w uint64) uint64 { return stops(w) | w&highs }

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
