package split

import (
	"cmp"
	"slices"
	"sort"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Pass is one cb.start_load_kv of one worker rank, or the server's retrieve where no worker was recorded (R7.9).
type Pass struct {
	Span    *model.Span
	Attempt int       // from 1
	Worker  string    // the rank, or the device of an mp.retrieve; "" where none is named
	Written model.Opt // tokens; 0 for a no-op
	Noop    bool      // it left no retrieve
}

// Loads is R7.9 and R7.10: the passes of a request, in order of (start, id), and what they say together.
// Every rank writes the same tokens, so what several ranks wrote is never added up.
type Loads struct {
	Attempts    int
	Starts      []model.Attempt // where they begin; empty where no lookup was recorded
	Passes      []Pass
	Overlapping bool // two passes of a rank overlap
	Verdict     model.Verdict
	Double      []int32   // indices of the passes of the rank and attempt that the verdict is of; of several the first rank's
	Written     model.Opt // tokens a rank wrote in the last attempt with a pass, the largest of the ranks; not cut to the hits
	Wasted      model.Opt // tokens written beyond the hits, over all attempts; unknown where hits are

	NewTrace []*model.Span // retrieves of an attempt in another trace than the server's cb.request before them (finding second_pass_in_new_trace)
	Delays   []Delay       // in order of attempts
}

// A Delay is how long the first retrieve of an attempt came after the last lookup that ended before it.
type Delay struct {
	Attempt          int
	Lookup, Retrieve *model.Span
	NS               int64
}

// written is what the ranks wrote in one attempt.
type written struct {
	most    int64
	known   bool
	unclear bool // a rank has several passes and does not say what they wrote
}

func (sp *Splitter) loads() {
	l := &sp.out.Loads
	*l = Loads{Passes: l.Passes[:0], Double: l.Double[:0], NewTrace: l.NewTrace[:0], Delays: l.Delays[:0], Starts: sp.req.Attempts(&sp.attempts)}
	sp.passes()
	l.Attempts = len(l.Starts)
	if l.Attempts == 0 && len(l.Passes) > 0 {
		l.Attempts = 1
	}
	sp.newTraces()
	sp.verdict()
	sp.delays()
}

// passes lists the passes with what each wrote.
func (sp *Splitter) passes() {
	l := &sp.out.Loads
	sp.spans = sp.req.LoadPasses(sp.spans[:0])
	passes := sp.spans
	slices.SortFunc(passes, sp.order)
	for _, s := range sp.of[model.StageRetrieve] {
		s.Mark = 0
	}
	for _, s := range passes {
		p := Pass{Span: s, Attempt: model.AttemptOf(l.Starts, s.Start), Worker: s.Worker()}
		if s.Stage == model.StageMPRetrieve {
			p.Worker = s.Text(model.AttrDevice)
			p.Written = positive(s.Int(model.AttrNumTokens)) // 0 says nothing (VOCABULARY 3)
		} else {
			p.Written, p.Noop = sp.scattered(s)
		}
		l.Passes = append(l.Passes, p)
	}
	sp.noops()
}

// noops settles which passes without a retrieve under them were no-ops, and so wrote 0 tokens: those for which the server was recorded and
// no retrieve of their rank is left without a pass that could be theirs. On clocks that are not known against each other retrieves do not find their
// passes, and nothing is known; where they are known, what lies outside a pass is not of it.
func (sp *Splitter) noops() {
	seen := sp.serverSeen()
	for i := range sp.loose {
		sp.loose[i] = sp.loose[i][:0]
	}
	for _, s := range sp.of[model.StageRetrieve] {
		if s.Mark == 0 {
			sp.loose[0] = append(sp.loose[0], s.Worker())
			if _, known := sp.req.UncertaintyOf(s); !known {
				sp.loose[1] = append(sp.loose[1], s.Worker())
			}
		}
	}
	for i := range sp.loose {
		slices.Sort(sp.loose[i])
	}
	for i := range sp.out.Loads.Passes {
		p := &sp.out.Loads.Passes[i]
		if !p.Noop {
			continue
		}
		loose := sp.loose[0]
		if _, known := sp.req.UncertaintyOf(p.Span); known {
			loose = sp.loose[1]
		}
		_, mine := slices.BinarySearch(loose, p.Worker)
		if len(loose) > 0 && (mine || p.Worker == "" || loose[0] == "") || !seen {
			p.Noop = false
		} else {
			p.Written = model.Some(0)
		}
	}
}

func positive(n int64, ok bool) model.Opt {
	if !ok || n <= 0 {
		return model.Opt{}
	}
	return model.Some(n)
}

// serverSeen reports whether a cache server wrote any span of the request.
func (sp *Splitter) serverSeen() bool { return sp.mp || sp.has&model.ServerStages != 0 }

// scattered is how many tokens were scattered under a pass, unknown when no cb.scatter says, and whether it has no retrieve; the ones it has
// are marked. What is under a further pass is that pass's.
func (sp *Splitter) scattered(pass *model.Span) (tokens model.Opt, none bool) {
	none = true
	stack := append(sp.stack[:0], pass)
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch s.Stage {
		case model.StageRetrieve:
			none, s.Mark = false, 1
		case model.StageScatter:
			if n, ok := s.Int(model.AttrScatteredTokens); ok {
				tokens = model.Some(tokens.V + n)
			}
		}
		for _, k := range s.Kids {
			if k.Stage != pass.Stage {
				stack = append(stack, k)
			}
		}
	}
	sp.stack = stack
	return tokens, none
}

