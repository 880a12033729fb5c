// Package saved reads and writes saved reports (`.cbr`, R8.3, R8.4): a whole aggregate, its request table and the facts of its capture, so
// that the report can be made again, merged with others (R2.6) and held against budgets without the capture.
//
//	r, err := saved.Read(file, dict)
//	for each other file { o, err := saved.Read(other, dict); err = r.Merge(o) }
//	doc := r.Document()
package saved

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// What callers branch on.
var (
	ErrNotSaved = errors.New("not a saved report")
	ErrVersion  = errors.New("a saved report of a newer cbtrace")
	ErrDamaged  = errors.New("a damaged saved report")
	ErrTooLarge = report.ErrTooLarge
)

// A file is the magic, the version (1 byte), the content as one zstd frame, and the XXH64 of all before it (8 bytes, little-endian).
// The content of version 1 is what report.Append writes. Files of older versions stay readable: testdata holds one of each.
const (
	magic      = "cbtrace report\n"
	version    = 1
	sumSize    = 8
	maxFile    = 64 << 20  // bytes; a full one has about 10 MB
	maxContent = 128 << 20 // bytes; a full one has about 30 MB
	maxWindow  = 8 << 20   // bytes of zstd's window
)

// Magic is how a saved report begins.
const Magic = magic

// Is reports whether an input that begins with these bytes is a saved report.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// A Report is a saved report in memory.
type Report struct {
	Dict      *model.Dict // of its names
	Aggregate *report.Aggregate
	Facts     *report.Capture
}

// Document is the report. It is that of the run that saved it, but for series of more than 8 192 values, which are no longer exact (R8.3).
func (r *Report) Document() *report.Document { return r.Aggregate.Document(r.Facts) }

// Merged is the document of `merge`: the report, and the shards it was made of.
func (r *Report) Merged(shards []report.Shard) *report.MergeDocument {
	return r.Aggregate.Merged(r.Facts, shards)
}

// Table is the request table (R8.4).
func (r *Report) Table() *report.Table { return r.Aggregate.Table() }

// Figures are what rules of a budget are held against.
func (r *Report) Figures() *report.Figures { return r.Aggregate.Figures(r.Facts) }

// A MergeError says in which options two reports differ that cannot be merged.
type MergeError struct{ Differences []report.Difference }

func (e *MergeError) Error() string {
	var b bytes.Buffer
	b.WriteString("made with other options")
	for i, d := range e.Differences {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		value := func(s string) string {
			if s == "" {
				return "none"
			}
			return s
		}
		fmt.Fprintf(&b, "%s%s %s and %s", sep, d.Option, value(d.A), value(d.B))
	}
	return b.String()
}

// Merge adds another report, which has the same Dict and must not be used again. The order in which reports are merged does not matter. The
// error is a *MergeError; nothing was added then.
func (r *Report) Merge(o *Report) error {
	if d := r.Aggregate.Differences(r.Facts, o.Aggregate, o.Facts); d != nil {
		return &MergeError{d}
	}
	r.Aggregate.Merge(o.Aggregate)
	r.Facts.Merge(o.Facts)
	return nil
}

// Write saves the report, which stays as it is: the same bytes for the same requests and facts, however they came together (R8.3).
func (r *Report) Write(w io.Writer) error {
	content, err := r.Aggregate.Append(nil, r.Facts)
	if err == nil && len(content) > maxContent {
		err = ErrTooLarge
	}
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(false), zstd.WithWindowSize(maxWindow))
	if err != nil {
		return err
	}
	b := append([]byte(magic), version)
	b = z.EncodeAll(content, b)
	if err := z.Close(); err != nil {
		return err
	}
	b = binary.LittleEndian.AppendUint64(b, xxhash.Sum64(b))
	if len(b) > maxFile {
		return ErrTooLarge
	}
	_, err = w.Write(b)
	return err
}

// Read reads a saved report; its names become those of dict. Reports that are to be merged share one. Anything may be read: the error is
// ErrNotSaved, ErrVersion or ErrDamaged, or that of the reader.
func Read(f io.Reader, dict *model.Dict) (*Report, error) {
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case !Is(b):
		return nil, ErrNotSaved
	case len(b) == len(magic):
		return nil, fmt.Errorf("%w: cut short", ErrDamaged)
	case b[len(magic)] > version:
		return nil, fmt.Errorf("%w: version %d, this one reads up to %d", ErrVersion, b[len(magic)], version)
	case b[len(magic)] == 0:
		return nil, fmt.Errorf("%w: version 0", ErrDamaged)
	case len(b) > maxFile:
		return nil, fmt.Errorf("%w: over %d MiB", ErrDamaged, maxFile>>20)
	case len(b) < len(magic)+1+sumSize:
		return nil, fmt.Errorf("%w: cut short", ErrDamaged)
	}
	end := len(b) - sumSize
	if binary.LittleEndian.Uint64(b[end:]) != xxhash.Sum64(b[:end]) {
		return nil, fmt.Errorf("%w: cut short or changed, its checksum is another", ErrDamaged)
	}
	content, err := decompress(b[len(magic)+1 : end])
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	a, facts, err := report.Decode(content, dict)
	switch {
	case errors.Is(err, report.ErrUnknown):
		return nil, fmt.Errorf("%w: %v", ErrVersion, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	return &Report{dict, a, facts}, nil
}

// decompress takes the content out of its frame. Memory grows with what comes out, not with what the frame says will.
func decompress(frame []byte) ([]byte, error) {
	z, err := zstd.NewReader(bytes.NewReader(frame), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	content, err := io.ReadAll(io.LimitReader(z, maxContent+1))
	if err == nil && len(content) > maxContent {
		err = fmt.Errorf("its content is over %d MiB", maxContent>>20)
	}
	return content, err
}
