// Package otlp decodes OTLP JSON traces: TracesData as the collector's file exporter and SDKs write it, and the answers around it of Tempo
// (batches, {"trace":…}) and of Jaeger's api_v3 ({"result":…}).
//
// Keys come in any order, in camelCase or as in the protobuf file (snake_case), so the records of a resource or scope that stands after its
// spans are patched when it has been read. Numbers are read from their text, ids in any of the encodings of decode.TraceID. A span with
// something unreadable in it is skipped alone; a ResourceSpans with broken syntax is lost whole, what came before it in the value stays.
package otlp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A Decoder decodes blocks for one goroutine: it holds caches of what repeats. The zero value is ready.
type Decoder struct {
	Enough int // records in the batch, more than which are not begun before it is handed on; 0: a block

	s   jsonscan.Scanner
	blk *decode.Block
	b   *model.Batch
	rep *decode.Report

	caches
	res     model.ResID // of the spans that are read now
	scope   model.StrID
	problem error  // what is wrong with the span that is read now
	late    string // a time of it that does not fit
	text    []byte // text of a value under construction
	answer  answer
	general bool // for tests: no span is read by its spelling
}

// An answer is what the top level of a value said.
type answer struct {
	known, spans bool // it had a key that OTLP or an answer around it has; the list of spans
	partial      bool
	message      string
	failure      string
	keys         []string // the others
}

// Decode reads values until the end of the block, the first that is not OTLP, or the batch holds Enough records, and returns how far it came: n is
// len(blk.Data), or where the next value begins. A ResourceSpans that is broken is skipped and reported, and reading goes on after the value.
func (d *Decoder) Decode(blk decode.Block, b *model.Batch, rep *decode.Report) (n int) {
	d.blk, d.b, d.rep = &blk, b, rep
	defer func() { d.blk, d.b, d.rep = nil, nil, nil }()
	d.caches.bind(b, blk.Family)
	d.spellings.begin()
	s := &d.s
	s.Reset(blk.Data)
	for s.More() {
		start, line := s.Pos(), s.Line()
		mine := false
		switch s.Kind() {
		case jsonscan.Object:
			mine = d.value(start, line)
		case jsonscan.Array:
			mine = d.values(start, line)
		}
		if !mine {
			return start
		}
		if err := s.Err(); err != nil {
			d.broken(start, line, err)
		}
		if d.Enough > 0 && len(b.Records) >= d.Enough && s.More() {
			return s.Pos()
		}
	}
	return len(blk.Data)
}

// values reads the values of a top-level array. It is not ours when the first of them is not.
func (d *Decoder) values(start int, line int64) (mine bool) {
	s := &d.s
	s.Array()
	for n := 0; s.Elem(); n++ {
		at := s.Pos()
		if !d.value(at, s.Line()) {
			if n == 0 {
				return false
			}
			d.rep.Skip(d.line(line), d.offset(at), errors.New("an element that is no OTLP"))
		}
	}
	return true
}

// value reads one value, and says whether it is ours. One that breaks before anything is known of it is.
func (d *Decoder) value(start int, line int64) (mine bool) {
	a := &d.answer
	*a = answer{keys: a.keys[:0]}
	before := d.rep.Spans
	d.top(0)
	if !a.known && len(a.keys) > 0 && (d.s.Err() == nil || !errors.Is(d.s.Err(), jsonscan.ErrEnd)) {
		return false
	}
	if a.failure != "" {
		d.rep.Skip(d.line(line), d.offset(start), errors.New(a.failure))
	}
	if a.partial {
		note := "Tempo answered with a part of the trace only (PARTIAL)"
		if a.message != "" {
			note += ": " + a.message
		}
		d.rep.Note(note)
		d.rep.Truncated = true
	}
	switch {
	case d.s.Err() != nil:
	case !a.known:
		d.rep.Signal(EmptyValue)
	case a.spans && before == d.rep.Spans:
		d.rep.Signal(EmptyExport)
	}
	return true
}

// Signals under which values without spans are counted, beside metrics, logs and profiles.
const (
	EmptyValue  = "values without keys"
	EmptyExport = "exports without spans"
)

