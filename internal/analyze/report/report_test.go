package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

// reportOf is the report of some rows.
func reportOf(opt Options, rows ...*model.Row) *Document {
	return reportOfCapture(opt, &Capture{LLM: true}, rows...)
}

func reportOfCapture(opt Options, c *Capture, rows ...*model.Row) *Document {
	a := New(model.NewDict(), opt)
	for _, r := range rows {
		a.Add(r)
	}
	return a.Document(c)
}

// check compares what a row of a table says with what a report has.
func check(t *testing.T, what string, have, want any) {
	t.Helper()
	if fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, have, want)
	}
}

func some(v ...int64) (out []model.Opt) {
	for _, v := range v {
		out = append(out, model.Some(v))
	}
	return out
}

// quantilesOf are p50, p90, p95, p99, p99.9 and max.
func quantilesOf(s Series) []model.Opt {
	return []model.Opt{s.P50NS, s.P90NS, s.P95NS, s.P99NS, s.P999NS, s.MaxNS}
}

// R8.1, over the windows 10, 20 … 100 ns and 1000. Nearest rank: p50 is the 6th of 11 (5.5 rounded up), p90 the 10th (9.9), p95 and above
// the 11th. Linear: p50 lies at rank 1 + 10·0.5 = 6, p90 at 10, p95 at 10.5 (100 + 0.5·900), p99 at 10.9, p99.9 at 10.99.
func TestPercentiles(t *testing.T) {
	var rows []*model.Row
	for i := range int64(10) {
		rows = append(rows, rowOf(fmt.Sprint("r", i), 1, 10*(i+1)))
	}
	rows = append(rows, rowOf("long", 1, 1000))
	d := reportOf(Options{}, rows...)
	check(t, "nearest", quantilesOf(d.Latency), some(60, 100, 1000, 1000, 1000, 1000))
	check(t, "n, mean, total", []any{d.Latency.N, d.Latency.MeanNS.V, d.Latency.TotalNS.V}, []any{11, 140, 1550}) // 1550/11 = 140.9
	check(t, "method", []any{d.Latency.Method, d.Latency.Exact}, []any{"nearest", true})
	d = reportOf(Options{Method: Linear}, rows...)
	check(t, "linear", quantilesOf(d.Latency), some(60, 100, 550, 910, 991, 1000))
	check(t, "method", d.Latency.Method, "linear")
	d = reportOf(Options{})
	check(t, "of nothing", d.Latency, Series{Method: "nearest", Exact: true})
}

// CONTRACT-lmcache 9.2 F: 512/1024, 0/0 and 1024/1024. Token-weighted 1536/2048; mean over the two that asked, (0.5 + 1)/2.
func TestAverages(t *testing.T) {
	row := func(id string, requested, hit int64, class model.HitClass) *model.Row {
		r := rowOf(id, 1, 1)
		r.Flags |= model.RowHasLookup
		r.Hits = model.RowHits{Requested: model.Some(requested), Hit: model.Some(hit), Class: class}
		return r
	}
	none := rowOf("no numbers", 1, 1)
	none.Flags |= model.RowHasLookup
	none.Hits.EarlyExit = "no_gpu_context"
	never := rowOf("no lookup", 1, 1)
	d := reportOf(Options{}, row("half", 1024, 512, model.HitPartial), row("zero", 0, 0, model.HitNone), row("full", 1024, 1024, model.HitFull), none, never)
	h := d.Hits
	check(t, "requests, zero", []any{h.Requests, h.ZeroRequested}, []any{4, 1})
	check(t, "tokens", []model.Opt{h.RequestedTokens, h.HitTokens}, some(2048, 1536))
	check(t, "rates", []model.OptFloat{h.HitRate, h.RequestMean}, []model.OptFloat{model.SomeFloat(0.75), model.SomeFloat(0.75)})
	check(t, "classes", h.Classes, Classes{Miss: 0, Partial: 1, Full: 1, None: 3})
	check(t, "exits", h.EarlyExits, map[string]int64{"no_gpu_context": 1})
	check(t, "parts nobody gave", []model.Opt{h.PrefixTokens, h.L1Tokens, h.L1Keys, h.WrittenTokens, h.ShortfallTokens}, make([]model.Opt, 5))
	check(t, "reuse without written tokens", h.EffectiveReuse, model.OptFloat{})

	d = reportOf(Options{}, row("zero", 0, 0, model.HitNone))
	check(t, "rates of nothing asked", []model.OptFloat{d.Hits.HitRate, d.Hits.RequestMean}, make([]model.OptFloat, 2))
	d = reportOf(Options{}, never)
	check(t, "tokens of no lookup", []model.Opt{d.Hits.RequestedTokens, d.Hits.HitTokens}, make([]model.Opt, 2))
}

