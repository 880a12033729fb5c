package critpath

import (
	"slices"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A node is a span of the tree with what the bounds need to know of all that is under it.
type node struct {
	span     *model.Span
	parent   int32
	lastLeaf model.Time // end of the last leaf under it (R7.1), minTime for none
	server   model.Time // first start of a server's work under it, maxTime for none
}

// survey numbers the spans of the tree (Mark), parents first, and gathers from below what self time and bounds need.
func (w *Work) survey(r *model.Request) {
	tree := append(slices.Grow(w.tree[:0], len(r.Spans)+1), node{span: r.Root, parent: -1, lastLeaf: minTime, server: maxTime})
	for i := 0; i < len(tree); i++ {
		s, up := tree[i].span, tree[i].parent
		s.Mark, s.Critical = i, 0
		s.Flags &^= model.FlagClipped | model.FlagOutside
		// Self time is the duration less the union of work and background children, each clipped to it (R6.9); 0 for a negative span.
		covered, end, hasWork := model.Time(0), s.Start, false
		for _, k := range s.Kids { // in order of start
			tree = append(tree, node{span: k, parent: int32(i), lastLeaf: minTime, server: maxTime})
			hasWork = hasWork || k.Class == model.Work
			if k.Class != model.Work && k.Class != model.Background || k.Has(model.FlagShutdown) {
				continue
			}
			if lo, hi := max(k.Start, end), min(k.End, s.End); hi > lo {
				covered += hi - lo
				end = hi
			}
		}
		s.Self = time.Duration(max(0, s.End-s.Start-covered))
		if s.Class == model.Work && up >= 0 {
			if !hasWork {
				tree[up].lastLeaf = max(tree[up].lastLeaf, s.End+model.Time(s.Fit))
			}
			if s.Owner() == model.Server {
				tree[up].server = min(tree[up].server, s.Start+model.Time(s.Fit))
			}
		}
	}
	for i := len(tree) - 1; i > 0; i-- {
		n, up := &tree[i], &tree[tree[i].parent]
		up.lastLeaf, up.server = max(up.lastLeaf, n.lastLeaf), min(up.server, n.server)
	}
	w.tree = tree
}

// phases are those of an llm_request (R4.27). Without a time to first token nothing is known.
type phases struct {
	span             *model.Span
	scheduled, first model.Time // inside the span; scheduled is its start where it is not known
	known            bool
}

func phasesOf(s *model.Span) phases {
	ttft, ok := s.Seconds(model.AttrTimeToFirstToken)
	if !ok {
		return phases{span: s}
	}
	wait, known := s.Seconds(model.AttrTimeInQueue)
	if prefill, said := s.Seconds(model.AttrTimeInPrefill); said {
		wait, known = within(ttft)-within(prefill), true
	}
	if !known {
		wait = 0
	}
	ttft = max(0, min(ttft, s.End.Sub(s.Start)))
	wait = max(0, min(wait, ttft))
	start := s.Start + model.Time(s.Fit)
	return phases{s, start + model.Time(wait), start + model.Time(ttft), true}
}

// within keeps sums and differences of two durations from wrapping around; nothing real lasts that long.
func within(d time.Duration) time.Duration {
	const long = 1 << 61
	return max(-long, min(d, long))
}

// bounds cuts segments where what bounds them changes, and adds them up.
type bounds struct {
	w      *Work
	until  model.Time  // first token, minTime where it is not known
	phases phases      // of the last llm_request that held a segment
	holder *model.Span // of the last segment
	last   int         // its stage in path.Stages
}

// emit adds a stretch of the path, with its bounds (R6.10).
func (b *bounds) emit(t *task) {
	s := t.span
	if t.kind == Gap {
		b.add(t, t.hi, model.Unexplained)
		return
	}
	switch s.Stage {
	case model.StageNone:
		b.add(t, t.hi, inherited(s.Kin))
	case model.StageLLMRequest:
		if b.phases.span != s {
			b.phases = phasesOf(s)
		}
		if !b.phases.known {
			b.add(t, t.hi, model.BoundEngine)
			break
		}
		b.add(t, b.phases.scheduled, model.BoundQueue)
		b.add(t, b.phases.first, model.BoundEngine)
		b.add(t, t.hi, model.BoundDecode)
	case model.StageLookupRPC:
		b.add(t, b.w.tree[s.Mark].server, model.BoundRPC)
		b.add(t, t.hi, model.BoundPoll)
	case model.StageLookup, model.StageSparsePrefetch:
		if last := b.w.tree[s.Mark].lastLeaf; last != minTime {
			b.add(t, last, atWork(s))
			b.add(t, t.hi, model.BoundPoll)
			break
		}
		b.add(t, t.hi, atWork(s))
	case model.StageMPLookupPrefetch:
		b.add(t, t.hi, atWork(s))
	default:
		b.add(t, t.hi, s.Stage.Info().Bound)
	}
}

// inherited is the bound of an unknown name that begins with the name of a stage (R4.13). Where a rule and not the name alone decides,
// there is none to inherit.
func inherited(kin model.Stage) model.Bound {
	switch kin {
	case model.StageLLMRequest, model.StageLookupRPC, model.StageLookup, model.StageSparsePrefetch, model.StageMPLookupPrefetch:
		return model.Unexplained
	}
	return kin.Info().Bound
}

// atWork is the bound of the own time of a lookup or prefetch while it has work.
func atWork(s *model.Span) model.Bound {
	l2 := false
	switch s.Stage {
	case model.StageLookup:
		return model.BoundMatch
	case model.StageSparsePrefetch:
		l2 = positive(s, model.AttrL2Keys)
	default:
		l2 = positive(s, model.AttrL2HitTokens) || positive(s, model.AttrL2HitKeys)
	}
	if l2 {
		return model.BoundL2IO
	}
	return model.BoundL1
}

func positive(s *model.Span, k model.AttrKey) bool {
	v, ok := s.Attr(k).Number()
	return ok && v > 0
}

// add makes a segment of the stretch up to an instant, and takes it off the stretch.
func (b *bounds) add(t *task, until model.Time, bound model.Bound) {
	hi := min(until, t.hi)
	if hi <= t.lo {
		return
	}
	p, d := &b.w.path, hi.Sub(t.lo)
	p.Segments = append(p.Segments, Segment{}) // filled in place, as in stage
	seg := &p.Segments[len(p.Segments)-1]
	seg.Lo, seg.Hi, seg.Span, seg.During, seg.Kind, seg.Bound = t.lo, hi, t.span, t.during, t.kind, bound
	p.Bounds[bound] += d
	p.Kinds[t.kind] += d
	t.span.Critical += d
	if b.holder != t.span {
		b.holder, b.last = t.span, b.w.stage(t.span)
	}
	row := &p.Stages[b.last]
	row.Total += d
	if t.lo < b.until {
		early := min(hi, b.until).Sub(t.lo)
		p.TTFTBounds[bound] += early
		row.TTFT += early
	}
	t.lo = hi
}