// top reads the keys of a value: a TracesData, or an answer with one inside (wrapped counts the wrappers around it).
func (d *Decoder) top(wrapped int) {
	s, a := &d.s, &d.answer
	if !s.Object() {
		a.addKey("no object")
		return
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "resourceSpans", "resource_spans", "batches":
			a.known = true
			if s.Kind() == jsonscan.Array {
				a.spans = true
				d.list()
			} else {
				s.Skip()
			}
			continue
		case "resourceMetrics", "resource_metrics":
			d.signal("metrics")
			continue
		case "resourceLogs", "resource_logs":
			d.signal("logs")
			continue
		case "resourceProfiles", "resource_profiles":
			d.signal("profiles")
			continue
		case "trace", "result":
			if wrapped == 0 && s.Kind() == jsonscan.Object {
				d.top(wrapped + 1)
				continue
			}
		case "error":
			if s.Kind() == jsonscan.Object {
				d.failure()
				continue
			}
		case "status":
			a.addKey("status")
			if t, ok := s.Text(); ok && string(t) == "PARTIAL" {
				a.partial = true
			}
			continue
		case "message":
			a.addKey("message")
			if t, ok := s.Text(); ok {
				a.message = string(t)
			}
			continue
		}
		a.addKey(string(key))
		s.Skip()
	}
}

// maxKeys is how many unknown keys are remembered, and how long they may be.
const (
	maxKeys   = 8
	maxKeyLen = 40
)

func (a *answer) addKey(key string) {
	if len(a.keys) < maxKeys && len(key) <= maxKeyLen && !slices.Contains(a.keys, key) {
		a.keys = append(a.keys, key)
	}
}

// signal passes over the data of another signal.
func (d *Decoder) signal(name string) {
	d.answer.known = true
	d.rep.Signal(name)
	d.s.Skip()
}

// failure reads the object in {"error":{"httpCode":404,"message":"…"}} of Jaeger's api_v3 (grpcCode, httpStatus in other versions).
func (d *Decoder) failure() {
	s := &d.s
	var code int64
	var message string
	s.Object()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "httpCode", "grpcCode", "code":
			code, _ = s.Int()
		case "message":
			t, _ := s.Text()
			message = string(t)
		default:
			s.Skip()
		}
	}
	d.answer.known = true
	d.answer.failure = fmt.Sprintf("the answer of a query that failed: %d %s", code, message)
}

// list reads the array of ResourceSpans. Of a broken one nothing is kept.
func (d *Decoder) list() {
	s := &d.s
	s.Array()
	for s.Elem() {
		records, attrs, text := len(d.b.Records), len(d.b.Attrs), len(d.b.Text)
		d.resourceSpans()
		if s.Err() != nil {
			d.b.Records, d.b.Attrs, d.b.Text = d.b.Records[:records], d.b.Attrs[:attrs], d.b.Text[:text]
			d.spellings.forgetValues()
			return
		}
		d.rep.Spans += int64(len(d.b.Records) - records)
	}
}

func (d *Decoder) resourceSpans() {
	s := &d.s
	if !s.Object() {
		return
	}
	first := len(d.b.Records)
	d.res = d.noResource()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "resource":
			d.res = d.resource()
			for i := first; i < len(d.b.Records); i++ {
				d.b.Records[i].Res = d.res
			}
		case "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans", "deprecatedScopeSpans":
			if s.Array() {
				for s.Elem() {
					d.scopeSpans()
				}
			}
		default:
			s.Skip()
		}
	}
}

func (d *Decoder) scopeSpans() {
	s := &d.s
	if !s.Object() {
		return
	}
	first := len(d.b.Records)
	d.scope = 0
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "scope", "instrumentationLibrary", "instrumentation_library":
			d.scope = d.scopeName()
			for i := first; i < len(d.b.Records); i++ {
				d.b.Records[i].Scope = d.scope
			}
		case "spans":
			if s.Array() {
				for s.Elem() {
					d.span()
				}
			}
		default:
			s.Skip()
		}
	}
}

// broken reports a value whose rest cannot be read, and goes on behind it.
func (d *Decoder) broken(start int, line int64, err error) {
	s, data := &d.s, d.blk.Data
	next := jsonscan.Resync(data, start)
	end := line + decode.Newlines(data[start:next]) // where the next value begins
	if errors.Is(err, jsonscan.ErrEnd) {
		err = decode.ErrTruncated
		d.rep.Truncated = d.rep.Truncated || next == len(data)
	}
	at := s.Line()
	if next <= s.Pos() && next < len(data) { // it swallowed what follows
		at = end - 1
	}
	d.rep.Skip(d.line(at), d.offset(min(s.Pos(), next)), err)
	s.Seek(next)
	s.SetLine(end)
}

func (d *Decoder) line(n int64) int64   { return d.blk.Line + n }
func (d *Decoder) offset(pos int) int64 { return d.blk.Offset + int64(pos) }
