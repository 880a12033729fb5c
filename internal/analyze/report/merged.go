package report

import "time"

// MergeSchema names the document of `merge` and its version.
const MergeSchema = "cbtrace.merge/v1"

// A MergeDocument is a report of saved reports that were added up (R2.6).
type MergeDocument struct {
	Schema string `json:"schema" enum:"cbtrace.merge/v1" doc:"name and version of this document; what follows is a report"`
	Document
	Shards      []Shard `json:"shards" doc:"the saved reports, as they were named"`
	InTwoShards int64   `json:"in_two_shards" doc:"requests of which several shards have spans, at least: each shard counts them"`
}

// A Shard is a saved report that was merged.
type Shard struct {
	File     string `json:"file"`
	Requests int64  `json:"requests"`
}

// Merged is the document of an aggregate that was merged from shards.
func (a *Aggregate) Merged(c *Capture, shards []Shard) *MergeDocument {
	d := a.Document(c)
	return &MergeDocument{Schema: MergeSchema, Document: *d, Shards: shards, InTwoShards: a.table.Repeated(a.Counting())}
}

// Requests is how many requests the report is of (OUTPUT requests.total).
func (a *Aggregate) Requests() int64 { return a.Held().Of(a.Counting()) }

// Others is how many requests do not count (OUTPUT requests.other).
func (a *Aggregate) Others() int64 { return a.Held().sum() - a.Requests() }

// Held is what was added.
func (a *Aggregate) Held() Held { return Held{a.main.requests, a.rest.requests} }

// Held are numbers of requests: with a stage of the vocabulary, and without.
type Held struct{ Known, Other int64 }

func (h Held) sum() int64 { return h.Known + h.Other }

// Of is how many of them count.
func (h Held) Of(which Counting) int64 {
	if which.All() {
		return h.sum()
	}
	return h.Known
}

// Show changes how the report is shown: how percentiles are taken, whether requests without a stage of the vocabulary count, and how long
// buckets of time are at least; 0 leaves those as they are.
func (a *Aggregate) Show(m Method, all bool, bucket time.Duration) {
	a.opt.Method, a.opt.All, a.opt.Bucket = m, all, max(a.opt.Bucket, bucket)
}

// Options are those that the aggregate was made with, or shown with since.
func (a *Aggregate) Options() Options { return a.opt }
