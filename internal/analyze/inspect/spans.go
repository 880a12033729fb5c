package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// spans lists the tree in order of (start, id), what has no time last.
func (b *builder) spans() []Span {
	order := slices.Clone(b.Request.Spans)
	if !slices.Contains(order, b.Request.Root) {
		order = append(order, b.Request.Root)
	}
	slices.SortStableFunc(order, func(x, y *model.Span) int {
		if u, v := x.Has(model.FlagUntimed), y.Has(model.FlagUntimed); u != v {
			if u {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(x.Start, y.Start), b.dict.CompareSpanIDs(x.ID, y.ID), b.dict.CompareTraceIDs(x.Trace, y.Trace))
	})
	out := make([]Span, 0, len(order))
	for _, s := range order {
		out = append(out, b.span(s))
	}
	return out
}

func (b *builder) span(s *model.Span) Span {
	out := Span{ID: b.id(s), Trace: b.dict.TraceIDText(s.Trace), Edge: s.Edge.String(), Stage: b.dict.Str(s.StageKey), Name: b.dict.Str(s.Name),
		Owner: s.Owner().String(), Process: b.process(s), Class: s.Class.String(), Attributes: b.attributes(s), Sources: b.sources(s), Flags: s.Flags.Names()}
	if s.Parent != nil {
		out.Parent = b.id(s.Parent)
	}
	if read := b.dict.SpanIDText(s.ParentID); read != out.Parent {
		out.OriginalParent = read
	}
	if s.Has(model.FlagUntimed) {
		return out
	}
	out.StartNS, out.RawStartUnixNS, out.CriticalNS = model.Some(int64(s.Start-b.start)), model.Some(int64(s.RawStart)), model.Some(int64(s.Critical))
	out.UncertaintyNS = b.doubt(s)
	if !s.Has(model.FlagOpen) {
		out.DurationNS, out.SelfNS = model.Some(int64(s.Dur())), model.Some(int64(s.Self))
	}
	return out
}

// process is the name of the process that wrote a span; "" for a root made up of nothing.
func (b *builder) process(s *model.Span) string {
	if int(s.Proc) >= b.dict.NumProcs() {
		return ""
	}
	return b.dict.Proc(s.Proc).Name
}

// attributes are those of a span by name, nil for none; of a key that repeats the last one counts. Secret values are not shown (R3.6).
func (b *builder) attributes(s *model.Span) map[string]any {
	if len(s.Attrs) == 0 {
		return nil
	}
	out := make(map[string]any, len(s.Attrs))
	for _, a := range s.Attrs {
		name := b.dict.KeyName(a.Key)
		if !b.ShowSensitive && model.SecrecyOf(name).Hides(a.Value.Kind) {
			out[name] = strings.Clone(model.HiddenText(a.Value.Text()))
			continue
		}
		if v := plain(a.Value); v != nil {
			out[name] = v
		}
	}
	return out
}

// sources are where a span was read, in the order of files and places.
func (b *builder) sources(s *model.Span) []Source {
	order := slices.Clone(s.Sources)
	slices.SortStableFunc(order, func(x, y model.Source) int {
		return cmp.Or(cmp.Compare(b.dict.File(x.File).Path, b.dict.File(y.File).Path), cmp.Compare(x.Pos, y.Pos), cmp.Compare(x.Joined, y.Joined))
	})
	var out []Source
	for _, src := range order {
		f := b.dict.File(src.File)
		row := Source{File: f.Path, Format: b.formats[f.Path], Joined: src.Joined.String()}
		pos := src.Pos
		if f.Lines {
			row.Line = &pos
		} else {
			row.Offset = &pos
		}
		out = append(out, row)
	}
	return out
}
