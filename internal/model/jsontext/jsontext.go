// Package jsontext writes texts and numbers as JSON has them, for readers that keep nested values and for writers of captures.
package jsontext

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendQuote appends text as a JSON string. Only what RFC 8259 (section 7) wants escaped is: '"', '\\' and control characters, these as \u00XX. Bytes
// that are not UTF-8 become U+FFFD.
func AppendQuote[T ~string | ~[]byte](dst []byte, text T) []byte {
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
			r, n := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
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
