package model

// A Stage is the unified name of a kind of work. StageNone is a name outside the vocabulary.
// A Stage is also the StrID of its name (Dict), so stages and unknown names share one number space.
type Stage uint8

// The stages of VOCABULARY 2, in its order.
const (
	StageNone Stage = iota
	StageLLMRequest
	StageRequest
	StageCBRequest
	StageSchedule
	StageAdmission
	StageLookupRPC
	StageBuildMeta
	StageLookup
	StageFingerprintMatch
	StageCoordinatorMatch
	StagePrefixLookup
	StageSparsePrefetch
	StageL2Load
	StageClassify
	StageExecute
	StageStartLoadKV
	StageRetrieve
	StageScatter
	StagePrepare
	StageModelForward
	StageFullRecomp
	StageCheck
	StagePartial
	StageStorePreComputed
	StageStoreFinal
	StageFingerprintsRegistered
	StageChunksEvicted
	StageMPLookupPrefetch
	StageMPRetrieve
	StageMPStore
	StageL2StoreSchedule
	StageTransferKernel
	StageTransferStaging
	StageTimeout
	NumStages
)

// An Owner is the kind of process that emits a span.
type Owner uint8

const (
	OwnerNone Owner = iota
	Engine
	Scheduler
	Worker
	Server
)

func (o Owner) String() string { return [...]string{"", "engine", "scheduler", "worker", "server"}[o] }

// A Class says how a span relates to its parent.
type Class uint8

const (
	Work       Class = iota // holds its parent up
	Background              // outlives it: tail, never on a path
	Breakdown               // a sum drawn as a bar: off paths and self time
	Point                   // a moment
)

func (c Class) String() string { return [...]string{"work", "background", "breakdown", "point"}[c] }

// A Bound says what limits a piece of the critical path (R6.10).
type Bound uint8

const (
	Unexplained Bound = iota
	BoundQueue
	BoundEngine
	BoundDecode
	BoundRPC
	BoundPoll
	BoundMatch
	BoundL2IO
	BoundL1
	BoundGPUCopy
	BoundRecompute
	BoundForward
	NumBounds
)

var boundNames = [NumBounds]string{"unexplained", "queue", "engine", "decode", "rpc", "poll", "match", "l2_io", "l1", "gpu_copy", "recompute", "forward"}

func (b Bound) String() string { return boundNames[b] }

// A StageInfo is one row of VOCABULARY 2.
type StageInfo struct {
	Name    string
	Owner   Owner   // of cb.request: the scheduler; a span of a scope lmcache_mp* is the server's (Span.Owner)
	Parents []Stage // canonical parents; of several those that overlap count (R4.16)
	Class   Class
	Bound   Bound // of own time where the name alone decides; the others in R6.10
	Scoped  bool  // counts only with a scope lmcache* or a session_id that is strong elsewhere (R4.22)
	Root    bool  // may be the root of a request, in the order of the table (R4.22)
	Lookup  bool  // a lookup: cb.lookup.rpc, cb.lookup, mp.lookup_prefetch
	Aliases []string
}

