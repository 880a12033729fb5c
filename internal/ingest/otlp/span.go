package otlp

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

const statusError = 2

// span reads one span. Keys that do not count (trace state, events, links, counts of what was dropped) are skipped.
func (d *Decoder) span() {
	s := &d.s
	if s.Kind() == jsonscan.Null { // an element that is no span
		s.Skip()
		return
	}
	pos, line := s.Pos(), s.Line()
	if !s.Object() {
		if s.Err() == nil {
			d.rep.Skip(d.line(line), d.offset(pos), errors.New("span: want an object"))
		}
		return
	}
	r := d.b.Begin()
	r.File, r.Pos, r.Res, r.Scope = d.blk.File, d.line(line), d.res, d.scope
	d.problem, d.late = nil, ""
	if !d.general && d.exact(r) {
		d.b.End()
		return
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "traceId", "trace_id":
			if t, ok := d.id("trace id"); ok {
				r.Trace = decode.TraceID(d.b.Names, t)
			}
		case "spanId", "span_id":
			if t, ok := d.id("span id"); ok {
				r.ID = decode.SpanID(d.b.Names, t)
			}
		case "parentSpanId", "parent_span_id":
			if t, ok := d.id("parent span id"); ok {
				r.Parent = decode.SpanID(d.b.Names, t)
			}
		case "name":
			if t, ok := s.Text(); ok {
				r.Name = d.name(t)
			}
		case "kind":
			r.Kind = d.kind()
		case "startTimeUnixNano", "start_time_unix_nano":
			r.Start = d.time("start time")
		case "endTimeUnixNano", "end_time_unix_nano":
			r.End = d.time("end time")
		case "attributes":
			d.attributes()
		case "status":
			if d.failed() {
				r.Flags |= model.RecordError
			}
		default:
			s.Skip()
		}
	}
	if d.problem != nil {
		d.b.Drop()
		d.spellings.forgetValues()
		d.rep.Skip(d.line(line), d.offset(pos), fmt.Errorf("span: %w", d.problem))
		return
	}
	d.b.End()
	if d.late != "" {
		d.rep.Problem(r.Pos, d.offset(pos), fmt.Errorf("span: %s is past the year 2262; left out", d.late))
	}
}

func (d *Decoder) wrong(what string, err error) {
	if d.problem == nil {
		d.problem = fmt.Errorf("%s: %w", what, err)
	}
}

var errText = errors.New("want text")

// id reads the text of an id. null is none.
func (d *Decoder) id(what string) ([]byte, bool) {
	if k := d.s.Kind(); k != jsonscan.String && k != jsonscan.Null {
		d.wrong(what, errText)
	}
	return d.s.Text()
}

// time reads ns since the epoch; 0 and null are none.
func (d *Decoder) time(what string) model.Time {
	n, err := d.s.Int()
	switch {
	case err == jsonscan.ErrRange:
		d.late = what
		return 0
	case err != nil && err != jsonscan.ErrNull:
		d.wrong(what, err)
	case n < 0:
		d.wrong(what, errors.New("negative"))
	}
	return model.Time(n)
}

// enum reads a number, a number as text, or a name.
func (d *Decoder) enum() (n int64, name []byte) {
	if d.s.Kind() == jsonscan.String {
		t, _ := d.s.Text()
		if n, err := jsonscan.ParseInt(t); err == nil {
			return n, nil
		}
		return 0, t
	}
	n, err := d.s.Int()
	if err != nil {
		return 0, nil
	}
	return n, nil
}

// kind reads a SpanKind; one that is unknown is unspecified.
func (d *Decoder) kind() model.SpanKind {
	n, name := d.enum()
	switch string(bytes.TrimPrefix(name, []byte("SPAN_KIND_"))) {
	case "":
		if n < 0 || n > int64(model.KindConsumer) {
			n = 0
		}
		return model.SpanKind(n)
	case "INTERNAL":
		return 1
	case "SERVER":
		return model.KindServer
	case "CLIENT":
		return model.KindClient
	case "PRODUCER":
		return model.KindProducer
	case "CONSUMER":
		return model.KindConsumer
	}
	return 0
}

// failed reads a Status. Its deprecatedCode is another scale and does not count.
func (d *Decoder) failed() (failed bool) {
	s := &d.s
	if !s.Object() {
		return false
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if string(key) != "code" {
			s.Skip()
			continue
		}
		n, name := d.enum()
		failed = n == statusError || string(name) == "STATUS_CODE_ERROR"
	}
	return failed
}
