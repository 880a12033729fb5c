package store

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A shape is what records of one kind have in common: all but ids, times, position and the values of attributes. A capture has few of them: a record
// only names its shape, and what follows from it is worked out once.
type shape struct {
	number     uint32 // in the table of the store, from 1; 0: the record spells it out
	kind       model.SpanKind
	flags      model.RecordFlags
	forms      uint8 // of the ids, and which times there are
	name       model.StrID
	stage      model.StrID // of a profile line
	scope      model.StrID
	res        model.ResID
	attributes []attrHead
}

const (
	shapeIDMask      = 3 // form of the id
	shapeParentShift = 2 // form of the parent's
	shapeStart       = 1 << 4
	shapeEnd         = 1 << 5
	shapeBackwards   = 1 << 6 // the end lies before the start
)

const (
	formNone  = 0
	formHex   = 1 // 8 bytes
	formPlace = 2 // the id of this very line
	formOther = 3 // kind, varint
)

// An attrHead is the key of an attribute and the kind of its value.
type attrHead uint32

const kindBits = 3

func headOf(a *model.BatchAttr) attrHead { return attrHead(a.Key)<<kindBits | attrHead(a.Kind) }

func (h attrHead) key() model.AttrKey    { return model.AttrKey(h >> kindBits) }
func (h attrHead) kind() model.ValueKind { return model.ValueKind(h & (1<<kindBits - 1)) }

// formsOf is the part of a record's shape that its ids and times decide.
func formsOf(r *model.Record) uint8 {
	id := formOf(r.ID)
	if id == formOther && r.ID == model.LineID(r.File, r.Pos) {
		id = formPlace
	}
	f := id | formOf(r.Parent)<<shapeParentShift
	if r.Start != 0 {
		f |= shapeStart
	}
	if r.End != 0 {
		f |= shapeEnd
		if r.End < r.Start {
			f |= shapeBackwards
		}
	}
	return f
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

// appendShape appends a shape as records spell it out: flags, kind, forms, name, stage, scope, resource, n, n attributes; varints but for the first three.
func appendShape(b []byte, s *shape) []byte {
	b = append(b, byte(s.flags), byte(s.kind), s.forms)
	for _, v := range [...]uint64{uint64(s.name), uint64(s.stage), uint64(s.scope), uint64(s.res), uint64(len(s.attributes))} {
		b = binary.AppendUvarint(b, v)
	}
	for _, a := range s.attributes {
		b = binary.AppendUvarint(b, uint64(a))
	}
	return b
}

// Bounds of a table of shapes. What is over them is spelled out in each record.
const (
	maxShapes     = 1 << 16
	maxShapeHeads = 1 << 20 // attributes of all shapes together
)

// shapes are the shapes of a store by number. Their numbers depend on the order of arrival and never reach an output.
type shapes struct {
	mu    sync.Mutex
	index map[string]*shape // by what appendShape writes
	heads int
	all   atomic.Pointer[[]*shape] // only appended to
}

// list are the shapes so far.
func (t *shapes) list() []*shape {
	if all := t.all.Load(); all != nil {
		return *all
	}
	return nil
}

// intern is the shape of the table that is like s, or a copy of s without a number. text is scratch.
func (t *shapes) intern(s *shape, text []byte) (*shape, []byte) {
	text = appendShape(text[:0], s)
	t.mu.Lock()
	defer t.mu.Unlock()
	if found := t.index[string(text)]; found != nil {
		return found, text
	}
	c := *s
	c.attributes = append([]attrHead(nil), s.attributes...)
	all := t.list()
	if c.number = 0; len(all) < maxShapes && t.heads+len(c.attributes) <= maxShapeHeads {
		if t.index == nil {
			t.index = map[string]*shape{}
		}
		all = append(all, &c)
		c.number = uint32(len(all))
		t.heads += len(c.attributes)
		t.index[string(text)] = &c
		t.all.Store(&all)
	}
	return &c, text
}
