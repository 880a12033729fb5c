package split

import (
	"github.com/cbtrace/cbtrace/internal/model"
)

// Hits is what the cache was asked for, found, and how much of that was loaded (R7.5, R7.6), in tokens but for the keys.
// Requested and Hit come from one span, Source. Written and Shortfall come from the passes: Shortfall = Hit − Written.
//
// Of request and mp.lookup_prefetch: Hit = L1Tokens + L2Tokens. Of cb.request and cb.lookup: Hit = Prefix + Segmented + NonPrefix, where an
// absent segmented part counts 0. The identity is checked where the parts are there; numbers are never repaired.
type Hits struct {
	model.RowHits
	Source *model.Span // nil: nobody said what was asked for
	Broken bool        // the parts do not add up to Hit
	Parts  int64       // what they add up to, where Broken
}

// HitRate is Hit / Requested; unknown when nothing was requested.
func (h *Hits) HitRate() (float64, bool) { return ratio(h.Hit, h.Requested) }

// EffectiveReuse is Written / Requested: the share of what was asked for that was found and loaded.
func (h *Hits) EffectiveReuse() (float64, bool) { return ratio(h.Written, h.Requested) }

func ratio(part, of model.Opt) (float64, bool) {
	if !part.OK || !of.OK || of.V == 0 {
		return 0, false
	}
	return float64(part.V) / float64(of.V), true
}

// findHits picks the span that speaks for the request and reads its numbers. The CacheBlend family comes first (R4.19), in a family a root
// before a lookup: it holds the last lookup's numbers; of several the one that started last.
func (sp *Splitter) findHits() {
	h := &sp.out.Hits
	*h = Hits{}
	for i := range sp.req.Notes {
		if n := &sp.req.Notes[i]; n.Key == model.AttrEarlyExitReason && n.Span.Known() {
			if h.EarlyExit = n.Span.Text(model.AttrEarlyExitReason); h.EarlyExit != "" {
				break
			}
		}
	}
	blend := true
	src := sp.carrier(model.StageCBRequest, model.StageLookup)
	if src == nil {
		blend, src = false, sp.carrier(model.StageRequest, model.StageMPLookupPrefetch)
	}
	if src == nil {
		return
	}
	h.Source = src
	number := func(keys ...model.AttrKey) model.Opt {
		n, ok := src.Int(keys...)
		return model.Opt{V: n, OK: ok}
	}
	h.Requested, h.Hit = number(model.AttrRequestedTokens), number(model.AttrHitTokens)
	var parts []model.Opt
	if blend {
		h.Prefix = number(model.AttrPrefixHitTokens, model.AttrPrefixCoverageTokens)
		h.Segmented = number(model.AttrSegmentedPrefixHitTokens)
		h.NonPrefix = number(model.AttrNonPrefixHitTokens, model.AttrNNonPrefixTokens)
		parts = []model.Opt{h.Prefix, model.Some(h.Segmented.V), h.NonPrefix}
	} else {
		h.L1Tokens, h.L2Tokens = number(model.AttrL1HitTokens), number(model.AttrL2HitTokens)
		h.L1Keys, h.L2Keys = number(model.AttrL1HitKeys), number(model.AttrL2HitKeys)
		parts = []model.Opt{h.L1Tokens, h.L2Tokens}
	}
	whole := h.Hit.OK
	for _, p := range parts {
		h.Parts += p.V
		whole = whole && p.OK
	}
	if h.Broken = whole && h.Parts != h.Hit.V; !h.Broken {
		h.Parts = 0
	}
	switch {
	case !h.Hit.OK || h.Requested.V <= 0:
		h.Class = model.HitNone
	case h.Hit.V <= 0:
		h.Class = model.HitMiss
	case h.Hit.V >= h.Requested.V:
		h.Class = model.HitFull
	default:
		h.Class = model.HitPartial
	}
}

// carrier is the span of a root stage, else of a lookup stage, that says what was requested.
func (sp *Splitter) carrier(root, lookup model.Stage) *model.Span {
	for _, stage := range [...]model.Stage{root, lookup} {
		var last *model.Span
		for _, s := range sp.of[stage] {
			if _, ok := s.Int(model.AttrRequestedTokens); ok && (last == nil || sp.order(s, last) > 0) {
				last = s
			}
		}
		if last != nil {
			return last
		}
	}
	return nil
}

// load fills in what was written of the hits: by the last attempt with a pass, at most Hit. 0 hits: 0; hits and no pass: unknown (R7.10).
func (h *Hits) load(l *Loads) {
	if !h.Hit.OK {
		return
	}
	switch {
	case h.Hit.V == 0:
		h.Written = model.Some(0)
	case l.Written.OK:
		h.Written = model.Some(min(l.Written.V, h.Hit.V))
	default:
		return
	}
	h.Shortfall = model.Some(h.Hit.V - h.Written.V)
}
