package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

func ptr(n int64) *int64 { return &n }

func lookupDocument() *inspect.Document {
	span := func(id, parent, edge, stage string, start, ms, critical int64) inspect.Span {
		return inspect.Span{ID: id, Parent: parent, Edge: edge, Stage: stage, Name: stage, Class: "work", Process: "p-" + id, StartNS: opt(start * 1e6), DurationNS: opt(ms * 1e6), CriticalNS: opt(critical * 1e6),
			SelfNS: opt(0), Flags: []string{}, Sources: []inspect.Source{{File: "a.jsonl", Line: ptr(7)}}}
	}
	d := &inspect.Document{
		Request: inspect.Request{ID: "chatcmpl-1-0a1b2c3d", ExternalID: "chatcmpl-1", Model: "m", RootStage: "llm_request", TTFTNS: opt(90e6), PromptTokens: opt(2048)},
		Window:  inspect.Window{StartUnixNS: opt(1_764_432_000_000_000_000), DurationNS: opt(240e6)},
		Spans: []inspect.Span{
			span("r", "", "root", "llm_request", 0, 240, 150), span("l", "r", "parent", "cb.lookup.rpc", 0, 90, 40), span("x", "gone", "adopted", "cb.fingerprints.registered", 10, 0, 0),
			span("w", "l", "propagated", "cb.l2_load", 20, 50, 50),
		},
		CriticalPath: inspect.CriticalPath{TotalNS: 240e6,
			Segments: []inspect.Segment{{Kind: "self", Stage: "cb.lookup.rpc", Span: "l", StartNS: 0, DurationNS: 20e6, Bound: "rpc"}, {Kind: "self", Stage: "cb.l2_load", Span: "w", StartNS: 20e6, DurationNS: 50e6, Bound: "l2_io"},
				{Kind: "self", Stage: "cb.lookup.rpc", Span: "l", StartNS: 70e6, DurationNS: 20e6, Bound: "poll"}, {Kind: "self", Stage: "llm_request", Span: "r", StartNS: 90e6, DurationNS: 150e6, Bound: "decode"}},
			ByStage: []report.StageTime{{Stage: "llm_request", NS: 150e6, Share: share(0.625), DragNS: 150e6}, {Stage: "cb.l2_load", NS: 50e6, Share: share(0.2083), DragNS: 48e6}, {Stage: "cb.lookup.rpc", NS: 40e6, Share: share(0.1667)}},
			ByBound: []report.BoundTime{{Bound: "decode", NS: 150e6}, {Bound: "l2_io", NS: 50e6}, {Bound: "poll", NS: 20e6}, {Bound: "rpc", NS: 20e6}},
			TTFT: &report.TTFTPath{TotalNS: 90e6, ByStage: []report.StageTime{{Stage: "cb.l2_load", NS: 50e6, Share: share(0.5556), DragNS: 48e6}, {Stage: "cb.lookup.rpc", NS: 40e6, Share: share(0.4444)}},
				ByBound: []report.BoundTime{{Bound: "l2_io", NS: 50e6}, {Bound: "poll", NS: 20e6}, {Bound: "rpc", NS: 20e6}}}},
		Lookup:   []inspect.Lookup{{RPCNS: opt(90e6), SubmitNS: opt(0), L2LoadNS: opt(50e6), L2LoadMinNS: opt(41e6), ServerOtherNS: opt(0), PollWaitNS: opt(40e6), NPolls: opt(9), Basis: "inferred_upper", UpperBounds: []string{"l2_load"}}},
		Hits:     inspect.Hits{RequestedTokens: opt(2048), HitTokens: opt(1280), HitRate: share(0.625), EffectiveReuse: share(0.625), WrittenTokens: opt(1280), PrefixTokens: opt(1280), Class: "partial"},
		Loads:    inspect.Loads{Attempts: 1, Verdict: "repeat", WastedTokens: opt(1280), Passes: []inspect.Pass{{Attempt: 1, Worker: "0", DurationNS: 5e6, WrittenTokens: opt(1280)}, {Attempt: 1, Worker: "0", DurationNS: 5e6, WrittenTokens: opt(1280)}}},
		Blend:    inspect.Blend{L2GBps: share(1.9)},
		Findings: []inspect.Finding{{Code: "double_start_load_kv.repeat", Severity: "warning", Message: "1,280 tokens were written twice", Spans: []string{"w"}}},
		Quality:  inspect.Quality{SpansRead: 4, Adopted: 1},
	}
	d.Spans[2].Class = "point"
	return d
}