// R7.6, R7.10: a request whose written tokens are not known is out of effective reuse. Example D of CONTRACT-lmcache 9.2 writes 896 of 2048.
func TestEffectiveReuse(t *testing.T) {
	d := rowOf("d", 1, 1)
	d.Hits = model.RowHits{Requested: model.Some(2048), Hit: model.Some(1024), Prefix: model.Some(512), Segmented: model.Some(256), NonPrefix: model.Some(256),
		Written: model.Some(896), Shortfall: model.Some(128), Class: model.HitPartial}
	unknown := rowOf("unknown", 1, 1)
	unknown.Hits = model.RowHits{Requested: model.Some(1000), Hit: model.Some(1000), Prefix: model.Some(1000), Class: model.HitFull}
	h := reportOf(Options{}, d, unknown).Hits
	check(t, "reuse", h.EffectiveReuse, model.SomeFloat(0.4375))
	check(t, "written, shortfall", []model.Opt{h.WrittenTokens, h.ShortfallTokens}, some(896, 128))
	check(t, "prefix, segmented, non-prefix", []model.Opt{h.PrefixTokens, h.SegmentedPrefixTokens, h.NonPrefixTokens}, some(1512, 256, 256))
}

// R8.2: a request at the edge, one without a recorded root, one that is open and one that a shutdown ended are counted, and out of latency.
// Spans of the edge one are out of the percentiles of their stage as well, and out of self time; the others' are in.
func TestWhichRequestsCount(t *testing.T) {
	rows := []*model.Row{rowOf("whole", 1, 100)}
	for id, flags := range map[string]model.RowFlags{
		"edge":      inLatency&^model.RowComplete | model.RowEdge,
		"synthetic": model.RowVocabulary | model.RowRootClosed,
		"open":      model.RowVocabulary | model.RowRealRoot,
		"shutdown":  model.RowVocabulary | model.RowRealRoot | model.RowRootClosed | model.RowRootShutdown,
	} {
		r := rowOf(id, 1, 1000)
		r.Flags = flags
		rows = append(rows, r)
	}
	for i, r := range rows {
		r.TTFT, r.TTFTTotal = model.Some(7), model.Some(7)
		r.Bounds[model.BoundEngine] = r.Window
		r.Stages = []model.RowStage{{Stage: model.StageCBRequest.ID(), Owner: model.Scheduler, Spans: 2, Counted: 1, Union: 50, Self: 30, Critical: r.Window, Drag: 5, TTFT: 7}}
		r.Spans = []model.RowSpan{{Stage: model.StageCBRequest.ID(), Owner: model.Scheduler, NS: int64(10 * (i + 1))}}
	}
	d := reportOf(Options{}, rows...)
	check(t, "requests", d.Requests, Requests{Total: 5, Complete: 1, Edge: 1})
	check(t, "in latency", []any{d.Latency.N, d.TTFT.N, d.CriticalPath.TotalNS, d.CriticalPath.TTFT.TotalNS}, []any{1, 1, 100, 7})
	s := d.Stages[0]
	check(t, "stage", []any{s.Stage, s.Owner, s.Class, s.Spans, s.Requests, s.N, s.SelfNS, s.CriticalNS, s.CriticalShare.V, s.DragNS},
		[]any{"cb.request", "scheduler", "work", 10, 5, 4, 4 * 30, 100, 1, 5})
	check(t, "by stage", d.CriticalPath.ByStage, []StageTime{{Stage: "cb.request", NS: 100, Share: model.SomeFloat(1), DragNS: 5}})
	check(t, "by bound", d.CriticalPath.ByBound, []BoundTime{{"engine", 100}})
	check(t, "slowest", len(d.Slowest), 1)
	d = reportOf(Options{Per: PerRequest}, rows...)
	check(t, "per request", []any{d.Stages[0].N, d.Stages[0].TotalNS.V}, []any{4, 200})
}

