package critpath

import (
	"cmp"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// drag takes from the times of stages what something outside the holder's line ran beside (R6.8).
//
// What runs beside a segment is a child, not on the segment's own line, of one of the holder's ancestors, or lies inside such a child. So the
// time with company is the union of what the frames above noted (company); a segment that a frame's own span holds is not in what that frame
// noted, because it lies between the chosen children.
func (w *Work) drag(start model.Time) {
	for i := range w.path.Stages {
		row := &w.path.Stages[i]
		row.Drag, row.TTFTDrag = row.Total, row.TTFT
	}
	until := start
	if w.path.TTFT.OK {
		until += model.Time(w.path.TTFT.V)
	}
	segments, i := w.path.Segments, 0
	for _, b := range w.merged() {
		for i < len(segments) && segments[i].Hi <= b.lo {
			i++
		}
		for ; i < len(segments) && segments[i].Lo < b.hi; i++ {
			s := &segments[i]
			lo, hi := max(s.Lo, b.lo), min(s.Hi, b.hi)
			row := &w.path.Stages[w.stage(s.Span)]
			row.Drag -= hi.Sub(lo)
			row.TTFTDrag -= max(0, min(hi, until).Sub(lo))
			if s.Hi >= b.hi {
				break // the next may be beside it too
			}
		}
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
