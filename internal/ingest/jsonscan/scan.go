// Package jsonscan reads JSON in a block of bytes in one pass, without building anything: the decoder of a format says at each step what it
// expects, the Scanner checks and moves on.
//
//	s.Reset(block)
//	for s.More() { // concatenated values, lines
//		s.Object()
//		for key, ok := s.Key(); ok; key, ok = s.Key() {
//			switch string(key) {
//			case "name":
//				name, _ = s.Text()
//			case "spans":
//				s.Array()
//				for s.Elem() { … }
//			default:
//				s.Skip()
//			}
//		}
//		if s.Err() != nil { … s.Seek(Resync(block, start)) }
//	}
//
// The first error sticks: every later call returns nothing, so loops end by themselves and one look at Err after a value is enough.
// Getters of another type of value than the one that is there skip it and say so. Containers nest to MaxDepth.
//
// The grammar is checked where a decoder reads; in what it skips only strings and brackets are. Accepted beyond the standard: NaN, Infinity
// and -Infinity (Python writes them), and bytes in strings that are not UTF-8, each of which becomes U+FFFD.
package jsonscan

import (
	"bytes"
	"errors"
	"fmt"
)

// MaxDepth bounds the nesting of containers. Attributes of real spans nest a dozen deep.
const MaxDepth = 512

var (
	// ErrEnd says that the block ends in the middle of a value.
	ErrEnd = errors.New("ends in the middle of a JSON value")
	// ErrDepth says that containers nest deeper than MaxDepth.
	ErrDepth = fmt.Errorf("JSON nested more than %d deep", MaxDepth)
)

// A Kind is the kind of a value, told by its first byte.
type Kind uint8

const (
	End Kind = iota // nothing left
	Object
	Array
	String
	Number // NaN and Infinity too
	Bool
	Null
	Other // no JSON value
)

func (k Kind) String() string {
	return [...]string{"the end", "an object", "an array", "a string", "a number", "a boolean", "null", "no JSON"}[k]
}

var kindOf = [256]Kind{'{': Object, '[': Array, '"': String, '-': Number, '0': Number, '1': Number, '2': Number, '3': Number, '4': Number,
	'5': Number, '6': Number, '7': Number, '8': Number, '9': Number, 'N': Number, 'I': Number, 't': Bool, 'f': Bool, 'n': Null}

func init() {
	for i, k := range kindOf {
		if k == End {
			kindOf[i] = Other
		}
	}
}

// A Scanner reads a block. The zero value reads an empty one. What it returns lies in the block, or in its own memory where noted.
type Scanner struct {
	b     []byte
	pos   int
	depth int
	first bool // an object or array was just opened
	line  int64
	err   error
	keys  []byte // of the last key, if it had escapes
	text  []byte // of the last text, if it had escapes
}

// Reset makes the scanner read b from its beginning.
func (s *Scanner) Reset(b []byte) {
	s.b, s.line = b, 0
	s.Seek(0)
}

// Seek goes on at a position outside all containers, and forgets an error. Lines passed on the way are not counted (SetLine).
func (s *Scanner) Seek(pos int) { s.pos, s.depth, s.first, s.err = pos, 0, false, nil }

// Pos is the offset in the block of what is read next.
func (s *Scanner) Pos() int { return s.pos }

// Line is how many newlines were passed.
func (s *Scanner) Line() int64 { return s.line }

// SetLine says how many newlines were passed, after a Seek.
func (s *Scanner) SetLine(n int64) { s.line = n }

// Err is the first error: ErrEnd, ErrDepth or a text that says what was wanted. Where it was is Pos.
func (s *Scanner) Err() error { return s.err }

