package otlp

import (
	"strconv"

	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/jsontext"
)

// attributes reads a list of KeyValues into the open record.
func (d *Decoder) attributes() {
	if !d.s.Array() {
		return
	}
	for d.s.Elem() {
		d.attribute()
	}
}

// attribute reads a KeyValue. A value that stands before its key is read again when the key is known.
func (d *Decoder) attribute() {
	if d.s.Object() {
		d.keyAndValue(model.AttrNone, false)
	}
}

// keyAndValue reads the members of a KeyValue, or what is left of them when its key is known.
func (d *Decoder) keyAndValue(k model.AttrKey, known bool) {
	s := &d.s
	var value []byte
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch {
		case string(key) == "key":
			if t, ok := s.Text(); ok {
				k, known = d.key(t), true
			}
		case string(key) != "value":
			s.Skip()
		case k != model.AttrNone:
			d.anyValue(s, k)
		case !known:
			value = s.Raw()
		default:
			s.Skip()
		}
	}
	if !known {
		k = d.key(nil) // as in protobuf, a key that is left out is ""
	}
	if value != nil && k != model.AttrNone {
		var again jsonscan.Scanner
		again.Reset(value)
		d.anyValue(&again, k)
	}
}

// anyValue adds the attribute k with the AnyValue that follows. An empty one and null are no value.
func (d *Decoder) anyValue(s *jsonscan.Scanner, k model.AttrKey) {
	if s.Object() {
		d.fields(s, k)
	}
}

// fields adds the attribute k with the members of an AnyValue, or what is left of them.
func (d *Decoder) fields(s *jsonscan.Scanner, k model.AttrKey) {
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "stringValue", "string_value", "bytesValue", "bytes_value":
			if t, ok := s.Text(); ok {
				d.b.AddText(k, t)
			}
		case "intValue", "int_value":
			d.intValue(s, k)
		case "doubleValue", "double_value":
			if f, err := s.Float(); err == nil {
				d.b.AddFloat(k, f)
			}
		case "boolValue", "bool_value":
			if v, ok := s.Bool(); ok {
				d.b.AddBool(k, v)
			}
		case "arrayValue", "array_value", "kvlistValue", "kvlist_value":
			d.text = appendItems(d.text[:0], s, key[0] == 'a')
			if s.Err() == nil {
				d.b.AddJSON(k, d.text)
			}
		default:
			s.Skip()
		}
	}
}

// intValue adds an integer; what does not fit or is none stays as it is written.
func (d *Decoder) intValue(s *jsonscan.Scanner, k model.AttrKey) {
	if s.Kind() != jsonscan.String {
		if n, err := s.Int(); err == nil {
			d.b.AddInt(k, n)
		}
		return
	}
	t, ok := s.Text()
	if !ok {
		return
	}
	if n, err := jsonscan.ParseInt(t); err == nil {
		d.b.AddInt(k, n)
	} else if len(t) > 0 {
		d.b.AddText(k, t)
	}
}

// appendItems reads an ArrayValue or KeyValueList and appends it as compact JSON.
func appendItems(dst []byte, s *jsonscan.Scanner, isArray bool) []byte {
	brackets := "{}"
	if isArray {
		brackets = "[]"
	}
	dst = append(dst, brackets[0])
	first := true
	if s.Object() {
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			if string(key) != "values" || !s.Array() {
				if string(key) != "values" {
					s.Skip()
				}
				continue
			}
			for s.Elem() {
				if !first {
					dst = append(dst, ',')
				}
				first = false
				if isArray {
					dst = appendValue(dst, s)
				} else {
					dst = appendMember(dst, s)
				}
			}
		}
	}
	return append(dst, brackets[1])
}

// appendMember reads a KeyValue of a list and appends "key":value.
func appendMember(dst []byte, s *jsonscan.Scanner) []byte {
	raw := s.Raw()
	if s.Err() != nil {
		return dst
	}
	var name, value []byte
	var in jsonscan.Scanner
	in.Reset(raw)
	if in.Object() {
		for key, ok := in.Key(); ok; key, ok = in.Key() {
			switch string(key) {
			case "key":
				name, _ = in.Text()
			case "value":
				value = in.Raw()
			default:
				in.Skip()
			}
		}
	}
	dst = append(jsontext.AppendQuote(dst, name), ':')
	if value == nil {
		return append(dst, "null"...)
	}
	in.Reset(value)
	return appendValue(dst, &in)
}

// appendValue reads an AnyValue and appends it as JSON.
func appendValue(dst []byte, s *jsonscan.Scanner) []byte {
	if !s.Object() {
		return append(dst, "null"...)
	}
	from := len(dst)
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		out := dst[:from] // of several the last counts
		switch string(key) {
		case "stringValue", "string_value", "bytesValue", "bytes_value":
			if t, ok := s.Text(); ok {
				dst = jsontext.AppendQuote(out, t)
			}
		case "intValue", "int_value":
			if n, err := s.Int(); err == nil {
				dst = strconv.AppendInt(out, n, 10)
			}
		case "doubleValue", "double_value":
			if f, err := s.Float(); err == nil {
				dst = jsontext.AppendFloat(out, f)
			}
		case "boolValue", "bool_value":
			if v, ok := s.Bool(); ok {
				dst = strconv.AppendBool(out, v)
			}
		case "arrayValue", "array_value":
			dst = appendItems(out, s, true)
		case "kvlistValue", "kvlist_value":
			dst = appendItems(out, s, false)
		default:
			s.Skip()
		}
	}
	if len(dst) == from {
		dst = append(dst, "null"...)
	}
	return dst
}
