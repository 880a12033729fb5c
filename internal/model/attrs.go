package model

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// An AttrKey names an attribute: a row of the table Attrs below NumAttrs, otherwise NumAttrs + the StrID of a key outside the table.
type AttrKey uint32

// The attributes of VOCABULARY 3 and the keys that identify (R4.1, R4.10, R4.11), in no order that matters.
const (
	AttrNone AttrKey = iota
	// identity
	AttrSessionID
	AttrRequestID
	AttrReqID
	AttrExternalRequestID
	AttrResolved // cbtrace.request, written by cut (R2.6)
	AttrWorkerID
	AttrRank
	AttrTPRank
	AttrRole
	AttrPID
	// llm_request
	AttrGenAIRequestID
	AttrGenAIRequestModel
	AttrPromptTokens
	AttrCompletionTokens
	AttrCachedTokens
	AttrTimeInQueue
	AttrTimeToFirstToken
	AttrE2E
	AttrTimeInPrefill
	AttrTimeInDecode
	// hits
	AttrRequestedTokens
	AttrHitTokens
	AttrPrefixHitTokens
	AttrPrefixCoverageTokens
	AttrSegmentedPrefixHitTokens
	AttrNonPrefixHitTokens
	AttrNNonPrefixTokens
	AttrPrefixHits
	AttrL1HitTokens
	AttrL2HitTokens
	AttrL1HitKeys
	AttrL2HitKeys
	AttrEarlyExitReason
	AttrModel
	AttrModelName
	AttrWorldSize
	AttrNPromptTokens
	AttrFingerprintHits
	AttrStorageHits
	AttrStaleChunks
	AttrPrefixChunks
	AttrNoGPUContext
	AttrFoundCount
	// lookup
	AttrNPolls
	AttrMatches
	AttrNProbes
	AttrTableHits
	AttrTimedOut
	AttrNChunks
	AttrNKeys
	AttrL2Keys
	AttrFoundKeys
	AttrL1Hits
	AttrL2Misses
	AttrChunks
	AttrBytes
	AttrMs
	AttrFound
	AttrStale
	AttrPerRankOK
	// load
	AttrNumChunks
	AttrSuccess
	AttrScatteredTokens
	AttrSlotWrites
	AttrNShiftedTokens
	AttrNPrefixTokens
	AttrNPrefix
	AttrNShifted
	AttrDropped
	AttrPartialBlocks
	AttrScatterMs
	AttrImpCount
	AttrRecompRatio
	AttrDispatch
	AttrImpEmpty
	// standard path
	AttrRetrievedCount
	AttrStoredCount
	AttrNumTokens
	AttrTotalBytes
	AttrDevice
	AttrEngineID
	AttrNBytes
	AttrElapsedSeconds
	AttrNumSteps
	AttrFirstStartS
	AttrLastEndS
	AttrDeviceIndex
	NumAttrs
)

// A ValueType says how the text of an attribute is understood.
type ValueType uint8

const (
	Text   ValueType = iota // as written; numbers become text
	Number                  // an integer or a float, also when written as text
	Truth                   // true or false, also as "True", "False"
)

// An AttrInfo is one row of VOCABULARY 3.
type AttrInfo struct {
	Name   string
	Type   ValueType
	Unit   string
	Stages []Stage // the stages whose table names it; identity keys have none
}

var (
	hitStages   = []Stage{StageCBRequest, StageLookup}
	loadStages  = []Stage{StageRequest, StageMPLookupPrefetch}
	matchStages = []Stage{StageFingerprintMatch, StageCoordinatorMatch}
	recompute   = []Stage{StageCheck, StagePartial}
	mpStages    = []Stage{StageMPRetrieve, StageMPStore}
	bars        = []Stage{StageTransferKernel, StageTransferStaging}
	llm         = []Stage{StageLLMRequest}
	scatter     = []Stage{StageScatter}
	prefetch    = []Stage{StageSparsePrefetch}
	allHits     = []Stage{StageRequest, StageCBRequest, StageLookup, StageMPLookupPrefetch}
)

// NamesRequest reports whether an attribute may name the request of its record (R4.1, R2.6).
func (k AttrKey) NamesRequest() bool {
	switch k {
	case AttrSessionID, AttrRequestID, AttrReqID, AttrExternalRequestID, AttrGenAIRequestID, AttrResolved:
		return true
	}
	return false
}

// NamesWorker reports whether an attribute names the rank of its span (Span.Worker).
func (k AttrKey) NamesWorker() bool { return k == AttrWorkerID || k == AttrRank || k == AttrTPRank }

