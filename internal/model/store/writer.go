package store

import (
	"errors"

	"github.com/cbtrace/cbtrace/internal/model"
)

// ErrClosed is what a store answers once it is closed.
var ErrClosed = errors.New("the store is closed")

// A Writer takes in batches of one goroutine.
type Writer struct {
	s       *Store
	open    []openChunk
	cache   []cacheSlot
	serial  uint64
	hashes  []byte
	content []byte
	text    []byte

	patterns []pattern
	heads    []attrHead
	lastID   []byte // the strong id seen last, and its hash: records of a request often follow one another
	lastHash hash

	counts counts
	closed bool
}

// counts are what writers count by themselves.
type counts struct{ records, spans, processSpans, processRecords int64 }

func (c *counts) add(o counts) {
	c.records += o.records
	c.spans += o.spans
	c.processSpans += o.processSpans
	c.processRecords += o.processRecords
}

// Writer returns a writer for one goroutine. Every writer is closed before Identify.
func (s *Store) Writer() *Writer {
	s.mu.Lock()
	s.writers++
	s.mu.Unlock()
	return s.newWriter()
}

func (s *Store) newWriter() *Writer {
	return &Writer{s: s, open: make([]openChunk, s.recordStreams()), cache: make([]cacheSlot, cacheSlots), patterns: make([]pattern, 1<<patternBits)}
}

// Before the content of a record in a keyed stream stands its meta byte: why it is in its request, whether a scoped name counts by a session that is
// strong elsewhere (R4.22), and which key attribute holds the id of the request and was left out of the content (its place in keyAttrs, from 1).
const (
	metaJoinMask  = 7
	metaScoped    = 1 << 3
	metaSlotShift = 4
)

// How the request of a waiting record is to be found: how many hashes of weak keys its entry has, or one of an external id,
// and behind them that of the resolved request.
const (
	waitCountMask = 7
	waitExternal  = 1 << 3
	waitNoRequest = 1 << 4 // to its process when no key holds (R4.5)
	waitSession   = 1 << 5 // the first weak key is session_id
	waitResolved  = 1 << 6
	waitByTrace   = 1 << 7 // what it is resolved to is the request of its trace (R4.4)
)

// waitHashes is how many hashes an entry has.
func waitHashes(how uint8) int {
	n := int(how & waitCountMask)
	if how&waitResolved != 0 {
		n++
	}
	return n
}

