package finding

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/split"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// seen are the codes that a request shows, in order.
func seen(t *testing.T, r *model.Request, in Inputs) string {
	t.Helper()
	var sp split.Splitter
	in.Split = sp.Split(r)
	var d Detector
	set, found := d.Detect(r, in)
	var codes []string
	for _, f := range found {
		if !set.Has(f.Number) {
			t.Errorf("%s is found and not in the set", f.Info().Code)
		}
		if !strings.HasSuffix(f.Message, ".") || strings.Contains(f.Message, "%!") {
			t.Errorf("%s: message %q", f.Info().Code, f.Message)
		}
		codes = append(codes, f.Info().Code)
	}
	in.SetOnly = true
	if quiet, none := d.Detect(r, in); quiet != set || none != nil {
		t.Errorf("without messages %b and %v, with %b", quiet, none, set)
	}
	return strings.Join(codes, " ")
}

// passes of one rank: tokens "-" for a pass without a retrieve.
func passes(tokens ...string) string {
	var b strings.Builder
	b.WriteString("cb.request sched 0ms 9000ms hit_tokens=1024 requested_tokens=2048\n cb.lookup server 5ms 95ms\n cb.model_forward worker0 8000ms 8100ms\n")
	for i, n := range tokens {
		at := time.Duration(100+200*i) * time.Millisecond
		line := func(depth int, stage, proc string, from, to time.Duration, more string) {
			b.WriteString(strings.Repeat(" ", depth) + stage + " " + proc + " " + (at + from).String() + " " + (at + to).String() + " worker_id=0 " + more + "\n")
		}
		line(1, "cb.start_load_kv", "worker0", 0, 80e6, "")
		if n != "-" {
			line(2, "cb.retrieve", "server", 5e6, 70e6, "")
			line(3, "cb.scatter", "server", 6e6, 69e6, "scattered_tokens="+n)
		}
	}
	return b.String()
}

const deadline = `
cb.request server 0ms 300ms
  cb.lookup server 1us 50ms
    cb.fingerprint_match server 2us 50ms
  cb.retrieve server `

const polls = `
cb.lookup.rpc sched 0ms 48ms polls=10ms,20ms,30ms,`

const looked = `
  cb.lookup server 50us 32ms
    cb.fingerprint_match server 50us 32ms`

