package model

import "strings"

// InputStats is what became of one input: OUTPUT inputs[], and what decides whether it was usable (R3.4).
type InputStats struct {
	File   string // path as outputs show it, wherever the folder lies that it was found in
	Path   string // to open it from where the run is: for messages alone, in no report
	Format string // as OUTPUT names it: otlp-json, jaeger-json, … with +gzip, +zstd, +framed; "" when it was not recognised

	Bytes      int64    // as they lie on disk
	Spans      int64    // read as spans, before duplicates are dropped
	Records    int64    // read as lines, points, recorded calls
	Skipped    int64    // records that could not be used
	ErrorCount int64    // all of them
	Errors     []string // the first 20 by position, each with its place: run.jsonl:12: …
	Notes      []string // choices and remarks about it, once each, sorted
	Truncated  bool     // it ends in the middle of a record
	Gaps       int64    // dropped events, sequence gaps (finding capture_incomplete)
	Steps      int64    // how often the wall clock of its process was set while it recorded (finding clock_step)

	Named    bool     // named on the command line: an error when unusable; one found in a folder is only a note
	Unusable string   // why nothing of it could be used, one sentence; "" when it could
	Unread   bool     // because it could not be opened, or breaks off before anything tells what it is: nobody knows what is in it
	Names    []string // up to 20 names of spans from its beginning, sorted: what the message "no request found" shows
}

// Here is what an error or a remark says that begins with File, with the path to open the input by.
func (s *InputStats) Here(text string) string {
	if rest, ok := strings.CutPrefix(text, s.File); ok && s.Path != "" {
		return s.Path + rest
	}
	return text
}

// Foreign reports whether the input was found in a folder and is of no format that is read: nothing is lost with it.
func (s *InputStats) Foreign() bool {
	return s.Unusable != "" && !s.Named && s.Format == "" && !s.Unread
}
