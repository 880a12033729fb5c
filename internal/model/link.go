package model

import (
	"cmp"
	"slices"
	"time"
)

// LinkOptions change what linking decides.
type LinkOptions struct {
	KeepShutdown bool // --keep-shutdown: spans that a shutdown ended count like others (R4.30)
}

// Link makes a tree of a cleaned request (DESIGN 4c, 4d): root, one shift per process, parents by id or adoption, made-up levels, window, tail,
// and what may be on the path. hash is the hash of the request's id that the survey was made with.
//
//  1. choose the root on raw times (R4.22), then align every process to its clock (R5.5); lines belong to the instance that wrote them (R4.11)
//  2. link by id; spans without a parent in the request wait (R4.14, R4.17), rings are cut (R4.21)
//  3. re-hang server spans that hang under a root or a wrapper (R4.18)
//  4. make missing middle levels (R4.15), adopt what waits (R4.16)
//  5. move what sticks out within the uncertainty of the clocks (R6.6), settle window and tail (R4.23–R4.25)
func (b *Builder) Link(r *Request, hash uint64, clock Clock, opt LinkOptions) {
	b.climbed, b.nMade, b.noted, b.adrift = 0, 0, linkNotes{}, b.adrift[:0]
	if !b.indexed(r) {
		b.ids.fill(r.Spans)
		b.indexes(r)
	}
	if r.TakeNotes(b.notes); len(r.Notes) <= keepNotes {
		b.notes = r.Notes
	}
	for i, s := range r.Spans {
		s.Parent, s.Edge, s.Mark = nil, EdgeNone, i
		s.Kids = s.Kids[:0]
		s.Steps = s.Steps[:0]
		s.Fit, s.Blocking, s.Self, s.Critical = 0, false, 0, 0
		s.Flags &^= FlagTransparent
		b.noted.lines = b.noted.lines || s.Line
		b.noted.unknown = b.noted.unknown || !s.Known()
		b.noted.long = b.noted.long || s.MPScope && s.Dur() > ShutdownAfter
	}
	if b.noted.lines {
		b.placeLines(r, clock)
	}
	b.index(r)
	if !opt.KeepShutdown && b.noted.long {
		b.markShutdowns(r, hash, clock)
	}
	b.chooseRoot(r)
	b.align(r, clock)
	b.linkByID(r)
	if b.noted.upwards {
		b.cutCycles(r)
	}
	b.rehang(r, b.wrappers(r))
	b.middles(r)
	b.adoptWaiting(r)
	b.hangKids(r)
	r.DuplicateRoot = b.duplicateRoot(r)
	b.fit(r)
	b.settle(r)
}

// linkNotes say which of the rarer steps of linking a request needs.
type linkNotes struct {
	lines   bool // it has profile lines
	unknown bool // it has spans outside the vocabulary
	long    bool // a span of a cache server is as long as one that a shutdown ended
	upwards bool // a span stands before its parent in the order of the request, as one of a ring does
	mixed   bool // spans of one parent are not in order of start
	sticks  bool // a span sticks out of a parent on another clock
}

// index lists the spans of each stage.
func (b *Builder) index(r *Request) {
	for _, s := range b.seen {
		if len(b.byStage[s]) > keepListed {
			clear(b.byStage[s])
		}
		b.byStage[s] = b.byStage[s][:0]
	}
	b.seen = b.seen[:0]
	for _, s := range r.Spans {
		if s.Known() && !s.Has(FlagUntimed) {
			b.addToStage(s)
		}
	}
}

// keepNotes is how many notes the memory is kept of from one request to the next.
const keepNotes = 1 << 14

// keepListed is how many spans of a stage may stay listed after their request: they hold on to memory that is wanted back where they are many.
const keepListed = 256

// ShutdownAfter is how long a span has lasted at least that a shutdown ended (R4.30).
const ShutdownAfter = 30 * time.Second

