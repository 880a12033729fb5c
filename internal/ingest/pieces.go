package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/profile"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Inputs whose records can be reached without reading what lies before them: plain files of JSON values on lines of their own, and of protobuf
// messages with their lengths.

const (
	chunkSize = 256 << 10 // bytes that are searched at once
	maxLine   = 64 << 20  // of a line that is looked for
)

// A seekable is such a file.
type seekable struct {
	input  int // in the set
	f      *os.File
	size   int64
	mapped []byte // all of it, nil where it cannot be
	format *format
	frame  framing // nil: lines
	lines  []int64 // of each chunk, the lines before it, once all were counted

	first, last model.Time // of the file, where they were asked for (near); 0: not, or none tells

	mu     sync.Mutex // of what is below, while it is searched
	chunks []chunk    // so far; they stay where they are in memory
	cutOff int64      // bytes of the file that are divided into chunks
	next   int        // chunk of this pass
}

// A chunk is what is searched at once: of messages whole ones.
type chunk struct {
	off, end int64
	first    model.Time // of the first span in it that tells; 0: none does
	newlines int64
	searched int // for how many patterns
}

// A piece is a run of whole records.
type piece struct {
	off, end int64
	line     int64 // of its first byte, from 1; 0 in messages
	sample   bool  // of the sample: all of its records count, without the attributes that only a shown request needs
	shared   bool  // a hit that lies in the sample: all of its records count
}

var errNotSeekable = errors.New("not seekable")

// seekable opens an input so that its records can be reached one by one. errNotSeekable: they cannot.
func (s *Set) seekable(n int, keys *profile.Keys) (*seekable, error) {
	in := &s.Inputs[n]
	if in.Err != nil || in.Size < 0 { // what is read of a pipe to find out what it holds is gone
		return nil, errNotSeekable
	}
	var read int64
	src, err := s.open(in, &read, nil)
	if err != nil {
		return nil, err
	}
	defer src.close()
	src.keys = keys
	format, v := find(src)
	if format == nil || v.refused != nil || v.unread != "" || !src.plain || src.broken != nil {
		return nil, errNotSeekable
	}
	k := &seekable{input: n, format: format}
	switch v.name {
	case "otlp-json", "jaeger-json":
	case "otlp-proto+framed":
		if k.frame = be32; !sniffBE32(src).ok {
			k.frame = varint
		}
	default:
		return nil, errNotSeekable
	}
	f, err := in.openFile()
	if err != nil {
		return nil, err
	}
	k.f = f
	if err = k.measure(); err == nil && k.size <= smallInput {
		err = k.cut(k.size, k.copied)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	k.mapped = mapFile(f, k.size)
	return k, nil
}

func (k *seekable) close() {
	unmap(k.mapped)
	k.f.Close()
}

// measure finds out how large the file is, and of lines whether it has several.
func (k *seekable) measure() error {
	info, err := k.f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return errNotSeekable
	}
	k.size = info.Size()
	if k.frame == nil {
		if end, err := k.lineEnd(0); err != nil || end == k.size {
			return errNotSeekable // one value, or none that ends soon
		}
	}
	k.chunks = make([]chunk, 0, k.size/chunkSize+1)
	return nil
}

// whole reports whether all of the file is divided into chunks.
func (k *seekable) whole() bool { return k.cutOff == k.size }

// cut divides the file into chunks up to some byte, and on to the end of a chunk. view gives what is looked at for that.
func (k *seekable) cut(to int64, view func(buf []byte, off, end int64) ([]byte, []byte, error)) error {
	var buf []byte
	for k.cutOff < to {
		end := min(k.cutOff+chunkSize, k.size)
		if k.frame != nil {
			for end = k.cutOff; end-k.cutOff < chunkSize && end < k.size; {
				head, next, err := view(buf, end, min(end+16, k.size))
				if err != nil {
					return err
				}
				buf = next
				prefix, length, err := k.frame(head)
				if end += int64(prefix + length); err != nil || prefix == 0 || end > k.size {
					return errNotSeekable
				}
			}
		}
		k.chunks = append(k.chunks, chunk{off: k.cutOff, end: end})
		k.cutOff = end
	}
	return nil
}

// lineEnd is where the line at off ends, its newline included.
func (k *seekable) lineEnd(off int64) (int64, error) {
	buf := make([]byte, 16<<10)
	for at := off; at < k.size; {
		n, err := k.f.ReadAt(buf[:min(int64(len(buf)), k.size-at)], at)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		if at += int64(n); n == 0 {
			return 0, shrunk(err)
		}
		if at-off > maxLine {
			return 0, errNotSeekable
		}
		if len(buf) < chunkSize {
			buf = make([]byte, chunkSize)
		}
	}
	return k.size, nil
}

// lineStart is where the line begins in which off lies.
func (k *seekable) lineStart(off int64) (int64, error) {
	buf := make([]byte, 16<<10)
	for end := off; end > 0; {
		from := max(0, end-int64(len(buf)))
		if _, err := k.f.ReadAt(buf[:end-from], from); err != nil {
			return 0, shrunk(err)
		}
		if i := lastNewline(buf[:end-from]); i >= 0 {
			return from + int64(i) + 1, nil
		}
		if end = from; off-end > maxLine {
			return 0, errNotSeekable
		}
		if len(buf) < chunkSize {
			buf = make([]byte, chunkSize)
		}
	}
	return 0, nil
}

func shrunk(err error) error {
	if errors.Is(err, io.EOF) {
		return errNotSeekable // it became shorter: reading it from its beginning tells what is there
	}
	return reason(err)
}

