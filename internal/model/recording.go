package model

// A Recording is what one .lct file holds, counted: LMCache's record of its storage calls or of its cache events (CONTRACT-lmcache 2).
type Recording struct {
	Input InputStats

	Level          string         // storage, events, or a later one
	FormatVersion  int64          //
	SchemaVersion  Opt            // trace_schema_version; the oldest files have none
	LMCacheVersion string         // of the oldest files
	ConfigDigest   string         // of the storage manager's configuration; "" when unknown
	Meta           map[string]any // level_meta, values as JSON has them; nil without

	Duration   OptFloat         // s: the largest t_mono; unknown without a record
	ByQualname map[string]int64 // records by full qualname

	UniqueKeys Opt      // different keys of calls or events; unknown for other levels
	KeysError  OptFloat // standard error of an estimate, relative; unknown when UniqueKeys is exact

	Events *RecordedEvents // of level events
}

// RecordedEvents are the cache events of a recording.
type RecordedEvents struct {
	Batches           map[string]int64 // by "type/tier/backend/shared": backend "-" when empty, shared or local
	Entries           map[string]int64 // by type
	StoreBytes        int64            // bytes of the entries of batches of type store
	EntriesWithTokens int64            // entries that hold token ids
	Starts, Stops     int64            // lifecycle
	LostBatches       int64            // numbers missing in the sequences of batches
	Instances         []RecordedInstance
}

// A RecordedInstance is a server that recorded events. A higher incarnation is a restart.
type RecordedInstance struct {
	ID           string
	Incarnations []int64 // ascending
}
