package finding

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// A proof of a finding: what shows it, what does not, and what nearly does. A text is a request; further words behind a bar change what texts cannot say.
type proof struct{ shows, not, near string }

const (
	root      = "cb.request sched 0ms 9ms\n"
	server    = "cb.request server 0ms 9ms\n cb.lookup server 1ms 2ms "
	two       = "cb.request server 0ms 90ms\n cb.lookup server 1ms 2ms world_size=2\n"
	queued    = "llm_request engine 0ms 900ms gen_ai.latency.time_in_queue=0.1\n cb.request sched 1ms 800ms\n"
	loads     = "cb.request sched 0ms 90ms\n cb.lookup server 1ms 2ms\n cb.start_load_kv worker0 10ms 40ms worker_id=0\n"
	again     = "cb.request server 0ms 30ms\n cb.lookup server 0ms 28ms\n"
	leaking   = root + "cb.schedule sched 1ms 2ms trace=1\n"
	lookedFor = "cb.request server 0ms 90ms hit_tokens=%d requested_tokens=512\n"
)

// proofs of the findings of scope request, whose thresholds are worked out by hand. Where there is no threshold the near one is a request that has
// nearly all of it.
var proofs = map[string]proof{
	"orphan":            {root + "cb.build_meta sched 1ms 2ms parent=gone", root + " cb.build_meta sched 1ms 2ms", "cb.request sched 0ms 9ms parent=away"},
	"negative_duration": {root + " cb.build_meta sched 5ms 4999999ns", root + " cb.build_meta sched 5ms 6ms", root + " cb.build_meta sched 5ms 5ms"},
	"duplicate_root":    {"request server 0ms 1ms\nrequest server 2ms 3ms trace=1", "request server 0ms 1ms", "request server 0ms 1ms\nrequest server2 2ms 3ms trace=1"},
	// Of which two executions one id is, internal/model tests to the ns.
	"request_id_reused": {root + "|reused", root, root + "|candidate"},
	"ambiguous_join":    {"llm_request engine 0ms 9ms|ambiguous", "llm_request engine 0ms 9ms", "llm_request engine 0ms 9ms|candidate"},
	// Which spans a shutdown ended, internal/analyze/clock tests to the ns.
	"shutdown":            {"request server 0ms 1ms\n mp.lookup_prefetch server 0ms 40s +shutdown", "request server 0ms 1ms", "request server 0ms 1ms\n mp.lookup_prefetch server 0ms 40s"},
	"early_exit":          {"request server 0ms 1ms early_exit_reason=empty_chunk_hashes", "request server 0ms 1ms", "request server 0ms 1ms early_exit_reason=None"},
	"stale_chunks":        {server + "stale_chunks=1", server, server + "stale_chunks=0"},
	"dropped_chunks":      {server + "\n cb.scatter server 1ms 2ms dropped=1", server, server + "\n cb.scatter server 1ms 2ms dropped=0"},
	"coordinator_timeout": {server + "\n cb.coordinator_match server 1ms 2ms timed_out=True", server, server + "\n cb.coordinator_match server 1ms 2ms timed_out=False"},
	"rank_not_ok":         {server + "\n cb.classify server 1ms 2ms per_rank_ok=False", server, server + "\n cb.classify server 1ms 2ms per_rank_ok=True"},
	"rank_mismatch": {two + " cb.retrieve server 11ms 20ms worker_id=0", two,
		two + " cb.retrieve server 11ms 20ms worker_id=0\n cb.retrieve server 11ms 20ms worker_id=1"},
	"hit_identity_broken": {server + "hit_tokens=1023 requested_tokens=2048 prefix_hit_tokens=512 non_prefix_hit_tokens=512", server + "hit_tokens=1024 requested_tokens=2048",
		server + "hit_tokens=1024 requested_tokens=2048 prefix_hit_tokens=512 non_prefix_hit_tokens=512"},
	"missing_stage":   {root + " cb.execute worker0 1ms 8ms", root, root + " cb.execute worker0 1ms 8ms\n  cb.model_forward worker0 2ms 7ms"},
	"retrieve_failed": {server + "\n cb.retrieve server 1ms 2ms success=False", server, server + "\n cb.retrieve server 1ms 2ms success=True\n  cb.scatter server 1ms 2ms success=False"},
	"request_error":   {root + " app.step app 1ms 2ms error", root, root + " app.step app 1ms 2ms"},
	// The pass ends at 180 ms.
	"relookup":                   {passes("1024") + " cb.lookup server 180ms 190ms\n", passes("1024"), passes("1024") + " cb.lookup server 179999999ns 190ms\n"},
	double + "partial_then_full": {passes("256", "768"), passes("1024"), passes("256", "769")},
	double + "noop_then_full":    {passes("-", "1024"), passes("1024"), passes("1024", "-")},
	double + "repeat":            {passes("512", "513"), passes("1024"), passes("512", "512")},
	double + "many":              {passes("256", "256", "512"), passes("1024"), passes("256", "768", "0")},
	double + "double_unknown":    {passes("1024", "None"), passes("1024"), passes("1024", "0")},
	"second_pass_in_new_trace":   {again + "cb.retrieve server 60ms 75ms trace=1 worker_id=0", again, again + " cb.retrieve server 60ms 75ms worker_id=0"},
	// The work ended at 32 ms; polls are 10 ms apart.
	"late_poll": {polls + "47000001ns" + looked, polls + "33ms" + looked, polls + "47ms" + looked},
	// The lookup ended at 50 ms; the deadline is 100 ms.
	"retrieve_after_deadline": {deadline + "150000001ns 200ms worker_id=0", deadline + "60ms 70ms worker_id=0", deadline + "150ms 200ms worker_id=0"},
	"store_tail":              {"request server 1ms 2ms\n mp.store server 1500us 3000001ns", "request server 1ms 2ms\n mp.store server 1ms 2ms", "request server 1ms 2ms\n mp.store server 1500us 3ms"},
	"stitched_ranks": {two + " cb.retrieve server 11ms 20ms worker_id=0", two,
		two + " cb.retrieve server 11ms 20ms worker_id=0\n  cb.scatter server 12ms 19ms worker_id=0\n cb.retrieve server 11ms 20ms worker_id=1"},
	"retrieve_without_lookup": {"cb.request server 0ms 90ms\n cb.retrieve server 11ms 20ms worker_id=0", "cb.request server 0ms 90ms",
		"cb.request server 0ms 90ms hit_tokens=0 requested_tokens=0\n cb.retrieve server 11ms 20ms worker_id=0"},
	"hit_not_retrieved": {fmt.Sprintf(lookedFor, 1) + "cb.model_forward worker0 20ms 30ms", fmt.Sprintf(lookedFor, 1), fmt.Sprintf(lookedFor, 0) + "cb.model_forward worker0 20ms 30ms"},
	// Three times the usual 10 ms.
	"starved_poller": {"cb.lookup.rpc sched 0ms 60ms polls=10ms,20ms,50000001ns", "cb.lookup.rpc sched 0ms 60ms polls=10ms,20ms,30ms", "cb.lookup.rpc sched 0ms 60ms polls=10ms,20ms,50ms"},
	// 10 ms before a lookup that takes longer.
	"lookup_could_overlap_queue": {queued + "  cb.lookup.rpc sched 10000001ns 90ms", queued, queued + "  cb.lookup.rpc sched 10ms 90ms"},
	// The call at 10 ms, its load from 20 ms on.
	"device_wait":  {loads + "  cb.retrieve server 20ms 29999999ns worker_id=0", loads, loads + "  cb.retrieve server 20ms 30ms worker_id=0"},
	"context_leak": {leaking + "|leak", leaking, leaking + "|leak elsewhere"},
}