// rankOf orders passes by rank; a pass that names none belongs to its process.
func rankOf(a, b *Pass) int {
	if c := cmp.Compare(a.Worker, b.Worker); c != 0 || a.Worker != "" {
		return c
	}
	return cmp.Compare(a.Span.Proc, b.Span.Proc)
}

// verdict judges the passes of each rank and attempt, and adds up what was written (R7.10).
func (sp *Splitter) verdict() {
	l := &sp.out.Loads
	sp.ranked, sp.sums = sp.ranked[:0], sp.sums[:0]
	for i := range l.Passes {
		sp.ranked = append(sp.ranked, int32(i))
	}
	slices.SortStableFunc(sp.ranked, func(i, j int32) int { return rankOf(&l.Passes[i], &l.Passes[j]) })
	for range l.Attempts {
		sp.sums = append(sp.sums, written{})
	}
	l.Overlapping = sp.overlapping()
	for rest := sp.ranked; len(rest) > 0; {
		first := &l.Passes[rest[0]]
		n := 1
		for n < len(rest) && rankOf(first, &l.Passes[rest[n]]) == 0 && l.Passes[rest[n]].Attempt == first.Attempt {
			n++
		}
		row := rest[:n]
		if v := sp.judge(row); v > l.Verdict {
			l.Verdict = v
			l.Double = append(l.Double[:0], row...)
		}
		sp.addWritten(row)
		rest = rest[n:]
	}
	l.Wasted = sp.wasted()
	if n := len(l.Passes); n > 0 { // attempts rise with start
		if w := sp.sums[l.Passes[n-1].Attempt-1]; w.known {
			l.Written = model.Some(w.most)
		}
	}
}

// overlapping reports whether two passes of a rank overlap.
func (sp *Splitter) overlapping() bool {
	passes := sp.out.Loads.Passes
	end := model.Time(0) // of the passes of the rank so far
	for k, i := range sp.ranked {
		p := &passes[i]
		if k == 0 || rankOf(&passes[sp.ranked[k-1]], p) != 0 {
			end = p.Span.End
			continue
		}
		if p.Span.Start < end {
			return true
		}
		end = max(end, p.Span.End)
	}
	return false
}

// wasted is what was written beyond the hits, over all attempts; unknown where hits are, or what a rank wrote in several passes.
func (sp *Splitter) wasted() model.Opt {
	hit, sum := sp.out.Hits.Hit, int64(0)
	if !hit.OK {
		return model.Opt{}
	}
	for _, w := range sp.sums {
		if w.unclear {
			return model.Opt{}
		}
		if w.known {
			sum += max(0, w.most-hit.V)
		}
	}
	return model.Some(sum)
}

// addWritten adds a rank's passes to their attempt.
func (sp *Splitter) addWritten(row []int32) {
	w := &sp.sums[sp.out.Loads.Passes[row[0]].Attempt-1]
	sum, known := int64(0), true
	for _, i := range row {
		p := &sp.out.Loads.Passes[i]
		sum, known = sum+p.Written.V, known && p.Written.OK
	}
	switch {
	case known:
		w.most, w.known = max(w.most, sum), true
	case len(row) > 1:
		w.unclear = true
	}
}

// judge is the verdict on one rank's passes of one attempt.
func (sp *Splitter) judge(row []int32) model.Verdict {
	v := sp.judgeWritten(row, sp.out.Hits.Hit)
	first := sp.out.Loads.Passes[row[0]].Span
	if v == model.LoadNone && len(sp.of[model.StageStartLoadKV]) == 0 && first.Stage == model.StageRetrieve {
		if another, after := sp.otherTrace(first); another && after {
			return model.LoadNoopThenFull // only the server was recorded: the first pass left nothing
		}
	}
	return v
}

