package otlpproto

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/jsontext"
)

// maxDepth bounds how deep the values of one attribute may nest.
const maxDepth = 64

// A value is an AnyValue: the last of its fields counts. Text, bytes, arrays and lists are in data, the others in n.
type value struct {
	num  uint64 // of the field; 0: none, a null
	n    uint64
	data []byte
}

// Fields of KeyValue and AnyValue.
const (
	tagKey   = 1<<3 | wireLen
	tagValue = 2<<3 | wireLen

	valueString = 1
	valueBool   = 2
	valueInt    = 3
	valueDouble = 4
	valueArray  = 5
	valueKVList = 6
	valueBytes  = 7
)

// wireOf is the wire type of each field of AnyValue.
var wireOf = [8]uint8{valueString: wireLen, valueBool: wireVarint, valueInt: wireVarint, valueDouble: wireI64, valueArray: wireLen, valueKVList: wireLen, valueBytes: wireLen}

func readValue(p []byte) (v value, err error) {
	for i := 0; i < len(p); {
		f, err := next(p, i)
		if err != nil {
			return v, err
		}
		if f.num <= valueBytes {
			if f.typ != wireOf[f.num] {
				return v, errType
			}
			v.num, v.n, v.data = f.num, f.n, nil
			if f.typ == wireLen {
				v.data = p[f.lo:f.hi]
			}
		}
		i = f.hi
	}
	return v, nil
}

// keyValue reads the fields of a KeyValue, in either order. The two layouts that exporters write, both of short fields, go first.
func keyValue(p []byte) (key, val []byte, err error) {
	if len(p) >= 4 && p[1] < 0x80 {
		if n := 2 + int(p[1]); n+2 <= len(p) && p[n+1] < 0x80 && n+2+int(p[n+1]) == len(p) {
			switch uint16(p[0])<<8 | uint16(p[n]) {
			case tagKey<<8 | tagValue:
				return p[2:n], p[n+2:], nil
			case tagValue<<8 | tagKey:
				return p[n+2:], p[2:n], nil
			}
		}
	}
	return anyKeyValue(p)
}

func anyKeyValue(p []byte) (key, val []byte, err error) {
	for i := 0; i < len(p); {
		f, err := next(p, i)
		if err != nil {
			return nil, nil, err
		}
		switch f.num {
		case 1, 2:
			if f.typ != wireLen {
				return nil, nil, errType
			}
			if f.num == 1 {
				key = p[f.lo:f.hi]
			} else if f.hi > f.lo || val == nil { // an empty one that follows changes nothing
				val = p[f.lo:f.hi]
			}
		}
		i = f.hi
	}
	return key, val, nil
}

// attribute adds an attribute of a span, when it is kept. One that is not is read all the same: the same spans count either way.
func (d *Decoder) attribute(p []byte) error {
	key, val, err := keyValue(p)
	if err != nil {
		return err
	}
	k := d.key(key)
	if len(val) >= 2 {
		switch val[0] { // a value of one field, as all are but by accident
		case valueString<<3 | wireLen:
			if val[1] < 0x80 && int(val[1]) == len(val)-2 {
				if k != model.AttrNone {
					d.b.AddText(k, valid(val[2:]))
				}
				return nil
			}
		case valueInt<<3 | wireVarint:
			if n, at, err := varint(val, 1); err == nil && at == len(val) {
				d.b.AddInt(k, int64(n))
				return nil
			}
		case valueDouble<<3 | wireI64:
			if len(val) == 9 {
				d.b.AddFloat(k, math.Float64frombits(binary.LittleEndian.Uint64(val[1:])))
				return nil
			}
		}
	}
	return d.value(k, val)
}

