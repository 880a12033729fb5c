package model

// An Opt is a number that may be unknown. The zero value is unknown.
type Opt struct {
	V  int64
	OK bool
}

// Some is a known number.
func Some(v int64) Opt { return Opt{v, true} }

// A FindingSet holds findings by their number in the registry of package finding.
type FindingSet uint64

// Has reports whether a finding is in the set.
func (s FindingSet) Has(n int) bool { return s&(1<<n) != 0 }

// RowFlags are facts of a request that decide in which statistics it counts.
type RowFlags uint16

const (
	RowRealRoot      RowFlags = 1 << iota // a recorded span is the root
	RowRootClosed                         // the root is not open
	RowRootShutdown                       // the root was ended by a shutdown
	RowEdge                               // R7.13
	RowComplete                           // R7.13, but for missing_stage where that is decided after the merge (R2.3)
	RowVocabulary                         // holds a span of the vocabulary; without, it counts under requests.other (R4.4)
	RowAborted                            // R7.11
	RowHasLookup                          // a lookup was recorded
	RowHitsNotLoaded                      // tokens were found and no retrieve or scatter recorded (finding missing_stage)
	RowHitsLoaded                         // tokens were found and loaded
	RowLLM                                // has an llm_request

	// Of TopStage, where that is the root: what limited most of the time it held; of any: whether it held half of the time or more.
	RowTopQueue
	RowTopEngine
	RowTopDecode
	RowTopHalf
)

// RowTop are the flags that say something of the top stage.
const RowTop = RowTopQueue | RowTopEngine | RowTopDecode | RowTopHalf

// TopBound is what limited most of the time of the top stage, "" where that is not the root.
func (f RowFlags) TopBound() string {
	switch {
	case f&RowTopQueue != 0:
		return BoundQueue.String()
	case f&RowTopEngine != 0:
		return BoundEngine.String()
	case f&RowTopDecode != 0:
		return BoundDecode.String()
	}
	return ""
}

// Known reports whether the request holds a span of the vocabulary (R4.4).
func (f RowFlags) Known() bool { return f&RowVocabulary != 0 }

// InLatency reports whether a request counts in latency, TTFT and path (R8.2).
func (f RowFlags) InLatency() bool {
	return f&(RowRealRoot|RowRootClosed|RowRootShutdown|RowEdge) == RowRealRoot|RowRootClosed
}

// A Basis says how the parts of a lookup are known (R7.3).
type Basis uint8

const (
	Measured Basis = iota
	InferredUpper
	DurationsOnly
	NoServer
	NoRPC
	NumBases
)

func (b Basis) String() string {
	return [...]string{"measured", "inferred_upper", "durations_only", "no_server", "no_rpc"}[b]
}

// A HitClass is R7.6.
type HitClass uint8

const (
	HitNone HitClass = iota // without a lookup, without numbers or with 0 requested
	HitMiss
	HitPartial
	HitFull
	NumHitClasses
)

func (c HitClass) String() string { return [...]string{"none", "miss", "partial", "full"}[c] }

// A Verdict is R7.10, from the mildest to the worst.
type Verdict uint8

const (
	LoadNone Verdict = iota
	LoadDoubleUnknown
	LoadPartialThenFull
	LoadNoopThenFull
	LoadRepeat
	LoadMany
	NumVerdicts
)

func (v Verdict) String() string {
	return [...]string{"none", "double_unknown", "partial_then_full", "noop_then_full", "repeat", "many"}[v]
}

// A RowSpan is one span's share of the per-span percentiles (R8.1).
type RowSpan struct {
	Stage StrID // stage, or name outside the vocabulary
	Owner Owner
	NS    int64
}

// A RowStage is what one (stage, owner) did in a request. Times in ns.
type RowStage struct {
	Stage    StrID
	Owner    Owner
	Class    Class
	Spans    int32 // all but synthetic ones
	Counted  int32 // those in percentiles: not negative, untimed, open or ended by a shutdown
	Union    int64 // time covered by the counted ones, aligned
	Self     int64 // R6.9, of the counted ones
	Critical int64 // on the path
	Drag     int64 // R6.8
	TTFT     int64 // on the path to the first token
	TTFTDrag int64
}

