// Package jaeger decodes Jaeger's JSON: answers of its query API and downloads of its UI ({"data":[…]}, a trace alone, a list of traces, lines of
// them), its model as protobuf JSON ({"spans":[…],"processMap":[…]}, what grpcurl prints), and documents of its Elasticsearch store.
//
// The dialects share their structure and differ in spelling: µs as integers or RFC 3339 and durations as text, hex or base64 ids, typed tags
// or one key per type. A value's own form tells which it is, so one reader takes them all. Keys come in any order; the records of a trace
// get their processes, and parents that must exist, at its end.
package jaeger

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// EmptyAnswer is the signal under which answers without spans are counted.
const EmptyAnswer = "answers without spans"

// A Decoder decodes blocks for one goroutine: it holds caches of what repeats. The zero value is ready.
type Decoder struct {
	s   jsonscan.Scanner
	src []byte // what it reads
	blk *decode.Block
	b   *model.Batch
	rep *decode.Report

	caches
	trace trace
	span  span
	text  []byte           // text of a value under construction
	inner jsonscan.Scanner // of a value that is read once more
	again jsonscan.Scanner // of a tag's value that is read once more

	// Of the value that is read now.
	known    bool // it has a key that Jaeger's JSON has
	lone     bool // it is a span by itself, as Elasticsearch stores them
	failure  string
	baseLine int64 // where the scanner began, when it reads a value on its own
	basePos  int
}

// Decode reads values until the end of the block or the first that is not Jaeger's, and returns how far it came: n is len(blk.Data), or where
// that value begins. A broken span is skipped and reported; of a trace with broken syntax the spans before the place are kept, and reading
// goes on after the value. Positions are lines.
func (d *Decoder) Decode(blk decode.Block, b *model.Batch, rep *decode.Report) (n int) {
	d.blk, d.b, d.rep = &blk, b, rep
	defer func() { d.blk, d.b, d.rep, d.src = nil, nil, nil, nil }()
	d.caches.bind(b, blk.Family)
	d.baseLine, d.basePos = 0, 0
	d.trace.first = len(b.Records) // what is there already is not ours
	s := &d.s
	d.src = blk.Data
	s.Reset(d.src)
	for s.More() {
		start, line := s.Pos(), s.Line()
		mine := false
		switch s.Kind() {
		case jsonscan.Object:
			mine = d.value()
		case jsonscan.Array:
			mine = d.values()
		}
		if !mine {
			return start
		}
		if err := s.Err(); err != nil {
			d.broken(start, line, err)
		}
	}
	return len(blk.Data)
}

// Begins reports whether the first value of a block begins with a key of Jaeger's JSON: a hint which decoder to ask first.
func Begins(data []byte) bool {
	i := 0
	skip := func(c byte) {
		for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t' || data[i] == c) {
			i++
		}
	}
	skip('[')
	skip('{')
	for _, key := range [...]string{"data", "traceID", "spans", "processes", "spanID", "_source"} {
		if rest := data[i:]; len(rest) > len(key)+1 && rest[0] == '"' && string(rest[1:len(key)+1]) == key && rest[len(key)+1] == '"' {
			return true
		}
	}
	return false
}

// values reads the values of a top-level array. It is not ours when it is empty or the first of them is not.
func (d *Decoder) values() (mine bool) {
	s := &d.s
	s.Array()
	n := 0
	for ; s.Elem(); n++ {
		at, line := s.Pos(), s.Line()
		if !d.value() {
			if n == 0 {
				return false
			}
			d.skip(at, line, errors.New("an element that is no trace"))
		}
	}
	return n > 0 || s.Err() != nil
}

// value reads one value and says whether it is ours: an answer, a trace, or a span by itself. One that breaks before anything is known of it is.
func (d *Decoder) value() (mine bool) {
	s := &d.s
	start, line, before := s.Pos(), s.Line(), d.rep.Spans
	d.known, d.lone, d.failure = false, false, ""
	if !s.Object() {
		return s.Err() != nil
	}
	d.begin()
	keys := 0
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		keys++
		switch string(key) {
		case "data":
			d.known = true
			d.data()
		case "errors":
			d.failures()
		case "_source": // a document as elasticdump writes it
			d.known = true
			d.document()
		case "hits": // the answer of a search in Elasticsearch
			d.hits()
		case "spanID":
			d.known, d.lone = true, true
			s.Skip()
		default:
			d.known = d.traceKey(key) || d.known
		}
	}
	d.end()
	switch {
	case !d.known && s.Err() == nil, !d.known && keys > 0 && !errors.Is(s.Err(), jsonscan.ErrEnd):
		return false
	case d.failure != "":
		d.skip(start, line, errors.New(d.failure))
	case s.Err() != nil:
	case d.lone:
		d.apart(start, line)
	case d.rep.Spans == before:
		d.rep.Signal(EmptyAnswer)
	}
	return true
}