// R8.2: a stage has a row per owner, in order of critical time and then of name; on the path its owners count as one.
func TestStagesByOwner(t *testing.T) {
	r := rowOf("r", 1, 100)
	stage := func(s model.Stage, o model.Owner, critical int64) model.RowStage {
		return model.RowStage{Stage: s.ID(), Owner: o, Class: s.Info().Class, Spans: 1, Critical: critical}
	}
	r.Stages = []model.RowStage{
		stage(model.StageStoreFinal, model.Server, 0), stage(model.StageCBRequest, model.Server, 20), stage(model.StageCBRequest, model.Scheduler, 30),
		stage(model.StageRetrieve, model.Server, 25), stage(model.StageLookup, model.Server, 25), {Stage: model.StageExecute.ID(), Owner: model.Worker},
	}
	d := reportOf(Options{}, r)
	var have []string
	for _, s := range d.Stages {
		have = append(have, fmt.Sprint(s.Stage, "@", s.Owner, " ", s.Class, " ", s.CriticalNS))
	}
	// cb.execute was made up and is not on the path: no row.
	check(t, "stages", strings.Join(have, ", "),
		"cb.request@scheduler work 30, cb.lookup@server work 25, cb.retrieve@server work 25, cb.request@server work 20, cb.store_final@server background 0")
	have = nil
	for _, s := range d.CriticalPath.ByStage {
		have = append(have, fmt.Sprint(s.Stage, " ", s.NS))
	}
	check(t, "path", strings.Join(have, ", "), "cb.request 50, cb.lookup 25, cb.retrieve 25")
}

// R7.12. Windows in seconds: [0.5, 3), [1, 2), [1.2, 1.9), [2, 2.5), [3, 3). At second 1 two are open, at 2 two (the second ended there, the
// fourth begins there), at 3 none; the third never holds a whole second.
func TestLoad(t *testing.T) {
	at := func(id string, start, end float64) *model.Row {
		r := rowOf(id, model.Time(1_700_000_000*second+int64(start*second)), int64((end-start)*second))
		r.PromptTokens, r.CompletionTokens = model.Some(90), model.Some(10)
		return r
	}
	rows := []*model.Row{at("a", 0.5, 3), at("b", 1, 2), at("c", 1.2, 1.9), at("d", 2, 2.5), at("e", 3, 3)}
	c := &Capture{Start: 1_700_000_000 * second, End: 1_700_000_010 * second, LLM: true}
	l := reportOfCapture(Options{}, c, rows...).Load
	check(t, "requests/s", l.RequestsPerS.V, 0.5)
	check(t, "tokens/s", l.TokensPerS.V, 50)
	check(t, "mean", l.Concurrency.Mean.V, (2.5+1+0.7+0.5)/10)
	check(t, "max", l.Concurrency.Max, model.Some(2))
	// Within --since and --until: requests were selected already, the range is what they were selected from.
	d := reportOfCapture(Options{Since: c.Start + 1*second, Until: c.Start + 3*second}, c, rows[1:4]...)
	l = d.Load
	check(t, "selected", d.Selected, windowOf(c.Start+1*second, c.Start+3*second))
	check(t, "the range of the capture", d.Window, windowOf(c.Start, c.End))
	check(t, "from before it to its end", reportOfCapture(Options{Since: c.Start - second, Until: 1<<63 - 1}, c, rows...).Selected, windowOf(c.Start, c.End))
	check(t, "all of it", reportOfCapture(Options{}, c, rows...).Selected, windowOf(c.Start, c.End))
	check(t, "none of it", reportOfCapture(Options{Since: c.End + 1}, c).Selected, Window{})
	check(t, "requests/s within", l.RequestsPerS.V, 1.5)
	check(t, "mean within", l.Concurrency.Mean.V, (1+0.7+0.5)/2)
	l = reportOfCapture(Options{}, &Capture{}, rows...).Load
	check(t, "rates without a range", []model.OptFloat{l.RequestsPerS, l.TokensPerS, l.Concurrency.Mean}, make([]model.OptFloat, 3))
}

