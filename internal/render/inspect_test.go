package render

import (
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
)

func ptr(n int64) *int64 { return &n }

func lookupDocument() *inspect.Document {
	span := func(id, parent, edge, stage string, start, ms, critical int64) inspect.Span {
		return inspect.Span{ID: id, Parent: parent, Edge: edge, Stage: stage, Name: stage, Process: "p-" + id, StartNS: opt(start * 1e6), DurationNS: opt(ms * 1e6), CriticalNS: opt(critical * 1e6),
			SelfNS: opt(0), Flags: []string{}, Sources: []inspect.Source{{File: "a.jsonl", Line: ptr(7)}}}
	}
	return &inspect.Document{
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
		Lookup:   []inspect.Lookup{{RPCNS: opt(90e6), SubmitNS: opt(0), L2LoadNS: opt(50e6), L2LoadMinNS: opt(41e6), ServerOtherNS: opt(0), PollWaitNS: opt(40e6), NPolls: opt(9), Basis: "inferred_upper"}},
		Hits:     inspect.Hits{RequestedTokens: opt(2048), HitTokens: opt(1280), HitRate: share(0.625), EffectiveReuse: share(0.625), WrittenTokens: opt(1280), PrefixTokens: opt(1280), Class: "partial"},
		Loads:    inspect.Loads{Attempts: 1, Verdict: "repeat", WastedTokens: opt(1280), Passes: []inspect.Pass{{Attempt: 1, Worker: "0", DurationNS: 5e6, WrittenTokens: opt(1280)}, {Attempt: 1, Worker: "0", DurationNS: 5e6, WrittenTokens: opt(1280)}}},
		Blend:    inspect.Blend{L2GBps: share(1.9)},
		Findings: []inspect.Finding{{Code: "double_start_load_kv.repeat", Severity: "warning", Message: "tokens were written twice"}},
		Quality:  inspect.Quality{SpansRead: 4, Adopted: 1},
	}
}

func TestInspect(t *testing.T) {
	got := text(t, Inspect(lookupDocument()), 0)
	for _, want := range []string{
		"cb.l2_load held 50 of 90 ms to the first token (l2_io, 1.9 GB/s); without it at most 48 ms less. 62 % of 2,048 tokens reused.\n",
		"  request chatcmpl-1-0a1b2c3d, for the client chatcmpl-1, model m\n",
		"  2025-11-29T16:00:00.000Z, 240 ms, first token after 90 ms\n",
		"span                                                  start ms  duration ms  on path ms  self ms  process  flags    from\n" +
			"llm_request                 ─────────███████████████         0          240         150        0  p-r               a.jsonl:7\n" +
			"  cb.lookup.rpc             ██─────██                        0           90          40        0  p-l               a.jsonl:7\n" +
			"    cb.l2_load                █████                         20           50          50        0  p-w               a.jsonl:7\n" +
			"cb.fingerprints.registered   ─                              10            0           0        0  p-x      adopted  a.jsonl:7\n",
		"To the first token, 90 ms:\n\nstage          time ms  share %  saves at most ms  bound by\ncb.l2_load          50     55.6                48  l2_io\n",
		"\nl2_io 56 %, poll 22 %, rpc 22 %\n",
		"l2_load is at most 50 ms, at least 41 ms",
		"not found    768            37.5\n",
		"2 loads in 1 attempt: repeat, 1,280 tokens written for nothing\n",
		"  warning double_start_load_kv.repeat: tokens were written twice\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Log(got)
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
	got := text(t, Inspect(&inspect.Document{Request: inspect.Request{ID: "x\x1b", Key: "id", Model: "unknown"}}), 80)
	if !strings.Contains(got, `x\x1b has no time that could be explained.`) || !strings.Contains(got, "No path") {
		t.Error(got)
	}
}
