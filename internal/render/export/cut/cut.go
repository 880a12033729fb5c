// Package cut writes the records of a capture into shards by request (R2.6), so that each request is wholly in one of them and every record says
// which request it was found to belong to (attribute cbtrace.request; empty: its process). Spans become OTLP JSON lines, profile lines lines of
// their own kind with the times that were understood. What analysis reads of a record is kept, and its attributes; events and links are not.
//
// The files of shard 3 are shard-3/<family>.3, where the family is the path of an input without the stamp of its rotation: read back they are
// rotations of the same inputs, so that processes without an instance id stay the processes they were (R4.11).
package cut

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Most is how many shards there may be: the number of one is a rotation stamp of at most three digits.
const Most = 1000

// A Writer cuts a capture. It belongs to one goroutine.
type Writer struct {
	dict   *model.Dict
	n      int
	append func(name string, b []byte) error
	inputs []Input
	bases  []string // by FileID: the path in a shard, without the shard's number

	used    []bool // shards that have records
	pending map[place]*[]byte
	held    int // bytes in pending
	open    openLine

	Requests, Spans, Lines int64 // written
}

// A place is a file of a shard.
type place struct {
	shard int
	base  string
}

// maxHeld is how many bytes wait to be written.
const maxHeld = 32 << 20

// An Input is an input of the capture: its family (R4.11), and what it holds. A recording is copied as a whole; its records are left out here.
type Input struct {
	Family    string
	Lines     bool // profile lines
	Recording bool // LCT records, lookup hashes
}

// New returns a writer of n shards of the capture of a dict. inputs are by FileID. append adds bytes to the end of a file, named by its path in the
// folder of the shards.
func New(d *model.Dict, n int, inputs []Input, append func(name string, b []byte) error) *Writer {
	return &Writer{dict: d, n: n, append: append, inputs: inputs, bases: bases(inputs), used: make([]bool, n), pending: map[place]*[]byte{}}
}

var hasExtension = regexp.MustCompile(`\w\.[a-z]+$`)

// bases are the paths of the files in a shard. Inputs of one family share one, unless some of them hold profile lines and others spans.
func bases(inputs []Input) []string {
	out, taken := make([]string, len(inputs)), map[string]Input{}
	for i, in := range inputs {
		base := Safe(in.Family)
		if !hasExtension.MatchString(base) {
			base += ".jsonl"
		}
		for n := 2; ; n++ {
			if by, ok := taken[base]; !ok || by == in {
				break
			}
			dir, name := path.Split(base)
			stem, ext, _ := strings.Cut(name, ".")
			base = fmt.Sprintf("%s%s~%d.%s", dir, stem, n, ext)
		}
		out[i], taken[base] = base, in
	}
	return out
}

// Safe is a path as it can stand below a folder: relative, without .. and hidden parts, which are not found there again.
func Safe(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == ".":
		case strings.HasPrefix(part, "."), part == "node_modules":
			parts = append(parts, "_"+strings.TrimLeft(part, "."))
		default:
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "input"
	}
	return strings.Join(parts, "/")
}

// Folder is the folder of a shard.
func Folder(shard int) string { return "shard-" + strconv.Itoa(shard) }

// Name is the path of a file of a shard.
func (p place) name() string {
	return path.Join(Folder(p.shard), p.base+"."+strconv.Itoa(p.shard))
}

// Shard is the shard of a text: a request's id, an input's name.
func Shard(text string, n int) int { return int(xxhash.Sum64String(text) % uint64(n)) }

// Request writes the records of a grouped request into its shard. Requests that one external id may mean go into that of the external id: only
// together do they show that it is ambiguous (R4.2).
func (w *Writer) Request(r *model.Request) error {
	w.Requests++
	group := r.ID
	if r.Candidate && r.External != "" {
		group = r.External
	}
	shard := Shard(group, w.n)
	for _, s := range r.Spans {
		w.record(s, r.ID, shard)
	}
	return w.settle()
}

// Process writes a record of no request. Those of one process stay together.
func (w *Writer) Process(s *model.Span) error {
	w.record(s, "", Shard(w.dict.Proc(s.Proc).Name, w.n))
	return w.settle()
}

// Recording is the shard of a recording, by its name: one that has records, whose cbtrace.request says that the capture was cut.
func (w *Writer) Recording(name string) int {
	shard := Shard(name, w.n)
	for k := range w.n {
		if s := (shard + k) % w.n; w.used[s] {
			return s
		}
	}
	return shard
}

// record adds a record to what waits for its file.
func (w *Writer) record(s *model.Span, request string, shard int) {
	file := s.Sources[0].File
	if w.inputs[file].Recording { // also lookup hashes, which are lines
		return
	}
	w.used[shard] = true
	if s.Line {
		w.closeLine()
		b := w.buffer(place{shard, w.bases[file]})
		before := len(*b)
		*b = appendProfile(*b, w.dict, s, request)
		w.Lines++
		w.held += len(*b) - before
		return
	}
	w.span(s, request, place{shard, w.bases[file]})
	w.Spans++
}

func (w *Writer) buffer(p place) *[]byte {
	b := w.pending[p]
	if b == nil {
		b = new([]byte)
		w.pending[p] = b
	}
	return b
}

// settle writes what waits once it is much.
func (w *Writer) settle() error {
	if w.held < maxHeld {
		return nil
	}
	return w.Flush()
}

// Flush writes all that waits.
func (w *Writer) Flush() error {
	w.closeLine()
	for p, b := range w.pending {
		if err := w.append(p.name(), *b); err != nil {
			return err
		}
	}
	clear(w.pending)
	w.held = 0
	return nil
}
