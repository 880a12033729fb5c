package store

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// errCorrupt is what decoding finds in bytes that are not what was written.
var errCorrupt = errors.New("records are damaged")

// The content of a record, independent of where it stands:
//
//	number of its shape, [shape], sizes, [id], [parent], [start: 8 bytes], duration, position, values of attributes
//
// The shape says what of it is there; it is spelled out where the number is 0. Sizes are those of duration and position, a nibble each; an attribute's
// number comes behind its size. Other numbers are varints. The chunk's entry says request, trace and file.

// maxFixed is more than the part of a content before its values can take, without a shape that is spelled out.
const maxFixed = window

// putUvarint writes a varint at b[n:], which is long enough, and gives where it ends.
func putUvarint(b []byte, n int, v uint64) int {
	for v >= 0x80 {
		b[n] = byte(v) | 0x80
		v >>= 7
		n++
	}
	b[n] = byte(v)
	return n + 1
}

// sizeOf is how many bytes a number needs.
func sizeOf(v uint64) int { return (bits.Len64(v) + 7) / 8 }

// sized are masks of the last so many bytes of a word.
var sized = [16]uint64{0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1}

// zigzag makes numbers small that are near 0, unzigzag is its inverse.
func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

func putID(b []byte, n int, form uint8, id model.SpanID) int {
	switch form {
	case formHex:
		binary.LittleEndian.PutUint64(b[n:], id.N)
		return n + 8
	case formOther:
		b[n] = byte(id.Kind)
		return putUvarint(b, n+1, id.N)
	}
	return n
}

// appendContent appends the content of a record of a shape. It is without the attribute skip, as the shape is.
func appendContent(b []byte, sh *shape, batch *model.Batch, r *model.Record, skip attrAt) []byte {
	if sh.number == 0 {
		b = appendShape(append(b, 0), sh)
	}
	b = slices.Grow(b, maxFixed)
	p := b[len(b) : len(b)+maxFixed] // one check for all of the fixed part
	n := 0
	if sh.number != 0 {
		n = putUvarint(p, 0, uint64(sh.number))
	}
	d := uint64(0)
	if r.End != 0 {
		if d = uint64(r.End) - uint64(r.Start); r.End < r.Start {
			d = -d
		}
	}
	dSize, posSize := sizeOf(d), sizeOf(uint64(r.Pos))
	p[n] = byte(dSize)<<4 | byte(posSize)
	n = putID(p, n+1, sh.forms&shapeIDMask, r.ID)
	n = putID(p, n, sh.forms>>shapeParentShift&3, r.Parent)
	if r.Start != 0 {
		binary.LittleEndian.PutUint64(p[n:], uint64(r.Start))
		n += 8
	}
	binary.LittleEndian.PutUint64(p[n:], d)
	n += dSize
	binary.LittleEndian.PutUint64(p[n:], uint64(r.Pos))
	n += posSize
	b = b[:len(b)+n]
	attrs := batch.AttrsOf(r)
	for i := range attrs {
		if i == skip.index() {
			continue
		}
		a := &attrs[i]
		switch a.Kind {
		case model.IntValue, model.BoolValue:
			v := zigzag(a.Bits)
			size, n := sizeOf(v), len(b)
			b = binary.LittleEndian.AppendUint64(append(b, byte(size)), v)[:n+1+size]
		case model.FloatValue:
			b = binary.LittleEndian.AppendUint64(b, a.Bits)
		case model.StrValue:
			b = binary.AppendUvarint(b, uint64(a.Len))
			b = append(b, batch.TextOf(a)...)
		}
	}
	return b
}

// A cursor reads encoded bytes. After a read beyond the end bad is set and everything is zero.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) fail() {
	c.b, c.bad = nil, true
}

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.fail()
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

func (c *cursor) uvarint() uint64 {
	if len(c.b) > 0 && c.b[0] < 0x80 {
		v := c.b[0]
		c.b = c.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) uint64() uint64 {
	if len(c.b) < 8 {
		c.fail()
		return 0
	}
	v := binary.LittleEndian.Uint64(c.b)
	c.b = c.b[8:]
	return v
}

func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.fail()
		return nil
	}
	v := c.b[:n] // with the slack behind it
	c.b = c.b[n:]
	return v
}

func (c *cursor) hash() hash { return hash{c.uint64(), c.uint64()} }

func appendHash(b []byte, h hash) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, h.hi), h.lo)
}

// fixed is what stands before the values of a record.
type fixed struct {
	*shape
	id, parent model.SpanID // an id of formPlace is not filled in
	start, end model.Time
	pos        int64
}

// window is how many bytes fixed looks at. So many are readable behind all encoded bytes (slack), which spares looking for their end at every step.
const window = 64

