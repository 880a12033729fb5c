package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
)

const (
	blockSize = 512 << 10 // bytes of a block, more when a record is larger: what a reader leaves in the cache for the worker
	maxRecord = 256 << 20 // bytes of one record: a JSON value that cannot be taken apart (the collector's batches are a few MiB)
)

// A block is a piece of a decompressed input that holds whole records.
type block struct {
	data   []byte
	line   int64 // of its first byte, from 1
	offset int64
}

// A cutter gives the blocks of an input, one a call, io.EOF after the last. buf is memory that it may use.
// After a *tooLarge it goes on behind what was too large; after any other error nothing of the input can be read any more.
type cutter func(buf []byte) (block, error)

// A tooLarge is the error of a record that is not read for its size.
type tooLarge struct {
	line, offset int64 // where it begins
	limit        int
}

func (e *tooLarge) Error() string {
	size := fmt.Sprintf("%d MiB", e.limit>>20)
	if e.limit < 1<<20 {
		size = fmt.Sprintf("%d bytes", e.limit)
	}
	return fmt.Sprintf("a JSON value of more than %s at offset %d", size, e.offset)
}

// fill reads until buf holds want bytes or the input ends. An input that breaks off ends where it breaks; why is kept in *broken.
func fill(r io.Reader, buf []byte, want int, broken *error) ([]byte, bool) {
	if cap(buf) < want {
		buf = append(make([]byte, 0, want), buf...)
	}
	for len(buf) < want {
		n, err := r.Read(buf[len(buf):want])
		buf = buf[:len(buf)+n]
		if err != nil {
			if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				*broken = err
			}
			return buf, true
		}
	}
	return buf, false
}

// A jsonCutter cuts concatenated JSON values, one per line or pretty-printed.
//
// Between two values that stand on lines of their own there is a newline before '{' or '[' and none of ",[:{" before the newline; in no
// sound value is there such a place. A block ends at the last one in it. A value that is larger than a block is handed on in pieces that
// are values of the same shape: what stands before its list of resource spans (or traces), some elements, and the closing brackets.
// Its memory is that of its largest element.
type jsonCutter struct {
	r      io.Reader
	broken *error
	size   int    // of a block
	limit  int    // of a value; 0: maxRecord
	begin  int64  // offset of the first byte
	lines  int64  // in what was read and not yet handed on
	rest   []byte // read, not yet handed on
	line   int64  // of the first byte of rest, from 1
	offset int64
	head   []byte // inside a list: what the value has before its first element
	eof    bool
	lost   bool // in a broken value: what follows is dropped up to the next one
}

func (c *jsonCutter) next(buf []byte) (block, error) {
	for {
		b, done, err := c.try(buf)
		if done || err != nil {
			return b, err
		}
		buf = b.data
	}
}

// try gives a block, or memory to go on with.
func (c *jsonCutter) try(buf []byte) (b block, done bool, err error) {
	buf = append(append(buf[:0], c.head...), c.rest...)
	want := max(c.size, len(buf), len(bom))
	if c.lost {
		if !c.eof {
			buf, c.eof = fill(c, buf, len(buf)+c.size, c.broken)
		}
		return c.search(buf)
	}
	for ; ; want *= 2 {
		if !c.eof {
			buf, c.eof = fill(c, buf, want, c.broken)
		}
		if c.offset == c.begin && bytes.HasPrefix(buf, bom) {
			buf = buf[:copy(buf, buf[len(bom):])]
			c.offset += int64(len(bom))
		}
		head := len(c.head)
		if c.eof {
			if len(buf) == head {
				return b, false, io.EOF
			}
			return c.cut(buf, len(buf), len(buf), 0, nil), true, nil
		}
		if at := lastStart(buf[head:]); at > 0 {
			return c.cut(buf, head+at, head+at, 0, nil), true, nil
		}
		list, ends, next, state := elements(buf)
		switch state {
		case listCut:
			return c.cut(buf, ends, next, list.start, list.closers), true, nil
		case listBroken:
			at := head + jsonscan.Resync(buf[head:], 0)
			c.lost = at == len(buf)
			return c.cut(buf, at, at, 0, nil), true, nil
		}
		if at := values(buf); at > head { // without newlines between them
			return c.cut(buf, at, at, 0, nil), true, nil
		}
		if limit := cmp.Or(c.limit, maxRecord); want >= limit {
			return b, false, c.drop(buf, limit)
		}
	}
}

// drop forgets a value that is too large, of which buf is the beginning, and has what follows dropped up to the next one.
func (c *jsonCutter) drop(buf []byte, limit int) error {
	err := &tooLarge{c.line, c.offset, limit}
	c.pass(0)
	c.offset += int64(len(buf) - len(c.head))
	c.head, c.rest, c.lost = c.head[:0], c.rest[:0], true
	return err
}

