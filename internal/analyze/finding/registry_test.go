package finding

import (
	"strings"
	"testing"
)

// The order and severities of VOCABULARY 5: the place of a code is its bit in saved reports.
const vocabulary = `
orphan r n
negative_duration r w
duplicate_root r w
request_id_reused r w
ambiguous_join r n
shutdown r w
early_exit r w
stale_chunks r w
dropped_chunks r w
coordinator_timeout r w
rank_not_ok r e
rank_mismatch r w
hit_identity_broken r w
missing_stage r w
retrieve_failed r e
request_error r e
relookup r n
double_start_load_kv.partial_then_full r n
double_start_load_kv.noop_then_full r n
double_start_load_kv.repeat r w
double_start_load_kv.many r w
double_start_load_kv.double_unknown r w
second_pass_in_new_trace r n
late_poll r w
retrieve_after_deadline r w
store_tail r n
clock_disagreement c w
dual_mismatch c w
capture_incomplete c w
no_llm_request c n
stitched_ranks r w
retrieve_without_lookup r w
hit_not_retrieved r w
starved_poller r w
lookup_could_overlap_queue r n
device_wait r w
context_leak r n
clock_step c w
`

func TestRegistry(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(vocabulary), "\n")
	if len(rows) != NumFindings || NumFindings > 64 {
		t.Fatalf("%d rows, %d findings, at most 64", len(rows), NumFindings)
	}
	for n, f := range Registry {
		if got := f.Code + " " + f.Scope.String()[:1] + " " + f.Severity.String()[:1]; got != rows[n] {
			t.Errorf("number %d is %q, want %q", n, got, rows[n])
		}
		for _, text := range []string{f.Meaning, f.Detected, f.WhatToDo} {
			if len(text) < 10 || !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q", f.Code, text)
			}
		}
		if (f.say == nil) != (f.Scope == Capture) {
			t.Errorf("%s: a request's finding has a message, a capture's has none", f.Code)
		}
		if i, ok := ByCode(f.Code); !ok || i != n {
			t.Errorf("%s is number %d, found as %d", f.Code, n, i)
		}
	}
	if _, ok := ByCode("double_start_load_kv"); ok {
		t.Error("a family is no code")
	}
	// Thresholds that texts name.
	for n, want := range map[int]string{StarvedPoller: "3 ×", LookupCouldOverlapQueue: "10 ms", DeviceWait: "1 ms", MissingStage: "90 %", RetrieveAfterDeadline: "100 ms", ClockDisagreement: "5 %", ContextLeak: "3 requests", ClockStep: "1 ms", DualMismatch: "90 %", LatePoll: "1.5 ×"} {
		if !strings.Contains(Registry[n].Detected, want) {
			t.Errorf("%s does not say %s: %s", Registry[n].Code, want, Registry[n].Detected)
		}
	}
	// Those that cannot be known for sure say so.
	for _, n := range []int{Shutdown, LatePoll, StitchedRanks, LookupCouldOverlapQueue, DeviceWait, ContextLeak} {
		if !strings.Contains(Registry[n].Detected, "inferred") {
			t.Errorf("%s does not say that it is inferred", Registry[n].Code)
		}
	}
}

func TestCapture(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want bool
	}{
		{"9 of 10 pair", DualMismatches(DualStage{Fewer: 10, Paired: 9}), false},
		{"8 of 9 pair", DualMismatches(DualStage{Fewer: 9, Paired: 8}), true},
		{"never seen both ways", DualMismatches(DualStage{}), false},
		{"whole", Incomplete(InputState{}), false},
		{"a gap", Incomplete(InputState{Gaps: 1}), true},
		{"cut off", Incomplete(InputState{Truncated: true}), true},
		{"never set", ClockSteps(0), false},
		{"set once", ClockSteps(1), true},
		{"no llm_request", LacksLLMRequests(1, 0), true},
		{"one llm_request", LacksLLMRequests(2, 1), false},
		{"nothing at all", LacksLLMRequests(0, 0), false},
		{"9 of 10 loaded", LoadIsMissing(9, 1), true},
		{"8 of 9 loaded", LoadIsMissing(8, 1), false},
		{"all loaded", LoadIsMissing(9, 0), false},
		{"none loaded", LoadIsMissing(0, 9), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}
