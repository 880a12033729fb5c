package split

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Blend is what CacheBlend says of its work (R7.7), summed over the request; what nobody says is unknown.
//
// Loads and matches are the server's and add up. Every rank scatters and recomputes the same tokens, so of scatters and checks only one
// rank's count: the one that says the most tokens (ties: the smaller rank). ScatterUnion is of the same spans as ScatteredTokens, L2Union of
// those that say their bytes: Σbytes / L2Union is a rate. A count that both cb.check and cb.partial give is taken from cb.check.
type Blend struct {
	model.RowBlend
}

func add(to *model.Opt, s *model.Span, k model.AttrKey) bool {
	n, ok := s.Int(k)
	if ok {
		*to = model.Some(to.V + n)
	}
	return ok
}

func (sp *Splitter) blend() {
	b := &sp.out.Blend
	b.RowBlend = model.RowBlend{RecompRatios: b.RecompRatios[:0], Dispatches: b.Dispatches[:0]}
	pieces := sp.walk.load[:0]
	for _, s := range sp.of[model.StageL2Load] {
		if s.Has(model.FlagShutdown) {
			continue // it did not finish
		}
		add(&b.L2Chunks, s, model.AttrChunks)
		if add(&b.L2Bytes, s, model.AttrBytes) && usable(s) {
			pieces = append(pieces, intervalOf(s))
		}
	}
	if len(pieces) > 0 {
		b.L2Union = model.Some(union(pieces))
	}
	sp.walk.load = pieces
	for _, s := range sp.of[model.StageSparsePrefetch] {
		add(&b.L1Hits, s, model.AttrL1Hits)
		add(&b.L2Misses, s, model.AttrL2Misses)
	}
	sp.matches()
	sp.scatters()
	sp.recompute()
}

// matches adds up the matches, and counts the lookups that they are of: a lookup that asked both matchers is one.
func (sp *Splitter) matches() {
	b := &sp.out.Blend
	lookups := int64(0)
	for _, stage := range [...]model.Stage{model.StageFingerprintMatch, model.StageCoordinatorMatch} {
		for _, s := range sp.of[stage] {
			add(&b.TableHits, s, model.AttrTableHits)
			add(&b.Probes, s, model.AttrNProbes)
			if add(&b.Matches, s, model.AttrMatches) && (s.Parent == nil || s.Parent.Stage != model.StageLookup) {
				lookups++
			}
		}
	}
	for _, s := range sp.of[model.StageLookup] {
		if slices.ContainsFunc(s.Kids, saysMatches) {
			lookups++
		}
	}
	if b.Matches.OK {
		b.Lookups = model.Some(lookups)
	}
}

func saysMatches(s *model.Span) bool {
	_, ok := s.Int(model.AttrMatches)
	return ok && (s.Stage == model.StageFingerprintMatch || s.Stage == model.StageCoordinatorMatch)
}

func (sp *Splitter) scatters() {
	b := &sp.out.Blend
	pieces := sp.walk.load[:0]
	for _, s := range sp.ofOneRank(sp.of[model.StageScatter], model.AttrScatteredTokens) {
		add(&b.SlotWrites, s, model.AttrSlotWrites)
		add(&b.PrefixChunks, s, model.AttrNPrefix)
		add(&b.ShiftedChunks, s, model.AttrNShifted)
		add(&b.DroppedChunks, s, model.AttrDropped)
		add(&b.PartialBlocks, s, model.AttrPartialBlocks)
		if add(&b.ScatteredTokens, s, model.AttrScatteredTokens) && usable(s) {
			pieces = append(pieces, intervalOf(s))
		}
	}
	if len(pieces) > 0 {
		b.ScatterUnion = model.Some(union(pieces))
	}
	sp.walk.load = pieces
}

func (sp *Splitter) recompute() {
	b := &sp.out.Blend
	for _, stage := range [...]model.Stage{model.StageCheck, model.StagePartial} {
		count, ratios, dispatches, empty := b.ImpCount.OK, len(b.RecompRatios) > 0, len(b.Dispatches) > 0, b.HasImpEmpty
		for _, s := range sp.ofOneRank(sp.of[stage], model.AttrImpCount) {
			if !count {
				add(&b.ImpCount, s, model.AttrImpCount)
			}
			if f, ok := s.Attr(model.AttrRecompRatio).Number(); ok && !ratios {
				b.RecompRatios = append(b.RecompRatios, f)
			}
			if d := s.Text(model.AttrDispatch); d != "" && !dispatches {
				b.Dispatches = append(b.Dispatches, d)
			}
			if v := s.Attr(model.AttrImpEmpty); v.Kind == model.BoolValue && !empty {
				b.HasImpEmpty = true
				b.ImpEmpty += v.Int
			}
		}
	}
}

// ofOneRank are the spans of the rank that says the most of a number, in order of start; of several the smaller rank. A span that names no
// rank belongs to its process.
func (sp *Splitter) ofOneRank(spans []*model.Span, most model.AttrKey) []*model.Span {
	if len(spans) < 2 {
		return spans
	}
	rank := func(a, b *model.Span) int {
		wa, wb := a.Worker(), b.Worker()
		if c := cmp.Compare(wa, wb); c != 0 || wa != "" {
			return c
		}
		return strings.Compare(sp.req.Dict.Proc(a.Proc).Name, sp.req.Dict.Proc(b.Proc).Name)
	}
	sp.spans = append(sp.spans[:0], spans...)
	slices.SortFunc(sp.spans, func(a, b *model.Span) int {
		if c := rank(a, b); c != 0 {
			return c
		}
		return sp.order(a, b)
	})
	var best []*model.Span
	bestSum := int64(-1)
	for rest := sp.spans; len(rest) > 0; {
		n, sum := 0, int64(0)
		for n < len(rest) && rank(rest[0], rest[n]) == 0 {
			sum += rest[n].Count(most)
			n++
		}
		if sum > bestSum {
			best, bestSum = rest[:n], sum
		}
		rest = rest[n:]
	}
	return best
}
