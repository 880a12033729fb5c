// Package recording makes the document of `cbtrace lct info` from what LMCache recordings hold: everything that `lmcache trace info` prints, for
// fleets of files.
package recording

import "github.com/cbtrace/cbtrace/internal/model"

// A Document is what `lct info` prints.
type Document struct {
	Schema   string   `json:"schema" enum:"cbtrace.lct-info/v1"`
	Files    []File   `json:"files" doc:"by path"`
	Totals   Totals   `json:"totals"`
	Warnings []string `json:"warnings" doc:"what to know before the numbers are used"`
}

// Schema is the name of the document.
const Schema = "cbtrace.lct-info/v1"

// A File is one recording.
type File struct {
	File              string                    `json:"file"`
	Level             string                    `json:"level" doc:"storage (calls), events (cache events), or a later one"`
	FormatVersion     int64                     `json:"format_version"`
	SchemaVersion     model.Opt                 `json:"trace_schema_version" doc:"null for the oldest recordings"`
	DurationS         model.OptFloat            `json:"duration_s" doc:"s: the largest t_mono; null without a record"`
	Records           int64                     `json:"records"`
	Skipped           int64                     `json:"skipped" doc:"records that could not be used"`
	Truncated         bool                      `json:"truncated" doc:"it ends in the middle of a record, or records are lost under a header that was written over them"`
	ByQualname        map[string]int64          `json:"by_qualname" doc:"records by full qualname"`
	ConfigDigest      string                    `json:"sm_config_digest" doc:"sha256 of the storage manager's configuration; empty when unknown"`
	LevelMeta         map[string]any            `json:"level_meta"`
	Instances         []Instance                `json:"instances" doc:"servers that recorded events, by id"`
	Batches           map[string]int64          `json:"batches" doc:"batches of events by type/tier/backend/shared; backend - when unsaid, shared or local"`
	Entries           map[string]int64          `json:"entries" doc:"entries of batches by type"`
	StoreBytes        model.Opt                 `json:"store_bytes" doc:"bytes of stored entries; null for calls"`
	EntriesWithTokens model.Opt                 `json:"entries_with_tokens" doc:"entries that hold token ids, which are never shown; null for calls"`
	Lifecycle         *Lifecycle                `json:"lifecycle" doc:"null for calls"`
	Rates             map[string]model.OptFloat `json:"rates" doc:"records per second by full qualname"`
	UniqueKeys        model.Opt                 `json:"unique_keys" doc:"different keys of calls or events; null for later levels"`
	UniqueKeysExact   bool                      `json:"unique_keys_exact" doc:"exact up to 1048576 keys, above that an estimate"`
	UniqueKeysError   model.OptFloat            `json:"unique_keys_error" doc:"standard error of the estimate, relative; null when it is exact"`
	LMCacheVersion    string                    `json:"lmcache_version" doc:"as the header says; empty when it does not"`
	LostBatches       model.Opt                 `json:"lost_batches" doc:"batches missing in the sequences of events; null for calls"`
}

// An Instance is a server that recorded events.
type Instance struct {
	ID           string  `json:"instance_id"`
	Incarnations []int64 `json:"incarnations" doc:"runs between restarts, ascending"`
	Restarts     int64   `json:"restarts"`
}

// Lifecycle counts starts and stops of servers.
type Lifecycle struct {
	Start int64 `json:"start"`
	Stop  int64 `json:"stop"`
}

// Totals are sums over files.
type Totals struct {
	Files      int64            `json:"files"`
	Records    int64            `json:"records"`
	ByQualname map[string]int64 `json:"by_qualname"`
	Batches    map[string]int64 `json:"batches"`
	StoreBytes model.Opt        `json:"store_bytes" doc:"null without a recording of events"`
}
