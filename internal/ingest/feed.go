package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/profile"
	"github.com/cbtrace/cbtrace/internal/model"
)

// How the blocks of the inputs reach the workers: each worker reads the one that it decodes next, so that it is in its own processor's cache. A worker
// has a file for itself as long as there are enough of them; the last ones are shared, one worker reading (and decompressing) while others decode.

// A reader hands out files.
type reader struct {
	set   *Set
	ctx   context.Context
	bytes *atomic.Int64
	files []*file
	begun atomic.Int64 // files that some worker has
	keys  *profile.Keys
	pick  *Pick

	keepAll bool // attributes outside the table too
	mu      sync.Mutex
	spans   days
}

// pass gives a worker that is done with a file the next one: one that nobody has, or else one that another worker has not finished, after its own if
// there are several. nil: everything was read.
func (r *reader) pass(done *file) *file {
	if n := r.begun.Add(1) - 1; n < int64(len(r.files)) {
		return r.files[n]
	}
	from := 0
	if done != nil {
		from = done.n + 1
	}
	for i := range r.files {
		if f := r.files[(from+i)%len(r.files)]; !f.over.Load() {
			return f
		}
	}
	return nil
}

// A file is an input while it is read.
type file struct {
	n      int // in the set
	in     *Input
	id     model.FileID
	dict   *model.File
	family string
	format *format
	plan   *profile.Plan // of profile lines
	given  *model.ProfilePlan

	turn  sync.Mutex  // of the worker that reads a block
	over  atomic.Bool // there are no more blocks
	begun bool        // it was opened
	ahead chan task   // blocks of an input that may keep its reader waiting for ever, read by a goroutine of its own
	feed  feed

	mu      sync.Mutex
	rep     decode.Report
	name    string // of the format
	refused error
	names   []string
	pick    bool // only a part of it was read
}

// A feed is what a file's blocks come from: cut, or the pieces of it that were picked.
type feed struct {
	src    *source
	cut    cutter
	k      seekable
	pieces []piece
	count  int // of the blocks so far
	rep    decode.Report
}

// A task is a block to decode.
type task struct {
	block
	first bool // of the file
	part  bool // only the records of picked requests count
	lean  bool // attributes outside the table do not
}

// next gives the next block of the file, in buf where it fits; ok is false after the last one, and when the run is over.
func (f *file) next(r *reader, buf []byte) (t task, ok bool) {
	f.turn.Lock()
	defer f.turn.Unlock()
	if f.over.Load() {
		return t, false
	}
	if f.in.Size >= 0 { // a regular file
		t, ok = f.read(r, buf)
	} else {
		if f.ahead == nil {
			f.ahead = make(chan task, 2)
			go f.readAhead(r) // on an interrupt it may hang in a read: nobody waits for it
		}
		select {
		case t, ok = <-f.ahead:
		case <-r.ctx.Done():
		}
	}
	if !ok {
		f.over.Store(true)
	}
	return t, ok
}

func (f *file) readAhead(r *reader) {
	defer close(f.ahead)
	defer f.feed.close()
	for {
		t, ok := f.read(r, nil)
		if !ok {
			return
		}
		select {
		case f.ahead <- t:
		case <-r.ctx.Done():
			return
		}
	}
}

// read reads the next block; after the last one the file is closed.
func (f *file) read(r *reader, buf []byte) (t task, ok bool) {
	if !f.begun {
		f.begun = true
		if err := f.open(r); err != nil {
			f.refuse("", err)
		}
	}
	switch {
	case f.feed.cut != nil:
		t.block, ok = f.feed.block(f.in, buf)
	case len(f.feed.pieces) > 0:
		t, ok = f.piece(buf)
	}
	if t.first = f.feed.count == 0; ok {
		f.feed.count++
		return t, true
	}
	f.merge(&f.feed.rep)
	f.feed.close()
	f.feed = feed{}
	return t, false
}

