package lct

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
)

// A record is one record of a recording. Its slices lie in the block.
type record struct {
	mono, wall float64 // s; mono since the start of the recording, wall since the Unix epoch
	qualname   []byte
	args       []byte // a msgpack map, sound to its end
}

// addStep hands on the instant of the record on both clocks of its process, where both are known.
func (r *record) addStep(rep *decode.Report) {
	if wall := wallTime(r.wall); wall != 0 && r.mono >= 0 && r.mono < 9.2e9 {
		rep.Steps.Add(time.Duration(r.mono*1e9), wall)
	}
}

// What is wrong with a record. Its bytes are never shown.
var (
	errNoMap    = errors.New("a record that is no msgpack map")
	errCutValue = errors.New("a record with a value that is no msgpack, or does not end")
	errTrailing = errors.New("a record with bytes after its map")
	errKind     = errors.New("a frame that is no record")
	errMissing  = errors.New("a record without t_mono, t_wall, qualname or args")
	errEmpty    = errors.New("a frame of no bytes")
	errDamage   = errors.New("bytes after the header that are no record: the oldest recorder puts its header down again, over what follows")
)

const (
	haveType = 1 << iota
	haveMono
	haveWall
	haveQualname
	haveArgs
	haveAll = haveType | haveMono | haveWall | haveQualname | haveArgs
)

// read reads the body of a frame, all of it: a record that is taken is sound. Unknown keys are passed over.
func (r *record) read(b []byte) error {
	n, i := mapAt(b, 0)
	if i < 0 {
		return errNoMap
	}
	have := 0
	for range n {
		key, at := textAt(b, i)
		if at < 0 {
			if at = skip(b, i); at < 0 {
				return errCutValue
			}
		}
		if i = skip(b, at); i < 0 {
			return errCutValue
		}
		next := -1
		switch string(key) {
		case "type":
			var kind []byte
			if kind, next = textAt(b, at); string(kind) != "record" {
				return errKind
			}
			have |= haveType
		case "t_mono":
			r.mono, next = numberAt(b, at)
			have |= haveMono
		case "t_wall":
			r.wall, next = numberAt(b, at)
			have |= haveWall
		case "qualname":
			r.qualname, next = textAt(b, at)
			have |= haveQualname
		case "args":
			_, next = mapAt(b, at)
			r.args = b[at:i]
			have |= haveArgs
		default:
			continue
		}
		if next < 0 {
			return errMissing
		}
	}
	switch {
	case have&haveType == 0:
		return errKind
	case have != haveAll:
		return errMissing
	case i != len(b):
		return errTrailing
	}
	return nil
}

// A walker goes over the records of a block, which begins with the header of its recording.
type walker struct {
	data []byte
	at   int
	base int64 // offset of data[0]; that of the bytes after the header where the block is not the first
	rep  *decode.Report
}

// newWalker enters a block. The error is that of its header.
func newWalker(blk *decode.Block, rep *decode.Report) (w walker, h Header, err error) {
	h, n, err := ReadHeader(blk.Data)
	if err != nil {
		return w, h, err
	}
	w = walker{data: blk.Data, at: n, base: blk.Offset, rep: rep}
	if blk.Offset == 0 && h.Oldest() {
		damaged, ok := overwritten(w.data[n:])
		if damaged > 0 {
			rep.Skip(0, int64(n), errDamage)
			rep.Truncated = true
		}
		if w.at += damaged; !ok {
			w.at = len(w.data)
		}
	}
	return w, h, nil
}

// next reads the next record that can be used and returns its offset. What cannot be used is reported and passed over.
func (w *walker) next(r *record) (offset int64, ok bool) {
	for w.at < len(w.data) {
		offset = w.base + int64(w.at)
		body, err := frame(w.data[w.at:])
		if err != nil { // nothing after it can be trusted to begin a frame
			w.at = len(w.data)
			w.rep.Truncated = true
			w.rep.Skip(0, offset, err)
			return offset, false
		}
		w.at += prefix + len(body)
		err = errEmpty
		if len(body) > 0 {
			err = r.read(body)
		}
		if err == nil {
			return offset, true
		}
		w.rep.Skip(0, offset, err)
	}
	return 0, false
}

// frame is the body of the frame at the beginning of b. The error says that it is cut, or that its length is none.
func frame(b []byte) ([]byte, error) {
	if len(b) < prefix {
		return nil, decode.ErrTruncated
	}
	n := binary.BigEndian.Uint32(b)
	switch {
	case n > maxRecord:
		return nil, fmt.Errorf("record length %d is over the %d MiB limit", n, maxRecord>>20)
	case int(n) > len(b)-prefix:
		return nil, decode.ErrTruncated
	}
	return b[prefix : prefix+int(n)], nil
}

// recordHead is how a record begins, after the byte or the three of its map: the recorder writes the type first.
var recordHead = []byte("\xa4type\xa6record")

// searchLimit bounds the bytes that are read in vain for a record.
const searchLimit = 64 << 20

// overwritten is how many bytes at the beginning of b, which follow the header of the oldest recorder, are no record because a longer header was
// put over them. ok is false when no record follows.
func overwritten(b []byte) (damaged int, ok bool) {
	if len(b) == 0 || sound(b) {
		return 0, true
	}
	budget := searchLimit
	for at := 0; budget > 0; {
		head := bytes.Index(b[at:], recordHead)
		if head < 0 {
			break
		}
		head += at
		for _, n := range [...]int{1, 3} { // bytes of the map before its first key
			start := head - n - prefix
			if start < 0 {
				continue
			}
			if sound(b[start:]) {
				return start, true
			}
			if body, err := frame(b[start:]); err == nil {
				budget -= len(body)
			}
		}
		at = head + len(recordHead)
	}
	return len(b), false
}

// sound reports whether b begins with a frame that holds a record.
func sound(b []byte) bool {
	body, err := frame(b)
	var r record
	return err == nil && r.read(body) == nil
}
