package store

import (
	"context"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A mover takes waiting records to the partition of their request, in one goroutine.
type mover struct {
	id     *identifier
	w      *Writer
	scan   scanner
	prefix [1]byte
	text   []byte
}

// stream moves the records of a waiting stream, which is empty afterwards.
func (m *mover) stream(ctx context.Context, i int) error {
	err := m.id.s.eachChunk(ctx, i, func(j int, c *chunk) error {
		err := m.scan.eachWaiter(i, c, m.move)
		m.id.s.release(i, j)
		return err
	})
	if err == nil {
		m.id.s.drop(i)
	}
	return err
}

// release frees the bytes of a chunk that is done with.
func (s *Store) release(stream, i int) {
	st := &s.streams[stream]
	st.mu.Lock()
	defer st.mu.Unlock()
	if i >= len(st.chunks) { // closed meanwhile
		return
	}
	if c := &st.chunks[i]; c.rec != nil {
		st.bytes -= c.size()
		s.resident.Add(-c.size())
		c.rec, c.dict = nil, nil
	}
}

// A place is where a waiting record goes.
type place struct {
	key  hash
	flag uint8 // entryText, entryHash, and entryByTrace with it
	text []byte
	join model.Join
	none bool // to its process
}

func (m *mover) move(w *waiter) error {
	s := m.id.s
	p := m.place(w)
	k := entryKey{key: p.key, trace: w.entry.trace, file: w.entry.file, flags: w.entry.flags&entryTrace | p.flag}
	if p.none {
		k.key = hash{}
		c := cursor{b: w.content}
		m.w.countProcess(c.head().flags)
		return m.w.put(s.processStream(), &k, nil, nil, w.content)
	}
	m.prefix[0] = byte(p.join)
	if w.how&waitSession != 0 && w.keys[0] == p.key {
		m.prefix[0] |= metaScoped
	}
	return m.w.put(s.keyedStream(p.key), &k, p.text, m.prefix[:], w.content)
}

// place decides on a waiting record. The text of a request's id is brought by the records that have it as a strong key; only a request
// that has none gets it from here.
func (m *mover) place(w *waiter) place {
	id := m.id
	if w.external() {
		return m.placeExternal(w)
	}
	if key, ok := id.keyOf(w); ok {
		return place{key: key, flag: entryHash, join: model.JoinID}
	}
	n := id.traces.find(traceKey(w.entry.trace))
	if w.how&waitNoRequest != 0 || n < 0 {
		return place{none: true}
	}
	switch t := &id.keys[n]; t.n {
	case 0: // R4.4
		if id.s.mode == KeyByID {
			return place{none: true}
		}
		m.text = appendTraceID(m.text[:0], id.s.dict, w.entry.trace)
		return place{key: hashTraceKey(m.text), flag: entryHash | entryByTrace, join: model.JoinTrace}
	case 1:
		return place{key: t.first, flag: entryHash, join: model.JoinTrace}
	}
	span, parent, err := m.scan.spanOf(w.content)
	if key := id.links.find(w.entry.trace, span, parent); err == nil && !key.isZero() {
		return place{key: key, flag: entryHash, join: model.JoinTrace}
	}
	return place{none: true} // above several requests: it belongs to none of them
}

func (m *mover) placeExternal(w *waiter) place {
	id := m.id
	found := id.joins.found[id.joins.external.find(w.keys[0])]
	if found.ambiguous {
		text := string(textOf(w.content, model.AttrGenAIRequestID))
		id.s.mu.Lock()
		id.s.joins.ambiguous[w.keys[0]] = text
		id.s.mu.Unlock()
	}
	if w.how&waitResolved != 0 { // R2.6
		text := textOf(w.content, model.AttrResolved)
		switch {
		case w.resolved == w.keys[0]:
			return place{key: w.resolved, flag: entryText, text: text, join: model.JoinID}
		case isTrace(id.s.dict, w.entry.trace, text):
			return place{key: hashTraceKey(text), flag: entryHash | entryByTrace, join: model.JoinTrace}
		case w.resolved == found.key:
			return place{key: w.resolved, flag: entryText, text: text, join: found.join}
		}
		return place{key: w.resolved, flag: entryText, text: text, join: model.JoinNormalised}
	}
	if found.key == w.keys[0] {
		return place{key: found.key, flag: entryText, text: textOf(w.content, model.AttrGenAIRequestID), join: model.JoinID}
	}
	return place{key: found.key, flag: entryHash, join: found.join}
}
