package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A Decision is what can only be told once nothing more is merged (R2.3).
type Decision struct {
	Counting
	Other        int64 // requests that do not count for it
	MissingStage bool  // tokens found and nothing loaded is a missing_stage here
	ByTTFT       bool  // headline and slowest go by time to first token (R4.28)
}

// decide settles what depends on counts over the whole capture, and gives the tally of the requests that count.
func (a *Aggregate) decide() (d Decision, t *tally) {
	d.Counting = a.Counting()
	switch {
	case !d.All():
		t, d.Other = a.main, a.rest.requests
	case a.main.requests == 0:
		t = a.rest
	case a.rest.requests == 0:
		t = a.main
	default:
		t = newTally(a.dict, &a.opt)
		t.merge(a.main)
		t.merge(a.rest)
	}
	d.MissingStage = finding.LoadIsMissing(t.notLoaded.loaded, t.notLoaded.bare)
	d.ByTTFT = t.ttft.N() > 0 && 2*t.ttft.N() >= t.latency.N()
	return d, t
}

// largeSeries is from how many values on it pays to sort a series beside others.
const largeSeries = 1 << 10

// large are the large series of a tally, largest first: those of a day take seconds to sort.
func (t *tally) large() []*series {
	all := []*series{&t.latency, &t.root, &t.ttft, &t.queue, &t.perToken}
	parts := t.lookup.parts()
	all = append(all, parts[:]...)
	for _, s := range t.stages.all() {
		all = append(all, &s.durations)
	}
	for _, b := range t.buckets.by {
		all = append(all, &b.latency, &b.ttft)
	}
	all = append(all, &t.transfers.kernel, &t.transfers.staging, &t.transfers.idle)
	all = slices.DeleteFunc(all, func(s *series) bool { return s.N() < largeSeries })
	slices.SortFunc(all, func(a, b *series) int { return cmp.Compare(b.N(), a.N()) })
	return all
}

// many are all series of a tally that may hold many values: the large ones, and those of ratios.
func (t *tally) many() []*series {
	return append(t.large(), &t.blend.matchesPerLookup, &t.blend.recomp)
}

// Document is the report of what was added. The aggregate stays as it is: more can be added and another document made.
func (a *Aggregate) Document(c *Capture) *Document {
	d, t := a.decide()
	return a.document(c, d, t)
}

func (a *Aggregate) document(c *Capture, d Decision, t *tally) *Document {
	large, m := t.large(), a.opt.Method
	told := a.table.tell(d.Counting, len(large), func(i int) { large[i].prepare(m) })
	complete := t.complete
	if d.MissingStage {
		complete -= t.notLoaded.complete
	}
	doc := &Document{
		Schema: Schema, Inputs: inputsOf(c), Survey: c.Survey, Clock: append([]Clock{}, c.Clock...),
		Requests: Requests{t.requests, complete, t.edge, d.Other, c.Unattributed},
		Latency:  t.latency.document(m), TTFT: t.ttft.document(m), Queue: t.queue.document(m), DecodePerToken: t.perToken.document(m),
		SLO: t.sloResults(), Lookup: t.lookup.document(m), Hits: t.hits.document(), Groups: []Group{},
		DoubleStartLoadKV: t.doubleLoadResults(), Blend: t.blend.document(m), Transfers: t.transfers.document(m),
		Failed:   Failed{t.failures.retrieve, t.failures.status, t.failures.aborted, countsOf(&t.failures.reasons), t.failures.requests, []string{}, nil},
		Findings: t.findingResults(c, d), Slowest: t.slowestResults(d), Quality: a.quality(c),
		Confidence: t.intervals(),
	}
	if c.Start != c.End || c.Start != 0 {
		doc.Window = windowOf(c.Start, c.End)
		if lo, hi := t.within(c); lo <= hi {
			doc.Selected = windowOf(lo, hi)
		}
	}
	doc.Stages, doc.CriticalPath = t.paths(m)
	for i := range t.groupings {
		doc.Groups = append(doc.Groups, t.groupings[i].document(m)...)
	}
	doc.Load, doc.Buckets = t.load(c)
	doc.told(told, a.dict)
	return doc
}

func windowOf(start, end model.Time) Window {
	return Window{model.Some(int64(start)), model.Some(int64(end))}
}

func inputsOf(c *Capture) []Input {
	out := make([]Input, 0, len(c.Inputs))
	for i := range c.Inputs {
		s := &c.Inputs[i]
		out = append(out, Input{s.File, s.Format, s.Bytes, s.Spans, s.Records, s.Skipped, append([]string{}, s.Errors...), s.ErrorCount, s.Notes, s.Unusable != "" && !s.Foreign(), s.Foreign()})
	}
	slices.SortStableFunc(out, func(a, b Input) int { return strings.Compare(a.File, b.File) })
	return out
}

