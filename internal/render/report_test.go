package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

func series(n int64, ms ...int64) report.Series {
	at := func(i int) model.Opt { return model.Some(ms[i] * 1e6) }
	return report.Series{N: n, P50NS: at(0), P90NS: at(1), P95NS: at(2), P99NS: at(3), P999NS: at(3), MaxNS: at(4), MeanNS: at(5), TotalNS: model.Some(n * ms[5] * 1e6), Method: "nearest", Exact: true}
}

func opt(v int64) model.Opt          { return model.Some(v) }
func share(v float64) model.OptFloat { return model.SomeFloat(v) }

func text(t *testing.T, p *Page, width int) string {
	t.Helper()
	var b strings.Builder
	if err := p.Text(&b, Style{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReport(t *testing.T) {
	d := &report.Document{
		Window:   report.Window{StartUnixNS: opt(1_764_432_000_000_000_000), EndUnixNS: opt(1_764_432_060_000_000_000)},
		Selected: report.Window{StartUnixNS: opt(1_764_432_000_000_000_000), EndUnixNS: opt(1_764_432_060_000_000_000)},
		Requests: report.Requests{Total: 12, Complete: 11, Edge: 1, UnattributedSpans: 3},
		Latency:  series(11, 400, 450, 460, 480, 500, 380), TTFT: series(10, 90, 110, 120, 150, 150, 95), Queue: report.Series{Exact: true}, DecodePerToken: report.Series{Exact: true},
		SLO: []report.SLOResult{{Expr: "ttft<=100ms", Met: 7, Of: 10, Share: share(0.7)}, {Expr: "decode_per_token<=1ms"}},
		Stages: []report.Stage{
			{Stage: "cb.lookup.rpc", Owner: "scheduler", Class: "work", Spans: 12, Requests: 12, Series: series(11, 60, 80, 85, 90, 90, 62), CriticalNS: 5e8, CriticalShare: share(0.42)},
			{Stage: "cb.request", Owner: "server", Class: "work", Spans: 12, Requests: 12, Series: series(11, 400, 450, 460, 480, 500, 380), CriticalShare: share(0)},
			{Stage: "mp.store", Owner: "server", Class: "background", Spans: 9, Series: series(9, 10, 20, 20, 20, 9000, 380), Longest: "chatcmpl-2"},
			{Stage: "cb.fingerprints.registered", Owner: "server", Class: "point", Spans: 7, Series: series(7, 0, 0, 0, 0, 0, 0), CriticalShare: share(0)},
		},
		CriticalPath: report.CriticalPath{TotalNS: 4e9, ByStage: []report.StageTime{{Stage: "llm_request", NS: 3e9, Share: share(0.75), DragNS: 3e9}, {Stage: "cb.l2_load", NS: 1e9, Share: share(0.25), DragNS: 9e8}},
			ByBound: []report.BoundTime{{Bound: "decode", NS: 3e9}, {Bound: "l2_io", NS: 1e9}},
			TTFT:    &report.TTFTPath{TotalNS: 1e9, ByStage: []report.StageTime{{Stage: "cb.l2_load", NS: 5e8, Share: share(0.5), DragNS: 48e7}}, ByBound: []report.BoundTime{{Bound: "l2_io", NS: 5e8}}}},
		Lookup: report.Lookup{N: 12, RPC: series(11, 60, 80, 85, 90, 90, 60), Submit: series(11, 1, 1, 1, 1, 1, 1), L2Load: series(11, 30, 50, 50, 50, 50, 30), ServerOther: series(11, 9, 9, 9, 9, 9, 9),
			PollWait: series(11, 20, 20, 25, 30, 30, 20), Basis: report.Bases{Measured: 10, InferredUpper: 1, NoServer: 1}, AtMost: 1},
		Hits: report.Hits{Requests: 12, RequestedTokens: opt(2048), HitTokens: opt(1280), HitRate: share(0.625), RequestMean: share(0.5), PrefixTokens: opt(768), SegmentedPrefixTokens: opt(256),
			NonPrefixTokens: opt(256), EffectiveReuse: share(0.6), WrittenTokens: opt(1024), ShortfallTokens: opt(51), Classes: report.Classes{Miss: 3, Partial: 8, None: 1}, EarlyExits: map[string]int64{"no_gpu_context": 1}},
		DoubleStartLoadKV: report.DoubleLoads{Requests: 2, PartialThenFull: 1, Repeat: 1, WastedTokens: 512, Exemplars: []string{"chatcmpl-1", "chatcmpl-2"}},
		Transfers:         report.Transfers{N: 9, Idle: series(9, 1, 1, 1, 1, 8900, 1), Kernel: report.Series{Exact: true}, Staging: report.Series{Exact: true}},
		Failed:            report.Failed{Why: []string{"retrieve_failed"}, Retrieve: 1, Requests: 1, Exemplars: []string{"chatcmpl-1"}, ByReason: map[string]int64{"retrieve_failed": 1, "\x1b[2J": 1}},
		Load:              report.Load{RequestsPerS: share(0.2), Concurrency: report.Concurrency{Mean: share(0.07), Max: opt(1)}},
		Findings:          []report.Finding{{Code: "retrieve_failed", Scope: "request", Severity: "error", Count: 1, Exemplars: []string{"chatcmpl-1"}}, {Code: "no_llm_request", Scope: "capture", Severity: "note", Count: 1}},
		Slowest:           []report.SlowRequest{{ID: "chatcmpl-1\u202e", DurationNS: 5e8, TTFTNS: opt(15e7), TopStage: "cb.l2_load", Mostly: true}},
		Inputs:            []report.Input{{File: "a.jsonl", Errors: []string{"a.jsonl:2: want a JSON object", "a.jsonl:3: x", "a.jsonl:4: x", "a.jsonl:5: x"}, ErrorCount: 9, Notes: []string{`start "ts" (s, by magnitude)`}}},
		Clock:             []report.Clock{{Process: "lmcache-0", Reference: "vllm-sched-0", OffsetNS: opt(-40_100_000), UncertaintyNS: opt(212_000), Pairs: 40, Basis: "pairs"}},
		Quality:           report.Quality{SpansRead: 340, RecordsRead: 0, Skipped: 9, Orphaned: 1, Adopted: 40},
		Models:            map[string]float64{"m": 0.75, "n": 0.25},
		Confidence:        []report.Interval{{Metric: "ttft", Percentile: "p50", N: 10, LowNS: opt(7e7), HighNS: opt(1e8)}, {Metric: "ttft", Percentile: "p95", N: 10, LowNS: opt(11e7)}, {Metric: "latency", Percentile: "p50", N: 11, LowNS: opt(1)}},
	}
	v := View{Inputs: []string{"day"}}
	got := text(t, v.Report(d), 0)
	for _, want := range []string{
		"12 requests in 1 min from 2025-11-29T16:00:00.000Z. Median time to first token 90 ms, at most 150 ms (10 values). Of the time to first token of all requests cb.l2_load holds 50 % (reading from L2): 48 % alone, the rest with other work beside it (another worker's cb.l2_load counts). The cache's own work (lookup, load, choosing what to recompute) holds 50 %. The cache had 62 % of 2,048 tokens.\n",
		"  Path     l2_io 50 % (reading from L2) to the first token\n",
		"  Cache    62 % of the tokens asked for were found, 50 % loaded (of 10 % loading is not recorded); 0 requests found all, 8 a part, 3 nothing\n" +
			"           lookup, load and choosing what to recompute took 50 % of the time to first token\n" +
			"           whether that is worth it is not known: it takes forward passes (",
		"  SLO      ttft<=100ms: met by 70 % (7 of 10)\n",
		"  SLO      decode_per_token<=1ms: no request has that number\n",
		"  Models   m 75 %, n 25 %: percentiles mix them, --by model tells them apart\n",
		"  Worst    1 of 12 requests failed (1 by a retrieve that failed): chatcmpl-1 (retrieve_failed)\n" +
			"           besides these: note no_llm_request\n" +
			"           mp.store took up to 9 s in the background, usually 10 ms, in chatcmpl-2; up to 8.9 s of it idle, neither staging nor in a kernel\n" +
			"           slowest: chatcmpl-1\\u202e, 150 ms to the first token, mostly cb.l2_load\n",
		"  Trust    11 of 12 requests complete; 1 cut off by the start or end of the capture; 9 records skipped; 1 span without its parent; l2_load is an upper bound in 1 of 12 lookups; 40 of 340 spans placed by ids and times, without a recorded parent; units of 1 file taken by magnitude; lmcache-0's clock corrected by -40.1 ms ± 212 µs.\n",
		"  Next     cbtrace report --by hit_class day (are hits faster than misses?)\n" +
			"           cbtrace report --by model day (each model for itself)\n" +
			"           cbtrace inspect chatcmpl-1 day (the request that failed)\n" +
			"           cbtrace inspect $'chatcmpl-1\\xe2\\x80\\xae' day (the slowest)\n" +
			"           cbtrace check day (what is missing, and which switch would mend it)\n",
		"time to first token  10      90    ~110    ~120    ~150     150       95\n",
		"95 % confidence, time to first token: p50 70 ms to 100 ms, p95 at least 110 ms.\n",
		"~: too few values for that percentile (p50 needs 5, p90 29, p95 59, p99 299, p99.9 2,995).\n",
		"cb.request@server              12     400    ~450    ~460    ~480     500      380        0          0\n",
		"cb.fingerprints.registered      7       –       –       –       –       –        –        –          –\n", // a moment takes no time
		"cb.l2_load     50.0     48.0      25.0     22.5\nllm_request     0        0        75.0     75.0\n",
		"l2_io       50.0      25.0  reading from L2\n",
		"12 lookups: 10 measured, 1 with l2_load as an upper bound, 1 without the server's side.\n",
		"  poll_wait     11      20     ~20     ~25     ~30      30       20      33.3\n",
		"1,280 of 2,048 tokens found: 62 % of all tokens, 50 % on average per request. Of the requests whose loads are known 60 % of the tokens were loaded.\n",
		"+ not found                      768   37.5  ■■■■■■■■■\n= requested                    2,048  100.0  ■■■■■■■■■■■■■■■■■■■■■■■■\n",
		"2 requests loaded more than once; 512 tokens written for nothing.\n",
		"repeat                    1  the same tokens again (waste)\n",
		"Of these, lookups that ended before they searched:\n\n" + `  \x1b[2J: 1` + "\n\n",
		"error            n  for example  which is\nretrieve_failed  1  chatcmpl-1   A retrieve failed,",
		`chatcmpl-1\u202e      150         500  cb.l2_load  reading from L2` + "\n",
		"  a.jsonl:4: x\n  … 6 more in a.jsonl\n",
		"lmcache-0  vllm-sched-0      -40.1   212     40         0  pairs\n",
		"spans whose parent is missing: 1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %q", want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
	for line := range strings.Lines(text(t, v.Report(d), 80)) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// R3.2: of what --since and --until select the headline names the interval.
func TestSelectedInterval(t *testing.T) {
	d := &report.Document{Requests: report.Requests{Total: 105}, Window: report.Window{StartUnixNS: opt(1_764_432_001_077_000_000), EndUnixNS: opt(1_764_432_210_363_000_000)},
		Selected: report.Window{StartUnixNS: opt(1_764_432_150_363_000_000), EndUnixNS: opt(1_764_432_210_363_000_000)}}
	if got, want := (&View{}).headline(d), "105 requests that started in 1 min from 2025-11-29T16:02:30.363Z."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if d.Selected = (report.Window{}); (&View{}).headline(d) != "105 requests." {
		t.Errorf("of none: %q", (&View{}).headline(d))
	}
}

// R7.2: of lookups with an upper bound the page says what that is of: a load that a prefetch stands in for, or other work of the server that
// counts whole.
func TestUpperWords(t *testing.T) {
	for _, c := range []struct {
		atMost, upper int64
		want          string
	}{
		{5, 5, "with l2_load as an upper bound"},
		{0, 5, "with server_other as an upper bound"},
		{66, 116, "with an upper bound (66 of l2_load, the others of server_other)"},
	} {
		if got := upperWords(&report.Lookup{AtMost: c.atMost, Basis: report.Bases{InferredUpper: c.upper}}); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.atMost, c.upper, got, c.want)
		}
	}
}

// Without data a section says what it needs.
func TestReportOfNothing(t *testing.T) {
	hits := &strings.Builder{}
	if err := (&View{}).Report(&report.Document{}).Find("hits").CSV(hits); err != nil || hits.String() != "part,tokens,requested_share,requests\n" {
		t.Errorf("hits: %v, %q", err, hits)
	}
	got := text(t, (&View{}).Report(&report.Document{}), 80)
	for _, want := range []string{"0 requests.\n", "No latency: it needs", "No path: it needs", "No lookup", "No hit numbers: they need", "No request failed.", "Each request is on one clock."} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// The gravest comes first: failures, then the gravest finding that they do not say already, then background work and the slowest request.
func TestReportWorst(t *testing.T) {
	note := report.Finding{Code: "orphan", Scope: "request", Severity: "note", Count: 3, Exemplars: []string{"o", "p"}}
	late := report.Finding{Code: "late_poll", Scope: "request", Severity: "warning", Count: 1, Exemplars: []string{"l"}}
	bad := report.Finding{Code: "request_error", Scope: "request", Severity: "error", Count: 2, Exemplars: []string{"e", "f"}}
	clocks := report.Finding{Code: "clock_disagreement", Scope: "capture", Severity: "warning", Count: 2, Exemplars: []string{"c"}}
	for _, c := range []struct {
		name        string
		d           report.Document
		worst, next string
	}{
		{"nothing", report.Document{}, "no finding, and nothing failed", ""},
		{"nothing but the slowest", report.Document{Slowest: []report.SlowRequest{{ID: "s", DurationNS: 5e6, TopStage: "cb.scatter"}}},
			"no finding, and nothing failed|slowest: s, 5 ms, cb.scatter held the most of it", "cbtrace inspect s (the slowest)"},
		{"one with a finding", report.Document{Findings: []report.Finding{late}}, "warning late_poll in 1 request: l",
			"cbtrace explain late_poll (what it means)|cbtrace inspect l (the request with it)"},
		{"a note leads nowhere", report.Document{Findings: []report.Finding{note}}, "note orphan in 3 requests, the longest o", ""},
		{"of the capture", report.Document{Findings: []report.Finding{clocks, note}}, "warning clock_disagreement; 1 other kind of finding below",
			"cbtrace explain clock_disagreement (what it means)|cbtrace inspect c (the longest with it)"},
		{"failures say what their findings say", report.Document{Requests: report.Requests{Total: 9, Complete: 9}, Failed: report.Failed{Requests: 3, StatusError: 2, Aborted: 1, Exemplars: []string{"a", "e", "f"}, Why: []string{"aborted", "request_error", "request_error"}},
			Findings: []report.Finding{bad, late, note}}, "3 of 9 requests failed (2 by a span that ended in an error, 1 aborted), the longest a (aborted)|besides these: warning late_poll in 1 request: l; 1 other kind of finding below",
			"cbtrace inspect a (the longest that failed)|cbtrace explain late_poll (what it means)"},
	} {
		v := View{}
		plain := func(s string) string {
			var b strings.Builder
			k := &ink{w: &b}
			_, _ = k.Write([]byte(s + "\n"))
			return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", "|")
		}
		if got := plain(v.reportWorst(&c.d)); got != c.worst {
			t.Errorf("%s: worst is %s\nwant %s", c.name, got, c.worst)
		}
		if got := plain(v.reportNext(&c.d)); got != c.next {
			t.Errorf("%s: next is %s\nwant %s", c.name, got, c.next)
		}
	}
}

// Whether the cache pays is said only where the whole interval says so.
func TestWorthWords(t *testing.T) {
	for _, c := range []struct {
		low, high int64
		begins    string
	}{{51e6, 70e6, "as for latency it pays, by an estimate from 20 of 31 requests of m: on average one of these spent 50 ms on that and was spared about 60 ms of forward pass (51 ms to 70 ms)"}, {49e6, 70e6, "as for latency it is about even, "}, {40e6, 49e6, "as for latency it does not pay, "}} {
		got := worthWords(&report.Document{Requests: report.Requests{Total: 31}, Models: map[string]float64{"m": 0.7, "n": 0.3}, CacheWorth: &report.CacheWorth{Models: []string{"m"}, Requests: 20, SpentNS: 50e6, SavedNS: 60e6, SavedLowNS: c.low, SavedHighNS: c.high}})
		if !strings.HasPrefix(got, c.begins) {
			t.Errorf("%s\nwant %s", got, c.begins)
		}
	}
}

// What held most of the time, and how much of that alone; of the engine's own time what limited it.
func TestHeldMost(t *testing.T) {
	stage := func(name string, ns, drag int64) report.StageTime {
		return report.StageTime{Stage: name, NS: ns, DragNS: drag, Share: share(float64(ns) / 100)}
	}
	bounds := []report.BoundTime{{Bound: "forward", NS: 40}, {Bound: "queue", NS: 35}, {Bound: "engine", NS: 15}, {Bound: "decode", NS: 10}}
	for _, c := range []struct {
		stages []report.StageTime
		want   string
	}{
		{nil, ""},
		{[]report.StageTime{stage("cb.l2_load", 40, 40)}, "cb.l2_load holds 40 % (reading from L2), all of it alone."},
		{[]report.StageTime{stage("cb.partial", 40, 10)}, "cb.partial holds 40 % (the model's forward pass): 10 % alone, the rest with other work beside it (another worker's cb.partial counts)."},
		{[]report.StageTime{stage("cb.partial", 40, 0)}, "cb.partial holds 40 % (the model's forward pass), all of it with other work beside it (another worker's cb.partial counts)."},
		{[]report.StageTime{stage("llm_request", 60, 60), stage("cb.partial", 30, 30)}, "queue holds 35 % (waiting in a queue)."},
		{[]report.StageTime{stage("llm_request", 60, 60), stage("cb.partial", 40, 40)}, "cb.partial holds 40 % (the model's forward pass), all of it alone."},
	} {
		want := c.want
		if want != "" {
			want = " Of the latency of all requests " + want
		}
		if got := heldMost(&reportPart{what: "latency", total: 100, stages: c.stages, bounds: bounds}); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// The sum of hits names whose parts they are where CacheBlend's kinds and the tiers of requests without it stand beside each other.
func TestHitFamilies(t *testing.T) {
	h := report.Hits{Requests: 3, RequestedTokens: opt(1000), HitTokens: opt(600), PrefixTokens: opt(500), L2Tokens: opt(150)}
	p := &Page{}
	reportHits(p, &report.Document{Hits: h})
	got := text(t, p, 100)
	for _, want := range []string{"  prefix                      500   50.0  with CacheBlend", "+ L2                          150   15.0  without  ", "+ less those counted twice    -50   -5.0  all", "= requested                 1,000  100.0  all  ",
		"Counted twice: ", "CacheBlend tells kinds of hits, LMCache without it tiers: "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	h.L2Tokens = model.Opt{}
	p = &Page{}
	reportHits(p, &report.Document{Hits: h})
	if got := text(t, p, 100); strings.Contains(got, "with CacheBlend") || strings.Contains(got, "Counted twice") {
		t.Errorf("one family:\n%s", got)
	}
}

// Of few requests a bucket has percentiles without evidence (R8.5).
func TestTrendFew(t *testing.T) {
	bucket := func(n int64) report.BucketResult {
		return report.BucketResult{DurationNS: 60e9, Requests: 70, TTFTN: n, LatencyN: 70, TTFTP50NS: opt(5e6), TTFTP95NS: opt(9e6), P95NS: opt(80e6)}
	}
	d := &report.Document{Buckets: []report.BucketResult{bucket(58), bucket(59)}, TTFT: series(117, 5, 5, 9, 9, 9, 5), Latency: series(140, 5, 5, 9, 9, 9, 5)}
	p := &Page{}
	(&View{}).reportTrend(p, d)
	got := text(t, p, 100)
	if !strings.Contains(got, "70           ~9  ") || !strings.Contains(got, "70            9  ") || !strings.Contains(got, "~: too few") {
		t.Error(got)
	}
}

// A capture of very many names fills no screen: stages of the vocabulary stay, and CSV has all.
func TestReportOfManyNames(t *testing.T) {
	d := &report.Document{}
	for i := range 70_000 {
		d.Stages = append(d.Stages, report.Stage{Stage: fmt.Sprintf("name.%d", i), Class: "work", Spans: 1, Series: series(1, 1, 1, 1, 1, 1, 1)})
	}
	d.Stages = append(d.Stages, report.Stage{Stage: "mp.store", Owner: "server", Class: "background", Spans: 1, Series: series(1, 1, 1, 1, 1, 1, 1)})
	p := (&View{}).Report(d)
	got := text(t, p, 120)
	for _, want := range []string{"name.48 ", "mp.store", "\n69,951 more stages, of names that cbtrace does not know: "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(got, "\n"); n > 100 {
		t.Errorf("%d lines", n)
	}
	if n := len(p.Find("stages").Rows); n != 70_001 {
		t.Errorf("%d rows in CSV", n)
	}
}

// A long name is cut in its middle in every table and sentence; an id is not.
func TestReportOfLongNames(t *testing.T) {
	long := strings.Repeat("m", 100_000)
	d := &report.Document{
		Stages: []report.Stage{{Stage: long, Class: "work", Spans: 1, Series: series(1, 1, 1, 1, 1, 1, 1)}}, Models: map[string]float64{long: 0.5, "n": 0.5},
		Groups: []report.Group{{By: "hit_class", Value: long, Requests: 1}}, Latency: series(1, 1, 1, 1, 1, 1, 1), Clock: []report.Clock{{Process: long, Basis: "none"}},
		CriticalPath: report.CriticalPath{TotalNS: 1, ByStage: []report.StageTime{{Stage: long, NS: 1, Share: share(1)}}, ByBound: []report.BoundTime{{Bound: "engine", NS: 1}}},
		Slowest:      []report.SlowRequest{{ID: strings.Repeat("i", 200), TopStage: long}}, Hits: report.Hits{Requests: 1, RequestedTokens: opt(1), EarlyExits: map[string]int64{long: 1}},
		Failed: report.Failed{Requests: 1, ByReason: map[string]int64{long: 1}},
	}
	p := (&View{}).Report(d)
	var markdown strings.Builder
	if err := p.Markdown(&markdown); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"text": text(t, p, 120), "wide": text(t, p, 0), "markdown": markdown.String()} {
		if len(got) > 20_000 || strings.Contains(got, strings.Repeat("m", 200)) {
			t.Errorf("%s has %d bytes", name, len(got))
		}
		if !strings.Contains(got, strings.Repeat("i", 200)) {
			t.Errorf("%s cuts an id", name)
		}
	}
}

// R7.12: the maximum is over full seconds only, and is not said where that shows.
func TestLoadWords(t *testing.T) {
	load := func(mean float64, most int64) *report.Load {
		return &report.Load{RequestsPerS: model.SomeFloat(3.75), Concurrency: report.Concurrency{Mean: model.SomeFloat(mean), Max: model.Some(most)}}
	}
	for want, l := range map[string]*report.Load{
		"3.75 requests/s, 3 requests at once on average":                               load(3, 0), // three of 0.8 s between two full seconds
		"3.75 requests/s, 3 requests at once on average, at most 3 at full seconds":    load(3, 3),
		"3.75 requests/s, 1 request at once on average, at most 2 at full seconds":     load(1, 2),
		"3.75 requests/s, 0.25 requests at once on average, at most 1 at full seconds": load(0.25, 1),
		"3.75 requests/s": {RequestsPerS: model.SomeFloat(3.75)},
		"":                {},
	} {
		if got := loadWords(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// R3.5: inputs that could not be used are told where one looks for how far the numbers can be trusted; what is no capture at all is not in doubt.
func TestInputsRead(t *testing.T) {
	read, lost, foreign := report.Input{File: "a"}, report.Input{File: "b", Errors: []string{"b: permission denied"}, ErrorCount: 1, Lost: true}, report.Input{File: "README", Foreign: true}
	for _, c := range []struct {
		inputs         []report.Input
		quality, trust string
	}{
		{[]report.Input{read}, "read from 1 input.", ""},
		{[]report.Input{read, foreign}, "read from 1 of 2 inputs: 1 holds nothing that cbtrace reads.", ""},
		{[]report.Input{read, lost}, "read from 1 of 2 inputs: 1 could not be used.\n\n  b: permission denied\n", "; 1 of 2 inputs could not be used;"},
		{[]report.Input{lost, lost, read, foreign, foreign}, "read from 1 of 5 inputs: 2 could not be used, 2 hold nothing that cbtrace reads.\n", "; 2 of 5 inputs could not be used;"},
	} {
		d := &report.Document{Inputs: c.inputs}
		if got := text(t, (&View{}).Report(d), 0); !strings.Contains(got, c.quality) || !strings.Contains(got, c.trust) || strings.Contains(got, "could not be used;") != (c.trust != "") {
			t.Errorf("no %q or no %q in:\n%s", c.quality, c.trust, got)
		}
	}
}

// Of many models those of most requests are named; of as many, by name.
func TestModelWords(t *testing.T) {
	d := &report.Document{Models: map[string]float64{"a": 0.05, "b": 0.05, "c": 0.05, "d": 0.05, "z": 0.7, "y": 0.1}}
	if got, want := modelWords(d), "z 70 %, y 10 %, a 5 %, b 5 %, 2 more: percentiles mix them, --by model tells them apart"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
