package model

import (
	"cmp"
	"slices"
)

// Adoption: where a span hangs whose parent is not in the request (R4.16–R4.20).

// parentStages are the canonical parents of a stage in this request: of a mp.lookup_prefetch cb.lookup where both families are (R4.19).
func (b *Builder) parentStages(s Stage) []Stage {
	if s == StageMPLookupPrefetch && len(b.byStage[StageRequest]) > 0 && len(b.byStage[StageCBRequest]) > 0 {
		return underLookup
	}
	return Stages[s].Parents
}

// adopt finds a parent for a span without one: the best of its canonical parent stage, else of a level further up, at last the root (R4.16).
func (b *Builder) adopt(r *Request, s *Span) *Span {
	if s.Has(FlagUntimed) {
		return r.Root
	}
	for stages := b.parentStages(s.Stage); len(stages) > 0; {
		if up := b.bestParent(r, s, stages); up != nil {
			return up
		}
		next := stages[0]
		for _, p := range stages {
			if len(b.byStage[p]) > 0 {
				next = p
				break
			}
		}
		stages = b.parentStages(next)
	}
	return r.Root
}

// sameProcess reports whether two spans of one owner come from one process; a line and a span also by pid, else by rank (R4.16).
func (r *Request) sameProcess(a, c *Span) bool {
	if a.Proc == c.Proc {
		return !a.Line || !c.Line || r.writerOf(a) == r.writerOf(c)
	}
	if a.Line == c.Line {
		return false
	}
	if p, q := r.Dict.Res(a.Res).PID, r.Dict.Res(c.Res).PID; p != 0 && q != 0 {
		return p == q
	}
	v, w := a.Worker(), c.Worker()
	return v == "" || w == "" || v == w
}

// bestParent is the span of these stages that overlaps s the most; those of its own process (and owner) or worker come first, then the later
// start, then the larger id (R4.16). A scheduler's or worker's span never goes under a server root that is not the root (R4.20).
func (b *Builder) bestParent(r *Request, s *Span, stages []Stage) *Span {
	var best *Span
	var bestNear bool // once a second candidate asked for it
	var bestOverlap Time
	owner, worker, compared := s.Owner(), "", false
	near := func(c *Span) bool {
		return c.Owner() == owner && r.sameProcess(c, s) || worker != "" && c.Worker() == worker
	}
	point := s.Class == Point
	for _, stage := range stages {
		found := b.byStage[stage]
		if len(found) > maxCandidates {
			found = b.nearby(r, found, s)
		}
		for _, c := range found {
			overlap := min(c.End, s.End) - max(c.Start, s.Start)
			if c == s || overlap < 0 || overlap == 0 && !point || c.ServerRoot() && c != r.Root && (owner == Scheduler || owner == Worker) {
				continue
			}
			nearer := false
			if best != nil {
				if !compared {
					worker, compared = s.Worker(), true
					bestNear = near(best)
				}
				nearer = near(c)
				better := boolCompare(nearer, bestNear)
				if better == 0 {
					better = cmp.Compare(overlap, bestOverlap)
				}
				if better == 0 {
					better = r.compareSpans(c, best)
				}
				if better <= 0 {
					continue
				}
			}
			if b.isUnder(c, s) {
				continue
			}
			best, bestNear, bestOverlap = c, nearer, overlap
		}
	}
	return best
}

// nearby are the candidates that start before s ends, at most maxCandidates of them, the latest ones.
func (b *Builder) nearby(r *Request, found []*Span, s *Span) []*Span {
	if !slices.IsSortedFunc(found, r.compareSpans) {
		slices.SortFunc(found, r.compareSpans)
	}
	n, _ := slices.BinarySearchFunc(found, s.End, func(c *Span, end Time) int { return cmp.Compare(c.Start, end) })
	return found[max(0, n-maxCandidates):n]
}

func boolCompare(a, c bool) int {
	switch {
	case a == c:
		return 0
	case a:
		return 1
	}
	return -1
}

// isUnder reports whether s is top or below it.
func (b *Builder) isUnder(s, top *Span) bool {
	for ; s != nil; s = s.Parent {
		if s == top {
			return true
		}
		if b.climbed++; b.climbed > climbLimit {
			return true
		}
	}
	return false
}

// adoptWaiting gives every span that waits a parent; those near a root come first, so that what is below finds them in place.
func (b *Builder) adoptWaiting(r *Request) {
	b.sortByLevel(r, b.waiting)
	for _, s := range b.waiting {
		if s.Parent == nil {
			s.Parent = b.adopt(r, s)
		}
		s.Edge = EdgeAdopted
		if !s.Has(FlagSynthetic) {
			r.Counts.Adopted++
		}
	}
}
