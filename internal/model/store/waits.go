package store

import "context"

// waits is what is known of the records that wait in one partition.
type waits struct {
	strong   hashTable // weak keys that are strong elsewhere
	external hashTable
	found    []joined  // of external ids, by number
	traces   hashTable // traces of records
	keys     []traceKeys
}

// traceKeys are the different keys of a trace, as far as that matters.
type traceKeys struct {
	first   hash
	n       uint8 // 0, 1, or 2 for several
	keyless bool  // it holds a record without a strong key
}

func (t *traceKeys) add(key hash) {
	switch {
	case t.n == 0:
		t.first, t.n = key, 1
	case t.first != key:
		t.n = 2
	}
}

// load brings together what partition part was told with what lies in it. Without the answers to what it asked, steps 2 and 3, it is not complete.
func (w *waits) load(ctx context.Context, d *desk, part int) error {
	w.strong.reset()
	w.external.reset()
	w.traces.reset()
	w.found, w.keys = w.found[:0], w.keys[:0]
	s := d.id.s
	err := d.scan.eachNote(ctx, s.inbox(inboxAnswers, part), func(n *note) error {
		if n.kind == noteStrong {
			w.strong.add(n.about)
		} else if _, added := w.external.add(n.about); added {
			w.found = append(w.found, n.joined())
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = d.scan.eachEntry(ctx, s.waiting(part), func(e *entry) error {
		if e.trace.IsZero() {
			return nil
		}
		n, added := w.traces.add(traceKey(e.trace))
		if added {
			w.keys = append(w.keys, traceKeys{})
		}
		r := waiterOf(e)
		if k, ok := w.keyOf(&r); ok {
			w.keys[n].add(k)
		}
		if r.keyless() {
			w.keys[n].keyless = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.scan.eachNote(ctx, s.inbox(inboxPairs, part), func(n *note) error {
		if at := w.traces.find(n.about); at >= 0 {
			w.keys[at].add(n.key)
		}
		return nil
	})
}

// keyOf is the key that a waiting record has by itself, now that all records were seen.
func (w *waits) keyOf(r *waiter) (hash, bool) {
	switch {
	case r.how&waitResolved != 0:
		return r.resolved, true
	case r.external():
		return w.joinOf(r.keys[0]).key, true
	}
	for _, k := range r.keys[:r.n] {
		if w.strong.find(k) >= 0 {
			return k, true
		}
	}
	return hash{}, false
}

// joinOf is what became of an external id.
func (w *waits) joinOf(external hash) joined {
	if n := w.external.find(external); n >= 0 {
		return w.found[n]
	}
	return joined{key: external}
}
