package store

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A scanner goes over the chunks of streams, in memory or on disk. One goroutine uses one.
type scanner struct {
	s *Store
	limits
	rec     []byte
	dict    []byte
	entries []entry
}

func (s *Store) newScanner() scanner {
	sc := scanner{s: s}
	sc.update(s)
	return sc
}

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

// eachChunk calls fn for the chunks of a stream; each is good until the next.
func (s *Store) eachChunk(ctx context.Context, stream int, fn func(i int, c *chunk) error) error {
	var c chunk
	for i := 0; ; i++ {
		var ok bool
		if c, ok = s.chunk(stream, i); !ok {
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
		if err := sc.s.load(stream, c, sc.dict); err != nil {
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
	sc.rec = slack(resize(sc.rec, int(c.size())))
	return sc.rec[:c.recLen], sc.s.load(stream, c, sc.rec)
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

// eachEntry calls fn for the entries of each chunk of a stream. Those of refused files do not count (R4.12).
func (sc *scanner) eachEntry(ctx context.Context, stream int, fn func(e *entry) error) error {
	return sc.s.eachChunk(ctx, stream, func(_ int, c *chunk) error {
		entries, err := sc.dictionary(stream, c)
		if err != nil {
			return err
		}
		for i := range entries {
			if e := &entries[i]; !sc.s.refused(e) {
				if err := fn(e); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// inParallel calls work in several goroutines, which share the partitions between them by calling next until it is not ok.
func (s *Store) inParallel(ctx context.Context, work func(ctx context.Context, next func() (part int, ok bool)) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var at atomic.Int64
	next := func() (int, bool) {
		i := int(at.Add(1)) - 1
		return i, i < s.partitions
	}
	var wg sync.WaitGroup
	for range min(s.jobs, s.partitions) {
		wg.Go(func() {
			if err := work(ctx, next); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// A waiter is what records of a waiting stream share: an entry and what it says.
type waiter struct {
	entry    *entry
	how      uint8
	n        int
	keys     [numKeySlots]hash // the weak keys, or the external one
	resolved hash
}

func (w *waiter) external() bool { return w.how&waitExternal != 0 }

// keyless reports whether the record has no strong key.
func (w *waiter) keyless() bool { return w.how&(waitExternal|waitResolved) == 0 }

// waiterOf reads a waiting entry. What a damaged one says does not matter, only that it says something: its chunk was checked.
func waiterOf(e *entry) waiter {
	w := waiter{entry: e, how: e.how, n: min(int(e.how&waitCountMask), numKeySlots)}
	c := cursor{b: e.text}
	for i := range w.n {
		w.keys[i] = c.hash()
	}
	if e.how&waitResolved != 0 {
		w.resolved = c.hash()
	}
	return w
}

// spanOf is the id and the parent of a record by its content.
func (l *limits) spanOf(content []byte) (id, parent model.SpanID, err error) {
	c := cursor{b: content}
	var f fixed
	if l.fixed(&c, &f); c.bad {
		return id, parent, errCorrupt
	}
	return f.id, f.parent, nil
}