// R4.28: from half of the requests in latency on, the time to first token leads; requests without one come after those.
func TestSlowest(t *testing.T) {
	row := func(id string, window, ttft int64) *model.Row {
		r := rowOf(id, 1, window)
		if ttft > 0 {
			r.TTFT = model.Some(ttft)
		}
		return r
	}
	ids := func(d *Document) (out []string) {
		for _, s := range d.Slowest {
			out = append(out, s.ID)
		}
		return out
	}
	rows := []*model.Row{row("a", 100, 10), row("b", 50, 30), row("d", 300, 0), row("c", 300, 0)}
	d := reportOf(Options{}, rows...)
	check(t, "half have one", ids(d), []string{"b", "a", "c", "d"})
	check(t, "leads", d.ByTTFT(), true)
	check(t, "a row", d.Slowest[0], SlowRequest{ID: "b", DurationNS: 50, TTFTNS: model.Some(30)})
	d = reportOf(Options{}, append(rows, row("e", 1, 0))...)
	check(t, "under half have one", ids(d), []string{"c", "d", "a", "b", "e"})
	check(t, "does not lead", d.ByTTFT(), false)
	var many []*model.Row
	for i := range int64(50) {
		many = append(many, row(fmt.Sprintf("%02d", i), 1+i/2, 0))
	}
	// Of 50, two of each length: the 20 longest are the last 20, of two alike the smaller id first.
	d = reportOf(Options{}, many...)
	check(t, "twenty", ids(d)[:3], []string{"48", "49", "46"})
	check(t, "twenty", []any{len(d.Slowest), d.Slowest[19].ID}, []any{20, "31"})
	edge := row("edge", 9, 0)
	edge.Flags |= model.RowEdge
	check(t, "none in latency", ids(reportOf(Options{}, edge)), []string{"edge"})
}

// VOCABULARY 5, missing_stage: hits but nothing loaded, while at least 90 % of such requests loaded something. Decided after the last merge (R2.3).
func TestMissingStage(t *testing.T) {
	report := func(loaded, bare int) *Document {
		var rows []*model.Row
		for i := range loaded {
			r := rowOf(fmt.Sprint("loaded", i), 1, 1)
			r.Flags |= model.RowHitsLoaded
			rows = append(rows, r)
		}
		for i := range bare {
			r := rowOf(fmt.Sprint("bare", i), 1, int64(10+i))
			r.Flags |= model.RowHitsNotLoaded
			if i == 0 { // counted already, for another reason
				r.Findings |= 1 << finding.MissingStage
				r.Flags &^= model.RowComplete
			}
			rows = append(rows, r)
		}
		return reportOf(Options{}, rows...)
	}
	d := report(18, 2)
	check(t, "18 of 20", []any{d.Findings, d.Requests.Complete}, []any{[]Finding{{"missing_stage", "request", "warning", 2, []string{"bare1", "bare0"}}}, 18})
	d = report(17, 2)
	check(t, "17 of 19", []any{d.Findings, d.Requests.Complete}, []any{[]Finding{{"missing_stage", "request", "warning", 1, []string{"bare0"}}}, 18})
}

// R4.4: requests without a stage of the vocabulary count apart, unless asked for or when there are no others.
func TestOther(t *testing.T) {
	other := rowOf("other", 1, 5)
	other.Flags &^= model.RowVocabulary
	d := reportOf(Options{}, rowOf("r", 1, 7), other)
	check(t, "apart", []any{d.Requests, d.Latency.N}, []any{Requests{Total: 1, Complete: 1, Other: 1}, 1})
	d = reportOf(Options{All: true}, rowOf("r", 1, 7), other)
	check(t, "asked for", []any{d.Requests, d.Latency.N, len(d.Slowest)}, []any{Requests{Total: 2, Complete: 2}, 2, 2})
	d = reportOf(Options{}, other)
	check(t, "alone", []any{d.Requests, d.Latency.N}, []any{Requests{Total: 1, Complete: 1}, 1})
	a := New(model.NewDict(), Options{})
	a.Add(other)
	check(t, "said", []any{a.Counting().All(), a.Counting().Alone(), a.Requests()}, []any{true, true, 1})

	// What was selected changes nothing: the capture holds something else. A saved report knows it too, and so does whoever merges it.
	a.Know()
	check(t, "selected from more", []any{a.Document(&Capture{}).Requests, a.Others(), a.Counting().Counts(other.Flags)}, []any{Requests{Other: 1}, 1, false})
	b, err := a.Append(nil, &Capture{})
	if err != nil {
		t.Fatal(err)
	}
	back, _, err := Decode(b, model.NewDict())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "saved", []any{back.Requests(), back.Others()}, []any{0, 1})
	whole := New(back.dict, Options{})
	whole.Add(other)
	whole.Merge(back)
	check(t, "merged", []any{whole.Requests(), whole.Others(), whole.Held().Of(Counting{Asked: true, Known: true})}, []any{0, 2, 2})

	// Of those that do not count no model is told.
	named := rowOf("r", 1, 7)
	named.Model, other.Model = "llama", "unknown"
	check(t, "models", reportOf(Options{}, named, other).Models, map[string]float64{"llama": 1})
	check(t, "models of all", reportOf(Options{All: true}, named, other).Models, map[string]float64{"llama": 0.5, "unknown": 0.5})
}