// NamesModel reports whether an attribute names the model of its request (R4.29).
func (k AttrKey) NamesModel() bool {
	return k == AttrModel || k == AttrModelName || k == AttrGenAIRequestModel
}

// Attrs is VOCABULARY 3, indexed by AttrKey.
var Attrs = [NumAttrs]AttrInfo{
	AttrSessionID:         {"session_id", Text, "", nil},
	AttrRequestID:         {"request_id", Text, "", nil},
	AttrReqID:             {"req_id", Text, "", nil},
	AttrExternalRequestID: {"external_request_id", Text, "", nil},
	AttrResolved:          {"cbtrace.request", Text, "", nil},
	AttrWorkerID:          {"worker_id", Text, "", []Stage{StageRetrieve, StageScatter}},
	AttrRank:              {"rank", Text, "", nil},
	AttrTPRank:            {"tp_rank", Text, "", nil},
	AttrRole:              {"role", Text, "", nil},
	AttrPID:               {"pid", Number, "", nil},

	AttrGenAIRequestID:    {"gen_ai.request.id", Text, "", llm},
	AttrGenAIRequestModel: {"gen_ai.request.model", Text, "", llm},
	AttrPromptTokens:      {"gen_ai.usage.prompt_tokens", Number, "tokens", llm},
	AttrCompletionTokens:  {"gen_ai.usage.completion_tokens", Number, "tokens", llm},
	AttrCachedTokens:      {"gen_ai.usage.cached_tokens", Number, "tokens", llm},
	AttrTimeInQueue:       {"gen_ai.latency.time_in_queue", Number, "s", llm},
	AttrTimeToFirstToken:  {"gen_ai.latency.time_to_first_token", Number, "s", llm},
	AttrE2E:               {"gen_ai.latency.e2e", Number, "s", llm},
	AttrTimeInPrefill:     {"gen_ai.latency.time_in_model_prefill", Number, "s", llm},
	AttrTimeInDecode:      {"gen_ai.latency.time_in_model_decode", Number, "s", llm},

	AttrRequestedTokens:          {"requested_tokens", Number, "tokens", allHits},
	AttrHitTokens:                {"hit_tokens", Number, "tokens", allHits},
	AttrPrefixHitTokens:          {"prefix_hit_tokens", Number, "tokens", hitStages},
	AttrPrefixCoverageTokens:     {"prefix_coverage_tokens", Number, "tokens", hitStages},
	AttrSegmentedPrefixHitTokens: {"segmented_prefix_hit_tokens", Number, "tokens", hitStages},
	AttrNonPrefixHitTokens:       {"non_prefix_hit_tokens", Number, "tokens", hitStages},
	AttrNNonPrefixTokens:         {"n_non_prefix_tokens", Number, "tokens", hitStages},
	AttrPrefixHits:               {"prefix_hits", Number, "chunks", hitStages},
	AttrL1HitTokens:              {"l1_hit_tokens", Number, "tokens", loadStages},
	AttrL2HitTokens:              {"l2_hit_tokens", Number, "tokens", loadStages},
	AttrL1HitKeys:                {"l1_hit_keys", Number, "keys", loadStages},
	AttrL2HitKeys:                {"l2_hit_keys", Number, "keys", loadStages},
	AttrEarlyExitReason:          {"early_exit_reason", Text, "", loadStages},
	AttrModel:                    {"model", Text, "", hitStages},
	AttrModelName:                {"model_name", Text, "", []Stage{StageRetrieve, StageMPRetrieve, StageMPStore}},
	AttrWorldSize:                {"world_size", Number, "ranks", []Stage{StageCBRequest, StageLookup, StageSparsePrefetch}},
	AttrNPromptTokens:            {"n_prompt_tokens", Number, "tokens", hitStages},
	AttrFingerprintHits:          {"fingerprint_hits", Number, "chunks", []Stage{StageLookup}},
	AttrStorageHits:              {"storage_hits", Number, "chunks", []Stage{StageLookup}},
	AttrStaleChunks:              {"stale_chunks", Number, "chunks", []Stage{StageLookup}},
	AttrPrefixChunks:             {"prefix_chunks", Number, "chunks", []Stage{StageLookup}},
	AttrNoGPUContext:             {"no_gpu_context", Truth, "", []Stage{StageLookup}},
	AttrFoundCount:               {"found_count", Number, "chunks", []Stage{StageMPLookupPrefetch}},

	AttrNPolls:    {"n_polls", Number, "polls", []Stage{StageLookupRPC}},
	AttrMatches:   {"matches", Number, "matches", matchStages},
	AttrNProbes:   {"n_probes", Number, "probes", matchStages},
	AttrTableHits: {"table_hits", Number, "matches", matchStages},
	AttrTimedOut:  {"timed_out", Truth, "", matchStages},
	AttrNChunks:   {"n_chunks", Number, "chunks", prefetch},
	AttrNKeys:     {"n_keys", Number, "keys", prefetch},
	AttrL2Keys:    {"l2_keys", Number, "keys", prefetch},
	AttrFoundKeys: {"found_keys", Number, "keys", prefetch},
	AttrL1Hits:    {"l1_hits", Number, "keys", prefetch},
	AttrL2Misses:  {"l2_misses", Number, "keys", prefetch},
	AttrChunks:    {"chunks", Number, "chunks", []Stage{StageL2Load}},
	AttrBytes:     {"bytes", Number, "bytes", []Stage{StageL2Load}},
	AttrMs:        {"ms", Number, "ms", []Stage{StageL2Load}},
	AttrFound:     {"found", Number, "chunks", []Stage{StageClassify}},
	AttrStale:     {"stale", Number, "chunks", []Stage{StageClassify}},
	AttrPerRankOK: {"per_rank_ok", Truth, "", []Stage{StageClassify}},

	AttrNumChunks:       {"num_chunks", Number, "chunks", []Stage{StageRetrieve}},
	AttrSuccess:         {"success", Truth, "", []Stage{StageRetrieve, StageScatter}},
	AttrScatteredTokens: {"scattered_tokens", Number, "tokens", scatter},
	AttrSlotWrites:      {"slot_writes", Number, "slots", scatter},
	AttrNShiftedTokens:  {"n_shifted_tokens", Number, "tokens", scatter},
	AttrNPrefixTokens:   {"n_prefix_tokens", Number, "tokens", scatter},
	AttrNPrefix:         {"n_prefix", Number, "chunks", scatter},
	AttrNShifted:        {"n_shifted", Number, "chunks", scatter},
	AttrDropped:         {"dropped", Number, "chunks", scatter},
	AttrPartialBlocks:   {"partial_blocks", Number, "blocks", scatter},
	AttrScatterMs:       {"scatter_ms", Number, "ms", scatter},
	AttrImpCount:        {"imp_count", Number, "tokens", recompute},
	AttrRecompRatio:     {"recomp_ratio", Number, "ratio", recompute},
	AttrDispatch:        {"dispatch", Text, "", recompute},
	AttrImpEmpty:        {"imp_empty", Truth, "", recompute},

	AttrRetrievedCount: {"retrieved_count", Number, "chunks", mpStages},
	AttrStoredCount:    {"stored_count", Number, "chunks", mpStages},
	AttrNumTokens:      {"num_tokens", Number, "tokens", mpStages},
	AttrTotalBytes:     {"total_bytes", Number, "bytes", mpStages},
	AttrDevice:         {"device", Text, "", mpStages},
	AttrEngineID:       {"engine_id", Text, "", mpStages},
	AttrNBytes:         {"nbytes", Number, "bytes", bars},
	AttrElapsedSeconds: {"elapsed_seconds", Number, "s", bars},
	AttrNumSteps:       {"num_steps", Number, "steps", bars},
	AttrFirstStartS:    {"first_start_s", Number, "s since the epoch", bars},
	AttrLastEndS:       {"last_end_s", Number, "s since the epoch", bars},
	AttrDeviceIndex:    {"device_index", Number, "", bars},
}