// markShutdowns flags the spans that ended because their process was stopped (R4.30).
func (b *Builder) markShutdowns(r *Request, hash uint64, clock Clock) {
	retrieves, listed := b.starts[:0], false // raw starts of the retrieves: one that began inside a span says that the request went on
	for _, s := range r.Spans {
		if !s.MPScope || s.Line || s.Stage == StageLLMRequest || s.Has(FlagUntimed|FlagNegative|FlagOpen) || s.Dur() <= ShutdownAfter {
			continue
		}
		if !listed {
			listed = true
			for _, o := range r.Spans {
				if o.Stage == StageRetrieve || o.Stage == StageMPRetrieve {
					retrieves = append(retrieves, o.RawStart)
				}
			}
			slices.Sort(retrieves)
			b.starts = retrieves
		}
		n, _ := slices.BinarySearch(retrieves, s.RawStart+1)
		if clock.Shutdown(s, hash, n < len(retrieves) && retrieves[n] < s.RawEnd) {
			s.Flags |= FlagShutdown
		}
	}
}

// chooseRoot picks the root on raw times, or makes one up (R4.22).
func (b *Builder) chooseRoot(r *Request) {
	var best, top *Span
	tops := 0
	for _, stage := range rootPreference {
		for _, s := range b.byStage[stage] {
			if best == nil || b.betterRoot(r, s, best) {
				best = s
			}
		}
		if best != nil {
			break
		}
	}
	if best == nil {
		for _, s := range r.Spans {
			if !s.Has(FlagUntimed) && !s.IsPoint() && b.ids.find(s.Trace, s.ParentID) == nil {
				top = s
				tops++
			}
		}
	}
	switch {
	case best != nil:
		r.Root = best
	case tops == 1 && top.ParentID.IsZero():
		r.Root = top
	default:
		r.Root = b.make(StageNone, 0, 1)
		if len(r.Spans) > 0 {
			r.Root.Proc, r.Root.Res = r.Spans[0].Proc, r.Spans[0].Res
		}
		r.Root.StageKey = r.Dict.InternString(SyntheticStage)
		r.Root.Name = r.Root.StageKey
	}
	r.Root.Edge = EdgeRoot
}

// betterRoot compares two of one stage.
func (b *Builder) betterRoot(r *Request, s, old *Span) bool {
	falseFirst := func(a, c bool) int {
		switch {
		case a == c:
			return 0
		case c:
			return -1
		}
		return 1
	}
	return cmp.Or(
		falseFirst(s.Has(FlagShutdown), old.Has(FlagShutdown)),
		falseFirst(s.ServerRoot(), old.ServerRoot()),
		cmp.Compare(s.RawStart, old.RawStart),
		cmp.Compare(old.RawEnd, s.RawEnd),
		r.Dict.CompareSpanIDs(s.ID, old.ID)) < 0
}

// rootPreference: llm_request, cb.request, request.
var rootPreference = [...]Stage{StageLLMRequest, StageCBRequest, StageRequest}

// make returns a new synthetic span.
func (b *Builder) make(stage Stage, proc ProcID, attempt int) *Span {
	if b.nMade == len(b.made) {
		b.made = append(b.made, &Span{})
	}
	s := b.made[b.nMade]
	b.nMade++
	*s = Span{Stage: stage, Kin: stage, StageKey: stage.ID(), Name: stage.ID(), Class: Stages[stage].Class, Proc: proc, Clock: proc, Flags: FlagSynthetic,
		ID: SyntheticID(stage, proc, attempt), Kids: s.Kids[:0], Steps: s.Steps[:0]}
	return s
}

func (b *Builder) addToStage(s *Span) {
	if len(b.byStage[s.Stage]) == 0 {
		b.seen = append(b.seen, s.Stage)
	}
	b.byStage[s.Stage] = append(b.byStage[s.Stage], s)
}

