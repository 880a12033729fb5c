// Package check judges a capture rather than its requests, as `cbtrace check` prints it: what of the input was bad, what is missing for one trace
// per request, and which switch of LMCache or vLLM would bring it (OUTPUT check).
package check

import (
	"github.com/cbtrace/cbtrace/internal/analyze/report"
)

// Schema names the document and its version.
const Schema = "cbtrace.check/v1"

// Verdicts.
const (
	Clean = "clean" // nothing to say
	Notes = "notes" // something is missing that would tell more
	Bad   = "bad"   // what was read is damaged, incomplete or contradicts itself: numbers are doubtful
)

// A Document is the judgement on a capture.
type Document struct {
	Schema   string           `json:"schema" enum:"cbtrace.check/v1" doc:"name and version of this document"`
	Inputs   []Input          `json:"inputs" doc:"what was read, by path"`
	Quality  report.Quality   `json:"quality" doc:"doubts about the input, counted"`
	Survey   string           `json:"survey" enum:"whole|sampled|given|per_shard" doc:"what clocks and facts of processes were estimated from"`
	Findings []report.Finding `json:"findings" doc:"of the capture rather than of a request; errors first, then by count, then by code"`
	Verdict  string           `json:"verdict" enum:"clean|notes|bad" doc:"bad where a problem is bad"`
	Requests int64            `json:"requests"`
	Problems []Problem        `json:"problems" doc:"bad ones first, then in the order in which they are best mended"`
	Clock    []report.Clock   `json:"clock" doc:"what is added to the clocks of processes"`
}

// An Input is a file that was to be read, and what was wrong with it.
type Input struct {
	report.Input
	Notes     []string `json:"notes" doc:"choices and remarks"`
	Truncated bool     `json:"truncated" doc:"ends in the middle of a record"`
	Gaps      int64    `json:"gaps" doc:"dropped events, gaps in sequence numbers"`
	Unusable  string   `json:"unusable,omitempty" doc:"why nothing of it could be used"`
}

// A Problem is something that is wrong with the capture or missing in it.
type Problem struct {
	Code      string   `json:"code" doc:"that of a finding, or of a remark of check alone"`
	Severity  string   `json:"severity" enum:"bad|note"`
	Count     int64    `json:"count" doc:"how many show it"`
	Of        int64    `json:"of,omitempty" doc:"of how many"`
	Unit      string   `json:"unit" enum:"request|input|record|span|process|clock|model|stage|capture" doc:"what is counted; clock: a row of clock"`
	Message   string   `json:"message" doc:"what it means"`
	WhatToDo  string   `json:"what_to_do"`
	Switch    string   `json:"switch,omitempty" doc:"the flag or variable of LMCache or vLLM that would mend it"`
	Exemplars []string `json:"exemplars" doc:"at most 3: ids of requests, files with their first error, processes, models"`
}
