package model

import "time"

// overhangOf is how far an unknown span may outlive the window before it is tail (VOCABULARY 6).
func overhangOf(d time.Duration) time.Duration { return max(50*time.Microsecond, d/100) }

// fit moves spans of the vocabulary that another process called and that stick out of their client by no more than the clocks are known, with what is under them, into the client:
// for the walk only (R6.6).
func (b *Builder) fit(r *Request) {
	if len(r.Aligned) < 2 || !b.noted.sticks {
		return
	}
	b.stack = append(b.stack[:0], r.Root)
	for len(b.stack) > 0 {
		s := b.stack[len(b.stack)-1]
		b.stack = b.stack[:len(b.stack)-1]
		if up := s.Parent; up != nil {
			s.Fit = up.Fit
			if up.Clock != s.Clock && s.Known() && s.Class == Work && s.Dur() <= up.Dur() && !s.ServerRoot() && up.Stage != StageLLMRequest && !s.Has(FlagUntimed) && !up.Has(FlagUntimed) {
				fitInto(r, up, s)
			}
		}
		b.stack = append(b.stack, s.Kids...)
	}
}

func fitInto(r *Request, up, s *Span) {
	before := (up.Start + Time(up.Fit)).Sub(s.Start + Time(s.Fit))
	after := (s.End + Time(s.Fit)).Sub(up.End + Time(up.Fit))
	out := max(before, after)
	if out <= 0 {
		return
	}
	if u, ok := r.UncertaintyBetween(s, up); !ok || out > u {
		return
	}
	s.Flags |= FlagFitted
	if before > 0 {
		s.Fit += before
	} else {
		s.Fit -= after
	}
}

// settle finds what is transparent (R4.23), the window (R4.24), the tail (R4.25) and what blocks (R6.4).
func (b *Builder) settle(r *Request) {
	b.findTransparent(r)
	b.window(r)
	root, lo, hi := r.Root, r.WindowStart, r.WindowEnd
	r.OwnStart, r.OwnEnd = lo, lo
	if !root.Has(FlagSynthetic) {
		r.OwnStart, r.OwnEnd = root.Start, max(root.Start, min(root.End, hi))
	}
	if root.Has(FlagSynthetic) {
		root.Start, root.End, root.RawStart, root.RawEnd = lo, hi, lo, hi
	}
	r.Tail = 0
	for _, s := range r.Spans {
		if s == root || s.Parent == nil || s.Has(FlagUntimed) {
			continue
		}
		shutdown, clear := s.Has(FlagShutdown), s.Has(FlagTransparent)
		late := !s.Known() && !clear && !s.IsPoint() && s.End.Sub(hi) > overhangOf(s.Dur())
		follows := s.Kind == KindConsumer && s.Parent.Kind == KindProducer
		s.Blocking = s.Class == Work && !follows && !late && !clear && !shutdown
		if (s.Class == Background || late) && !shutdown && !clear {
			r.Tail = max(r.Tail, s.End.Sub(hi))
		}
		if s.Blocking {
			p := s.Parent
			for p.Has(FlagTransparent) {
				p = p.Parent
			}
			p.Steps = append(p.Steps, s)
		}
	}
}

func (b *Builder) findTransparent(r *Request) {
	root := r.Root
	b.stack = b.stack[:0]
	mark := func(s *Span) {
		if !s.Has(FlagTransparent) {
			s.Flags |= FlagTransparent
			b.stack = append(b.stack, s)
		}
	}
	for _, s := range r.Spans {
		if s != root && (s.ServerRoot() || !s.Known() && s.Edge == EdgeAdopted && r.RealRoot() && !s.IsPoint()) {
			mark(s)
		}
	}
	for above, n := b.ids.find(root.Trace, root.ParentID), 0; above != nil && above != root && n <= len(r.Spans); n++ {
		mark(above)
		above = b.ids.find(above.Trace, above.ParentID)
	}
	for len(b.stack) > 0 { // unknown below unknown
		s := b.stack[len(b.stack)-1]
		b.stack = b.stack[:len(b.stack)-1]
		if s.Known() {
			continue
		}
		for _, k := range s.Kids {
			if !k.Known() && k != root && !k.IsPoint() {
				mark(k)
			}
		}
	}
}

// window sets WindowStart, WindowEnd and how far they may be wrong (R4.24).
func (b *Builder) window(r *Request) {
	root := r.Root
	r.Uncertainty = 0
	if root.Stage == StageLLMRequest {
		r.WindowStart, r.WindowEnd = root.Start, max(root.Start, root.End)
		return
	}
	var first, last *Span
	widen := func(s *Span, end bool) {
		if first == nil || s.Start < first.Start {
			first = s
		}
		if end && (last == nil || s.End > last.End) {
			last = s
		}
	}
	if !root.Has(FlagSynthetic) {
		widen(root, !root.Has(FlagShutdown))
	}
	for _, s := range r.Spans {
		if s.Known() && s.Class == Work && !s.Has(FlagShutdown|FlagSynthetic|FlagTransparent|FlagUntimed|FlagNegative) {
			widen(s, true)
		}
	}
	if first == nil { // nothing of the vocabulary: the hull of what there is
		for _, s := range r.Spans {
			if !s.Has(FlagUntimed | FlagSynthetic) {
				widen(s, true)
			}
		}
	}
	if first == nil {
		r.WindowStart, r.WindowEnd = 0, 0
		return
	}
	r.WindowStart, r.WindowEnd = first.Start, first.Start
	u, _ := r.UncertaintyOf(first)
	r.Uncertainty = u
	if last != nil && last.End > first.Start {
		r.WindowEnd = last.End
		u, _ = r.UncertaintyOf(last)
		r.Uncertainty = max(r.Uncertainty, u)
	}
}