// Add takes the records of a batch, which may be reused afterwards.
func (w *Writer) Add(b *model.Batch) error {
	if w.closed || w.s.closed.Load() {
		return ErrClosed
	}
	for i := range b.Records {
		if err := w.add(b, &b.Records[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) add(b *model.Batch, r *model.Record) error {
	s := w.s
	w.counts.records++
	if r.Flags&(model.RecordLine|model.RecordPoint) == 0 {
		w.counts.spans++
	}
	p := w.pattern(b, r)
	sel := &p.sel
	k := entryKey{trace: r.Trace, file: r.File}
	if !r.Trace.IsZero() {
		k.flags = entryTrace
	}
	switch {
	case sel.resolved != noAttr:
		return w.addResolved(b, r, p, k)
	case s.mode == KeyByTrace && !r.Trace.IsZero():
		k.flags |= entryHash | entryByTrace
		w.text = appendTraceID(w.text[:0], s.dict, r.Trace)
		k.key = hashTraceKey(w.text)
		w.content = appendContent(w.content[:0], w.shapeOf(p, false), b, r, noAttr)
		return w.put(s.keyedStream(k.key), &k, nil, int(model.JoinTrace), w.content)
	}
	switch sel.kind {
	case keyStrong:
		text := sel.key.text(b, r)
		if string(text) != string(w.lastID) {
			w.lastID, w.lastHash = append(w.lastID[:0], text...), hashID(text)
		}
		k.key, k.flags = w.lastHash, k.flags|entryText|entryStrong
		w.content = appendContent(w.content[:0], w.shapeOf(p, true), b, r, sel.key)
		return w.put(s.keyedStream(k.key), &k, text, (sel.slot+1)<<metaSlotShift|int(model.JoinID), w.content)
	case keyProcess:
		return w.process(b, r, p, k)
	}
	return w.wait(b, r, p, k, hash{})
}

// addResolved follows cbtrace.request (R2.6). The record of an external id waits all the same: it tells which ids are ambiguous (R4.2).
func (w *Writer) addResolved(b *model.Batch, r *model.Record, p *pattern, k entryKey) error {
	s, sel := w.s, &p.sel
	if !s.cut.Load() {
		s.cut.Store(true)
	}
	text := sel.resolved.text(b, r)
	is := func(at attrAt) bool { return at != noAttr && string(at.text(b, r)) == string(text) }
	if len(text) == 0 {
		return w.process(b, r, p, k)
	}
	if sel.kind == keyExternal {
		key := hashID(text)
		if !is(sel.key) && isTrace(s.dict, r.Trace, text) {
			key, k.how = hashTraceKey(text), waitByTrace
		}
		return w.wait(b, r, p, k, key)
	}
	own := is(sel.key) // one of its ids is the request's
	for _, at := range sel.weak[:sel.nWeak] {
		own = own || is(at)
	}
	meta := int(model.JoinTrace)
	switch {
	case own:
		meta = int(model.JoinID)
		k.key, k.flags = hashID(text), k.flags|entryText
		if sel.kind == keyStrong && is(sel.key) {
			k.flags |= entryStrong
		}
	case isTrace(s.dict, r.Trace, text):
		k.key, k.flags, text = hashTraceKey(text), k.flags|entryHash|entryByTrace, nil
	default:
		k.key, k.flags = hashID(text), k.flags|entryText
	}
	if is(sel.session) {
		meta |= metaScoped
	}
	w.content = appendContent(w.content[:0], w.shapeOf(p, false), b, r, noAttr)
	return w.put(s.keyedStream(k.key), &k, text, meta, w.content)
}

// wait adds a record to the waiting stream of its trace.
func (w *Writer) wait(b *model.Batch, r *model.Record, p *pattern, k entryKey, resolved hash) error {
	sel := &p.sel
	k.flags |= entryWaiting
	h := w.hashes[:0]
	add := func(key hash) {
		if len(h) == 0 {
			k.key = key
		} else {
			k.key = hash{mix(k.key.hi^mixA, key.hi), mix(k.key.lo^mixA, key.lo)}
		}
		h = appendHash(h, key)
	}
	switch sel.kind {
	case keyExternal:
		k.how |= 1 | waitExternal
		add(hashID(sel.key.text(b, r)))
	default:
		k.how |= uint8(sel.nWeak)
		if sel.nWeak > 0 && sel.weak[0] == sel.session {
			k.how |= waitSession
		}
		for _, at := range sel.weak[:sel.nWeak] {
			add(hashID(at.text(b, r)))
		}
	}
	if sel.noRequest {
		k.how |= waitNoRequest
	}
	if !resolved.isZero() {
		k.how |= waitResolved
		add(resolved)
	}
	w.hashes = h
	w.content = appendContent(w.content[:0], w.shapeOf(p, false), b, r, noAttr)
	return w.put(w.s.waiting(w.s.waitingPart(r.Trace)), &k, h, noMeta, w.content)
}

func (w *Writer) process(b *model.Batch, r *model.Record, p *pattern, k entryKey) error {
	w.countProcess(r.Flags)
	w.content = appendContent(w.content[:0], w.shapeOf(p, false), b, r, noAttr)
	return w.put(w.s.processStream(), &k, nil, noMeta, w.content)
}

func (w *Writer) countProcess(flags model.RecordFlags) {
	if flags&(model.RecordLine|model.RecordPoint) == 0 {
		w.counts.processSpans++
	} else {
		w.counts.processRecords++
	}
}

// seal hands the open chunk of a stream over.
func (w *Writer) seal(stream int) error {
	o := &w.open[stream]
	if o.serial == 0 {
		return nil
	}
	o.rec = slack(o.rec)
	kept, err := w.s.take(stream, chunk{rec: o.rec, dict: o.dict, recLen: uint32(len(o.rec)), dictLen: uint32(len(o.dict)), entries: o.entries, records: o.records})
	if kept { // the bytes belong to the store now
		o.next(w.s.chunkSize)
	} else {
		*o = openChunk{rec: o.rec[:0], dict: o.dict[:0], size: o.size}
	}
	return err
}

// Close hands over what the writer still holds.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	err := w.flush()
	w.s.mu.Lock()
	w.s.writers--
	w.s.counts.add(w.counts)
	w.s.mu.Unlock()
	return err
}

func (w *Writer) flush() error {
	w.closed = true
	var first error
	for i := range w.open {
		o := &w.open[i]
		if cap(o.rec)-len(o.rec) > len(o.rec)/8 { // the last chunk is rarely full
			o.rec = append(make([]byte, 0, len(o.rec)+window), o.rec...)
		}
		o.rec = slack(o.rec)
		if o.serial == 0 {
			continue
		}
		if _, err := w.s.take(i, chunk{rec: o.rec, dict: append([]byte(nil), o.dict...), recLen: uint32(len(o.rec)), dictLen: uint32(len(o.dict)), entries: o.entries, records: o.records}); err != nil && first == nil {
			first = err
		}
	}
	w.open, w.cache, w.patterns = nil, nil, nil
	return first
}

// isTrace reports whether a text is that of a trace id: a request that is keyed by it (R4.4).
func isTrace(d *model.Dict, t model.TraceID, text []byte) bool {
	var b [32]byte
	return !t.IsZero() && string(appendTraceID(b[:0], d, t)) == string(text)
}

// appendTraceID appends the id as outputs show it.
func appendTraceID(b []byte, d *model.Dict, t model.TraceID) []byte {
	if _, opaque := t.Opaque(); opaque || t.IsZero() {
		return append(b, d.TraceIDText(t)...)
	}
	const digits = "0123456789abcdef"
	for _, half := range [2]uint64{t.Hi, t.Lo} {
		for shift := 60; shift >= 0; shift -= 4 {
			b = append(b, digits[half>>shift&15])
		}
	}
	return b
}
