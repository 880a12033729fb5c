// Package otlpproto decodes OTLP protobuf traces: TracesData, which is byte for byte ExportTraceServiceRequest and tempopb.Trace,
// and Tempo's TraceByIDResponse around it.
//
// It is a walk over the bytes by hand. Fields come in any order: real exporters write them in descending order, the resource after its
// spans, the scope after its spans, a value before its key. So the records of a resource or scope are patched when it has been read,
// and an attribute is decided on when both its fields are known. A field that is not known is skipped, a group is refused.
package otlpproto

import (
	"errors"
	"fmt"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Fields of TracesData, ResourceSpans, ScopeSpans; fieldOldScopes is instrumentation_library_spans of before 2022, which has the layout of scope_spans.
const (
	fieldResourceSpans = 1

	fieldResource  = 1
	fieldScopes    = 2
	fieldOldScopes = 1000

	fieldScope = 1
	fieldSpans = 2
)

// A Decoder decodes messages for one goroutine: it holds caches of what repeats from message to message. The zero value is ready.
type Decoder struct {
	blk decode.Block
	b   *model.Batch
	rep *decode.Report

	caches
	scratch  []byte // text of a value under construction
	joined   []byte // a resource that was written in several pieces
	spans    int64  // of this message so far
	bare     bool   // a top-level field was a ResourceSpans
	signal   string // the message holds another signal
	tooDeep  bool   // an attribute of this span nests deeper than maxDepth
	badTimes bool   // a time of this span does not fit
}

// Decode appends the spans of one message to b. Positions are byte offsets of the spans. A broken span is skipped and reported, a broken
// message keeps what came before the place: the next message of the input can be read in any case.
func (d *Decoder) Decode(blk decode.Block, b *model.Batch, rep *decode.Report) {
	d.blk, d.b, d.rep = blk, b, rep
	d.spans, d.bare, d.signal = 0, false, ""
	d.caches.bind(b, blk.Family)
	d.message(blk.Data)
	rep.Spans += d.spans
	d.blk, d.b, d.rep = decode.Block{}, nil, nil
}

// message walks the top level: ResourceSpans, or the one Trace of a TraceByIDResponse with its status and message.
func (d *Decoder) message(p []byte) {
	var partial bool
	var why []byte
	for i := 0; i < len(p) && d.signal == ""; {
		f, err := next(p, i)
		if err != nil {
			if f.num == fieldResourceSpans && f.cutAt(err) {
				d.top(p[f.lo:], f.lo, true)
			}
			if err == errShort {
				d.rep.Truncated = true
				err = decode.ErrTruncated
			}
			d.skip(i, fmt.Errorf("message: %w", err))
			break
		}
		switch {
		case f.num == fieldResourceSpans && f.typ == wireLen:
			d.top(p[f.lo:f.hi], f.lo, false)
		case f.num == 3 && f.typ == wireVarint:
			partial = f.n == 1
		case f.num == 4 && f.typ == wireLen:
			why = p[f.lo:f.hi]
		}
		i = f.hi
	}
	if partial && !d.bare {
		note := "Tempo answered with a part of the trace only (PARTIAL)"
		if len(why) > 0 {
			note += ": " + string(valid(why))
		}
		d.rep.Note(note)
		d.rep.Truncated = true
	}
}

// top decodes field 1 of a message: a ResourceSpans, or the Trace of a TraceByIDResponse. at is the offset of p in the block;
// cut says that p was to be longer.
func (d *Decoder) top(p []byte, at int, cut bool) {
	if !isTrace(p) {
		d.bare = true
		d.resourceSpans(p, at, cut)
		return
	}
	for i := 0; i < len(p) && d.signal == ""; {
		f, err := next(p, i)
		if err != nil {
			if cut && f.num == fieldResourceSpans && f.cutAt(err) {
				d.resourceSpans(p[f.lo:], at+f.lo, true)
			}
			d.broken("trace", at+i, err, cut)
			return
		}
		if f.num == fieldResourceSpans && f.typ == wireLen {
			d.resourceSpans(p[f.lo:f.hi], at+f.lo, false)
		}
		i = f.hi
	}
}

// isTrace tells the Trace of a TraceByIDResponse, which is one level deeper, from a ResourceSpans: the ResourceSpans has scopes, field 2;
// of a Trace the fields 1 have them. (Field 2 of a Resource, which field 1 of a ResourceSpans is, is a number.)
func isTrace(p []byte) bool {
	for i := 0; i < len(p); {
		f, err := next(p, i)
		switch {
		case f.cutAt(err):
			f.hi = len(p)
		case err != nil:
			return false
		}
		if f.typ == wireLen {
			switch f.num {
			case fieldScopes, fieldOldScopes:
				return false
			case fieldResourceSpans:
				if hasScopes(p[f.lo:f.hi]) {
					return true
				}
			}
		}
		i = f.hi
	}
	return false
}

func hasScopes(p []byte) bool {
	for i := 0; i < len(p); {
		f, err := next(p, i)
		if f.typ == wireLen && (f.num == fieldScopes || f.num == fieldOldScopes) && (err == nil || f.cutAt(err)) {
			return true
		}
		if err != nil {
			return false
		}
		i = f.hi
	}
	return false
}

// resourceSpans decodes a ResourceSpans; whatever the order, its records get the resource at the end.
func (d *Decoder) resourceSpans(p []byte, at int, cut bool) {
	first := len(d.b.Records)
	var resource []byte
	for i := 0; i < len(p) && d.signal == ""; {
		f, err := next(p, i)
		if err != nil {
			if cut && (f.num == fieldScopes || f.num == fieldOldScopes) && f.cutAt(err) {
				d.scopeSpans(p[f.lo:], at+f.lo, true)
			}
			d.broken("resource spans", at+i, err, cut)
			break
		}
		if f.typ == wireLen {
			switch f.num {
			case fieldResource:
				if resource == nil {
					resource = p[f.lo:f.hi]
				} else { // the parts of a field that is written twice add up
					d.joined = append(append(d.joined[:0], resource...), p[f.lo:f.hi]...)
					resource = d.joined
				}
			case fieldScopes, fieldOldScopes:
				d.scopeSpans(p[f.lo:f.hi], at+f.lo, false)
			}
		}
		i = f.hi
	}
	if first == len(d.b.Records) {
		return
	}
	id, err := d.resource(resource)
	if err != nil {
		d.rep.Problem(0, d.blk.Offset+int64(at), fmt.Errorf("resource: %w", err))
	}
	for i := first; i < len(d.b.Records); i++ {
		d.b.Records[i].Res = id
	}
}

// scopeSpans decodes a ScopeSpans, or an InstrumentationLibrarySpans, which has the same layout.
func (d *Decoder) scopeSpans(p []byte, at int, cut bool) {
	first := len(d.b.Records)
	var scope []byte
	for i := 0; i < len(p); {
		f, err := next(p, i)
		if err != nil {
			d.broken("scope spans", at+i, err, cut)
			break
		}
		if f.typ == wireLen {
			switch f.num {
			case fieldScope:
				if name, ok := scopeName(p[f.lo:f.hi]); ok {
					scope = name
				}
			case fieldSpans:
				if !d.span(p[f.lo:f.hi], at+i) {
					return
				}
			}
		}
		i = f.hi
	}
	if len(scope) == 0 || first == len(d.b.Records) {
		return
	}
	id := d.name(scope)
	for i := first; i < len(d.b.Records); i++ {
		d.b.Records[i].Scope = id
	}
}

func scopeName(p []byte) (name []byte, ok bool) {
	for i := 0; i < len(p); {
		f, err := next(p, i)
		if err != nil {
			return name, ok
		}
		if f.num == 1 && f.typ == wireLen {
			name, ok = p[f.lo:f.hi], true
		}
		i = f.hi
	}
	return name, ok
}

// broken reports a message whose rest cannot be read. Of a message that is cut, message reports it once.
func (d *Decoder) broken(what string, at int, err error, cut bool) {
	if !cut || !errors.Is(err, errShort) {
		d.skip(at, fmt.Errorf("%s: %w", what, err))
	}
}

func (d *Decoder) skip(at int, err error) { d.rep.Skip(0, d.blk.Offset+int64(at), err) }
