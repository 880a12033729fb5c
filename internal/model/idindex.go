package model

import "math/bits"

// An idIndex finds the spans of one request by (trace, id): an open-addressing table that is reused from request to request.
type idIndex struct {
	of    *Request // whose spans it holds, nil for those of none
	slots []*Span
	mask  uint64
}

// reset empties the index and makes room for n spans.
func (x *idIndex) reset(n int) {
	size := 8
	if n > 2 {
		size = 1 << bits.Len(uint(2*n-1))
	}
	if size > cap(x.slots) {
		x.slots = make([]*Span, size)
	} else {
		x.slots = x.slots[:size]
		clear(x.slots)
	}
	x.mask = uint64(size - 1)
}

// fill indexes all spans; the first of an id wins.
func (x *idIndex) fill(spans []*Span) {
	x.reset(len(spans))
	for _, s := range spans {
		x.add(s)
	}
}

func (x *idIndex) slot(t TraceID, id SpanID) uint64 {
	h := (t.Lo ^ bits.RotateLeft64(t.Hi, 17) ^ id.N*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
	return (h ^ h>>32) & x.mask
}

// add puts a span in, unless its id is there already: then it returns the span that is. Spans without an id are not indexed.
func (x *idIndex) add(s *Span) *Span {
	if s.ID.IsZero() {
		return nil
	}
	for i := x.slot(s.Trace, s.ID); ; i = (i + 1) & x.mask {
		switch o := x.slots[i]; {
		case o == nil:
			x.slots[i] = s
			return nil
		case o.ID == s.ID && o.Trace == s.Trace:
			return o
		}
	}
}

// find is the span of an id, nil when there is none.
func (x *idIndex) find(t TraceID, id SpanID) *Span {
	if id.IsZero() || len(x.slots) == 0 {
		return nil
	}
	for i := x.slot(t, id); ; i = (i + 1) & x.mask {
		switch o := x.slots[i]; {
		case o == nil:
			return nil
		case o.ID == id && o.Trace == t:
			return o
		}
	}
}
