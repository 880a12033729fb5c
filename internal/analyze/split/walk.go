package split

import (
	"math"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A walk collects what the spans under one cb.lookup.rpc prove to have been done, in one pass over them.
type walk struct {
	load, other []interval // L2 loads or their stand-ins; other work
	first       model.Time // first instant of the server
	lastLeaf    model.Time // end of the last leaf that began before the last poll
	hasLeaf     bool
	lookups     int         // with times
	server      *model.Span // the last of those
	standIn     bool        // load holds stand-ins
	upper       bool        // other holds spans that count whole, to an END that a poll stamped (R7.2)
	apart       bool        // every lookup lies outside the rpc and was written by another process

	stack    []frame
	standIns []interval
	loaded   bool // the lookup at hand has a cb.l2_load
	own      []interval
}

// A frame is a span on the way down.
type frame struct {
	span     *model.Span
	next     int        // the child to visit next
	done     model.Time // latest end of the leaves seen under it
	leaves   bool
	working  bool // has work children
	inLookup bool // is a cb.lookup or under one
}

// under walks over everything under rpc but what belongs to a further rpc. Leaves that start at or after lastPoll do not count for lastLeaf.
func (w *walk) under(rpc *model.Span, lastPoll model.Time) {
	w.load, w.other, w.standIns, w.stack = w.load[:0], w.other[:0], w.standIns[:0], w.stack[:0]
	w.first, w.lastLeaf, w.hasLeaf = math.MaxInt64, math.MinInt64, false
	w.lookups, w.standIn, w.upper, w.loaded, w.apart = 0, false, false, false, true
	w.push(rpc, false)
	for len(w.stack) > 0 {
		top := &w.stack[len(w.stack)-1]
		if top.next == len(top.span.Kids) {
			w.leave(lastPoll)
			continue
		}
		k := top.span.Kids[top.next]
		top.next++
		if k.Stage == model.StageLookupRPC {
			continue
		}
		inLookup := top.inLookup || k.Stage == model.StageLookup
		if inLookup && k.Class == model.Work && timed(k) {
			top.working = true
			w.first = min(w.first, k.Start)
		}
		if k.Stage == model.StageLookup && !top.inLookup { // a lookup of its own
			w.loaded, w.standIns = false, w.standIns[:0]
			if timed(k) && k.Class == model.Work {
				w.lookups++
				w.server = k
				w.apart = w.apart && k.Proc != rpc.Proc && (k.End <= rpc.Start || k.Start >= rpc.End)
			}
		}
		w.push(k, inLookup)
	}
}

func (w *walk) push(s *model.Span, inLookup bool) {
	w.stack = append(w.stack, frame{})
	f := &w.stack[len(w.stack)-1]
	f.span, f.done, f.inLookup = s, math.MinInt64, inLookup
}

// leave takes the last span off the stack, with all under it seen.
func (w *walk) leave(lastPoll model.Time) {
	n := len(w.stack) - 1
	f := &w.stack[n]
	w.stack = w.stack[:n]
	s := f.span
	if n == 0 || !f.inLookup {
		return
	}
	up := &w.stack[n-1]
	outermost := !up.inLookup
	if timed(s) {
		if s.Class == model.Work && !f.working && !outermost {
			w.other = append(w.other, intervalOf(s))
			f.leaves, f.done = true, max(f.done, s.End)
			if s.Start < lastPoll {
				w.hasLeaf, w.lastLeaf = true, max(w.lastLeaf, s.End)
			}
		}
		w.judge(s, f)
	}
	if f.leaves {
		up.leaves, up.done = true, max(up.done, f.done)
	}
	if outermost && len(w.standIns) > 0 && !w.loaded {
		w.load, w.standIn = append(w.load, w.standIns...), true
	}
}

// judge says what a span proves by its stage (R7.1, R7.2).
func (w *walk) judge(s *model.Span, f *frame) {
	switch s.Stage {
	case model.StageL2Load:
		w.load, w.loaded = append(w.load, intervalOf(s)), true
	case model.StageCoordinatorMatch:
		w.other, w.upper = append(w.other, intervalOf(s)), true
	case model.StageLookup:
		if !f.leaves {
			w.other, w.upper = append(w.other, intervalOf(s)), true
			return
		}
		w.ownTime(s, min(f.done, s.End))
	case model.StageSparsePrefetch:
		if n, ok := s.Attr(model.AttrL2Keys).Number(); ok && n > 0 {
			w.standIns = append(w.standIns, intervalOf(s))
		}
		if f.working && f.leaves {
			w.ownTime(s, min(f.done, s.End))
		}
	case model.StageMPLookupPrefetch:
		for _, k := range [...]model.AttrKey{model.AttrL2HitTokens, model.AttrL2HitKeys} {
			if n, ok := s.Attr(k).Number(); ok && n > 0 {
				w.standIns = append(w.standIns, intervalOf(s))
				break
			}
		}
	}
}

// ownTime adds the stretches of a span before an instant in which no work child of it ran. Kids are in order of start.
func (w *walk) ownTime(s *model.Span, until model.Time) {
	at := s.Start
	add := func(to model.Time) {
		if to = min(to, until); to > at {
			w.other = append(w.other, interval{at, to})
		}
	}
	for _, k := range s.Kids {
		if k.Class == model.Work && timed(k) {
			add(k.Start)
			at = max(at, k.End)
		}
	}
	add(until)
}
