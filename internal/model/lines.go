package model

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// Names of profile lines that several of make one span (R4.9). Readers give lines these names whatever --profile-map calls them.
const (
	lineSchedule = "sched.gnnmt"
	lineSubmit   = "gnnmt.cb_unified_submit"
	linePoll     = "gnnmt.cb_unified_poll"
	lineLoad     = "slk.load"
	linePass     = "slk."
)

// lines coalesces profile lines (R4.9) and pairs them with the spans of the same work (R4.10).
func (b *Builder) lines(r *Request) {
	b.order = b.order[:0]
	spans := false
	for _, s := range r.Spans {
		if s.Line {
			b.order = append(b.order, s)
		} else {
			spans = true
		}
	}
	if len(b.order) == 0 {
		return
	}
	b.coalesce(r)
	if spans {
		b.pairSightings(r)
	}
}

// A lineOwner tells the processes and workers apart whose lines may coalesce.
type lineOwner struct {
	LineProcess
	role     string // where there is no pid
	worker   string // of passes
	unplaced bool   // on a clock without an epoch
}

// manyOwners is how many processes in a request are looked through one by one.
const manyOwners = 16

// openLines holds the span that lines of one process are being added to, one of each kind.
type openLines struct {
	owner    lineOwner
	schedule *Span
	rpc      *Span
	pass     *Span
	polled   bool
	next     []Time // starts of the submits that begin the second and later lookups
}

// lineOwners finds the openLines of a line.
type lineOwners struct {
	list  []*openLines
	index map[lineOwner]*openLines // of many
}

func (l *lineOwners) of(r *Request, s *Span) *openLines {
	owner := lineOwner{LineProcess: r.LineProcess(s), unplaced: s.Has(FlagUntimed)}
	if owner.PID == 0 {
		owner.role = s.Text(AttrRole)
	}
	if s.Stage == StageStartLoadKV {
		owner.worker = s.Worker()
	}
	if l.index != nil {
		if o := l.index[owner]; o != nil {
			return o
		}
	} else {
		for _, o := range l.list {
			if o.owner == owner {
				return o
			}
		}
	}
	o := &openLines{owner: owner}
	if l.list = append(l.list, o); len(l.list) == manyOwners {
		l.index = map[lineOwner]*openLines{}
		for _, o := range l.list {
			l.index[o.owner] = o
		}
	} else if l.index != nil {
		l.index[owner] = o
	}
	return o
}

// coalesce makes one span of the lines of one call, looking at the lines of one process only (R4.9): of submits and polls, of the lines of a pass, then of
// those of the scheduler, which are told apart by the submits.
//
// b.order holds the lines in order of raw start; what was added to another is taken from r.Spans. Lines on a clock without an epoch are untimed, but have
// their instants on that clock, where they coalesce like others.
func (b *Builder) coalesce(r *Request) {
	var owners lineOwners
	absorbed := false
	for _, s := range b.order {
		s.Mark = 0
		if s.RawStart == 0 {
			continue
		}
		switch name := r.Dict.Str(s.Name); {
		case name == lineSubmit:
			absorbed = owners.of(r, s).submit(s) || absorbed
		case name == linePoll:
			absorbed = owners.of(r, s).poll(s) || absorbed
		case strings.HasPrefix(name, linePass):
			absorbed = owners.of(r, s).load(s, name == lineLoad) || absorbed
		}
	}
	for _, s := range b.order {
		if s.RawStart != 0 && r.Dict.Str(s.Name) == lineSchedule {
			absorbed = owners.of(r, s).step(s) || absorbed
		}
	}
	if absorbed {
		r.Counts.Coalesced += b.dropMarked(r)
	}
}

// submit opens a cb.lookup.rpc, unless one is open that was not polled yet, which absorbs it. All of these report whether the line was absorbed.
func (o *openLines) submit(s *Span) bool {
	if o.rpc != nil && !o.polled {
		o.rpc.absorb(s)
		return true
	}
	if o.rpc != nil {
		o.next = append(o.next, s.RawStart)
	}
	o.rpc, o.polled = s, false
	return false
}

// poll adds to the rpc that is open, which so lasts from the first submit to the last poll; a poll without any opens one.
func (o *openLines) poll(s *Span) bool {
	at, open := s.RawStart, o.rpc != nil
	if open {
		o.rpc.absorb(s)
	} else {
		o.rpc = s
	}
	o.polled = true
	o.rpc.Polls = append(o.rpc.Polls, at)
	return open
}