func (s *Scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// want fails with what was wanted here.
func (s *Scanner) want(what string) {
	if s.pos >= len(s.b) {
		s.fail(ErrEnd)
	} else if s.err == nil {
		s.err = fmt.Errorf("want %s, have %s", what, s.have())
	}
}

// have describes the next byte; never more of the input (R3.6).
func (s *Scanner) have() string {
	switch c := s.b[s.pos]; {
	case c == '\n':
		return "the end of the line"
	case c < ' ' || c >= 0x7f:
		return fmt.Sprintf("byte 0x%02x", c)
	default:
		return fmt.Sprintf("%q", c)
	}
}

// peek is the next byte after white space, 0 at the end or after an error.
func (s *Scanner) peek() byte {
	if s.pos < len(s.b) && s.b[s.pos] > ' ' && s.err == nil {
		return s.b[s.pos]
	}
	return s.peekSlow()
}

func (s *Scanner) peekSlow() byte {
	if s.err != nil {
		return 0
	}
	for s.pos < len(s.b) {
		switch c := s.b[s.pos]; c {
		case '\n':
			s.line++
		case ' ', '\t', '\r':
		default:
			return c
		}
		s.pos++
	}
	return 0
}

// More skips white space and reports whether anything follows.
func (s *Scanner) More() bool {
	s.peek()
	return s.err == nil && s.pos < len(s.b)
}

// Kind skips white space and tells the kind of the next value.
func (s *Scanner) Kind() Kind {
	c := s.peek()
	if c == 0 && (s.err != nil || s.pos >= len(s.b)) {
		return End
	}
	return kindOf[c]
}

// open enters a container. Any other value is skipped.
func (s *Scanner) open(c byte) bool {
	if s.peek() != c {
		s.Skip()
		return false
	}
	if s.depth >= MaxDepth {
		s.fail(ErrDepth)
		return false
	}
	s.pos++
	s.depth++
	s.first = true
	return true
}

// Object enters an object, to be followed by Key until that returns false. Any other value is skipped, and false returned.
func (s *Scanner) Object() bool { return s.open('{') }

// Array enters an array, to be followed by Elem until that returns false. Any other value is skipped, and false returned.
func (s *Scanner) Array() bool { return s.open('[') }

// Key moves to the value of the next member of an object and returns its key, good until the next call of Key.
// After the last member it leaves the object and returns false.
func (s *Scanner) Key() ([]byte, bool) {
	c := s.peek()
	if c == '}' {
		s.pos++
		s.depth--
		s.first = false
		return nil, false
	}
	if s.first {
		s.first = false
	} else if c == ',' {
		s.pos++
		c = s.peek()
	} else {
		s.want("',' or '}'")
		return nil, false
	}
	if c != '"' {
		s.want("a key")
		return nil, false
	}
	key := s.str(&s.keys)
	if s.peek() != ':' {
		s.want("':'")
		return nil, false
	}
	s.pos++
	return key, true
}

// Elem moves to the next element of an array. After the last it leaves the array and returns false.
func (s *Scanner) Elem() bool {
	c := s.peek()
	if c == ']' {
		s.pos++
		s.depth--
		s.first = false
		return false
	}
	if s.first {
		s.first = false
	} else if c == ',' {
		s.pos++
		if s.peek() == ']' {
			s.want("a value")
		}
	} else {
		s.want("',' or ']'")
	}
	if s.pos >= len(s.b) {
		s.fail(ErrEnd)
	}
	return s.err == nil
}

// Skip passes over a value of any kind.
func (s *Scanner) Skip() {
	switch c := s.peek(); kindOf[c] {
	case String:
		s.skipString()
	case Object, Array:
		s.skipNest()
	case Number:
		s.number()
	case Bool, Null:
		s.literal()
	default:
		s.want("a value")
	}
}

// Raw passes over a value and returns its bytes.
func (s *Scanner) Raw() []byte {
	s.peek()
	from := s.pos
	s.Skip()
	if s.err != nil {
		return nil
	}
	return s.b[from:s.pos]
}

// plain marks the bytes that mean nothing between the strings of a container.
var plain = func() (t [256]bool) {
	for i := range t {
		t[i] = true
	}
	for _, c := range `"{}[]` + "\n" {
		t[c] = false
	}
	return
}()

// skipNest passes over an object or array without recursion; open brackets are bits of a stack.
func (s *Scanner) skipNest() {
	var braces [MaxDepth/64 + 1]uint64
	base, depth := s.depth, s.depth
	b := s.b
	for i := s.pos; i < len(b); i++ {
		c := b[i]
		if plain[c] {
			continue
		}
		switch c {
		case '"':
			s.pos = i
			s.skipString()
			if s.err != nil {
				return
			}
			i = s.pos - 1
		case '{', '[':
			if depth >= MaxDepth {
				s.pos = i
				s.fail(ErrDepth)
				return
			}
			bit := uint64(1) << (depth & 63)
			if c == '{' {
				braces[depth>>6] |= bit
			} else {
				braces[depth>>6] &^= bit
			}
			depth++
		case '}', ']':
			depth--
			if (braces[depth>>6]>>(depth&63)&1 == 1) != (c == '}') {
				s.pos = i
				s.want("the other bracket")
				return
			}
			if depth == base {
				s.pos = i + 1
				return
			}
		case '\n':
			s.line++
		}
	}
	s.pos = len(b)
	s.fail(ErrEnd)
}

// literal passes over true, false or null and returns it.
func (s *Scanner) literal() string {
	for _, word := range [...]string{"true", "false", "null"} {
		rest := s.b[s.pos:]
		if len(rest) >= len(word) && string(rest[:len(word)]) == word {
			s.pos += len(word)
			return word
		}
		if len(rest) < len(word) && string(rest) == word[:len(rest)] {
			s.pos = len(s.b)
			s.fail(ErrEnd)
			return ""
		}
	}
	s.want("a value")
	return ""
}

// Resync is where to go on after a value that began at from and turned out to be broken: the next line that begins with an object or an
// array. Between values of a sound input that is where the next one starts, one per line or pretty-printed; len(b) when there is none.
func Resync(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		n := indexNewline(b[i:])
		if n < 0 {
			break
		}
		i += n
		if i+1 < len(b) && (b[i+1] == '{' || b[i+1] == '[') {
			return i + 1
		}
	}
	return len(b)
}

// Matches passes over the next value when its bytes are those of whole, an object or array without newlines, and reports whether they were.
func (s *Scanner) Matches(whole []byte) bool {
	s.peek()
	if s.err != nil || !bytes.HasPrefix(s.b[s.pos:], whole) {
		return false
	}
	s.pos += len(whole)
	return true
}
