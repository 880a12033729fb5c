// Package split says what a linked request did besides its critical path (DESIGN 7): where each lookup's time went, what the cache held
// and what of it was loaded, the passes of start_load_kv with their verdict, the work of CacheBlend, and transfers.
//
// Times are aligned ns as linking left them (Span.Start, Span.End). A number that nothing in the request gives is unknown (model.Opt),
// never 0. Untimed spans (R3.5) tell their attributes only.
package split

import (
	"cmp"
	"math/bits"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Splitter splits one request after the other in the same memory. The zero value works; it is for one goroutine.
type Splitter struct {
	req *model.Request
	of  [model.NumStages][]*model.Span // the request's spans by stage, in the order of the request
	has model.StageSet                 // the stages that of holds spans of
	mp  bool                           // a span is of a scope lmcache_mp*

	out      Split
	attempts model.AttemptScratch
	spans    []*model.Span
	stack    []*model.Span
	loose    [2][]string   // ranks of retrieves without a pass: all, and those whose clock is not known against the reference's
	firsts   []*model.Span // first retrieve of each attempt
	roots    []*model.Span // cb.requests of servers, in order
	asked    []model.Time  // starts of lookups, ascending
	times    []model.Time
	walk     walk
	ranked   []int32    // indices of passes
	sums     []written  // by attempt
	names    stringPool // texts that rows keep
}

// A Split is all that Splitter.Split finds out. It and what it points to are good until the next request.
type Split struct {
	Lookups   []Lookup
	Hits      Hits
	Loads     Loads
	Blend     Blend
	Transfers []Transfer
	Failures  Failures

	HasLookup bool // a lookup was recorded, or its numbers were
	Loaded    bool // a cb.retrieve, mp.retrieve or cb.scatter was recorded
}

// Split works on a linked request.
func (sp *Splitter) Split(r *model.Request) *Split {
	sp.req = r
	for rest := uint64(sp.has); rest != 0; rest &= rest - 1 {
		stage := bits.TrailingZeros64(rest)
		sp.of[stage] = sp.of[stage][:0]
	}
	sp.has, sp.mp = 0, false
	for _, s := range r.Spans {
		sp.of[s.Stage] = append(sp.of[s.Stage], s)
		sp.has |= 1 << s.Stage
		sp.mp = sp.mp || s.MPScope
	}
	out := &sp.out
	sp.lookups()
	sp.findHits()
	sp.loads()
	out.Hits.load(&out.Loads)
	sp.blend()
	sp.transfers()
	sp.failures()
	out.HasLookup = out.Hits.Source != nil || len(sp.of[model.StageLookupRPC])+len(sp.of[model.StageLookup])+len(sp.of[model.StageMPLookupPrefetch]) > 0
	out.Loaded = len(sp.of[model.StageRetrieve])+len(sp.of[model.StageMPRetrieve])+len(sp.of[model.StageScatter]) > 0
	return out
}

// Fill writes the split's part of a row: lookups, hits, loads, blend, transfers, and the flags that tell of lookups and loads.
// Texts are good for as long as the Splitter lives.
func (sp *Splitter) Fill(row *model.Row) {
	out := &sp.out
	row.Lookups = row.Lookups[:0]
	for i := range out.Lookups {
		l := &out.Lookups[i]
		row.Lookups = append(row.Lookups, model.RowLookup{Basis: l.Basis, RPC: l.RPC, Submit: l.Submit, L2Load: l.L2Load, ServerOther: l.ServerOther,
			PollWait: l.PollWait, Server: l.Server, Wait: l.Wait, Uncertainty: l.Uncertainty, AtMost: l.AtMost && l.Basis == model.InferredUpper})
	}
	row.Hits = out.Hits.RowHits
	row.Hits.EarlyExit = sp.names.keep(row.Hits.EarlyExit)
	row.Verdict, row.Wasted = out.Loads.Verdict, out.Loads.Wasted
	ratios, dispatches := row.Blend.RecompRatios[:0], row.Blend.Dispatches[:0]
	row.Blend = out.Blend.RowBlend
	row.Blend.RecompRatios = append(ratios, out.Blend.RecompRatios...)
	for _, d := range out.Blend.Dispatches {
		dispatches = append(dispatches, sp.names.keep(d))
	}
	row.Blend.Dispatches = dispatches
	row.Transfers = row.Transfers[:0]
	for i := range out.Transfers {
		row.Transfers = append(row.Transfers, out.Transfers[i].RowTransfer)
	}
	row.ErrorCodes = out.Failures.appendCodes(row.ErrorCodes[:0])

	row.Flags &^= model.RowHasLookup | model.RowHitsLoaded | model.RowHitsNotLoaded
	if out.HasLookup {
		row.Flags |= model.RowHasLookup
	}
	if out.Hits.Hit.V > 0 {
		if out.Loaded {
			row.Flags |= model.RowHitsLoaded
		} else {
			row.Flags |= model.RowHitsNotLoaded
		}
	}
}

// A stringPool holds copies of texts whose memory is reused.
type stringPool struct{ m map[string]string }

// poolLimit bounds a pool when texts never repeat; what is kept already stays good.
const poolLimit = 1 << 12

func (p *stringPool) keep(s string) string {
	if s == "" {
		return ""
	}
	if kept, ok := p.m[s]; ok {
		return kept
	}
	if p.m == nil || len(p.m) >= poolLimit {
		p.m = map[string]string{}
	}
	kept := string([]byte(s))
	p.m[kept] = kept
	return kept
}

// timed reports whether a span has times, usable whether they say for how long it ran. One that ends before it starts did no work that
// can be counted, but its times are instants at which its process was there.
func timed(s *model.Span) bool { return !s.Has(model.FlagUntimed) }

func usable(s *model.Span) bool { return !s.Has(model.FlagUntimed | model.FlagNegative) }

// order is by start, then id.
func (sp *Splitter) order(a, b *model.Span) int {
	if c := cmp.Compare(a.Start, b.Start); c != 0 {
		return c
	}
	return sp.req.Dict.CompareSpanIDs(a.ID, b.ID)
}
