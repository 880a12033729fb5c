package decode

import (
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Step says that the wall clock of a process was set while it recorded.
type Step struct {
	At model.Time    // about when, on the wall clock as it was then
	By time.Duration // below 0: it was set back
}

// Steps finds where a wall clock was set, in records that tell the time by it and by a monotonic clock. Records may come in any order, and Steps of
// parts of an input add up (Merge). The zero value is ready.
//
// What is kept is, for each of up to maxCells stretches of monotonic time, how far ahead the wall clock was, at least and at most. A stretch in which that
// differs by more than a clock may be slewed holds a step, or records whose two instants were read at different times; it is passed over, and what
// lies before and behind it is compared.
type Steps struct {
	shift uint // a cell is 1<<shift ns
	base  int64
	cells []stepCell
}

type stepCell struct {
	least, most int64 // ns that the wall clock was ahead
	n           int64
}

const (
	maxCells    = 4096
	firstShift  = 26                      // 67 ms: cells of a recording of less than 5 minutes
	stepAtLeast = int64(time.Millisecond) // a process may be interrupted between reading one clock and the other
	slewed      = 1000                    // a clock that is slewed gains less than a thousandth (1 000 ppm)
	enough      = 3                       // records of a cell that are believed without another cell that agrees
)

// Add takes in the instants of a record: ns on a monotonic clock, not negative, and on the wall clock.
func (s *Steps) Add(mono time.Duration, wall model.Time) {
	if s.cells == nil {
		s.shift = firstShift
		s.base = int64(mono) >> s.shift
	}
	i := s.reach(int64(mono)>>s.shift, int64(mono))
	ahead := int64(wall) - int64(mono)
	s.cells[i].add(stepCell{ahead, ahead, 1})
}

func (c *stepCell) add(o stepCell) {
	switch {
	case o.n == 0:
	case c.n == 0:
		*c = o
	default:
		c.least, c.most, c.n = min(c.least, o.least), max(c.most, o.most), c.n+o.n
	}
}

// reach makes room for a cell and returns its place: cells get longer where there would be too many.
func (s *Steps) reach(cell, mono int64) int {
	for {
		lo, hi := min(s.base, cell), max(s.base+int64(len(s.cells)), cell+1)
		if len(s.cells) == 0 {
			lo, hi = cell, cell+1
		}
		if hi-lo > maxCells {
			s.coarsen()
			cell = mono >> s.shift
			continue
		}
		if lo < s.base {
			s.cells = append(make([]stepCell, s.base-lo, hi-lo), s.cells...)
			s.base = lo
		}
		for int64(len(s.cells)) < hi-s.base {
			s.cells = append(s.cells, stepCell{})
		}
		return int(cell - s.base)
	}
}

// coarsen makes one cell of each two.
func (s *Steps) coarsen() {
	base := s.base >> 1
	out := s.cells[:0]
	for i, c := range s.cells {
		at := int((s.base+int64(i))>>1 - base)
		if at == len(out) {
			out = append(out, c)
		} else {
			out[at].add(c)
		}
	}
	s.shift, s.base, s.cells = s.shift+1, base, out
}

// Merge adds another part of the same recording.
func (s *Steps) Merge(o *Steps) {
	if len(o.cells) == 0 {
		return
	}
	if len(s.cells) == 0 {
		s.shift, s.base = o.shift, o.base
	}
	for s.shift < o.shift {
		s.coarsen()
	}
	for i, c := range o.cells {
		if c.n > 0 {
			mono := (o.base + int64(i)) << o.shift
			s.cells[s.reach(mono>>s.shift, mono)].add(c)
		}
	}
}

// List are the steps, in order of time.
func (s *Steps) List() []Step {
	var at []int64 // cells that hold no step themselves
	var calm []stepCell
	width := int64(1) << s.shift
	for i, c := range s.cells {
		if c.n > 0 && c.most-c.least <= stepAtLeast+width/slewed {
			at, calm = append(at, s.base+int64(i)), append(calm, c)
		}
	}
	apart := func(i, j int) bool { // further than a slewed clock gets from one to the other
		slack := stepAtLeast + (at[j]-at[i]+1)*width/slewed
		return calm[j].least-calm[i].most > slack || calm[i].least-calm[j].most > slack
	}
	sure := func(i int) bool { // one record alone may have been held up between its two instants
		return calm[i].n >= enough || i+1 < len(calm) && !apart(i, i+1)
	}
	var steps []Step
	last := -1
	for i := range calm {
		switch {
		case last >= 0 && !apart(last, i):
			last = i
		case !sure(i):
		case last < 0:
			last = i
		default:
			ahead := middle(calm[i])
			steps = append(steps, Step{model.Time(at[i]<<s.shift + ahead), time.Duration(ahead - middle(calm[last]))})
			last = i
		}
	}
	return steps
}

func middle(c stepCell) int64 { return c.least + (c.most-c.least)/2 }