// value adds the value of any type to a span.
func (d *Decoder) value(k model.AttrKey, val []byte) error {
	v, err := readValue(val)
	if err != nil {
		return err
	}
	if v.num == valueArray || v.num == valueKVList {
		switch err := checkNesting(v, 1); {
		case err == errDeep:
			d.tooDeep = true
			return nil
		case err != nil:
			return err
		}
	}
	if k == model.AttrNone {
		return nil
	}
	switch v.num {
	case 0:
	case valueString:
		d.b.AddText(k, valid(v.data))
	case valueInt:
		d.b.AddInt(k, int64(v.n))
	case valueDouble:
		d.b.AddFloat(k, math.Float64frombits(v.n))
	case valueBool:
		d.b.AddBool(k, v.n != 0)
	case valueBytes:
		d.scratch = base64.StdEncoding.AppendEncode(d.scratch[:0], v.data)
		d.b.AddText(k, d.scratch)
	default:
		d.scratch = appendJSON(d.scratch[:0], v)
		d.b.AddJSON(k, d.scratch)
	}
	return nil
}

// checkNesting walks an array or list: it must be well-formed and nest at most maxDepth deep. depth is that of v.
func checkNesting(v value, depth int) error {
	if v.num != valueArray && v.num != valueKVList {
		return nil
	}
	if depth > maxDepth {
		return errDeep
	}
	for i := 0; i < len(v.data); {
		f, err := next(v.data, i)
		if err != nil {
			return err
		}
		i = f.hi
		if f.num != 1 {
			continue
		}
		if f.typ != wireLen {
			return errType
		}
		item := v.data[f.lo:f.hi]
		if v.num == valueKVList {
			if _, item, err = keyValue(item); err != nil {
				return err
			}
		}
		inner, err := readValue(item)
		if err != nil {
			return err
		}
		if err := checkNesting(inner, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// appendJSON appends a value as compact JSON: bytes as base64, as in OTLP JSON. checkNesting has passed, so nothing in it is broken.
func appendJSON(dst []byte, v value) []byte {
	switch v.num {
	case valueString:
		return jsontext.AppendQuote(dst, v.data)
	case valueBool:
		return strconv.AppendBool(dst, v.n != 0)
	case valueInt:
		return strconv.AppendInt(dst, int64(v.n), 10)
	case valueDouble:
		return jsontext.AppendFloat(dst, math.Float64frombits(v.n))
	case valueBytes:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v.data), '"')
	case valueArray, valueKVList:
		return appendItems(dst, v)
	}
	return append(dst, "null"...)
}

func appendItems(dst []byte, v value) []byte {
	brackets := "[]"
	if v.num == valueKVList {
		brackets = "{}"
	}
	dst = append(dst, brackets[0])
	for i, n := 0, 0; i < len(v.data); {
		f, err := next(v.data, i)
		if err != nil {
			break
		}
		i = f.hi
		if f.num != 1 {
			continue
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		n++
		item := v.data[f.lo:f.hi]
		if v.num == valueArray {
			inner, _ := readValue(item)
			dst = appendJSON(dst, inner)
			continue
		}
		key, item, _ := keyValue(item)
		inner, _ := readValue(item)
		dst = appendJSON(append(jsontext.AppendQuote(dst, key), ':'), inner)
	}
	return append(dst, brackets[1])
}

// valid is text as UTF-8: bytes that are not become U+FFFD.
func valid(s []byte) []byte {
	if ascii(s) || utf8.Valid(s) {
		return s
	}
	return bytes.ToValidUTF8(s, []byte("\uFFFD"))
}

// ascii reports whether s is ASCII: texts are short, and nearly all are.
func ascii(s []byte) bool {
	var all uint64
	switch n := len(s); {
	case n >= 8:
		for i := 0; i < n-8; i += 8 {
			all |= binary.LittleEndian.Uint64(s[i:])
		}
		all |= binary.LittleEndian.Uint64(s[n-8:])
	case n >= 4:
		all = uint64(binary.LittleEndian.Uint32(s) | binary.LittleEndian.Uint32(s[n-4:]))
	case n > 0:
		all = uint64(s[0] | s[n/2] | s[n-1])
	}
	return all&0x8080808080808080 == 0
}