// apart reads the value that began at start, which turned out to be a span by itself, once more.
func (d *Decoder) apart(start int, line int64) {
	outer, src := d.s, d.src
	d.s, d.src = d.inner, src[start:outer.Pos()]
	d.s.Reset(d.src)
	d.basePos, d.baseLine = start, line
	d.document()
	if err := d.s.Err(); err != nil {
		d.skip(d.s.Pos(), d.s.Line(), err)
	}
	d.inner, d.s, d.src = d.s, outer, src
	d.basePos, d.baseLine = 0, 0
}

// document reads a span by itself.
func (d *Decoder) document() {
	d.begin()
	d.trace.alone = true
	d.readSpan()
	d.end()
}

// hits reads {"hits":[{"_source":span}…]}.
func (d *Decoder) hits() {
	s := &d.s
	if !s.Object() {
		return
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if string(key) != "hits" || s.Kind() != jsonscan.Array {
			s.Skip()
			continue
		}
		d.known = true
		for s.Array(); s.Elem(); {
			d.hit()
		}
	}
}

func (d *Decoder) hit() {
	s := &d.s
	if !s.Object() {
		return
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if string(key) == "_source" {
			d.document()
		} else {
			s.Skip()
		}
	}
}

// data reads the traces of an answer: a list, one trace (a hand-made file has that), or null.
func (d *Decoder) data() {
	s := &d.s
	if s.Kind() == jsonscan.Object {
		d.readTrace()
		return
	}
	if !s.Array() {
		return
	}
	for told := false; s.Elem(); {
		at, line := s.Pos(), s.Line()
		if !d.readTrace() && !told && s.Err() == nil { // names of services, dependencies
			told = true
			d.skip(at, line, errors.New("data that holds no trace"))
		}
	}
}

// readTrace reads a trace. false: it is none.
func (d *Decoder) readTrace() (ok bool) {
	s := &d.s
	if !s.Object() {
		return false
	}
	d.begin()
	for key, more := s.Key(); more; key, more = s.Key() {
		ok = d.traceKey(key) || ok
	}
	d.end()
	return ok
}

// traceKey reads the value of a key of a trace, or skips that of another. true: what has that key is a trace; an id alone says nothing.
func (d *Decoder) traceKey(key []byte) bool {
	s := &d.s
	switch string(key) {
	case "spans":
		if s.Array() {
			for s.Elem() {
				d.readSpan()
			}
		}
		return true
	case "processes":
		d.processes()
		return true
	case "processMap":
		d.processMap()
		return true
	case "traceID", "traceId":
		if t, ok := s.Text(); ok {
			d.trace.id = decode.TraceID(d.b.Names, t)
		}
	case "warnings":
		d.warnings()
	default:
		s.Skip()
	}
	return false
}

// failures reads [{"code":404,"msg":"trace not found"}].
func (d *Decoder) failures() {
	s := &d.s
	if s.Kind() != jsonscan.Array {
		s.Skip()
		return
	}
	for s.Array(); s.Elem(); {
		var code int64
		var message string
		if !s.Object() {
			continue
		}
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			switch string(key) {
			case "code":
				code, _ = s.Int()
			case "msg", "message":
				t, _ := s.Text()
				message = string(t)
			default:
				s.Skip()
			}
		}
		d.known = true
		if d.failure == "" {
			d.failure = fmt.Sprintf("the answer of a query that failed: %d %s", code, message)
		}
	}
}

// Clock skew adjustment of Jaeger's query service, told by warnings of spans only (FORMATS 3.1).
const (
	noteAdjusted   = "Jaeger's clock skew adjustment had moved times of spans before they were exported"
	noteUnadjusted = "Jaeger saw clock skew that it did not adjust"
)

// warnings reads a list of texts.
func (d *Decoder) warnings() {
	s := &d.s
	if s.Kind() != jsonscan.Array {
		s.Skip()
		return
	}
	for s.Array(); s.Elem(); {
		t, ok := s.Text()
		switch {
		case !ok:
		case bytes.Contains(t, []byte("timestamps were adjusted by")):
			d.rep.Note(noteAdjusted)
		case bytes.Contains(t, []byte("not applying calculated delta of")):
			d.rep.Note(noteUnadjusted)
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
	d.skip(min(s.Pos(), next), at, err)
	s.Seek(next)
	s.SetLine(end)
}

func (d *Decoder) line(n int64) int64   { return d.blk.Line + d.baseLine + n }
func (d *Decoder) offset(pos int) int64 { return d.blk.Offset + int64(d.basePos+pos) }

func (d *Decoder) skip(pos int, line int64, err error) { d.rep.Skip(d.line(line), d.offset(pos), err) }
