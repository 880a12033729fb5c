package otlp

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// exact reads the members of a span from its beginning on for as long as they stand as the collector and most SDKs write them: this order, no white space,
// hex ids, times as text. It reports whether that was the whole span; otherwise the members that are left, perhaps all of them, are the caller's.
func (d *Decoder) exact(r *model.Record) (whole bool) {
	n, at := d.usualStart(r)
	if at == 0 {
		if n, at = d.start(r); at == 0 {
			return false
		}
	}
	return d.members(n, at)
}

// What a span begins with, and where what follows stands.
const (
	traceAt  = len(`"traceId":"`)
	spanAt   = traceAt + 32 + len(`","spanId":"`)
	parentAt = spanAt + 16 + len(`","parentSpanId":"`)
	endAt    = 19 + len(`","endTimeUnixNano":"`) // from the digits of the start on
	idsSize  = parentAt + 16
	window   = 40 // bytes behind the ids by which the spelling is found
)

// usualStart reads a span up to its end time where what stands between is known. It returns the spelling that it found, and where the closing quote of the
// end time is; 0: nothing was read.
func (d *Decoder) usualStart(r *model.Record) (n spellingID, at int) {
	b, l := d.blk.Data, &d.spellings
	at = d.s.Pos()
	if len(b)-at < idsSize+window {
		return 0, 0
	}
	p := b[at : at+idsSize]
	if string(p[:traceAt]) != `"traceId":"` || string(p[traceAt+32:spanAt]) != `","spanId":"` {
		return 0, 0
	}
	high, ok1 := jsonscan.Hex16(p[traceAt:])
	low, ok2 := jsonscan.Hex16(p[traceAt+16:])
	id, ok3 := jsonscan.Hex16(p[spanAt:])
	parent, ok4 := uint64(0), true
	if string(p[spanAt+16:parentAt]) == `","parentSpanId":"` {
		parent, ok4 = jsonscan.Hex16(p[parentAt:])
		at += idsSize
	} else {
		at += spanAt + 16
	}
	if !ok1 || !ok2 || !ok3 || !ok4 || len(b)-at < window {
		return 0, 0
	}
	n = l.starts[startSlot(b[at:])]
	s := &l.list[n]
	if at += len(s.text); n == 0 || len(b)-at < endAt+24 || string(b[at-len(s.text):at]) != s.text {
		return 0, 0
	}
	p = b[at : at+endAt+24]
	start, ok1 := jsonscan.Digits19(p)
	end, ok2 := jsonscan.Digits19(p[endAt:])
	if !ok1 || !ok2 || start-1 >= math.MaxInt64 || end-1 >= math.MaxInt64 || string(p[19:endAt]) != `","endTimeUnixNano":"` || p[endAt+19] != '"' {
		return 0, 0
	}
	r.Trace, r.ID, r.Parent = model.TraceID{Hi: high, Lo: low}, model.HexID(id), model.HexID(parent)
	r.Name, r.Kind, r.Start, r.End = s.name, s.kind, model.Time(start), model.Time(end)
	return n, at + endAt + 19
}

// startSlot hashes what follows the ids of a span, of which there are window bytes: `","flags":256,"name":"cb.lookup","kind":1`.
func startSlot(b []byte) uint64 {
	_ = b[window-1]
	h := (binary.LittleEndian.Uint64(b[8:])^bits.RotateLeft64(binary.LittleEndian.Uint64(b[16:]), 21))*0x9e3779b97f4a7c15 +
		(binary.LittleEndian.Uint64(b[24:])^bits.RotateLeft64(binary.LittleEndian.Uint64(b[32:]), 21))*0xbf58476d1ce4e5b9
	return (h ^ h>>29) * 0x9e3779b97f4a7c15 >> (64 - startBits)
}

// start is usualStart for a span whose spelling is new; it learns it. at is 0 where something is missing or spelled otherwise: the members before that are in
// r then, each of them whole, and the scanner stands behind them, where the caller goes on with the next member in the general way.
func (d *Decoder) start(r *model.Record) (n spellingID, at int) {
	s := &d.s
	if there, ok := d.member(`"traceId":"`, func() bool {
		high, ok1 := s.Hex()
		low, ok2 := s.Hex()
		if !ok1 || !ok2 || !s.Exact(`"`) {
			return false
		}
		r.Trace = model.TraceID{Hi: high, Lo: low}
		return true
	}); !there || !ok {
		return 0, 0
	}
	if _, ok := d.member(`,"spanId":"`, func() bool {
		id, ok := s.Hex()
		if !ok || !s.Exact(`"`) {
			return false
		}
		r.ID = model.HexID(id)
		return true
	}); !ok {
		return 0, 0
	}
	if _, ok := d.member(`,"parentSpanId":"`, func() bool {
		id, _ := s.Hex()
		if !s.Exact(`"`) { // "" is no parent
			return false
		}
		r.Parent = model.HexID(id)
		return true
	}); !ok {
		return 0, 0
	}
	from := s.Pos() - 1
	if _, ok := d.member(`,"flags":`, func() bool {
		_, ok := s.Digits()
		return ok && s.Byte() == ','
	}); !ok {
		return 0, 0
	}
	if _, ok := d.member(`,"name":"`, func() bool {
		name, ok := s.Plain()
		if ok {
			r.Name = d.name(name)
		}
		return ok
	}); !ok {
		return 0, 0
	}
	if _, ok := d.member(`,"kind":`, func() bool {
		n, ok := s.Digits()
		if !ok || s.Byte() != ',' {
			return false
		}
		if n <= uint64(model.KindConsumer) {
			r.Kind = model.SpanKind(n)
		}
		return true
	}); !ok {
		return 0, 0
	}
	to := s.Pos() + len(`,"startTimeUnixNano":"`)
	if r.Start = d.exactTime(`,"startTimeUnixNano":"`); r.Start == 0 {
		return 0, 0
	}
	if r.End = d.exactTime(`,"endTimeUnixNano":"`); r.End == 0 {
		return 0, 0
	}
	l, b := &d.spellings, d.blk.Data
	if n = l.learn(0, b[from:to], spelling{role: roleStart, name: r.Name, kind: r.Kind}); n != 0 && len(b)-from >= window {
		l.starts[startSlot(b[from:])] = n
	}
	return n, s.Pos() - 1
}

// member reads a member that may be there: what it begins with, then the rest of it, which fills the record only where it succeeds. Where the rest is spelled
// otherwise (ok is false) the scanner stands before the member again.
func (d *Decoder) member(begins string, rest func() bool) (there, ok bool) {
	m := d.s.Mark()
	if !d.s.Exact(begins) {
		return false, true
	}
	if !rest() {
		d.s.Return(m)
		return true, false
	}
	return true, true
}

// exactTime reads a time as text; 0: there is none, or it is not spelled so.
func (d *Decoder) exactTime(key string) model.Time {
	s := &d.s
	m := s.Mark()
	if s.Exact(key) {
		if n, ok := s.Digits(); ok && n <= math.MaxInt64 && s.Exact(`"`) {
			return model.Time(n)
		}
		s.Return(m)
	}
	return 0
}
