package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A decoder turns records back into spans, reusing the slices of the span it fills.
type decoder struct {
	dict *model.Dict
	limits
	forms  []*form // of shapes: of shape n at 2n-2, or 2n-1 where a scoped name counts (R4.22); nil until asked for
	own    form    // of the record that spells its shape out
	bare   func(model.AttrKey) bool
	skip   bool // leave attributes out, unless one of them is in bare
	texts  textBlocks
	common map[string]string // texts that repeat
	moment bool              // the last record was a recorded moment
}

func newDecoder(s *Store) decoder {
	return decoder{dict: s.dict, bare: s.bare, common: map[string]string{}}
}

// A form is a shape as spans have it.
type form struct {
	span    model.Span // all that follows from the shape
	flags   model.RecordFlags
	moment  bool     // a recorded moment
	instant bool     // it ends where it begins, whatever was written
	texts   []string // by attribute: the text that was there last
	bare    bool     // none of its attributes is one that ReadBare keeps
}

// form is that of a shape.
func (d *decoder) form(sh *shape, scoped bool) *form {
	n := 2 * int(sh.number)
	if n == 0 {
		d.make(&d.own, sh, scoped)
		return &d.own
	}
	if !scoped {
		n--
	}
	for n > len(d.forms) {
		d.forms = append(d.forms, nil)
	}
	f := d.forms[n-1]
	if f == nil {
		f = new(form)
		d.make(f, sh, scoped)
		d.forms[n-1] = f
	}
	return f
}

func (d *decoder) make(f *form, sh *shape, scoped bool) {
	lm, mp := scopes(d.dict.Str(sh.scope))
	rec := model.Record{Name: sh.name, StageID: sh.stage, Flags: sh.flags}
	stage, isScoped := stageOf(d.dict, &rec, lm)
	if isScoped && !scoped {
		stage = model.StageNone // R4.22
	}
	*f = form{flags: sh.flags, texts: append(f.texts[:0], make([]string, len(sh.attributes))...)}
	f.span = model.Span{Name: sh.name, StageKey: sh.name, Stage: stage, Kind: sh.kind, Scope: sh.scope, Res: sh.res, Error: sh.flags&model.RecordError != 0,
		Line: sh.flags&model.RecordLine != 0, LMScope: lm, MPScope: mp}
	if d.ress > 0 {
		f.span.Proc = d.dict.Res(sh.res).Proc
	}
	f.bare = d.bare == nil || !slices.ContainsFunc(sh.attributes, func(h attrHead) bool { return d.bare(h.key()) })
	d.classify(f, sh.forms&shapeStart != 0, sh.forms&shapeEnd != 0)
}

// classify fills in what kin, class and flags follow from.
func (d *decoder) classify(f *form, started, ended bool) {
	s := &f.span
	s.Kin, s.Flags = s.Stage, 0
	if s.Stage != model.StageNone {
		s.StageKey = s.Stage.ID()
	} else if kin := d.dict.Kin(s.Name); !model.Stages[kin].Scoped {
		s.Kin = kin // R4.13
	}
	s.Class = model.Stages[s.Kin].Class
	f.moment = f.flags&model.RecordPoint != 0
	noEnd := f.flags&model.RecordNoEnd != 0
	if f.moment || noEnd && s.Stage == model.StageNone {
		s.Class = model.Point
	}
	f.instant = false
	switch {
	case !started || f.flags&model.RecordUnanchored != 0: // R3.5
		s.Flags = model.FlagUntimed
	case f.moment || noEnd:
		f.instant = true
	case !ended: // R4.8
		s.Flags = model.FlagOpen
	}
}

// span fills s from what follows the length of a record of a keyed stream. id is the id of its request.
func (d *decoder) span(s *model.Span, e *entry, id string, rec []byte) error {
	c := cursor{b: rec}
	c.uvarint() // the entry
	meta := c.byte()
	return d.content(s, e, id, meta, c)
}