// R7.11: failed is any of the three, once; reasons are those of failed requests.
func TestFailed(t *testing.T) {
	both := rowOf("both", 1, 1)
	both.Findings = 1<<finding.RetrieveFailed | 1<<finding.RequestError
	both.ErrorCodes, both.Hits.EarlyExit = []string{"timeout"}, "no_gpu_context"
	aborted := rowOf("aborted", 1, 1)
	aborted.Flags |= model.RowAborted
	early := rowOf("early", 1, 1)
	early.Hits.EarlyExit = "no_gpu_context"
	d := reportOf(Options{}, both, aborted, early)
	check(t, "failed", d.Failed, Failed{Retrieve: 1, StatusError: 1, Aborted: 1, Requests: 2, ByReason: map[string]int64{"timeout": 1, "no_gpu_context": 1},
		Exemplars: []string{"aborted", "both"}, Why: []string{"aborted", "retrieve_failed"}})
	check(t, "in buckets", d.Buckets[0].Failed, 2)
}

// R7.10: one verdict a request. What is not known to be wasted adds nothing.
func TestDoubleLoads(t *testing.T) {
	row := func(id string, window int64, v model.Verdict, wasted model.Opt) *model.Row {
		r := rowOf(id, 1, window)
		r.Verdict, r.Wasted = v, wasted
		return r
	}
	d := reportOf(Options{}, row("a", 5, model.LoadRepeat, model.Some(256)), row("b", 9, model.LoadRepeat, model.Some(512)), row("c", 7, model.LoadDoubleUnknown, model.Opt{}),
		row("d", 99, model.LoadNone, model.Some(77)))
	check(t, "double loads", d.DoubleStartLoadKV, DoubleLoads{Requests: 3, Repeat: 2, DoubleUnknown: 1, WastedTokens: 768, Exemplars: []string{"b", "c", "a"}})
}

// R7.3, R8.2: parts are those of measured and inferred_upper with their zeros, wait that of no_rpc, n counts every basis.
func TestLookups(t *testing.T) {
	r := rowOf("r", 1, 1)
	r.Lookups = []model.RowLookup{
		{Basis: model.Measured, RPC: model.Some(90), Submit: model.Some(0), L2Load: model.Some(50), ServerOther: model.Some(0), PollWait: model.Some(40), Uncertainty: model.Some(4)},
		{Basis: model.InferredUpper, RPC: model.Some(100), Submit: model.Some(10), L2Load: model.Some(0), ServerOther: model.Some(90), PollWait: model.Some(0), AtMost: true, Uncertainty: model.Some(7)},
		{Basis: model.DurationsOnly, RPC: model.Some(70), L2Load: model.Some(70)},
		{Basis: model.NoServer, RPC: model.Some(60)},
		{Basis: model.NoRPC, Server: model.Some(28), Wait: model.Some(9)},
	}
	l := reportOf(Options{}, r).Lookup
	check(t, "n", []any{l.N, l.AtMost, l.L2LoadNNonzero, l.Basis}, []any{5, 1, 1, Bases{1, 1, 1, 1, 1}})
	check(t, "n of parts", []any{l.RPC.N, l.Submit.N, l.L2Load.N, l.ServerOther.N, l.PollWait.N, l.Wait.N}, []any{2, 2, 2, 2, 2, 1})
	check(t, "totals", l.Totals, LookupTotals{model.Some(190), model.Some(10), model.Some(50), model.Some(90), model.Some(40), model.Some(28), model.Some(9)})
	check(t, "p50 of l2_load", l.L2Load.P50NS, model.Some(0))
	check(t, "uncertainty", l.UncertaintyNS, model.Some(6)) // 5.5, rounded up
	check(t, "uncertainty of nothing", reportOf(Options{}).Lookup.UncertaintyNS, model.Opt{})
	check(t, "totals of nothing", reportOf(Options{}).Lookup.Totals, LookupTotals{})
}

