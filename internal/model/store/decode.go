package store

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A decoder turns records back into spans, reusing the slices of the span it fills.
type decoder struct {
	dict *model.Dict
	limits
	texts  textBlocks
	common map[string]string // texts that repeat

	scope  model.StrID // the last one seen, and what it means
	lm, mp bool
	seen   bool
	moment bool // the last record was a recorded moment
}

func newDecoder(d *model.Dict) decoder { return decoder{dict: d, common: map[string]string{}} }

// span fills s from what follows the length of a record of a keyed stream. id is the id of its request.
func (d *decoder) span(s *model.Span, e *entry, id string, rec []byte) error {
	c := cursor{b: rec}
	c.uvarint() // the entry
	meta := c.byte()
	return d.content(s, e, id, meta, c)
}

// content fills s from the content of a record.
func (d *decoder) content(s *model.Span, e *entry, id string, meta byte, c cursor) error {
	var h head
	var b body
	if len(c.b) >= window {
		c.fixed(&h, &b)
	} else {
		h = c.head()
		b = c.body(h.shape)
	}
	if c.bad || int(b.name) >= d.strs || int(b.scope) >= d.strs || int(b.res) >= max(d.ress, 1) || meta&metaJoinMask >= byte(model.NumJoins) {
		return errCorrupt
	}
	if h.shape&shapeIDMask == formPlace {
		h.id = model.LineID(e.file, b.pos)
	}
	if !d.holds(h.id) || !d.holds(h.parent) {
		return errCorrupt
	}
	if !d.seen || d.scope != b.scope {
		d.lm, d.mp = scopes(d.dict.Str(b.scope))
		d.scope, d.seen = b.scope, true
	}
	rec := model.Record{Name: b.name, StageID: b.stage, Flags: h.flags}
	stage, scoped := stageOf(d.dict, &rec, d.lm)
	if scoped && meta&metaScoped == 0 {
		stage = model.StageNone // R4.22
	}
	attrs, polls, sources, kids, steps := s.Attrs[:0], s.Polls[:0], s.Sources[:0], s.Kids[:0], s.Steps[:0]
	*s = model.Span{} // cleared in place and filled in: a literal that mentions s would be made elsewhere and copied
	s.Trace, s.ID, s.ParentID = e.trace, h.id, h.parent
	s.Name, s.StageKey, s.Stage, s.Kind, s.Scope, s.Res = b.name, b.name, stage, h.kind, b.scope, b.res
	s.Error, s.Line, s.LMScope, s.MPScope = h.flags&model.RecordError != 0, h.flags&model.RecordLine != 0, d.lm, d.mp
	s.RawStart, s.RawEnd = b.start, b.end
	s.Polls, s.Kids, s.Steps = polls, kids, steps
	s.Sources = append(sources, model.Source{File: e.file, Pos: b.pos, Joined: model.Join(meta & metaJoinMask)})
	if d.ress > 0 {
		s.Proc = d.dict.Res(b.res).Proc
	}
	if s.Line {
		if div := d.dict.File(e.file).Divisor.Load(); div != 0 { // R4.12: its clock has no epoch after all
			h.flags |= model.RecordUnanchored
			if s.RawEnd != 0 {
				s.RawEnd -= s.RawStart - s.RawStart/model.Time(div)
			}
			s.RawStart /= model.Time(div)
		}
	}
	d.classify(s, h.flags)
	for ; b.attrs > 0 && !c.bad; b.attrs-- {
		if len(attrs) < cap(attrs) {
			attrs = attrs[:len(attrs)+1]
		} else {
			attrs = append(attrs, model.Attr{})
		}
		a := &attrs[len(attrs)-1] // filled in place
		if text := c.attr(a); a.Value.Kind == model.StrValue {
			a.Value.Str = d.text(a.Key, text)
		}
		if a.Key >= model.NumAttrs && int(a.Key-model.NumAttrs) >= d.strs {
			return errCorrupt
		}
	}
	if slot := int(meta >> metaSlotShift); slot > 0 {
		attrs = append(attrs, model.Attr{Key: keyAttrs[min(slot, len(keyAttrs))-1], Value: model.Value{Kind: model.StrValue, Str: id}})
	}
	s.Attrs = attrs
	if c.bad {
		return errCorrupt
	}
	return nil
}

// classify fills in what stage, kin, class and times follow from.
func (d *decoder) classify(s *model.Span, flags model.RecordFlags) {
	s.Kin = s.Stage
	if s.Stage != model.StageNone {
		s.StageKey = s.Stage.ID()
	} else if kin := d.dict.Kin(s.Name); !model.Stages[kin].Scoped {
		s.Kin = kin // R4.13
	}
	s.Class = model.Stages[s.Kin].Class
	moment := flags&model.RecordPoint != 0
	d.moment = moment
	if moment || flags&model.RecordNoEnd != 0 && s.Stage == model.StageNone {
		s.Class = model.Point
	}
	switch {
	case s.RawStart == 0 || flags&model.RecordUnanchored != 0: // R3.5
		s.Flags |= model.FlagUntimed
	case moment || flags&model.RecordNoEnd != 0:
		s.RawEnd = s.RawStart
	case s.RawEnd == 0: // R4.8
		s.Flags |= model.FlagOpen
	}
	s.Start, s.End = s.RawStart, s.RawEnd
}

// maxCommon bounds the texts that are remembered because they repeat, maxCommonText their length.
const (
	maxCommon     = 1 << 13
	maxCommonText = 64
)

// text is a string of the value of an attribute. Values of few kinds are shared; ids are not looked for.
func (d *decoder) text(key model.AttrKey, b []byte) string {
	if key.NamesRequest() || len(b) > maxCommonText {
		return d.texts.keep(b)
	}
	if s, ok := d.common[string(b)]; ok {
		return s
	}
	s := d.texts.keep(b)
	if len(d.common) < maxCommon {
		d.common[s] = s
	}
	return s
}

// textBlocks hold texts in blocks that are never written again, so that a text stays good for as long as it is kept.
type textBlocks struct{ free []byte }

const textBlock = 4 << 10

func (t *textBlocks) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > textBlock/4 {
		return string(b)
	}
	if len(b) > len(t.free) {
		t.free = make([]byte, textBlock)
	}
	n := copy(t.free, b)
	s := unsafe.String(&t.free[0], n)
	t.free = t.free[n:]
	return s
}

// ReadProcess calls fn for every record of no request: spans without a way to one, lines and points without an id (R4.5, R4.6). They come in no
// particular order, and a span is good inside fn only. It needs little memory, however many there are.
func (s *Store) ReadProcess(ctx context.Context, fn func(*model.Span) error) error {
	if s.closed.Load() {
		return ErrClosed
	}
	sc := s.newScanner()
	d := newDecoder(s.dict)
	d.limits = limitsOf(s.dict)
	var span model.Span
	return s.eachChunk(ctx, s.processStream(), func(_ int, c *chunk) error {
		entries, err := sc.dictionary(s.processStream(), c)
		if err != nil {
			return err
		}
		rec, err := sc.records(s.processStream(), c)
		if err != nil {
			return err
		}
		return eachRecord(rec, len(entries), func(n int, rest []byte) error {
			if s.refused(&entries[n]) {
				return nil
			}
			if err := d.content(&span, &entries[n], "", 0, cursor{b: rest}); err != nil {
				return fmt.Errorf("records of processes: %w", err)
			}
			return fn(&span)
		})
	})
}
