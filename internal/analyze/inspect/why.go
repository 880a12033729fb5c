package inspect

import (
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/split"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A Why is the cache's decision on one request as a sum: what was asked for is what was found and what was not, what was found is what was
// written, dropped and not loaded. It is not part of the JSON of v1.
type Why struct {
	Requested, Found, Written model.Opt // tokens
	Asked                     []Part    // sum to Requested; empty when nobody said what was asked for
	Given                     []Part    // sum to Found; empty when nobody said what was found, or what was written
	EarlyExit                 string    // why the lookup ended before it searched
	Steps                     []Step    // in the order of the tree
}

// A Part is a number of tokens and what became of them. Below 0 where a request's own numbers do not add up (finding hit_identity_broken), or say
// that more was found than was asked for.
type Part struct {
	Name   string
	Tokens int64
}

// A Step is something that was done to find or load tokens.
type Step struct {
	Depth         int // of nested steps
	Name          string
	StartNS       model.Opt // from the start of the window
	NS            model.Opt
	UncertaintyNS model.Opt // how far NS may be wrong, where it compares two clocks
	StartDoubtNS  model.Opt // how far StartNS may be wrong; unknown where the clocks were never compared (R5.8)
	Says          []Said
}

// Said is an attribute of a step's span that tells of the decision.
type Said struct {
	Key   string // as written
	Value any    // an int64, float64, bool or string
}

// decisive are the stages that decide what a request gets of the cache, and what their spans say of it, in that order.
var decisive = map[model.Stage][]model.AttrKey{
	model.StageLookupRPC:        {model.AttrNPolls},
	model.StageLookup:           {model.AttrFingerprintHits, model.AttrStorageHits, model.AttrStaleChunks, model.AttrNoGPUContext},
	model.StageFingerprintMatch: {model.AttrMatches, model.AttrNProbes, model.AttrTableHits},
	model.StageCoordinatorMatch: {model.AttrMatches, model.AttrTimedOut},
	model.StagePrefixLookup:     {},
	model.StageSparsePrefetch:   {model.AttrNKeys, model.AttrFoundKeys, model.AttrL1Hits, model.AttrL2Keys, model.AttrL2Misses},
	model.StageL2Load:           {model.AttrChunks, model.AttrBytes},
	model.StageClassify:         {model.AttrFound, model.AttrStale, model.AttrPerRankOK},
	model.StageMPLookupPrefetch: {model.AttrFoundCount, model.AttrL1HitKeys, model.AttrL2HitKeys, model.AttrEarlyExitReason},
	model.StageStartLoadKV:      {},
	model.StageRetrieve:         {model.AttrNumChunks, model.AttrSuccess},
	model.StageScatter:          {model.AttrScatteredTokens, model.AttrNPrefix, model.AttrNShifted, model.AttrDropped},
	model.StageMPRetrieve:       {model.AttrRetrievedCount, model.AttrNumTokens},
}

// chunkTokens is how many tokens a chunk holds.
const chunkTokens = 256

// why takes the numbers of the request apart.
func (b *builder) why() *Why {
	h := &b.Split.Hits
	w := &Why{Requested: h.Requested, Found: h.Hit, Written: h.Written, EarlyExit: strings.Clone(h.EarlyExit)}
	if h.Requested.OK && h.Hit.OK {
		w.Asked = b.asked()
	}
	if h.Hit.OK && h.Written.OK {
		short := max(0, h.Hit.V-h.Written.V)
		dropped := short
		if n := b.Split.Blend.DroppedChunks; n.V <= short/chunkTokens {
			dropped = max(0, n.V) * chunkTokens // chunks may hold tokens that were found but not to be loaded, so no more than what is missing
		}
		w.Given = []Part{{"written", h.Written.V}, {"dropped", dropped}, {"not loaded", h.Hit.V - h.Written.V - dropped}}
	}
	w.Steps = b.steps()
	return w
}

// asked are the kinds of hits, and what was not found: CacheBlend's, else those of the tiers.
func (b *builder) asked() (parts []Part) {
	h := &b.Split.Hits
	sum := int64(0)
	add := func(name string, n model.Opt) {
		if n.OK {
			parts = append(parts, Part{name, n.V})
			sum += n.V
		}
	}
	if add("prefix", h.Prefix); h.Prefix.OK || h.NonPrefix.OK || h.Segmented.OK {
		add("segmented prefix", model.Some(h.Segmented.V)) // an absent one is 0 (R7.5)
		add("non-prefix", h.NonPrefix)
	} else {
		add("in L1", h.L1Tokens)
		add("in L2", h.L2Tokens)
	}
	switch {
	case len(parts) == 0:
		parts = append(parts, Part{"found", h.Hit.V})
	case sum < h.Hit.V:
		parts = append(parts, Part{"found, nobody says how", h.Hit.V - sum})
	case sum > h.Hit.V:
		parts = append(parts, Part{"counted twice", h.Hit.V - sum})
	}
	if h.Hit.V > h.Requested.V {
		return append(parts, Part{"not asked for", h.Requested.V - h.Hit.V})
	}
	return append(parts, Part{"not found", h.Requested.V - h.Hit.V})
}

// steps walks over the tree. What is shown of it is bounded: a tree may be a chain of any length.
func (b *builder) steps() (steps []Step) {
	const maxLevel, maxSteps = 1024, 1024
	var visit func(s *model.Span, level, depth int)
	visit = func(s *model.Span, level, depth int) {
		if level > maxLevel || len(steps) >= maxSteps {
			return
		}
		keys, ok := decisive[s.Stage]
		if ok = ok && !s.Has(model.FlagSynthetic); ok {
			steps = append(steps, b.step(s, depth, keys))
			depth++
		}
		i := slices.IndexFunc(b.Split.Lookups, func(l split.Lookup) bool { return l.Span == s && l.Submit.OK })
		if i >= 0 {
			l := &b.Split.Lookups[i]
			steps = append(steps, Step{Depth: depth, Name: "submit", StartNS: model.Some(int64(s.Start - b.start)), StartDoubtNS: b.doubt(s), NS: l.Submit, UncertaintyNS: l.Uncertainty})
		}
		for _, k := range s.Kids {
			visit(k, level+1, depth)
		}
		if i >= 0 {
			l := &b.Split.Lookups[i]
			steps = append(steps, Step{Depth: depth, Name: "poll_wait", NS: l.PollWait, UncertaintyNS: l.Uncertainty})
		}
	}
	visit(b.Request.Root, 0, 0)
	return steps
}

func (b *builder) step(s *model.Span, depth int, keys []model.AttrKey) Step {
	out := Step{Depth: depth, Name: b.dict.Str(s.StageKey)}
	if !s.Has(model.FlagUntimed) {
		out.StartNS, out.StartDoubtNS = model.Some(int64(s.Start-b.start)), b.doubt(s)
		if !s.Has(model.FlagOpen) {
			out.NS = model.Some(int64(s.Dur()))
		}
	}
	for _, k := range keys {
		if (k == model.AttrNoGPUContext || k == model.AttrTimedOut) && s.False(k) {
			continue // all as it should be
		}
		if v := plain(s.Attr(k)); v != nil && v != "" {
			out.Says = append(out.Says, Said{b.dict.KeyName(k), v})
		}
	}
	if s.Stage == model.StageStartLoadKV || s.Stage == model.StageRetrieve || s.Stage == model.StageMPRetrieve {
		for i := range b.Split.Loads.Passes {
			if p := &b.Split.Loads.Passes[i]; p.Span == s {
				out.Says = append(out.Says, Said{"attempt", int64(p.Attempt)})
				if p.Worker != "" {
					out.Says = append(out.Says, Said{"worker", strings.Clone(p.Worker)})
				}
				if p.Written.OK {
					out.Says = append(out.Says, Said{"tokens", p.Written.V})
				}
			}
		}
	}
	return out
}