// Each finding once shown, once not, and one tick inside its threshold; numbers by hand (VOCABULARY 5).
func TestDetect(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "cb.request sched 0ms 9ms", ""},

		{"orphan", "cb.request sched 0ms 9ms\ncb.build_meta sched 1ms 2ms parent=gone", "orphan"},
		{"a root is no orphan", "cb.request sched 0ms 9ms parent=away", ""},
		{"a span without a parent is no orphan", "cb.request sched 0ms 9ms\ncb.build_meta sched 1ms 2ms", ""},

		{"negative", "cb.request sched 0ms 9ms\n cb.build_meta sched 5ms 4999999ns", "negative_duration"},
		{"zero length", "cb.request sched 0ms 9ms\n cb.build_meta sched 5ms 5ms", ""},

		{"two roots", "request server 0ms 1ms\nrequest server 2ms 3ms trace=1", "duplicate_root"},
		{"of two processes", "request server 0ms 1ms\nrequest server2 2ms 3ms trace=1", ""},
		{"each with a lookup", "request server 0ms 1ms\n mp.lookup_prefetch server 0ms 1ms\nrequest server 2ms 3ms trace=1\n mp.lookup_prefetch server 2ms 3ms trace=1", ""},
		{"one with a lookup", "request server 0ms 1ms\n mp.lookup_prefetch server 0ms 1ms\nrequest server 2ms 3ms trace=1", "duplicate_root"},

		{"shutdown", "request server 0ms 1ms\n mp.lookup_prefetch server 0ms 40s +shutdown", "shutdown"},

		{"reason", "request server 0ms 1ms early_exit_reason=empty_chunk_hashes", "early_exit"},
		{"no reason", "request server 0ms 1ms early_exit_reason=None", ""},
		{"no context", "cb.request server 0ms 9ms\n cb.lookup server 1ms 2ms no_gpu_context=True", "early_exit"},
		{"a context", "cb.request server 0ms 9ms\n cb.lookup server 1ms 2ms no_gpu_context=False", ""},

		{"stale at lookup", "cb.request server 0ms 9ms\n cb.lookup server 1ms 2ms stale_chunks=1", "stale_chunks"},
		{"stale at classify", "cb.request server 0ms 9ms\n cb.classify server 1ms 2ms stale=1", "stale_chunks"},
		{"none stale", "cb.request server 0ms 9ms\n cb.lookup server 1ms 2ms stale_chunks=0", ""},
		{"another's attribute", "cb.request server 0ms 9ms\n app.step app 1ms 2ms stale=1 dropped=1 timed_out=True", ""},

		{"dropped", "cb.request server 0ms 9ms\n cb.scatter server 1ms 2ms dropped=1", "dropped_chunks"},
		{"none dropped", "cb.request server 0ms 9ms\n cb.scatter server 1ms 2ms dropped=0", ""},

		{"timed out", "cb.request server 0ms 9ms\n cb.coordinator_match server 1ms 2ms timed_out=True", "coordinator_timeout"},
		{"in time", "cb.request server 0ms 9ms\n cb.coordinator_match server 1ms 2ms timed_out=False", ""},

		{"rank not ok", "cb.request server 0ms 9ms\n cb.classify server 1ms 2ms per_rank_ok=False", "rank_not_ok"},
		{"rank ok", "cb.request server 0ms 9ms\n cb.classify server 1ms 2ms per_rank_ok=True", ""},

		// CONTRACT 9.2 E: world_size 2, one retrieve, of rank 0.
		{"one rank of two", "cb.request server 0ms 90ms\n cb.lookup server 1ms 2ms world_size=2\n cb.retrieve server 11ms 20ms worker_id=0", "rank_mismatch stitched_ranks"},
		{"two of two", "cb.request server 0ms 90ms\n cb.lookup server 1ms 2ms world_size=2\n cb.retrieve server 11ms 20ms worker_id=0\n cb.retrieve server 11ms 20ms worker_id=1", ""},
		{"the same twice", "cb.request server 0ms 90ms world_size=2\n cb.lookup server 1ms 2ms\n cb.retrieve server 11ms 12ms worker_id=1\n cb.lookup server 13ms 14ms\n cb.retrieve server 15ms 20ms worker_id=1", "rank_mismatch relookup stitched_ranks"},
		{"no retrieve", "cb.request server 0ms 90ms world_size=2", ""},
		{"no rank named", "cb.request server 0ms 90ms world_size=1\n cb.lookup server 1ms 2ms\n cb.retrieve server 11ms 20ms", ""},

		{"identity", "cb.request server 0ms 9ms hit_tokens=960 requested_tokens=2048 prefix_hit_tokens=512 non_prefix_hit_tokens=512", "hit_identity_broken"},
		{"identity holds", "cb.request server 0ms 9ms hit_tokens=1024 requested_tokens=2048 prefix_hit_tokens=512 non_prefix_hit_tokens=512", ""},

		{"no forward", "cb.request sched 0ms 9ms\n cb.execute worker0 1ms 8ms", "missing_stage"},
		{"a forward", "cb.request sched 0ms 9ms\n cb.execute worker0 1ms 8ms\n  cb.model_forward worker0 2ms 7ms", ""},
		{"a made-up execute", "cb.request sched 0ms 9ms\ncb.start_load_kv worker0 1ms 2ms trace=1\ncb.start_load_kv worker0 2ms 3ms trace=1", "double_start_load_kv.double_unknown"},

		{"retrieve failed", "cb.request server 0ms 9ms\n cb.lookup server 0ms 1ms\n cb.retrieve server 1ms 2ms success=False", "retrieve_failed"},
		{"an mp.retrieve failed", "request server 0ms 9ms\n mp.lookup_prefetch server 0ms 1ms\n mp.retrieve server 1ms 2ms success=false", "retrieve_failed"},
		{"a scatter failed", "cb.request server 0ms 9ms\n cb.scatter server 1ms 2ms success=False", ""},
		{"retrieve fine", "cb.request server 0ms 9ms\n cb.lookup server 0ms 1ms\n cb.retrieve server 1ms 2ms success=True", ""},

		{"error", "cb.request server 0ms 9ms\n app.step app 1ms 2ms error", "request_error"},

		{"partial then full", passes("256", "768"), "double_start_load_kv.partial_then_full"},
		{"noop then full", passes("-", "1024"), "retrieve_after_deadline double_start_load_kv.noop_then_full"},
		{"repeat", passes("512", "513"), "double_start_load_kv.repeat"},
		{"no repeat", passes("512", "512"), "double_start_load_kv.partial_then_full"},
		{"many", passes("256", "256", "512"), "double_start_load_kv.many"},
		{"unknown", passes("1024", "None"), "double_start_load_kv.double_unknown"},
		{"once", passes("1024"), ""},
		{"once, then nothing", passes("1024", "0"), ""},
		{"looked up again", passes("1024") + " cb.lookup server 181ms 190ms\n", "relookup"},
		{"looked up again before it was over", passes("1024") + " cb.lookup server 179ms 190ms\n", ""},

		{"another trace", "cb.request server 0ms 30ms\n cb.lookup server 0ms 28ms\ncb.retrieve server 60ms 75ms trace=1 worker_id=0", "double_start_load_kv.noop_then_full second_pass_in_new_trace"},
		{"the same trace", "cb.request server 0ms 30ms\n cb.lookup server 0ms 28ms\n cb.retrieve server 60ms 75ms worker_id=0", ""},

		// usual 10 ms: late from 15 ms and a tick after the match ended at 32.
		{"poll in time", polls + "47ms" + looked, ""},
		{"poll late", polls + "47000001ns" + looked, "late_poll"},
		// Without poll lines 40 / 4 is usual; the rpc ended 16 ms after the work, of which 1 ms is taken for the way.
		{"polls counted, in time", "cb.lookup.rpc sched 0ms 40ms n_polls=4\n cb.lookup server 1ms 24ms\n  cb.classify server 1ms 24ms", ""},
		{"polls counted, late", "cb.lookup.rpc sched 0ms 40ms n_polls=4\n cb.lookup server 1ms 23999999ns\n  cb.classify server 1ms 23999999ns", "late_poll"},
		{"no common clock", "cb.request sched 0ms 100ms\n cb.lookup.rpc sched 0ms 40ms polls=10ms,20ms,39ms\n  cb.lookup server 50ms 51ms\n   cb.classify server 50ms 51ms", ""},

		{"in time", deadline + "150ms 200ms worker_id=0", ""},
		{"late", deadline + "150000001ns 200ms worker_id=0", "retrieve_after_deadline"},
		{"only the first of an attempt counts", deadline + "60ms 70ms worker_id=0\n  cb.retrieve server 220ms 230ms worker_id=1", ""},
		{"the next attempt is late", deadline + "60ms 70ms worker_id=0\n  cb.lookup server 80ms 120ms\n  cb.retrieve server 221ms 230ms worker_id=0", "relookup retrieve_after_deadline"},

		{"a scatter of another rank", "cb.request server 0ms 90ms\n cb.lookup server 1ms 2ms world_size=2\n cb.retrieve server 11ms 20ms worker_id=0\n  cb.scatter server 12ms 19ms worker_id=1\n cb.retrieve server 11ms 20ms worker_id=1", "stitched_ranks"},
		{"scatters of their own rank", "cb.request server 0ms 90ms\n cb.lookup server 1ms 2ms world_size=2\n cb.retrieve server 11ms 20ms worker_id=0\n  cb.scatter server 12ms 19ms worker_id=0\n cb.retrieve server 11ms 20ms worker_id=1", ""},
		{"an attempt lacks a rank, the next has it", "cb.request server 0ms 90ms\n cb.lookup server 1ms 2ms world_size=2\n cb.retrieve server 11ms 20ms worker_id=0\n cb.lookup server 31ms 32ms\n cb.retrieve server 41ms 50ms worker_id=1", "stitched_ranks relookup"},
		{"every attempt has its ranks", "cb.request server 0ms 90ms\n cb.lookup server 1ms 2ms world_size=1\n cb.retrieve server 11ms 20ms worker_id=0\n cb.lookup server 31ms 32ms\n cb.retrieve server 41ms 50ms worker_id=0", "relookup"},

		{"loaded without a lookup", "cb.request server 0ms 90ms\n cb.retrieve server 11ms 20ms worker_id=0", "retrieve_without_lookup"},
		{"an mp.retrieve without a lookup", "request server 0ms 90ms\n mp.retrieve server 11ms 20ms", "retrieve_without_lookup"},
		{"numbers prove a lookup", "cb.request server 0ms 90ms hit_tokens=0 requested_tokens=0\n cb.retrieve server 11ms 20ms worker_id=0", ""},
		{"neither", "cb.request server 0ms 90ms", ""},

		{"found, run, not loaded", "cb.request server 0ms 90ms hit_tokens=1 requested_tokens=512\ncb.model_forward worker0 20ms 30ms", "hit_not_retrieved"},
		{"nothing found", "cb.request server 0ms 90ms hit_tokens=0 requested_tokens=512\ncb.model_forward worker0 20ms 30ms", ""},
		{"found and scattered", "cb.request server 0ms 90ms hit_tokens=1 requested_tokens=512\n cb.scatter server 10ms 11ms\ncb.model_forward worker0 20ms 30ms", ""},
		{"found, the model was not recorded", "cb.request server 0ms 90ms hit_tokens=1 requested_tokens=512", ""},
		{"found, the server was not recorded", "cb.request sched 0ms 90ms hit_tokens=1 requested_tokens=512\ncb.model_forward worker0 20ms 30ms", ""},

		// intervals 10, 10, 30: three times the usual one, and a tick more
		{"polls as usual", "cb.lookup.rpc sched 0ms 60ms polls=10ms,20ms,50ms", ""},
		{"polls starved", "cb.lookup.rpc sched 0ms 60ms polls=10ms,20ms,50000001ns", "starved_poller"},
		{"too few polls to tell", "cb.lookup.rpc sched 0ms 60ms polls=1ms,50ms", ""},

		// 10 ms before the lookup, which takes longer
		{"asked soon", "llm_request engine 0ms 900ms gen_ai.latency.time_in_queue=0.1\n cb.request sched 1ms 800ms\n  cb.lookup.rpc sched 10ms 90ms", ""},
		{"asked late", "llm_request engine 0ms 900ms gen_ai.latency.time_in_queue=0.1\n cb.request sched 1ms 800ms\n  cb.lookup.rpc sched 10000001ns 90ms", "lookup_could_overlap_queue"},
		{"a short lookup", "llm_request engine 0ms 900ms gen_ai.latency.time_in_queue=0.1\n cb.request sched 1ms 800ms\n  cb.lookup.rpc sched 50ms 60ms", ""},
		{"not in the queue", "llm_request engine 0ms 900ms gen_ai.latency.time_in_queue=0.1\n cb.request sched 1ms 800ms\n  cb.lookup.rpc sched 50ms 100000001ns", ""},
		{"no queue known", "llm_request engine 0ms 900ms\n cb.request sched 1ms 800ms\n  cb.lookup.rpc sched 50ms 90ms", ""},

		// the call at 10, its load 10 ms from 20 on
		{"waits as long as it loads", "cb.request sched 0ms 90ms\n cb.lookup server 1ms 2ms\n cb.start_load_kv worker0 10ms 40ms worker_id=0\n  cb.retrieve server 20ms 30ms worker_id=0", ""},
		{"waits longer than it loads", "cb.request sched 0ms 90ms\n cb.lookup server 1ms 2ms\n cb.start_load_kv worker0 10ms 40ms worker_id=0\n  cb.retrieve server 20ms 29999999ns worker_id=0", "device_wait"},
		{"waits a millisecond", "cb.request sched 0ms 90ms\n cb.lookup server 1ms 2ms\n cb.start_load_kv worker0 10ms 40ms worker_id=0\n  cb.retrieve server 11ms 11001us worker_id=0", ""},
		{"waits a tick more", "cb.request sched 0ms 90ms\n cb.lookup server 1ms 2ms\n cb.start_load_kv worker0 10ms 40ms worker_id=0\n  cb.retrieve server 11000001ns 11001us worker_id=0", "device_wait"},
		{"loads after the call", "cb.request sched 0ms 90ms\n cb.lookup server 1ms 2ms\n cb.start_load_kv worker0 10ms 40ms worker_id=0\n  cb.retrieve server 39ms 41ms worker_id=0", ""},

		{"tail", "request server 1ms 2ms\n mp.store server 1500us 3ms", ""},
		// CONTRACT 9.2 A: window 0..9, tail 41; nothing else is wrong with it.
		{"a root that closes early", "request server 0ms 5ms\n mp.lookup_prefetch server 200us 3200us\n mp.retrieve server 4ms 9ms\n mp.store server 10ms 50ms", "store_tail"},
		{"tail longer than the window", "request server 1ms 2ms\n mp.store server 1500us 3001us", "store_tail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.Fields(c.want)
			got := strings.Fields(seen(t, modeltest.Linked(t, c.text), Inputs{}))
			for _, w := range want {
				if i := index(got, w); i >= 0 {
					got = append(got[:i], got[i+1:]...)
				} else {
					t.Errorf("not seen: %s", w)
				}
			}
			for _, g := range got {
				t.Errorf("seen: %s", g)
			}
		})
	}
}

