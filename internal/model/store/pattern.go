package store

import (
	"github.com/cbtrace/cbtrace/internal/model"
)

// A pattern is what a writer knows of records that look alike: which of their attributes is their key, and their shapes. A capture repeats few of them, so
// that R4.1 is asked once for each and not for every record.
type pattern struct {
	hash   uint64
	looks  []uint32       // of the attributes: head<<1, and 1 where the text is empty
	shape  shape          // but for the attributes
	kind   model.SpanKind // as written
	traced bool           // they have a trace
	sel    selection

	whole, keyed *shape // with all attributes, without sel.key; nil until asked for
}

const patternBits = 9

func lookOf(a *model.BatchAttr) uint32 {
	look := uint32(headOf(a)) << 1
	if a.Len == 0 {
		look |= 1
	}
	return look
}

// pattern is that of a record, good until the next call.
func (w *Writer) pattern(b *model.Batch, r *model.Record) *pattern {
	attrs, forms := b.AttrsOf(r), formsOf(r)
	h := (uint64(r.Name)<<32|uint64(r.Res))*mixA ^ (uint64(r.Scope)<<32|uint64(r.StageID)<<24|uint64(r.Kind)<<16|uint64(r.Flags)<<8|uint64(forms))*mixB
	for i := range attrs {
		h = (h ^ uint64(lookOf(&attrs[i]))) * mixC
	}
	p := &w.patterns[h>>(64-patternBits)]
	if p.hash == h && p.fits(r, forms, attrs) {
		return p
	}
	*p = pattern{hash: h, kind: r.Kind, traced: !r.Trace.IsZero(), looks: p.looks[:0]}
	p.shape = shape{kind: r.Kind, flags: r.Flags, forms: forms, name: r.Name, stage: r.StageID, scope: r.Scope, res: r.Res}
	if p.kind > model.KindConsumer {
		p.shape.kind = 0
	}
	for i := range attrs {
		p.looks = append(p.looks, lookOf(&attrs[i]))
	}
	lm, _ := scopes(w.s.dict.Str(r.Scope))
	stage, scoped := stageOf(w.s.dict, r, lm)
	p.sel = selectKey(b, r, stage, scoped, lm)
	return p
}

// fits compares field by field: a shape made of the record for it would be written in small pieces and read at once in large ones, which is slow.
func (p *pattern) fits(r *model.Record, forms uint8, attrs []model.BatchAttr) bool {
	s := &p.shape
	if s.name != r.Name || s.res != r.Res || s.scope != r.Scope || s.stage != r.StageID || p.kind != r.Kind || s.flags != r.Flags || s.forms != forms ||
		p.traced == r.Trace.IsZero() || len(p.looks) != len(attrs) {
		return false
	}
	for i, look := range p.looks {
		if look != lookOf(&attrs[i]) {
			return false
		}
	}
	return true
}

// shapeOf is the shape of records of a pattern with all attributes, or without the key that sel says.
func (w *Writer) shapeOf(p *pattern, keyed bool) *shape {
	known, skip := &p.whole, noAttr
	if keyed {
		known, skip = &p.keyed, p.sel.key
	}
	if *known == nil {
		s := p.shape
		s.attributes = w.heads[:0]
		for i, look := range p.looks {
			if i != skip.index() {
				s.attributes = append(s.attributes, attrHead(look>>1))
			}
		}
		w.heads = s.attributes
		*known, w.text = w.s.shapes.intern(&s, w.text)
	}
	return *known
}
