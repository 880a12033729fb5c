package clock

import (
	"cmp"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/model"
)

// R5.6: how many pairs are kept, of one process pair and in all.
const (
	maxPairsOfTwo = 20_000
	maxPairs      = 1 << 20
)

// A pair is what one pair of spans says of the clocks of processes a and b: what must be added to b's clock to read it on a's is at least low
// at instant lowAt and at most high at highAt, both on b's clock. All in ns.
type pair struct {
	rank       uint64
	lowAt, low int64
	highAt     int64
	high       int64
	hasLow     bool
	hasHigh    bool
	serverIsA  bool // starts bound it from above then, ends from below
	suspect    *suspect
}

// A suspect is the end of a span that a shutdown may have ended; where it did, the pair counts for nothing.
type suspect struct {
	proc      model.ProcID
	stage     model.StrID
	end       model.Time
	dur       time.Duration
	request   uint64
	retrieved bool
}

// suspectOf is the span of a relation that a shutdown may have ended, nil where none could.
func suspectOf(r *model.Request, f relation) *suspect {
	for _, s := range [...]*model.Span{f.server, f.client} {
		if couldBeStopped(s) && s.Dur() > stoppedAfter {
			return &suspect{s.Proc, s.StageKey, s.RawEnd, s.Dur(), xxhash.Sum64String(r.ID), beganInside(retrievesOf(r.Spans), s)}
		}
	}
	return nil
}

// newPair turns what a pair of spans says of its server's clock into what it says of b's. Both bounds stand at one instant, the start of b's span: they are
// an interval (R5.1), and the corridor of equal intervals is symmetrical about their middle at every instant.
func newPair(f relation, serverIsA bool) pair {
	p := pair{serverIsA: serverIsA}
	c, s := f.client, f.server
	first := c.RawStart // comes before the server's start
	if f.kind == precedes {
		first = c.RawEnd
	}
	if serverIsA {
		p.highAt, p.high, p.hasHigh = int64(first), int64(s.RawStart-first), true
		if f.kind == holds {
			p.lowAt, p.low, p.hasLow = int64(first), int64(s.RawEnd-c.RawEnd), true
		}
		return p
	}
	p.lowAt, p.low, p.hasLow = int64(s.RawStart), int64(first-s.RawStart), true
	if f.kind == holds {
		p.highAt, p.high, p.hasHigh = int64(s.RawStart), int64(c.RawEnd-s.RawEnd), true
	}
	return p
}

// sighted is how far two sightings of one span may be apart (R4.10).
const sighted = int64(time.Millisecond)

// newAnchor turns what a span and a line that are one say of a clock without an epoch: the line's start is the span's, within a millisecond.
func newAnchor(a model.Anchor, lineIsA bool) pair {
	at, v := int64(a.At), int64(a.Span.RawStart-a.At)
	if lineIsA {
		at, v = int64(a.Span.RawStart), -v
	}
	return pair{lowAt: at, low: v - sighted, highAt: at, high: v + sighted, hasLow: true, hasHigh: true, serverIsA: lineIsA}
}

// bounded reports whether the pair bounds both sides.
func (p *pair) bounded() bool { return p.hasLow && p.hasHigh }

// at is the pair's instant on b's clock.
func (p *pair) at() int64 {
	switch {
	case !p.hasHigh:
		return p.lowAt
	case !p.hasLow:
		return p.highAt
	}
	return p.lowAt + (p.highAt-p.lowAt)/2
}

// comparePairs orders by rank; pairs of one rank, such as two spans of one id and start, by all that they say.
func comparePairs(x, y pair) int {
	if c := cmp.Compare(x.rank, y.rank); c != 0 {
		return c
	}
	bit := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(x.lowAt, y.lowAt), cmp.Compare(x.low, y.low), cmp.Compare(x.highAt, y.highAt), cmp.Compare(x.high, y.high),
		cmp.Compare(bit(x.hasLow), bit(y.hasLow)), cmp.Compare(bit(x.hasHigh), bit(y.hasHigh)), cmp.Compare(bit(x.serverIsA), bit(y.serverIsA)),
		cmp.Compare(bit(x.suspect != nil), bit(y.suspect != nil)))
}

// A sample is the pairs of two processes with the smallest ranks.
type sample struct {
	pairs []pair // in no order until put in order
	bound uint64 // pairs of a larger rank are out; it only falls
}

// fullSample is how many pairs a sample grows to before those of large ranks go.
const fullSample = maxPairsOfTwo + maxPairsOfTwo/4

