package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A right tree of the unified model with parents deleted, traces split, ids dropped and clocks shifted at random comes back: every span is
// under the span it was under, or carries a mark that says it was placed (edge adopted, a flag).
func TestTreeComesBack(t *testing.T) {
	children := map[Stage][]Stage{}
	for s := StageNone + 1; s < NumStages; s++ {
		if i := s.Info(); !i.Scoped && len(i.Parents) > 0 && i.Class == Work && s != StageMPLookupPrefetch && s != StageMPRetrieve {
			children[i.Parents[0]] = append(children[i.Parents[0]], s)
		}
	}
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := NewDict()
		d.AddFile("f")
		r := &Request{Identity: Identity{ID: "r"}, Dict: d}
		up := map[*Span]*Span{}
		var grow func(s *Span, lo, hi Time)
		add := func(stage Stage, lo, hi Time, parent *Span) *Span {
			n := len(r.Spans) + 1
			proc := stage.Info().Owner.String()
			s := &Span{ID: HexID(uint64(n)), Trace: TraceID{0, 1}, Name: stage.ID(), StageKey: stage.ID(), Stage: stage, Kin: stage, Class: stage.Info().Class, Kind: 1,
				LMScope: true, RawStart: lo, RawEnd: hi}
			s.Res = d.Resource(Resource{Instance: proc}, "f")
			s.Proc = d.Res(s.Res).Proc
			if parent != nil {
				s.ParentID, up[s] = parent.ID, parent
			}
			r.Spans = append(r.Spans, s)
			return s
		}
		grow = func(s *Span, lo, hi Time) {
			stages := children[s.Stage]
			rng.Shuffle(len(stages), func(i, j int) { stages[i], stages[j] = stages[j], stages[i] })
			at := lo + 1000
			for _, stage := range stages[:rng.IntN(len(stages)+1)] {
				room := (hi - at) / 3
				if room < 10_000 {
					return
				}
				k := add(stage, at, at+room, s)
				grow(k, k.RawStart, k.RawEnd)
				at = k.RawEnd + 1000
			}
		}
		root := add(StageCBRequest, epoch, epoch+1_000_000_000, nil)
		grow(root, root.RawStart, root.RawEnd)

		clocks := shifts{d: d, by: map[string]Time{}}
		for _, owner := range []Owner{Scheduler, Worker, Server} {
			clocks.by[owner.String()] = Time(rng.Int64N(int64(time.Second))) - Time(time.Second)/2
		}
		byStage := map[Stage]int{}
		for _, s := range r.Spans {
			byStage[s.Stage]++
			s.RawStart -= clocks.by[d.Proc(s.Proc).Name]
			s.RawEnd -= clocks.by[d.Proc(s.Proc).Name]
			s.Start, s.End = s.RawStart, s.RawEnd
			switch rng.IntN(6) {
			case 0: // the parent was lost
				s.ParentID = SpanID{}
			case 1: // or names what nobody wrote
				if s != root {
					s.ParentID = HexID(1 << 40)
				}
			case 2: // or the process began a trace of its own
				s.Trace = TraceID{0, uint64(2 + s.Stage.Info().Owner)}
			}
		}
		slices.SortStableFunc(r.Spans, r.compareSpans)
		var b Builder
		parts := b.Clean(r)
		b.Link(parts[0], 1, clocks, LinkOptions{})
		for _, s := range r.Spans {
			want := up[s]
			if s.Has(FlagSynthetic) || s == root {
				continue
			}
			if s.Parent == want {
				continue
			}
			about := fmt.Sprintf("seed %d: %s under %v, was under %s (%s %v)", seed, s.Stage, name(s.Parent), want.Stage, s.Edge, s.Flags.Names())
			if s.Edge != EdgeAdopted {
				t.Fatal(about)
			}
			// Its own parent overlaps it, and where no other span of that stage is there it must have been found; a made-up level may stand between.
			if byStage[want.Stage] == 1 && !s.Parent.Has(FlagSynthetic) {
				t.Fatal(about)
			}
		}
	}
}

func name(s *Span) string {
	if s == nil {
		return "nothing"
	}
	return s.Stage.String()
}
