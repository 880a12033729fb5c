package report

import "github.com/cbtrace/cbtrace/internal/model"

// maxReasons is how many different texts of an attribute are counted by name: reasons, dispatches.
const maxReasons = 256

type counters = capped[string, counter, *counter]

// hitRate adds up what was asked for and found.
type hitRate struct{ requested, hit sum }

func (h *hitRate) merge(o hitRate) {
	h.requested.merge(o.requested)
	h.hit.merge(o.hit)
}

func (h *hitRate) add(r *model.RowHits) {
	if r.Requested.OK {
		h.requested.add(r.Requested.V)
		h.hit.add(r.Hit.V)
	}
}

func (h hitRate) rate() model.OptFloat { return h.hit.over(h.requested) }

// hitSums are R7.5 and R7.6 over requests.
type hitSums struct {
	requests, zero int64   // with a lookup; of them those that asked for nothing
	numbers        int64   // those that said what they asked for
	rate           hitRate // tokens
	ratios         sum     // Σ round(hit/requested·2³²) of the requests that asked for something
	prefix, segmented, nonPrefix, l1Tokens, l2Tokens,
	l1Keys, l2Keys, written, shortfall optSum
	reuseOf sum // Σ requested of the requests whose written count is known
	classes [model.NumHitClasses]int64
	exits   counters
}

func newHitSums() hitSums { return hitSums{exits: newCapped[string, counter](maxReasons, itself)} }

// optional are the sums of what not every request says.
func (s *hitSums) optional() [9]*optSum {
	return [9]*optSum{&s.prefix, &s.segmented, &s.nonPrefix, &s.l1Tokens, &s.l2Tokens, &s.l1Keys, &s.l2Keys, &s.written, &s.shortfall}
}

func (s *hitSums) add(r *model.Row) {
	h := &r.Hits
	s.classes[h.Class]++
	if h.EarlyExit != "" {
		*s.exits.at(h.EarlyExit)++
	}
	if r.Flags&model.RowHasLookup != 0 || h.Requested.OK {
		s.requests++
	}
	if !h.Requested.OK {
		return
	}
	s.numbers++
	s.rate.add(h)
	if h.Requested.V == 0 {
		s.zero++
	} else if x, ok := fixed(float64(h.Hit.V) / float64(h.Requested.V)); ok {
		s.ratios.add(x)
	}
	s.prefix.add(h.Prefix)
	s.segmented.add(h.Segmented)
	s.nonPrefix.add(h.NonPrefix)
	s.l1Tokens.add(h.L1Tokens)
	s.l2Tokens.add(h.L2Tokens)
	s.l1Keys.add(h.L1Keys)
	s.l2Keys.add(h.L2Keys)
	s.written.add(h.Written)
	s.shortfall.add(h.Shortfall)
	if h.Written.OK {
		s.reuseOf.add(h.Requested.V)
	}
}

func (s *hitSums) merge(o *hitSums) {
	s.requests += o.requests
	s.zero += o.zero
	s.numbers += o.numbers
	s.rate.merge(o.rate)
	s.ratios.merge(o.ratios)
	from := o.optional()
	for i, to := range s.optional() {
		to.merge(*from[i])
	}
	s.reuseOf.merge(o.reuseOf)
	for i, n := range o.classes {
		s.classes[i] += n
	}
	s.exits.merge(&o.exits)
}

func (s *hitSums) document() Hits {
	return Hits{
		Requests: s.requests, ZeroRequested: s.zero,
		RequestedTokens: model.Opt{V: s.rate.requested.int64(), OK: s.numbers > 0}, HitTokens: model.Opt{V: s.rate.hit.int64(), OK: s.numbers > 0},
		HitRate: s.rate.rate(), RequestMean: mean(s.ratios, s.numbers-s.zero),
		PrefixTokens: s.prefix.opt(), SegmentedPrefixTokens: s.segmented.opt(), NonPrefixTokens: s.nonPrefix.opt(),
		L1Tokens: s.l1Tokens.opt(), L2Tokens: s.l2Tokens.opt(), L1Keys: s.l1Keys.opt(), L2Keys: s.l2Keys.opt(),
		WrittenTokens: s.written.opt(), EffectiveReuse: s.written.sum.over(s.reuseOf), ShortfallTokens: s.shortfall.opt(),
		Classes:    Classes{s.classes[model.HitMiss], s.classes[model.HitPartial], s.classes[model.HitFull], s.classes[model.HitNone]},
		EarlyExits: countsOf(&s.exits),
	}
}

// mean is the mean of n ratios of which s is the fixed-point sum.
func mean(s sum, n int64) model.OptFloat {
	if n == 0 {
		return model.OptFloat{}
	}
	return model.SomeFloat(s.float() / one / float64(n))
}

// countsOf are counts by name; never nil.
func countsOf(c *counters) map[string]int64 {
	out := map[string]int64{}
	for _, e := range c.sorted() {
		out[e.text] = int64(e.value)
	}
	if c.other != nil {
		out[model.OtherName] += int64(*c.other)
	}
	return out
}
