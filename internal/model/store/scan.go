package store

import (
	"context"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A scanner goes over the chunks of streams, in memory or on disk. One goroutine uses one.
type scanner struct {
	s *Store
	limits
	rec     []byte
	dict    []byte
	entries []entry
	waiter  waiter
}

func (s *Store) newScanner() scanner { return scanner{s: s, limits: limitsOf(s.dict)} }

// chunk is a chunk of a stream as it stands; its bytes stay when it goes to disk meanwhile. ok is false behind the last.
func (s *Store) chunk(stream, i int) (c chunk, ok bool) {
	st := &s.streams[stream]
	st.mu.Lock()
	defer st.mu.Unlock()
	if i >= len(st.chunks) {
		return chunk{}, false
	}
	return st.chunks[i], true
}

// eachChunk calls fn for the chunks of a stream.
func (s *Store) eachChunk(ctx context.Context, stream int, fn func(i int, c *chunk) error) error {
	for i := 0; ; i++ {
		c, ok := s.chunk(stream, i)
		if !ok {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := fn(i, &c); err != nil {
			return err
		}
	}
}

// dictionary decodes the entries of a chunk; they are good until the next call.
func (sc *scanner) dictionary(stream int, c *chunk) ([]entry, error) {
	dict := c.dict
	if c.rec == nil {
		sc.dict = resize(sc.dict, int(c.dictLen))
		if err := sc.s.load(stream, c, nil, sc.dict); err != nil {
			return nil, err
		}
		dict = sc.dict
	}
	var err error
	sc.entries, err = sc.appendEntries(sc.entries[:0], dict, c.entries)
	return sc.entries, err
}

// records are the records of a chunk, good until the next call.
func (sc *scanner) records(stream int, c *chunk) ([]byte, error) {
	if c.rec != nil {
		return c.rec, nil
	}
	sc.rec = resize(sc.rec, int(c.recLen))
	return sc.rec, sc.s.load(stream, c, sc.rec, nil)
}

// resize gives a slice of n bytes, never nil.
func resize(b []byte, n int) []byte {
	if n > cap(b) || b == nil {
		return make([]byte, n, n+n/4)
	}
	return b[:n]
}

// refused reports whether the file of an entry turned out to be unusable as a whole (R4.12).
func (s *Store) refused(e *entry) bool { return s.dict.File(e.file).Refused.Load() }

// eachEntry calls fn for every entry of the keyed streams; each says that a request has records in a trace.
func (sc *scanner) eachEntry(ctx context.Context, fn func(e *entry)) error {
	for stream := range sc.s.partitions {
		err := sc.s.eachChunk(ctx, stream, func(_ int, c *chunk) error {
			entries, err := sc.dictionary(stream, c)
			for i := range entries {
				if err == nil && !sc.s.refused(&entries[i]) {
					fn(&entries[i])
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A waiter is a record of a waiting stream, good until the next.
type waiter struct {
	entry    *entry
	how      byte
	keys     [numKeySlots]hash // the weak keys, or the external one
	n        int
	resolved hash
	content  []byte
}

func (w *waiter) external() bool { return w.how&waitExternal != 0 }

// eachWaiter calls fn for the records of a chunk of a waiting stream.
func (sc *scanner) eachWaiter(stream int, c *chunk, fn func(w *waiter) error) error {
	entries, err := sc.dictionary(stream, c)
	if err != nil {
		return err
	}
	rec, err := sc.records(stream, c)
	if err != nil {
		return err
	}
	w := &sc.waiter
	return eachRecord(rec, len(entries), func(n int, rest []byte) error {
		w.entry = &entries[n]
		if sc.s.refused(w.entry) {
			return nil
		}
		r := cursor{b: rest}
		w.how = r.byte()
		w.n = int(w.how & waitCountMask)
		if w.n > numKeySlots || w.external() && w.n != 1 {
			return errCorrupt
		}
		for i := range w.n {
			w.keys[i] = r.hash()
		}
		if w.how&waitResolved != 0 {
			w.resolved = r.hash()
		}
		if r.bad {
			return errCorrupt
		}
		w.content = r.b
		return fn(w)
	})
}

// eachWaiting calls fn for the records of all waiting streams.
func (sc *scanner) eachWaiting(ctx context.Context, fn func(w *waiter) error) error {
	for stream := sc.s.partitions; sc.s.isWaiting(stream); stream++ {
		err := sc.s.eachChunk(ctx, stream, func(_ int, c *chunk) error { return sc.eachWaiter(stream, c, fn) })
		if err != nil {
			return err
		}
	}
	return nil
}

// spanOf is the id and the parent of a record by its content.
func (l *limits) spanOf(content []byte) (id, parent model.SpanID, err error) {
	c := cursor{b: content}
	h := c.head()
	if c.bad || !l.holds(h.id) || !l.holds(h.parent) {
		return id, parent, errCorrupt
	}
	return h.id, h.parent, nil
}