// linkByID hangs spans under the span their parent id names; the others wait.
func (b *Builder) linkByID(r *Request) {
	b.waiting, b.hung = b.waiting[:0], b.hung[:0]
	for _, s := range r.Spans {
		if s == r.Root {
			continue
		}
		if up := b.ids.find(s.Trace, s.ParentID); up != nil {
			s.Parent, s.Edge = up, EdgeParent
			if up.Proc != s.Proc {
				s.Edge = EdgePropagated
			}
			b.noted.upwards = b.noted.upwards || up.Mark >= s.Mark
			if (rootStages.Has(up.Stage) || !up.Known()) && s.Owner() == Server && !s.Has(FlagUntimed) {
				b.hung = append(b.hung, s)
			}
			continue
		}
		if !s.ParentID.IsZero() && !rootStages.Has(s.Stage) { // R4.17
			s.Flags |= FlagOrphan
			r.Counts.Orphaned++
		}
		b.waiting = append(b.waiting, s)
	}
}

// cutCycles cuts each ring of parents at its earliest span (R4.21). Mark: 0 not seen, else the number of the climb that saw it.
func (b *Builder) cutCycles(r *Request) {
	for _, s := range r.Spans {
		s.Mark = 0
	}
	for i, s := range r.Spans {
		climb := i + 1
		x := s
		for x != nil && x.Mark == 0 {
			x.Mark = climb
			x = x.Parent
		}
		if x == nil || x.Mark != climb {
			continue
		}
		top := x
		for y := x.Parent; y != x; y = y.Parent {
			if c := cmp.Compare(y.Start, top.Start); c < 0 || c == 0 && r.Dict.CompareSpanIDs(y.ID, top.ID) < 0 {
				top = y
			}
		}
		top.Parent, top.Edge = nil, EdgeNone
		top.Flags |= FlagCycleCut
		r.Counts.Cycles++
		b.waiting = append(b.waiting, top)
	}
}

// wrappers marks (Mark 1) the unknown names that will be transparent (R4.23): without a parent beside a real root, above the root, and the
// unknown names below them. It reports whether there are any.
func (b *Builder) wrappers(r *Request) bool {
	if !b.noted.unknown {
		return false
	}
	real := r.RealRoot()
	b.stack = b.stack[:0]
	for _, s := range r.Spans {
		s.Mark = 0
		if !s.Known() && s.Parent == nil && s != r.Root && real {
			s.Mark = 1
			b.stack = append(b.stack, s)
		}
	}
	if real {
		for above, n := b.ids.find(r.Root.Trace, r.Root.ParentID), 0; above != nil && above != r.Root && n <= len(r.Spans); n++ {
			if !above.Known() && above.Mark == 0 {
				above.Mark = 1
				b.stack = append(b.stack, above)
			}
			above = b.ids.find(above.Trace, above.ParentID)
		}
	}
	if len(b.stack) == 0 {
		return false
	}
	// Down to unknown children: an unknown span is a wrapper when all unknown spans between it and a wrapper are.
	for _, s := range r.Spans {
		if s.Known() || s.Mark != 0 || s == r.Root {
			continue
		}
		b.order = b.order[:0]
		x := s
		for x != nil && !x.Known() && x.Mark == 0 && x != r.Root {
			b.order = append(b.order, x)
			x.Mark = -1
			x = x.Parent
		}
		mark := -1
		if x != nil && x.Mark == 1 {
			mark = 1
		}
		for _, y := range b.order {
			y.Mark = mark
		}
	}
	return true
}

// rehang puts server spans that hang by id under a root, or under a wrapper, under the span of their canonical parent stage that they
// overlap (R4.18). OriginalParent is what ParentID still says.
func (b *Builder) rehang(r *Request, wrapped bool) {
	b.order = b.order[:0]
	for _, s := range b.hung {
		up := s.Parent
		if up == nil || !(wrapped && up.Mark == 1) && !rootStages.Has(up.Stage) {
			continue
		}
		if over := b.parentStages(s.Stage); len(over) > 0 && !slices.Contains(over, up.Stage) && b.anyOf(over) {
			b.order = append(b.order, s)
		}
	}
	b.sortByLevel(r, b.order)
	for _, s := range b.order {
		if up := b.bestParent(r, s, b.parentStages(s.Stage)); up != nil {
			s.Parent, s.Edge = up, EdgeAdopted
		}
	}
}

