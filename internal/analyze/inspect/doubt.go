package inspect

import (
	"github.com/cbtrace/cbtrace/internal/analyze/critpath"
	"github.com/cbtrace/cbtrace/internal/model"
)

// How far numbers may be wrong that compare the clocks of two processes (R5.8).

// doubt is how far the start of a span may be wrong against that of the window; unknown where their clocks were never compared.
func (b *builder) doubt(s *model.Span) model.Opt {
	if u, ok := b.Request.UncertaintyBetween(s, b.Request.Root); ok {
		return model.Some(int64(u))
	}
	return model.Opt{}
}

// pathDoubts are how far what each stage held of the first length ns of the path may be wrong. A process whose clock is wrong by d moves
// every instant that its spans give by d: a stretch between two of them stays as long as it is, one that ends with it becomes longer and the
// next one shorter. So for each stage the instants of each clock are counted, ends against starts.
func (b *builder) pathDoubts(length int64) map[model.StrID]model.Opt {
	moved := map[model.StrID]map[*model.Span]int64{} // by stage: a span of the clock, ends less starts
	count := func(stage model.StrID, s *model.Span, n int64) {
		if moved[stage] == nil {
			moved[stage] = map[*model.Span]int64{}
		}
		moved[stage][b.clockOf(s)] += n
	}
	segments := b.Path.Segments
	for i := range segments {
		s := &segments[i]
		if int64(s.Lo-b.start) >= length {
			break
		}
		if i > 0 {
			count(s.Span.StageKey, instantOf(&segments[i-1], s), -1)
		}
		if i+1 < len(segments) && int64(s.Hi-b.start) < length {
			count(s.Span.StageKey, instantOf(s, &segments[i+1]), 1)
		}
	}
	out := map[model.StrID]model.Opt{}
	for stage, clocks := range moved {
		sum := model.Some(0)
		for s, n := range clocks {
			u := b.doubt(s)
			if n != 0 {
				sum = model.Opt{V: sum.V + max(n, -n)*u.V, OK: sum.OK && u.OK}
			}
		}
		if !sum.OK {
			sum = model.Opt{}
		}
		out[stage] = sum
	}
	return out
}

// instantOf is the span that gives the instant at which one segment ends and the next begins: the one that starts there, else the one that
// ends there.
func instantOf(before, after *critpath.Segment) *model.Span {
	if before.Span.End == before.Hi && after.Span.Start != after.Lo {
		return before.Span
	}
	return after.Span
}

// clockOf is one span of each clock, to count by.
func (b *builder) clockOf(s *model.Span) *model.Span {
	if b.clocks == nil {
		b.clocks = map[model.ProcID]*model.Span{}
	}
	if b.clocks[s.Clock] == nil {
		b.clocks[s.Clock] = s
	}
	return b.clocks[s.Clock]
}