// attrSlots is a perfect hash of the names of the table: every attribute of every span is looked up here, most of them in vain.
// attrSeed is the first seed under which no two names share a slot.
var attrSlots, attrSeed = func() (slots [1 << attrBits]AttrKey, seed uint64) {
next:
	for seed = 1; ; seed++ {
		clear(slots[:])
		for k := AttrNone + 1; k < NumAttrs; k++ {
			slot := &slots[attrSlot([]byte(Attrs[k].Name), seed)]
			if *slot != AttrNone {
				continue next
			}
			*slot = k
		}
		return slots, seed
	}
}()

const attrBits = 11

// attrSlot hashes the length, the first and the last bytes of a name.
func attrSlot(name []byte, seed uint64) uint64 {
	var head, tail uint64
	switch n := len(name); {
	case n >= 8:
		head, tail = binary.LittleEndian.Uint64(name), binary.LittleEndian.Uint64(name[n-8:])
	case n >= 4:
		head, tail = uint64(binary.LittleEndian.Uint32(name)), uint64(binary.LittleEndian.Uint32(name[n-4:]))
	case n > 0:
		head, tail = uint64(name[0]), uint64(name[n-1])<<8|uint64(name[n/2])
	}
	const odd = 0x9e3779b97f4a7c15
	high, low := bits.Mul64(head^seed*odd, tail^uint64(len(name))*odd)
	return (high ^ low) >> (64 - attrBits)
}

