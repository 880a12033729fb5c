package model

// A SpanIndex finds the spans of one request by (trace, id), the first of those that share an id. The zero value is empty; its memory is
// reused from Fill to Fill.
type SpanIndex struct{ ids idIndex }

// Fill replaces the content by the given spans.
func (x *SpanIndex) Fill(spans []*Span) { x.ids.fill(spans) }

// Find is the span with an id, nil when there is none.
func (x *SpanIndex) Find(t TraceID, id SpanID) *Span { return x.ids.find(t, id) }
