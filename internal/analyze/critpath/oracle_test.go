package critpath

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// A slowPath is the critical path found tick by tick, by recursion: slow, and written from the rules alone.
type slowPath struct {
	r      *model.Request
	tick   model.Time
	clip   map[*model.Span]interval // every blocking span with something left or no length at all
	up     map[*model.Span]*model.Span
	holder map[model.Time]*model.Span // by the start of a tick
	beside map[model.Time]*model.Span // the child that ran and is not on the path

	shortened int // children chosen though they ended later (R6.5)
}

// slow is the path of a request all of whose times are multiples of tick.
func slow(r *model.Request, tick model.Time) *slowPath {
	p := &slowPath{r, tick, map[*model.Span]interval{}, map[*model.Span]*model.Span{}, map[model.Time]*model.Span{}, map[model.Time]*model.Span{}, 0}
	p.clipDown(r.Root, interval{r.WindowStart, r.WindowEnd})
	p.hold(r.Root, r.WindowStart, r.WindowEnd)
	return p
}

func (p *slowPath) clipDown(s *model.Span, at interval) {
	p.clip[s] = at
	for _, k := range s.Steps {
		if lo, hi := max(k.Start, at.lo), min(max(k.Start, k.End), at.hi); lo <= hi {
			p.up[k] = s
			p.clipDown(k, interval{lo, hi})
		}
	}
}

func (p *slowPath) hold(s *model.Span, lo, hi model.Time) {
	at := map[*model.Span]interval{}
	for _, k := range s.Steps {
		if c, ok := p.clip[k]; ok && max(c.lo, lo) < min(c.hi, hi) {
			at[k] = interval{max(c.lo, lo), min(c.hi, hi)}
		}
	}
	// before reports whether a comes before b: larger end, later start, smaller id.
	before := func(a, b *model.Span) bool {
		if at[a].hi != at[b].hi {
			return at[a].hi > at[b].hi
		}
		if at[a].lo != at[b].lo {
			return at[a].lo > at[b].lo
		}
		return p.r.Dict.SpanIDText(a.ID) < p.r.Dict.SpanIDText(b.ID)
	}
	used, limit := map[*model.Span]bool{}, hi
	var mine []model.Time
	for t := hi; t > lo; {
		var best *model.Span
		for k, c := range at {
			if !used[k] && t <= c.hi && c.hi <= limit && c.lo < t && (best == nil || before(k, best)) {
				best = k
			}
		}
		if best == nil {
			t -= p.tick
			p.holder[t] = s
			mine = append(mine, t)
			continue
		}
		used[best] = true
		if at[best].hi > t {
			p.shortened++
		}
		p.hold(best, at[best].lo, t)
		t = at[best].lo
		limit = t + min(50_000, (hi-lo)/100)
	}
	for _, t := range mine {
		for k, c := range at {
			if !used[k] && c.lo <= t && t < c.hi && (p.beside[t] == nil || before(k, p.beside[t])) {
				p.beside[t] = k
			}
		}
	}
}

func (p *slowPath) kind(t model.Time) Kind {
	switch {
	case p.holder[t] == p.r.Root && (t < p.r.OwnStart || t >= p.r.OwnEnd):
		return Gap
	case p.beside[t] != nil:
		return Overlap
	}
	return Self
}

func (p *slowPath) above(s, top *model.Span) bool {
	for ; s != nil; s = p.up[s] {
		if s == top {
			return true
		}
	}
	return false
}

// alone reports whether nothing ran at t but what holds it, what is above and what is below.
func (p *slowPath) alone(t model.Time) bool {
	for s, c := range p.clip {
		if c.lo <= t && t < c.hi && !p.above(s, p.holder[t]) && !p.above(p.holder[t], s) {
			return false
		}
	}
	return true
}

func under(s *model.Span) []*model.Span {
	all := slices.Clone(s.Kids)
	for _, k := range s.Kids {
		all = append(all, under(k)...)
	}
	return all
}