// AttrOf is the attribute of the table with a name, AttrNone for another.
func AttrOf(name []byte) AttrKey {
	if k := attrSlots[attrSlot(name, attrSeed)]; Attrs[k].Name == string(name) {
		return k // of "" the slot may be empty: AttrNone, which has that name
	}
	return AttrNone
}

// attrsOfStage[s] is a set of the attributes that the table names for a stage.
var attrsOfStage = func() (sets [NumStages][2]uint64) {
	for k := AttrNone + 1; k < NumAttrs; k++ {
		for _, s := range Attrs[k].Stages {
			sets[s][k/64] |= 1 << (k % 64)
		}
	}
	return
}()

// OfStage reports whether the table names an attribute for a stage.
func (k AttrKey) OfStage(s Stage) bool { return k < NumAttrs && attrsOfStage[s][k/64]&(1<<(k%64)) != 0 }

// A ValueKind says what a Value holds.
type ValueKind uint8

const (
	NoValue ValueKind = iota
	IntValue
	FloatValue
	BoolValue
	StrValue
)

// A Value is the value of an attribute. Integers are in Int, booleans 0 or 1 in Int, floats in Float.
type Value struct {
	Kind  ValueKind
	Int   int64
	Float float64
	Str   string
}

// Number is the value as a float64, Whole as an integer (a float cut towards zero).
func (v Value) Number() (float64, bool) {
	switch v.Kind {
	case IntValue:
		return float64(v.Int), true
	case FloatValue:
		return v.Float, !math.IsNaN(v.Float) && !math.IsInf(v.Float, 0)
	}
	return 0, false
}

// Whole is the value as an integer; a float is cut towards zero.
func (v Value) Whole() (int64, bool) {
	switch v.Kind {
	case IntValue:
		return v.Int, true
	case FloatValue:
		if v.Float > -1<<63 && v.Float < 1<<63 {
			return int64(v.Float), true
		}
	}
	return 0, false
}

// Text is the value as text, as it would have been written.
func (v Value) Text() string {
	switch v.Kind {
	case IntValue:
		return strconv.FormatInt(v.Int, 10)
	case FloatValue:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case BoolValue:
		return strconv.FormatBool(v.Int != 0)
	}
	return v.Str
}

// Typed is a value as the table wants it for its key: text that holds a number becomes the number, "True" a truth, "None" nothing;
// a number under a text key becomes text. Text that cannot be read so stays text. Keys outside the table keep what they have.
func Typed(key AttrKey, v Value) Value {
	if key >= NumAttrs {
		return v
	}
	switch Attrs[key].Type {
	case Text:
		if v.Kind == StrValue && v.Str == "None" {
			return Value{}
		}
		if v.Kind != StrValue && v.Kind != NoValue {
			return Value{Kind: StrValue, Str: v.Text()}
		}
	case Number:
		switch v.Kind {
		case StrValue:
			return parseNumber(v)
		case FloatValue:
			if math.IsNaN(v.Float) || math.IsInf(v.Float, 0) {
				return Value{}
			}
			if v.Float == math.Trunc(v.Float) && math.Abs(v.Float) < 1<<53 {
				return Value{Kind: IntValue, Int: int64(v.Float)}
			}
		}
	case Truth:
		if v.Kind == StrValue {
			switch v.Str {
			case "True", "true", "TRUE":
				return Value{Kind: BoolValue, Int: 1}
			case "False", "false", "FALSE":
				return Value{Kind: BoolValue}
			case "None", "":
				return Value{}
			}
		}
	}
	return v
}

func parseNumber(v Value) Value {
	if v.Str == "None" || v.Str == "" {
		return Value{}
	}
	if n, err := strconv.ParseInt(v.Str, 10, 64); err == nil {
		return Value{Kind: IntValue, Int: n}
	}
	if f, err := strconv.ParseFloat(v.Str, 64); err == nil {
		return Typed(AttrHitTokens, Value{Kind: FloatValue, Float: f})
	}
	return v
}
