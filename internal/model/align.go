package model

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// An Alignment is what one request adds to the times of one clock (R5.5).
type Alignment struct {
	Clock       ProcID
	Shift       time.Duration
	Uncertainty time.Duration // how far Shift may be wrong
	Known       bool          // false: there is no route to the clock of the request's reference, so Shift is 0
	first       Time          // raw start of its first span in the request
}

// Adrift reports whether a profile line has its times on a clock without an epoch and was not placed: it is untimed, but says when it was
// on that clock (R4.12).
func (s *Span) Adrift() bool {
	return s.Line && s.Has(FlagUntimed) && s.RawStart > 0 && (s.RawEnd == 0 || s.RawEnd >= s.RawStart)
}

// An Anchor is a span that was seen as a line too, on a clock without an epoch: what one instant is on both clocks, within a millisecond (R4.10, R4.12).
type Anchor struct {
	Span  *Span
	Clock ProcID // the line's
	At    Time   // start of the line
}

// adriftSuffix ends the names of clocks without an epoch; what stands before it is the process of the lines as their file tells it.
const adriftSuffix = "#monotonic"

// IsAdrift reports whether a name is that of a clock without an epoch.
func IsAdrift(process string) bool { return strings.HasSuffix(process, adriftSuffix) }

// clockOf is what the raw times of a span are on: the clock of its process, of a line without an epoch one of its own.
func (b *Builder) clockOf(r *Request, s *Span) ProcID {
	if !s.Adrift() {
		return s.Proc
	}
	if b.monotonicOf != r.Dict {
		b.monotonicOf, b.monotonic = r.Dict, map[ProcID]ProcID{}
	}
	clock, ok := b.monotonic[s.Proc]
	if !ok {
		clock = r.Dict.Process(r.Dict.Proc(s.Proc).Name + adriftSuffix)
		b.monotonic[s.Proc] = clock
	}
	return clock
}

// placeLines finds the instances that wrote the lines (R4.11), and gives those on a clock without an epoch times where that clock is known
// against another (R4.12). Their clock stays their own: align moves them.
func (b *Builder) placeLines(r *Request, clock Clock) {
	for _, s := range r.Spans {
		if !s.Line {
			continue
		}
		own := s.Clock == s.Proc
		if s.Proc = clock.Process(r, s); own {
			s.Clock = s.Proc
			continue
		}
		if _, known := clock.Anchor(s.Clock); known && s.Has(FlagUntimed) {
			s.Flags &^= FlagUntimed
			if r.Counts.Untimed--; s.RawEnd == 0 { // it says no duration
				s.RawEnd = s.RawStart
			}
			b.adrift = append(b.adrift, s)
		}
	}
}

// align adds to the times of each clock one shift, that of its first span, so that all read on the clock of the root's process (R5.5).
func (b *Builder) align(r *Request, clock Clock) {
	r.Aligned = b.aligned[:0]
	for _, s := range r.Spans { // in order of raw start: the first of a clock comes first
		if s.Has(FlagUntimed) {
			continue
		}
		if n := len(r.Aligned); n == 0 || r.Aligned[n-1].Clock != s.Clock && r.alignment(s.Clock) == nil {
			r.Aligned = append(r.Aligned, Alignment{Clock: s.Clock, first: s.RawStart})
		}
	}
	b.aligned = r.Aligned
	ref := r.Root.Proc // of a request without any time
	if len(r.Aligned) > 0 {
		ref = b.reference(r, clock)
	}
	r.Reference = ref
	if r.Root.Has(FlagSynthetic) {
		r.Root.Proc, r.Root.Clock, r.Root.ID = ref, ref, SyntheticID(StageNone, ref, 1)
	}
	if len(r.Aligned) == 0 {
		return
	}
	for i := range r.Aligned {
		a := &r.Aligned[i]
		if a.Clock == ref {
			a.Known = true
			continue
		}
		a.Shift, a.Uncertainty, a.Known = clock.Shift(a.Clock, ref, a.first)
	}
	for _, s := range b.adrift {
		if !r.alignment(s.Clock).Known {
			s.Flags |= FlagUntimed
			r.Counts.Untimed++
		}
	}
	last, shift := r.Aligned[0].Clock, Time(r.Aligned[0].Shift)
	for _, s := range r.Spans {
		if s.Has(FlagUntimed) {
			s.Start, s.End = s.RawStart, s.RawEnd
			continue
		}
		if s.Clock != last {
			last, shift = s.Clock, Time(r.alignment(s.Clock).Shift)
		}
		s.Start, s.End = s.RawStart+shift, s.RawEnd+shift
	}
	if len(b.adrift) > 0 { // they stood among the untimed ones
		slices.SortStableFunc(r.Spans, func(x, y *Span) int {
			return cmp.Or(boolCompare(x.Has(FlagUntimed), y.Has(FlagUntimed)), cmp.Compare(x.Start, y.Start))
		})
		b.index(r)
	}
}

// reference is the process whose clock the request is told in: the root's, else the scheduler's, else the earliest span's (R5.5); where that has
// no epoch the one that is known best against it.
func (b *Builder) reference(r *Request, clock Clock) ProcID {
	ref := r.Aligned[0].Clock // in order of raw start
	if !r.Root.Has(FlagSynthetic) && (len(r.Aligned) == 1 || clock.Routed(r.Root.Clock)) {
		ref = r.Root.Clock
	} else if i := slices.IndexFunc(r.Spans, func(s *Span) bool { return s.Owner() == Scheduler && !s.Has(FlagUntimed) }); i >= 0 {
		ref = r.Spans[i].Clock
	}
	if anchor, adrift := clock.Anchor(ref); adrift {
		return anchor
	}
	return ref
}

// alignment is that of a clock, nil when no span of the request is on it.
func (r *Request) alignment(clock ProcID) *Alignment {
	for i := range r.Aligned {
		if r.Aligned[i].Clock == clock {
			return &r.Aligned[i]
		}
	}
	return nil
}

// UncertaintyOf is how far the aligned times of a span may be wrong against the reference; ok is false where its clock is not known against it.
func (r *Request) UncertaintyOf(s *Span) (u time.Duration, ok bool) {
	if a := r.alignment(s.Clock); a != nil {
		return a.Uncertainty, a.Known
	}
	return 0, false
}

// UncertaintyBetween is how far the aligned times of two spans may be wrong against each other: 0 on one clock. ok is false where their clocks
// are not known against each other.
func (r *Request) UncertaintyBetween(s, o *Span) (u time.Duration, ok bool) {
	if s.Clock == o.Clock {
		return 0, true
	}
	v, known := r.UncertaintyOf(s)
	w, also := r.UncertaintyOf(o)
	return v + w, known && also
}