func hasWork(s *model.Span) bool {
	return slices.ContainsFunc(s.Kids, func(k *model.Span) bool { return k.Class == model.Work })
}

// clamped are the two instants of R4.27.
func clamped(s *model.Span) (scheduled, first model.Time, ok bool) {
	ttft, ok := s.Seconds(model.AttrTimeToFirstToken)
	first = s.Start + model.Time(ttft)
	scheduled = s.Start
	if prefill, said := s.Seconds(model.AttrTimeInPrefill); said {
		scheduled = first - model.Time(prefill)
	} else if queue, said := s.Seconds(model.AttrTimeInQueue); said {
		scheduled += model.Time(queue)
	}
	first = max(s.Start, min(first, s.End))
	return max(s.Start, min(scheduled, first)), first, ok
}

func (p *slowPath) bound(t model.Time) model.Bound {
	s := p.holder[t]
	if p.kind(t) == Gap {
		return model.Unexplained
	}
	leafEnded := false // all leaves have
	if s.Stage == model.StageLookup || s.Stage == model.StageSparsePrefetch {
		for _, x := range under(s) {
			if x.Class == model.Work && !hasWork(x) {
				leafEnded = true
			}
		}
		for _, x := range under(s) {
			if x.Class == model.Work && !hasWork(x) && x.End > t {
				leafEnded = false
			}
		}
	}
	pick := func(yes bool, a, b model.Bound) model.Bound {
		if yes {
			return a
		}
		return b
	}
	switch s.Stage {
	case model.StageLLMRequest:
		scheduled, first, ok := clamped(s)
		switch {
		case ok && t < scheduled:
			return model.BoundQueue
		case ok && t >= first:
			return model.BoundDecode
		}
		return model.BoundEngine
	case model.StageLookupRPC:
		return pick(slices.ContainsFunc(under(s), func(x *model.Span) bool {
			return x.Owner() == model.Server && x.Class == model.Work && x.Start <= t
		}), model.BoundPoll, model.BoundRPC)
	case model.StageLookup:
		return pick(leafEnded, model.BoundPoll, model.BoundMatch)
	case model.StageSparsePrefetch:
		return pick(leafEnded, model.BoundPoll, pick(s.Count(model.AttrL2Keys) > 0, model.BoundL2IO, model.BoundL1))
	case model.StageMPLookupPrefetch:
		return pick(s.Count(model.AttrL2HitTokens)+s.Count(model.AttrL2HitKeys) > 0, model.BoundL2IO, model.BoundL1)
	case model.StageNone:
		if s.Kin == model.StageLookup { // decided by a rule for the stage, so there is nothing to inherit
			return model.Unexplained
		}
		return s.Kin.Info().Bound
	}
	return s.Stage.Info().Bound
}

func (p *slowPath) idle(s *model.Span) time.Duration {
	n := model.Time(0)
	for t := s.Start; t < s.End; t += p.tick {
		if !slices.ContainsFunc(s.Kids, func(k *model.Span) bool {
			return (k.Class == model.Work || k.Class == model.Background) && !k.Has(model.FlagShutdown) && k.Start <= t && t < k.End
		}) {
			n += p.tick
		}
	}
	return time.Duration(n)
}

// facts is everything about a path that both ways must agree on, as text to amount.
type facts map[string]time.Duration

func (f facts) add(d time.Duration, format string, args ...any) {
	if d != 0 {
		f[fmt.Sprintf(format, args...)] += d
	}
}

