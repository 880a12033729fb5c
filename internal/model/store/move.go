package store

import (
	"context"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A mover takes waiting records to the partition of their request, in one goroutine.
type mover struct {
	*desk
	w       *Writer
	waiters []waiter // of the entries of a chunk
	places  []place  // where their records go, as far as that is the same for all
	text    []byte
}

// stream moves the records of a waiting stream, which is empty afterwards.
func (m *mover) stream(ctx context.Context, i int) error {
	s := m.id.s
	err := s.eachChunk(ctx, i, func(j int, c *chunk) error {
		entries, err := m.scan.dictionary(i, c)
		if err != nil {
			return err
		}
		rec, err := m.scan.records(i, c)
		if err != nil {
			return err
		}
		m.waiters, m.places, m.text = m.waiters[:0], m.places[:0], m.text[:0]
		for n := range entries {
			m.waiters = append(m.waiters, waiterOf(&entries[n]))
		}
		for n := range entries {
			p := place{kind: placeNone}
			if !s.refused(&entries[n]) {
				p = m.place(&m.waiters[n])
			}
			m.places = append(m.places, p)
		}
		err = eachRecord(rec, len(entries), func(n int, content []byte) error { return m.move(&m.waiters[n], m.places[n], content) })
		s.release(i, j)
		return err
	})
	if err == nil {
		s.drop(i)
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

// A place is where waiting records go.
type place struct {
	kind placeKind
	join model.Join
	flag uint8         // entryText, entryHash, and entryByTrace with it
	from model.AttrKey // which attribute holds the text of the request's id, with entryText
	key  hash
}

type placeKind uint8

const (
	placeNone      placeKind = iota // nowhere: the file was refused
	placeRequest                    // to the request of key
	placeProcess                    // to their process
	placeByLink                     // each to the request of what is above it
	placeExternal                   // to the request of an external id that is the request's own, or resolved
	placeAmbiguous                  // to that of an external id that fits several
)

// place decides on the records of an entry. The text of a request's id is brought by the records that have it as a strong key; only a request
// that has none gets it from here.
func (m *mover) place(w *waiter) place {
	if w.external() {
		return m.placeExternal(w)
	}
	if key, ok := m.waits.keyOf(w); ok {
		return place{kind: placeRequest, key: key, flag: entryHash, join: model.JoinID}
	}
	n := -1
	if !w.entry.trace.IsZero() {
		n = m.waits.traces.find(traceKey(w.entry.trace))
	}
	if w.how&waitNoRequest != 0 || n < 0 {
		return place{kind: placeProcess}
	}
	switch t := &m.waits.keys[n]; t.n {
	case 0: // R4.4
		if m.id.s.mode == KeyByID {
			return place{kind: placeProcess}
		}
		m.text = appendTraceID(m.text[:0], m.id.s.dict, w.entry.trace)
		return place{kind: placeRequest, key: hashTraceKey(m.text), flag: entryHash | entryByTrace, join: model.JoinTrace}
	case 1:
		return place{kind: placeRequest, key: t.first, flag: entryHash, join: model.JoinTrace}
	}
	return place{kind: placeByLink}
}

func (m *mover) placeExternal(w *waiter) place {
	found := m.waits.joinOf(w.keys[0])
	p := place{kind: placeRequest, key: found.key, flag: entryHash, join: found.join}
	if found.key == w.keys[0] { // its own, or the very same internal id
		p.kind, p.flag, p.from = placeExternal, entryText, model.AttrGenAIRequestID
	}
	if found.ambiguous {
		p.kind = placeAmbiguous
	}
	if w.how&waitResolved == 0 {
		return p
	}
	p.flag, p.from = entryText, model.AttrResolved // R2.6
	if p.kind == placeRequest {
		p.kind = placeExternal
	}
	if w.resolved != found.key {
		p.join = model.JoinNormalised
		if w.resolved == w.keys[0] {
			p.join = model.JoinID
		}
	}
	p.key = w.resolved
	return p
}

// move takes a record to its place.
func (m *mover) move(w *waiter, p place, content []byte) error {
	s := m.id.s
	var text []byte
	switch p.kind {
	case placeNone:
		return nil
	case placeByLink:
		span, parent, err := m.scan.spanOf(content)
		if err != nil {
			return err
		}
		p = place{kind: placeRequest, flag: entryHash, join: model.JoinTrace, key: m.id.links.find(w.entry.trace, span, parent)}
		if p.key.isZero() { // above several requests: it belongs to none of them
			p.kind = placeProcess
		}
	case placeAmbiguous:
		m.id.ambiguous(w.keys[0], m.scan.textOf(content, model.AttrGenAIRequestID))
		fallthrough
	case placeExternal:
		text = m.scan.textOf(content, p.from)
		if w.how&waitByTrace != 0 {
			p.flag, p.join, text = entryHash|entryByTrace, model.JoinTrace, nil
		}
	}
	k := entryKey{key: p.key, trace: w.entry.trace, file: w.entry.file, flags: w.entry.flags&entryTrace | p.flag}
	if p.kind == placeProcess {
		k.key, k.flags = hash{}, w.entry.flags&entryTrace
		c := cursor{b: content}
		var f fixed
		if m.scan.fixed(&c, &f); c.bad {
			return errCorrupt
		}
		m.w.countProcess(f.flags)
		return m.w.put(s.processStream(), &k, nil, noMeta, content)
	}
	meta := int(p.join)
	if w.how&waitSession != 0 && w.keys[0] == p.key {
		meta |= metaScoped
	}
	return m.w.put(s.keyedStream(p.key), &k, text, meta, content)
}

// ambiguous keeps the text of an external id that fits several internal ones, for its candidates.
func (id *identifier) ambiguous(external hash, text []byte) {
	id.s.mu.Lock()
	defer id.s.mu.Unlock()
	if _, ok := id.s.joins.ambiguous[external]; !ok {
		id.s.joins.ambiguous[external] = string(text)
	}
}
