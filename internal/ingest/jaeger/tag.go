package jaeger

import (
	"bytes"
	"strconv"

	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A tagType is the declared type of a tag. Values may be written otherwise: numbers and truths as text in stored documents.
type tagType uint8

const (
	typeNone tagType = iota // undeclared: the value's own
	typeText
	typeBool
	typeInt
	typeFloat
)

// Tags that are facts of a span and no attributes stand above all attribute keys.
const (
	tagKind    = model.AttrKey(1<<32-1) - iota // span.kind
	tagError                                   // error
	tagStatus                                  // otel.status_code
	tagScope                                   // otel.scope.name
	tagLibrary                                 // otel.library.name, of older exporters
	tagDropped                                 // of no use here: versions, formats, trace state
	tagLowest
)

var factTags = map[string]model.AttrKey{
	"span.kind": tagKind, "error": tagError, "otel.status_code": tagStatus, "otel.scope.name": tagScope, "otel.library.name": tagLibrary,
	"otel.scope.version": tagDropped, "otel.library.version": tagDropped, "internal.span.format": tagDropped, "w3c.tracestate": tagDropped,
}

// tagKey is the key of a tag: a fact, an attribute that is kept, or AttrNone.
func (d *Decoder) tagKey(name []byte) model.AttrKey {
	k, ok := d.keys.Find(name)
	if !ok {
		if k, ok = factTags[string(name)]; !ok {
			k = d.b.Wants(name)
		}
		d.keys.Keep(name, k)
	}
	return k
}

// A member is what a key of a tag's object says.
type member uint8

const (
	memberOther member = iota
	memberKey
	memberType
	memberValue
	memberText  // vStr
	memberBool  // vBool
	memberInt   // vInt64
	memberFloat // vFloat64
	memberBytes // vBinary
)

func memberOf(key []byte) member {
	switch string(key) {
	case "key":
		return memberKey
	case "type", "vType":
		return memberType
	case "value":
		return memberValue
	case "vStr":
		return memberText
	case "vBool":
		return memberBool
	case "vInt64":
		return memberInt
	case "vFloat64":
		return memberFloat
	case "vBinary":
		return memberBytes
	}
	return memberOther
}

func readType(s *jsonscan.Scanner) tagType {
	if s.Kind() == jsonscan.Number { // the enum's number
		switch n, _ := s.Int(); n {
		case 1:
			return typeBool
		case 2:
			return typeInt
		case 3:
			return typeFloat
		}
		return typeText
	}
	t, _ := s.Text()
	switch string(t) {
	case "bool", "BOOL":
		return typeBool
	case "int64", "INT64":
		return typeInt
	case "float64", "FLOAT64":
		return typeFloat
	case "string", "STRING", "binary", "BINARY":
		return typeText
	}
	return typeNone
}

// tags reads the tags of a span.
func (d *Decoder) tags(r *model.Record) {
	if !d.s.Array() {
		return
	}
	for d.s.Elem() {
		if !d.fastTag(r) {
			d.tag(r)
		}
	}
}

// tag reads {"key":…,"type":…,"value":…} or {"key":…,"vType":…,"vInt64":…}. A value that stands before its key or type is read again when
// both are known.
func (d *Decoder) tag(r *model.Record) {
	s := &d.s
	if !s.Object() {
		return
	}
	k, known, typ, typed, done := model.AttrNone, false, typeNone, false, false
	var raw []byte
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch m := memberOf(key); m {
		case memberKey:
			if t, ok := s.Text(); ok {
				k, known = d.tagKey(t), true
			}
		case memberType:
			typ, typed = readType(s), true
		case memberOther:
			s.Skip()
		default:
			switch m {
			case memberText, memberBytes:
				typ, typed = typeText, true
			case memberBool:
				typ, typed = typeBool, true
			case memberInt:
				typ, typed = typeInt, true
			case memberFloat:
				typ, typed = typeFloat, true
			}
			done = true
			if known && typed {
				d.put(r, s, k, typ)
			} else {
				raw = s.Raw()
			}
		}
	}
	switch {
	case s.Err() != nil || !known:
	case raw != nil:
		d.again.Reset(raw)
		d.put(r, &d.again, k, typ)
	case !done && k != model.AttrNone: // protobuf leaves the default of a type out
		d.again.Reset([]byte([...]string{typeText: `""`, typeNone: `""`, typeBool: "false", typeInt: "0", typeFloat: "0"}[typ]))
		d.put(r, &d.again, k, typ)
	}
}