// content fills s from the content of a record.
func (d *decoder) content(s *model.Span, e *entry, id string, meta byte, c cursor) error {
	var rec fixed
	if d.fixed(&c, &rec); c.bad || meta&metaJoinMask >= byte(model.NumJoins) {
		return errCorrupt
	}
	f := d.form(rec.shape, meta&metaScoped != 0)
	if f.span.Line {
		if div := d.dict.File(e.file).Divisor.Load(); div != 0 { // R4.12: its clock has no epoch after all
			f = d.unanchored(f, &rec, model.Time(div))
		}
	}
	d.moment = f.moment
	attrs, polls, sources, kids, steps := s.Attrs[:0], s.Polls[:0], s.Sources[:0], s.Kids[:0], s.Steps[:0]
	*s = f.span
	// Word by word: what was just written in small pieces is slow to copy in large ones.
	s.Trace.Hi, s.Trace.Lo = e.trace.Hi, e.trace.Lo
	s.ID.N, s.ID.Kind, s.ParentID.N, s.ParentID.Kind = rec.id.N, rec.id.Kind, rec.parent.N, rec.parent.Kind
	if rec.forms&shapeIDMask == formPlace {
		s.ID = model.LineID(e.file, rec.pos)
	}
	if f.instant {
		rec.end = rec.start
	}
	s.RawStart, s.RawEnd, s.Start, s.End = rec.start, rec.end, rec.start, rec.end
	s.Polls, s.Kids, s.Steps = polls, kids, steps
	if cap(sources) == 0 {
		sources = make([]model.Source, 0, 1)
	}
	s.Sources = sources[:1]
	from := &s.Sources[0]
	from.File, from.Pos, from.Joined = e.file, rec.pos, model.Join(meta&metaJoinMask)
	if d.skip && f.bare {
		s.Attrs = attrs
		return nil
	}
	slot := int(meta >> metaSlotShift)
	n := len(rec.attributes) + min(slot, 1)
	if n > cap(attrs) {
		attrs = make([]model.Attr, n, n+n/4)
	}
	s.Attrs = attrs[:n]
	if slot > 0 {
		a := &s.Attrs[n-1]
		a.Key = keyAttrs[min(slot, len(keyAttrs))-1]
		a.Value.Kind, a.Value.Int, a.Value.Float, a.Value.Str = model.StrValue, 0, 0, id
	}
	if !d.values(s.Attrs, rec.attributes, f.texts, c.b) {
		s.Attrs = s.Attrs[:0]
		return errCorrupt
	}
	return nil
}

// values fills in attributes from their heads and what was written of their values, and reports whether that is whole. texts are those that were there last.
func (d *decoder) values(attrs []model.Attr, heads []attrHead, texts []string, b []byte) bool {
	for i, h := range heads {
		if len(b) == 0 || cap(b) < 9 {
			return false
		}
		a := &attrs[i] // filled in place
		a.Key = h.key()
		v := &a.Value
		v.Kind, v.Int, v.Float, v.Str = h.kind(), 0, 0, ""
		p := b[:9] // a byte and a word are readable behind the end
		n := 0
		switch v.Kind {
		case model.IntValue, model.BoolValue:
			size := p[0]
			v.Int = int64(unzigzag(binary.LittleEndian.Uint64(p[1:]) & sized[size&15]))
			n = 1 + int(size)
		case model.FloatValue:
			v.Float = math.Float64frombits(binary.LittleEndian.Uint64(p))
			n = 8
		case model.StrValue:
			size := uint64(p[0])
			if n = 1; size >= 0x80 {
				size, n = binary.Uvarint(b)
			}
			if n <= 0 || size > uint64(len(b)-n) {
				return false
			}
			text := b[n : n+int(size)]
			n += int(size)
			if v.Str = texts[i]; v.Str != string(text) {
				v.Str = d.text(a.Key, text, &texts[i])
			}
		}
		if n > len(b) {
			return false
		}
		b = b[n:]
	}
	return true
}

// unanchored is the form of a line whose clock has no epoch after all, and puts its times on that (R4.12).
func (d *decoder) unanchored(f *form, rec *fixed, divisor model.Time) *form {
	if rec.end != 0 {
		rec.end -= rec.start - rec.start/divisor
	}
	rec.start /= divisor
	texts := d.own.texts
	d.own = *f
	d.own.texts = append(texts[:0], make([]string, len(f.texts))...)
	d.own.flags |= model.RecordUnanchored
	d.classify(&d.own, rec.start != 0, rec.end != 0)
	return &d.own
}

// maxCommon bounds the texts that are remembered because they repeat, maxCommonText their length.
const (
	maxCommon     = 1 << 13
	maxCommonText = 64
)

// text is a string of the value of an attribute. Values of few kinds are shared, and the last one noted; ids are not looked for.
func (d *decoder) text(key model.AttrKey, b []byte, last *string) string {
	if key.NamesRequest() || len(b) > maxCommonText {
		return d.texts.keep(b)
	}
	s, ok := d.common[string(b)]
	if !ok {
		s = d.texts.keep(b)
		if len(d.common) == maxCommon {
			return s
		}
		d.common[s] = s
	}
	*last = s
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
	d := newDecoder(s)
	d.update(s)
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
