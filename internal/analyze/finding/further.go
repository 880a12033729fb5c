package finding

import (
	"fmt"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/split"
	"github.com/cbtrace/cbtrace/internal/model"
)

// further sees what follows from several spans of the request together: lost, mixed and unused work.
func (d *Detector) further() {
	sp := d.in.Split
	if d.world > 1 {
		d.stitched()
	}
	if !sp.HasLookup {
		for _, s := range d.req.Spans {
			if s.Stage == model.StageRetrieve || s.Stage == model.StageMPRetrieve {
				d.see(RetrieveWithoutLookup, s)
			}
		}
	}
	if sp.Hits.Hit.V > 0 && !sp.Loaded {
		d.notRetrieved()
	}
	for i := range sp.Lookups {
		if starved(&sp.Lookups[i]) {
			d.see(StarvedPoller, sp.Lookups[i].Span)
		}
	}
	if len(sp.Lookups) > 0 {
		if o := d.overlap(); min(o.before-o.doubt, o.took) > overlapAtLeast {
			d.see(LookupCouldOverlapQueue, o.lookup)
		}
	}
	for i := range sp.Loads.Passes {
		if wait, s := d.deviceWait(sp.Loads.Passes[i].Span); s != nil && wait > max(s.Dur(), deviceWaitAtLeast) {
			d.see(DeviceWait, s)
		}
	}
	if d.in.Unrelated != nil {
		var last model.TraceID
		marked := false
		for _, s := range d.req.Spans {
			if s.Trace != last {
				last, marked = s.Trace, d.in.Unrelated(s.Trace)
			}
			if marked {
				d.see(ContextLeak, s)
			}
		}
	}
}

// stitched sees spans of several ranks that were made into one: the server keeps one open span per session and event, so the START of one
// rank replaces that of another and is closed by whichever END comes first (CONTRACT-lmcache 1.5, 9.2 E).
func (d *Detector) stitched() {
	starts := d.in.Split.Loads.Starts
	d.retrieves = d.retrieves[:0]
	for range max(1, len(starts)) {
		d.retrieves = append(d.retrieves, 0)
	}
	for _, s := range d.req.Spans {
		if s.Stage == model.StageRetrieve && !s.Has(model.FlagUntimed) {
			d.retrieves[model.AttemptOf(starts, s.Start)-1]++
		}
	}
	for _, s := range d.req.Spans {
		switch s.Stage {
		case model.StageScatter:
			if up := s.Parent; up != nil && up.Stage == model.StageRetrieve && up.Worker() != "" && s.Worker() != "" && up.Worker() != s.Worker() {
				d.see(StitchedRanks, s)
			}
		case model.StageRetrieve:
			if !s.Has(model.FlagUntimed) && d.retrieves[model.AttemptOf(starts, s.Start)-1] < d.world {
				d.see(StitchedRanks, s)
			}
		}
	}
}

// notRetrieved sees hits that were not loaded where server and worker were recorded, so that a load would have been too.
func (d *Detector) notRetrieved() {
	var server bool
	var forward *model.Span
	for _, s := range d.req.Spans {
		server = server || s.Owner() == model.Server
		if s.Stage == model.StageModelForward {
			forward = s
		}
	}
	if server && forward != nil {
		d.see(HitNotRetrieved, d.in.Split.Hits.Source)
	}
}

// starved reports whether a lookup's polls paused for more than three usual intervals.
func starved(l *split.Lookup) bool {
	return len(l.Span.Polls) >= starvedIntervals && l.PollMaxInterval.V > starvedTimes*l.PollInterval.V
}

// An overlap is what a lookup could have saved by running while its request was queued.
type overlap struct {
	lookup              *model.Span
	before, took, saved time.Duration
	doubt               time.Duration // how far before may be wrong
}

// overlap compares the first lookup with the time in queue of the llm_request. It must lie inside, as it does on a common clock.
func (d *Detector) overlap() (o overlap) {
	o.lookup = d.in.Split.Lookups[0].Span
	for _, s := range d.req.Spans {
		if s.Stage != model.StageLLMRequest || s.Has(model.FlagUntimed) {
			continue
		}
		queue, ok := s.Seconds(model.AttrTimeInQueue)
		if !ok || o.lookup.Start < s.Start || o.lookup.End > s.Start+model.Time(queue) {
			continue
		}
		o.before, o.took = o.lookup.Start.Sub(s.Start), o.lookup.Dur()
		o.saved, o.doubt = min(o.before, o.took), d.doubt(s, o.lookup)
		return o
	}
	return o
}

// deviceWait is how long at least, as the clocks are known, its first retrieve began after the start of a call; the retrieve is nil where there is
// none inside the call.
func (d *Detector) deviceWait(call *model.Span) (time.Duration, *model.Span) {
	if call.Stage != model.StageStartLoadKV {
		return 0, nil
	}
	for _, k := range call.Kids {
		if k.Stage == model.StageRetrieve && !k.Has(model.FlagUntimed|model.FlagNegative|model.FlagOpen|model.FlagShutdown) {
			if k.Start < call.Start || k.End > call.End {
				return 0, nil
			}
			return k.Start.Sub(call.Start) - d.doubt(call, k), k
		}
	}
	return 0, nil
}

func sayStitched(d *Detector, spans []*model.Span) string {
	for _, s := range spans {
		if s.Stage == model.StageScatter {
			return "A cb.scatter names another rank than the cb.retrieve above it: spans of ranks are mixed."
		}
	}
	return fmt.Sprintf("An attempt has fewer cb.retrieve than its %d ranks: spans of ranks were made into one (inferred).", d.world)
}

func sayNoLookup(d *Detector, spans []*model.Span) string {
	return Counted(len(spans), "retrieve") + " and no lookup."
}

func sayNotRetrieved(d *Detector, spans []*model.Span) string {
	return fmt.Sprintf("%s found, none loaded, and the model ran.", Counted(d.in.Split.Hits.Hit.V, "token"))
}

func sayStarved(d *Detector, spans []*model.Span) string {
	var longest, usual time.Duration
	for i := range d.in.Split.Lookups {
		if l := &d.in.Split.Lookups[i]; starved(l) {
			longest, usual = max(longest, time.Duration(l.PollMaxInterval.V)), time.Duration(l.PollInterval.V)
		}
	}
	return fmt.Sprintf("%s passed between two polls, where %s is usual.", length(longest), length(usual))
}

func sayOverlap(d *Detector, spans []*model.Span) string {
	o := d.overlap()
	return fmt.Sprintf("The lookup began %s after the request arrived and took %s: up to %s less in queue had it begun at once (inferred).", within(o.before, o.doubt), length(o.took), length(o.saved))
}

func sayDeviceWait(d *Detector, spans []*model.Span) string {
	longest, took, doubt := time.Duration(0), time.Duration(0), time.Duration(0)
	for _, s := range spans {
		if wait := s.Start.Sub(s.Parent.Start); wait > longest {
			longest, took, doubt = wait, s.Dur(), d.doubt(s, s.Parent)
		}
	}
	return fmt.Sprintf("A load began %s after its call and took %s (inferred).", within(longest, doubt), length(took))
}

func sayLeak(d *Detector, spans []*model.Span) string {
	return Counted(len(spans), "span") + verb(len(spans), " is", " are") + " in a trace that holds unrelated requests."
}