// R7.7, R7.8: rates are sums over sums. 3 GB in 2 s of l2_load; 2e9 bytes in 20 ms of staging, 100 GB/s (CONTRACT-lmcache 9.2 B).
func TestBlendAndTransfers(t *testing.T) {
	a, b, c := rowOf("a", 1, 1), rowOf("b", 1, 1), rowOf("c", 1, 1)
	a.Blend = model.RowBlend{L2Bytes: model.Some(1e9), L2Union: model.Some(1e9), Matches: model.Some(9), Lookups: model.Some(3), ScatteredTokens: model.Some(500), ScatterUnion: model.Some(1e6),
		RecompRatios: []float64{0.25, 0.15}, Dispatches: []string{"flex", "unified", "flex"}, ImpEmpty: 0, HasImpEmpty: true}
	b.Blend = model.RowBlend{L2Bytes: model.Some(2e9), L2Union: model.Some(1e9), Matches: model.Some(7), Lookups: model.Some(1)}
	c.Blend = model.RowBlend{L2Union: model.Some(5e9)} // loaded, and did not say how much
	a.Transfers = []model.RowTransfer{{Kernel: 10 * ms, Staging: 20 * ms, Idle: 10 * ms, Bytes: 2e9}}
	d := reportOf(Options{}, a, b, c)
	check(t, "l2", []any{d.Blend.L2Bytes.V, d.Blend.L2GBps.V, d.Blend.L2Chunks.OK}, []any{int64(3e9), 1.5, false})
	check(t, "scatter", []any{d.Blend.ScatteredTokens.V, d.Blend.ScatterTokensPerS.V}, []any{500, 500_000})
	check(t, "matches", []any{d.Blend.Matches.V, d.Blend.MatchesPerLookup.N, d.Blend.MatchesPerLookup.Mean.V, d.Blend.MatchesPerLookup.P50.V, d.Blend.MatchesPerLookup.Max.V}, []any{16, 4, 4, 3, 7})
	if r := d.Blend.RecompRatio; r.N != 2 || r.P50.V < 0.15-1e-9 || r.P50.V > 0.15+1e-9 || r.Mean.V < 0.2-1e-9 || r.Mean.V > 0.2+1e-9 || r.Max.V != 0.25 {
		t.Errorf("recompute: %+v", r)
	}
	check(t, "dispatch", d.Blend.Dispatch, map[string]int64{"flex": 2, "unified": 1})
	check(t, "imp_empty", d.Blend.ImpEmpty, model.Some(0))
	check(t, "transfers", []any{d.Transfers.N, d.Transfers.Bytes.V, d.Transfers.StagingGBps.V, d.Transfers.Idle.P50NS.V}, []any{1, int64(2e9), 100, 10 * ms})
	d = reportOf(Options{}, c)
	check(t, "rates of nothing", []any{d.Blend.L2GBps.OK, d.Transfers.Bytes.OK, d.Transfers.StagingGBps.OK, d.Blend.ImpEmpty.OK}, []any{false, false, false, false})
}

