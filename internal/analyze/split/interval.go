package split

import (
	"cmp"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// An interval of aligned time.
type interval struct{ start, end model.Time }

func intervalOf(s *model.Span) interval { return interval{s.Start, s.End} }

// clip leaves what of the pieces lies within [a, b], in place.
func clip(pieces []interval, a, b model.Time) []interval {
	kept := pieces[:0]
	for _, p := range pieces {
		if p = (interval{max(p.start, a), min(p.end, b)}); p.end > p.start {
			kept = append(kept, p)
		}
	}
	return kept
}

// sortPieces orders by (start, end).
func sortPieces(pieces []interval) {
	const few = 12
	if len(pieces) > few {
		slices.SortFunc(pieces, func(x, y interval) int { return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.end, y.end)) })
		return
	}
	for i := 1; i < len(pieces); i++ {
		p, n := pieces[i], i
		for n > 0 && (pieces[n-1].start > p.start || pieces[n-1].start == p.start && pieces[n-1].end > p.end) {
			pieces[n] = pieces[n-1]
			n--
		}
		pieces[n] = p
	}
}

// union is the time in ns that the pieces cover together. It sorts them; one that ends before it starts covers nothing.
func union(pieces []interval) int64 {
	sortPieces(pieces)
	total, any, end := int64(0), false, model.Time(0)
	for _, p := range pieces {
		if p.end <= p.start {
			continue
		}
		if !any || p.start > end {
			total += int64(p.end - p.start)
		} else if p.end > end {
			total += int64(p.end - end)
		} else {
			continue
		}
		any, end = true, p.end
	}
	return total
}