// open finds out what the file is and how it is to be read. The error: it cannot be.
func (f *file) open(r *reader) error {
	rep := &f.feed.rep
	src, err := r.set.open(f.in, &rep.Bytes, r.bytes)
	if err != nil {
		return err
	}
	f.feed.src = src
	src.keys = r.keys
	format, v := find(src)
	if src.nuls > 0 && len(src.head) > 0 {
		rep.Note(fmt.Sprintf("%d NUL bytes at its beginning were dropped: it was cut while its writer went on", src.nuls))
	}
	if format == nil || v.refused != nil || v.unread != "" {
		if rep.Bytes = f.in.Size; rep.Bytes < 0 {
			rep.Bytes = int64(len(src.head))
		}
		if v.unread != "" {
			rep.Note(v.unread)
		}
		if _, lost := errors.AsType[*unread](v.refused); lost {
			src.report(f.in, rep, true)
		}
		f.refuse(v.name, v.refused)
		return nil
	}
	f.format, f.dict.Lines = format, format.lines
	f.name = v.name + src.suffix
	if pieces, ok := r.pick.piecesOf(f.n); ok {
		f.pick = true
		rep.Bytes = f.in.Size
		f.feed.close()
		in, err := f.in.openFile()
		if err != nil {
			rep.Problem(0, nowhere, err)
			return nil
		}
		src.closer = []func(){func() { in.Close() }}
		f.feed.k, f.feed.pieces = seekable{f: in}, pieces
		return nil
	}
	f.feed.cut = format.cut(src)
	if v.name == "cb-profile" {
		f.feed.cut = f.look(f.feed.cut, src.keys)
	}
	return nil
}

// close closes what is open of a feed.
func (d *feed) close() {
	if d.src != nil {
		d.src.close()
		d.src.closer = nil
	}
}

// close closes a file that was not read to its end. One that is read ahead closes itself: it may hang in a read.
func (f *file) close() {
	if f.ahead == nil {
		f.feed.close()
	}
}

// block cuts the next block.
func (d *feed) block(in *Input, buf []byte) (b block, ok bool) {
	for {
		b, err := d.cut(buf)
		if large, is := errors.AsType[*tooLarge](err); is {
			d.rep.Skip(large.line, large.offset, large)
			continue
		}
		if err != nil {
			refused := !errors.Is(err, io.EOF)
			if refused {
				d.rep.Skip(0, b.offset, err)
			}
			d.src.report(in, &d.rep, refused)
			return b, false
		}
		return b, true
	}
}

// piece reads the next piece of the file that is to be read.
func (f *file) piece(buf []byte) (t task, ok bool) {
	p := f.feed.pieces[0]
	f.feed.pieces = f.feed.pieces[1:]
	data, err := f.feed.k.read(buf, p.off, p.end)
	if err != nil {
		f.feed.rep.Problem(0, nowhere, err)
		return t, false
	}
	if p.off == 0 && f.format.lines { // the source has said so
		p.off = int64(len(data))
		data = bytes.TrimLeft(data, "\x00")
		p.off -= int64(len(data))
	}
	return task{block: block{data: data, line: p.line, offset: p.off}, part: !p.sample && !p.shared, lean: p.sample}, true
}

// report says how the input ended. Where it was refused before its end, what was not read of it says nothing.
func (src *source) report(in *Input, rep *decode.Report, refused bool) {
	if src.broken != nil {
		rep.Truncated = rep.Truncated || !errors.Is(src.broken, errBehind)
		rep.Problem(0, *src.came, src.why())
	}
	if in.Size >= 0 && rep.Bytes < in.Size && src.broken == nil && !refused {
		rep.Truncated = true
		rep.Problem(0, nowhere, fmt.Errorf("%d of its %d bytes were there to be read", rep.Bytes, in.Size))
	}
}

// nowhere is the offset of a problem of a whole input.
const nowhere = -1
