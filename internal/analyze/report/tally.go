package report

import (
	"math/bits"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A tally adds up requests. What depends on counts over the capture is kept for either outcome (R2.3).
type tally struct {
	dict *model.Dict
	opt  *Options

	requests, complete, edge, llm int64

	latency, root, ttft, queue, perToken series // of requests in latency (R8.2)
	slos                                 []sloSum
	stages                               stageSums
	bounds, ttftBounds                   [model.NumBounds]sum
	ttftTotal                            optSum

	lookup    lookupSums
	hits      hitSums
	groupings []grouping

	verdicts    [model.NumVerdicts]int64
	wasted      sum
	doubleLoads top
	blend       blendSums
	transfers   transferSums
	failures    failureSums
	windows     sum // of all requests
	tokens      sum
	instants    instants
	buckets     buckets
	findings    [64]findingSum
	notLoaded   notLoadedSums
	dual        [model.NumStages]finding.DualStage
	disagreeing findingSum // requests with clock pairs that disagree
	mismatched  findingSum // requests with a stage seen both ways of which not all pair
	slowest     slowest
}

// A findingSum is how many requests show a finding, and the longest of them.
type findingSum struct {
	n         int64
	exemplars top
}

func (f *findingSum) add(r *model.Row, d *model.Dict) {
	f.n++
	f.exemplars.add(r.Window, r, d)
}

func (f *findingSum) merge(o *findingSum) {
	f.n += o.n
	f.exemplars.merge(o.exemplars)
}

// notLoadedSums are the figures behind missing_stage where tokens were found: whether a request that loaded nothing lacks a stage depends
// on how many of the capture's loaded something (VOCABULARY 5).
type notLoadedSums struct {
	loaded, bare int64
	unseen       findingSum // of the bare ones, those that do not show the finding for another reason
	complete     int64      // of the unseen ones, those that are complete otherwise
}

func (n *notLoadedSums) add(r *model.Row, d *model.Dict) {
	switch {
	case r.Flags&model.RowHitsLoaded != 0:
		n.loaded++
	case r.Flags&model.RowHitsNotLoaded != 0:
		n.bare++
		if !r.Findings.Has(finding.MissingStage) {
			n.unseen.add(r, d)
			if r.Flags&model.RowComplete != 0 {
				n.complete++
			}
		}
	}
}

func (n *notLoadedSums) merge(o *notLoadedSums) {
	n.loaded += o.loaded
	n.bare += o.bare
	n.unseen.merge(&o.unseen)
	n.complete += o.complete
}

// failureSums are R7.11.
type failureSums struct {
	requests, retrieve, status, aborted int64 // requests: with any of the three, once
	reasons                             counters
}

func (f *failureSums) add(r *model.Row) bool {
	retrieve, status, aborted := r.Findings.Has(finding.RetrieveFailed), r.Findings.Has(finding.RequestError), r.Flags&model.RowAborted != 0
	for _, x := range [...]struct {
		is bool
		n  *int64
	}{{retrieve, &f.retrieve}, {status, &f.status}, {aborted, &f.aborted}} {
		if x.is {
			*x.n++
		}
	}
	if !retrieve && !status && !aborted {
		return false
	}
	f.requests++
	if r.Hits.EarlyExit != "" {
		*f.reasons.at(r.Hits.EarlyExit)++
	}
	for _, code := range r.ErrorCodes {
		*f.reasons.at(code)++
	}
	return true
}

func (f *failureSums) merge(o *failureSums) {
	f.requests += o.requests
	f.retrieve += o.retrieve
	f.status += o.status
	f.aborted += o.aborted
	f.reasons.merge(&o.reasons)
}

// slowest keeps the lists of which one is shown (R4.28).
type slowest struct {
	byWindow  top // requests in latency
	byTTFT    top // those that have one
	withoutIt top // those that have none, by window
	any       top // all requests, for captures without any in latency
}

func (s *slowest) add(r *model.Row, d *model.Dict) {
	s.any.add(r.Window, r, d)
	if !r.Flags.InLatency() {
		return
	}
	s.byWindow.add(r.Window, r, d)
	if r.TTFT.OK {
		s.byTTFT.add(r.TTFT.V, r, d)
	} else {
		s.withoutIt.add(r.Window, r, d)
	}
}

func (s *slowest) merge(o *slowest) {
	s.byWindow.merge(o.byWindow)
	s.byTTFT.merge(o.byTTFT)
	s.withoutIt.merge(o.withoutIt)
	s.any.merge(o.any)
}

func newTally(dict *model.Dict, opt *Options) *tally {
	t := &tally{dict: dict, opt: opt, slos: make([]sloSum, len(opt.SLOs)), stages: newStageSums(dict), hits: newHitSums(), blend: newBlendSums()}
	t.failures.reasons = newCapped[string, counter](maxReasons, itself)
	for _, by := range opt.By {
		t.groupings = append(t.groupings, newGrouping(by))
	}
	return t
}

func (t *tally) add(r *model.Row) {
	t.requests++
	if r.Flags&model.RowComplete != 0 {
		t.complete++
	}
	if r.Flags&model.RowEdge != 0 {
		t.edge++
	}
	if r.Flags&model.RowLLM != 0 {
		t.llm++
	}
	if r.Flags.InLatency() {
		t.addPath(r)
	}
	t.stages.add(r, t.opt.Per)
	for i := range r.Lookups {
		t.lookup.add(&r.Lookups[i])
	}
	t.hits.add(r)
	for i := range t.groupings {
		t.groupings[i].add(r)
	}
	t.verdicts[r.Verdict]++
	if r.Verdict != model.LoadNone {
		t.wasted.add(r.Wasted.V)
		t.doubleLoads.add(r.Window, r, t.dict)
	}
	t.blend.add(&r.Blend)
	for i := range r.Transfers {
		t.transfers.add(&r.Transfers[i])
	}
	failed := t.failures.add(r)
	t.addLoad(r, failed)
	for set := uint64(r.Findings); set != 0; set &= set - 1 {
		if n := bits.TrailingZeros64(set); n < finding.NumFindings {
			t.findings[n].add(r, t.dict)
		}
	}
	t.notLoaded.add(r, t.dict)
	t.addSightings(r)
	t.slowest.add(r, t.dict)
}

// addPath counts a request in latency.
func (t *tally) addPath(r *model.Row) {
	t.latency.add(r.Window)
	t.root.addOpt(r.RootDuration)
	t.ttft.addOpt(r.TTFT)
	t.queue.addOpt(r.Queue)
	t.perToken.addOpt(perToken(r))
	for i, slo := range t.opt.SLOs {
		if v := slo.Of(r); v.OK {
			t.slos[i].of++
			if slo.Met(v.V) {
				t.slos[i].met++
			}
		}
	}
	for b, ns := range r.Bounds {
		t.bounds[b].add(ns)
	}
	if r.TTFTTotal.OK {
		t.ttftTotal.add(r.TTFTTotal)
		for b, ns := range r.TTFTBound {
			t.ttftBounds[b].add(ns)
		}
	}
}

func (t *tally) addLoad(r *model.Row, failed bool) {
	t.windows.add(r.Window)
	t.tokens.add(r.PromptTokens.V)
	t.tokens.add(r.CompletionTokens.V)
	if r.Start == 0 {
		return // untimed: nobody knows when
	}
	t.instants.add(r.Start, r.Start+model.Time(r.Window))
	b := t.buckets.at(r.Start)
	b.requests++
	if failed {
		b.failed++
	}
	if r.Flags.InLatency() {
		b.latency.add(r.Window)
		b.ttft.addOpt(r.TTFT)
	}
	b.hits.add(&r.Hits)
	b.windows.add(r.Window)
	b.tokens.add(r.PromptTokens.V)
	b.tokens.add(r.CompletionTokens.V)
}

// addSightings counts what findings about the whole capture need.
func (t *tally) addSightings(r *model.Row) {
	odd := false
	for s := range r.StageSpans {
		if least := min(r.StageSpans[s], r.StageLines[s]); least > 0 {
			t.dual[s].Fewer += int64(least)
			t.dual[s].Paired += int64(r.StagePairs[s])
			odd = odd || r.StagePairs[s] < least
		}
	}
	if odd {
		t.mismatched.add(r, t.dict)
	}
	if r.Disagreeing > 0 {
		t.disagreeing.add(r, t.dict)
	}
}

func (t *tally) merge(o *tally) {
	t.requests += o.requests
	t.complete += o.complete
	t.edge += o.edge
	t.llm += o.llm
	t.latency.merge(&o.latency)
	t.root.merge(&o.root)
	t.ttft.merge(&o.ttft)
	t.queue.merge(&o.queue)
	t.perToken.merge(&o.perToken)
	for i, s := range o.slos {
		t.slos[i].met += s.met
		t.slos[i].of += s.of
	}
	t.stages.merge(&o.stages)
	for b := range o.bounds {
		t.bounds[b].merge(o.bounds[b])
		t.ttftBounds[b].merge(o.ttftBounds[b])
	}
	t.ttftTotal.merge(o.ttftTotal)
	t.lookup.merge(&o.lookup)
	t.hits.merge(&o.hits)
	for i := range o.groupings {
		t.groupings[i].groups.merge(&o.groupings[i].groups)
	}
	for i, n := range o.verdicts {
		t.verdicts[i] += n
	}
	t.wasted.merge(o.wasted)
	t.doubleLoads.merge(o.doubleLoads)
	t.blend.merge(&o.blend)
	t.transfers.merge(&o.transfers)
	t.failures.merge(&o.failures)
	t.windows.merge(o.windows)
	t.tokens.merge(o.tokens)
	t.instants.merge(&o.instants)
	t.buckets.merge(&o.buckets)
	for i := range o.findings {
		t.findings[i].merge(&o.findings[i])
	}
	t.notLoaded.merge(&o.notLoaded)
	for i, d := range o.dual {
		t.dual[i].Fewer += d.Fewer
		t.dual[i].Paired += d.Paired
	}
	t.disagreeing.merge(&o.disagreeing)
	t.mismatched.merge(&o.mismatched)
	t.slowest.merge(&o.slowest)
}
