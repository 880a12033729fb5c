package model

import (
	"strings"
	"testing"
)

func trim(s string) string {
	var out []string
	for _, l := range strings.Split(strings.TrimSpace(s), "\n") {
		out = append(out, strings.TrimSpace(l))
	}
	return strings.Join(out, "\n")
}

func TestTrees(t *testing.T) {
	for _, c := range []struct {
		name, rows, want string
		lo, hi           Time // window in µs
		tail             Time
	}{
		{name: "edges by id are parent in one process, propagated across (R4.14)", rows: `
			Q - cb.request 0 100
			S Q cb.schedule 10 90
			K S cb.lookup.rpc 20 80
			L K cb.lookup 30 70 proc=server`, want: `
			K<S parent
			L<K propagated
			Q< root
			S<Q parent`, hi: 100},
		{name: "an orphan is adopted by its canonical parent stage and flagged (R4.16, R4.17)", rows: `
			Q - cb.request 0 100
			S Q cb.schedule 10 50
			K gone cb.lookup.rpc 20 40`, want: `
			K<S adopted orphan
			Q< root
			S<Q parent`, hi: 100},
		{name: "without its level the next one up takes it (R4.16)", rows: `
			Q - cb.request 0 100
			K - cb.lookup.rpc 20 40 trace=1`, want: `
			K<Q adopted
			Q< root`, hi: 100},
		{name: "the same worker comes before the larger overlap (R4.16)", rows: `
			Q - cb.request 0 100
			A Q cb.start_load_kv 10 60 worker_id=0
			B Q cb.start_load_kv 10 90 worker_id=1
			R - cb.retrieve 20 80 trace=1 proc=server worker_id=0`, want: `
			A<Q parent
			B<Q parent
			Q< root
			R<A adopted`, hi: 100},
		{name: "two of a process make the level that is missing, a third finds it (R4.15, R4.16)", rows: `
			Q - cb.request 0 100 proc=s
			A - cb.start_load_kv 10 40 trace=1 proc=w0
			F - cb.model_forward 50 90 trace=1 proc=w0
			G - cb.model_forward 50 95 trace=2 proc=w1`, want: `
			+cb.execute:w0<Q adopted synthetic
			A<+cb.execute:w0 adopted
			F<+cb.execute:w0 adopted
			G<+cb.execute:w0 adopted
			Q< root`, hi: 100},
		{name: "one alone makes no level (R4.15)", rows: `
			Q - cb.request 0 100 proc=s
			A - cb.start_load_kv 10 40 trace=1 proc=w0
			F - cb.model_forward 50 90 trace=1 proc=w1`, want: `
			A<Q adopted
			F<Q adopted
			Q< root`, hi: 100},
		{name: "a server span under the root goes under the rpc it overlaps and keeps its id (R4.18)", rows: `
			Q - cb.request 0 100
			S Q cb.schedule 5 90
			K S cb.lookup.rpc 10 60
			L Q cb.lookup 20 50 proc=server`, want: `
			K<S parent
			L<K adopted
			Q< root
			S<Q parent`, hi: 100},
		{name: "a ring is cut at its earliest span (R4.21)", rows: `
			Q - cb.request 0 100
			A B app.a 10 50
			B A app.b 5 60`, want: `
			A<B parent transparent
			B<Q adopted cycle_cut,transparent
			Q< root`, hi: 100},
		{name: "a span that is its own parent (R4.21)", rows: `
			Q - cb.request 0 100
			S S cb.schedule 10 50`, want: `
			Q< root
			S<Q adopted cycle_cut`, hi: 100},
		{name: "llm_request is the root and exactly the window; a scheduler's root is its child (R4.22, R4.24)", rows: `
			E - llm_request 0 80 proc=engine
			Q - cb.request 5 120 proc=s trace=1`, want: `
			E< root
			Q<E adopted`, hi: 80},
		{name: "a server root that is not the root is transparent and never widens the window (R4.23, R4.24)", rows: `
			Q - cb.request 10 100 proc=s
			P - cb.request 0 500 proc=server trace=1
			R P cb.retrieve 40 60 proc=server trace=1`, want: `
			P<Q adopted transparent
			Q< root
			R<P parent`, lo: 10, hi: 100},
		{name: "a server's root is widened to the work that outlives it; background is tail (R4.24, R4.25)", rows: `
			Q - request 0 5000 proc=server
			L Q mp.lookup_prefetch 200 3200 proc=server
			R Q mp.retrieve 4000 9000 proc=server
			S Q mp.store 10000 50000 proc=server`, want: `
			L<Q parent
			Q< root
			R<Q parent
			S<Q parent`, hi: 9000, tail: 41000},
		{name: "without a root one is made up (R4.22)", rows: `
			A - cb.schedule 10 40
			B - cb.execute 50 90 trace=1`, want: `
			+(synthetic):p< root synthetic
			A<+(synthetic):p adopted
			B<+(synthetic):p adopted`, lo: 10, hi: 90},
		{name: "both families: the prefetch is a leg of the lookup (R4.19)", rows: `
			Q - cb.request 0 100 proc=server
			L Q cb.lookup 10 60 proc=server
			P - request 5 70 proc=server trace=1
			M P mp.lookup_prefetch 15 50 proc=server trace=1`, want: `
			L<Q parent
			M<L adopted
			P<Q adopted transparent
			Q< root`, hi: 100},
		{name: "a scheduler's span is not adopted by a server root beside the root (R4.20)", rows: `
			E - llm_request 0 100 proc=engine
			P - cb.request 10 50 proc=server trace=1
			S - cb.schedule 20 40 proc=s trace=2`, want: `
			E< root
			P<E adopted transparent
			S<E adopted`, hi: 100},
		{name: "a gateway above the root is transparent, and so are unknown names below it (R4.23)", rows: `
			G - GET 0 200 proc=gw
			H G proxy 10 190 proc=gw
			E H llm_request 20 180 proc=engine`, want: `
			E< root
			G<E adopted transparent
			H<G parent transparent`, lo: 20, hi: 180},
		{name: "an unknown span that outlives the window by more than 50 µs is tail, by less is clipped (R4.25)", rows: `
			Q - cb.request 0 1000
			A Q app.flush 900 1050
			B Q app.late 900 1051`, want: `
			A<Q parent
			B<Q parent
			Q< root`, hi: 1000, tail: 51},
		{name: "an open span ends at its start (R4.8)", rows: `
			Q - cb.request 0 100
			S Q cb.schedule 10 -`, want: `
			Q< root
			S<Q parent open`, hi: 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := built(t, c.rows)
			if got := tree(r); got != trim(c.want) {
				t.Errorf("tree:\n%s\nwant:\n%s", got, trim(c.want))
			}
			if lo, hi := (r.WindowStart-epoch)/1000, (r.WindowEnd-epoch)/1000; lo != c.lo || hi != c.hi {
				t.Errorf("window %d to %d µs, want %d to %d", lo, hi, c.lo, c.hi)
			}
			if tail := Time(r.Tail) / 1000; tail != c.tail {
				t.Errorf("tail %d µs, want %d", tail, c.tail)
			}
		})
	}
}

