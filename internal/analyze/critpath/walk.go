package critpath

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A sibling that outlasts the start of the chosen one by at most this, and by at most a hundredth of the parent as walked, still counts as
// its predecessor (R6.5).
const (
	jitter     = model.Time(50 * time.Microsecond)
	jitterPart = 100
)

const (
	minTime = model.Time(math.MinInt64)
	maxTime = model.Time(math.MaxInt64)
)

type interval struct{ lo, hi model.Time }

// A task is what is left to do with a stretch of the window: a frame to walk, or a segment that only waits for its turn.
type task struct {
	lo, hi model.Time
	span   *model.Span
	during *model.Span
	next   int32 // of turns: the step to walk next; lo is where the one before it ended
	kind   Kind
	frame  bool
	turns  bool // a frame whose children take turns, under way
}

// A kid is a blocking child of the span of a frame, cut to the interval of the frame.
type kid struct {
	end, start model.Time
	stop       model.Time // where the walk enters it: end, or earlier by the jitter
	span       *model.Span
	at         int32 // its place among the steps
	chosen     bool
}

// walk finds the segments (R6.2–R6.5).
func (w *Work) walk(r *model.Request) {
	root := r.Root
	b := bounds{w: w, until: minTime}
	if root.Stage == model.StageLLMRequest {
		if b.phases = phasesOf(root); b.phases.known {
			b.until = b.phases.first
			w.path.TTFT = model.Some(int64(min(max(b.until, root.Lo), root.Hi).Sub(root.Lo)))
		}
	}
	if root.Hi <= root.Lo {
		return
	}
	w.todo = append(w.todo[:0], task{lo: root.Lo, hi: root.Hi, span: root, frame: true})
	for len(w.todo) > 0 {
		n := len(w.todo) - 1
		if w.todo[n].turns {
			w.takeTurns(&b)
			continue
		}
		t := w.todo[n]
		own := interval{minTime, maxTime}
		if t.span == root {
			own = interval{r.OwnStart, max(r.OwnStart, r.OwnEnd)}
		}
		switch {
		case !t.frame || len(t.span.Steps) == 0 && t.span != root:
			w.todo = w.todo[:n]
			b.emit(&t)
		case own.lo <= t.lo && own.hi >= t.hi && inTurns(t.span.Steps, t.lo, t.hi):
			w.todo[n].turns = true
		default:
			w.todo = w.todo[:n]
			w.frame(&t, own)
		}
	}
}

// inTurns reports whether none of the steps runs beside another in [lo, hi] and they are in order.
func inTurns(steps []*model.Span, lo, hi model.Time) bool {
	end := lo
	for _, s := range steps {
		from, to := max(s.Lo, lo), min(s.Hi, hi)
		if from >= to {
			continue
		}
		if from < end {
			return false
		}
		end = to
	}
	return true
}

// takeTurns goes on with the frame on top of the stack, whose children and own time take turns, up to a child that is a frame too, or to its end.
func (w *Work) takeTurns(b *bounds) {
	t := &w.todo[len(w.todo)-1]
	steps := t.span.Steps
	for int(t.next) < len(steps) {
		k := steps[t.next]
		t.next++
		from, to := max(k.Lo, t.lo), min(k.Hi, t.hi)
		if from >= to {
			continue
		}
		if t.lo < from {
			b.emit(&task{lo: t.lo, hi: from, span: t.span})
		}
		t.lo = to
		if len(k.Steps) > 0 {
			w.todo = append(w.todo, task{}) // filled in place, as in stage
			next := &w.todo[len(w.todo)-1]
			next.lo, next.hi, next.span, next.frame, next.turns = from, to, k, true, inTurns(k.Steps, from, to)
			return
		}
		b.emit(&task{lo: from, hi: to, span: k})
	}
	last := task{lo: t.lo, hi: t.hi, span: t.span}
	w.todo = w.todo[:len(w.todo)-1]
	if last.lo < last.hi {
		b.emit(&last)
	}
}

// frame puts the chosen children of a span, and its own time between them, on the stack, the latest first. Its time outside own is gap.
func (w *Work) frame(t *task, own interval) {
	w.fill(t)
	kids := w.kids
	w.todo = slices.Grow(w.todo, 2*len(kids)+3)
	cur, limit := t.hi, t.hi
	tolerance := min(jitter, (t.hi-t.lo)/jitterPart)
	for i := range kids {
		k := &kids[i]
		if k.end > limit || k.start >= cur {
			continue
		}
		k.chosen, k.stop = true, min(k.end, cur)
		cur = k.start
		limit = cur + tolerance
	}
	w.company(kids)

	o := owner{w: w, span: t.span, own: own, kids: kids, until: t.hi}
	cur = t.hi
	for i := range kids {
		if k := &kids[i]; k.chosen {
			o.stretch(k.stop, cur)
			w.todo = append(w.todo, task{lo: k.start, hi: k.stop, span: k.span, frame: true})
			cur = k.start
		}
	}
	o.stretch(t.lo, cur)
	w.path.Segments = slices.Grow(w.path.Segments, len(w.todo)) // each task will be at least one
}

