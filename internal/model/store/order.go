package store

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// An inOrder puts spans in order of (untimed last, raw start, id, trace, content). The content decides last, so that it never matters in which order equal
// starts and ids came; names are compared as text, since their numbers depend on the order of arrival.
type inOrder struct {
	dict   *model.Dict
	spans  []*model.Span
	starts []model.Time // of the spans, the untimed at the end of time: what decides nearly always, side by side
}

// manySpans is how many spans are no longer put in their places one by one.
const manySpans = 48

// begin forgets the spans and makes room for others.
func (o *inOrder) begin(n int) {
	o.spans, o.starts = slices.Grow(o.spans[:0], n), slices.Grow(o.starts[:0], min(n, manySpans))
}

// add puts a span in its place among few, behind many.
func (o *inOrder) add(s *model.Span) {
	i := len(o.spans)
	o.spans = append(o.spans, s)
	if i >= manySpans {
		return
	}
	start := s.RawStart
	if s.Has(model.FlagUntimed) {
		start = math.MaxInt64
	}
	o.starts = append(o.starts, start)
	at := i
	for at > 0 && (o.starts[at-1] > start || o.starts[at-1] == start && compareSpans(o.dict, s, o.spans[at-1]) < 0) {
		at--
	}
	if at < i { // records of a process come nearly in order of time
		copy(o.starts[at+1:], o.starts[at:])
		copy(o.spans[at+1:], o.spans[at:])
		o.starts[at], o.spans[at] = start, s
	}
}

// end puts many spans in order.
func (o *inOrder) end() {
	if len(o.spans) > manySpans {
		slices.SortFunc(o.spans, func(a, b *model.Span) int { return compareSpans(o.dict, a, b) })
	}
}

func compareSpans(d *model.Dict, a, b *model.Span) int {
	if ua, ub := a.Has(model.FlagUntimed), b.Has(model.FlagUntimed); ua != ub {
		return compareBool(ua, ub)
	}
	if c := cmp.Compare(a.RawStart, b.RawStart); c != 0 {
		return c
	}
	if c := d.CompareSpanIDs(a.ID, b.ID); c != 0 {
		return c
	}
	if c := d.CompareTraceIDs(a.Trace, b.Trace); c != 0 {
		return c
	}
	return compareContent(d, a, b)
}

func compareContent(d *model.Dict, a, b *model.Span) int {
	text := func(x, y model.StrID) int {
		if x == y {
			return 0
		}
		return strings.Compare(d.Str(x), d.Str(y))
	}
	if c := cmp.Or(
		cmp.Compare(a.RawEnd, b.RawEnd),
		text(a.Name, b.Name),
		d.CompareSpanIDs(a.ParentID, b.ParentID),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Flags, b.Flags),
		cmp.Compare(a.StageKey, b.StageKey),
		cmp.Compare(a.Class, b.Class),
		compareBool(a.Error, b.Error),
		compareBool(a.Line, b.Line),
		text(a.Scope, b.Scope),
		compareResources(d, a, b),
		compareAttrs(d, a.Attrs, b.Attrs),
	); c != 0 {
		return c
	}
	x, y := a.Sources[0], b.Sources[0]
	return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Pos, y.Pos), cmp.Compare(x.Joined, y.Joined))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func compareResources(d *model.Dict, a, b *model.Span) int {
	if a.Res == b.Res {
		return 0
	}
	x, y := d.Res(a.Res), d.Res(b.Res)
	return cmp.Or(strings.Compare(d.Proc(x.Proc).Name, d.Proc(y.Proc).Name), strings.Compare(x.Instance, y.Instance), strings.Compare(x.Service, y.Service),
		strings.Compare(x.Host, y.Host), cmp.Compare(x.PID, y.PID))
}

func compareAttrs(d *model.Dict, a, b []model.Attr) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if c := cmp.Or(strings.Compare(d.KeyName(x.Key), d.KeyName(y.Key)), cmp.Compare(x.Value.Kind, y.Value.Kind), cmp.Compare(x.Value.Int, y.Value.Int),
			cmp.Compare(x.Value.Float, y.Value.Float), strings.Compare(x.Value.Str, y.Value.Str)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