func index(words []string, w string) int {
	for i := range words {
		if words[i] == w {
			return i
		}
	}
	return -1
}

func TestIdentityFindings(t *testing.T) {
	r := modeltest.Linked(t, "cb.request sched 0ms 9ms")
	r.Reused = true
	if got := seen(t, r, Inputs{}); got != "request_id_reused" {
		t.Errorf("a second execution shows %q", got)
	}
	r = modeltest.Linked(t, "llm_request engine 0ms 9ms")
	r.Ambiguous = true
	if got := seen(t, r, Inputs{}); got != "ambiguous_join" {
		t.Errorf("an ambiguous llm_request shows %q", got)
	}
	r.Ambiguous, r.Candidate = false, true
	if got := seen(t, r, Inputs{}); got != "" {
		t.Errorf("a candidate shows %q", got)
	}
}

func TestContextLeak(t *testing.T) {
	r := modeltest.Linked(t, "cb.request sched 0ms 9ms\ncb.schedule sched 1ms 2ms trace=1\ncb.build_meta sched 3ms 4ms trace=1")
	leaks := func(of model.TraceID) func(model.TraceID) bool { return func(t model.TraceID) bool { return t == of } }
	if got := seen(t, r, Inputs{Unrelated: leaks(model.TraceID{})}); got != "" {
		t.Errorf("no trace leaks: %q", got)
	}
	in := Inputs{Unrelated: leaks(r.Spans[1].Trace)}
	if got := seen(t, r, in); got != "context_leak" {
		t.Errorf("a trace leaks: %q", got)
	}
	in.Split = new(split.Splitter).Split(r)
	_, found := new(Detector).Detect(r, in)
	if want := "2 spans are in a trace that holds unrelated requests."; found[0].Message != want || len(found[0].Spans) != 2 {
		t.Errorf("got  %s (%d spans)\nwant %s", found[0].Message, len(found[0].Spans), want)
	}
}

