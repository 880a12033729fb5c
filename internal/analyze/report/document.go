package report

import "github.com/cbtrace/cbtrace/internal/model"

// The document of `report --format json`, its fields in the order of OUTPUT. Numbers that are not known are null (DESIGN 10).

// Schema names the document and its version.
const Schema = "cbtrace.report/v1"

// A Document is a report.
type Document struct {
	Schema            string             `json:"schema" enum:"cbtrace.report/v1" doc:"name and version of this document"`
	Inputs            []Input            `json:"inputs" doc:"what was read, by path"`
	Window            Window             `json:"window" doc:"first start to last end of what was recorded, outliers left out"`
	Survey            string             `json:"survey" enum:"whole|sampled|given|per_shard" doc:"what clocks and facts of processes were estimated from"`
	Clock             []Clock            `json:"clock" doc:"what is added to the clocks of processes"`
	Requests          Requests           `json:"requests"`
	Latency           Series             `json:"latency" doc:"windows of the requests in latency: what callers waited, or the server side of it"`
	TTFT              Series             `json:"ttft" doc:"time to first token"`
	Queue             Series             `json:"queue" doc:"time in the engine's queue"`
	DecodePerToken    Series             `json:"decode_per_token" doc:"decode time of a token after the first, of requests with at least two"`
	SLO               []SLOResult        `json:"slo" doc:"bounds of --slo and how many requests keep them"`
	Stages            []Stage            `json:"stages" doc:"by time on the critical path, largest first, then by name"`
	CriticalPath      CriticalPath       `json:"critical_path" doc:"critical paths of the requests in latency, added up"`
	Lookup            Lookup             `json:"lookup" doc:"where the time of lookups went"`
	Hits              Hits               `json:"hits" doc:"tokens found in the cache, of all requests with a lookup"`
	Groups            []Group            `json:"groups" doc:"requests by --by"`
	DoubleStartLoadKV DoubleLoads        `json:"double_start_load_kv" doc:"requests that loaded more than once"`
	Blend             Blend              `json:"blend" doc:"work of CacheBlend"`
	Transfers         Transfers          `json:"transfers" doc:"copies between GPU and cache server"`
	Failed            Failed             `json:"failed"`
	Load              Load               `json:"load" doc:"of all requests, over the range of the capture within --since and --until"`
	Findings          []Finding          `json:"findings" doc:"errors first, then by count, then by code"`
	Slowest           []SlowRequest      `json:"slowest" doc:"the 20 longest, by time to first token where at least half of the requests have one"`
	Quality           Quality            `json:"quality" doc:"doubts about the input"`
	Buckets           []BucketResult     `json:"buckets" doc:"requests by start of their window; stretches without requests are left out"`
	Confidence        []Interval         `json:"confidence" doc:"where percentiles of ttft and latency lie with 95 % confidence"`
	Models            map[string]float64 `json:"models" doc:"share of the requests by model; of more than 30,000 requests estimated from a sample"`
	CacheWorth        *CacheWorth        `json:"cache_worth" doc:"what the cache took of the time and what it saved; null where that cannot be told"`
	Selected          Window             `json:"selected" doc:"what of window lies within --since and --until: load is over that"`
}

// An Input is a file that was read, or could not be.
type Input struct {
	File       string   `json:"file"`
	Format     string   `json:"format" doc:"as it was recognised, with +gzip, +zstd, +framed"`
	Bytes      int64    `json:"bytes" doc:"on disk"`
	Spans      int64    `json:"spans" doc:"as read, before duplicates are dropped"`
	Records    int64    `json:"records" doc:"lines, points and recorded calls as read"`
	Skipped    int64    `json:"skipped" doc:"records that could not be used"`
	Errors     []string `json:"errors" doc:"the first 20, with their places"`
	ErrorCount int64    `json:"error_count"`

	Notes   []string `json:"-"` // choices and remarks; told by check
	Lost    bool     `json:"-"` // nothing of it could be used, though there ought to be something
	Foreign bool     `json:"-"` // it is of no format that is read
}

// A Window is a stretch of time, null where nothing was timed.
type Window struct {
	StartUnixNS model.Opt `json:"start_unix_ns"`
	EndUnixNS   model.Opt `json:"end_unix_ns"`
}