func (p *slowPath) facts() facts {
	f, d := facts{}, time.Duration(p.tick)
	_, first, ok := clamped(p.r.Root)
	ok = ok && p.r.Root.Stage == model.StageLLMRequest
	name := func(s *model.Span) string { return p.r.Dict.Str(s.StageKey) + "/" + s.Owner().String() }
	for t := p.r.WindowStart; t < p.r.WindowEnd; t += p.tick {
		s := p.holder[t]
		f.add(d, "%s %s during %v", id(p.r, s), p.kind(t), id(p.r, p.beside[t]))
		if p.kind(t) == Gap { // whether something ran beside a gap is not told
			f.add(-d, "%s %s during %v", id(p.r, s), p.kind(t), id(p.r, p.beside[t]))
			f.add(d, "%s gap during ", id(p.r, s))
		}
		f.add(d, "kind %v", p.kind(t))
		f.add(d, "bound %v", p.bound(t))
		f.add(d, "stage %s", name(s))
		if p.alone(t) {
			f.add(d, "drag %s", name(s))
		}
		if ok && t < first {
			f.add(d, "early bound %v", p.bound(t))
			f.add(d, "early stage %s", name(s))
			if p.alone(t) {
				f.add(d, "early drag %s", name(s))
			}
		}
	}
	if ok {
		f.add(time.Duration(min(max(first, p.r.WindowStart), p.r.WindowEnd)-p.r.WindowStart), "ttft")
	}
	for _, s := range p.r.Spans {
		f.add(p.idle(s), "self %s", id(p.r, s))
	}
	return clean(f)
}

func clean(f facts) facts {
	maps.DeleteFunc(f, func(_ string, d time.Duration) bool { return d == 0 })
	return f
}

func id(r *model.Request, s *model.Span) string {
	if s == nil {
		return ""
	}
	return r.Dict.SpanIDText(s.ID)
}

// factsOf are the facts as Analyze found them. It checks that the segments partition the window.
func factsOf(t testing.TB, r *model.Request, p *Path) facts {
	t.Helper()
	f := facts{}
	name := func(key model.StrID, o model.Owner) string { return r.Dict.Str(key) + "/" + o.String() }
	critical := map[*model.Span]time.Duration{}
	at := r.WindowStart
	for _, s := range p.Segments {
		if s.Lo != at || s.Hi <= s.Lo {
			t.Fatalf("segment [%d, %d) does not follow on %d", s.Lo, s.Hi, at)
		}
		at = s.Hi
		critical[s.Span] += s.Dur()
		f.add(s.Dur(), "%s %s during %v", id(r, s.Span), s.Kind, id(r, s.During))
	}
	if at != max(r.WindowStart, r.WindowEnd) {
		t.Fatalf("segments end at %d, the window at %d", at, r.WindowEnd)
	}
	for k, d := range p.Kinds {
		f.add(d, "kind %v", Kind(k))
	}
	for b, d := range p.Bounds {
		f.add(d, "bound %v", model.Bound(b))
	}
	for b, d := range p.TTFTBounds {
		f.add(d, "early bound %v", model.Bound(b))
	}
	for _, s := range p.Stages {
		f.add(s.Total, "stage %s", name(s.Key, s.Owner))
		f.add(s.Drag, "drag %s", name(s.Key, s.Owner))
		f.add(s.TTFT, "early stage %s", name(s.Key, s.Owner))
		f.add(s.TTFTDrag, "early drag %s", name(s.Key, s.Owner))
	}
	f.add(time.Duration(p.TTFT.V), "ttft")
	for _, s := range r.Spans {
		f.add(s.Self, "self %s", id(r, s))
		if s.Critical != critical[s] {
			t.Fatalf("critical of %s is %v, its segments have %v", id(r, s), s.Critical, critical[s])
		}
	}
	return clean(f)
}

