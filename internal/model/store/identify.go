package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Summary says what identify made of the records.
type Summary struct {
	Records        int64 // taken in
	Spans          int64 // of them spans
	Unattributed   int64 // spans of no request: an empty id, no way to a key, or left out with KeyByID
	ProcessRecords int64 // lines and points of no request (R4.6)

	TraceKeyed int64 // traces without any key (R4.4)
	Contested  int64 // traces with several keys that hold spans without one (R4.3)
	Joined     int64 // external ids that belong to an internal one (R4.2)
	Ambiguous  int64 // external ids that fit several
	Alone      int64 // external ids that fit none
	WeakHeld   int64 // different weak keys that are strong elsewhere
	WeakLost   int64 // those that are not
}

// An identifier goes through section 4a. Its tables hold what waits only, as 128-bit hashes.
type identifier struct {
	s    *Store
	scan scanner

	weak   hashTable     // weak keys
	strong []atomic.Bool // by number: it is strong elsewhere
	joins  joiner        // external ids
	traces hashTable     // traces that hold a record without a key of its own
	keys   []traceKeys
	locks  [64]sync.Mutex // of keys, by number
	fits   []fits
	links  links

	summary Summary
}

// traceKeys are the different keys of a trace, as far as that matters.
type traceKeys struct {
	first hash
	n     uint8 // 0, 1, or 2 for several
}

func (t *traceKeys) add(key hash) {
	switch {
	case t.n == 0:
		t.first, t.n = key, 1
	case t.first != key:
		t.n = 2
	}
}

// Identify finds the request of every record (DESIGN 4a). All writers are closed before; it is called once.
//
//  1. what waits: weak keys, external ids, traces that hold a record without a key
//  2. what is known: which weak keys are strong elsewhere, which internal ids the external ones fit, which keys those traces have
//  3. external ids are joined in levels (R4.2), and waiting records that have a key now add it to their trace
//  4. in traces of several keys the links from records without a key up to the nearest with one (R4.3)
//  5. waiting records move to the partition of their request, or to their process
func (s *Store) Identify(ctx context.Context) (Summary, error) {
	s.mu.Lock()
	writers, again := s.writers, s.identified
	s.identified = true
	s.mu.Unlock()
	switch {
	case s.closed.Load():
		return Summary{}, ErrClosed
	case writers > 0:
		return Summary{}, errors.New("identify: a writer is still open")
	case again:
		return Summary{}, errors.New("identify: done before")
	}
	id := &identifier{s: s, scan: s.newScanner(), links: links{dict: s.dict, index: map[uint64]uint32{}}}
	for _, phase := range []func(context.Context) error{id.waiting, id.known, id.settle, id.contested, id.move} {
		if err := phase(ctx); err != nil {
			return Summary{}, err
		}
	}
	c := s.counts
	id.summary.Records, id.summary.Spans, id.summary.Unattributed, id.summary.ProcessRecords = c.records, c.spans, c.processSpans, c.processRecords
	return id.summary, nil
}

// waiting is step 1.
func (id *identifier) waiting(ctx context.Context) error {
	return id.scan.eachWaiting(ctx, id.touch, func(w *waiter) {
		switch {
		case w.external():
			id.joins.external.add(w.keys[0])
		case w.how&waitResolved == 0:
			for _, k := range w.keys[:w.n] {
				id.weak.add(k)
			}
			if !w.entry.trace.IsZero() {
				id.traces.add(traceKey(w.entry.trace))
			}
		}
	})
}

// touch looks at where the tables have what a waiting record is known by.
func (id *identifier) touch(w *waiter) uint32 {
	if w.external() {
		return id.joins.external.touch(w.keys[0])
	}
	seen := id.traces.touch(traceKey(w.entry.trace))
	if w.n > 0 {
		seen ^= id.weak.touch(w.keys[0])
	}
	return seen
}

// known is step 2.
func (id *identifier) known(ctx context.Context) error {
	id.strong = make([]atomic.Bool, len(id.weak.keys))
	id.keys = make([]traceKeys, len(id.traces.keys))
	if len(id.strong)+len(id.keys)+len(id.joins.external.keys) == 0 {
		return nil
	}
	id.fits = make([]fits, id.s.workers())
	return id.s.inParallel(ctx, 0, id.s.partitions, func(ctx context.Context, worker int, next func() (int, bool)) error {
		scan := id.s.newScanner()
		found := fits{external: &id.joins.external}
		var weak, traces []int // of each entry, its number in the tables; looked up side by side
		for stream, ok := next(); ok; stream, ok = next() {
			err := scan.eachDictionary(ctx, stream, func(entries []entry) {
				weak, traces = weak[:0], traces[:0]
				for i := range entries {
					e, n := &entries[i], -1
					if e.flags&entryStrong != 0 {
						n = id.weak.find(e.key)
					}
					weak, traces = append(weak, n), append(traces, id.traceOf(e.trace))
				}
				for i := range entries {
					e := &entries[i]
					if e.flags&entryStrong != 0 {
						if n := weak[i]; n >= 0 {
							id.strong[n].Store(true)
						}
						found.internal(e.text, e.key)
					}
					id.addKey(traces[i], e.key)
				}
			})
			if err != nil {
				return err
			}
		}
		id.fits[worker] = found
		return nil
	})
}

// traceOf is the number of a trace that holds a record without a key of its own, -1 of any other.
func (id *identifier) traceOf(t model.TraceID) int {
	if t.IsZero() {
		return -1
	}
	return id.traces.find(traceKey(t))
}