// A Clock is what must be added to instants of a process to read them on the clock of a reference.
type Clock struct {
	Process       string         `json:"process"`
	Reference     string         `json:"reference,omitempty" doc:"absent for a process whose clock nothing in the capture compares with another"`
	OffsetNS      model.Opt      `json:"offset_ns" doc:"at the middle of the capture"`
	UncertaintyNS model.Opt      `json:"uncertainty_ns" doc:"how far the offset may be wrong"`
	DriftPPM      model.OptFloat `json:"drift_ppm"`
	Pairs         int64          `json:"pairs" doc:"pairs of spans known to contain one another"`
	Disagreeing   int64          `json:"disagreeing" doc:"pairs that contradict the estimate"`
	Basis         string         `json:"basis" enum:"pairs|zero|starts|route|none"`
}

// PairsNeeded is how many pairs an estimate takes (R5.4).
const PairsNeeded = 5

// OneSided reports whether a clock is unknown although there are pairs enough: they only say that it is not behind, or not ahead, by more than
// some amount, as starts of server roots do (R5.1).
func (c *Clock) OneSided() bool { return c.Basis == "none" && !c.OffsetNS.OK && c.Pairs >= PairsNeeded }

// Requests counts requests.
type Requests struct {
	Total             int64 `json:"total" doc:"with a stage of the vocabulary, or all"`
	Complete          int64 `json:"complete" doc:"everything that is expected was recorded"`
	Edge              int64 `json:"edge" doc:"cut off by the start or end of the capture: counted, out of percentiles"`
	Other             int64 `json:"other" doc:"without a stage of the vocabulary, not in this report"`
	UnattributedSpans int64 `json:"unattributed_spans" doc:"spans that belong to no request"`
}

// A Series is a distribution of durations in ns. Without values all but n, method and exact are null.
type Series struct {
	N       int64     `json:"n"`
	MeanNS  model.Opt `json:"mean_ns" doc:"total / n, rounded down"`
	P50NS   model.Opt `json:"p50_ns"`
	P90NS   model.Opt `json:"p90_ns"`
	P95NS   model.Opt `json:"p95_ns"`
	P99NS   model.Opt `json:"p99_ns"`
	P999NS  model.Opt `json:"p999_ns"`
	MaxNS   model.Opt `json:"max_ns"`
	TotalNS model.Opt `json:"total_ns"`
	Method  string    `json:"method" enum:"nearest|linear" doc:"nearest rank: a value that happened; or interpolated (numpy's type 7)"`
	Exact   bool      `json:"exact" doc:"false: from a histogram, within 0.4 %"`
}

// Ratios is a distribution of numbers without a unit.
type Ratios struct {
	N    int64          `json:"n"`
	Mean model.OptFloat `json:"mean"`
	P50  model.OptFloat `json:"p50"`
	P90  model.OptFloat `json:"p90"`
	P95  model.OptFloat `json:"p95"`
	P99  model.OptFloat `json:"p99"`
	Max  model.OptFloat `json:"max"`
}

// An SLOResult says how many requests keep a bound.
type SLOResult struct {
	Expr  string         `json:"expr"`
	Met   int64          `json:"met"`
	Of    int64          `json:"of" doc:"requests in latency that have the number"`
	Share model.OptFloat `json:"share"`
}

// A Stage is what one stage of one owner did. The distribution is of its spans, or with --per request of the time they cover in a request,
// without requests at the edge and spans ended by a shutdown.
type Stage struct {
	Stage    string `json:"stage"`
	Owner    string `json:"owner,omitempty" enum:"engine|scheduler|worker|server" doc:"the kind of process; absent for names outside the vocabulary"`
	Class    string `json:"class" enum:"work|background|breakdown|point"`
	Spans    int64  `json:"spans" doc:"all of them"`
	Requests int64  `json:"requests" doc:"with at least one"`
	Series
	SelfNS        int64          `json:"self_ns" doc:"time in no child"`
	CriticalNS    int64          `json:"critical_ns" doc:"on the critical path"`
	CriticalShare model.OptFloat `json:"critical_share" doc:"of the windows of the requests in latency"`
	DragNS        int64          `json:"drag_ns" doc:"critical time while no other work ran beside it, the same stage of another worker included: what would be saved at most if the spans on the path, and they alone, took no time"`
	Longest       string         `json:"longest,omitempty" doc:"the request in which it took longest, all its spans together, for stages of the vocabulary; of more than 30,000 requests one of a sample"`
}

// A StageTime is the time of a stage on a path.
type StageTime struct {
	Stage  string         `json:"stage"`
	NS     int64          `json:"ns"`
	Share  model.OptFloat `json:"share" doc:"of the total"`
	DragNS int64          `json:"drag_ns" doc:"of ns: while no other work ran beside it, the same stage of another worker included: what would be saved at most if the spans on the path, and they alone, took no time"`

	UncertaintyNS model.Opt `json:"uncertainty_ns,omitzero" doc:"of one request: how far ns may be wrong, where it compares the clocks of processes that are known against each other"`

	Rank model.OptFloat `json:"rank,omitzero" doc:"of inspect --against: share of those requests that spent as long or less in it on their path, 0 included"`
}

