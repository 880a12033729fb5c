package jsonscan

import "github.com/cbtrace/cbtrace/internal/model/jsontext"

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
			dst = s.AppendCompact(append(jsontext.AppendQuote(dst, key), ':'))
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
		return jsontext.AppendQuote(dst, t)
	}
	return append(dst, s.Raw()...)
}
