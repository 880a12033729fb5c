package otlp

import (
	"math"

	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
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
	if s.Exact(`,"attributes":`) {
		d.attributes()
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

// exactAttribute reads a KeyValue as the collector writes it, and reports whether it was one; otherwise nothing was read.
func (d *Decoder) exactAttribute() bool {
	s := &d.s
	m := s.Mark()
	if s.Exact(`{"key":"`) {
		if key, ok := s.Plain(); ok {
			if k := d.key(key); s.Exact(`,"value":{"`) && d.exactValue(s, k) {
				return true
			}
		}
		s.Return(m)
	}
	return false
}

// exactValue reads what is left of an AnyValue and its KeyValue, and adds it as k.
func (d *Decoder) exactValue(s *jsonscan.Scanner, k model.AttrKey) bool {
	switch s.Byte() {
	case 's':
		if !s.Exact(`stringValue":"`) {
			return false
		}
		text, ok := s.Plain()
		if !ok || !s.Exact(`}}`) {
			return false
		}
		if k != model.AttrNone {
			d.b.AddText(k, text)
		}
		return true
	case 'i':
		if !s.Exact(`intValue":"`) {
			return false
		}
		n, ok := s.Digits()
		if !ok || n > math.MaxInt64 || !s.Exact(`"}}`) {
			return false
		}
		if k != model.AttrNone {
			d.b.AddInt(k, int64(n))
		}
		return true
	case 'd':
		if !s.Exact(`doubleValue":`) || s.Byte() == '"' {
			return false
		}
		f, err := s.Float()
		if err != nil || !s.Exact(`}}`) {
			return false
		}
		if k != model.AttrNone {
			d.b.AddFloat(k, f)
		}
		return true
	case 'b':
		switch {
		case s.Exact(`boolValue":true}}`):
			d.b.AddBool(k, true)
		case s.Exact(`boolValue":false}}`):
			d.b.AddBool(k, false)
		default:
			return false
		}
		return true
	}
	return false
}
