package split

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// splitSlow is R7.1 and R7.2 tick by tick (1 ms): what the server proves to have done at each instant of the rpc.
func splitSlow(rpc *model.Span) (submit, l2, other, poll int64) {
	under := func(s *model.Span) (all []*model.Span) {
		for todo := []*model.Span{s}; len(todo) > 0; {
			x := todo[0]
			todo = append(todo[1:], x.Kids...)
			all = append(all, x)
		}
		return all
	}
	hasWork := func(s *model.Span) bool {
		for _, k := range s.Kids {
			if k.Class == model.Work {
				return true
			}
		}
		return false
	}
	lastLeaf := func(s *model.Span) model.Time {
		end := s.Start
		for _, x := range under(s)[1:] {
			if x.Class == model.Work && !hasWork(x) {
				end = max(end, x.End)
			}
		}
		return end
	}
	during := func(s *model.Span, t model.Time) bool { return s.Start <= t && t < s.End }
	var lookups []*model.Span
	first := rpc.End
	for _, s := range under(rpc) {
		if s.Stage == model.StageLookup {
			lookups = append(lookups, s)
			for _, x := range under(s) {
				if x.Class == model.Work {
					first = min(first, x.Start)
				}
			}
		}
	}
	for t := rpc.Start; t < rpc.End; t += ms {
		loads, works := false, false
		for _, look := range lookups {
			inside, anyLoad, anyLeaf := under(look)[1:], false, false
			for _, x := range inside {
				anyLoad = anyLoad || x.Stage == model.StageL2Load
				anyLeaf = anyLeaf || x.Class == model.Work && !hasWork(x)
			}
			for _, x := range append([]*model.Span{look}, inside...) {
				if !during(x, t) {
					continue
				}
				kids := false
				for _, k := range x.Kids {
					kids = kids || k.Class == model.Work && during(k, t)
				}
				switch {
				case x.Stage == model.StageL2Load, !anyLoad && x.Stage == model.StageSparsePrefetch && x.Count(model.AttrL2Keys) > 0:
					loads = true
				case x != look && x.Class == model.Work && !hasWork(x), x.Stage == model.StageCoordinatorMatch, x == look && !anyLeaf,
					(x == look || x.Stage == model.StageSparsePrefetch) && !kids && t < lastLeaf(x):
					works = true
				}
				if x.Stage == model.StageSparsePrefetch && hasWork(x) && !kids && t < lastLeaf(x) {
					works = true
				}
			}
		}
		switch {
		case loads:
			l2 += ms
		case works:
			other += ms
		case t < first:
			submit += ms
		default:
			poll += ms
		}
	}
	return
}

func TestLookupsAgainstSlow(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	stages := []string{"cb.fingerprint_match", "cb.coordinator_match", "cb.sparse_prefetch l2_keys=0", "cb.sparse_prefetch l2_keys=2", "cb.l2_load", "cb.classify",
		"vendor.step", "mp.store", "cb.fingerprints.registered"}
	var sp Splitter
	measured := 0
	for n := range 3000 {
		var b strings.Builder
		fmt.Fprintf(&b, "cb.lookup.rpc sched 5ms %dms\n", 25+rng.IntN(10))
		var grow func(depth, lo, hi int)
		grow = func(depth, lo, hi int) {
			for range rng.IntN(4) {
				words := strings.Fields(stages[rng.IntN(len(stages))])
				start := lo - 1 + rng.IntN(hi-lo+2)
				end := start + rng.IntN(12) - 1 // now and then before its start
				fmt.Fprintf(&b, "%s%s server %dms %dms %s\n", strings.Repeat(" ", depth), words[0], start, end, strings.Join(words[1:], " "))
				if depth < 4 && end > start+1 && rng.IntN(2) == 0 {
					grow(depth+1, start, end)
				}
			}
		}
		for range 1 + rng.IntN(2) {
			start := rng.IntN(20)
			end := max(start+1, 6) + rng.IntN(20)
			fmt.Fprintf(&b, " cb.lookup server %dms %dms\n", start, end)
			grow(2, start, end)
		}
		r := modeltest.Request(t, b.String())
		out := sp.Split(r)
		rpc := out.Lookups[0]
		if rpc.Basis == model.DurationsOnly {
			continue
		}
		measured++
		submit, l2, other, poll := splitSlow(rpc.Span)
		got := [4]int64{rpc.Submit.V, rpc.L2Load.V, rpc.ServerOther.V, rpc.PollWait.V}
		if want := [4]int64{submit, l2, other, poll}; got != want {
			t.Fatalf("tree %d: submit, l2, other, poll: got %v, want %v\n%s", n, got, want, b.String())
		}
	}
	if measured < 1000 {
		t.Errorf("only %d of 3000 trees have a common clock", measured)
	}
}
