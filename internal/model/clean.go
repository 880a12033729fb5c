package model

import (
	"slices"
	"strconv"
	"time"
)

// A Builder takes requests through cleaning (4b) and linking (4c, 4d). The zero value works. It keeps scratch between requests,
// so one goroutine uses one Builder, and what it returns is good until its next call of the same method.
type Builder struct {
	ids      idIndex
	repeats  map[*Span][]*Span // by the first span of an id: the others that stayed, in order of their start
	repeated bool              // an id came twice
	parts    []*Request
	spare    []*Request // requests of second executions, reused
	made     []*Span    // synthetic spans, reused
	nMade    int
	byStage  [NumStages][]*Span
	seen     []Stage // the stages that byStage holds spans of
	waiting  []*Span
	aligned  []Alignment
	adrift   []*Span // lines that got times
	stack    []*Span
	climbed  int // steps up the tree in this request
	attempts AttemptScratch
	order    []*Span
	sighted  [2][]*Span // spans and lines of a stage
	starts   []Time
	hung     []*Span // server spans under roots and unknown names
	noted    linkNotes
	notes    []Note

	monotonic   map[ProcID]ProcID // clocks without an epoch, by the process of their lines
	monotonicOf *Dict
}

// Reuse of an id (R4.7) and sightings of one span to the µs (R4.8).
const (
	reuseAfter  = 60 * time.Second
	microsecond = Time(time.Microsecond)
)

// Clean makes the requests that a group of spans really is, on raw times: executions apart (R4.7), copies away (R4.8), profile lines
// coalesced (R4.9) and paired with their spans (R4.10). Spans of g are in order of (raw start, id), untimed ones last, and stay so.
func (b *Builder) Clean(g *Request) []*Request {
	g.Anchors = g.Anchors[:0]
	var kinds StageSet // of roots
	again, lines, odd := false, false, false
	for _, s := range g.Spans {
		s.Clock = s.Proc
		if s.Line {
			s.Clock, lines = b.clockOf(g, s), true
		}
		if rootStages.Has(s.Stage) && !s.Has(FlagUntimed) {
			kind := s.rootKind()
			again = again || kinds.Has(kind)
			kinds |= 1 << kind
		}
		odd = odd || s.Has(FlagUntimed|FlagOpen) || s.RawEnd < s.RawStart || !s.Known()
	}
	b.parts = append(b.parts[:0], g)
	b.repeated = false
	if again { // only a root of a kind that was there before can begin an execution
		b.parts = b.executions(g, b.parts)
	}
	for _, r := range b.parts {
		b.unique(r)
		if lines {
			b.lines(r)
			b.indexes(nil)
		}
		if lines || odd {
			r.countOdd()
		}
	}
	return b.parts
}

// indexed reports whether ids holds the spans of a request.
func (b *Builder) indexed(r *Request) bool { return r.ids == &b.ids && b.ids.of == r }

// indexes notes whose spans ids holds, nil for those of no request.
func (b *Builder) indexes(r *Request) {
	if b.ids.of = r; r != nil {
		r.ids = &b.ids
	}
}

// Repeated reports whether spans of what was cleaned last had one id: then their attributes were compared (R4.8).
func (b *Builder) Repeated() bool { return b.repeated }

// countOdd counts the spans that are untimed, open, negative or outside the vocabulary, and flags what ends before it starts.
func (r *Request) countOdd() {
	for _, s := range r.Spans {
		if s.Has(FlagUntimed) {
			r.Counts.Untimed++
			continue
		}
		if s.Has(FlagOpen) { // R4.8: an open span alone ends at its start
			s.RawEnd, s.End = s.RawStart, s.Start
			r.Counts.Open++
		}
		if s.RawEnd < s.RawStart {
			s.Flags |= FlagNegative
			r.Counts.Negative++
		}
		if !s.Known() {
			r.Counts.UnknownStages++
		}
	}
}

