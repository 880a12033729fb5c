package store

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// errCorrupt is what decoding finds in bytes that are not what was written.
var errCorrupt = errors.New("records are damaged")

// The content of a record, independent of where it stands:
//
//	kind<<5 | flags, shape, [id], [parent], [start: 8 bytes], [duration], name, [stage], scope, resource, position, n, n attributes
//
// Numbers are varints. The chunk's entry says request, trace and file.
const (
	shapeIDMask      = 3 // form of the id
	shapeParentShift = 2 // form of the parent's
	shapeStart       = 1 << 4
	shapeEnd         = 1 << 5
	shapeBackwards   = 1 << 6 // the end lies before the start
	shapeStage       = 1 << 7

	formNone  = 0
	formHex   = 1 // 8 bytes
	formPlace = 2 // the id of this very line
	formOther = 3 // kind, varint

	kindShift = 5
	flagMask  = 1<<kindShift - 1
)

// maxFixed is more than the part of a content before its attributes can take.
const maxFixed = 96

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

func formOf(id model.SpanID) uint8 {
	switch id.Kind {
	case model.IDNone:
		return formNone
	case model.IDHex:
		return formHex
	}
	return formOther
}

// appendContent appends the content of a record without its attribute skip (an index from 1; 0: all of them).
func appendContent(b []byte, batch *model.Batch, r *model.Record, skip int) []byte {
	kind := r.Kind
	if kind > model.KindConsumer {
		kind = 0
	}
	id, parent := formOf(r.ID), formOf(r.Parent)
	if id == formOther && r.ID == model.LineID(r.File, r.Pos) {
		id = formPlace
	}
	shape := id | parent<<shapeParentShift
	if r.Start != 0 {
		shape |= shapeStart
	}
	if r.End != 0 {
		shape |= shapeEnd
		if r.End < r.Start {
			shape |= shapeBackwards
		}
	}
	if r.StageID != 0 {
		shape |= shapeStage
	}
	b = slices.Grow(b, maxFixed)
	p := b[len(b) : len(b)+maxFixed] // one check for all of the fixed part
	p[0], p[1] = byte(kind)<<kindShift|byte(r.Flags)&flagMask, shape
	n := putID(p, 2, id, r.ID)
	n = putID(p, n, parent, r.Parent)
	if r.Start != 0 {
		binary.LittleEndian.PutUint64(p[n:], uint64(r.Start))
		n += 8
	}
	if r.End != 0 {
		d := uint64(r.End) - uint64(r.Start)
		if r.End < r.Start {
			d = -d
		}
		n = putUvarint(p, n, d)
	}
	n = putUvarint(p, n, uint64(r.Name))
	if r.StageID != 0 {
		n = putUvarint(p, n, uint64(r.StageID))
	}
	n = putUvarint(p, n, uint64(r.Scope))
	n = putUvarint(p, n, uint64(r.Res))
	n = putUvarint(p, n, uint64(r.Pos))
	return appendAttrs(b[:len(b)+n], batch, r, skip)
}

func appendAttrs(b []byte, batch *model.Batch, r *model.Record, skip int) []byte {
	attrs := batch.AttrsOf(r)
	n := len(attrs)
	if skip > 0 {
		n--
	}
	b = binary.AppendUvarint(b, uint64(n))
	for i := range attrs {
		if i == skip-1 {
			continue
		}
		a := &attrs[i]
		b = binary.AppendUvarint(b, uint64(a.Key)<<3|uint64(a.Kind))
		switch a.Kind {
		case model.IntValue, model.BoolValue:
			b = binary.AppendVarint(b, int64(a.Bits))
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

func (c *cursor) varint() int64 {
	u := c.uvarint()
	return int64(u>>1) ^ -int64(u&1)
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
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}

func (c *cursor) hash() hash { return hash{c.uint64(), c.uint64()} }

func appendHash(b []byte, h hash) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, h.hi), h.lo)
}

func (c *cursor) id(form uint8) model.SpanID {
	switch form {
	case formHex:
		return model.SpanID{N: c.uint64(), Kind: model.IDHex}
	case formOther:
		kind := model.IDKind(c.byte())
		return model.SpanID{N: c.uvarint(), Kind: kind}
	}
	return model.SpanID{}
}

