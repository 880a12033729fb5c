package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/cbtrace/cbtrace/internal/ingest/profile"
)

const (
	sniffSize  = 64 << 10  // bytes by which a format is told
	maxLayers  = 3         // compressions around one another
	zstdWindow = 128 << 20 // bytes a zstd frame may look back, as much as the zstd command allows
)

// A source is an input that is being read, with its compression taken off.
type source struct {
	file   io.Reader // as it lies on disk, counted
	closer []func()
	r      io.Reader     // the rest, after head
	came   *int64        // bytes of the content that were read so far
	head   []byte        // the first bytes of the content
	whole  bool          // head is all of it
	nuls   int64         // NUL bytes before head, which were dropped
	suffix string        // +gzip, +zstd
	plain  bool          // nothing was taken off: offsets are those of the file
	block  int           // bytes of a block
	limit  int           // bytes of a JSON value, 0: maxRecord
	broken error         // why it broke off
	keys   *profile.Keys // of profile lines; nil: as assumed

	sniffed bool // kind is what values found
	kind    *kind
	seen    []string
}

// counter counts what is read.
type counter struct {
	r     io.Reader
	n     *int64
	total *atomic.Int64
}

func (c counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	*c.n += int64(n)
	if c.total != nil {
		c.total.Add(int64(n))
	}
	return n, err
}

// open opens an input and takes its compressions off. n counts the bytes that are read of the file.
func (s *Set) open(in *Input, n *int64, total *atomic.Int64) (*source, error) {
	src := &source{came: new(int64), plain: true, block: cmp.Or(s.block, blockSize), limit: s.limit}
	var r io.Reader
	switch {
	case in.Path == Stdin:
		if s.stdin == nil {
			return nil, errors.New("no standard input")
		}
		r = s.stdin
	default:
		f, err := in.openFile()
		if err != nil {
			return nil, err
		}
		src.closer = append(src.closer, func() { f.Close() })
		r = f
	}
	src.file = counter{r, n, total}
	src.r = counter{src.file, src.came, nil}
	src.peek()
	for range maxLayers {
		if !src.unwrap() {
			if src.whole { // a small input needs little memory
				src.block = min(src.block, len(src.head)+1)
			}
			return src, nil
		}
	}
	src.close()
	return nil, fmt.Errorf("compressed more than %d times", maxLayers)
}

// Foreign reports whether an input is of no format that is read, as far as its beginning tells, so that nothing would be lost with it.
func (s *Set) Foreign(in *Input, opt Options) bool {
	var n int64
	src, err := s.open(in, &n, nil)
	if err != nil {
		return false
	}
	defer src.close()
	src.keys = opt.ProfileKeys
	_, v := find(src)
	_, lost := errors.AsType[*unread](v.refused)
	return v.refused != nil && v.name == "" && !lost
}

func (src *source) close() {
	for i := len(src.closer) - 1; i >= 0; i-- {
		src.closer[i]()
	}
}

// peek reads the head.
func (src *source) peek() {
	src.head, src.whole = fill(src.r, nil, sniffSize, &src.broken)
}

// dropNULs drops the NUL bytes at the beginning: a file that was cut to nothing while its writer went on writing where it was has a hole there, of any
// size (logrotate's copytruncate).
func (src *source) dropNULs() {
	n := 0
	for {
		n += countNULs(src.head[n:])
		if n < len(src.head) || src.whole {
			break
		}
		src.nuls += int64(n)
		n = 0
		src.head, src.whole = fill(src.r, src.head[:0], sniffSize, &src.broken)
	}
	src.nuls += int64(n)
	src.head = append(src.head[:0], src.head[n:]...)
	if !src.whole {
		src.head, src.whole = fill(src.r, src.head, sniffSize, &src.broken)
	}
	src.sniffed = false
}

// countNULs is with how many NUL bytes b begins.
func countNULs(b []byte) (n int) {
	for len(b)-n >= len(zeros) && [len(zeros)]byte(b[n:]) == zeros { // holes are large
		n += len(zeros)
	}
	for n < len(b) && b[n] == 0 {
		n++
	}
	return n
}

var zeros [4 << 10]byte

// all is the content from its beginning.
func (src *source) all() io.Reader {
	if src.whole {
		return bytes.NewReader(src.head)
	}
	return io.MultiReader(bytes.NewReader(src.head), src.r)
}

const (
	gzipMagic     = "\x1f\x8b"
	zstdMagic     = 0xfd2fb528
	skippableMask = 0xfffffff0
	skippable     = 0x184d2a50
)

func isZstd(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	m := binary.LittleEndian.Uint32(b)
	return m == zstdMagic || m&skippableMask == skippable
}

// unwrap takes one compression off, and reports whether there was one.
func (src *source) unwrap() bool {
	switch {
	case bytes.HasPrefix(src.head, []byte(gzipMagic)):
		z, err := newMembers(src.all())
		if err != nil {
			src.fail(err, "+gzip")
			return false
		}
		src.layer(z, "+gzip")
	case isZstd(src.head):
		z, err := zstd.NewReader(src.all(), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			src.fail(err, "+zstd")
			return false
		}
		src.closer = append(src.closer, z.Close)
		src.layer(z, "+zstd")
	default:
		return false
	}
	return true
}

// members reads the members of a gzip file one after the other. NUL bytes behind the last one pad it, as gunzip has it.
type members struct {
	in     *bufio.Reader
	member *gzip.Reader
}

func newMembers(r io.Reader) (*members, error) {
	in := bufio.NewReader(r)
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &members{in, z}, nil
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.member.Read(p)
		if n > 0 && err == io.EOF { // which is said again
			return n, nil
		}
		if err != io.EOF {
			return n, err
		}
		if err := m.next(); err != nil {
			return 0, err
		}
	}
}

// next begins the member behind one that was read; io.EOF: there is none.
func (m *members) next() error {
	head, err := m.in.Peek(2)
	if len(head) == 0 {
		return err
	}
	if !bytes.HasPrefix([]byte(gzipMagic), head) {
		return m.behind()
	}
	if err := m.member.Reset(m.in); err != nil {
		return err
	}
	m.member.Multistream(false)
	return nil
}

// behind passes over what is no member.
func (m *members) behind() error {
	for {
		switch b, err := m.in.ReadByte(); {
		case err != nil:
			return err
		case b != 0:
			return errBehind
		}
	}
}

// errBehind is why an input ends before its file, although nothing of what was compressed is missing.
var errBehind = errors.New("gzip: other bytes behind the compression")

func (src *source) layer(r io.Reader, suffix string) {
	src.came = new(int64) // what is compressed goes on counting elsewhere
	src.r, src.suffix, src.plain = counter{r, src.came, nil}, suffix+src.suffix, false
	src.peek()
}

// why is why the input broke off.
func (src *source) why() error {
	if errors.Is(src.broken, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", strings.TrimPrefix(src.suffix, "+"), errCut)
	}
	return reason(src.broken)
}

var errCut = errors.New("ends in the middle")

// fail ends an input at the head of a compression.
func (src *source) fail(err error, suffix string) {
	src.suffix = suffix + src.suffix
	src.broken, src.head, src.whole, src.came = err, nil, true, new(int64)
}
