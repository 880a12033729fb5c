// Package decode is the contract between the reader of inputs (package ingest) and the decoders of formats.
//
// A decoder gets a Block, a piece of an input that holds whole records, appends what it finds to a model.Batch and tells a Report what it counted and could not
// use. Each worker has one of every format, for the blocks of all inputs in whatever order they come: what a decoder keeps between blocks is memory and caches
// of what repeats, and never changes what a block gives. A broken record is skipped and reported (Report.Skip), the rest of the block goes on. Decoders of
// values that follow one another (JSON) return how many bytes of the block they took, 0 where it begins with nothing of theirs.
// Nothing in the batch may point into the block: it is reused.
package decode

import (
	"bytes"
	"errors"
	"fmt"
	"sort"

	"github.com/cbtrace/cbtrace/internal/model"
)

// What callers branch on.
var (
	ErrUnknownFormat = errors.New("not a format that cbtrace reads")
	ErrTruncated     = errors.New("ends in the middle of a record")
	ErrVersion       = errors.New("a version that cbtrace does not read")
)

// A SyntaxError says where an input is broken, what was wanted and what was found. It never holds a payload (R3.6).
type SyntaxError struct {
	File   string
	Line   int64 // from 1; 0: unknown, Offset counts
	Offset int64 // bytes, after decompression
	Err    error
}

func (e *SyntaxError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: offset %d: %v", e.File, e.Offset, e.Err)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// A Block is a piece of an input that holds whole records.
type Block struct {
	File   model.FileID
	Path   string // as outputs show it
	Family string // service names without an instance are told apart by it: folder + file name without its rotation stamp (R4.11)
	Data   []byte
	Line   int64 // line number of its first byte, from 1; 0 for formats without lines
	Offset int64 // of its first byte, after decompression
}

// Newlines is how many newlines b holds: how far the line number goes on behind it (Block.Line).
func Newlines(b []byte) int64 { return int64(bytes.Count(b, []byte{'\n'})) }

// MaxErrors is how many problems of an input are listed; all are counted.
const MaxErrors = 20

// A Problem is something of an input that could not be used.
type Problem struct {
	Line, Offset int64
	Text         string
}

// A Report is what became of an input, or of a part of it. Reports of the parts of an input add up (Merge), in any order.
type Report struct {
	Bytes      int64 // as they lie on disk
	Spans      int64 // read as spans, before duplicates are dropped
	Records    int64 // read as lines, points, recorded calls
	Skipped    int64 // records that could not be used
	ErrorCount int64
	Problems   []Problem        // the first MaxErrors by position
	Signals    map[string]int64 // values of other signals: metrics, logs, profiles
	Notes      []string         // choices and remarks, once each
	Truncated  bool
	Gaps       int64 // dropped events, sequence gaps (finding capture_incomplete)
	Sequences  Sequences
	Steps      Steps // of the wall clock of its process
}

// Skip counts a record that could not be used, and keeps why.
func (r *Report) Skip(line, offset int64, err error) {
	r.Skipped++
	r.Problem(line, offset, err)
}

// Problem keeps something worth saying that lost no record.
func (r *Report) Problem(line, offset int64, err error) {
	r.ErrorCount++
	r.Problems = append(r.Problems, Problem{line, offset, err.Error()})
	if len(r.Problems) > 4*MaxErrors {
		r.trim()
	}
}

func (r *Report) trim() {
	sort.Slice(r.Problems, func(i, j int) bool {
		a, b := r.Problems[i], r.Problems[j]
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		if a.Offset != b.Offset {
			return a.Offset < b.Offset
		}
		return a.Text < b.Text
	})
	if len(r.Problems) > MaxErrors {
		r.Problems = r.Problems[:MaxErrors]
	}
}

// Note keeps a remark once.
func (r *Report) Note(text string) {
	for _, n := range r.Notes {
		if n == text {
			return
		}
	}
	r.Notes = append(r.Notes, text)
	sort.Strings(r.Notes)
}

// Signal counts a value of another signal.
func (r *Report) Signal(name string) {
	if r.Signals == nil {
		r.Signals = map[string]int64{}
	}
	r.Signals[name]++
}

// Merge adds another part of the same input.
func (r *Report) Merge(o *Report) {
	r.Bytes += o.Bytes
	r.Spans += o.Spans
	r.Records += o.Records
	r.Skipped += o.Skipped
	r.ErrorCount += o.ErrorCount
	r.Gaps += o.Gaps
	r.Sequences.Merge(&o.Sequences)
	r.Steps.Merge(&o.Steps)
	r.Truncated = r.Truncated || o.Truncated
	r.Problems = append(r.Problems, o.Problems...)
	r.trim()
	for k, v := range o.Signals {
		if r.Signals == nil {
			r.Signals = map[string]int64{}
		}
		r.Signals[k] += v
	}
	for _, n := range o.Notes {
		r.Note(n)
	}
}