// load opens a pass of cb.start_load_kv: slk.load does, or the first slk.*; the others continue it.
func (o *openLines) load(s *Span, begins bool) bool {
	if o.pass == nil || begins {
		o.pass = s
		return false
	}
	o.pass.absorb(s)
	return true
}

// step makes one cb.schedule per lookup of the scheduler's lines, first to last: the line whose interval contains the next lookup's submit begins the next.
func (o *openLines) step(s *Span) bool {
	for len(o.next) > 0 && o.next[0] < s.RawStart {
		o.next = o.next[1:]
	}
	if o.schedule == nil || len(o.next) > 0 && o.next[0] <= s.RawEnd {
		o.schedule = s
		return false
	}
	o.schedule.absorb(s)
	return true
}

// What Mark says of a span while lines are put together.
const (
	markGone   = 1 // a line that is part of another span now
	markPaired = 2 // a span that has its line
)

// absorb adds another line to s: its interval, attributes and source. The line is marked as gone.
func (s *Span) absorb(o *Span) {
	s.RawStart, s.RawEnd = min(s.RawStart, o.RawStart), max(s.RawEnd, o.RawEnd)
	s.Start, s.End = s.RawStart, s.RawEnd
	s.Flags &^= FlagOpen
	s.addAttrs(o)
	s.Error = s.Error || o.Error
	s.Sources = append(s.Sources, o.Sources...)
	o.Mark = markGone
}

// addAttrs takes over the attributes that s lacks.
func (s *Span) addAttrs(o *Span) {
	for _, a := range o.Attrs {
		if s.Attr(a.Key).Kind == NoValue {
			s.Attrs = append(s.Attrs, a)
		}
	}
}

// dropMarked takes the lines that are gone out of the request.
func (b *Builder) dropMarked(r *Request) int64 {
	kept := r.Spans[:0]
	for _, s := range r.Spans {
		if s.Line && s.Mark == markGone {
			continue
		}
		kept = append(kept, s)
	}
	n := len(r.Spans) - len(kept)
	clear(r.Spans[len(kept):])
	r.Spans = kept
	return int64(n)
}

// pair makes one of a span and a line, unless one of them is part of another pair.
func (r *Request) pair(s, line *Span) {
	if s.Mark != 0 || line.Mark != 0 {
		return
	}
	s.Mark = markPaired
	if line.Adrift() {
		r.Anchors = append(r.Anchors, Anchor{s, line.Clock, line.RawStart})
	}
	if s.Proc != line.Proc {
		r.Votes = append(r.Votes, Vote{r.LineProcess(line), s.Proc})
	}
	s.pair(line)
	r.StagePaired[s.Stage]++
}

// A sighting is a span and a line that may be one (R4.10).
type sighting struct {
	span, line *Span
	apart      time.Duration
}

// pairSightings makes one of a span and a line that show the same work: same stage, owner, rank and pid, raw start and duration within
// max(1 ms, 1 % of the longer). Of several the closest pair goes first. The span stays, the finer times with it (R4.10).
func (b *Builder) pairSightings(r *Request) {
	var spans, lines, unplaced uint64 // sets of stages
	for _, s := range r.Spans {
		switch set := uint64(1) << s.Stage; {
		case s.Line && s.Has(FlagUntimed):
			unplaced |= set
		case s.Line:
			lines |= set
		default:
			spans |= set
		}
	}
	var found []sighting
	both := spans & (lines | unplaced) &^ (1 << StageNone)
	for rest := both & lines; rest != 0; rest &= rest - 1 {
		found = b.candidates(r, Stage(bits.TrailingZeros64(rest)), found)
	}
	slices.SortFunc(found, func(x, y sighting) int {
		return cmp.Or(cmp.Compare(x.apart, y.apart), r.compareSpans(x.span, y.span), r.compareSpans(x.line, y.line))
	})
	for _, s := range r.Spans {
		s.Mark = 0
	}
	for _, f := range found {
		r.pair(f.span, f.line)
	}
	for rest := both & unplaced; rest != 0; rest &= rest - 1 {
		b.pairOrdinals(r, Stage(bits.TrailingZeros64(rest)))
	}
	dropped := b.dropMarked(r)
	if dropped == 0 {
		return
	}
	r.Counts.Dual += dropped
	// A line may have been the finer clock: keep the order of raw start.
	slices.SortStableFunc(r.Spans, func(x, y *Span) int {
		return cmp.Or(boolCompare(x.Has(FlagUntimed), y.Has(FlagUntimed)), r.compareRaw(x, y))
	})
}

func (r *Request) compareRaw(x, y *Span) int {
	return cmp.Or(cmp.Compare(x.RawStart, y.RawStart), r.Dict.CompareSpanIDs(x.ID, y.ID), r.Dict.CompareTraceIDs(x.Trace, y.Trace))
}