func TestInspect(t *testing.T) {
	v := View{Inputs: []string{"a day/"}}
	got := text(t, v.Inspect(lookupDocument()), 0)
	for _, want := range []string{
		"cb.l2_load held 50 of 90 ms to the first token (l2_io: reading from L2 at 1.9 GB/s); without that span alone at most 48 ms less: other work ran beside. 62 % of 2,048 tokens reused.\n",
		"  Request  chatcmpl-1-0a1b2c3d, for the client chatcmpl-1; model m\n",
		"  When     2025-11-29T16:00:00.000Z for 240 ms, first token after 90 ms, 2,048 prompt tokens\n",
		"  Path     l2_io 56 % (reading from L2), poll 22 % (ready, but nobody asked yet), rpc 22 % to the first token\n",
		"  Cache    1,280 of 2,048 tokens found (62 %), all of them loaded, loaded more than once: the same tokens again (waste); lookup, load and choosing what to recompute took 90 of 90 ms to the first token\n",
		"  Worst    warning double_start_load_kv.repeat: 1,280 tokens were written twice\n",
		"  Trust    l2_load is an upper bound; ",
		"  Source   cb.l2_load a.jsonl:7, first token a.jsonl:7\n",
		"  Next     cbtrace explain double_start_load_kv.repeat (what it means)\n" +
			"           cbtrace inspect --finding double_start_load_kv.repeat --all 'a day/' (others like it)\n",
		"span                        to first token, 90 ms     start ms  duration ms  on path ms  self ms  note   process  from\n" +
			"llm_request                 ───────────────────────▸         0          240         150        0         p-r      a.jsonl:7\n" +
			"  cb.lookup.rpc             █████──────────────█████         0           90          40        0         p-l      a.jsonl:7\n" +
			"    cb.l2_load                   ██████████████             20           50          50        0         p-w      a.jsonl:7\n" +
			"cb.fingerprints.registered    |                             10            –           –        –  point  p-x      a.jsonl:7\n",
		"█ holds the path, ─ on the path by a child, ▸ later, | a moment\n",
		"90 ms to the first token, 240 ms in all.\n\n" +
			"stage          bound by  ttft ms     %  alone ms  window ms     %\n" +
			"cb.l2_load     l2_io          50  55.6        48         50  20.8\n" +
			"cb.lookup.rpc  poll           40  44.4         0         40  16.7\n" +
			"llm_request    decode          –   –           –        150  62.5\n\n" +
			"alone: while nothing ran beside it, not even the same stage of another worker.\n",
		"rpc ms  = submit ms  + l2_load ms  + server_other ms  + poll_wait ms  polls  basis\n" +
			"    90            0           ≤50                  0              40      9  upper bound\n",
		"l2_load is at most 50 ms and at least 41 ms",
		"+ not found    768   37.5  ■■■■■■■■■\n= requested  2,048  100.0  ■■■■■■■■■■■■■■■■■■■■■■■■\n",
		"2 passes in 1 attempt: repeat, the same tokens again (waste); 1,280 tokens written for nothing.\n",
		"  warning double_start_load_kv.repeat: 1,280 tokens were written twice (a.jsonl:7)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
	for line := range strings.Lines(text(t, v.Inspect(lookupDocument()), 80)) {
		if n := columns(strings.TrimSuffix(line, "\n")); n > 80 && !strings.Contains(line, "cbtrace inspect") { // a command stays whole
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// Many siblings of a stage become one row, with what is below them; three stay.
func TestWaterfallFolds(t *testing.T) {
	d := &inspect.Document{Window: inspect.Window{StartUnixNS: opt(0), DurationNS: opt(100e6)}}
	add := func(id, parent, stage string, start, ms int64) {
		d.Spans = append(d.Spans, inspect.Span{ID: id, Parent: parent, Stage: stage, Class: "work", StartNS: opt(start * 1e6), DurationNS: opt(ms * 1e6), SelfNS: opt(ms * 1e6), CriticalNS: opt(0)})
	}
	add("r", "", "cb.request", 0, 100)
	for i := range int64(4) {
		id := string(rune('a' + i))
		add(id, "r", "cb.retrieve", 20*i, 10)
		add(id+id, id, "cb.scatter", 20*i, 5)
	}
	for i := range int64(3) {
		add(string(rune('x'+i)), "r", "cb.check", 90+2*i, 1)
	}
	rows := func(v View) (names []string) {
		for _, row := range v.spanTable(d).Rows {
			names = append(names, row[0].text)
		}
		return names
	}
	if got, want := rows(View{}), []string{"cb.request", "  cb.retrieve ×4", "    cb.scatter ×4", "  cb.check", "  cb.check", "  cb.check"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := rows(View{Unfold: true}); len(got) != 12 {
		t.Errorf("unfolded: %q", got)
	}
	folded := (&View{}).spanTable(d).Rows[1]
	if folded[2].v != 0 || folded[3].v != 40e6 {
		t.Errorf("start %v, duration %v: want the first start and the sum", folded[2].v, folded[3].v)
	}
	if got, want := drawBar(folded[1].bar, 10), "\x03·\x0f \x03·\x0f \x03·\x0f \x03·\x0f"; strings.TrimSpace(got) != want {
		t.Errorf("bar %q, want %q", got, want)
	}
}

// Spans that are not in one tree, share an id or name themselves as parent are all shown, once.
func TestTreeOrder(t *testing.T) {
	spans := []inspect.Span{{ID: "a", Parent: "a"}, {ID: "b", Parent: "c"}, {ID: "c", Parent: "b"}, {ID: "d"}, {ID: "d", Parent: "d"}, {ID: "e", Parent: "d", Edge: "parent"}, {ID: "r", Edge: "root"}}
	var got []string
	for _, n := range treeOrder(spans) {
		got = append(got, strings.Repeat(">", n.depth)+spans[n.span].ID)
	}
	if want := "r a d >d >e b >c"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestInspectOfNothing(t *testing.T) {
	got := text(t, (&View{}).Inspect(&inspect.Document{Request: inspect.Request{ID: "x\x1b", Key: "id", Model: "unknown"}}), 80)
	if !strings.Contains(got, `x\x1b has no time that could be explained.`) || !strings.Contains(got, "No path") {
		t.Error(got)
	}
}

// Where decoding takes most of the window a bar stands for the wait for the first token, else for the window.
func TestWaterfallScale(t *testing.T) {
	d := lookupDocument()
	if got := (&View{}).spanTable(d).Columns[1].Name; got != "to first token, 90 ms" {
		t.Errorf("90 of 240 ms: %q", got)
	}
	d.CriticalPath.TTFT.TotalNS = 121e6
	if got := (&View{}).spanTable(d).Columns[1].Name; got != "window, 240 ms" {
		t.Errorf("121 of 240 ms: %q", got)
	}
	var b strings.Builder
	k := &ink{w: &b}
	_, _ = k.Write([]byte(drawBar((&View{}).spanTable(d).Rows[0][1].bar, 24) + "\n"))
	if got, want := b.String(), "─────────███████████████\n"; got != want {
		t.Errorf("root %q, want %q", got, want)
	}
}

// A request of very many different spans shows those that held most of the path, then the longest, with what is above them; --unfold shows all.
func TestWaterfallOfMany(t *testing.T) {
	d := &inspect.Document{Window: inspect.Window{StartUnixNS: model.Some(0), DurationNS: model.Some(1e9)}}
	add := func(id, parent string, ns, path int64) {
		d.Spans = append(d.Spans, inspect.Span{ID: id, Parent: parent, Stage: "stage " + id, Class: "work", StartNS: model.Some(0), DurationNS: model.Some(ns), CriticalNS: model.Some(path)})
	}
	add("r", "", 1e9, 0)
	for i := range int64(1000) {
		add(fmt.Sprint("n", i), "r", 1000+i, 0)
	}
	add("group", "r", 1, 0)
	add("held", "group", 1, 1)
	table := (&View{}).spanTable(d)
	var shown []string
	for i, row := range table.Rows {
		if !table.hidden[i] {
			shown = append(shown, strings.TrimSpace(row[0].text))
		}
	}
	if len(shown) != spansShown || shown[0] != "stage r" || shown[1] != "stage n603" || !slices.Equal(shown[spansShown-2:], []string{"stage group", "stage held"}) {
		t.Errorf("%d rows: %q", len(shown), shown)
	}
	if len(table.Rows) != 1003 {
		t.Errorf("%d rows in CSV", len(table.Rows))
	}
	if got := text(t, (&View{}).Inspect(d), 120); !strings.Contains(got, "\n603 more rows that held less: --unfold, ") {
		t.Errorf("no word of the rest")
	}
	if table := (&View{Unfold: true}).spanTable(d); len(table.hidden) != 0 {
		t.Errorf("unfolded: %d left out", len(table.hidden))
	}
}

// What the first sentence says of a stage beside which others ran (R6.8), and of the root's own time.
func TestAnswer(t *testing.T) {
	span := func(id, parent, stage, owner, process string, start, ns int64) inspect.Span {
		return inspect.Span{ID: id, Parent: parent, Stage: stage, Owner: owner, Process: process, Class: "work", StartNS: opt(start * 1e6), DurationNS: opt(ns * 1e6)}
	}
	// the path goes through partial a of worker 0, 40 to 100; worker 1 runs partial b beside it, 50 to 90
	doc := func(drag int64, spans ...inspect.Span) *inspect.Document {
		d := &inspect.Document{Spans: append([]inspect.Span{span("r", "", "llm_request", "engine", "api", 0, 100), span("a", "r", "cb.partial", "worker", "w0", 40, 60)}, spans...)}
		d.Request.RootStage = "llm_request"
		d.CriticalPath = inspect.CriticalPath{TotalNS: 100e6, Segments: []inspect.Segment{{Stage: "llm_request", Span: "r", DurationNS: 40e6, Bound: "queue"}, {Stage: "cb.partial", Span: "a", StartNS: 40e6, DurationNS: 60e6, Bound: "forward"}},
			ByStage: []report.StageTime{{Stage: "cb.partial", NS: 60e6, DragNS: drag * 1e6}, {Stage: "llm_request", NS: 40e6, DragNS: 40e6}}, ByBound: []report.BoundTime{{Bound: "forward", NS: 60e6}, {Bound: "queue", NS: 40e6}}}
		return d
	}
	root := func(queue, engine int64) *inspect.Document {
		d := doc(60)
		d.CriticalPath.Segments = []inspect.Segment{{Stage: "llm_request", Span: "r", DurationNS: queue * 1e6, Bound: "queue"}, {Stage: "llm_request", Span: "r", StartNS: queue * 1e6, DurationNS: engine * 1e6, Bound: "engine"},
			{Stage: "cb.partial", Span: "a", StartNS: (queue + engine) * 1e6, DurationNS: (100 - queue - engine) * 1e6, Bound: "forward"}}
		d.CriticalPath.ByStage = []report.StageTime{{Stage: "llm_request", NS: (queue + engine) * 1e6, DragNS: (queue + engine) * 1e6}, {Stage: "cb.partial", NS: (100 - queue - engine) * 1e6, DragNS: (100 - queue - engine) * 1e6}}
		return d
	}
	for _, c := range []struct {
		name string
		d    *inspect.Document
		want string
	}{
		{"nothing beside it", doc(60), "cb.partial held 60 of 100 ms (forward: the model's forward pass); without it at most 60 ms less."},
		{"another worker beside it", doc(20, span("b", "r", "cb.partial", "worker", "w1", 50, 40)), "…; without that span alone at most 20 ms less: another worker's cb.partial ran beside."},
		{"another worker all along", doc(0, span("b", "r", "cb.partial", "worker", "w1", 40, 60)), "…; without that span alone nothing less: another worker's cb.partial ran beside and would have to be faster too."},
		{"the same worker", doc(20, span("b", "r", "cb.partial", "worker", "w0", 50, 40)), "…; without that span alone at most 20 ms less: another cb.partial ran beside."},
		{"mostly something else", doc(0, span("b", "r", "cb.partial", "worker", "w1", 80, 20), span("c", "r", "cb.check", "worker", "w1", 40, 60)), "…; without that span alone nothing less: other work ran beside and would have to be faster too."},
		{"of a server, called by workers", func() *inspect.Document {
			d := doc(0, span("w", "r", "cb.start_load_kv", "worker", "w0", 40, 60), span("v", "r", "cb.start_load_kv", "worker", "w1", 40, 60), span("b", "v", "cb.partial", "server", "s", 40, 60))
			d.Spans[1].Owner, d.Spans[1].Process, d.Spans[1].Parent = "server", "s", "w"
			return d
		}(), "…; without that span alone nothing less: another worker's cb.partial ran beside and would have to be faster too."},
		{"the root, queued", root(45, 10), "queue held 45 of 100 ms (waiting in a queue, in llm_request itself); without that at most 45 ms less."},
		{"the root's time falls apart", root(30, 29), "cb.partial held 41 of 100 ms (forward: the model's forward pass); without it at most 41 ms less."},
	} {
		want := strings.Replace(c.want, "…", "cb.partial held 60 of 100 ms (forward: the model's forward pass)", 1)
		if got := answer(c.d); got != want {
			t.Errorf("%s: %s\nwant %s", c.name, got, want)
		}
	}
}

// Without a finding the longest wait is the worst, unless it is short; work is no wait.
func TestWorstWait(t *testing.T) {
	for _, c := range []struct {
		bounds []report.BoundTime
		want   string
	}{
		{[]report.BoundTime{{Bound: "l2_io", NS: 50e6}, {Bound: "poll", NS: 38e6}, {Bound: "queue", NS: 12e6}}, "no finding; the longest wait: 38 of 100 ms ready, but nobody asked yet"},
		{[]report.BoundTime{{Bound: "forward", NS: 96e6}, {Bound: "queue", NS: 4e6}}, "no finding"},
		{nil, "no finding"},
	} {
		d := &inspect.Document{CriticalPath: inspect.CriticalPath{TotalNS: 100e6, ByBound: c.bounds}}
		if got := worstOf(d); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// R7.2: beside cb.coordinator_match, which counts whole, a load that has a span of its own is measured: only the other work is an upper bound.
func TestUpperBounds(t *testing.T) {
	d := lookupDocument()
	l := &d.Lookup[0]
	l.L2LoadMinNS, l.ServerOtherNS, l.PollWaitNS, l.UpperBounds = model.Opt{}, opt(30e6), opt(10e6), []string{"server_other"}
	got := text(t, (&View{}).Inspect(d), 0)
	for _, want := range []string{
		"    90            0            50                ≤30              10      9  upper bound\n",
		"  Trust    server_other is an upper bound; ",
		"server_other is at most 30 ms: of a part of it the end is only known from the poll that saw it.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "l2_load is") {
		t.Errorf("l2_load is measured:\n%s", got)
	}
	if l.UpperBounds = []string{"l2_load", "server_other"}; !strings.Contains(text(t, (&View{}).Inspect(d), 0), "  Trust    l2_load and server_other are upper bounds; ") {
		t.Error("both may be upper bounds")
	}
}

func TestOfWhole(t *testing.T) {
	for _, c := range []struct {
		n, whole int64
		want     string
	}{
		{50e6, 90e6, "50 of 90 ms"}, {50e3, 90e6, "50 µs of 90 ms"}, {5e9, 75e9, "5 s of 1 min 15 s"}, {75e9, 135e9, "1 min 15 s of 2 min 15 s"}, {60e9, 120e9, "1 of 2 min"},
	} {
		if got := ofWhole(c.n, c.whole); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.n, c.whole, got, c.want)
		}
	}
}

// R5.8: what was written on a clock that is not known against the request's is not told as fact, moments included, and Trust and Clocks name it.
// With --no-skew nothing is known, which is what was asked for.
func TestLooseClocks(t *testing.T) {
	d := lookupDocument()
	d.Spans[2].StartNS = opt(-11.9e6)
	d.Clock = []report.Clock{{Process: "p-l", Reference: "p-r", OffsetNS: opt(13e6), UncertaintyNS: opt(179e3), Pairs: 214, Basis: "pairs"}, {Process: "p-w", Reference: "p-r", OffsetNS: opt(0), UncertaintyNS: opt(1e6), Pairs: 214, Basis: "zero"},
		{Process: "p-x", Reference: "p-r", Basis: "none"}}
	got := text(t, (&View{}).Inspect(d), 0)
	for _, want := range []string{
		"  Trust    l2_load is an upper bound; 4 processes, p-l's clock corrected by 13 ms ± 179 µs; the others agree within ± 1 ms; clocks taken as they are: p-x and p-r (no pair of spans compares them).\n",
		"    cb.l2_load                   ██████████████         20               50          50        0         p-w      a.jsonl:7\n" +
			"cb.fingerprints.registered  |                          -11.9±?            –           –        –  point  p-x      a.jsonl:7\n",
		"±?: on a clock that is not known against that of the request, and taken as it is.\n",
		"p-x              –  –          0         0  no pair\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	d.Clock[2].OffsetNS = opt(0)
	if got := text(t, (&View{}).Inspect(d), 0); strings.Contains(got, "±?") {
		t.Errorf("with --no-skew:\n%s", got)
	}
}
