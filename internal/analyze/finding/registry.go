// Package finding holds the registry of findings (VOCABULARY 5) and detects those that one request shows (R7.14).
//
// A finding is a row of Registry; its index is its number, which is its bit in a model.FindingSet and in saved reports: rows are only ever
// added at the end. Detect finds the ones of scope request; those of scope capture, and what of missing_stage depends on the whole capture,
// are decided by the functions of capture.go over sums, after the last merge (R2.3).
package finding

import (
	"fmt"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/split"
	"github.com/cbtrace/cbtrace/internal/model"
)

// The numbers of the findings.
const (
	Orphan = iota
	NegativeDuration
	DuplicateRoot
	RequestIDReused
	AmbiguousJoin
	Shutdown
	EarlyExit
	StaleChunks
	DroppedChunks
	CoordinatorTimeout
	RankNotOK
	RankMismatch
	HitIdentityBroken
	MissingStage
	RetrieveFailed
	RequestError
	Relookup
	DoublePartialThenFull
	DoubleNoopThenFull
	DoubleRepeat
	DoubleMany
	DoubleUnknown
	SecondPassInNewTrace
	LatePoll
	RetrieveAfterDeadline
	StoreTail
	ClockDisagreement
	DualMismatch
	CaptureIncomplete
	NoLLMRequest
	StitchedRanks
	RetrieveWithoutLookup
	HitNotRetrieved
	StarvedPoller
	LookupCouldOverlapQueue
	DeviceWait
	ContextLeak
	ClockStep
	NumFindings
)

// DefaultDeadline is when a retrieve after a lookup is late (--deadline).
const DefaultDeadline = 100 * time.Millisecond

// Thresholds. The comparison is always "more than" unless the name says otherwise.
const (
	latePollHalves   = 3  // late_poll: this many halves of the usual interval
	starvedTimes     = 3  // starved_poller: this many usual intervals without a poll
	starvedIntervals = 3  // starved_poller: at least this many intervals, so that there is a usual one
	disagreePercent  = 5  // clock_disagreement: of a process pair's clock pairs; package clock holds them against it
	dualPercent      = 90 // dual_mismatch: fewer of the sightings than this pair
	loadPercent      = 90 // missing_stage: at least this many of the requests with hits have a load
	maxReason        = 64 // bytes of a reason in a message
	maxPasses        = 8  // passes that a message lists
	significantDigit = 4  // digits of a duration in a message
)

const (
	overlapAtLeast    = 10 * time.Millisecond // lookup_could_overlap_queue: what would be saved
	deviceWaitAtLeast = time.Millisecond      // device_wait: however short the retrieve
)

// A Scope says what a finding is about.
type Scope uint8

const (
	Request Scope = iota
	Capture
)

func (s Scope) String() string { return [...]string{"request", "capture"}[s] }

// A Severity says how much a finding matters. Errors come first.
type Severity uint8

const (
	Error Severity = iota
	Warning
	Note
)

func (s Severity) String() string { return [...]string{"error", "warning", "note"}[s] }

// An Info is one row of the registry.
type Info struct {
	Code     string
	Scope    Scope
	Severity Severity
	Meaning  string // one sentence
	Detected string // how it is found, with its threshold; says inferred where it is
	WhatToDo string // one sentence

	say func(d *Detector, spans []*model.Span) string // the message of scope request
}

const double = "double_start_load_kv."