// add takes a pair in, unless its rank is too large, and returns by how many pairs the sample grew.
func (s *sample) add(p pair) int {
	if p.rank > s.bound {
		return 0
	}
	before := len(s.pairs)
	if before == cap(s.pairs) { // twice as large: a sample is soon full
		s.pairs = slices.Grow(s.pairs, min(max(before, 8), fullSample))
	}
	if s.pairs = append(s.pairs, p); len(s.pairs) >= fullSample {
		s.prune()
	}
	return len(s.pairs) - before
}

func (s *sample) merge(o *sample) int {
	before := len(s.pairs)
	s.bound = min(s.bound, o.bound)
	s.pairs = append(s.pairs, o.pairs...)
	s.prune()
	return len(s.pairs) - before
}

// prune leaves the smallest.
func (s *sample) prune() {
	if len(s.pairs) > maxPairsOfTwo {
		ranks := make([]uint64, len(s.pairs))
		for i := range s.pairs {
			ranks[i] = s.pairs[i].rank
		}
		s.bound = model.NthSmallest(ranks, maxPairsOfTwo)
	}
	s.above(s.bound)
	if len(s.pairs) > maxPairsOfTwo { // several of the last rank
		s.order()
		clear(s.pairs[maxPairsOfTwo:])
		s.pairs = s.pairs[:maxPairsOfTwo]
	}
}

// order puts the pairs in the order of comparePairs.
func (s *sample) order() { slices.SortFunc(s.pairs, comparePairs) }

// above drops the pairs of larger rank.
func (s *sample) above(bound uint64) {
	s.pairs = slices.DeleteFunc(s.pairs, func(p pair) bool { return p.rank > bound })
}

// sample is that of two processes.
func (v *Survey) sample(pp procPair) *sample {
	s := v.samples[pp]
	if s == nil {
		s = &sample{bound: ^uint64(0)}
		v.samples[pp] = s
	}
	return s
}

// sampleOf is that of a client and a server, and whether the server is process a of it.
func (v *Survey) sampleOf(client, server model.ProcID) (s *sample, serverIsA bool) {
	k := &v.lately[(client*7+server)%model.ProcID(len(v.lately))]
	if k.sample == nil || k.client != client || k.server != server {
		pp, swapped := v.order(client, server)
		*k = sampled{client, server, v.sample(pp), swapped}
	}
	return k.sample, k.serverIsA
}

// order names two processes by their names, and reports whether they were swapped for it.
func (v *Survey) order(a, b model.ProcID) (pp procPair, swapped bool) {
	if v.dict.Proc(a).Name <= v.dict.Proc(b).Name {
		return procPair{a, b}, false
	}
	return procPair{b, a}, true
}

// addPairs takes in the pairs of a cleaned request.
func (v *Survey) addPairs(r *model.Request) {
	for _, f := range v.extract.pairsOf(r) {
		rank := v.extract.rank(r.Dict, r.ID, f.server)
		if rank > v.bound {
			continue
		}
		s, serverIsA := v.sampleOf(f.client.Clock, f.server.Clock)
		if rank > s.bound {
			continue
		}
		p := newPair(f, serverIsA)
		p.rank = rank
		p.suspect = suspectOf(r, f)
		v.nPairs += s.add(p)
	}
	for _, a := range r.Anchors {
		rank := v.extract.rank(r.Dict, r.ID, a.Span)
		if rank > v.bound {
			continue
		}
		s, lineIsA := v.sampleOf(a.Span.Clock, a.Clock)
		p := newAnchor(a, lineIsA)
		p.rank = rank
		v.nPairs += s.add(p)
	}
	if v.nPairs > 2*maxPairs {
		v.prunePairs(maxPairs)
	}
}

// prunePairs leaves at most so many pairs of all processes, those with the smallest ranks (R5.6).
func (v *Survey) prunePairs(most int) {
	v.nPairs = 0
	for _, s := range v.samples {
		s.prune()
		s.above(v.bound)
		v.nPairs += len(s.pairs)
	}
	if v.nPairs <= most {
		return
	}
	ranks := make([]uint64, 0, v.nPairs)
	for _, s := range v.samples {
		for i := range s.pairs {
			ranks = append(ranks, s.pairs[i].rank)
		}
	}
	v.bound = model.NthSmallest(ranks, most)
	v.nPairs = 0
	for _, s := range v.samples {
		s.above(v.bound)
		v.nPairs += len(s.pairs)
	}
}
