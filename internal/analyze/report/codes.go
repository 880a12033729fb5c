package report

// The findings that a report treats apart, by their number in the order of VOCABULARY 5.
const (
	findMissingStage      = 13
	findRetrieveFailed    = 14
	findRequestError      = 15
	findClockDisagreement = 26
	findDualMismatch      = 27
	findCaptureIncomplete = 28
	findNoLLMRequest      = 29
)

var codes = [...]Finding{
	{Code: "orphan", Severity: "note"}, {Code: "negative_duration", Severity: "warning"}, {Code: "duplicate_root", Severity: "warning"},
	{Code: "request_id_reused", Severity: "warning"}, {Code: "ambiguous_join", Severity: "note"}, {Code: "shutdown", Severity: "warning"},
	{Code: "early_exit", Severity: "warning"}, {Code: "stale_chunks", Severity: "warning"}, {Code: "dropped_chunks", Severity: "warning"},
	{Code: "coordinator_timeout", Severity: "warning"}, {Code: "rank_not_ok", Severity: "error"}, {Code: "rank_mismatch", Severity: "warning"},
	{Code: "hit_identity_broken", Severity: "warning"}, {Code: "missing_stage", Severity: "warning"}, {Code: "retrieve_failed", Severity: "error"},
	{Code: "request_error", Severity: "error"}, {Code: "relookup", Severity: "note"}, {Code: "double_start_load_kv.partial_then_full", Severity: "note"},
	{Code: "double_start_load_kv.noop_then_full", Severity: "note"}, {Code: "double_start_load_kv.repeat", Severity: "warning"},
	{Code: "double_start_load_kv.many", Severity: "warning"}, {Code: "double_start_load_kv.double_unknown", Severity: "warning"},
	{Code: "second_pass_in_new_trace", Severity: "note"}, {Code: "late_poll", Severity: "warning"}, {Code: "retrieve_after_deadline", Severity: "warning"},
	{Code: "store_tail", Severity: "note"}, {Code: "clock_disagreement", Scope: "capture", Severity: "warning"},
	{Code: "dual_mismatch", Scope: "capture", Severity: "warning"}, {Code: "capture_incomplete", Scope: "capture", Severity: "warning"},
	{Code: "no_llm_request", Scope: "capture", Severity: "note"},
}

func newFinding(number int, n int64, exemplars []string) Finding {
	f := codes[number]
	if f.Scope == "" {
		f.Scope = "request"
	}
	f.Count, f.Exemplars = n, exemplars
	return f
}