// Every finding is shown by something, not by a request without it, and not by one that has nearly all of it.
func TestEveryFinding(t *testing.T) {
	for i := range Registry {
		f := &Registry[i]
		if f.Scope == Capture {
			continue // package analyze proves those with whole captures
		}
		p, ok := proofs[f.Code]
		if !ok || p.shows == "" || p.not == "" || p.near == "" || p.shows == p.not || p.shows == p.near || p.not == p.near {
			t.Errorf("%s is not proved", f.Code)
			continue
		}
		for _, c := range []struct {
			what, text string
			want       bool
		}{{"what shows it", p.shows, true}, {"what does not", p.not, false}, {"what nearly does", p.near, false}} {
			text, change, _ := strings.Cut(c.text, "|")
			r := modeltest.Linked(t, text)
			in := Inputs{}
			switch change {
			case "":
			case "reused":
				r.Reused = true
			case "candidate":
				r.Candidate = true
			case "ambiguous":
				r.Ambiguous = true
			case "leak":
				in.Unrelated = func(id model.TraceID) bool { return id == r.Spans[1].Trace }
			case "leak elsewhere":
				in.Unrelated = func(id model.TraceID) bool { return id == model.TraceID{Hi: 1, Lo: 1} }
			default:
				t.Fatalf("%s: %q", f.Code, change)
			}
			if got := seen(t, r, in); slices.Contains(strings.Fields(got), f.Code) != c.want {
				t.Errorf("%s, %s: seen are %q", f.Code, c.what, got)
			}
		}
	}
	for code := range proofs {
		if n, ok := ByCode(code); !ok || Registry[n].Scope != Request {
			t.Errorf("%q is no finding of a request", code)
		}
	}
}