// A head is the first part of a record's content: what identify needs of it.
type head struct {
	flags      model.RecordFlags
	kind       model.SpanKind
	shape      uint8
	id, parent model.SpanID // the id of formPlace is not filled in
}

func (c *cursor) head() head {
	f := c.byte()
	h := head{flags: model.RecordFlags(f & flagMask), kind: model.SpanKind(f >> kindShift), shape: c.byte()}
	h.id = c.id(h.shape & shapeIDMask)
	h.parent = c.id(h.shape >> shapeParentShift & 3)
	return h
}

// A body is the rest of a record's content up to its attributes.
type body struct {
	start, end  model.Time
	name, stage model.StrID
	scope       model.StrID
	res         model.ResID
	pos         int64
	attrs       uint64 // how many follow
}

func (c *cursor) body(shape uint8) body {
	var r body
	if shape&shapeStart != 0 {
		r.start = model.Time(c.uint64())
	}
	if shape&shapeEnd != 0 {
		d := c.uvarint()
		if shape&shapeBackwards != 0 {
			d = -d
		}
		r.end = model.Time(uint64(r.start) + d)
	}
	r.name = model.StrID(c.uvarint())
	if shape&shapeStage != 0 {
		r.stage = model.StrID(c.uvarint())
	}
	r.scope = model.StrID(c.uvarint())
	r.res = model.ResID(c.uvarint())
	r.pos = int64(c.uvarint())
	r.attrs = c.uvarint()
	return r
}

// window is how many bytes fixed looks at.
const window = 128

// fixed is head and body where at least window bytes are left, which spares looking for the end at every step. What is damaged may give anything, but
// nothing beyond the window is read.
func (c *cursor) fixed(h *head, r *body) {
	p := (*[window]byte)(c.b)
	h.flags, h.kind, h.shape = model.RecordFlags(p[0]&flagMask), model.SpanKind(p[0]>>kindShift), p[1]
	n := 2
	h.id, n = idAt(p, n, h.shape&shapeIDMask)
	h.parent, n = idAt(p, n, h.shape>>shapeParentShift&3)
	if h.shape&shapeStart != 0 {
		r.start = model.Time(wordAt(p, n))
		n += 8
	}
	var v uint64
	if h.shape&shapeEnd != 0 {
		v, n = uvarintAt(p, n)
		if h.shape&shapeBackwards != 0 {
			v = -v
		}
		r.end = model.Time(uint64(r.start) + v)
	}
	v, n = uvarintAt(p, n)
	r.name = model.StrID(v)
	if h.shape&shapeStage != 0 {
		v, n = uvarintAt(p, n)
		r.stage = model.StrID(v)
	}
	v, n = uvarintAt(p, n)
	r.scope = model.StrID(v)
	v, n = uvarintAt(p, n)
	r.res = model.ResID(v)
	v, n = uvarintAt(p, n)
	r.pos = int64(v)
	r.attrs, n = uvarintAt(p, n)
	if n > window {
		c.fail()
		return
	}
	c.b = c.b[n:]
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

// attr reads one attribute into a, whatever that held before, but for its text, which is given as bytes.
func (c *cursor) attr(a *model.Attr) (text []byte) {
	k := c.uvarint()
	a.Key, a.Value.Kind = model.AttrKey(k>>3), model.ValueKind(k&7)
	a.Value.Int, a.Value.Float, a.Value.Str = 0, 0, ""
	switch a.Value.Kind {
	case model.IntValue, model.BoolValue:
		a.Value.Int = c.varint()
	case model.FloatValue:
		a.Value.Float = math.Float64frombits(c.uint64())
	case model.StrValue:
		text = c.bytes(c.uvarint())
	}
	return text
}

// textOf finds the last text of an attribute in the content of a record.
func textOf(content []byte, key model.AttrKey) []byte {
	c := cursor{b: content}
	h := c.head()
	b := c.body(h.shape)
	var found []byte
	var a model.Attr
	for ; b.attrs > 0 && !c.bad; b.attrs-- {
		if text := c.attr(&a); a.Key == key {
			found = text
		}
	}
	return found
}
