package split

import (
	"math"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Lookup says where one lookup's time went. Which parts are known says the basis:
//
//   - measured, inferred_upper: Submit, L2Load, ServerOther and PollWait are disjoint and sum to RPC (R7.1, R7.2)
//   - durations_only: there is no common clock; L2Load and ServerOther are durations of the server's work, PollWait is what of RPC they
//     leave, no less than 0; Submit is unknown (R7.3)
//   - no_server: RPC alone
//   - no_rpc: Server = what Legs cover + Wait (R7.3)
type Lookup struct {
	Span  *model.Span // the cb.lookup.rpc, without any the server's lookup
	Basis model.Basis

	RPC         model.Opt // ns, of the scheduler's span
	Submit      model.Opt // ns, before the first server span began
	L2Load      model.Opt // ns, covered by cb.l2_load, or by what stands in for it
	ServerOther model.Opt // ns, other work of the server
	PollWait    model.Opt // ns, the answer was there and nobody had asked yet
	Uncertainty model.Opt // ns that Submit and PollWait may be wrong: how well the clocks are known against each other; unknown where they are not (R5.8)
	L2LoadMin   model.Opt // ns, with AtMost and poll lines: the part of L2Load until the last poll but one, which found no answer (R7.2)
	AtMost      bool      // a stand-in gave L2Load: an upper bound
	OtherAtMost bool      // of ServerOther a span counts whole, to an END that a poll stamped: an upper bound (R7.2)

	Server, Wait model.Opt // ns, of no_rpc
	Legs         []Leg     // of no_rpc, in order of (start, id); they may overlap

	NPolls          model.Opt // polls
	PollMaxInterval model.Opt // ns, longest between submit, first poll … last poll; needs poll lines
	PollInterval    model.Opt // ns, the usual one: median over the request's poll lines; without those RPC / NPolls (R7.4)
	Overshoot       model.Opt // ns from the end of the server's last leaf before the last poll to that poll; at least, where the leaf's END is a poll's stamp
	PollsInferred   bool      // there are no poll lines: PollInterval and Overshoot follow from the number of polls
}

// A Leg is a part of a lookup of the server.
type Leg struct {
	Stage model.StrID
	NS    int64 // inside the lookup
}

// lookups fills in a row for each cb.lookup.rpc; without any, for each lookup of the server that is no leg of another (R7.1, R7.3).
func (sp *Splitter) lookups() {
	rows := sp.out.Lookups
	sp.out.Lookups = rows[:0]
	sp.spans = sp.spans[:0]
	for _, s := range sp.of[model.StageLookupRPC] {
		if usable(s) {
			sp.spans = append(sp.spans, s)
		}
	}
	rpc := len(sp.spans) > 0
	if !rpc {
		sp.spans = sp.serverLookups(sp.spans)
	}
	slices.SortFunc(sp.spans, sp.order)
	for _, s := range sp.spans {
		var legs []Leg
		n := len(sp.out.Lookups)
		if n < len(rows) {
			legs = rows[n].Legs[:0]
		}
		sp.out.Lookups = append(sp.out.Lookups, Lookup{}) // filled in place: it is large
		l := &sp.out.Lookups[n]
		l.Span, l.Legs = s, legs
		if rpc {
			sp.splitRPC(l)
		} else {
			sp.splitServer(l)
		}
	}
	if rpc {
		sp.usualInterval()
	}
}

// serverLookups appends the lookups of a server-only capture. A leg has no row of its own (R7.2); an END that is a shutdown's says nothing.
func (sp *Splitter) serverLookups(buf []*model.Span) []*model.Span {
	for _, stage := range [...]model.Stage{model.StageLookup, model.StageMPLookupPrefetch} {
		for _, s := range sp.of[stage] {
			leg := stage == model.StageMPLookupPrefetch && s.Parent != nil && s.Parent.Stage == model.StageLookup
			if usable(s) && !leg && !s.Has(model.FlagShutdown) {
				buf = append(buf, s)
			}
		}
	}
	return buf
}

// splitServer is basis no_rpc: legs, and what is left of the server's span. L2 and poll cannot be told apart.
func (sp *Splitter) splitServer(l *Lookup) {
	s := l.Span
	l.Basis = model.NoRPC
	pieces := sp.walk.load[:0]
	for _, k := range s.Kids {
		if k.Class != model.Work || !timed(k) {
			continue
		}
		lo, hi := max(k.Start, s.Start), min(k.End, s.End)
		l.Legs = append(l.Legs, Leg{Stage: k.StageKey, NS: max(0, int64(hi-lo))})
		pieces = append(pieces, interval{lo, hi})
	}
	sp.walk.load = pieces
	l.Server = model.Some(int64(s.Dur()))
	l.Wait = model.Some(int64(s.Dur()) - union(pieces))
}

// splitRPC splits one cb.lookup.rpc (R7.1–R7.4).
//
//  1. walk over the spans under it for what the server proves to have done: loads, other work, its first instant, its last leaf
//  2. without a common clock only durations compare; otherwise clip all to the rpc
//  3. l2_load is what loads cover, server_other what other work covers beyond that, submit the time before the server's first instant,
//     poll_wait the rest
func (sp *Splitter) splitRPC(l *Lookup) {
	rpc, w := l.Span, &sp.walk
	a, b, shift := rpc.Start, rpc.End, rpc.Start-rpc.RawStart
	total := int64(b - a)
	l.RPC = model.Some(total)
	lastPoll := model.Time(math.MaxInt64)
	if n := len(rpc.Polls); n > 0 {
		lastPoll = rpc.Polls[n-1] + shift
		l.NPolls = model.Some(int64(n))
		before, longest := rpc.RawStart, model.Time(0)
		for _, p := range rpc.Polls {
			longest, before = max(longest, p-before), p
		}
		l.PollMaxInterval = model.Some(int64(longest))
	}
	if n, ok := rpc.Int(model.AttrNPolls); ok {
		l.NPolls = model.Some(n)
	}

	w.under(rpc, lastPoll)
	if w.lookups == 0 {
		l.Basis = model.NoServer
		return
	}
	l.AtMost = w.standIn
	if w.apart {
		l.Basis = model.DurationsOnly
		l2 := union(w.load)
		w.other = append(w.other, w.load...)
		work := union(w.other)
		l.L2Load, l.ServerOther, l.PollWait = model.Some(l2), model.Some(work-l2), model.Some(max(0, total-work))
		return
	}
	if w.standIn && len(rpc.Polls) > 1 {
		until := min(b, rpc.Polls[len(rpc.Polls)-2]+shift)
		w.own = append(w.own[:0], w.load...)
		l.L2LoadMin = model.Some(union(clip(w.own, a, until)))
	}
	w.load = clip(w.load, a, b)
	l2 := union(w.load)
	w.other = append(clip(w.other, a, b), w.load...)
	work := union(w.other)
	submit := min(max(int64(w.first-a), 0), total)
	l.Submit, l.L2Load, l.ServerOther, l.PollWait = model.Some(submit), model.Some(l2), model.Some(work-l2), model.Some(total-work-submit)
	l.OtherAtMost = w.upper
	l.Basis = model.Measured
	if l.AtMost || l.OtherAtMost {
		l.Basis = model.InferredUpper
	}
	if u, ok := sp.req.UncertaintyBetween(rpc, w.server); ok {
		l.Uncertainty = model.Some(int64(u))
	}
	sp.overshoot(l, lastPoll)
}

// overshoot is how long the answer waited for its last poll (R7.4). Without poll lines the last poll is taken to have reached the server as
// long before the rpc's end as the submit took to get there; that needs ENDs that are no poll's stamp.
func (sp *Splitter) overshoot(l *Lookup, lastPoll model.Time) {
	if !sp.walk.hasLeaf {
		return
	}
	over := int64(lastPoll - sp.walk.lastLeaf)
	if len(l.Span.Polls) == 0 {
		if !l.NPolls.OK || l.Basis != model.Measured {
			return
		}
		l.PollsInferred = true
		over = max(0, int64(l.Span.End-sp.walk.lastLeaf)-l.Submit.V)
	}
	if over >= 0 || l.Basis == model.Measured {
		l.Overshoot = model.Some(over)
	}
}

// usualInterval fills in PollInterval: the median, by nearest rank, of all intervals that the request's poll lines give, the one from submit
// to the first poll included; where a lookup has no poll lines its own RPC / NPolls (R7.4).
func (sp *Splitter) usualInterval() {
	sp.times = sp.times[:0]
	for i := range sp.out.Lookups {
		before := sp.out.Lookups[i].Span.RawStart
		for _, p := range sp.out.Lookups[i].Span.Polls {
			sp.times, before = append(sp.times, p-before), p
		}
	}
	slices.Sort(sp.times)
	for i := range sp.out.Lookups {
		l := &sp.out.Lookups[i]
		switch {
		case len(l.Span.Polls) > 0:
			l.PollInterval = model.Some(int64(sp.times[(len(sp.times)-1)/2]))
		case l.NPolls.V > 0:
			l.PollInterval, l.PollsInferred = model.Some(l.RPC.V/l.NPolls.V), true
		}
	}
}