// tagMap reads the tags that Elasticsearch holds as fields: {"http@status_code":200}.
func (d *Decoder) tagMap(r *model.Record) {
	s := &d.s
	if !s.Object() {
		return
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		d.put(r, s, d.tagKey([]byte(dotted(key))), typeNone)
	}
}

// put reads a value: a fact of the span, or an attribute that is kept.
func (d *Decoder) put(r *model.Record, s *jsonscan.Scanner, k model.AttrKey, typ tagType) {
	if k == model.AttrNone || k == tagDropped {
		s.Skip()
		return
	}
	switch s.Kind() {
	case jsonscan.String:
		if t, ok := s.Text(); ok {
			d.putText(r, k, typ, t)
		}
	case jsonscan.Number:
		if raw := s.Raw(); k < tagLowest {
			d.putNumber(k, typ, raw)
		}
	case jsonscan.Bool:
		v, _ := s.Bool()
		d.putBool(r, k, v)
	case jsonscan.Object, jsonscan.Array:
		if k > tagLowest {
			s.Skip()
			return
		}
		d.text = s.AppendCompact(d.text[:0])
		if s.Err() == nil {
			d.b.AddJSON(k, d.text)
		}
	default:
		s.Skip()
	}
}

// putText takes a text: a fact of the span, or an attribute of its declared type.
func (d *Decoder) putText(r *model.Record, k model.AttrKey, typ tagType, t []byte) {
	switch k {
	case model.AttrNone, tagDropped:
		return
	case tagKind:
		r.Kind = kindOf(t)
		return
	case tagError: // a truth as text; another text is an attribute and no error, as for Jaeger's UI
		switch string(t) {
		case "true", "True":
			r.Flags |= model.RecordError
		case "false", "False", "":
		default:
			d.b.AddText(d.b.Wants([]byte("error")), t)
		}
		return
	case tagStatus:
		if string(t) == "ERROR" {
			r.Flags |= model.RecordError
		}
		return
	case tagScope:
		d.span.scope = d.name(t)
		return
	case tagLibrary:
		d.span.library = d.name(t)
		return
	}
	switch typ {
	case typeInt:
		if n, err := jsonscan.ParseInt(t); err == nil {
			d.b.AddInt(k, n)
			return
		}
	case typeFloat:
		if f, err := strconv.ParseFloat(string(t), 64); err == nil {
			d.b.AddFloat(k, f)
			return
		}
	case typeBool:
		switch string(t) {
		case "true", "True":
			d.b.AddBool(k, true)
			return
		case "false", "False":
			d.b.AddBool(k, false)
			return
		}
	}
	d.b.AddText(k, t)
}

// putNumber adds a number, never through a float when it is an integer.
func (d *Decoder) putNumber(k model.AttrKey, typ tagType, raw []byte) {
	whole := isInteger(raw)
	if typ == typeInt || typ != typeFloat && whole {
		if n, err := jsonscan.ParseInt(raw); err == nil {
			d.b.AddInt(k, n)
			return
		}
	}
	if typ == typeFloat || !whole {
		if f, err := strconv.ParseFloat(string(raw), 64); err == nil {
			d.b.AddFloat(k, f)
			return
		}
	}
	d.b.AddText(k, raw)
}

func (d *Decoder) putBool(r *model.Record, k model.AttrKey, v bool) {
	switch {
	case k == tagError && v:
		r.Flags |= model.RecordError
	case k < tagLowest:
		d.b.AddBool(k, v)
	}
}

func kindOf(t []byte) model.SpanKind {
	switch string(t) {
	case "internal":
		return 1
	case "server":
		return model.KindServer
	case "client":
		return model.KindClient
	case "producer":
		return model.KindProducer
	case "consumer":
		return model.KindConsumer
	}
	return 0
}

// isInteger reports whether a number is written without a fraction or exponent.
func isInteger(raw []byte) bool { return !bytes.ContainsAny(raw, ".eENI") }