// A BoundTime is the time on a path that one thing limits.
type BoundTime struct {
	Bound string `json:"bound" enum:"queue|engine|decode|rpc|poll|match|l2_io|l1|gpu_copy|recompute|forward|unexplained"`
	NS    int64  `json:"ns"`
}

// A CriticalPath is the paths of the requests in latency, added up; rows are largest first, ties by name.
type CriticalPath struct {
	TotalNS int64       `json:"total_ns"`
	ByStage []StageTime `json:"by_stage"`
	ByBound []BoundTime `json:"by_bound"`
	TTFT    *TTFTPath   `json:"ttft" doc:"up to the first token, of the requests that have one"`
}

// A TTFTPath is the paths up to the first token.
type TTFTPath struct {
	TotalNS int64       `json:"total_ns"`
	ByStage []StageTime `json:"by_stage"`
	ByBound []BoundTime `json:"by_bound"`
}

// Lookup is the split of lookups.
type Lookup struct {
	N              int64        `json:"n" doc:"all lookups, whatever is known of their parts"`
	RPC            Series       `json:"rpc" doc:"this and its parts: of the bases measured and inferred_upper, zeros included"`
	Submit         Series       `json:"submit"`
	L2Load         Series       `json:"l2_load"`
	ServerOther    Series       `json:"server_other"`
	PollWait       Series       `json:"poll_wait"`
	Wait           Series       `json:"wait" doc:"of the basis no_rpc: time of the server's lookup in none of its legs"`
	L2LoadNNonzero int64        `json:"l2_load_n_nonzero"`
	AtMost         int64        `json:"at_most" doc:"lookups whose l2_load is an upper bound"`
	Totals         LookupTotals `json:"totals"`
	Basis          Bases        `json:"basis" doc:"how the parts are known"`
	UncertaintyNS  model.Opt    `json:"uncertainty_ns" doc:"how far submit and poll_wait of a lookup may be wrong, on average: how well the clocks of caller and server are known against each other"`
}

// LookupTotals are the sums behind the series of Lookup.
type LookupTotals struct {
	RPCNS         model.Opt `json:"rpc_ns"`
	SubmitNS      model.Opt `json:"submit_ns"`
	L2LoadNS      model.Opt `json:"l2_load_ns"`
	ServerOtherNS model.Opt `json:"server_other_ns"`
	PollWaitNS    model.Opt `json:"poll_wait_ns"`
	ServerNS      model.Opt `json:"server_ns"`
	WaitNS        model.Opt `json:"wait_ns"`
}

// Bases counts lookups by how their parts are known.
type Bases struct {
	Measured      int64 `json:"measured"`
	InferredUpper int64 `json:"inferred_upper" doc:"a part may be shorter than said"`
	DurationsOnly int64 `json:"durations_only" doc:"no common clock"`
	NoServer      int64 `json:"no_server" doc:"an rpc alone"`
	NoRPC         int64 `json:"no_rpc" doc:"the server alone"`
}

// Hits are the tokens that were asked for and found.
type Hits struct {
	Requests              int64            `json:"requests" doc:"with a lookup"`
	ZeroRequested         int64            `json:"zero_requested" doc:"of them those that asked for nothing"`
	RequestedTokens       model.Opt        `json:"requested_tokens"`
	HitTokens             model.Opt        `json:"hit_tokens"`
	HitRate               model.OptFloat   `json:"hit_rate" doc:"all tokens found / all asked for"`
	RequestMean           model.OptFloat   `json:"request_mean" doc:"mean over the requests that asked for something"`
	PrefixTokens          model.Opt        `json:"prefix_tokens"`
	SegmentedPrefixTokens model.Opt        `json:"segmented_prefix_tokens"`
	NonPrefixTokens       model.Opt        `json:"non_prefix_tokens"`
	L1Tokens              model.Opt        `json:"l1_tokens"`
	L2Tokens              model.Opt        `json:"l2_tokens"`
	L1Keys                model.Opt        `json:"l1_keys"`
	L2Keys                model.Opt        `json:"l2_keys"`
	WrittenTokens         model.Opt        `json:"written_tokens" doc:"loaded into the GPU"`
	EffectiveReuse        model.OptFloat   `json:"effective_reuse" doc:"written / asked for, of the requests whose written tokens are known"`
	ShortfallTokens       model.Opt        `json:"shortfall_tokens" doc:"found but not written"`
	Classes               Classes          `json:"classes" doc:"all requests by how much was found"`
	EarlyExits            map[string]int64 `json:"early_exits,omitzero" doc:"lookups that ended before they searched, by reason; absent where a saved report does not know"`
}