func (b *Builder) anyOf(stages []Stage) bool {
	for _, s := range stages {
		if len(b.byStage[s]) > 0 {
			return true
		}
	}
	return false
}

// sortByLevel orders spans by how far their stage is from a root, then by (start, id).
func (b *Builder) sortByLevel(r *Request, spans []*Span) {
	slices.SortFunc(spans, func(x, y *Span) int {
		return cmp.Or(cmp.Compare(levels[x.Stage], levels[y.Stage]), r.compareSpans(x, y))
	})
}

// compareSpans orders by (start, id).
func (r *Request) compareSpans(x, y *Span) int {
	if c := cmp.Compare(x.Start, y.Start); c != 0 {
		return c
	}
	if c := r.Dict.CompareSpanIDs(x.ID, y.ID); c != 0 {
		return c
	}
	return r.Dict.CompareTraceIDs(x.Trace, y.Trace)
}

// levels is how many canonical parents a stage has above it, following the first of several.
var levels = func() (n [NumStages]int) {
	for s := range n {
		for p := Stages[s].Parents; len(p) > 0; p = Stages[p[0]].Parents {
			n[s]++
		}
	}
	return
}()

var underLookup = []Stage{StageLookup}

// maxCandidates bounds how many spans of one stage are looked at as parents of one span; of more, the last to start before it ends.
const maxCandidates = 4096

// climbLimit bounds the steps up the tree that adoption may take in one request; past it no candidate is taken from below.
const climbLimit = 1 << 25

// hangKids fills Kids, in order of (start, id).
func (b *Builder) hangKids(r *Request) {
	for _, s := range r.Spans {
		up := s.Parent
		if up == nil {
			continue
		}
		if n := len(up.Kids); n > 0 && !b.noted.mixed {
			last := up.Kids[n-1]
			b.noted.mixed = last.Start > s.Start || last.Start == s.Start && r.compareSpans(last, s) > 0
		}
		up.Kids = append(up.Kids, s)
		b.noted.sticks = b.noted.sticks || up.Clock != s.Clock && (s.Start < up.Start || s.End > up.End)
	}
	if r.Root.Has(FlagSynthetic) {
		r.Spans = append(r.Spans, r.Root)
	}
	if !b.noted.mixed {
		return
	}
	for _, s := range r.Spans {
		if len(s.Kids) > 1 && !slices.IsSortedFunc(s.Kids, r.compareSpans) {
			slices.SortFunc(s.Kids, r.compareSpans)
		}
	}
}

// duplicateRoot reports whether one process wrote two roots of one stage and not each of them holds a lookup of its own (R4.22).
func (b *Builder) duplicateRoot(r *Request) bool {
	roots := 0
	for _, stage := range rootPreference {
		roots = max(roots, len(b.byStage[stage]))
	}
	if roots < 2 || !b.rootTwice() {
		return false
	}
	for _, s := range r.Spans {
		s.Mark = 0
	}
	for _, s := range r.Spans {
		if !lookupStages.Has(s.Stage) {
			continue
		}
		for x := s; x != nil; x = x.Parent {
			if rootStages.Has(x.Stage) {
				x.Mark = 1
				break
			}
		}
	}
	for _, stage := range rootPreference {
		count, bare := map[ProcID]int{}, map[ProcID]bool{}
		for _, s := range b.byStage[stage] {
			count[s.Proc]++
			bare[s.Proc] = bare[s.Proc] || s.Mark == 0
		}
		for p, n := range count {
			if n > 1 && bare[p] {
				return true
			}
		}
	}
	return false
}

// rootTwice reports whether one process may have written two roots of one stage: of many that is not looked up.
func (b *Builder) rootTwice() bool {
	const many = 16
	for _, stage := range rootPreference {
		roots := b.byStage[stage]
		if len(roots) > many {
			return true
		}
		for i, s := range roots {
			if slices.ContainsFunc(roots[:i], func(o *Span) bool { return o.Proc == s.Proc }) {
				return true
			}
		}
	}
	return false
}
