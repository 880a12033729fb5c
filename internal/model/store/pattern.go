package store

import (
	"github.com/cbtrace/cbtrace/internal/model"
)

// A pattern is what a writer knows of records that look alike: which of their attributes is their key, and their shapes. A capture repeats few of them, so
// that R4.1 is asked once for each and not for every record.
type pattern struct {
	hash   uint64
	looks  []uint32 // of the attributes: head<<1, and 1 where the text is empty
	shape  shape    // but for the attributes
	traced bool     // they have a trace
	stage  model.Stage
	scoped bool
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
	attrs := b.AttrsOf(r)
	like := shape{kind: r.Kind, flags: r.Flags, forms: formsOf(r), name: r.Name, stage: r.StageID, scope: r.Scope, res: r.Res}
	if like.kind > model.KindConsumer {
		like.kind = 0
	}
	h := (uint64(like.name)<<32|uint64(like.res))*mixA ^ (uint64(like.scope)<<32|uint64(like.stage)<<24|uint64(like.kind)<<16|uint64(like.flags)<<8|uint64(like.forms))*mixB
	for i := range attrs {
		h = (h ^ uint64(lookOf(&attrs[i]))) * mixC
	}
	traced := !r.Trace.IsZero()
	p := &w.patterns[h>>(64-patternBits)]
	if p.hash == h && p.traced == traced && p.fits(&like, attrs) {
		return p
	}
	*p = pattern{hash: h, shape: like, traced: traced, looks: p.looks[:0]}
	for i := range attrs {
		p.looks = append(p.looks, lookOf(&attrs[i]))
	}
	lm, _ := scopes(w.s.dict.Str(r.Scope))
	p.stage, p.scoped = stageOf(w.s.dict, r, lm)
	p.sel = selectKey(b, r, p.stage, p.scoped, lm)
	return p
}

func (p *pattern) fits(like *shape, attrs []model.BatchAttr) bool {
	s := &p.shape
	if s.name != like.name || s.res != like.res || s.scope != like.scope || s.stage != like.stage || s.kind != like.kind || s.flags != like.flags ||
		s.forms != like.forms || len(p.looks) != len(attrs) {
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
	known, skip := &p.whole, 0
	if keyed {
		known, skip = &p.keyed, p.sel.key
	}
	if *known == nil {
		s := p.shape
		s.attributes = w.heads[:0]
		for i, look := range p.looks {
			if i != skip-1 {
				s.attributes = append(s.attributes, attrHead(look>>1))
			}
		}
		w.heads = s.attributes
		*known, w.text = w.s.shapes.intern(&s, w.text)
	}
	return *known
}
