package otlpproto

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Tags of the fields of Span and Status that count. The others (trace state, dropped counts, events, links, flags) are skipped.
const (
	tagTraceID  = 1<<3 | wireLen
	tagSpanID   = 2<<3 | wireLen
	tagParentID = 4<<3 | wireLen
	tagName     = 5<<3 | wireLen
	tagKind     = 6<<3 | wireVarint
	tagStart    = 7<<3 | wireI64
	tagEnd      = 8<<3 | wireI64
	tagAttr     = 9<<3 | wireLen
	tagStatus   = 15<<3 | wireLen
	tagFlags    = 16<<3 | wireI32 // of two bytes

	statusCode  = 3 // 1 was deprecated_code, 2 is the message
	statusError = 2
)

// span decodes one span. false: the message turns out to hold another signal, so the rest of it is of no use.
func (d *Decoder) span(p []byte, at int) bool {
	r := d.b.Begin()
	r.File, r.Pos = d.blk.File, d.blk.Offset+int64(at)
	d.tooDeep, d.badTimes = false, false
	if err := d.spanFields(r, p); err != nil {
		d.b.Drop()
		if d.spans == 0 {
			if d.signal = signalOf(p); d.signal != "" {
				d.rep.Signal(d.signal)
				return false
			}
		}
		d.skip(at, fmt.Errorf("span: %w", err))
		return true
	}
	d.b.End()
	d.spans++
	if d.tooDeep {
		d.rep.Problem(0, r.Pos, fmt.Errorf("span: an attribute nests deeper than %d levels; left out", maxDepth))
	}
	if d.badTimes {
		d.rep.Problem(0, r.Pos, fmt.Errorf("span: a time is past the year 2262; left out"))
	}
	return true
}

func (d *Decoder) spanFields(r *model.Record, p []byte) error {
	for i := 0; i < len(p); {
		tag := p[i]
		var f field
		switch {
		case tag&7 == wireLen && tag < 0x80 && i+1 < len(p) && p[i+1] < 0x80: // a short field, as nearly all are
			if f.lo = i + 2; int(p[i+1]) > len(p)-f.lo {
				return errShort
			}
			f.num, f.typ, f.hi = uint64(tag>>3), wireLen, f.lo+int(p[i+1])
		case tag&7 == wireI64 && len(p)-i >= 9 && tag < 0x80:
			f.num, f.typ, f.hi = uint64(tag>>3), wireI64, i+9
			f.n = binary.LittleEndian.Uint64(p[i+1:])
		case tag == tagKind && i+1 < len(p) && p[i+1] < 0x80:
			f.n, f.hi = uint64(p[i+1]), i+2
		case tag == tagFlags&0x7f|0x80 && len(p)-i >= 6 && p[i+1] == tagFlags>>7:
			i += 6
			continue
		default:
			var err error
			if f, err = next(p, i); err != nil {
				return err
			}
			if tag = 0; f.num <= 15 {
				tag = uint8(f.num)<<3 | f.typ
			}
		}
		i = f.hi
		var err error
		switch tag {
		case tagAttr:
			if err := d.attribute(p[f.lo:f.hi]); err != nil {
				return fmt.Errorf("attribute: %w", err)
			}
		case tagTraceID:
			r.Trace, err = traceID(p[f.lo:f.hi])
		case tagSpanID:
			r.ID, err = spanID(p[f.lo:f.hi], "span")
		case tagParentID:
			r.Parent, err = spanID(p[f.lo:f.hi], "parent span")
		case tagName:
			r.Name = d.name(p[f.lo:f.hi])
		case tagKind:
			if r.Kind = 0; f.n <= uint64(model.KindConsumer) {
				r.Kind = model.SpanKind(f.n)
			}
		case tagStart:
			r.Start = d.time(f.n)
		case tagEnd:
			r.End = d.time(f.n)
		case tagStatus:
			if err := status(r, p[f.lo:f.hi]); err != nil {
				return fmt.Errorf("status: %w", err)
			}
		default:
			switch f.num {
			case 0:
				err = errTag
			case 1, 2, 4, 5, 6, 7, 8, 9, 15:
				err = errType
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// time is a fixed64 of ns since the epoch; what does not fit an instant counts as unset.
func (d *Decoder) time(n uint64) model.Time {
	if n > math.MaxInt64 {
		d.badTimes = true
		return 0
	}
	return model.Time(n)
}

// An idError is an id of a wrong length. A length is no payload (R3.6).
type idError struct {
	what string
	n    int
	want int
}

func (e *idError) Error() string {
	return fmt.Sprintf("%s id: want %d bytes, have %d", e.what, e.want, e.n)
}

func traceID(p []byte) (model.TraceID, error) {
	switch len(p) {
	case 16:
		return model.TraceID{Hi: binary.BigEndian.Uint64(p), Lo: binary.BigEndian.Uint64(p[8:])}, nil
	case 0:
		return model.TraceID{}, nil
	}
	return model.TraceID{}, &idError{"trace", len(p), 16}
}

func spanID(p []byte, what string) (model.SpanID, error) {
	switch len(p) {
	case 8:
		return model.HexID(binary.BigEndian.Uint64(p)), nil
	case 0:
		return model.SpanID{}, nil
	}
	return model.SpanID{}, &idError{what, len(p), 8}
}

// status marks the record when the code of a Status is ERROR.
func status(r *model.Record, p []byte) error {
	for i := 0; i < len(p); {
		f, err := next(p, i)
		if err != nil {
			return err
		}
		if f.num == statusCode {
			if f.typ != wireVarint {
				return errType
			}
			if r.Flags &^= model.RecordError; f.n == statusError {
				r.Flags |= model.RecordError
			}
		}
		i = f.hi
	}
	return nil
}

// signalOf names the signal of what stands where a span was to be: MetricsData, LogsData and ProfilesData have the same upper levels as
// TracesData, and a collector writes them all into one file. "" when it is none of them.
func signalOf(p []byte) string {
	var name bool
	var data int
	for i := 0; i < len(p); {
		f, err := next(p, i)
		if err != nil {
			return ""
		}
		switch f.typ {
		case wireI64:
			switch f.num {
			case 1, 11: // time and observed time of a LogRecord
				return "logs"
			case 3: // time of a Profile
				return "profiles"
			}
			return ""
		case wireLen:
			switch f.num {
			case 1:
				name = f.hi > f.lo
			case 5, 7, 9, 10, 11: // gauge, sum, histogram, exponential histogram, summary: one of them
				if !isMetricData(p[f.lo:f.hi]) {
					return ""
				}
				data++
			}
		}
		i = f.hi
	}
	if name && data == 1 {
		return "metrics"
	}
	return ""
}

// isMetricData reports whether p has the fields of a Gauge, Sum, Histogram or Summary: points, and numbers for what kind of sum they are.
func isMetricData(p []byte) bool {
	for i := 0; i < len(p); {
		f, err := next(p, i)
		if err != nil || f.num == 1 && f.typ != wireLen || f.num > 1 && f.typ != wireVarint {
			return false
		}
		i = f.hi
	}
	return true
}
