package store

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// sortSpans puts spans in order of (untimed last, raw start, id, trace, content). The content decides last, so that it never matters in which order
// equal starts and ids came; names are compared as text, since their numbers depend on the order of arrival.
func sortSpans(d *model.Dict, spans []*model.Span) {
	if len(spans) > fewSpans {
		slices.SortFunc(spans, func(a, b *model.Span) int { return compareSpans(d, a, b) })
		return
	}
	for i, s := range spans { // records of a process come nearly in order of time
		for ; i > 0 && comesBefore(d, s, spans[i-1]); i-- {
			spans[i] = spans[i-1]
		}
		spans[i] = s
	}
}

// fewSpans is how many spans are sorted by insertion.
const fewSpans = 48

func comesBefore(d *model.Dict, a, b *model.Span) bool {
	if a.RawStart != b.RawStart && (a.Flags|b.Flags)&model.FlagUntimed == 0 {
		return a.RawStart < b.RawStart
	}
	return compareSpans(d, a, b) < 0
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