// Registry is VOCABULARY 5, indexed by number.
var Registry = [NumFindings]Info{
	Orphan: {"orphan", Request, Note, "A span names a parent that is not in the request, so it was hung where it fits.",
		"A parent id that no span of the request has; root stages are never orphans (R4.17).",
		"Look for a file, process or sampler that is missing from the capture; a root that the server never closed is exported only at shutdown.", sayOrphan},
	NegativeDuration: {"negative_duration", Request, Warning, "A span ends before it starts; it is left out of every statistic and has no length on the path.",
		"End before start in the file.", "Check whether the clock of the process was stepped while it ran.", sayNegative},
	DuplicateRoot: {"duplicate_root", Request, Warning, "One process wrote two roots of the same kind for this request.",
		"Two root spans of one stage in one process, unless each holds a lookup of its own (R4.22).",
		"Expect the second where a span arrived after the root had closed; otherwise look for a session id that is used twice.", sayDuplicateRoot},
	RequestIDReused: {"request_id_reused", Request, Warning, "The id was used for another execution before this one.",
		"A second root more than 60 s after the first window ended and with a lookup of its own, or from another instance of the same service and host (R4.7).",
		"Make request ids unique; clients that choose their own ids collide.", sayReused},
	AmbiguousJoin: {"ambiguous_join", Request, Note, "The external id of this llm_request fits several internal ids, so it was joined with none.",
		"Several internal ids are equal to gen_ai.request.id once their prefix and suffix are stripped (R4.2).",
		"Look at the candidates, which name the same external id: retries and n > 1 share it.", sayAmbiguous},
	Shutdown: {"shutdown", Request, Warning, "A span was ended because its process was stopped, so its duration means nothing.",
		"A server's span longer than 30 s and 20 × the p99 of its stage that ends within 10 ms of the process's last instant, and is not alone there (R4.30); inferred.",
		"Find out why it was still open: a client that stopped polling, a retrieve that never ran; --keep-shutdown counts such spans.", sayShutdown},
	EarlyExit: {"early_exit", Request, Warning, "The lookup ended before it searched, so nothing could be found.",
		"early_exit_reason is not empty, or no_gpu_context is true.",
		"Read the reason: no_gpu_context means that the engine's worker was not registered with the server.", sayEarlyExit},
	StaleChunks: {"stale_chunks", Request, Warning, "Chunks matched that are no longer stored.",
		"stale_chunks or stale above 0.", "Compare evictions with the size of the cache; the match table outlives the chunks.", sayStale},
	DroppedChunks: {"dropped_chunks", Request, Warning, "Chunks that were found were not written to the GPU.",
		"dropped above 0.", "Look at the shortfall and at the passes: chunks beyond the allocated blocks are dropped.", sayDropped},
	CoordinatorTimeout: {"coordinator_timeout", Request, Warning, "The coordinator's match came too late, so only local chunks counted.",
		"timed_out is true.", "Check the coordinator's load and the deadline of its match.", sayTimeout},
	RankNotOK: {"rank_not_ok", Request, Error, "A rank lacks chunks that the others have.",
		"per_rank_ok is false.", "Check the worker that failed to store or whose part was evicted alone.", sayRankNotOK},
	RankMismatch: {"rank_mismatch", Request, Warning, "Fewer ranks loaded than the request has.",
		"Fewer distinct worker_id on cb.retrieve than the largest world_size of the request, at least one.",
		"Check whether a rank failed, or whether the server's spans of several ranks overwrote each other.", sayRankMismatch},
	HitIdentityBroken: {"hit_identity_broken", Request, Warning, "The parts of hit_tokens do not add up to it.",
		"hit ≠ l1 + l2, or hit ≠ prefix + segmented_prefix + non_prefix, where the parts are there (R7.5); no number is repaired.",
		"Trust hit_tokens for the rate and none of the splits; matches that overlap count once in the total.", sayIdentity},
	MissingStage: {"missing_stage", Request, Warning, "A stage that must have run was not recorded.",
		fmt.Sprintf("A cb.execute without cb.model_forward; and hits but no retrieve or scatter, while at least %d %% of such requests of the capture have one. "+
			"The second is told by all requests together: report and gate count it, and inspect --finding, list and --where find the first alone.", loadPercent),
		"Look for dropped spans, or for a load that was skipped; cbtrace report --format json names the 20 longest of both kinds among its findings.", sayMissing},
	RetrieveFailed: {split.RetrieveFailed, Request, Error, "A retrieve failed, so the tokens had to be computed again.",
		"success is false on cb.retrieve or mp.retrieve.", "Read the server's log of that time; compare hit rate and written tokens.", sayRetrieveFailed},
	RequestError: {split.RequestError, Request, Error, "A span of the request ended in an error.",
		"Status ERROR on any span.", "Open the span with inspect.", sayError},
	Relookup: {"relookup", Request, Note, "The request was looked up and loaded again.",
		"A lookup that starts after a pass of the attempt before it ended (R7.9): a preemption or a retry.",
		"Look for preemptions in the engine: each costs a whole load.", sayRelookup},
	DoublePartialThenFull: {double + "partial_then_full", Request, Note, "A first pass loaded a part and a second the rest, as expected where blocks are allocated late.",
		"Two passes of one rank and attempt; the first wrote less than hit_tokens, together at most that (R7.10).",
		"Nothing, unless the gap between the passes costs time.", sayDouble},
	DoubleNoopThenFull: {double + "noop_then_full", Request, Note, "A first pass found nothing to do yet and a second loaded everything.",
		"Two passes of one rank and attempt, the first left no retrieve; in a capture of the server alone a retrieve in another trace, after the end of the server's cb.request (R7.10).",
		"Nothing, unless the first pass costs time.", sayDouble},
	DoubleRepeat: {double + "repeat", Request, Warning, "The same tokens were loaded twice.",
		"Two passes of one rank and attempt that together wrote more than hit_tokens; hits unknown: the same count twice (R7.10).",
		"Check why the connector loads again: the wasted tokens were copied for nothing.", sayDouble},
	DoubleMany: {double + "many", Request, Warning, "A rank loaded three times or more.",
		"Three passes or more of one rank and attempt that wrote something (R7.10).", "Look at the passes: blocks that are allocated piece by piece load piece by piece.", sayDouble},
	DoubleUnknown: {double + "double_unknown", Request, Warning, "A rank loaded twice and the spans do not say why.",
		"Two passes of one rank and attempt that fit no other verdict, or do not say what they wrote (R7.10).",
		"Look at the passes; a server that reports scattered_tokens makes them comparable.", sayDouble},
	SecondPassInNewTrace: {"second_pass_in_new_trace", Request, Note, "The load that counts is in another trace than the server's request.",
		"A cb.retrieve of the same attempt in another trace than the last server cb.request that started before it.",
		"Nothing: the first pass ended the server's request; cbtrace joined them by id.", sayNewTrace},
	LatePoll: {"late_poll", Request, Warning, "The answer was ready and nobody asked for it.",
		"The last poll came more than 1.5 × the median poll interval of the request after the server's last work ended; without poll lines inferred from n_polls and the end of the rpc (R7.4).",
		"Look at what kept the scheduler's loop busy between the polls.", sayLatePoll},
	RetrieveAfterDeadline: {"retrieve_after_deadline", Request, Warning, "The load began long after the lookup had its answer.",
		fmt.Sprintf("More than --deadline (%d ms) from the end of the last server lookup before it, without any the rpc, to the first retrieve of an attempt.", DefaultDeadline/time.Millisecond),
		"Compare with queue time and with the start of start_load_kv: the request may have waited for blocks.", sayDeadline},
	StoreTail: {"store_tail", Request, Note, "Background work ran on for longer than the request itself took.",
		"The tail is longer than the window (R4.25).", "Nothing for this request; it may hold the device up for the next ones.", sayTail},
	ClockDisagreement: {"clock_disagreement", Capture, Warning, "The clocks of two processes do not fit one line, so times across them are doubtful.",
		fmt.Sprintf("Over %d %% of a process pair's clock pairs disagree with the estimate, or over half of its intervals are empty (R5.2).", disagreePercent),
		"Check time synchronisation for steps; compare with --no-skew.", nil},
	DualMismatch: {"dual_mismatch", Capture, Warning, "A stage was seen as spans and as profile lines that do not fit together.",
		fmt.Sprintf("Under %d %% of the sightings of a stage pair, of the fewer of spans and lines in the requests that have both.", dualPercent),
		"Check the clocks and the names of the lines (--profile-map); such work counts twice.", nil},
	CaptureIncomplete: {"capture_incomplete", Capture, Warning, "The capture says itself that something is missing.",
		"Dropped events, gaps in sequence numbers, inputs that end in the middle of a record.", "Treat counts and rates as lower bounds, or capture again.", nil},
	NoLLMRequest: {"no_llm_request", Capture, Note, "The engine wrote no llm_request, so there is no time to first token and no queue time, and latency is the server's.",
		"No llm_request in the capture.", "Check the engine's --otlp-traces-endpoint and that its file is part of the capture.", nil},

	StitchedRanks: {"stitched_ranks", Request, Warning, "Spans of several ranks were made into one, so durations of retrieves are mixed.",
		"With a world_size above 1: a cb.scatter that names another rank than the cb.retrieve above it, or an attempt with fewer cb.retrieve than world_size, at least one; the latter is inferred.",
		"Do not compare ranks; the server keeps one open span per session and event, whichever rank it came from.", sayStitched},
	RetrieveWithoutLookup: {"retrieve_without_lookup", Request, Warning, "Something was loaded and no lookup was recorded.",
		"A cb.retrieve or mp.retrieve, no lookup span of any kind, and no numbers of one.",
		"Look for a capture that began too late, for dropped events, or for a session id that changed on the way.", sayNoLookup},
	HitNotRetrieved: {"hit_not_retrieved", Request, Warning, "Tokens were found, the model ran, and nothing was loaded.",
		"hit_tokens above 0, a span of the server and a cb.model_forward, but neither retrieve nor scatter.",
		"Check why the connector skipped the load; these tokens were computed again.", sayNotRetrieved},
	StarvedPoller: {"starved_poller", Request, Warning, "The scheduler did not come round to polling for long.",
		fmt.Sprintf("More than %d × the median poll interval of the request between two polls of a lookup with at least %d intervals; needs poll lines.", starvedTimes, starvedIntervals),
		"Look at what else the scheduler did then: a poll or a step that blocks its loop.", sayStarved},
	LookupCouldOverlapQueue: {"lookup_could_overlap_queue", Request, Note, "The lookup began only when the request left the queue, though it could have run while it waited.",
		fmt.Sprintf("Of the time in queue of an llm_request more than %d ms passed before the first lookup began, which took more than that and ended within it, whatever the clocks leave open; inferred.", overlapAtLeast/time.Millisecond),
		"Start lookups when requests arrive, if the connector can.", sayOverlap},
	DeviceWait: {"device_wait", Request, Warning, "A load waited longer for its device than it then took.",
		fmt.Sprintf("From the start of cb.start_load_kv to the first cb.retrieve inside it more than that lasted and more than %d ms, whatever the clocks leave open; the call stands for the submit: inferred.", deviceWaitAtLeast/time.Millisecond),
		"Look for other retrieves and stores on that device: they share a stream.", sayDeviceWait},
	ContextLeak: {"context_leak", Request, Note, "A trace of this request holds unrelated requests too, so it cannot be told from them by its trace.",
		fmt.Sprintf("A trace with spans of %d requests or more whose ids have nothing to do with each other: neither choices nor prompts of one call, nor retries under one external id; inferred, for a client may do so on purpose.", model.UnrelatedAtLeast),
		"Nothing where one client's trace makes several calls; otherwise check what sets the trace context: one of the process, or a client's that is never renewed. cbtrace keeps the requests apart.", sayLeak},
	ClockStep: {"clock_step", Capture, Warning, "The wall clock of a process was set while it recorded, so its times before and after do not go together.",
		"A recording (.lct) whose wall clock goes ahead of its monotonic clock, or falls behind, by more than 1 ms and a thousandth of the time between (which a clock that is slewed may), and stays so; counts recordings.",
		"Look at the notes on the input for when and by how much; read clocks and clock_disagreement with care, and use a time service that slews.", nil},
}

// ByCode is the number of a code.
func ByCode(code string) (int, bool) {
	for n := range Registry {
		if Registry[n].Code == code {
			return n, true
		}
	}
	return 0, false
}