// candidates appends the pairs of one stage.
func (b *Builder) candidates(r *Request, stage Stage, found []sighting) []sighting {
	spans, lines := b.sighted[0][:0], b.sighted[1][:0]
	defer func() { b.sighted = [2][]*Span{spans, lines} }()
	for _, s := range r.Spans {
		if s.Stage != stage || s.Has(FlagUntimed) {
			continue
		}
		if s.Line {
			lines = append(lines, s)
		} else {
			spans = append(spans, s)
		}
	}
	if len(spans) == 0 || len(lines) == 0 {
		return found
	}
	r.StageSeen.Spans[stage] += int32(len(spans))
	r.StageSeen.Lines[stage] += int32(len(lines))
	for _, l := range lines {
		reach := Time(tolerance(l.Dur()) * 2) // a span that much longer is out of reach anyway
		at, _ := slices.BinarySearchFunc(spans, l.RawStart, func(s *Span, t Time) int { return cmp.Compare(s.RawStart, t) })
		for _, s := range spans[max(0, at-maxSightings):min(len(spans), at+maxSightings)] {
			if s.RawStart < l.RawStart-reach || s.RawStart > l.RawStart+reach {
				continue
			}
			starts, durations := absolute(s.RawStart.Sub(l.RawStart)), absolute(s.Dur()-l.Dur())
			within := tolerance(max(s.Dur(), l.Dur()))
			if starts <= within && durations <= within && sameWorker(r, s, l) {
				found = append(found, sighting{s, l, starts + durations})
			}
		}
	}
	return found
}

// maxSightings bounds how many spans before and after its start are looked at for one line.
const maxSightings = 64

// pairOrdinals pairs the spans of a stage with lines on a clock without an epoch: the first with the first of their worker and so on, where their
// durations agree (R4.10).
func (b *Builder) pairOrdinals(r *Request, stage Stage) {
	var spans []*Span
	for _, s := range r.Spans {
		if s.Stage == stage && !s.Line && !s.Has(FlagUntimed) {
			spans = append(spans, s)
		}
	}
	lines := 0
	used := map[string]int{} // by rank, how many of its spans are behind us
	for _, l := range r.Spans {
		if l.Stage != stage || !l.Line || !l.Has(FlagUntimed) || l.RawStart == 0 {
			continue
		}
		lines++
		rank := l.Worker()
		for n := used[rank]; n < len(spans); n++ {
			if s := spans[n]; sameWorker(r, s, l) {
				used[rank] = n + 1
				if l.RawEnd != 0 && absolute(s.Dur()-l.Dur()) <= tolerance(max(s.Dur(), l.Dur())) {
					r.pair(s, l)
				}
				break
			}
		}
	}
	if lines > 0 && len(spans) > 0 {
		if r.StageSeen.Spans[stage] == 0 {
			r.StageSeen.Spans[stage] = int32(len(spans))
		}
		r.StageSeen.Lines[stage] += int32(lines)
	}
}

// tolerance is how far two sightings of one span may be apart (VOCABULARY 6).
func tolerance(d time.Duration) time.Duration { return max(time.Millisecond, d/100) }

func absolute(d time.Duration) time.Duration { return max(d, -d) }

// sameWorker reports whether nothing speaks against two sightings being of one process and rank: a key missing on one side matches.
func sameWorker(r *Request, s, line *Span) bool {
	p, q := r.Dict.Res(s.Res), r.Dict.Res(line.Res)
	if p.PID != 0 && q.PID != 0 && p.PID != q.PID || p.Host != "" && q.Host != "" && p.Host != q.Host {
		return false
	}
	v, w := s.Worker(), line.Worker()
	return v == "" || w == "" || v == w
}

// pair makes a line and the span it shows one.
func (s *Span) pair(line *Span) {
	fine := func(x *Span) bool { return x.RawStart%microsecond != 0 || x.RawEnd%microsecond != 0 }
	shift := Time(0) // of a clock without an epoch
	if line.Has(FlagUntimed) {
		shift = s.RawStart - line.RawStart
	} else if fine(line) && !fine(s) {
		s.RawStart, s.RawEnd, s.Start, s.End = line.RawStart, line.RawEnd, line.Start, line.End
	}
	s.addAttrs(line)
	for _, p := range line.Polls {
		s.Polls = append(s.Polls, p+shift)
	}
	s.Error = s.Error || line.Error
	s.Sources = append(s.Sources, line.Sources...)
	line.Mark = markGone
}