// judgeWritten is what the tokens of passes say. A later pass that wrote nothing or left no retrieve does not count.
func (sp *Splitter) judgeWritten(row []int32, hit model.Opt) model.Verdict {
	passes := sp.out.Loads.Passes
	first := &passes[row[0]]
	var second *Pass
	n, sum, known := 1, first.Written.V, first.Written.OK
	for _, i := range row[1:] {
		p := &passes[i]
		if p.Noop || p.Written == model.Some(0) {
			continue
		}
		if n++; second == nil {
			second = p
		}
		sum, known = sum+p.Written.V, known && p.Written.OK
	}
	switch {
	case n < 2:
		return model.LoadNone
	case n > 2:
		return model.LoadMany
	case first.Noop:
		return model.LoadNoopThenFull
	case hit.OK && sum > hit.V:
		return model.LoadRepeat
	case !known:
		return model.LoadDoubleUnknown
	case hit.OK && first.Written.V < hit.V:
		return model.LoadPartialThenFull
	case !hit.OK && first.Written.V == second.Written.V && first.Written.V > 0:
		return model.LoadRepeat
	case !hit.OK && first.Written.V < second.Written.V:
		return model.LoadPartialThenFull
	}
	return model.LoadDoubleUnknown
}

// newTraces prepares otherTrace and lists the retrieves that it is true of.
func (sp *Splitter) newTraces() {
	sp.roots, sp.asked = sp.roots[:0], sp.asked[:0]
	for _, s := range sp.of[model.StageCBRequest] {
		if s.ServerRoot() && !s.Has(model.FlagUntimed) {
			sp.roots = append(sp.roots, s)
		}
	}
	if len(sp.roots) == 0 {
		return
	}
	slices.SortFunc(sp.roots, sp.order)
	for _, stage := range [...]model.Stage{model.StageLookupRPC, model.StageLookup, model.StageMPLookupPrefetch} {
		for _, s := range sp.of[stage] {
			if !s.Has(model.FlagUntimed) {
				sp.asked = append(sp.asked, s.Start)
			}
		}
	}
	slices.Sort(sp.asked)
	for _, s := range sp.of[model.StageRetrieve] {
		if another, _ := sp.otherTrace(s); another {
			sp.out.Loads.NewTrace = append(sp.out.Loads.NewTrace, s)
		}
	}
}

// otherTrace reports whether a retrieve lies in another trace than the last cb.request of a server that started before it, of the same
// attempt, and whether it began after that had ended. A server root belongs to the attempt of the first lookup after its start (R7.9).
func (sp *Splitter) otherTrace(s *model.Span) (another, after bool) {
	n := sort.Search(len(sp.roots), func(i int) bool { return sp.roots[i].Start >= s.Start })
	if n == 0 || s.Has(model.FlagUntimed) {
		return false, false
	}
	root := sp.roots[n-1]
	asked := root.Start
	if i, _ := slices.BinarySearch(sp.asked, root.Start); i < len(sp.asked) {
		asked = sp.asked[i]
	}
	starts := sp.out.Loads.Starts
	another = root.Trace != s.Trace && model.AttemptOf(starts, asked) >= model.AttemptOf(starts, s.Start)
	return another, another && s.Start >= root.End
}

// delays finds for the first retrieve of each attempt the last lookup of the server that ended before it; where the server left none, the rpc.
func (sp *Splitter) delays() {
	l := &sp.out.Loads
	ended := func(stages ...model.Stage) []*model.Span {
		sp.spans = sp.spans[:0]
		for _, stage := range stages {
			for _, s := range sp.of[stage] {
				if usable(s) && !s.Has(model.FlagOpen|model.FlagShutdown) {
					sp.spans = append(sp.spans, s)
				}
			}
		}
		slices.SortFunc(sp.spans, func(a, b *model.Span) int {
			if c := cmp.Compare(a.End, b.End); c != 0 {
				return c
			}
			return sp.order(a, b)
		})
		return sp.spans
	}
	lookups := ended(model.StageLookup, model.StageMPLookupPrefetch)
	if len(lookups) == 0 {
		if lookups = ended(model.StageLookupRPC); len(lookups) == 0 {
			return
		}
	}
	sp.firsts = sp.firsts[:0]
	for range max(1, len(l.Starts)) {
		sp.firsts = append(sp.firsts, nil)
	}
	for _, stage := range [...]model.Stage{model.StageRetrieve, model.StageMPRetrieve} {
		for _, s := range sp.of[stage] {
			if s.Has(model.FlagUntimed) {
				continue
			}
			if first := &sp.firsts[model.AttemptOf(l.Starts, s.Start)-1]; *first == nil || sp.order(s, *first) < 0 {
				*first = s
			}
		}
	}
	for i, s := range sp.firsts {
		if s == nil {
			continue
		}
		if n := sort.Search(len(lookups), func(i int) bool { return lookups[i].End > s.Start }); n > 0 {
			l.Delays = append(l.Delays, Delay{Attempt: i + 1, Lookup: lookups[n-1], Retrieve: s, NS: int64(s.Start - lookups[n-1].End)})
		}
	}
}