func TestDeadlineOption(t *testing.T) {
	r := modeltest.Linked(t, deadline+"150ms 200ms worker_id=0")
	for _, c := range []struct {
		deadline time.Duration
		want     string
	}{{0, ""}, {100 * time.Millisecond, ""}, {100*time.Millisecond - 1, "retrieve_after_deadline"}, {99 * time.Millisecond, "retrieve_after_deadline"}} {
		if got := seen(t, r, Inputs{Deadline: c.deadline}); got != c.want {
			t.Errorf("--deadline %v: %q, want %q", c.deadline, got, c.want)
		}
	}
}

// Messages are one sentence with the numbers.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		text, want string
		spans      int
	}{
		{"cb.request sched 0ms 9ms\ncb.build_meta sched 1ms 2ms parent=a\ncb.schedule sched 1ms 2ms parent=b", "2 spans name a parent that is not in the request.", 2},
		{"cb.request sched 0ms 9ms\n cb.build_meta sched 5ms 4960us", "1 span ends before the start, by up to 40 µs.", 1},
		{"request server 0ms 1ms\nrequest server 2ms 3ms trace=1\ncb.request sched 0ms 1ms", "2 roots share stage and process with another, and not each holds a lookup of its own.", 2},
		{"request server 0ms 1ms\n mp.lookup_prefetch server 0ms 95s +shutdown", "1 span ended with its process, after up to 95 s (inferred).", 1},
		{"request server 0ms 1ms early_exit_reason=no_gpu_context", `The lookup ended before it searched: "no_gpu_context".`, 1},
		{"request server 0ms 1ms early_exit_reason=" + strings.Repeat("\x1b", 70), `The lookup ended before it searched: "` + strings.Repeat(`\x1b`, 64) + `…".`, 1},
		{"cb.lookup server 0ms 9ms stale_chunks=2\n cb.classify server 1ms 2ms stale=2", "2 chunks matched but no longer stored.", 2},
		{"cb.lookup server 0ms 90ms world_size=2\n cb.retrieve server 11ms 20ms worker_id=0\n cb.retrieve server 11ms 20ms worker_id=0", "1 rank of 2 loaded.", 2},
		{"cb.lookup server 0ms 90ms world_size=2\n cb.retrieve server 11ms 20ms worker_id=0\n cb.lookup server 30ms 31ms\n cb.retrieve server 41ms 50ms worker_id=1",
			"An attempt has fewer cb.retrieve than its 2 ranks: spans of ranks were made into one (inferred).", 2},
		{"cb.lookup server 0ms 90ms world_size=2\n cb.retrieve server 11ms 20ms worker_id=0\n  cb.scatter server 12ms 19ms worker_id=1\n cb.retrieve server 11ms 20ms worker_id=1",
			"A cb.scatter names another rank than the cb.retrieve above it: spans of ranks are mixed.", 1},
		{"cb.request server 0ms 90ms\n cb.retrieve server 11ms 20ms worker_id=0\n cb.retrieve server 11ms 20ms worker_id=1", "2 retrieves and no lookup.", 2},
		{"cb.request server 0ms 90ms hit_tokens=512 requested_tokens=512\n cb.model_forward worker0 20ms 30ms", "512 tokens found, none loaded, and the model ran.", 1},
		{"cb.lookup.rpc sched 0ms 90ms polls=10ms,20ms,30ms,90ms", "60 ms passed between two polls, where 10 ms is usual.", 1},
		{"llm_request engine 0ms 900ms gen_ai.latency.time_in_queue=0.1\n cb.request sched 1ms 800ms\n  cb.lookup.rpc sched 30ms 80ms",
			"The lookup began 30 ms after the request arrived and took 50 ms: up to 30 ms less in queue had it begun at once (inferred).", 1},
		{"cb.lookup server 1ms 2ms\ncb.start_load_kv worker0 10ms 40ms worker_id=0\n cb.retrieve server 20ms 25ms worker_id=0", "A load began 10 ms after its call and took 5 ms (inferred).", 1},
		{"cb.request server 0ms 9ms hit_tokens=960 requested_tokens=2048 prefix_hit_tokens=512 non_prefix_hit_tokens=512", "hit_tokens is 960, its parts add up to 1,024: off by -64.", 1},
		{passes("256", "768"), "2 passes of one rank wrote 256 + 768 tokens where 1,024 were found.", 2},
		{passes("512", "1024"), "2 passes of one rank wrote 512 + 1,024 tokens where 1,024 were found; 512 of all tokens written were for nothing.", 2},
		{passes("1024", "None"), "2 passes of one rank wrote 1,024 + ? tokens where 1,024 were found.", 2},
		{passes("1", "1", "1", "1", "1", "1", "1", "1", "1", "1"), "10 passes of one rank wrote 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + … tokens where 1,024 were found.", 10},
		{polls + "48ms" + looked, "The answer waited 16 ms for the last poll, where 10 ms is usual between polls.", 1},
		{"cb.lookup.rpc sched 0ms 40ms n_polls=4\n cb.lookup server 1ms 20ms\n  cb.classify server 1ms 20ms",
			"The answer waited 19 ms for the last poll, where 10 ms is usual between polls (inferred, there are no poll lines).", 1},
		{deadline + "152345678ns 200ms worker_id=0", "The load began 102.3 ms after the lookup had ended; the deadline is 100 ms.", 1},
		{"request server 1ms 2ms\n mp.store server 1500us 3001us", "Background work ran 1.001 ms past a window of 1 ms.", 1},
	} {
		r := modeltest.Linked(t, c.text)
		var sp split.Splitter
		_, found := new(Detector).Detect(r, Inputs{Split: sp.Split(r)})
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s (%d spans)", f.Message, len(f.Spans)))
		}
		if want := fmt.Sprintf("%s (%d spans)", c.want, c.spans); !slices.Contains(got, want) {
			t.Errorf("got  %q\nwant %s", got, want)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	r := modeltest.Linked(t, passes("256", "768")+" cb.build_meta sched 5ms 4ms\n")
	var sp split.Splitter
	var d Detector
	in := Inputs{Split: sp.Split(r), SetOnly: true}
	if n := testing.AllocsPerRun(100, func() { d.Detect(r, in) }); n > 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func BenchmarkDetect(b *testing.B) {
	r := modeltest.Linked(b, passes("1024"))
	var sp split.Splitter
	var d Detector
	in := Inputs{Split: sp.Split(r), SetOnly: true}
	b.ReportAllocs()
	for b.Loop() {
		d.Detect(r, in)
	}
	b.ReportMetric(float64(len(r.Spans))*float64(b.N)/b.Elapsed().Seconds(), "spans/s")
}
