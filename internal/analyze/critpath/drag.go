package critpath

import (
	"cmp"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// drag adds the segments up by stage, with the part of each that nothing outside its holder's line ran beside (R6.8).
//
// What runs beside a segment is a child, not on the segment's own line, of one of the holder's ancestors, or lies inside such a child. So the
// time with company is the union of what the frames above noted (company); a segment that a frame's own span holds is not in what that frame
// noted, because it lies between the chosen children.
func (w *Work) drag(start model.Time) {
	busy := w.merged()
	until := start
	if w.path.TTFT.OK {
		until += model.Time(w.path.TTFT.V)
	}
	next := 0
	for i := range w.path.Segments {
		s := &w.path.Segments[i]
		alone, early := s.Dur(), max(0, min(s.Hi, until).Sub(s.Lo))
		row := w.stage(s.Span)
		row.Total += alone
		row.TTFT += early
		for next < len(busy) && busy[next].hi <= s.Lo {
			next++
		}
		for j := next; j < len(busy) && busy[j].lo < s.Hi; j++ {
			lo, hi := max(s.Lo, busy[j].lo), min(s.Hi, busy[j].hi)
			alone -= hi.Sub(lo)
			early -= max(0, min(hi, until).Sub(lo))
		}
		row.Drag += alone
		row.TTFTDrag += early
	}
}

// merged is what the frames noted as disjoint intervals in order of time.
func (w *Work) merged() []interval {
	if len(w.busy) < 2 {
		return w.busy
	}
	slices.SortFunc(w.busy, func(a, b interval) int { return cmp.Compare(a.lo, b.lo) })
	n := 0
	for _, b := range w.busy[1:] {
		if b.lo <= w.busy[n].hi {
			w.busy[n].hi = max(w.busy[n].hi, b.hi)
			continue
		}
		n++
		w.busy[n] = b
	}
	w.busy = w.busy[:n+1]
	return w.busy
}