// A request without any time has the clock of its first span, whichever process came first in the capture.
func TestReferenceOfUntimed(t *testing.T) {
	for _, first := range []string{"other", "own"} {
		g := rows(t, "A - app.step 0 0 proc=own")
		d := NewDict()
		d.Resource(Resource{Instance: first}, "f")
		res := d.Resource(Resource{Instance: "own"}, "f")
		s := g.Spans[0]
		s.Res, s.Proc, s.Flags = res, d.Res(res).Proc, FlagUntimed
		s.Name, s.StageKey = d.InternString("app.step"), d.InternString("app.step")
		g.Dict = d
		var b Builder
		r := b.Clean(g)[0]
		b.Link(r, 1, shifts{d, nil, 0}, LinkOptions{})
		if got := d.Proc(r.Reference).Name; got != "own" || !r.Root.Has(FlagSynthetic) || d.Proc(r.Root.Proc).Name != "own" || r.Root.ID != SyntheticID(StageNone, s.Proc, 1) {
			t.Errorf("%s first: the reference is %q, the root %s", first, got, d.SpanIDText(r.Root.ID))
		}
	}
}

// R5.5, R6.6: one shift per process, durations never change; what sticks out by no more than the uncertainty is moved for the walk alone.
func TestAligned(t *testing.T) {
	const text = `
		Q - cb.request 0 1000 proc=s
		K Q cb.lookup.rpc 100 500 proc=s
		L K cb.lookup 10060 10400 proc=server
		M L cb.fingerprint_match 10070 10200 proc=server`
	r := builtOn(t, text, func(d *Dict) Clock { return shifts{d, map[string]Time{"server": -10_000_000}, 50_000} })
	for _, s := range r.Spans {
		at, fit := (s.Start-epoch)/1000, s.Fit.Microseconds()
		switch r.Dict.SpanIDText(s.ID) {
		case "L":
			if at != 60 || fit != 40 || !s.Has(FlagFitted) || s.Dur().Microseconds() != 340 {
				t.Errorf("L starts at %d µs, moved by %d, flags %v", at, fit, s.Flags.Names())
			}
		case "M":
			if at != 70 || fit != 40 || s.Has(FlagFitted) {
				t.Errorf("M starts at %d µs, moved by %d, flags %v", at, fit, s.Flags.Names())
			}
		}
	}
	r = builtOn(t, text, func(d *Dict) Clock { return shifts{d, map[string]Time{"server": -10_000_000}, 39_999} })
	for _, s := range r.Spans {
		if s.Fit != 0 || s.Has(FlagFitted) {
			t.Errorf("%s moved by %v though the clock is known better", r.Dict.SpanIDText(s.ID), s.Fit)
		}
	}
}

func TestDuplicateRoots(t *testing.T) {
	for _, c := range []struct {
		name, rows string
		want       bool
	}{
		{"two of one process", "Q - request 0 100 proc=server\nP - request 200 300 proc=server trace=1", true},
		{"of two processes", "Q - request 0 100 proc=server\nP - request 200 300 proc=server2 trace=1", false},
		{"each with a lookup", "Q - request 0 100 proc=server\nL Q mp.lookup_prefetch 1 50 proc=server\nP - request 200 300 proc=server trace=1\nM P mp.lookup_prefetch 201 250 proc=server trace=1", false},
		{"one with a lookup", "Q - request 0 100 proc=server\nL Q mp.lookup_prefetch 1 50 proc=server\nP - request 200 300 proc=server trace=1", true},
	} {
		if got := built(t, c.rows).DuplicateRoot; got != c.want {
			t.Errorf("%s: duplicate root %v, want %v", c.name, got, c.want)
		}
	}
}
