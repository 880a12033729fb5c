package inspect

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/critpath"
	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/split"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A Subject is one analysed request and what else its document tells.
type Subject struct {
	Request  *model.Request
	Row      *model.Row
	Path     *critpath.Path
	Split    *split.Split
	Findings []finding.Found
	Clock    []report.Clock     // those of the request's processes are told
	Pairs    []report.Clock     // of all pairs of processes; those of the request's are told
	Inputs   []model.InputStats // by path: the formats of sources

	ShowSensitive bool // show secret values (R3.6)
}

// builder is a Subject at work.
type builder struct {
	*Subject
	dict    *model.Dict
	start   model.Time // of the window
	formats map[string]string
	clocks  map[model.ProcID]*model.Span // one span of each
}

// Build makes the document. It keeps nothing of the request: what a request points to is reused for the next.
func Build(s *Subject) *Document {
	r := s.Request
	b := &builder{Subject: s, dict: r.Dict, start: r.WindowStart, formats: make(map[string]string, len(s.Inputs))}
	for i := range s.Inputs {
		b.formats[s.Inputs[i].File] = s.Inputs[i].Format
	}
	d := &Document{
		Schema: Schema, Request: b.request(), TailNS: int64(r.Tail), Spans: b.spans(), CriticalPath: b.path(), Lookup: b.lookups(), Hits: b.hits(),
		Loads: b.loads(), Blend: b.blend(), Transfers: b.transfers(), Findings: b.findings(), Clock: b.clock(), Pairs: b.pairs(), Quality: b.quality(), Why: b.why(),
	}
	if slices.ContainsFunc(r.Spans, timed) {
		d.Window = Window{model.Some(int64(r.WindowStart)), model.Some(int64(max(0, r.Window()))), model.Some(int64(r.Uncertainty))}
	}
	return d
}

func timed(s *model.Span) bool { return !s.Has(model.FlagUntimed | model.FlagSynthetic) }

func (b *builder) request() Request {
	r, row := b.Request, b.Row
	out := Request{
		ID: strings.Clone(r.ID), ExternalID: strings.Clone(r.External), Key: r.Key.String(), Traces: b.traces(), Model: strings.Clone(row.Model),
		RootStage: b.dict.Str(r.Root.StageKey), TTFTNS: row.TTFT, QueueNS: row.Queue, PrefillNS: row.Prefill, DecodeNS: row.Decode,
		PromptTokens: row.PromptTokens, CompletionTokens: row.CompletionTokens,
	}
	if r.RealRoot() && !r.Root.Has(model.FlagOpen|model.FlagUntimed) {
		out.RootDurationNS = model.Some(int64(r.Root.Dur()))
	}
	return out
}

func (b *builder) traces() []string {
	seen, out := map[model.TraceID]bool{}, []string{}
	for _, s := range b.Request.Spans {
		if !seen[s.Trace] && !s.Trace.IsZero() {
			seen[s.Trace] = true
			out = append(out, b.dict.TraceIDText(s.Trace))
		}
	}
	slices.Sort(out)
	return out
}

func (b *builder) id(s *model.Span) string { return b.dict.SpanIDText(s.ID) }

func (b *builder) path() CriticalPath {
	p := b.Path
	out := CriticalPath{TotalNS: int64(max(0, b.Request.Window())), Segments: make([]Segment, 0, len(p.Segments))}
	for i := range p.Segments {
		s := &p.Segments[i]
		row := Segment{Kind: s.Kind.String(), Stage: b.dict.Str(s.Span.StageKey), Span: b.id(s.Span), StartNS: int64(s.Lo - b.start), DurationNS: int64(s.Dur()),
			Bound: s.Bound.String()}
		if s.During != nil {
			row.During = b.dict.Str(s.During.StageKey)
		}
		out.Segments = append(out.Segments, row)
	}
	out.ByStage = b.byStage(out.TotalNS, func(s *critpath.Stage) (ns, drag int64) { return int64(s.Total), int64(s.Drag) })
	out.ByBound = byBound(func(i model.Bound) int64 { return int64(p.Bounds[i]) })
	if p.TTFT.OK {
		out.TTFT = &report.TTFTPath{
			TotalNS: p.TTFT.V,
			ByStage: b.byStage(p.TTFT.V, func(s *critpath.Stage) (ns, drag int64) { return int64(s.TTFT), int64(s.TTFTDrag) }),
			ByBound: byBound(func(i model.Bound) int64 { return int64(p.TTFTBounds[i]) }),
		}
	}
	return out
}

