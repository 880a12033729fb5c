package jsonscan

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// Attributes that hold an object or array are kept as text: compact JSON (RFC 8259 without white space), in which strings are spelled one way, however
// the input spells them. So a value is the same text from every format, and a secret in it the same number of bytes (model.Batch.AddJSON redacts it, R3.6).

// AppendCompact reads the next value and appends it as compact JSON. Numbers stay as they are written, NaN and Infinity too. It is of no use when Err
// is set after it.
func (s *Scanner) AppendCompact(dst []byte) []byte {
	switch s.Kind() {
	case Object:
		dst = append(dst, '{')
		s.Object()
		for n := 0; ; n++ {
			key, ok := s.Key()
			if !ok {
				return append(dst, '}')
			}
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = s.AppendCompact(append(AppendQuote(dst, key), ':'))
		}
	case Array:
		dst = append(dst, '[')
		s.Array()
		for n := 0; s.Elem(); n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = s.AppendCompact(dst)
		}
		return append(dst, ']')
	case String:
		t, _ := s.Text()
		return AppendQuote(dst, t)
	}
	return append(dst, s.Raw()...)
}

// AppendQuote appends text as a JSON string. Only what RFC 8259 (section 7) wants escaped is: '"', '\\' and control characters, these as \u00XX. Bytes
// that are not UTF-8 become U+FFFD.
func AppendQuote(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRune(text[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}

// AppendFloat appends a float64 as a JSON number, in the fewest digits that read back as the same; what JSON has no number for becomes "NaN", "Infinity"
// or "-Infinity", as in protobuf's JSON.
func AppendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}