func (f facts) diff(want facts) string {
	var b strings.Builder
	keys := slices.Collect(maps.Keys(want))
	for k := range f {
		if _, ok := want[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if f[k] != want[k] {
			fmt.Fprintf(&b, "%s: %d, want %d\n", k, f[k], want[k])
		}
	}
	return b.String()
}

// step links what the walk goes over (R6.4, R4.23) in a tree that is there: all work spans but shutdown-ended and transparent ones, the
// children of which count as their parent's.
func step(r *model.Request) {
	for _, s := range r.Spans {
		s.Steps = s.Steps[:0]
	}
	for _, s := range r.Spans {
		s.Blocking = s != r.Root && s.Class == model.Work && !s.Has(model.FlagShutdown|model.FlagTransparent)
		if !s.Blocking {
			continue
		}
		p := s.Parent
		for p.Has(model.FlagTransparent) {
			p = p.Parent
		}
		p.Steps = append(p.Steps, s)
	}
}

var (
	plainNames  = []string{"cb.schedule", "cb.execute", "cb.scatter", "mp.store", "x.a", "x.b", "timeout", "transfer.staging", "mp.store.flush", "cb.partial.layer"}
	lookupNames = []string{"cb.lookup.rpc", "cb.lookup", "cb.fingerprint_match", "cb.coordinator_match", "cb.sparse_prefetch", "cb.l2_load", "mp.lookup_prefetch", "cb.lookup.x", "cb.request", "mp.store", "x.a"}
)

// randomRequest is a small request with everything in it: overhang, ties, children that end a little after the next began, zero length,
// negative spans, background, unknown names, transparent and shutdown-ended spans, lookups, first tokens, windows wider than the root.
func randomRequest(rng *rand.Rand, tick model.Time) *model.Request {
	dict := model.NewDict()
	pick := func(names []string) string { return names[rng.IntN(len(names))] }
	width := []int{6, 12, 30, 60, 400, 1000}[rng.IntN(6)]
	names := [][]string{plainNames, lookupNames, append(slices.Clone(plainNames), lookupNames...)}[rng.IntN(3)]
	r := &model.Request{Dict: dict}
	span := func(name string, start, end int, up *model.Span) *model.Span {
		key := dict.InternString(name)
		s := &model.Span{Name: key, StageKey: key, Stage: dict.Stage(key), Kin: dict.Kin(key), Parent: up, ID: model.HexID(uint64(1000-len(r.Spans)) ^ uint64(rng.IntN(4)<<32)),
			Start: modeltest.Epoch + model.Time(start)*tick, End: modeltest.Epoch + model.Time(end)*tick}
		s.RawStart, s.RawEnd, s.Class = s.Start, s.End, s.Kin.Info().Class
		number := func(k model.AttrKey, n int) {
			s.Attrs = append(s.Attrs, model.Attr{Key: k, Value: model.Value{Kind: model.IntValue, Int: int64(n)}})
		}
		switch s.Stage {
		case model.StageSparsePrefetch:
			number(model.AttrL2Keys, rng.IntN(2)*3)
		case model.StageMPLookupPrefetch:
			number([]model.AttrKey{model.AttrL2HitTokens, model.AttrL2HitKeys}[rng.IntN(2)], rng.IntN(2)*256)
		case model.StageLLMRequest:
			for _, k := range []model.AttrKey{model.AttrTimeInQueue, model.AttrTimeToFirstToken, model.AttrTimeInPrefill} {
				if rng.IntN(3) > 0 {
					s.Attrs = append(s.Attrs, model.Attr{Key: k, Value: model.Value{Kind: model.FloatValue, Float: float64(rng.IntN(width+2)) * float64(tick) / 1e9}})
				}
			}
		case model.StageCBRequest:
			s.MPScope = rng.IntN(2) == 0
		}
		if up != nil {
			up.Kids = append(up.Kids, s)
			if rng.IntN(12) == 0 {
				s.Flags |= model.FlagTransparent
			}
			if rng.IntN(15) == 0 {
				s.Flags |= model.FlagShutdown
			}
		}
		r.Spans = append(r.Spans, s)
		return s
	}
	a := rng.IntN(width / 2)
	r.Root = span([]string{"llm_request", "llm_request", "cb.request", "x.root", "cb.lookup.rpc"}[rng.IntN(5)], a, a+1+rng.IntN(width), nil)
	for range 1 + rng.IntN(14) {
		up := r.Spans[rng.IntN(len(r.Spans))]
		lo, hi := int((up.Start-modeltest.Epoch)/tick), int((up.End-modeltest.Epoch)/tick)
		switch n := rng.IntN(10); {
		case n < 3 && len(up.Kids) > 0 && hi > lo: // about where a sibling began or ended
			k := up.Kids[rng.IntN(len(up.Kids))]
			at := int(([]model.Time{k.Start, k.End}[rng.IntN(2)]-modeltest.Epoch)/tick) + rng.IntN(13) - 6
			if len := rng.IntN(hi - lo + 1); rng.IntN(2) == 0 {
				span(pick(names), max(0, at-len), max(0, at), up)
			} else {
				span(pick(names), max(0, at), max(0, at)+len, up)
			}
		case n < 8 && hi > lo:
			start := lo + rng.IntN(hi-lo+1)
			span(pick(names), start, start+rng.IntN(hi-start+1), up)
		case n == 8:
			start := rng.IntN(width)
			span(pick(names), start, start-rng.IntN(min(3, start+1)), up)
		default:
			start := rng.IntN(width)
			span(pick(names), start, start+rng.IntN(width), up)
		}
	}
	for _, s := range r.Spans {
		slices.SortStableFunc(s.Kids, func(a, b *model.Span) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), dict.CompareSpanIDs(a.ID, b.ID))
		})
	}
	r.WindowStart, r.WindowEnd = r.Root.Start, r.Root.End
	r.OwnStart, r.OwnEnd = r.Root.Start, r.Root.End
	if r.Root.Stage != model.StageLLMRequest && rng.IntN(2) == 0 {
		r.WindowStart, r.WindowEnd = r.WindowStart-model.Time(rng.IntN(5))*tick, r.WindowEnd+model.Time(rng.IntN(9))*tick
	}
	if r.Root.Stage == model.StageNone && rng.IntN(3) == 0 { // as if it were made up
		r.OwnEnd = r.OwnStart
	}
	step(r)
	return r
}

