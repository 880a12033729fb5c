package lct

import (
	"encoding/binary"
	"io"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
)

// oldestWindow is how far behind a header of the oldest recorder the first whole record is looked for.
const oldestWindow = 4 << 20

// A Fill reads until buf holds want bytes or the input ends, and reports whether it does.
type Fill func(buf []byte, want int) ([]byte, bool)

// A Cutter cuts a recording into blocks of whole frames. Each begins with the header, so that blocks can be decoded by themselves; the offset of a
// block is such that a record that lies n bytes into its data has the offset + n in the recording.
type Cutter struct {
	fill   Fill
	size   int    // bytes of a block, more when a record is larger
	header []byte // with its length
	oldest bool   // what follows it may be overwritten
	rest   []byte // read, not yet handed on
	offset int64  // of the first byte of rest
	eof    bool
	begun  bool
	done   bool
}

// NewCutter cuts what fill reads, from its first byte, into blocks of about size bytes.
func NewCutter(fill Fill, size int) *Cutter { return &Cutter{fill: fill, size: max(size, 1)} }

// Next gives the next block, io.EOF after the last. buf is memory that it may use. Another error says why the header cannot be used.
func (c *Cutter) Next(buf []byte) (data []byte, offset int64, err error) {
	if c.done {
		return nil, 0, io.EOF
	}
	buf = append(append(buf[:0], c.header...), c.rest...)
	for want := max(c.size, len(buf)+1); ; {
		if !c.eof {
			buf, c.eof = c.fill(buf, want)
		}
		if c.header == nil {
			h, n, err := ReadHeader(buf)
			if err != nil && n > len(buf) && !c.eof {
				want = min(n, 2*want)
				continue
			}
			if err != nil {
				c.done = true
				return nil, 0, err
			}
			c.header, c.oldest = append([]byte(nil), buf[:n]...), h.Oldest()
		}
		if !c.begun && c.oldest && len(buf) < oldestWindow && !c.eof {
			want = oldestWindow
			continue
		}
		if len(buf) == len(c.header) && c.eof && c.begun {
			c.done = true
			return nil, 0, io.EOF
		}
		end, need, damaged := c.whole(buf[len(c.header):])
		end += len(c.header)
		switch {
		case damaged || c.eof: // the rest is for the decoder to name
			c.drain()
			end = len(buf)
		case end == len(c.header):
			want = min(len(c.header)+need, 2*want) // memory grows with what was read, not with what a length says
			continue
		}
		offset = 0
		if c.begun {
			offset = c.offset - int64(len(c.header))
		}
		c.begun = true
		c.rest = append(c.rest[:0], buf[end:]...)
		c.offset = offset + int64(end)
		return buf[:end], offset, nil
	}
}

// whole is where the last of the whole frames at the beginning of b ends, and how many bytes the first one needs where there is none. damaged says
// that no frame begins after end.
func (c *Cutter) whole(b []byte) (end, need int, damaged bool) {
	if !c.begun && c.oldest {
		n, ok := overwritten(b)
		if end = n; !ok {
			return end, 0, true
		}
	}
	start := end
	need = prefix
	for len(b)-end >= prefix {
		body, err := frame(b[end:])
		if err == nil {
			end += prefix + len(body)
			continue
		}
		if err != decode.ErrTruncated {
			return end, 0, true
		}
		need = prefix + int(binary.BigEndian.Uint32(b[end:]))
		break
	}
	if end == start {
		return 0, start + need, false
	}
	return end, 0, false
}

// drain reads what follows a place after which nothing can be told, so that all of the input was read.
func (c *Cutter) drain() {
	c.done = true
	var b []byte
	for !c.eof {
		b, c.eof = c.fill(b[:0], c.size)
	}
}
