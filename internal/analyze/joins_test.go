package analyze

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/model"
)

// What is named does not depend on the order in which it is found, nor on who finds it; many for a weak reason leave room for others.
func TestRelativesKept(t *testing.T) {
	var all []inspect.Relative
	add := func(n int, why inspect.Relation, owner string, from int64) {
		for i := range n {
			all = append(all, inspect.Relative{Why: why, ID: fmt.Sprint(owner, i), Owners: []string{owner}, FromNS: model.Some(from + int64(i))})
		}
	}
	add(30, inspect.SameTime, "server", 0)
	add(2, inspect.SameTime, "worker", 1000)
	add(6, inspect.SameTrace, "server", 500)
	add(1, inspect.ParentOfIts, "scheduler", 9000)
	want := []string{"scheduler0", "server0", "server1", "server2", "server3", "server0", "server1", "server2", "server3", "worker0", "worker1"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		workers := []*joining{{}, {}, {}}
		for _, of := range all {
			workers[random.IntN(3)].keep(of)
		}
		for _, w := range workers[1:] {
			workers[0].merge(w)
		}
		var got []string
		for _, of := range workers[0].found {
			got = append(got, of.ID)
		}
		if !reflect.DeepEqual(got, want) || workers[0].more != int64(len(all)-len(want)) {
			t.Fatalf("%q and %d more, want %q and %d more", got, workers[0].more, want, len(all)-len(want))
		}
	}
}

// An id is a part of another one only from a break to a break.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		id, part string
		want     bool
	}{
		{"tenant/chat-0001", "chat-0001", true},
		{"chat-0001", "chat-0001", true},
		{"chat-0001.retry", "chat-0001", true},
		{"chat-00012", "chat-0001", false},
		{"xchat-0001", "chat-0001", false},
		{"chat", "chat-0001", false},
	} {
		if got := holds(c.id, c.part); got != c.want {
			t.Errorf("%s in %s: %v", c.part, c.id, got)
		}
	}
}