// addKey notes a key of the trace with a number, if it is one.
func (id *identifier) addKey(trace int, key hash) {
	if trace >= 0 {
		lock := &id.locks[trace%len(id.locks)]
		lock.Lock()
		id.keys[trace].add(key)
		lock.Unlock()
	}
}

// settle is step 3.
func (id *identifier) settle(ctx context.Context) error {
	id.s.joins = joins{candidates: id.joins.resolve(id.fits), ambiguous: map[hash]string{}}
	for _, f := range id.joins.found {
		switch {
		case f.ambiguous:
			id.summary.Ambiguous++
		case f.fits:
			id.summary.Joined++
		default:
			id.summary.Alone++
		}
	}
	for i := range id.strong {
		if id.strong[i].Load() {
			id.summary.WeakHeld++
		} else {
			id.summary.WeakLost++
		}
	}
	if len(id.keys) == 0 {
		return nil
	}
	return id.scan.eachWaiting(ctx, id.touch, func(w *waiter) {
		if k, ok := id.keyOf(w); ok {
			id.addKey(id.traceOf(w.entry.trace), k)
		}
	})
}

// keyOf is the key a waiting record has by itself, now that all records were seen.
func (id *identifier) keyOf(w *waiter) (hash, bool) {
	switch {
	case w.how&waitResolved != 0:
		return w.resolved, true
	case w.external():
		return id.joins.of(w.keys[0]).key, true
	}
	for _, k := range w.keys[:w.n] {
		if n := id.weak.find(k); n >= 0 && id.strong[n].Load() {
			return k, true
		}
	}
	return hash{}, false
}

// contested is step 4. Only spans on the way up from a record without a key are kept.
func (id *identifier) contested(ctx context.Context) error {
	several := func(t model.TraceID) bool {
		n := id.traces.find(traceKey(t))
		return n >= 0 && id.keys[n].n > 1
	}
	for i := range id.keys {
		switch id.keys[i].n {
		case 0:
			id.summary.TraceKeyed++
		case 2:
			id.summary.Contested++
		}
	}
	if id.summary.Contested == 0 {
		return nil
	}
	if err := id.linkWaiting(ctx, several); err != nil {
		return err
	}
	if err := id.linkKeyed(ctx, several); err != nil {
		return err
	}
	id.links.resolve()
	return nil
}

// linkWaiting finds the spans without a key of contested traces, then those waiting ones above them that have one.
func (id *identifier) linkWaiting(ctx context.Context, several func(model.TraceID) bool) error {
	for _, keyed := range [2]bool{false, true} {
		var keys []hash
		err := id.linksOf(ctx, id.s.partitions, 2*id.s.partitions, func(entries []entry, wanted []bool) {
			keys = append(keys[:0], make([]hash, len(entries))...)
			for i := range entries {
				w := waiterOf(&entries[i])
				k, ok := id.keyOf(&w)
				keys[i] = k
				wanted[i] = ok == keyed && several(entries[i].trace)
			}
		}, func(n int, e *entry, content []byte) error {
			span, parent, err := id.scan.spanOf(content)
			if keyed {
				id.links.keyed(e.trace, span, keys[n])
			} else {
				id.links.child(e.trace, span, parent)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// linkKeyed finds the keyed spans above those without a key.
func (id *identifier) linkKeyed(ctx context.Context, several func(model.TraceID) bool) error {
	return id.linksOf(ctx, 0, id.s.partitions, func(entries []entry, wanted []bool) {
		for i := range entries {
			wanted[i] = several(entries[i].trace)
		}
	}, func(_ int, e *entry, rest []byte) error {
		if len(rest) == 0 {
			return errCorrupt
		}
		span, _, err := id.scan.spanOf(rest[1:]) // behind the meta byte
		id.links.keyed(e.trace, span, e.key)
		return err
	})
}

// linksOf calls fn for the records of the entries that are wanted, and reads no chunk that has none.
func (id *identifier) linksOf(ctx context.Context, from, to int, want func(entries []entry, wanted []bool), fn func(n int, e *entry, rest []byte) error) error {
	var wanted []bool
	for stream := from; stream < to; stream++ {
		err := id.s.eachChunk(ctx, stream, func(_ int, c *chunk) error {
			entries, err := id.scan.dictionary(stream, c)
			if err != nil {
				return err
			}
			wanted = append(wanted[:0], make([]bool, len(entries))...)
			want(entries, wanted)
			for i := range entries {
				wanted[i] = wanted[i] && !id.s.refused(&entries[i])
			}
			if !slices.Contains(wanted, true) {
				return nil
			}
			rec, err := id.scan.records(stream, c)
			if err != nil {
				return err
			}
			return eachRecord(rec, len(entries), func(n int, rest []byte) error {
				if !wanted[n] {
					return nil
				}
				return fn(n, &entries[n], rest)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// move is step 5.
func (id *identifier) move(ctx context.Context) error {
	s := id.s
	err := s.inParallel(ctx, s.partitions, 2*s.partitions, func(ctx context.Context, _ int, next func() (int, bool)) error {
		m := mover{id: id, w: s.newWriter(), scan: s.newScanner()}
		for stream, ok := next(); ok; stream, ok = next() {
			if err := m.stream(ctx, stream); err != nil {
				return err
			}
		}
		err := m.w.flush()
		s.mu.Lock()
		s.counts.add(m.w.counts)
		s.mu.Unlock()
		return err
	})
	if err != nil {
		return err
	}
	return s.spill.discard(fileWaiting)
}
