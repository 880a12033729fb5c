// Package critpath explains where the time of one linked request went (section 6): the critical path as segments that partition the
// window to the nanosecond, what bounds each of them, what each stage held (total and drag) over the window and to the first token, and
// the self time of every span.
//
// The path is found frame by frame. A frame is one span on the path with the interval in which it was walked:
//
//  1. its blocking children are put in order of falling end (R6.2);
//  2. going back from its end, each child that ends early enough is chosen; the stretches between are the span's own (R6.2, R6.5);
//  3. own stretches are cut by what ran beside them, the children that were not chosen (R6.3);
//  4. where more than one child ran, a chosen one had company: such time is no drag of anything below it (R6.8);
//  5. own stretches and chosen children go on a stack, the earliest on top; a child that is popped is the next frame.
//
// In most frames the children take turns, in the order they are in: none ran beside another. All of them are chosen then, and such a frame is walked
// forwards as it stands.
//
// So segments come out in order of time, each child is looked at in one frame only, and the whole costs O(n log n) in time and O(n) in
// memory however the spans lie: deep, wide or all at once. Nothing recurses, and nothing is allocated once the scratch has grown.
package critpath

import (
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Kind says what the holder of a segment was doing.
type Kind uint8

const (
	Self     Kind = iota // no blocking child running; all of a leaf's time
	Overlap              // a blocking child that is not on the path was running (R6.3)
	Gap                  // in the window but outside the root's own interval
	NumKinds = iota
)

func (k Kind) String() string { return [NumKinds]string{"self", "overlap", "gap"}[k] }

// A Segment is a piece of the critical path: from Lo to Hi the request was held up by Span.
type Segment struct {
	Lo, Hi model.Time // aligned; Lo < Hi
	Span   *model.Span
	During *model.Span // of an overlap: the child that was running, the one with the larger end (R6.3)
	Kind   Kind
	Bound  model.Bound
}

// Dur is the length of the segment in ns.
func (s *Segment) Dur() time.Duration { return s.Hi.Sub(s.Lo) }

// A Stage is what the spans of one (stage, owner) held of the path, in ns. Gaps are the root's (R6.7).
type Stage struct {
	Key      model.StrID // the stage, or the name outside the vocabulary
	Owner    model.Owner
	Total    time.Duration
	Drag     time.Duration // of Total: while nothing outside the holder's own line ran (R6.8), an upper estimate of what it costs
	TTFT     time.Duration // of Total: before the first token (R4.27)
	TTFTDrag time.Duration // of Drag: before the first token
}

// A Path is the critical path of one request. Segments are in order of time, disjoint, and sum to the window; so do Stages, Bounds and
// Kinds.
type Path struct {
	Segments []Segment
	Stages   []Stage // in order of first appearance
	Bounds   [model.NumBounds]time.Duration
	Kinds    [NumKinds]time.Duration

	TTFT       model.Opt // ns from the start of the window to the first token; unknown without a TTFT (R4.27)
	TTFTBounds [model.NumBounds]time.Duration
}

// Work is memory that Analyze uses again and again. The zero value works; one goroutine uses one Work.
type Work struct {
	dict  *model.Dict
	path  Path
	spans []*model.Span // a stack
	tree  []node
	todo  []task
	kids  []kid
	busy  []interval
	slots []int32 // 1 + index of the row in path.Stages, by slotOf
}

// Analyze finds the path of a linked request. It sets Lo, Hi, Self, Critical and the flags clipped and outside of its spans, and the counts
// of those flags. The result is good until the next call with the same Work.
func Analyze(r *model.Request, w *Work) *Path {
	w.reset()
	if r.Root == nil {
		return &w.path
	}
	w.dict = r.Dict
	w.survey(r)
	w.clip(r)
	w.walk(r)
	w.drag(r.WindowStart)
	return &w.path
}

func (w *Work) reset() {
	for i := range w.path.Stages {
		w.slots[slotOf(w.path.Stages[i].Key, w.path.Stages[i].Owner == model.Server)] = 0
	}
	w.path = Path{Segments: w.path.Segments[:0], Stages: w.path.Stages[:0]}
	w.busy = w.busy[:0]
}

// slotOf numbers (stage, owner). Only cb.request has two owners.
func slotOf(key model.StrID, server bool) int {
	n := int(key) << 1
	if server {
		n++
	}
	return n
}

// stage is the index of the stage that a span counts for.
func (w *Work) stage(s *model.Span) int {
	owner := s.Owner()
	n := slotOf(s.StageKey, owner == model.Server)
	if n >= len(w.slots) {
		w.slots = append(w.slots, make([]int32, n+1-len(w.slots)+256)...)
	}
	at := w.slots[n]
	if at == 0 {
		w.path.Stages = append(w.path.Stages, Stage{}) // filled in place: what is put together elsewhere is slow to copy
		at = int32(len(w.path.Stages))
		row := &w.path.Stages[at-1]
		row.Key, row.Owner = s.StageKey, owner
		w.slots[n] = at
	}
	return int(at - 1)
}

// clip cuts every blocking span to its parent, parents first (R6.1).
func (w *Work) clip(r *model.Request) {
	root := r.Root
	root.Lo, root.Hi = r.WindowStart, max(r.WindowStart, r.WindowEnd)
	r.Counts.Clipped, r.Counts.Outside = 0, 0
	todo := append(w.spans[:0], root)
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, s := range p.Steps {
			start := s.Start + model.Time(s.Fit)
			end := max(start, s.End+model.Time(s.Fit)) // a negative span has no length here
			s.Lo, s.Hi = max(start, p.Lo), min(end, p.Hi)
			switch {
			case s.Hi < s.Lo || s.Hi == s.Lo && end > start:
				s.Lo = max(p.Lo, min(start, p.Hi))
				s.Hi = s.Lo
				s.Flags |= model.FlagOutside
				r.Counts.Outside++
				continue
			case s.Lo > start || s.Hi < end:
				s.Flags |= model.FlagClipped
				r.Counts.Clipped++
			}
			if len(s.Steps) > 0 {
				todo = append(todo, s)
			}
		}
	}
	w.spans = todo
}
