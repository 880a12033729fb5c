package jsonscan

import (
	"errors"
	"math"
	"strconv"
	"unsafe"
)

var (
	// ErrNull says that a number is null, or text of no length: absent.
	ErrNull = errors.New("absent")
	// ErrNumber says that a value is no number.
	ErrNumber = errors.New("want a number")
	// ErrRange says that a number does not fit into 64 bits with a sign.
	ErrRange = errors.New("a number that does not fit into 64 bits")
)

// inNumber marks the bytes of numbers, NaN, Infinity and -Infinity.
var inNumber = func() (t [256]bool) {
	for _, c := range "+-.0123456789eENaInfity" {
		t[c] = true
	}
	return
}()

// number passes over the bytes of a number and returns them.
func (s *Scanner) number() []byte {
	from := s.pos
	for s.pos < len(s.b) && inNumber[s.b[s.pos]] {
		s.pos++
	}
	return s.b[from:s.pos]
}

// Int reads an integer exactly, never through a float: a number, or a text that holds one (both as 64-bit integers are written), with a
// fraction or exponent (a fraction that remains is cut), or the {low, high, unsigned} of JavaScript's Long. Any other value is skipped:
// ErrNull for null and "", ErrNumber, ErrRange.
func (s *Scanner) Int() (int64, error) {
	switch s.Kind() {
	case Number:
		return ParseInt(s.number())
	case String:
		t, ok := s.Text()
		if ok && len(t) == 0 {
			return 0, ErrNull
		}
		return ParseInt(t)
	case Object:
		return s.long()
	case Null:
		s.literal()
		return 0, ErrNull
	}
	s.Skip()
	return 0, ErrNumber
}

// long reads high·2³² + unsigned low.
func (s *Scanner) long() (int64, error) {
	var low, high int64
	var found, bad error = ErrNumber, nil
	s.Object()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		var err error
		switch string(key) {
		case "low":
			low, err = s.Int()
			found = nil
		case "high":
			high, err = s.Int()
		default:
			s.Skip()
		}
		if err != nil {
			bad = ErrNumber
		}
	}
	if bad != nil || found != nil {
		return 0, ErrNumber
	}
	if high != int64(int32(high)) {
		return 0, ErrRange
	}
	return high<<32 | int64(uint32(low)), nil
}

// ParseInt reads an integer as Int does from its text.
func ParseInt(t []byte) (int64, error) {
	if len(t) == 0 {
		return 0, ErrNumber
	}
	d := t
	neg := d[0] == '-'
	if neg {
		d = d[1:]
	}
	if len(d) == 0 || len(d) > 18 {
		return parseIntSlow(d, neg)
	}
	n := int64(0)
	for _, c := range d {
		if c -= '0'; c > 9 {
			return parseIntSlow(d, neg)
		} else {
			n = n*10 + int64(c)
		}
	}
	if neg {
		n = -n
	}
	return n, nil
}

// parseIntSlow reads digits with a fraction and an exponent.
func parseIntSlow(d []byte, neg bool) (int64, error) {
	var digits []byte // of the mantissa, without the point
	var small [64]byte
	digits = small[:0]
	point, i := -1, 0
	for ; i < len(d); i++ {
		if c := d[i]; c >= '0' && c <= '9' {
			digits = append(digits, c)
		} else if c == '.' && point < 0 && len(digits) > 0 {
			point = len(digits)
		} else {
			break
		}
	}
	if len(digits) == 0 || point == len(digits) {
		return 0, ErrNumber
	}
	if point < 0 {
		point = len(digits)
	}
	if i < len(d) {
		if d[i]|0x20 != 'e' || i+1 == len(d) {
			return 0, ErrNumber
		}
		e, err := strconv.Atoi(string(d[i+1:]))
		if err != nil || e > 1<<20 || e < -1<<20 {
			if !allDigits(d[i+1:]) {
				return 0, ErrNumber
			}
			return 0, ErrRange
		}
		point += e
	}
	n := uint64(0) // the digits before the point
	for k := 0; k < point; k++ {
		c := uint64(0)
		if k < len(digits) {
			c = uint64(digits[k] - '0')
		}
		if n == 0 && c == 0 {
			if k >= len(digits) {
				break // zeros to the end
			}
			continue
		}
		if n > (1<<63-c)/10 {
			return 0, ErrRange
		}
		n = n*10 + c
	}
	switch {
	case neg && n <= 1<<63:
		return -int64(n), nil
	case !neg && n < 1<<63:
		return int64(n), nil
	}
	return 0, ErrRange
}

// allDigits reports whether t is an integer with an optional sign.
func allDigits(t []byte) bool {
	if len(t) > 0 && (t[0] == '-' || t[0] == '+') {
		t = t[1:]
	}
	for _, c := range t {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(t) > 0
}

// Float reads a number, or a text that holds one ("NaN" and "Infinity" too). Any other value is skipped: ErrNull, ErrNumber.
func (s *Scanner) Float() (float64, error) {
	switch s.Kind() {
	case Number:
		return parseFloat(s.number())
	case String:
		t, ok := s.Text()
		if ok && len(t) == 0 {
			return 0, ErrNull
		}
		return parseFloat(t)
	case Null:
		s.literal()
		return 0, ErrNull
	}
	s.Skip()
	return 0, ErrNumber
}

func parseFloat(t []byte) (float64, error) {
	if f, ok := shortDecimal(t); ok {
		return f, nil
	}
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(t), len(t)), 64) // keeps no string: no copy
	if err != nil && !math.IsInf(f, 0) {
		return 0, ErrNumber
	}
	return f, nil
}

// shortDecimal reads a number of up to 15 digits without an exponent. Its digits as an integer and the power of ten are both exact in a
// float64, so their quotient is the nearest float64 to the number.
func shortDecimal(t []byte) (f float64, ok bool) {
	if len(t) == 0 || len(t) > 16 {
		return 0, false
	}
	n, point := 0, -1
	for i, c := range t {
		if c == '.' && point < 0 && i > 0 && i < len(t)-1 {
			point = i
			continue
		}
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + int(c)
	}
	if point < 0 {
		return float64(n), len(t) <= 15
	}
	return float64(n) / powers[len(t)-1-point], true
}

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}