// Classes counts requests by hit class.
type Classes struct {
	Miss    int64 `json:"miss"`
	Partial int64 `json:"partial"`
	Full    int64 `json:"full"`
	None    int64 `json:"none" doc:"no lookup, no numbers, or nothing asked for"`
}

// A Group is the requests of one value of a grouping.
type Group struct {
	By       string `json:"by" enum:"model|instance|hit_class|worker|prompt_tokens"`
	Value    string `json:"value" doc:"(other): values past 256; unknown: requests that do not say"`
	Requests int64  `json:"requests"`
	Latency  Series `json:"latency"`
	TTFT     Series `json:"ttft"`
	Hits     Hits   `json:"hits"`
}

// DoubleLoads counts requests by the worst verdict on their passes.
type DoubleLoads struct {
	Requests        int64    `json:"requests"`
	PartialThenFull int64    `json:"partial_then_full" doc:"expected: the first wrote less than was found"`
	NoopThenFull    int64    `json:"noop_then_full" doc:"the first loaded nothing"`
	Repeat          int64    `json:"repeat" doc:"tokens written twice"`
	Many            int64    `json:"many" doc:"three passes or more"`
	DoubleUnknown   int64    `json:"double_unknown"`
	WastedTokens    int64    `json:"wasted_tokens" doc:"written beyond what was found, where that is known"`
	Exemplars       []string `json:"exemplars" doc:"the longest, at most 20"`
}

// Blend is the work of CacheBlend: sums over requests, rates over those that gave both parts.
type Blend struct {
	L2Bytes           model.Opt        `json:"l2_bytes"`
	L2Chunks          model.Opt        `json:"l2_chunks"`
	L2GBps            model.OptFloat   `json:"l2_gbps" doc:"bytes / time covered by cb.l2_load, decimal"`
	Matches           model.Opt        `json:"matches"`
	TableHits         model.Opt        `json:"table_hits"`
	Probes            model.Opt        `json:"probes"`
	L1Hits            model.Opt        `json:"l1_hits" doc:"keys"`
	L2Misses          model.Opt        `json:"l2_misses" doc:"keys"`
	ScatteredTokens   model.Opt        `json:"scattered_tokens"`
	SlotWrites        model.Opt        `json:"slot_writes"`
	PrefixChunks      model.Opt        `json:"prefix_chunks"`
	ShiftedChunks     model.Opt        `json:"shifted_chunks" doc:"positions encoded anew"`
	DroppedChunks     model.Opt        `json:"dropped_chunks"`
	PartialBlocks     model.Opt        `json:"partial_blocks"`
	ScatterTokensPerS model.OptFloat   `json:"scatter_tokens_per_s"`
	ImpCount          model.Opt        `json:"imp_count" doc:"tokens to compute again"`
	MatchesPerLookup  Ratios           `json:"matches_per_lookup"`
	RecompRatio       Ratios           `json:"recomp_ratio"`
	Dispatch          map[string]int64 `json:"dispatch" doc:"spans by way of computing"`
	ImpEmpty          model.Opt        `json:"imp_empty" doc:"spans with nothing to compute again"`
}

// Transfers are copies, of stores and retrieves that say how long they took.
type Transfers struct {
	N           int64          `json:"n"`
	Kernel      Series         `json:"kernel" doc:"mostly waiting for the engine: never a rate"`
	Staging     Series         `json:"staging"`
	Idle        Series         `json:"idle" doc:"the rest of the store or retrieve"`
	Bytes       model.Opt      `json:"bytes"`
	StagingGBps model.OptFloat `json:"staging_gbps" doc:"decimal"`
}

// Failed counts requests that failed.
type Failed struct {
	Retrieve    int64            `json:"retrieve" doc:"a retrieve that says it failed"`
	StatusError int64            `json:"status_error" doc:"a span with status ERROR"`
	Aborted     int64            `json:"aborted" doc:"the cache served a request that the engine never finished"`
	ByReason    map[string]int64 `json:"by_reason" doc:"of requests that failed: retrieve_failed, request_error, and why their lookups ended early; being aborted has no reason"`
	Requests    int64            `json:"requests" doc:"with any of the three, once"`
	Exemplars   []string         `json:"exemplars" doc:"the longest, at most 20; of more than 30,000 requests those of a sample"`

	Why []string `json:"-"` // of each of the exemplars: the code of the finding that says so, or aborted
}

