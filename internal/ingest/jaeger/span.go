package jaeger

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A span is what is known of the span that is read now beside its record.
type span struct {
	refs     []reference
	duration int64 // ns
	closed   bool  // a duration was written
	scope    model.StrID
	library  model.StrID  // the scope, as older exporters call it
	old      model.SpanID // parentSpanID, deprecated
	proc     int32
	named    bool // it has an id or a name
	problem  error
	late     string // a time that does not fit
}

// A reference is a link to another span.
type reference struct {
	trace   model.TraceID
	id      model.SpanID
	follows bool // FOLLOWS_FROM; otherwise CHILD_OF, the default
}

// readSpan reads one span. Keys that do not count (flags, logs) are skipped.
func (d *Decoder) readSpan() {
	s := &d.s
	if s.Kind() == jsonscan.Null {
		s.Skip()
		return
	}
	pos, line := s.Pos(), s.Line()
	if !s.Object() {
		if s.Err() == nil {
			d.skip(pos, line, errors.New("span: want an object"))
		}
		return
	}
	r := d.b.Begin()
	r.File, r.Pos = d.blk.File, d.line(line)
	d.span = span{refs: d.span.refs[:0], proc: noProc}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		d.member(r, key)
	}
	sp := &d.span
	if s.Err() != nil { // the rest of it cannot be read
		d.b.Drop()
		return
	}
	if !sp.named && sp.problem == nil {
		sp.problem = errors.New("neither spanID nor operationName")
	}
	if sp.problem != nil {
		d.b.Drop()
		d.skip(pos, line, fmt.Errorf("span: %w", sp.problem))
		return
	}
	d.finish(r)
	d.b.End()
	d.trace.procOf = append(d.trace.procOf, sp.proc)
	if sp.late != "" {
		d.rep.Problem(r.Pos, d.offset(pos), fmt.Errorf("span: %s is past the year 2262; left out", sp.late))
	}
}

// member reads the value of a key of a span.
func (d *Decoder) member(r *model.Record, key []byte) {
	s, sp := &d.s, &d.span
	switch string(key) {
	case "traceID", "traceId":
		if t, ok := d.id("trace id"); ok {
			r.Trace = decode.TraceID(d.b.Names, t)
		}
	case "spanID", "spanId":
		sp.named = true
		if t, ok := d.id("span id"); ok {
			r.ID = decode.SpanID(d.b.Names, t)
		}
	case "parentSpanID", "parentSpanId":
		if t, ok := d.id("parent span id"); ok {
			sp.old = decode.SpanID(d.b.Names, t)
		}
	case "operationName":
		sp.named = true
		if t, ok := s.Text(); ok {
			r.Name = d.name(t)
		}
	case "startTime":
		r.Start = model.Time(d.start())
	case "duration":
		sp.duration, sp.closed = d.length()
	case "references":
		d.references()
	case "tags":
		d.tags(r)
	case "tag":
		d.tagMap(r)
	case "processID", "processId":
		if t, ok := s.Text(); ok && len(t) > 0 && sp.proc != inlineProc {
			sp.proc = d.trace.proc(d.name(t))
		}
	case "process":
		if s.Kind() != jsonscan.Object {
			s.Skip()
		} else if raw := s.Raw(); s.Err() == nil {
			r.Res, sp.proc = d.resource(raw), inlineProc
		}
	case "warnings":
		d.warnings()
	default:
		s.Skip()
	}
}

// finish makes the end and the parent of a span, when all of it has been read.
func (d *Decoder) finish(r *model.Record) {
	sp := &d.span
	if sp.closed {
		end, ok := add(int64(r.Start), sp.duration)
		if !ok {
			sp.late = "end"
		}
		r.End = model.Time(end)
	}
	if r.Scope = sp.scope; r.Scope == 0 {
		r.Scope = sp.library
	}
	// The first CHILD_OF in the same trace is the parent; without one the deprecated parentSpanID, which meant the same; without that the
	// first FOLLOWS_FROM in the same trace, if the trace has that span. The others are links (R6.4).
	var follows model.SpanID
	for i := range sp.refs {
		switch ref := &sp.refs[i]; {
		case ref.id.IsZero() || !ref.trace.IsZero() && !r.Trace.IsZero() && ref.trace != r.Trace:
		case !ref.follows:
			r.Parent = ref.id
			return
		case follows.IsZero():
			follows = ref.id
		}
	}
	switch {
	case !sp.old.IsZero():
		r.Parent = sp.old
	case follows.IsZero():
	case d.trace.alone: // the other spans are documents of their own
		r.Parent = follows
	default:
		d.trace.follows = append(d.trace.follows, follow{len(d.b.Records) - 1, follows})
	}
}