// byStage adds up what the stages of a path held, whoever owns them; largest first, ties by name.
func (b *builder) byStage(total int64, of func(*critpath.Stage) (ns, drag int64)) []report.StageTime {
	out, at, doubts := []report.StageTime{}, map[model.StrID]int{}, b.pathDoubts(total)
	for i := range b.Path.Stages {
		s := &b.Path.Stages[i]
		ns, drag := of(s)
		if ns == 0 {
			continue
		}
		n, ok := at[s.Key]
		if !ok {
			n = len(out)
			at[s.Key] = n
			out = append(out, report.StageTime{Stage: b.dict.Str(s.Key), UncertaintyNS: doubts[s.Key]})
		}
		out[n].NS += ns
		out[n].DragNS += drag
	}
	for i := range out {
		out[i].Share = model.SomeFloat(float64(out[i].NS) / float64(total))
	}
	slices.SortFunc(out, func(x, y report.StageTime) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Stage, y.Stage))
	})
	return out
}

func byBound(of func(model.Bound) int64) []report.BoundTime {
	out := []report.BoundTime{}
	for i := range model.NumBounds {
		if ns := of(i); ns > 0 {
			out = append(out, report.BoundTime{Bound: i.String(), NS: ns})
		}
	}
	slices.SortFunc(out, func(x, y report.BoundTime) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Bound, y.Bound))
	})
	return out
}

func (b *builder) lookups() []Lookup {
	out := []Lookup{}
	for i := range b.Split.Lookups {
		l := &b.Split.Lookups[i]
		row := Lookup{RPCNS: l.RPC, SubmitNS: l.Submit, L2LoadNS: l.L2Load, L2LoadMinNS: l.L2LoadMin, ServerOtherNS: l.ServerOther, PollWaitNS: l.PollWait,
			UncertaintyNS: l.Uncertainty, ServerNS: l.Server, WaitNS: l.Wait, NPolls: l.NPolls, PollMaxIntervalNS: l.PollMaxInterval, OvershootNS: l.Overshoot, Basis: l.Basis.String()}
		if l.Basis == model.InferredUpper && l.AtMost {
			row.UpperBounds = append(row.UpperBounds, UpperL2Load)
		}
		if l.Basis == model.InferredUpper && l.OtherAtMost {
			row.UpperBounds = append(row.UpperBounds, UpperServerOther)
		}
		for _, leg := range l.Legs {
			row.Legs = append(row.Legs, Leg{b.dict.Str(leg.Stage), leg.NS})
		}
		out = append(out, row)
	}
	return out
}

func (b *builder) hits() Hits {
	h := &b.Split.Hits
	return Hits{RequestedTokens: h.Requested, HitTokens: h.Hit, HitRate: known(h.HitRate()), Class: h.Class.String(), PrefixTokens: h.Prefix,
		SegmentedPrefixTokens: h.Segmented, NonPrefixTokens: h.NonPrefix, L1Tokens: h.L1Tokens, L2Tokens: h.L2Tokens, L1Keys: h.L1Keys, L2Keys: h.L2Keys,
		WrittenTokens: h.Written, EffectiveReuse: known(h.EffectiveReuse()), ShortfallTokens: h.Shortfall, EarlyExitReason: strings.Clone(h.EarlyExit)}
}

func known(v float64, ok bool) model.OptFloat {
	if !ok {
		return model.OptFloat{}
	}
	return model.SomeFloat(v)
}

func (b *builder) loads() Loads {
	l := &b.Split.Loads
	out := Loads{Attempts: l.Attempts, Overlapping: l.Overlapping, Passes: []Pass{}, Verdict: l.Verdict.String(), WastedTokens: l.Wasted}
	for i := range l.Passes {
		p := &l.Passes[i]
		out.Passes = append(out.Passes, Pass{p.Attempt, strings.Clone(p.Worker), b.id(p.Span), int64(p.Span.Start - b.start), int64(p.Span.Dur()), p.Written})
	}
	return out
}

func (b *builder) blend() Blend {
	w := &b.Split.Blend
	perSecond := rate(w.ScatteredTokens, w.ScatterUnion)
	perSecond.V *= 1e9
	out := Blend{L2Bytes: w.L2Bytes, L2Chunks: w.L2Chunks, L2GBps: rate(w.L2Bytes, w.L2Union), Matches: w.Matches, TableHits: w.TableHits, Probes: w.Probes,
		L1Hits: w.L1Hits, L2Misses: w.L2Misses, ScatteredTokens: w.ScatteredTokens, SlotWrites: w.SlotWrites, PrefixChunks: w.PrefixChunks,
		ShiftedChunks: w.ShiftedChunks, DroppedChunks: w.DroppedChunks, PartialBlocks: w.PartialBlocks, ScatterTokensPerS: perSecond, ImpCount: w.ImpCount,
		ImpEmpty: model.Opt{V: w.ImpEmpty, OK: w.HasImpEmpty}}
	if n := len(w.RecompRatios); n > 0 {
		sum := 0.0
		for _, r := range w.RecompRatios {
			sum += r
		}
		out.RecompRatio = model.SomeFloat(sum / float64(n))
	}
	dispatches := slices.Clone(w.Dispatches)
	slices.Sort(dispatches)
	out.Dispatch = strings.Clone(strings.Join(slices.Compact(dispatches), ","))
	return out
}