func (t *tally) sloResults() []SLOResult {
	out := []SLOResult{}
	for i, s := range t.slos {
		out = append(out, s.result(t.opt.SLOs[i].Expr))
	}
	return out
}

func (s sloSum) result(expr string) SLOResult {
	r := SLOResult{Expr: expr, Met: s.met, Of: s.of}
	if s.of > 0 {
		r.Share = model.SomeFloat(float64(s.met) / float64(s.of))
	}
	return r
}

// paths are the stages and the paths added up.
func (t *tally) paths(m Method) ([]Stage, CriticalPath) {
	whole := t.latency.total()
	all := t.stages.all()
	stages := []Stage{}
	for _, s := range all {
		if s.spans == 0 && s.durations.N() == 0 && s.critical == (sum{}) {
			continue
		}
		stages = append(stages, Stage{
			Stage: s.name, Owner: s.owner.String(), Class: s.class.String(), Spans: s.spans, Requests: s.requests, Series: s.durations.document(m),
			SelfNS: s.self.int64(), CriticalNS: s.critical.int64(), CriticalShare: s.critical.over(whole), DragNS: s.drag.int64(),
		})
	}
	path := CriticalPath{
		TotalNS: whole.int64(),
		ByStage: stageTimes(byStage(all, func(s *stageSum) (sum, sum) { return s.critical, s.drag }), whole),
		ByBound: boundTimes(&t.bounds),
	}
	if t.ttftTotal.known {
		first := t.ttftTotal.sum
		path.TTFT = &TTFTPath{
			TotalNS: first.int64(),
			ByStage: stageTimes(byStage(all, func(s *stageSum) (sum, sum) { return s.ttft, s.ttftDrag }), first),
			ByBound: boundTimes(&t.ttftBounds),
		}
	}
	return stages, path
}

func stageTimes(times []stageTime, whole sum) []StageTime {
	out := make([]StageTime, 0, len(times))
	for _, s := range times {
		out = append(out, StageTime{Stage: s.name, NS: s.ns.int64(), Share: s.ns.over(whole), DragNS: s.drag.int64()})
	}
	return out
}

func boundTimes(bounds *[model.NumBounds]sum) []BoundTime {
	out := []BoundTime{}
	for b, ns := range bounds {
		if ns != (sum{}) {
			out = append(out, BoundTime{model.Bound(b).String(), ns.int64()})
		}
	}
	slices.SortFunc(out, func(a, b BoundTime) int { return cmp.Or(cmp.Compare(b.NS, a.NS), strings.Compare(a.Bound, b.Bound)) })
	return out
}

func (t *tally) doubleLoadResults() DoubleLoads {
	v := &t.verdicts
	d := DoubleLoads{
		PartialThenFull: v[model.LoadPartialThenFull], NoopThenFull: v[model.LoadNoopThenFull], Repeat: v[model.LoadRepeat], Many: v[model.LoadMany],
		DoubleUnknown: v[model.LoadDoubleUnknown], WastedTokens: t.wasted.int64(), Exemplars: t.doubleLoads.ids(),
	}
	d.Requests = d.PartialThenFull + d.NoopThenFull + d.Repeat + d.Many + d.DoubleUnknown
	return d
}

// findingResults lists what the requests show, and what shows in their sums (VOCABULARY 5, scope c).
func (t *tally) findingResults(c *Capture, d Decision) []Finding {
	out, severity := []Finding{}, map[string]finding.Severity{}
	see := func(number int, n int64, exemplars top) {
		if n > 0 {
			info := &finding.Registry[number]
			severity[info.Code] = info.Severity
			out = append(out, Finding{info.Code, info.Scope.String(), info.Severity.String(), n, exemplars.ids()})
		}
	}
	for number := range t.findings {
		f := t.findings[number]
		if number == finding.MissingStage && d.MissingStage {
			f.exemplars = slices.Clone(f.exemplars)
			f.merge(&t.notLoaded.unseen)
		}
		see(number, f.n, f.exemplars)
	}
	var mismatched, incomplete, stepped int64
	for _, s := range t.dual {
		if finding.DualMismatches(s) {
			mismatched++
		}
	}
	for i := range c.Inputs {
		if finding.Incomplete(finding.InputState{Gaps: c.Inputs[i].Gaps, Truncated: c.Inputs[i].Truncated}) {
			incomplete++
		}
		if finding.ClockSteps(c.Inputs[i].Steps) {
			stepped++
		}
	}
	see(finding.ClockDisagreement, int64(len(c.Disagreeing)), t.disagreeing.exemplars)
	see(finding.DualMismatch, mismatched, t.mismatched.exemplars)
	see(finding.CaptureIncomplete, incomplete, nil)
	see(finding.ClockStep, stepped, nil)
	if !c.LLM && finding.LacksLLMRequests(t.requests, t.llm) {
		see(finding.NoLLMRequest, 1, nil)
	}
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(severity[a.Code], severity[b.Code]), cmp.Compare(b.Count, a.Count), strings.Compare(a.Code, b.Code))
	})
	return out
}