// references reads [{"refType":"CHILD_OF","traceID":…,"spanID":…}].
func (d *Decoder) references() {
	s := &d.s
	if !s.Array() {
		return
	}
	for s.Elem() {
		if d.fastReference() {
			continue
		}
		var ref reference
		if !s.Object() {
			continue
		}
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			switch string(key) {
			case "refType":
				if s.Kind() == jsonscan.Number { // the enum's number
					n, _ := s.Int()
					ref.follows = n == 1
				} else if t, ok := s.Text(); ok {
					ref.follows = string(t) == "FOLLOWS_FROM"
				}
			case "traceID", "traceId":
				if t, ok := s.Text(); ok {
					ref.trace = decode.TraceID(d.b.Names, t)
				}
			case "spanID", "spanId":
				if t, ok := s.Text(); ok {
					ref.id = decode.SpanID(d.b.Names, t)
				}
			default:
				s.Skip()
			}
		}
		d.span.refs = append(d.span.refs, ref)
	}
}

func (d *Decoder) wrong(what string, err error) {
	if d.span.problem == nil {
		d.span.problem = fmt.Errorf("%s: %w", what, err)
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

// start reads an instant: µs since the epoch, or RFC 3339. 0 and null are none.
func (d *Decoder) start() int64 {
	const what = "start time"
	if d.s.Kind() == jsonscan.String {
		t, _ := d.s.Text()
		if len(t) == 0 {
			return 0
		}
		if when, err := time.Parse(time.RFC3339Nano, string(t)); err == nil {
			if y := when.UTC().Year(); y < 1970 || y > 2261 {
				d.span.late = what
				return 0
			}
			return when.UnixNano()
		}
		return d.micros(what, t)
	}
	if d.s.Kind() == jsonscan.Null {
		d.s.Skip()
		return 0
	}
	return d.micros(what, d.s.Raw())
}

// length reads a duration: µs, or text with a unit ("5000ns", "0.009054058s"). false: none was written.
func (d *Decoder) length() (ns int64, ok bool) {
	const what = "duration"
	switch d.s.Kind() {
	case jsonscan.Null:
		d.s.Skip()
		return 0, false
	case jsonscan.String:
		t, _ := d.s.Text()
		if len(t) > 0 && t[len(t)-1] == 's' {
			dur, err := time.ParseDuration(string(t))
			if err != nil {
				d.wrong(what, errors.New("want a number with a unit"))
			}
			return int64(dur), true
		}
		ns = d.micros(what, t)
	default:
		ns = d.micros(what, d.s.Raw())
	}
	return ns, d.span.late != what
}

// micros reads a number of µs that is not negative, as ns: exact where it is written without an exponent, cut to ns.
func (d *Decoder) micros(what string, t []byte) int64 {
	n, err := microseconds(t)
	switch {
	case err == jsonscan.ErrRange:
		d.span.late = what
		return 0
	case err != nil:
		d.wrong(what, err)
	case n < 0:
		d.wrong(what, errors.New("negative"))
	}
	return n
}

// microseconds reads a decimal number and returns a thousand times of it.
func microseconds(t []byte) (int64, error) {
	const most = math.MaxInt64/10 - 1
	n, places := int64(0), 0 // places behind the point, from 1 on at the point itself
	for i, c := range t {
		switch {
		case c >= '0' && c <= '9':
			if places > 3 {
				continue // less than a ns
			}
			if n > most {
				return 0, jsonscan.ErrRange
			}
			n = n*10 + int64(c-'0')
			if places > 0 {
				places++
			}
		case c == '.' && places == 0 && i > 0:
			places = 1
		default: // a sign, an exponent
			n, err := jsonscan.ParseInt(t)
			if err == nil && n > math.MaxInt64/1000 {
				err = jsonscan.ErrRange
			}
			return n * 1000, err
		}
	}
	if len(t) == 0 {
		return 0, jsonscan.ErrNumber
	}
	for ; places < 4; places = max(places, 1) + 1 {
		if n > most {
			return 0, jsonscan.ErrRange
		}
		n *= 10
	}
	return n, nil
}

// add is a+b, false when that does not fit.
func add(a, b int64) (int64, bool) {
	if c := a + b; (c > a) == (b > 0) {
		return c, true
	}
	return 0, false
}