// executions appends to parts, which holds the group, the further executions that the group holds (R4.7): it is cut at a root that begins more than
// a minute after all work before it ended and holds a lookup of its own, or that another instance of the same service and host wrote after the
// first window.
func (b *Builder) executions(g *Request, parts []*Request) []*Request {
	b.indexes(nil)
	b.ids.fill(g.Spans)
	top := b.rootsAbove(g.Spans)
	cuts := b.cuts(g, top)
	if len(cuts) == 0 {
		return parts
	}
	all := g.Spans
	for i := range cuts {
		parts = append(parts, b.second(g, i))
	}
	g.Spans = make([]*Span, 0, len(all))
	for _, s := range all {
		r := parts[executionOf(s, top[s.Mark], cuts)]
		r.Spans = append(r.Spans, s)
	}
	return parts
}

// rootKind is what roots that are one another's like in two executions have in common: their stage, of envelopes of the server request.
func (s *Span) rootKind() Stage {
	if s.ServerRoot() {
		return StageRequest
	}
	return s.Stage
}

// second is the request of execution i+2 of a group.
func (b *Builder) second(g *Request, i int) *Request {
	for len(b.spare) <= i {
		b.spare = append(b.spare, &Request{})
	}
	r := b.spare[i]
	*r = Request{Identity: g.Identity, Dict: g.Dict, Spans: r.Spans[:0]}
	r.ID, r.Reused = g.ID+"#"+strconv.Itoa(i+2), true
	return r
}

// rootsAbove numbers the spans (Mark) and gives for each the nearest root stage at or above it by id, nil for none.
func (b *Builder) rootsAbove(spans []*Span) []*Span {
	top := make([]*Span, len(spans))
	for i, s := range spans {
		s.Mark = i
	}
	for i, s := range spans {
		for n := 0; s != nil && n < 64; n++ {
			if rootStages.Has(s.Stage) {
				top[i] = s
				break
			}
			s = b.ids.find(s.Trace, s.ParentID)
		}
	}
	return top
}

// A cut is where a later execution begins.
type cut struct {
	at  Time // start of its root
	end Time // of the window before it
}

// cuts finds where later executions begin. The foreground work of the vocabulary falls into groups that are more than a minute apart; a group begins an
// execution when it holds a root of a kind that was there before, with a lookup of its own. A root of another instance needs no minute.
func (b *Builder) cuts(g *Request, top []*Span) []cut {
	withLookup := map[*Span]bool{}
	for i, s := range g.Spans {
		if lookupStages.Has(s.Stage) && top[i] != nil {
			withLookup[top[i]] = true
		}
	}
	var cuts []cut
	firsts := map[Stage]*Span{} // of the execution under way, by kind of root
	passed := map[*Span]bool{}  // roots
	var end, group, before Time // of the work so far; start of the last group, end of the work before it
	for i, s := range g.Spans {
		if s.Has(FlagUntimed) || !s.Known() || s.Class != Work {
			continue
		}
		if group == 0 || s.RawStart.Sub(end) > reuseAfter {
			group, before = s.RawStart, end
		}
		if rootStages.Has(s.Stage) {
			passed[s] = true
			kind := s.rootKind()
			first := firsts[kind]
			switch {
			case first == nil:
				firsts[kind] = s
			case withLookup[s] && before != 0 && first.RawStart < group:
				cuts = append(cuts, cut{group, before})
				clear(firsts)
				firsts[kind], before = s, 0
			case s.RawStart > end && b.moved(g.Dict, first, s):
				cuts = append(cuts, cut{s.RawStart, end})
				clear(firsts)
				firsts[kind], before = s, 0
			}
		}
		if top[i] == nil || passed[top[i]] {
			end = max(end, s.RawEnd)
		}
	}
	return cuts
}

// moved reports whether two roots come from different instances of one service on one host.
func (b *Builder) moved(d *Dict, a, c *Span) bool {
	p, q := d.Res(a.Res), d.Res(c.Res)
	return a.Stage == c.Stage && p.Instance != "" && q.Instance != "" && p.Instance != q.Instance && p.Service != "" && p.Service == q.Service && p.Host != "" && p.Host == q.Host
}

// executionOf is the number of the execution a span belongs to: that of its root, else by time. A root without a parent that begins after
// one window and reaches into the next belongs to the next: an llm_request begins before what it holds.
func executionOf(s, top *Span, cuts []cut) int {
	at, end := s.RawStart, s.RawEnd
	if top != nil {
		at, end = top.RawStart, max(top.RawEnd, top.RawStart)
	}
	n := 0
	for n < len(cuts) && cuts[n].at <= at {
		n++
	}
	if n < len(cuts) && at > cuts[n].end && end >= cuts[n].at {
		n++
	}
	return n
}

