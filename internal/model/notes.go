package model

// A Note is an attribute that analyses look for on every span, whatever its stage: where a request has none, or few, nobody goes through
// all of its attributes again.
type Note struct {
	Span *Span
	Key  AttrKey
	at   int32 // in Span.Attrs
}

// Value is the value of the attribute; where the span has another of its key, that of a later one counts (Span.Attr).
func (n *Note) Value() *Value { return &n.Span.Attrs[n.at].Value }

// notable are the attributes that are noted: what findings, the hits and the origin of a request are read from. Those that name a model or a worker too.
var notable = [NumAttrs]bool{
	AttrStaleChunks: true, AttrStale: true, AttrDropped: true, AttrTimedOut: true, AttrNoGPUContext: true, AttrEarlyExitReason: true,
	AttrPerRankOK: true, AttrWorldSize: true, AttrNPromptTokens: true,
}

func init() {
	for k := range NumAttrs {
		notable[k] = notable[k] || k.NamesModel() || k.NamesWorker()
	}
}

// TakeNotes fills in Notes, in the memory of buf.
func (r *Request) TakeNotes(buf []Note) {
	buf = buf[:0]
	for _, s := range r.Spans {
		for i := range s.Attrs {
			if k := s.Attrs[i].Key; k < NumAttrs && notable[k] {
				buf = append(buf, Note{s, k, int32(i)})
			}
		}
	}
	r.Notes = buf
}