// Load is how much was going on.
type Load struct {
	RequestsPerS model.OptFloat `json:"requests_per_s"`
	TokensPerS   model.OptFloat `json:"tokens_per_s" doc:"prompt and completion"`
	Concurrency  Concurrency    `json:"concurrency" doc:"requests open at once"`
}

// Concurrency is how many requests were open at once.
type Concurrency struct {
	Mean model.OptFloat `json:"mean" doc:"all windows / range"`
	Max  model.Opt      `json:"max" doc:"at a whole second"`
}

// A Finding is something worth reading about requests or the capture.
type Finding struct {
	Code      string   `json:"code"`
	Scope     string   `json:"scope" enum:"request|capture"`
	Severity  string   `json:"severity" enum:"error|warning|note"`
	Count     int64    `json:"count" doc:"requests that show it, once each; of a capture: processes, stages or inputs"`
	Exemplars []string `json:"exemplars" doc:"requests, the longest, at most 20"`
}

// A SlowRequest is a row of the slowest.
type SlowRequest struct {
	ID         string    `json:"id"`
	DurationNS int64     `json:"duration_ns"`
	TTFTNS     model.Opt `json:"ttft_ns"`
	TopStage   string    `json:"top_stage" doc:"the stage with the most time on the path to the first token; where that is not known, on the path below the root"`

	TopBound string `json:"-"` // what limited most of that stage's time, where it is the root; else ""
	Mostly   bool   `json:"-"` // the stage held half of that time or more
}

// Quality is what was odd about the input.
type Quality struct {
	SpansRead     int64  `json:"spans_read"`
	RecordsRead   int64  `json:"records_read"`
	Skipped       int64  `json:"skipped" doc:"records that could not be used"`
	Duplicated    int64  `json:"duplicated" doc:"exact copies that were dropped"`
	Conflicting   int64  `json:"conflicting" doc:"spans that repeat an id with other content"`
	Unattributed  int64  `json:"unattributed" doc:"spans that belong to no request"`
	Orphaned      int64  `json:"orphaned" doc:"spans whose parent is not in the request"`
	Adopted       int64  `json:"adopted" doc:"spans whose parent was inferred"`
	Clipped       int64  `json:"clipped" doc:"spans cut to their parent for the path"`
	Outside       int64  `json:"outside" doc:"spans wholly outside their parent"`
	Cycles        int64  `json:"cycles" doc:"rings of parents that were cut"`
	Negative      int64  `json:"negative" doc:"spans that end before they start"`
	Untimed       int64  `json:"untimed"`
	Open          int64  `json:"open" doc:"spans without an end"`
	UnknownStages int64  `json:"unknown_stages" doc:"spans with a name outside the vocabulary"`
	Joins         []Join `json:"joins" doc:"how records came to be in one request; by from, to, by"`
	OpenCopies    int64  `json:"open_copies" doc:"copies without an end of spans that have one"`
	Coalesced     int64  `json:"coalesced" doc:"profile lines that were made one span with others"`
	Dual          int64  `json:"dual" doc:"spans that were seen as a profile line too"`
}

// A Join counts records of one kind that are in a request together with another kind.
type Join struct {
	From string `json:"from"`
	To   string `json:"to"`
	By   string `json:"by" enum:"id|trace|normalised_id|adopted|hash"`
	N    int64  `json:"n"`
}

// A BucketResult is the requests whose window starts in a stretch of time.
type BucketResult struct {
	StartUnixNS int64          `json:"start_unix_ns"`
	DurationNS  int64          `json:"duration_ns"`
	Requests    int64          `json:"requests"`
	P50NS       model.Opt      `json:"p50_ns" doc:"latency"`
	P95NS       model.Opt      `json:"p95_ns" doc:"latency"`
	HitRate     model.OptFloat `json:"hit_rate"`
	Failed      int64          `json:"failed"`
	TTFTP50NS   model.Opt      `json:"ttft_p50_ns"`
	TTFTP95NS   model.Opt      `json:"ttft_p95_ns"`
	Load        Load           `json:"load"`

	LatencyN, TTFTN int64 `json:"-"` // values behind the percentiles
}

// ByTTFT reports whether the time to first token leads: headline and slowest go by it (R4.28).
func (d *Document) ByTTFT() bool { return d.TTFT.N > 0 && 2*d.TTFT.N >= d.Latency.N }