// R7.14: errors first, then by count, then by code. What is of the capture counts stages, processes and inputs.
func TestFindings(t *testing.T) {
	var rows []*model.Row
	for i, set := range []model.FindingSet{1<<finding.RequestError | 1, 1, 1, 0} {
		r := rowOf(fmt.Sprint("r", i), 1, int64(i+1))
		r.Findings = set
		rows = append(rows, r)
	}
	// 10 lookups seen by spans and 9 by lines, of which 8 pair: under 90 % of 9. Of 10 and 10 executes 9 pair: not under.
	rows[3].StageSpans[model.StageLookupRPC], rows[3].StageLines[model.StageLookupRPC], rows[3].StagePairs[model.StageLookupRPC] = 10, 9, 8
	rows[2].StageSpans[model.StageExecute], rows[2].StageLines[model.StageExecute], rows[2].StagePairs[model.StageExecute] = 10, 10, 9
	rows[1].Disagreeing = 3
	c := &Capture{Disagreeing: []string{"a", "b"}, Inputs: []model.InputStats{{File: "a"}, {File: "b", Truncated: true}, {File: "c", Gaps: 4}, {File: "d", Steps: 2}}}
	var have []string
	for _, f := range reportOfCapture(Options{}, c, rows...).Findings {
		have = append(have, fmt.Sprint(f.Severity, " ", f.Scope, " ", f.Code, " ", f.Count, " ", f.Exemplars))
	}
	want := []string{
		"error request request_error 1 [r0]",
		"warning capture capture_incomplete 2 []",
		"warning capture clock_disagreement 2 [r1]",
		"warning capture clock_step 1 []",
		"warning capture dual_mismatch 1 [r3 r2]",
		"note request orphan 3 [r2 r1 r0]",
		"note capture no_llm_request 1 []",
	}
	if !slices.Equal(have, want) {
		t.Errorf("have\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

func TestSLO(t *testing.T) {
	for _, row := range []struct{ expr, want string }{
		{"ttft<=800ms", ""},
		{" latency < 2s", ""},
		{"decode_per_token<=30ms", ""},
		{"ttft>=800ms", `slo "ttft>=800ms": want METRIC<=DURATION, for example ttft<=800ms`},
		{"e2e<=1s", `slo "e2e<=1s": unknown metric "e2e": want ttft, latency or decode_per_token`},
		{"ttft<=800", `slo "ttft<=800": want a duration such as 800ms or 2s, have "800"`},
		{"ttft<=-1s", `slo "ttft<=-1s": want a duration such as 800ms or 2s, have "-1s"`},
	} {
		_, err := ParseSLO(row.expr)
		if have := fmt.Sprint(err); err == nil && row.want != "" || err != nil && have != row.want {
			t.Errorf("%s: %v, want %s", row.expr, err, row.want)
		}
	}
	row := func(id string, ttft, decode, completion int64) *model.Row {
		r := rowOf(id, 1, 1000*ms)
		r.TTFT, r.Decode, r.CompletionTokens = model.Some(ttft), model.Some(decode), model.Some(completion)
		return r
	}
	var slos []SLO
	for _, expr := range []string{"ttft<=800ms", "ttft<800ms", "decode_per_token<=30ns", "latency<=1s", "latency<1s"} {
		s, err := ParseSLO(expr)
		if err != nil {
			t.Fatal(err)
		}
		slos = append(slos, s)
	}
	none := rowOf("none", 1, 2000*ms)
	// Per token: 91/3 is 30 rounded down; 93/3 is 31; of one token there is none.
	d := reportOf(Options{SLOs: slos}, row("a", 800*ms, 91, 4), row("b", 801*ms, 93, 4), row("c", 1, 100, 1), none)
	check(t, "slo", d.SLO, []SLOResult{
		{"ttft<=800ms", 2, 3, model.SomeFloat(2.0 / 3)}, {"ttft<800ms", 1, 3, model.SomeFloat(1.0 / 3)}, {"decode_per_token<=30ns", 1, 2, model.SomeFloat(0.5)},
		{"latency<=1s", 3, 4, model.SomeFloat(0.75)}, {"latency<1s", 0, 4, model.SomeFloat(0)},
	})
	check(t, "per token", quantilesOf(d.DecodePerToken)[:1], some(30))
}

// Series of a day are sorted side by side; the answer is the same. Windows are 1 … 70 000 ns, TTFTs the same turned around.
func TestLargeSeries(t *testing.T) {
	const n = 70_000
	a := New(model.NewDict(), Options{})
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		r := rowOf(fmt.Sprint("r", i), 1, int64(i+1))
		r.TTFT = model.Some(n - int64(i))
		r.Spans = []model.RowSpan{{Stage: model.StageCBRequest.ID(), Owner: model.Scheduler, NS: 2 * int64(i+1)}}
		a.Add(r)
	}
	d := a.Document(&Capture{})
	want := some(35_000, 63_000, 66_500, 69_300, 69_930, 70_000)
	check(t, "latency", quantilesOf(d.Latency), want)
	check(t, "ttft", quantilesOf(d.TTFT), want)
	check(t, "stage", quantilesOf(d.Stages[0].Series), some(70_000, 126_000, 133_000, 138_600, 139_860, 140_000))
}