// fill makes the children of a frame, in order of falling end, then falling start, then id (R6.2).
func (w *Work) fill(t *task) {
	steps := t.span.Steps
	kids := slices.Grow(w.kids[:0], len(steps))
	sorted := true
	for i := len(steps) - 1; i >= 0; i-- { // children in order of start mostly end in that order too
		k := kid{end: min(steps[i].Hi, t.hi), start: max(steps[i].Lo, t.lo), span: steps[i], at: int32(i)}
		if k.end <= k.start {
			continue
		}
		sorted = sorted && (len(kids) == 0 || kids[len(kids)-1].end > k.end)
		kids = append(kids, k)
	}
	w.kids = kids
	if sorted {
		return
	}
	slices.SortFunc(kids, func(a, b kid) int {
		switch {
		case a.end != b.end:
			return cmp.Compare(b.end, a.end)
		case a.start != b.start:
			return cmp.Compare(b.start, a.start)
		}
		if c := w.dict.CompareSpanIDs(a.span.ID, b.span.ID); c != 0 {
			return c
		}
		if c := w.dict.CompareTraceIDs(a.span.Trace, b.span.Trace); c != 0 {
			return c
		}
		return cmp.Compare(a.at, b.at)
	})
}

// company notes when, inside the interval of a chosen child, another child was running too (R6.8).
func (w *Work) company(kids []kid) {
	earliest, done := maxTime, maxTime // start of the children seen; down to where it is known when two of them ran
	c := 0
	for i := range kids {
		k := &kids[i]
		two := interval{max(k.start, earliest), min(k.end, done)}
		earliest = min(earliest, k.start)
		if two.lo >= two.hi {
			continue
		}
		done = two.lo
		for ; c < len(kids); c++ {
			if !kids[c].chosen || kids[c].start >= two.hi {
				continue
			}
			if kids[c].stop <= two.lo {
				break
			}
			w.busy = append(w.busy, interval{max(two.lo, kids[c].start), min(two.hi, kids[c].stop)})
			if kids[c].start < two.lo {
				break // it may also hold the next
			}
		}
	}
}

// An owner labels the own time of the span of a frame, going back in time.
type owner struct {
	w     *Work
	span  *model.Span
	own   interval
	kids  []kid
	next  int        // the kids before it have been named or cannot be any more
	until model.Time // where the last named one started: before that another has the word

	beside interval // what is named at present, empty at first
	during *model.Span
}

// stretch labels [lo, hi). Stretches come in order of falling time.
func (o *owner) stretch(lo, hi model.Time) {
	if hi > o.own.hi {
		cut := max(lo, o.own.hi)
		o.push(cut, hi, Gap, nil)
		hi = cut
	}
	start := lo
	lo = max(lo, min(hi, o.own.lo))
	for lo < hi {
		for o.during != nil && o.beside.lo >= hi || o.during == nil && o.next < len(o.kids) {
			o.name()
		}
		if o.during == nil || o.beside.hi <= lo {
			o.push(lo, hi, Self, nil)
			break
		}
		end := min(hi, o.beside.hi)
		o.push(end, hi, Self, nil)
		hi = max(lo, o.beside.lo)
		o.push(hi, end, Overlap, o.during)
	}
	o.push(start, lo, Gap, nil)
}

// name finds the next child, going back, that was not chosen and is to be named (R6.3). At any instant that is the first in order that was
// running; as one starts, those that started later are gone for good, so each child is looked at once.
func (o *owner) name() {
	o.during = nil
	for o.next < len(o.kids) && o.during == nil {
		k := &o.kids[o.next]
		o.next++
		if !k.chosen && k.start < o.until {
			o.during, o.beside = k.span, interval{k.start, min(k.end, o.until)}
			o.until = k.start
		}
	}
}

func (o *owner) push(lo, hi model.Time, kind Kind, during *model.Span) {
	if lo < hi {
		o.w.todo = append(o.w.todo, task{lo: lo, hi: hi, span: o.span, during: during, kind: kind})
	}
}