func (t *tally) slowestResults(d Decision) []SlowRequest {
	list := t.slowest.byWindow
	switch {
	case d.ByTTFT:
		list = append(slices.Clone(t.slowest.byTTFT), t.slowest.withoutIt...)
	case t.latency.N() == 0:
		list = t.slowest.any
	}
	out := []SlowRequest{}
	for _, e := range list[:min(len(list), longest)] {
		out = append(out, SlowRequest{e.id, e.window, e.ttft, e.stage, e.flags.TopBound(), e.flags&model.RowTopHalf != 0})
	}
	return out
}

// within is the range of the capture within [since, until); where none of it is, it ends before it begins.
func (t *tally) within(c *Capture) (lo, hi model.Time) {
	lo, hi = c.Start, c.End
	if t.opt.Since != 0 {
		lo = max(lo, t.opt.Since)
	}
	if t.opt.Until != 0 {
		hi = min(hi, t.opt.Until)
	}
	return lo, hi
}

// load is R7.12, over the range of the capture within [since, until) and per bucket.
func (t *tally) load(c *Capture) (Load, []BucketResult) {
	lo, hi := t.within(c)
	b := t.buckets
	if level, ok := BucketLevel(t.opt.Bucket); ok {
		b.coarsen(level)
	}
	width := bucketWidth(b.level)
	keys := sortedKeys(b.by)
	starts := make([]int64, len(keys))
	for i, key := range keys {
		starts[i] = key * width
	}
	most, per := t.instants.most(starts, width)
	out := make([]BucketResult, len(keys))
	for i, key := range keys {
		have := b.by[key]
		start := model.Time(starts[i] * second)
		within := min(hi, start+model.Time(width*second)) - max(lo, start)
		out[i] = BucketResult{
			StartUnixNS: int64(start), DurationNS: width * second, Requests: have.requests, P50NS: have.latency.quantile(500, t.opt.Method),
			P95NS: have.latency.quantile(950, t.opt.Method), HitRate: have.hits.rate(), Failed: have.failed,
			TTFTP50NS: have.ttft.quantile(500, t.opt.Method), TTFTP95NS: have.ttft.quantile(950, t.opt.Method),
			Load:     loadOf(have.requests, have.tokens, have.windows, within, model.Opt{V: per[i], OK: most.OK}),
			LatencyN: have.latency.N(), TTFTN: have.ttft.N(),
		}
		have.latency.Release()
		have.ttft.Release()
	}
	return loadOf(t.requests, t.tokens, t.windows, hi-lo, most), out
}

func loadOf(requests int64, tokens, windows sum, within model.Time, most model.Opt) Load {
	l := Load{Concurrency: Concurrency{Max: most}}
	if within > 0 {
		seconds := float64(within) / float64(time.Second)
		l.RequestsPerS = model.SomeFloat(float64(requests) / seconds)
		l.TokensPerS = model.SomeFloat(tokens.float() / seconds)
		l.Concurrency.Mean = model.SomeFloat(windows.float() / float64(within))
	}
	return l
}

func (a *Aggregate) quality(c *Capture) Quality {
	n := &a.counts
	q := Quality{
		Duplicated: n.Duplicated, Conflicting: n.Conflicting, Unattributed: c.Unattributed, Orphaned: n.Orphaned, Adopted: n.Adopted,
		Clipped: n.Clipped, Outside: n.Outside, Cycles: n.Cycles, Negative: n.Negative, Untimed: n.Untimed, Open: n.Open,
		UnknownStages: n.UnknownStages, Joins: JoinsOf(a.joins), OpenCopies: n.OpenCopies, Coalesced: n.Coalesced, Dual: n.Dual,
	}
	for _, s := range c.Inputs {
		q.SpansRead += s.Spans
		q.RecordsRead += s.Records
		q.Skipped += s.Skipped
	}
	return q
}

// JoinsOf lists joins by from, to and by; never nil.
func JoinsOf(joins map[model.JoinKey]int64) []Join {
	out := make([]Join, 0, len(joins))
	for k, n := range joins {
		out = append(out, Join{k.From, k.To, k.By.String(), n})
	}
	slices.SortFunc(out, func(a, b Join) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), strings.Compare(a.By, b.By))
	})
	return out
}
