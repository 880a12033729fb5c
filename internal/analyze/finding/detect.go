package finding

import (
	"slices"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/split"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Inputs are what detection knows beside the linked request.
type Inputs struct {
	Split    *split.Split  // of the same request
	Deadline time.Duration // 0: DefaultDeadline
	SetOnly  bool          // no messages: what a report needs

	Unrelated func(model.TraceID) bool // whether a trace is marked as holding unrelated keys; nil: none is
}

// A Found is a finding of a request. Message is one sentence with numbers and without payloads; an early exit's reason, the only text of
// an input in it, is cut and quoted. Spans show it, in the order of the request; some findings have none.
type Found struct {
	Number  int
	Message string
	Spans   []*model.Span
}

// Info is the finding's row.
func (f *Found) Info() *Info { return &Registry[f.Number] }

// A Detector finds what one request after the other shows, in the same memory. The zero value works; it is for one goroutine.
type Detector struct {
	req   *model.Request
	in    Inputs
	set   model.FindingSet
	spans [NumFindings][]*model.Span
	found []Found
	ranks []string

	listed bool // spans holds some

	retrieves []int64 // by attempt
	world     int64   // the largest world_size of the request
}

// Detect finds the findings of scope request that a linked request shows, in the order of the registry, once each. Of missing_stage it is
// the part that the request shows by itself. What it returns is good until the next request.
func (d *Detector) Detect(r *model.Request, in Inputs) (model.FindingSet, []Found) {
	if in.Deadline == 0 {
		in.Deadline = DefaultDeadline
	}
	d.req, d.in, d.set, d.world, d.ranks = r, in, 0, 0, d.ranks[:0]
	if d.listed { // by a call that was not for the set only
		for i := range d.spans {
			d.spans[i] = d.spans[i][:0]
		}
	}
	d.listed = !in.SetOnly
	for _, s := range r.Spans {
		d.span(s)
	}
	for i := range r.Notes {
		d.note(&r.Notes[i])
	}
	d.request()
	d.further()
	d.found = d.found[:0]
	if in.SetOnly {
		return d.set, nil
	}
	for n := range Registry {
		if d.set.Has(n) {
			d.found = append(d.found, Found{n, Registry[n].say(d, d.spans[n]), d.spans[n]})
		}
	}
	return d.set, d.found
}

// see notes a finding, and a span that shows it.
func (d *Detector) see(n int, s *model.Span) {
	d.set |= 1 << n
	if spans := d.spans[n]; s != nil && !d.in.SetOnly && (len(spans) == 0 || spans[len(spans)-1] != s) {
		d.spans[n] = append(spans, s)
	}
}

// span sees what a span shows by itself.
func (d *Detector) span(s *model.Span) {
	if s.Has(model.FlagOrphan | model.FlagNegative | model.FlagShutdown) {
		for _, f := range [...]struct {
			flag   model.Flags
			number int
		}{{model.FlagOrphan, Orphan}, {model.FlagNegative, NegativeDuration}, {model.FlagShutdown, Shutdown}} {
			if s.Has(f.flag) {
				d.see(f.number, s)
			}
		}
	}
	if s.Error {
		d.see(RequestError, s)
	}
	switch s.Stage {
	case model.StageExecute:
		forward := func(k *model.Span) bool { return k.Stage == model.StageModelForward }
		if !s.Has(model.FlagSynthetic) && !slices.ContainsFunc(s.Kids, forward) {
			d.see(MissingStage, s)
		}
	case model.StageRetrieve:
		if w := s.Worker(); w != "" {
			d.ranks = append(d.ranks, w)
		}
	}
}

// note sees what an attribute of a span shows by itself. Names of attributes mean what they mean in the vocabulary only.
func (d *Detector) note(n *model.Note) {
	s := n.Span
	if !s.Known() {
		return
	}
	switch k := n.Key; k {
	case model.AttrStaleChunks, model.AttrStale:
		if s.Count(k) > 0 {
			d.see(StaleChunks, s)
		}
	case model.AttrDropped:
		if s.Count(k) > 0 {
			d.see(DroppedChunks, s)
		}
	case model.AttrTimedOut:
		if s.True(k) {
			d.see(CoordinatorTimeout, s)
		}
	case model.AttrNoGPUContext:
		if s.True(k) {
			d.see(EarlyExit, s)
		}
	case model.AttrEarlyExitReason:
		if s.Text(k) != "" {
			d.see(EarlyExit, s)
		}
	case model.AttrPerRankOK:
		if s.False(k) {
			d.see(RankNotOK, s)
		}
	case model.AttrWorldSize:
		d.world = max(d.world, s.Count(k))
	}
}

// request sees what the request shows as a whole.
func (d *Detector) request() {
	r, sp := d.req, d.in.Split
	if r.DuplicateRoot {
		d.duplicateRoots()
	}
	if r.Reused {
		d.see(RequestIDReused, r.Root)
	}
	if r.Ambiguous {
		d.see(AmbiguousJoin, r.Root)
	}
	if d.world > 1 && len(d.ranks) > 0 {
		slices.Sort(d.ranks)
		d.ranks = slices.Compact(d.ranks)
		if int64(len(d.ranks)) < d.world {
			d.seeStage(RankMismatch, model.StageRetrieve)
		}
	}
	if sp.Hits.Broken {
		d.see(HitIdentityBroken, sp.Hits.Source)
	}
	for _, s := range sp.Failures.RetrieveFailed {
		d.see(RetrieveFailed, s)
	}
	if sp.Loads.Attempts > 1 {
		d.see(Relookup, nil)
	}
	if v := sp.Loads.Verdict; v != model.LoadNone {
		for _, i := range sp.Loads.Double {
			d.see(doubles[v], sp.Loads.Passes[i].Span)
		}
	}
	for _, s := range sp.Loads.NewTrace {
		d.see(SecondPassInNewTrace, s)
	}
	for i := range sp.Lookups {
		if late(&sp.Lookups[i]) {
			d.see(LatePoll, sp.Lookups[i].Span)
		}
	}
	for i := range sp.Loads.Delays {
		if delay := &sp.Loads.Delays[i]; time.Duration(delay.NS) > d.in.Deadline {
			d.see(RetrieveAfterDeadline, delay.Retrieve)
		}
	}
	if r.Tail > r.Window() {
		d.see(StoreTail, nil)
		for _, s := range r.Spans {
			if s.End.Sub(r.WindowEnd) == r.Tail && !s.Has(model.FlagShutdown|model.FlagUntimed|model.FlagTransparent) {
				d.see(StoreTail, s)
			}
		}
	}
}

var doubles = [model.NumVerdicts]int{
	model.LoadPartialThenFull: DoublePartialThenFull, model.LoadNoopThenFull: DoubleNoopThenFull, model.LoadRepeat: DoubleRepeat,
	model.LoadMany: DoubleMany, model.LoadDoubleUnknown: DoubleUnknown,
}

// late reports whether a lookup's answer waited more than 1.5 usual poll intervals.
func late(l *split.Lookup) bool {
	return l.Overshoot.OK && l.PollInterval.OK && 2*l.Overshoot.V > latePollHalves*l.PollInterval.V
}

// seeStage sees a finding that all spans of a stage show together.
func (d *Detector) seeStage(n int, stage model.Stage) {
	d.see(n, nil)
	for _, s := range d.req.Spans {
		if s.Stage == stage {
			d.see(n, s)
		}
	}
}

// duplicateRoots lists the roots that share stage and process with another.
func (d *Detector) duplicateRoots() {
	type kind struct {
		stage model.Stage
		proc  model.ProcID
	}
	d.see(DuplicateRoot, nil)
	if d.in.SetOnly {
		return
	}
	count := map[kind]int{}
	root := func(s *model.Span) bool { return s.Known() && s.Stage.Info().Root }
	for _, s := range d.req.Spans {
		if root(s) {
			count[kind{s.Stage, s.Proc}]++
		}
	}
	for _, s := range d.req.Spans {
		if root(s) && count[kind{s.Stage, s.Proc}] > 1 {
			d.see(DuplicateRoot, s)
		}
	}
}
