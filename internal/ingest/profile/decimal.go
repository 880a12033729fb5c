package profile

import (
	"errors"
	"math/bits"

	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A decimal is a number as it is written: ±mant·10^exp. Times go from text to ns through it, so 1764432000.123456 s is exact.
type decimal struct {
	mant uint64
	exp  int32
	neg  bool
}

var (
	errNotFinite = errors.New("want a finite number")
	errRange     = errors.New("out of range")
)

const maxMant = (1<<64 - 10) / 10 // one more digit fits

// parseDecimal reads a JSON number, or a text that holds one. Digits past the nineteenth are cut: those of a time are far below one ns.
func parseDecimal(t []byte) (d decimal, err error) {
	i := 0
	if len(t) > 0 && t[0] == '-' {
		d.neg, i = true, 1
	}
	digits := 0
	for point := false; i < len(t); i++ {
		switch c := t[i]; {
		case c >= '0' && c <= '9':
			digits++
			switch {
			case d.mant <= maxMant:
				d.mant = d.mant*10 + uint64(c-'0')
				if point {
					d.exp--
				}
			case !point:
				d.exp++
			}
			continue
		case c == '.' && !point && digits > 0:
			point = true
			continue
		}
		break
	}
	switch {
	case digits == 0 && isNotFinite(t):
		return d, errNotFinite
	case digits == 0 || t[i-1] == '.':
		return d, jsonscan.ErrNumber
	case i == len(t):
		return d, nil
	case t[i]|0x20 != 'e':
		return d, jsonscan.ErrNumber
	}
	e, ok := exponent(t[i+1:])
	if !ok {
		return d, jsonscan.ErrNumber
	}
	d.exp += e
	return d, nil
}

// exponent reads an exponent; one that is larger than any that matters is cut.
func exponent(t []byte) (e int32, ok bool) {
	neg := len(t) > 0 && t[0] == '-'
	if neg || len(t) > 0 && t[0] == '+' {
		t = t[1:]
	}
	for _, c := range t {
		if c < '0' || c > '9' {
			return 0, false
		}
		e = min(e*10+int32(c-'0'), 10_000)
	}
	if neg {
		e = -e
	}
	return e, len(t) > 0
}

func isNotFinite(t []byte) bool {
	switch string(t) {
	case "NaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "Inf", "-Inf":
		return true
	}
	return false
}

var powers = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return
}()

// maxNS bounds instants and durations, so that sums of two do not overflow.
const maxNS = 1 << 62

// ns is the number of ns that a time in a unit is, to the nearest. ok is false where it is out of range.
func (d decimal) ns(u model.ProfileUnit) (n int64, ok bool) {
	e := int(d.exp) + int(u)
	m := d.mant
	switch {
	case e < -len(powers) || m == 0:
		return 0, true
	case e == -len(powers):
		m = 0 // at most 1.8·10¹⁹ / 10²⁰, which rounds to 0
	case e < 0:
		p := powers[-e]
		q, rest := m/p, m%p
		if rest >= p-rest {
			q++
		}
		m = q
	case e >= len(powers):
		return 0, false
	case e > 0:
		hi, lo := bits.Mul64(m, powers[e])
		if hi != 0 {
			return 0, false
		}
		m = lo
	}
	if m >= maxNS {
		return 0, false
	}
	if d.neg {
		return -int64(m), true
	}
	return int64(m), true
}

// float is the number, for comparisons that need not be exact.
func (d decimal) float() float64 {
	f := float64(d.mant)
	for e := d.exp; e < 0; e++ {
		f /= 10
		if f == 0 {
			break
		}
	}
	for e := d.exp; e > 0 && f < 1e300 && f != 0; e-- {
		f *= 10
	}
	if d.neg {
		return -f
	}
	return f
}

// Absolute times lie in [10⁹, 10¹⁰) s: from 2001 to 2286, of which 64 bits of ns hold the first 261 years.
const (
	firstAbsolute = 1_000_000_000_000_000_000
	lastAbsolute  = maxNS - 1
)

// A class is the unit that the magnitude of an instant tells (R4.12), or that it tells none.
type class uint8

const (
	classUnseen class = iota
	classS
	classMS
	classUS
	classNS
	classOther
	numClasses
)

var classUnit = [numClasses]model.ProfileUnit{classUnseen: model.UnitUnsaid, classS: model.Seconds, classMS: model.Milliseconds, classUS: model.Microseconds,
	classNS: model.Nanoseconds, classOther: model.UnitUnsaid}

// in is the instant of an absolute time of a class; ok is false where it is not of it.
func (d decimal) in(c class) (n int64, ok bool) {
	n, ok = d.ns(classUnit[c])
	return n, ok && n >= firstAbsolute && n <= lastAbsolute
}

// classify finds the class of an instant.
func (d decimal) classify() (c class, n int64) {
	for c := classS; c < classOther; c++ {
		if n, ok := d.in(c); ok {
			return c, n
		}
	}
	return classOther, 0
}