// TestTickByTick holds Analyze against the slow way on random trees.
func TestTickByTick(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	trees := 6000
	if testing.Short() {
		trees = 600
	}
	var w Work
	overlaps, shortened, drags, early := 0, 0, 0, 0
	for seed := range trees {
		rng := rand.New(rand.NewPCG(uint64(seed), 20260101))
		tick := []model.Time{1, 10_000}[seed%2]
		r := randomRequest(rng, tick)
		p := Analyze(r, &w)
		got := factsOf(t, r, p)
		want := slow(r, tick)
		if diff := got.diff(want.facts()); diff != "" {
			for _, s := range r.Spans {
				t.Log(id(r, s), id(r, s.Parent), r.Dict.Str(s.StageKey), (s.Start-modeltest.Epoch)/tick, (s.End-modeltest.Epoch)/tick, s.Flags.Names())
			}
			t.Fatalf("tree %d: window [%d, %d)\n%s", seed, (r.WindowStart-modeltest.Epoch)/tick, (r.WindowEnd-modeltest.Epoch)/tick, diff)
		}
		for _, s := range r.Spans { // the order of the steps decides nothing
			rng.Shuffle(len(s.Steps), func(i, j int) { s.Steps[i], s.Steps[j] = s.Steps[j], s.Steps[i] })
		}
		p = Analyze(r, &w)
		if diff := factsOf(t, r, p).diff(got); diff != "" {
			t.Fatalf("tree %d, steps in another order:\n%s", seed, diff)
		}
		for _, s := range p.Segments {
			if s.Kind == Overlap {
				overlaps++
			}
		}
		for _, s := range p.Stages {
			if s.Drag < s.Total {
				drags++
			}
			if s.TTFTDrag < s.TTFT {
				early++
			}
		}
		shortened += want.shortened
	}
	for what, n := range map[string]int{"overlaps": overlaps, "children shortened by the jitter": shortened, "drags below the total": drags, "drags to the first token below the total": early} {
		if n < trees/200 {
			t.Errorf("only %d %s in %d trees: they test little", n, what, trees)
		}
	}
}