// rate is an amount per ns; unknown where either is, or no time passed.
func rate(amount, ns model.Opt) model.OptFloat {
	if !amount.OK || !ns.OK || ns.V <= 0 {
		return model.OptFloat{}
	}
	return model.SomeFloat(float64(amount.V) / float64(ns.V))
}

func (b *builder) transfers() []Transfer {
	out := []Transfer{}
	for i := range b.Split.Transfers {
		t := &b.Split.Transfers[i]
		out = append(out, Transfer{b.id(t.Span), t.Kernel, t.Staging, t.Idle, t.Bytes, known(t.StagingRate()), t.First, t.Last})
	}
	return out
}

// findings are errors first, then in the order of codes.
func (b *builder) findings() []Finding {
	order := slices.Clone(b.Findings)
	slices.SortFunc(order, func(x, y finding.Found) int {
		return cmp.Or(cmp.Compare(x.Info().Severity, y.Info().Severity), cmp.Compare(x.Info().Code, y.Info().Code))
	})
	out := []Finding{}
	for _, f := range order {
		row := Finding{Code: f.Info().Code, Severity: f.Info().Severity.String(), Message: strings.Clone(f.Message), Spans: []string{}}
		for _, s := range f.Spans {
			row.Spans = append(row.Spans, b.id(s))
		}
		out = append(out, row)
	}
	return out
}

// clock are the rows about processes of this request (R5.8).
func (b *builder) clock() []report.Clock {
	here := b.processes()
	out := []report.Clock{}
	for _, c := range b.Clock {
		if here[c.Process] {
			out = append(out, c)
		}
	}
	return out
}

// pairs are the rows of the report's clock section about two processes that both are of this request.
func (b *builder) pairs() (out []report.Clock) {
	here := b.processes()
	for _, c := range b.Pairs {
		if here[c.Process] && here[c.Reference] {
			out = append(out, c)
		}
	}
	return out
}

// processes are those on whose clocks the request's spans are.
func (b *builder) processes() map[string]bool {
	here := map[string]bool{}
	for _, s := range b.Request.Spans {
		here[b.process(s)] = true
		if int(s.Clock) < b.dict.NumProcs() { // lines on a clock without an epoch (R4.12)
			here[b.dict.Proc(s.Clock).Name] = true
		}
	}
	return here
}

func (b *builder) quality() Quality {
	r, n := b.Request, &b.Request.Counts
	q := Quality{Duplicated: n.Duplicated, Conflicting: n.Conflicting, Orphaned: n.Orphaned, Adopted: n.Adopted, Clipped: n.Clipped, Outside: n.Outside,
		Cycles: n.Cycles, Negative: n.Negative, Untimed: n.Untimed, Open: n.Open, UnknownStages: n.UnknownStages, Joins: report.JoinsOf(b.Row.Joins),
		OpenCopies: n.OpenCopies, Coalesced: n.Coalesced, Dual: n.Dual, RecordsRead: int64(len(r.Points))}
	for _, s := range r.Spans {
		for _, src := range s.Sources {
			if b.recorded(s, src.File) {
				q.RecordsRead++
			} else {
				q.SpansRead++
			}
		}
	}
	return q
}

// recorded reports whether a source of a span is a line or a recorded call rather than a span. A span that was seen both ways has both.
func (b *builder) recorded(s *model.Span, f model.FileID) bool {
	format, ok := b.formats[b.dict.File(f).Path]
	if !ok {
		return s.Line || s.IsPoint()
	}
	for _, spans := range [...]string{"otlp-", "jaeger-"} {
		if strings.HasPrefix(format, spans) {
			return false
		}
	}
	return true
}

// plain is a value as JSON has it. JSON has no name for what is not a number, so that becomes text.
func plain(v model.Value) any {
	switch v.Kind {
	case model.IntValue:
		return v.Int
	case model.BoolValue:
		return v.Int != 0
	case model.FloatValue:
		if !math.IsNaN(v.Float) && !math.IsInf(v.Float, 0) {
			return v.Float
		}
	case model.NoValue:
		return nil
	}
	return strings.Clone(v.Text())
}
