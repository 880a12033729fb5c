package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

func indexNewline(b []byte) int { return bytes.IndexByte(b, '\n') }

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stops has the high bit of each byte of w set that ends or complicates a string: '"', '\\', a control character; with all, a byte outside
// ASCII too. Bits above the lowest one that is right may be wrong, as usual with borrows.
func stops(w uint64) uint64 {
	q, e := w^(ones*'"'), w^(ones*'\\')
	return ((q-ones)&^q | (e-ones)&^e | (w-ones*' ')&^w) & highs
}

// skipString passes over a string.
func (s *Scanner) skipString() {
	b, i := s.b, s.pos+1
	for {
		for i+8 <= len(b) {
			if m := stops(binary.LittleEndian.Uint64(b[i:])); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				goto stop
			}
			i += 8
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
			i++
		}
		if i >= len(b) {
			s.pos = len(b)
			s.fail(ErrEnd)
			return
		}
	stop:
		switch b[i] {
		case '"':
			s.pos = i + 1
			return
		case '\\':
			i += 2
		default:
			s.pos = i
			s.want(`'"'`)
			return
		}
	}
}

// str reads the string at the scanner's position. Without escapes and outside ASCII it lies in the block, otherwise in scratch.
func (s *Scanner) str(scratch *[]byte) []byte {
	b, from := s.b, s.pos+1
	i := from
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		if m := stops(w) | w&highs; m != 0 {
			i += bits.TrailingZeros64(m) >> 3
			if b[i] == '"' {
				s.pos = i + 1
				return b[from:i]
			}
			return s.strSlow(scratch, from, i)
		}
		i += 8
	}
	return s.strSlow(scratch, from, i)
}

// strSlow reads the string that began at from and is plain up to i.
func (s *Scanner) strSlow(scratch *[]byte, from, i int) []byte {
	b := s.b
	out := append((*scratch)[:0], b[from:i]...)
	defer func() { *scratch = out }()
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			s.pos = i + 1
			return out
		case c == '\\':
			var n int
			if out, n = unescape(out, b[i:]); n == 0 {
				s.pos = i
				if len(b)-i < 6 && indexNewline(b[i:]) < 0 && bytes.IndexByte(b[i:], '"') < 0 {
					s.pos = len(b)
				}
				s.want("an escape")
				return nil
			}
			i += n
		case c < ' ':
			s.pos = i
			s.want(`'"'`)
			return nil
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	s.pos = len(b)
	s.fail(ErrEnd)
	return nil
}

// unescape appends what the escape at the beginning of b stands for and returns its length, 0 when it is none.
// Halves of surrogate pairs on their own become U+FFFD.
func unescape(out, b []byte) ([]byte, int) {
	if len(b) < 2 {
		return out, 0
	}
	switch c := b[1]; c {
	case '"', '\\', '/':
		return append(out, c), 2
	case 'b':
		return append(out, '\b'), 2
	case 'f':
		return append(out, '\f'), 2
	case 'n':
		return append(out, '\n'), 2
	case 'r':
		return append(out, '\r'), 2
	case 't':
		return append(out, '\t'), 2
	case 'u':
		r, ok := hex4(b)
		if !ok {
			return out, 0
		}
		if utf16.IsSurrogate(r) {
			if low, ok := hex4(b[6:]); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return utf8.AppendRune(out, pair), 12
				}
			}
			r = utf8.RuneError
		}
		return utf8.AppendRune(out, r), 6
	}
	return out, 0
}

// hex4 reads \uXXXX.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// Text reads a string, good until the next call of Text. Any other value, null too, is skipped, and false returned.
func (s *Scanner) Text() ([]byte, bool) {
	if s.peek() != '"' {
		s.Skip()
		return nil, false
	}
	t := s.str(&s.text)
	return t, s.err == nil
}

// Bool reads true or false, or a text that says so. Any other value is skipped, and ok is false.
func (s *Scanner) Bool() (v, ok bool) {
	switch s.Kind() {
	case Bool:
		v = s.literal() == "true"
		return v, s.err == nil
	case String:
		t, ok := s.Text()
		switch string(t) {
		case "true", "True":
			return true, ok
		case "false", "False":
			return false, ok
		}
		return false, false
	}
	s.Skip()
	return false, false
}
