// Package inspect makes the document of `cbtrace inspect`: everything that is known of one request, where its time went, what the cache did
// for it, and where each number came from (OUTPUT inspect).
package inspect

import (
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// The fields are in the order of OUTPUT. Numbers that are not known are null, texts that are not known are absent (DESIGN 10).

// Schema names the document and its version.
const Schema = "cbtrace.inspect/v1"

// A Document is one request.
type Document struct {
	Schema       string         `json:"schema" enum:"cbtrace.inspect/v1" doc:"name and version of this document"`
	Request      Request        `json:"request"`
	Window       Window         `json:"window" doc:"what the caller waited, or the server side of it"`
	TailNS       int64          `json:"tail_ns" doc:"background work past the window"`
	Spans        []Span         `json:"spans" doc:"in order of (start, id); those without a time last"`
	CriticalPath CriticalPath   `json:"critical_path" doc:"what the window was spent on, one span at a time"`
	Lookup       []Lookup       `json:"lookup" doc:"where the time of each lookup went, in order of start"`
	Hits         Hits           `json:"hits" doc:"what was asked for, found and loaded"`
	Loads        Loads          `json:"loads" doc:"passes of start_load_kv"`
	Blend        Blend          `json:"blend" doc:"work of CacheBlend"`
	Transfers    []Transfer     `json:"transfers" doc:"copies between GPU and cache server, in order of start"`
	Findings     []Finding      `json:"findings" doc:"errors first, then by code"`
	Clock        []report.Clock `json:"clock" doc:"of the processes of this request"`
	Quality      Quality        `json:"quality" doc:"doubts about the records of this request"`
	Against      *Against       `json:"against,omitempty" doc:"only with --against"`

	Why *Why `json:"-"` // a table only, in v1

	Pairs []report.Clock `json:"-"` // of the processes of this request, as the report has them: each against another, with a route between or without
}

// Request is who the request is and what the engine said of it.
type Request struct {
	ID               string    `json:"id" doc:"internal id, else external id, else trace id; id#2 for a second execution"`
	ExternalID       string    `json:"external_id,omitempty" doc:"what the client knows it by"`
	Key              string    `json:"key" enum:"id|trace"`
	Traces           []string  `json:"traces" doc:"trace ids of its spans, sorted"`
	Model            string    `json:"model" doc:"unknown where nothing names it"`
	RootStage        string    `json:"root_stage" doc:"(synthetic) where no span was recorded that is the root"`
	RootDurationNS   model.Opt `json:"root_duration_ns" doc:"of the root's own span"`
	TTFTNS           model.Opt `json:"ttft_ns" doc:"time to first token; this and the next three as the engine says, not time on the path"`
	QueueNS          model.Opt `json:"queue_ns"`
	PrefillNS        model.Opt `json:"prefill_ns"`
	DecodeNS         model.Opt `json:"decode_ns"`
	PromptTokens     model.Opt `json:"prompt_tokens"`
	CompletionTokens model.Opt `json:"completion_tokens"`
}

// Window is when the request was going on; null where nothing was timed.
type Window struct {
	StartUnixNS   model.Opt `json:"start_unix_ns"`
	DurationNS    model.Opt `json:"duration_ns"`
	UncertaintyNS model.Opt `json:"uncertainty_ns" doc:"how far its ends may be wrong"`
}

// A Span is one span of the tree. Times are null where none was written.
type Span struct {
	ID             string         `json:"id"`
	Trace          string         `json:"trace,omitempty"`
	Parent         string         `json:"parent,omitempty" doc:"absent for the root"`
	OriginalParent string         `json:"original_parent,omitempty" doc:"the parent id as read, only where it differs"`
	Edge           string         `json:"edge" enum:"parent|propagated|adopted|root" doc:"how it came under its parent"`
	Stage          string         `json:"stage" doc:"the unified name, or the name as read"`
	Name           string         `json:"name" doc:"as read"`
	Owner          string         `json:"owner,omitempty" enum:"engine|scheduler|worker|server" doc:"the kind of process; absent for names outside the vocabulary"`
	Process        string         `json:"process"`
	Class          string         `json:"class" enum:"work|background|breakdown|point"`
	StartNS        model.Opt      `json:"start_ns" doc:"from the start of the window, aligned"`
	RawStartUnixNS model.Opt      `json:"raw_start_unix_ns" doc:"as read"`
	DurationNS     model.Opt      `json:"duration_ns" doc:"null where no end was written, negative where the end comes before the start"`
	SelfNS         model.Opt      `json:"self_ns" doc:"time in no child"`
	CriticalNS     model.Opt      `json:"critical_ns" doc:"time on the critical path"`
	Attributes     map[string]any `json:"attributes,omitempty"`
	Sources        []Source       `json:"sources,omitempty" doc:"the records it was read from"`
	Flags          []string       `json:"flags" enum:"duplicate_id|cycle_cut|open|untimed|orphan|clipped|outside|fitted|synthetic|transparent|shutdown|negative"`
	UncertaintyNS  model.Opt      `json:"uncertainty_ns" doc:"how far start_ns may be wrong: how well the clocks of this span and of the root are known against each other; null where they are not"`
}

// A Source is where a record was read. Exactly one of line and offset is there.
type Source struct {
	File   string `json:"file"`
	Format string `json:"format"`
	Line   *int64 `json:"line,omitempty" doc:"from 1"`
	Offset *int64 `json:"offset,omitempty" doc:"in bytes, after decompression"`
	Joined string `json:"joined" enum:"id|trace|normalised_id|adopted|hash" doc:"why it is in this request"`
}

// CriticalPath is an exact partition of the window. Totals are largest first, ties by name.
type CriticalPath struct {
	TotalNS  int64              `json:"total_ns" doc:"the window"`
	Segments []Segment          `json:"segments" doc:"in order of time, disjoint, adding up to the total"`
	ByStage  []report.StageTime `json:"by_stage"`
	ByBound  []report.BoundTime `json:"by_bound"`
	TTFT     *report.TTFTPath   `json:"ttft,omitempty" doc:"up to the first token; absent where it is not known"`
}

// A Segment is a stretch of the window that one span held.
type Segment struct {
	Kind       string `json:"kind" enum:"self|overlap|gap" doc:"no blocking child was running, one off the path was, or the time is in no span"`
	Stage      string `json:"stage"`
	Span       string `json:"span" doc:"id of the span that holds it"`
	During     string `json:"during,omitempty" doc:"of an overlap: the stage that was running"`
	StartNS    int64  `json:"start_ns" doc:"from the start of the window"`
	DurationNS int64  `json:"duration_ns"`
	Bound      string `json:"bound" enum:"queue|engine|decode|rpc|poll|match|l2_io|l1|gpu_copy|recompute|forward|unexplained" doc:"what limits it"`
}

// A Lookup is the split of one lookup; submit + l2_load + server_other + poll_wait = rpc where all are known.
type Lookup struct {
	RPCNS             model.Opt `json:"rpc_ns" doc:"the scheduler's call, submit to answer"`
	SubmitNS          model.Opt `json:"submit_ns" doc:"before the server began"`
	L2LoadNS          model.Opt `json:"l2_load_ns" doc:"loading from disk or a remote store"`
	L2LoadMinNS       model.Opt `json:"l2_load_min_ns" doc:"of an upper bound: what it lasted at least"`
	ServerOtherNS     model.Opt `json:"server_other_ns" doc:"other work of the server"`
	PollWaitNS        model.Opt `json:"poll_wait_ns" doc:"the answer was there, nobody had asked yet"`
	ServerNS          model.Opt `json:"server_ns" doc:"of the basis no_rpc: the legs and the wait"`
	WaitNS            model.Opt `json:"wait_ns" doc:"of the basis no_rpc: time of the server's lookup in none of its legs"`
	Legs              []Leg     `json:"legs,omitempty" doc:"of the basis no_rpc; they may overlap"`
	NPolls            model.Opt `json:"n_polls"`
	PollMaxIntervalNS model.Opt `json:"poll_max_interval_ns"`
	OvershootNS       model.Opt `json:"overshoot_ns" doc:"from the end of the server's work to the poll that saw it"`
	Basis             string    `json:"basis" enum:"measured|inferred_upper|durations_only|no_server|no_rpc" doc:"how the parts are known"`
	UncertaintyNS     model.Opt `json:"uncertainty_ns" doc:"how far submit and poll_wait may be wrong: how well the clocks of caller and server are known against each other; null where they are not"`
	UpperBounds       []string  `json:"upper_bounds,omitempty" enum:"l2_load|server_other" doc:"of the basis inferred_upper: the parts that may be shorter than said"`
}

// The parts of a lookup that may be known from above only (R7.2).
const (
	UpperL2Load      = "l2_load"
	UpperServerOther = "server_other"
)

// A Leg is a part of a lookup that the server recorded.
type Leg struct {
	Stage string `json:"stage"`
	NS    int64  `json:"ns"`
}

// Hits is what the cache was asked for, found and delivered.
type Hits struct {
	RequestedTokens       model.Opt      `json:"requested_tokens"`
	HitTokens             model.Opt      `json:"hit_tokens"`
	HitRate               model.OptFloat `json:"hit_rate" doc:"hit / requested; null when nothing was requested"`
	Class                 string         `json:"class" enum:"miss|partial|full|none"`
	PrefixTokens          model.Opt      `json:"prefix_tokens"`
	SegmentedPrefixTokens model.Opt      `json:"segmented_prefix_tokens"`
	NonPrefixTokens       model.Opt      `json:"non_prefix_tokens"`
	L1Tokens              model.Opt      `json:"l1_tokens"`
	L2Tokens              model.Opt      `json:"l2_tokens"`
	L1Keys                model.Opt      `json:"l1_keys"`
	L2Keys                model.Opt      `json:"l2_keys"`
	WrittenTokens         model.Opt      `json:"written_tokens" doc:"loaded into the GPU by the last attempt that loaded"`
	EffectiveReuse        model.OptFloat `json:"effective_reuse" doc:"written / requested"`
	ShortfallTokens       model.Opt      `json:"shortfall_tokens" doc:"hit - written"`
	EarlyExitReason       string         `json:"early_exit_reason,omitempty"`
}

// Loads is how often the cached tokens were loaded.
type Loads struct {
	Attempts     int       `json:"attempts" doc:"a further one begins at each lookup after a load has ended"`
	Overlapping  bool      `json:"overlapping" doc:"two passes of a rank overlap"`
	Passes       []Pass    `json:"passes"`
	Verdict      string    `json:"verdict" enum:"none|partial_then_full|noop_then_full|repeat|many|double_unknown"`
	WastedTokens model.Opt `json:"wasted_tokens" doc:"written beyond the hits"`
}

// A Pass is one load by one rank.
type Pass struct {
	Attempt       int       `json:"attempt" doc:"from 1"`
	Worker        string    `json:"worker,omitempty" doc:"the rank, or the device of an mp.retrieve"`
	Span          string    `json:"span"`
	StartNS       int64     `json:"start_ns" doc:"from the start of the window"`
	DurationNS    int64     `json:"duration_ns"`
	WrittenTokens model.Opt `json:"written_tokens"`
}

// Blend is what CacheBlend says of its work, added up over the request.
type Blend struct {
	L2Bytes           model.Opt      `json:"l2_bytes"`
	L2Chunks          model.Opt      `json:"l2_chunks"`
	L2GBps            model.OptFloat `json:"l2_gbps" doc:"decimal, over the time covered by the loads"`
	Matches           model.Opt      `json:"matches"`
	TableHits         model.Opt      `json:"table_hits"`
	Probes            model.Opt      `json:"probes"`
	L1Hits            model.Opt      `json:"l1_hits" doc:"keys"`
	L2Misses          model.Opt      `json:"l2_misses" doc:"keys"`
	ScatteredTokens   model.Opt      `json:"scattered_tokens" doc:"this and the rest by one rank: all do the same"`
	SlotWrites        model.Opt      `json:"slot_writes"`
	PrefixChunks      model.Opt      `json:"prefix_chunks"`
	ShiftedChunks     model.Opt      `json:"shifted_chunks"`
	DroppedChunks     model.Opt      `json:"dropped_chunks"`
	PartialBlocks     model.Opt      `json:"partial_blocks"`
	ScatterTokensPerS model.OptFloat `json:"scatter_tokens_per_s"`
	ImpCount          model.Opt      `json:"imp_count" doc:"tokens chosen to be recomputed"`
	RecompRatio       model.OptFloat `json:"recomp_ratio" doc:"mean where several are said"`
	Dispatch          string         `json:"dispatch,omitempty" doc:"several are separated by commas"`
	ImpEmpty          model.Opt      `json:"imp_empty" doc:"how often nothing was to be recomputed"`
}

// A Transfer is what a store or retrieve of the standard path spent its time on: kernel + staging + idle is the parent.
type Transfer struct {
	Parent      string         `json:"parent" doc:"id of the mp.store or mp.retrieve"`
	KernelNS    int64          `json:"kernel_ns" doc:"mostly waiting for the engine"`
	StagingNS   int64          `json:"staging_ns"`
	IdleNS      int64          `json:"idle_ns" doc:"in neither; negative where they ran side by side"`
	Bytes       int64          `json:"bytes"`
	StagingGBps model.OptFloat `json:"staging_gbps" doc:"decimal"`
	FirstUnixNS model.Opt      `json:"first_unix_ns" doc:"real first and last instant, on the server's clock"`
	LastUnixNS  model.Opt      `json:"last_unix_ns"`
}

// A Finding is something worth reading about the request.
type Finding struct {
	Code     string   `json:"code"`
	Severity string   `json:"severity" enum:"error|warning|note"`
	Message  string   `json:"message"`
	Spans    []string `json:"spans" doc:"ids of the spans that show it"`
}

// Quality is what was odd about the records of the request.
type Quality struct {
	SpansRead     int64         `json:"spans_read" doc:"copies counted"`
	RecordsRead   int64         `json:"records_read" doc:"lines, points and recorded calls"`
	Skipped       model.Opt     `json:"skipped" doc:"null: nobody knows the request of a record that could not be read"`
	Duplicated    int64         `json:"duplicated" doc:"exact copies that were dropped"`
	Conflicting   int64         `json:"conflicting" doc:"spans that repeat an id with other content"`
	Unattributed  int64         `json:"unattributed" doc:"0: a span that belongs to no request is not here"`
	Orphaned      int64         `json:"orphaned" doc:"spans whose parent is not in the request"`
	Adopted       int64         `json:"adopted" doc:"spans whose parent was inferred"`
	Clipped       int64         `json:"clipped" doc:"spans cut to their parent for the path"`
	Outside       int64         `json:"outside" doc:"spans wholly outside their parent"`
	Cycles        int64         `json:"cycles" doc:"rings of parents that were cut"`
	Negative      int64         `json:"negative" doc:"spans that end before they start"`
	Untimed       int64         `json:"untimed"`
	Open          int64         `json:"open" doc:"spans without an end"`
	UnknownStages int64         `json:"unknown_stages" doc:"spans with a name outside the vocabulary"`
	Joins         []report.Join `json:"joins" doc:"how records came to be in this request; by from, to, by"`
	OpenCopies    int64         `json:"open_copies" doc:"copies without an end of spans that have one"`
	Coalesced     int64         `json:"coalesced" doc:"profile lines that were made one span with others"`
	Dual          int64         `json:"dual" doc:"spans that were seen as a profile line too"`
}
