package clock

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A trace is marked when three requests that have nothing to do with each other have spans in it (R2.2).
func TestUnrelated(t *testing.T) {
	for _, c := range []struct {
		name, ids string // id, or id=external id
		want      bool
	}{
		{"one request", "chatcmpl-a-00000001", false},
		{"three", "chatcmpl-a-00000001 chatcmpl-b-00000002 chatcmpl-c-00000003", true},
		{"two, perhaps a retry under a new id", "chatcmpl-a-00000001 chatcmpl-b-00000002", false},
		{"the choices of one request", "0_chatcmpl-a-00000001 1_chatcmpl-a-00000001 2_chatcmpl-a-00000001 3_chatcmpl-a-00000001", false},
		{"the prompts of one completion", "cmpl-a-0-00000001 cmpl-a-1-00000002 cmpl-a-2-00000003", false},
		{"retries under one external id", "job-00000001=job job-00000002=job job-00000003=job job=job", false},
		{"choices of which one is known to the client", "0_chatcmpl-a-00000001=chatcmpl-a 1_chatcmpl-a-00000001 2_chatcmpl-a-00000001", false},
		{"later executions under one id", "a a#2 a#3", false},
		{"two families, one of them large", "0_chatcmpl-a-00000001 1_chatcmpl-a-00000001 2_chatcmpl-a-00000001 chatcmpl-b-00000001", false},
		{"ids that a client makes up", "step-1 step-2 step-3", true},
	} {
		v := newCapture(t)
		for i, id := range strings.Fields(c.ids) {
			id, external, _ := strings.Cut(id, "=")
			v.row(ms, fmt.Sprintf("%s Q - cb.request %d %d process=sched trace=@shared", id, 10*i, 10*i+5))
			v.row(ms, fmt.Sprintf("%s S - cb.schedule %d %d process=sched trace=own", id, 10*i, 10*i+5))
			r := v.request(id)
			r.External, r.Reused = external, strings.Contains(id, "#")
		}
		tab := v.clean().table()
		if got := tab.Unrelated(model.OpaqueTrace(v.dict.InternString("@shared"))); got != c.want {
			t.Errorf("%s: marked %v, want %v", c.name, got, c.want)
		}
		if id, _, _ := strings.Cut(c.ids, " "); tab.Unrelated(model.OpaqueTrace(v.dict.InternString(id + "/own"))) {
			t.Errorf("%s: a trace of one request is marked", c.name)
		}
	}
}

// Lines and points are in no trace; a trace without a key is one request.
func TestNotesAreOfSpans(t *testing.T) {
	c := newCapture(t)
	for i := range 5 {
		c.row(ms, fmt.Sprintf("r%d L - sched.gnnmt %d %d process=f line pid=9 trace=@lines", i, 10*i, 10*i+5))
		c.row(ms, fmt.Sprintf("r%d P - app.point %d %d process=f trace=@points", i, 10*i, 10*i))
		c.row(ms, fmt.Sprintf("t%d Q - cb.request %d %d process=sched trace=@keyless", i, 10*i, 10*i+5))
		c.request(fmt.Sprintf("r%d", i)).Spans[1].Class = model.Point
		c.request(fmt.Sprintf("t%d", i)).Key = model.KeyTrace
	}
	v := c.clean().survey()
	if len(v.notes.all) != 0 {
		t.Errorf("%d notes", len(v.notes.all))
	}
}

// What is kept is bounded and does not depend on the order: whole families, those of the smallest hashes.
func TestNotesAreBounded(t *testing.T) {
	var all []note
	for i := range uint64(1000) {
		family := (i*7919 + 1) % 1000
		for trace := range family % 5 {
			all = append(all, note{family, trace + 10*(i%3)}, note{family, trace + 10*(i%3)})
		}
	}
	var want []note
	for step, order := range [...]func(){func() {}, func() { slices.Reverse(all) }, func() { slices.SortFunc(all, func(x, y note) int { return int(x.trace) - int(y.trace) }) }} {
		order()
		a, b := newNotes(), newNotes()
		a.most, b.most = 100, 100
		for i, x := range all {
			if i%3 == 0 {
				a.add(x)
			} else {
				b.add(x)
			}
		}
		a.merge(&b)
		a.settle()
		if len(a.all) > 100 || len(a.all) < 96 {
			t.Errorf("%d notes kept", len(a.all))
		}
		if want == nil {
			want = slices.Clone(a.all)
		}
		if !slices.Equal(a.all, want) || a.under != want[len(want)-1].family+1 && a.under != want[len(want)-1].family+2 {
			t.Errorf("order %d: %d notes under %d, want %d", step, len(a.all), a.under, len(want))
		}
	}
	if n := len(want); want[n-1].family%5 != uint64(n)-uint64(slices.IndexFunc(want, func(x note) bool { return x.family == want[n-1].family })) {
		t.Error("a family was cut")
	}
}

// The hash of a trace does not depend on the dictionary.
func TestTraceHash(t *testing.T) {
	d, e := model.NewDict(), model.NewDict()
	e.InternString("another")
	if hashTrace(d, model.OpaqueTrace(d.InternString("x"))) != hashTrace(e, model.OpaqueTrace(e.InternString("x"))) {
		t.Error("of a text")
	}
	seen := map[uint64]bool{}
	for hi := range uint64(100) {
		for lo := range uint64(100) {
			seen[hashTrace(d, model.TraceID{Hi: hi, Lo: lo})] = true
		}
	}
	if len(seen) != 100*100 {
		t.Errorf("%d hashes of %d ids", len(seen), 100*100)
	}
}

// Notes come in order however their families lie, and a trace leaks whatever else its hash shares bits with.
func TestManyNotes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, most := range []uint64{1, 100, 1 << 40, math.MaxUint64} {
		n := newNotes()
		for range 20_000 {
			n.add(note{rng.Uint64N(most), rng.Uint64N(1<<13) << 18})
		}
		want := slices.Clone(n.all)
		slices.SortFunc(want, compareNotes)
		want = slices.Compact(want)
		if n.settle(); !slices.Equal(n.all, want) {
			t.Errorf("families below %d: not in order", most)
		}
		families := map[uint64]int{}
		for _, x := range want {
			families[x.trace]++
		}
		leaks := n.leaks()
		for trace, of := range families {
			if leaks[trace] != (of >= model.UnrelatedAtLeast) {
				t.Errorf("families below %d: %d of them in a trace", most, of)
			}
		}
	}
}
