package otlp

import (
	"math"

	"github.com/cbtrace/cbtrace/internal/model"
)

// exact reads the members of a span from its beginning on for as long as they stand as the collector and most SDKs write them: this order,
// no white space, hex ids, times as text. Whatever differs is left to span, which reads the rest of the members, or all of them.
func (d *Decoder) exact(r *model.Record) {
	s := &d.s
	m := s.Mark()
	if s.Exact(`"traceId":"`) {
		high, ok1 := s.Hex()
		low, ok2 := s.Hex()
		if !ok1 || !ok2 || !s.Exact(`"`) {
			s.Return(m)
			return
		}
		r.Trace = model.TraceID{Hi: high, Lo: low}
	}
	m = s.Mark()
	if s.Exact(`,"spanId":"`) {
		id, ok := s.Hex()
		if !ok || !s.Exact(`"`) {
			s.Return(m)
			return
		}
		r.ID = model.HexID(id)
	}
	m = s.Mark()
	if s.Exact(`,"parentSpanId":"`) {
		id, _ := s.Hex()
		if !s.Exact(`"`) { // "" is no parent
			s.Return(m)
			return
		}
		r.Parent = model.HexID(id)
	}
	m = s.Mark()
	if s.Exact(`,"flags":`) {
		if _, ok := s.Digits(); !ok || s.Byte() != ',' {
			s.Return(m)
			return
		}
	}
	m = s.Mark()
	if s.Exact(`,"name":"`) {
		name, ok := s.Plain()
		if !ok {
			s.Return(m)
			return
		}
		r.Name = d.name(name)
	}
	m = s.Mark()
	if s.Exact(`,"kind":`) {
		n, ok := s.Digits()
		if !ok || s.Byte() != ',' {
			s.Return(m)
			return
		}
		if n <= uint64(model.KindConsumer) {
			r.Kind = model.SpanKind(n)
		}
	}
	if r.Start = d.exactTime(`,"startTimeUnixNano":"`); r.Start == 0 {
		return
	}
	if r.End = d.exactTime(`,"endTimeUnixNano":"`); r.End == 0 {
		return
	}
	if s.Exact(`,"attributes":`) && s.Array() {
		row := &d.rows[r.Name%model.StrID(len(d.rows))]
		for n := 0; s.Elem(); n++ {
			if n >= len(row) || !d.predicted(&row[n]) {
				d.attribute()
			}
		}
	}
	s.Exact(`,"status":{}`)
}

// exactTime reads a time as text; 0: there is none, or it is not spelled so.
func (d *Decoder) exactTime(key string) model.Time {
	s := &d.s
	m := s.Mark()
	if s.Exact(key) {
		if n, ok := s.Digits(); ok && n <= math.MaxInt64 && s.Exact(`"`) {
			return model.Time(n)
		}
		s.Return(m)
	}
	return 0
}

// A prediction is how an attribute begins: spans of one name have the same keys in the same order, nearly always.
type prediction struct {
	lead []byte // {"key":"request_id","value":{"stringValue":"
	key  model.AttrKey
	kind byte // the first letter of the type of the value
}

// A row predicts the attributes of spans whose names share it.
type row [24]prediction

// predicted reads a KeyValue as the collector writes it, and reports whether it was one; otherwise nothing was read.
// One that begins as p says needs no look at its key; where it begins otherwise, p learns.
func (d *Decoder) predicted(p *prediction) bool {
	s := &d.s
	m := s.Mark()
	if len(p.lead) == 0 || !s.ExactBytes(p.lead) {
		if !s.Exact(`{"key":"`) {
			return false
		}
		key, ok := s.Plain()
		if !ok || !s.Exact(`,"value":{"`) {
			s.Return(m)
			return false
		}
		switch p.kind = s.Byte(); p.kind {
		case 's':
			ok = s.Exact(`stringValue":"`)
		case 'i':
			ok = s.Exact(`intValue":"`)
		case 'd':
			ok = s.Exact(`doubleValue":`)
		case 'b':
			ok = s.Exact(`boolValue":`)
		default:
			ok = false
		}
		p.key, p.lead = d.key(key), append(p.lead[:0], s.Since(m)...)
		if !ok {
			p.lead = p.lead[:0]
			s.Return(m)
			return false
		}
	}
	if !d.exactValue(p.key, p.kind) {
		s.Return(m)
		return false
	}
	return true
}

// exactValue reads what is left of an AnyValue and its KeyValue, and adds it as k.
func (d *Decoder) exactValue(k model.AttrKey, kind byte) bool {
	s := &d.s
	switch kind {
	case 's':
		text, ok := s.Plain()
		if !ok || !s.Exact(`}}`) {
			return false
		}
		if k != model.AttrNone {
			d.b.AddText(k, text)
		}
	case 'i':
		n, ok := s.Digits()
		if !ok || n > math.MaxInt64 || !s.Exact(`"}}`) {
			return false
		}
		d.b.AddInt(k, int64(n))
	case 'd':
		if s.Byte() == '"' {
			return false
		}
		f, err := s.Float()
		if err != nil || !s.Exact(`}}`) {
			return false
		}
		d.b.AddFloat(k, f)
	default:
		switch {
		case s.Exact(`true}}`):
			d.b.AddBool(k, true)
		case s.Exact(`false}}`):
			d.b.AddBool(k, false)
		default:
			return false
		}
	}
	return true
}
