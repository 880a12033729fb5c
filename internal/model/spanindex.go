package model

// A SpanIndex finds the spans of one request by (trace, id), the first of those that share an id. Its memory is reused from request
// to request.
type SpanIndex struct {
	ids *idIndex
	own idIndex // where the request brings none
}

// Of replaces the content by the spans of a request, until that is changed or its Builder takes up another one.
func (x *SpanIndex) Of(r *Request) {
	if x.ids = r.ids; x.ids == nil || x.ids.of != r {
		x.own.fill(r.Spans)
		x.ids = &x.own
	}
}

// Find is the span with an id, nil when there is none.
func (x *SpanIndex) Find(t TraceID, id SpanID) *Span { return x.ids.find(t, id) }