// cut hands buf[:end] on, closed by closers, and keeps buf[next:]; start is where the list in it begins whose elements go on in the next
// block, 0 when the next block begins with a value.
func (c *jsonCutter) cut(buf []byte, end, next, start int, closers []byte) block {
	head := len(c.head)
	b := block{line: c.line - decode.Newlines(buf[:head]), offset: c.offset - int64(head)}
	c.pass(decode.Newlines(buf[next:]))
	c.offset += int64(next - head)
	c.rest = append(c.rest[:0], buf[next:]...)
	c.head = append(c.head[:0], buf[:start]...)
	b.data = append(buf[:end], closers...)
	return b
}

// pass moves on to where rest lines are left of what was read.
func (c *jsonCutter) pass(rest int64) {
	c.line += c.lines - rest
	c.lines = rest
}

// Read reads from the input and counts lines while what was read is still in the processor's cache.
func (c *jsonCutter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p[:min(len(p), readSize)])
	c.lines += decode.Newlines(p[:n])
	return n, err
}

const readSize = 256 << 10

// search drops the rest of a broken value.
func (c *jsonCutter) search(buf []byte) (b block, done bool, err error) {
	at := jsonscan.Resync(buf, 0)
	if at < len(buf) {
		c.lost = false
	} else if c.eof {
		return b, false, io.EOF
	} else if buf[len(buf)-1] == '\n' {
		at-- // the next value may follow
	}
	c.pass(decode.Newlines(buf[at:]))
	c.offset += int64(at)
	c.rest = append(c.rest[:0], buf[at:]...)
	c.head = c.head[:0]
	return block{data: buf}, false, nil
}

// lastStart is where the last value begins that stands on a line of its own behind another one; 0 when there is none.
func lastStart(buf []byte) int {
	for end := len(buf); ; {
		nl := lastNewline(buf[:end])
		if nl < 0 {
			return 0
		}
		end = nl
		next := nl + 1
		for next < len(buf) && (buf[next] == ' ' || buf[next] == '\t' || buf[next] == '\r') {
			next++
		}
		if next == len(buf) || buf[next] != '{' && buf[next] != '[' {
			continue
		}
		before := bytes.TrimRight(buf[:nl], " \t\r\n")
		if len(before) > 0 && bytes.IndexByte([]byte(",[:{"), before[len(before)-1]) < 0 {
			return nl + 1
		}
	}
}

// lastNewline is bytes.LastIndexByte for a newline: lines are long, so stretches without one are passed over at once.
func lastNewline(b []byte) int {
	const stretch = 1 << 10
	for len(b) > stretch && bytes.IndexByte(b[len(b)-stretch:], '\n') < 0 {
		b = b[:len(b)-stretch]
	}
	return bytes.LastIndexByte(b, '\n')
}

// A list is an array in a value whose elements can be decoded apart.
type list struct {
	start   int    // where its first element may stand
	closers []byte // what closes the array and what is around it
}

type listState uint8

const (
	listNone   listState = iota // no list, or it is over
	listCut                     // more may follow
	listBroken                  // broken syntax
)

// elements finds the list of the value at the beginning of buf, where its last whole element ends and where the next one begins.
func elements(buf []byte) (l list, end, next int, state listState) {
	var s jsonscan.Scanner
	s.Reset(buf)
	l, ok := findList(&s, 0)
	for ok && s.Elem() {
		s.Skip()
		at := s.Pos()
		if !s.More() {
			break
		}
		if buf[s.Pos()] == ',' {
			end, next = at, s.Pos()+1
		}
	}
	switch err := s.Err(); {
	case err != nil && !errors.Is(err, jsonscan.ErrEnd):
		return l, 0, 0, listBroken
	case end == 0 || err == nil && s.Pos() < len(buf):
		return l, 0, 0, listNone
	}
	return l, end, next, listCut
}

// values is where the last of the whole values at the beginning of buf ends, 0 without any.
func values(buf []byte) (end int) {
	var s jsonscan.Scanner
	s.Reset(buf)
	for k := s.Kind(); k == jsonscan.Object || k == jsonscan.Array; k = s.Kind() {
		s.Skip()
		if s.Err() != nil {
			break
		}
		end = s.Pos()
	}
	return end
}

// findList enters the list of a value, and of one in an answer.
func findList(s *jsonscan.Scanner, wrapped int) (l list, ok bool) {
	if s.Kind() == jsonscan.Array && wrapped == 0 {
		s.Array()
		return list{s.Pos(), []byte("]")}, true
	}
	if !s.Object() {
		return l, false
	}
	for key, more := s.Key(); more; key, more = s.Key() {
		switch string(key) {
		case "resourceSpans", "resource_spans", "batches", "data":
			if s.Kind() == jsonscan.Array {
				s.Array()
				return list{s.Pos(), []byte("]}")}, true
			}
		case "trace", "result":
			if wrapped == 0 && s.Kind() == jsonscan.Object {
				if l, ok = findList(s, 1); ok {
					l.closers = append(l.closers, '}')
					return l, true
				}
				continue
			}
		}
		s.Skip()
	}
	return l, false
}