// comparedRepeats is how many spans of one id a further one is compared with besides the first: the last ones, next to which copies stand in
// order of start. More than that under one id is a broken writer; their copies then stay, flagged, instead of taking time by their square.
const comparedRepeats = 32

// unique drops exact copies and joins open copies with the complete one (R4.8); other repeats of an id stay, flagged.
func (b *Builder) unique(r *Request) {
	b.ids.reset(len(r.Spans))
	b.indexes(r)
	if len(b.repeats) > 0 {
		clear(b.repeats)
	}
	n := 0
	for n < len(r.Spans) && b.ids.add(r.Spans[n]) == nil {
		n++
	}
	kept := r.Spans[:n]
	b.repeated = b.repeated || n < len(r.Spans)
	for _, s := range r.Spans[n:] {
		old := b.ids.add(s)
		if old == nil {
			kept = append(kept, s)
			continue
		}
		repeats := b.repeats[old]
		if r.merges(old, s) || slices.ContainsFunc(repeats[max(0, len(repeats)-comparedRepeats):], func(o *Span) bool { return r.merges(o, s) }) {
			continue
		}
		r.Counts.Conflicting++
		s.Flags |= FlagDuplicateID
		if b.repeats == nil {
			b.repeats = map[*Span][]*Span{}
		}
		b.repeats[old] = append(repeats, s)
		kept = append(kept, s)
	}
	clear(r.Spans[len(kept):])
	r.Spans = kept
}

// merges merges s into an old span of its id when it is a copy of it.
func (r *Request) merges(old, s *Span) bool {
	switch {
	case s.Has(FlagOpen) && s.StageKey == old.StageKey:
		r.Counts.OpenCopies++
	case old.Has(FlagOpen) && s.StageKey == old.StageKey:
		r.Counts.OpenCopies++
		old.Flags &^= FlagOpen
		old.RawEnd, old.End, old.Error = s.RawEnd, s.End, s.Error
		old.Attrs, s.Attrs = s.Attrs, old.Attrs // swapped: both spans go back to their arena with memory of their own
	case sameContent(old, s) && sameTimes(old, s):
		r.Counts.Duplicated++
		old.Copies++
		if s.RawStart%microsecond != 0 || s.RawEnd%microsecond != 0 { // the finer times stay
			old.RawStart, old.RawEnd, old.Start, old.End = s.RawStart, s.RawEnd, s.Start, s.End
		}
	default:
		return false
	}
	old.Sources = append(old.Sources, s.Sources...)
	return true
}

func sameContent(a, c *Span) bool {
	kind := func(k SpanKind) SpanKind { return max(k, 1) } // unspecified is internal
	if a.StageKey != c.StageKey || a.ParentID != c.ParentID || kind(a.Kind) != kind(c.Kind) || a.Error != c.Error {
		return false
	}
	return holds(a, c) && holds(c, a)
}

// holds reports whether c has every attribute of the table that a has, with the same typed value.
func holds(a, c *Span) bool {
	for _, at := range a.Attrs {
		if at.Key.OfStage(a.Stage) && !equalValues(a.Attr(at.Key), c.Attr(at.Key)) {
			return false
		}
	}
	return true
}

func equalValues(a, c Value) bool {
	if a.Kind == c.Kind {
		return a == c
	}
	x, ok := a.Number()
	y, also := c.Number()
	return ok && also && x == y
}

// sameTimes reports whether start and duration are equal, or one is the other cut to µs.
func sameTimes(a, c *Span) bool {
	cutTo := func(fine, rough *Span) bool {
		return rough.RawStart == floorMicros(fine.RawStart) &&
			(rough.RawEnd == floorMicros(fine.RawEnd) || Time(rough.Dur()) == floorMicros(Time(fine.Dur())))
	}
	return a.RawStart == c.RawStart && a.RawEnd == c.RawEnd || cutTo(a, c) || cutTo(c, a)
}

func floorMicros(t Time) Time { return t - t%microsecond }