// Stages is VOCABULARY 2, indexed by Stage.
var Stages = [NumStages]StageInfo{
	StageNone:                   {},
	StageLLMRequest:             {Name: "llm_request", Owner: Engine, Bound: BoundEngine, Root: true},
	StageRequest:                {Name: "request", Owner: Server, Parents: []Stage{StageLLMRequest}, Bound: BoundEngine, Scoped: true, Root: true},
	StageCBRequest:              {Name: "cb.request", Owner: Scheduler, Parents: []Stage{StageLLMRequest}, Bound: BoundEngine, Root: true},
	StageSchedule:               {Name: "cb.schedule", Owner: Scheduler, Parents: []Stage{StageCBRequest}, Bound: BoundQueue},
	StageAdmission:              {Name: "cb_admission_check", Owner: Scheduler, Parents: []Stage{StageSchedule}, Bound: BoundQueue},
	StageLookupRPC:              {Name: "cb.lookup.rpc", Owner: Scheduler, Parents: []Stage{StageSchedule}, Bound: BoundRPC, Lookup: true},
	StageBuildMeta:              {Name: "cb.build_meta", Owner: Scheduler, Parents: []Stage{StageSchedule}, Bound: BoundEngine},
	StageLookup:                 {Name: "cb.lookup", Owner: Server, Parents: []Stage{StageLookupRPC}, Bound: BoundMatch, Lookup: true},
	StageFingerprintMatch:       {Name: "cb.fingerprint_match", Owner: Server, Parents: []Stage{StageLookup}, Bound: BoundMatch},
	StageCoordinatorMatch:       {Name: "cb.coordinator_match", Owner: Server, Parents: []Stage{StageLookup}, Bound: BoundMatch},
	StagePrefixLookup:           {Name: "cb.prefix_lookup", Owner: Server, Parents: []Stage{StageLookup}, Bound: BoundMatch},
	StageSparsePrefetch:         {Name: "cb.sparse_prefetch", Owner: Server, Parents: []Stage{StageLookup}, Bound: BoundL1},
	StageL2Load:                 {Name: "cb.l2_load", Owner: Server, Parents: []Stage{StageSparsePrefetch}, Bound: BoundL2IO},
	StageClassify:               {Name: "cb.classify", Owner: Server, Parents: []Stage{StageLookup}, Bound: BoundMatch},
	StageExecute:                {Name: "cb.execute", Owner: Worker, Parents: []Stage{StageCBRequest}, Bound: BoundEngine},
	StageStartLoadKV:            {Name: "cb.start_load_kv", Owner: Worker, Parents: []Stage{StageExecute}, Bound: BoundRPC},
	StageRetrieve:               {Name: "cb.retrieve", Owner: Server, Parents: []Stage{StageStartLoadKV}, Bound: BoundGPUCopy},
	StageScatter:                {Name: "cb.scatter", Owner: Server, Parents: []Stage{StageRetrieve}, Bound: BoundGPUCopy},
	StagePrepare:                {Name: "shim.wrapper.prepare", Owner: Worker, Parents: []Stage{StageExecute}, Bound: BoundForward},
	StageModelForward:           {Name: "cb.model_forward", Owner: Worker, Parents: []Stage{StageExecute}, Bound: BoundForward},
	StageFullRecomp:             {Name: "cb.full_recomp", Owner: Worker, Parents: []Stage{StageModelForward}, Bound: BoundRecompute},
	StageCheck:                  {Name: "cb.check", Owner: Worker, Parents: []Stage{StageModelForward}, Bound: BoundRecompute},
	StagePartial:                {Name: "cb.partial", Owner: Worker, Parents: []Stage{StageModelForward}, Bound: BoundForward},
	StageStorePreComputed:       {Name: "cb.store_pre_computed", Owner: Server, Parents: []Stage{StageCBRequest}, Class: Background},
	StageStoreFinal:             {Name: "cb.store_final", Owner: Server, Parents: []Stage{StageCBRequest}, Class: Background},
	StageFingerprintsRegistered: {Name: "cb.fingerprints.registered", Owner: Server, Parents: []Stage{StageCBRequest}, Class: Point},
	StageChunksEvicted:          {Name: "cb.chunks.evicted", Owner: Server, Class: Point},
	StageMPLookupPrefetch:       {Name: "mp.lookup_prefetch", Owner: Server, Parents: []Stage{StageRequest}, Bound: BoundL1, Lookup: true},
	StageMPRetrieve:             {Name: "mp.retrieve", Owner: Server, Parents: []Stage{StageRequest}, Bound: BoundGPUCopy},
	StageMPStore:                {Name: "mp.store", Owner: Server, Parents: []Stage{StageRequest}, Class: Background},
	StageL2StoreSchedule:        {Name: "mp.l2.store.schedule", Owner: Server, Class: Background},
	StageTransferKernel:         {Name: "transfer.kernel_interval", Owner: Server, Parents: []Stage{StageMPRetrieve, StageMPStore}, Class: Breakdown, Aliases: []string{"transfer.kernel"}},
	StageTransferStaging:        {Name: "transfer.staging", Owner: Server, Parents: []Stage{StageMPRetrieve, StageMPStore}, Class: Breakdown},
	StageTimeout:                {Name: "timeout", Owner: Server, Parents: []Stage{StageRequest}, Class: Point, Scoped: true},
}

// A StageSet is a set of stages.
type StageSet uint64

// Has reports whether a stage is in the set.
func (t StageSet) Has(s Stage) bool { return t>>s&1 != 0 }

func stagesThat(is func(*StageInfo) bool) (t StageSet) {
	for s := range Stages {
		if is(&Stages[s]) {
			t |= 1 << s
		}
	}
	return t
}

// What the table says of stages that is asked of every span. ServerStages are those that a cache server emits.
var (
	rootStages   = stagesThat(func(i *StageInfo) bool { return i.Root })
	lookupStages = stagesThat(func(i *StageInfo) bool { return i.Lookup })
	ServerStages = stagesThat(func(i *StageInfo) bool { return i.Owner == Server })

	ownerOfStage = func() (owners [NumStages]Owner) {
		for s := range owners {
			owners[s] = Stages[s].Owner
		}
		return
	}()
)

func (s Stage) String() string { return Stages[s].Name }

// Info is the row of the vocabulary.
func (s Stage) Info() *StageInfo { return &Stages[s] }

// ID is the StrID of the stage's name.
func (s Stage) ID() StrID { return StrID(s) }

var stageByName = func() map[string]Stage {
	m := map[string]Stage{}
	for s := StageNone + 1; s < NumStages; s++ {
		m[Stages[s].Name] = s
		for _, a := range Stages[s].Aliases {
			m[a] = s
		}
	}
	return m
}()

// StageOf is the stage of a span name, StageNone outside the vocabulary. Names of profile lines have a table of their own (ProfileStages).
func StageOf(name string) Stage { return stageByName[name] }