// A RowLookup is the split of one lookup (R7.1–R7.4). Parts that the basis does not give are unknown.
type RowLookup struct {
	Basis                                      Basis
	RPC, Submit, L2Load, ServerOther, PollWait Opt
	Server, Wait                               Opt  // no_rpc only
	Uncertainty                                Opt  // of Submit and PollWait: how well the clocks of caller and server are known against each other
	AtMost                                     bool // a stand-in gave L2Load: an upper bound
}

// RowHits is R7.5 and R7.6. Requested unknown: nobody said what was asked for.
type RowHits struct {
	Requested, Hit                                   Opt // tokens
	Prefix, Segmented, NonPrefix, L1Tokens, L2Tokens Opt // tokens
	L1Keys, L2Keys                                   Opt // keys
	Written, Shortfall                               Opt // tokens
	Class                                            HitClass
	EarlyExit                                        string
}

// RowBlend is R7.7, summed over the request; absent is unknown.
type RowBlend struct {
	L2Bytes, L2Chunks, L2Union                               Opt // bytes, chunks, ns covered by cb.l2_load
	Matches, Lookups, TableHits, Probes, L1Hits, L2Misses    Opt // Lookups: how many lookups Matches are of
	ScatteredTokens, SlotWrites, PrefixChunks, ShiftedChunks Opt
	DroppedChunks, PartialBlocks, ScatterUnion               Opt // ScatterUnion: ns covered by the scatters ScatteredTokens are of
	ImpCount                                                 Opt
	RecompRatios                                             []float64
	Dispatches                                               []string
	ImpEmpty                                                 int64 // spans that say imp_empty
	HasImpEmpty                                              bool
}

// A RowTransfer is R7.8, of one mp.store or mp.retrieve with transfer.* children.
type RowTransfer struct {
	Kernel, Staging, Idle, Bytes int64
}

// A JoinKey counts how records of one kind came to be in a request together with another kind (OUTPUT: quality.joins[]).
type JoinKey struct {
	From, To string // engine, scheduler, worker, server, profile, lct
	By       Join
}

// A Row is all that analysis leaves of a request (R2.1). Times in ns. An aggregator reads it once and drops it.
type Row struct {
	Identity
	Hash         uint64 // XXH64 of ID
	Flags        RowFlags
	Start        Time // of the window
	Window       int64
	RootDuration Opt

	TTFT, Queue, Prefill, Decode   Opt // the attributes of llm_request
	PromptTokens, CompletionTokens Opt
	Model, Instance                string   // Instance: the process of the server, else of the root
	Workers                        []string // ranks, sorted
	TopStage                       StrID    // the stage with the most time on the path to the first token; without one, on the path below the root

	Spans     []RowSpan
	Stages    []RowStage // at most one of a (stage, owner); holds everything on the path, the synthetic root too
	Bounds    [NumBounds]int64
	TTFTTotal Opt // length of the path to the first token
	TTFTBound [NumBounds]int64

	Lookups   []RowLookup
	Hits      RowHits
	Verdict   Verdict
	Wasted    Opt // tokens
	Blend     RowBlend
	Transfers []RowTransfer

	Findings    FindingSet
	ErrorCodes  []string // reasons of failures besides EarlyExit
	Joins       map[JoinKey]int64
	Counts      Counts
	StageSpans  [NumStages]int32 // sightings as spans and as lines where both are in the request, and how many pair (dual_mismatch)
	StageLines  [NumStages]int32
	StagePairs  [NumStages]int32
	Disagreeing int32   // clock pairs of this request that disagree
	Weight      float64 // how many requests this one stands for; 0 means 1. Nothing sets it: sampling (R8.6) is not built
}
