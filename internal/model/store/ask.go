package store

import (
	"context"

	"github.com/cbtrace/cbtrace/internal/model"
)

// An ask is a key by its number in a table, and the waiting partition that asks for it.
type ask struct {
	n    uint32
	from uint16
}

type pair struct{ trace, key hash }

const pairBits = 10

// ask is step 1.
func (id *identifier) ask(ctx context.Context) error {
	return id.each(ctx, func(ctx context.Context, d *desk, part int) error {
		d.weak.reset()
		d.ext.ids.reset()
		return d.scan.eachEntry(ctx, id.s.waiting(part), func(e *entry) error {
			w := waiterOf(e)
			switch {
			case w.external():
				if _, added := d.ext.ids.add(w.keys[0]); added {
					id.asked.Store(true)
					id.foreign.Store(true)
					return d.ask(noteExternal, w.keys[0], part)
				}
			case w.keyless():
				if !e.trace.IsZero() {
					id.keyless.Store(true)
				}
				for _, k := range w.keys[:w.n] {
					if _, added := d.weak.add(k); added {
						id.asked.Store(true)
						if err := d.ask(noteWeak, k, part); err != nil {
							return err
						}
					}
				}
			}
			return nil
		})
	})
}

func (d *desk) ask(kind noteKind, key hash, from int) error {
	return d.out.put(inboxAsked, d.id.s.keyedStream(key), &note{kind: kind, about: key, from: uint16(from)})
}

// answer is step 2.
func (id *identifier) answer(ctx context.Context) error {
	if !id.asked.Load() && !id.keyless.Load() {
		return nil
	}
	return id.each(ctx, func(ctx context.Context, d *desk, part int) error { return d.answer(ctx, part) })
}

func (d *desk) answer(ctx context.Context, part int) error {
	id := d.id
	d.weak.reset()
	d.asks = d.asks[:0]
	err := d.scan.eachNote(ctx, id.s.inbox(inboxAsked, part), func(n *note) error {
		if n.kind == noteWeak {
			at, _ := d.weak.add(n.about)
			d.asks = append(d.asks, ask{uint32(at), n.from})
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.strong = append(d.strong[:0], make([]bool, len(d.weak.keys))...)
	d.seen.reset()
	err = d.scan.eachEntry(ctx, part, func(e *entry) error {
		if e.flags&entryStrong != 0 && id.asked.Load() {
			if _, added := d.seen.add(e.key); added {
				if n := d.weak.find(e.key); n >= 0 {
					d.strong[n] = true
				}
				if id.foreign.Load() {
					if err := d.fit(e.text, e.key); err != nil {
						return err
					}
				}
			}
		}
		return d.pair(e.trace, e.key)
	})
	if err != nil {
		return err
	}
	for _, held := range d.strong {
		if held {
			d.sum.WeakHeld++
		} else {
			d.sum.WeakLost++
		}
	}
	for _, a := range d.asks {
		if d.strong[a.n] {
			if err := d.out.put(inboxAnswers, int(a.from), &note{kind: noteStrong, about: d.weak.keys[a.n]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// pair tells a trace one of its keys.
func (d *desk) pair(t model.TraceID, key hash) error {
	if t.IsZero() || !d.id.keyless.Load() {
		return nil
	}
	p := pair{traceKey(t), key}
	slot := &d.pairs[(p.trace.slot()^key.lo)&(1<<pairBits-1)]
	if *slot == p { // records of a request come in several chunks
		return nil
	}
	*slot = p
	return d.out.put(inboxPairs, d.id.s.waitingPart(t), &note{kind: notePair, about: p.trace, key: key})
}