// slack gives room for a window behind bytes that are to be read.
func slack(b []byte) []byte {
	if cap(b)-len(b) < window {
		b = slices.Grow(b, window)
	}
	return b
}

// fixed reads what stands before the values of a record. What is damaged may give anything, but nothing beyond the slack is read.
func (l *limits) fixed(c *cursor, f *fixed) {
	if cap(c.b) < window {
		c.fail()
		return
	}
	p := (*[window]byte)(c.b[:window])
	v, n := uvarintAt(p, 0)
	switch {
	case v-1 < uint64(len(l.shapes)):
		f.shape = l.shapes[v-1]
	case v == 0:
		c.byte()
		if f.shape = l.spelled(c); c.bad || cap(c.b) < window {
			c.fail()
			return
		}
		p, n = (*[window]byte)(c.b[:window]), 0
	default:
		c.fail()
		return
	}
	forms := f.forms
	sizes := p[n&(window-1)]
	f.id, n = idAt(p, n+1, forms&shapeIDMask)
	f.parent, n = idAt(p, n, forms>>shapeParentShift&3)
	f.start, f.end = 0, 0
	if forms&shapeStart != 0 {
		f.start = model.Time(wordAt(p, n))
		n += 8
	}
	v = wordAt(p, n) & sized[sizes>>4]
	n += int(sizes >> 4)
	if forms&shapeEnd != 0 {
		if forms&shapeBackwards != 0 {
			v = -v
		}
		f.end = model.Time(uint64(f.start) + v)
	}
	f.pos = int64(wordAt(p, n) & sized[sizes&15])
	n += int(sizes & 15)
	if n > len(c.b) || !l.holds(f.id) || !l.holds(f.parent) {
		c.fail()
		return
	}
	c.b = c.b[n:]
}

// spelled reads a shape that a record spells out; it is good until the next.
func (l *limits) spelled(c *cursor) *shape {
	s := &l.spelt
	s.flags, s.kind, s.forms = model.RecordFlags(c.byte()), model.SpanKind(c.byte()), c.byte()
	name, stage, scope, res, n := c.uvarint(), c.uvarint(), c.uvarint(), c.uvarint(), c.uvarint()
	if c.bad || name >= uint64(l.strs) || stage >= uint64(l.strs) || scope >= uint64(l.strs) || res >= uint64(max(l.ress, 1)) || n > uint64(len(c.b)) {
		c.fail()
		return s
	}
	s.name, s.stage, s.scope, s.res = model.StrID(name), model.StrID(stage), model.StrID(scope), model.ResID(res)
	s.attributes = s.attributes[:0]
	for range n {
		h := c.uvarint()
		if k := h >> kindBits; h > math.MaxUint32 || k >= uint64(model.NumAttrs) && k-uint64(model.NumAttrs) >= uint64(l.strs) {
			c.fail()
			return s
		}
		s.attributes = append(s.attributes, attrHead(h))
	}
	return s
}

// uvarintAt reads a varint at p[n:] and gives where it ends.
func uvarintAt(p *[window]byte, n int) (uint64, int) {
	v := uint64(p[n&(window-1)])
	if v < 0x80 {
		return v, n + 1
	}
	return longUvarintAt(p, n)
}

func longUvarintAt(p *[window]byte, n int) (v uint64, next int) {
	for shift := 0; shift < 64; shift += 7 {
		b := p[n&(window-1)]
		n++
		if v |= uint64(b&0x7f) << shift; b < 0x80 {
			return v, n
		}
	}
	return 0, 2 * window // too long
}

func wordAt(p *[window]byte, n int) uint64 {
	if n > window-8 {
		return 0 // and the end lies beyond the window
	}
	return binary.LittleEndian.Uint64(p[n : n+8])
}

func idAt(p *[window]byte, n int, form uint8) (model.SpanID, int) {
	switch form {
	case formHex:
		return model.SpanID{N: wordAt(p, n), Kind: model.IDHex}, n + 8
	case formOther:
		v, next := uvarintAt(p, n+1)
		return model.SpanID{N: v, Kind: model.IDKind(p[n&(window-1)])}, next
	}
	return model.SpanID{}, n
}

// textOf finds the last text of an attribute in the content of a record.
func (l *limits) textOf(content []byte, key model.AttrKey) (found []byte) {
	c := cursor{b: content}
	var f fixed
	if l.fixed(&c, &f); c.bad {
		return nil
	}
	for _, h := range f.attributes {
		switch h.kind() {
		case model.IntValue, model.BoolValue:
			c.bytes(uint64(c.byte()))
		case model.FloatValue:
			c.uint64()
		case model.StrValue:
			if text := c.bytes(c.uvarint()); h.key() == key {
				found = text
			}
		}
	}
	return found
}
