package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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

func (s *Summary) add(o Summary) {
	s.TraceKeyed += o.TraceKeyed
	s.Contested += o.Contested
	s.Joined += o.Joined
	s.Ambiguous += o.Ambiguous
	s.Alone += o.Alone
	s.WeakHeld += o.WeakHeld
	s.WeakLost += o.WeakLost
}

// An identifier goes through section 4a. What it has to bring together lies in two orders, records that wait by their trace and the others by the hash of
// their key: partitions of the one send notes to those of the other, and only the tables of those at work are in memory.
type identifier struct {
	s       *Store
	keyless atomic.Bool            // traces hold records without a strong key
	asked   atomic.Bool            // keys are asked for
	foreign atomic.Bool            // external ids among them
	fitting [numLevels]atomic.Bool // some internal id may mean something at that level

	mu      sync.Mutex
	several hashTable // contested traces
	home    []bool    // waiting partitions that hold some
	links   links
	summary Summary
}

// A desk is where one goroutine works on one partition after the other.
type desk struct {
	id   *identifier
	scan scanner
	out  noteWriter
	sum  Summary

	weak   hashTable // what is asked for
	asks   []ask
	strong []bool              // of weak keys, by number
	seen   hashTable           // strong keys of the partition
	pairs  [1 << pairBits]pair // that were noted lately
	ext    joining
	waits  waits
}

// Identify finds the request of every record (DESIGN 4a). All writers are closed before; it is called once.
//
//  1. waiting partitions ask for their weak keys and external ids
//  2. partitions of keys answer which weak keys are strong, say which external ids their internal ones fit, and tell traces their keys
//  3. external ids are joined in levels (R4.2)
//  4. waiting partitions work out how many keys each trace has: with those of waiting records that have a key now
//  5. in traces of several keys the links from records without a key up to the nearest with one (R4.3)
//  6. waiting records move to the partition of their request, or to their process
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
	id := &identifier{s: s, home: make([]bool, s.partitions), links: links{dict: s.dict, index: map[uint64]uint32{}}}
	s.joins = joins{candidates: map[hash]hash{}, ambiguous: map[hash]string{}}
	for _, step := range []func(context.Context) error{id.ask, id.answer, id.join, id.settle, id.contested, id.move} {
		if err := step(ctx); err != nil {
			return Summary{}, err
		}
	}
	c := s.counts
	id.summary.Records, id.summary.Spans, id.summary.Unattributed, id.summary.ProcessRecords = c.records, c.spans, c.processSpans, c.processRecords
	return id.summary, nil
}

// each calls work for every partition, at several desks.
func (id *identifier) each(ctx context.Context, work func(ctx context.Context, d *desk, part int) error) error {
	return id.s.inParallel(ctx, func(ctx context.Context, next func() (int, bool)) error {
		d := id.desk()
		for part, ok := next(); ok; part, ok = next() {
			if err := work(ctx, d, part); err != nil {
				return err
			}
		}
		id.mu.Lock()
		id.summary.add(d.sum)
		id.mu.Unlock()
		return d.out.flush()
	})
}

func (id *identifier) desk() *desk {
	return &desk{id: id, scan: id.s.newScanner(), out: id.s.newNoteWriter()}
}

// drop forgets the notes in an inbox.
func (id *identifier) drop(boxes ...inbox) {
	for _, box := range boxes {
		for part := range id.s.partitions {
			id.s.drop(id.s.inbox(box, part))
		}
	}
}

// join is step 3.
func (id *identifier) join(ctx context.Context) error {
	if id.foreign.Load() {
		for level := range uint8(numLevels) {
			if !id.fitting[level].Load() {
				continue
			}
			if err := id.each(ctx, func(ctx context.Context, d *desk, part int) error { return d.join(ctx, part, level) }); err != nil {
				return err
			}
		}
		if err := id.each(ctx, func(ctx context.Context, d *desk, part int) error { return d.reply(ctx, part) }); err != nil {
			return err
		}
	}
	id.drop(inboxAsked, inboxFits)
	return nil
}

// settle is step 4.
func (id *identifier) settle(ctx context.Context) error {
	if !id.keyless.Load() {
		return nil
	}
	return id.each(ctx, func(ctx context.Context, d *desk, part int) error {
		if err := d.waits.load(ctx, d, part); err != nil {
			return err
		}
		for n, t := range d.waits.keys {
			switch {
			case !t.keyless:
			case t.n == 0:
				d.sum.TraceKeyed++
			case t.n > 1:
				d.sum.Contested++
				id.mu.Lock()
				id.several.add(d.waits.traces.keys[n])
				id.home[part] = true
				id.mu.Unlock()
			}
		}
		return nil
	})
}

// move is step 6.
func (id *identifier) move(ctx context.Context) error {
	s := id.s
	err := s.inParallel(ctx, func(ctx context.Context, next func() (int, bool)) error {
		m := mover{desk: id.desk(), w: s.newWriter()}
		for part, ok := next(); ok; part, ok = next() {
			if err := m.waits.load(ctx, m.desk, part); err != nil {
				return err
			}
			if err := m.stream(ctx, s.waiting(part)); err != nil {
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
	id.drop(inboxAnswers, inboxPairs)
	return s.spill.discard(fileWaiting)
}