// record is the piece that holds the byte at off of chunk c, whose bytes begin with data.
func (k *seekable) record(c *chunk, data []byte, off int64) (p piece, err error) {
	if k.frame == nil {
		if p.off, err = k.lineStart(off); err == nil {
			p.end, err = k.lineEnd(off)
		}
		return p, err
	}
	for at := 0; at < len(data); {
		prefix, length, err := k.frame(data[at:])
		if err != nil || prefix == 0 {
			break
		}
		next := at + prefix + length
		if off < c.off+int64(next) {
			return piece{off: c.off + int64(at), end: c.off + int64(next)}, nil
		}
		at = next
	}
	return p, errNotSeekable
}

// view is bytes of the file: in buf, or as they are mapped. Whoever looks at them is ready for the file to become shorter (guard).
func (k *seekable) view(buf []byte, off, end int64) (data, newBuf []byte, err error) {
	if end <= int64(len(k.mapped)) {
		return k.mapped[off:end], buf, nil
	}
	return k.copied(buf, off, end)
}

// copied is bytes of the file in buf.
func (k *seekable) copied(buf []byte, off, end int64) (data, newBuf []byte, err error) {
	buf, err = k.read(buf, off, end)
	return buf, buf, err
}

// passed says that the bytes from off to end were looked at. What is mapped counts as memory of the program, which lets go of it.
func (k *seekable) passed(off, end int64) {
	if int64(len(k.mapped)) == k.size {
		release(k.mapped[off&^(mapPage-1) : end])
	}
}

// releaseChunks is of how many chunks memory is let go of at once.
const releaseChunks = 16

const mapPage = 1 << 16 // a multiple of the size of a page

// guard calls fn, which looks at mapped files: where one became shorter meanwhile it is not seekable any more.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if _, fault := p.(interface{ Addr() uintptr }); !fault {
				panic(p)
			}
			err = errNotSeekable
		}
	}()
	return fn()
}

// read reads bytes of the file into buf.
func (k *seekable) read(buf []byte, off, end int64) ([]byte, error) {
	buf = resizeBytes(buf, int(end-off))
	if n, err := k.f.ReadAt(buf, off); n < len(buf) {
		return nil, shrunk(err)
	}
	return buf, nil
}

func resizeBytes(b []byte, n int) []byte {
	if n > cap(b) {
		return make([]byte, n)
	}
	return b[:n]
}

// count sums up the newlines of the chunks.
func (k *seekable) count() {
	k.lines = make([]int64, len(k.chunks))
	n := int64(0)
	for i := range k.chunks {
		k.lines[i] = n
		n += k.chunks[i].newlines
	}
}

// lineOf is the number of the line that begins at off, from 1.
func (k *seekable) lineOf(off int64) (int64, error) {
	if k.frame != nil || off == 0 {
		return int64(1), nil
	}
	n := int((off - 1) / chunkSize)
	buf, err := k.read(nil, k.chunks[n].off, off)
	return 1 + k.lines[n] + decode.Newlines(buf), err
}

// firstTime is the start of the first span in a chunk that tells, as it is written; 0 when none does.
func (k *seekable) firstTime(data []byte) model.Time {
	if k.frame != nil {
		return firstFixed(data)
	}
	for _, key := range timeKeys {
		i := bytes.Index(data, key.name)
		if i < 0 {
			continue
		}
		if t := digitsAt(data[i+len(key.name):]); t > 0 {
			return model.Time(t * key.unit)
		}
	}
	return 0
}

var timeKeys = []struct {
	name []byte
	unit int64
}{{[]byte(`tartTimeUnixNano"`), 1}, {[]byte(`tart_time_unix_nano"`), 1}, {[]byte(`"startTime"`), 1000}}

// digitsAt reads a number behind a key, with or without quotes.
func digitsAt(b []byte) (n int64) {
	b = bytes.TrimLeft(b[:min(len(b), 40)], ": \t\"")
	for i := 0; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		if n > 1<<59 {
			return 0
		}
		n = 10*n + int64(b[i]-'0')
	}
	return n
}

// The fields of a protobuf span that hold its start and end, each 8 bytes.
const startTag, endTag = 7<<3 | 1, 8<<3 | 1

// earliest is in 2001, in ns: what is less is no instant of a span, or one of a clock without an epoch.
const earliest = model.Time(1e18)

// firstFixed looks for a start beside an end, in the order of either encoder.
func firstFixed(data []byte) model.Time {
	instant := func(at int, tag byte) model.Time {
		if at < 0 || at+9 > len(data) || data[at] != tag {
			return 0
		}
		n := int64(0)
		for i := 8; i > 0; i-- {
			n = n<<8 | int64(data[at+i])
		}
		if n < int64(earliest) || n > 1<<62 {
			return 0
		}
		return model.Time(n)
	}
	for at := 0; at < len(data); at++ {
		i := bytes.IndexByte(data[at:], startTag)
		if i < 0 {
			break
		}
		at += i
		if t := instant(at, startTag); t != 0 && (instant(at+9, endTag) >= t || instant(at-9, endTag) >= t) {
			return t
		}
	}
	return 0
}

// without takes pieces out of runs; both are in order and do not overlap among themselves.
func without(runs, out []piece) (rest []piece) {
	for _, r := range runs {
		for _, o := range out {
			if o.end <= r.off || o.off >= r.end {
				continue
			}
			if o.off > r.off {
				rest = append(rest, piece{off: r.off, end: o.off, sample: r.sample})
			}
			r.off = min(o.end, r.end)
		}
		if r.off < r.end {
			rest = append(rest, r)
		}
	}
	return rest
}

func comparePieces(a, b piece) int { return cmp.Compare(a.off, b.off) }
