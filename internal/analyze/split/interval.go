package split

import (
	"cmp"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// An interval of aligned time.
type interval struct{ start, end model.Time }

func of(s *model.Span) interval { return interval{s.Start, s.End} }

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

// union is the time in ns that the pieces cover together. It sorts them; one that ends before it starts covers nothing.
func union(pieces []interval) int64 {
	slices.SortFunc(pieces, func(x, y interval) int {
		if c := cmp.Compare(x.start, y.start); c != 0 {
			return c
		}
		return cmp.Compare(x.end, y.end)
	})
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
