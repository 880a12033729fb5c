package clock

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// describe lists the relations of a request: client ⊇ server, ⊇ start where only the start counts, < where one precedes the other.
func describe(c *capture, id string) string {
	var x extractor
	var out []string
	for _, f := range x.pairsOf(c.byID[id]) {
		sign := [...]string{"⊇", "⊇start", "<"}[f.kind]
		out = append(out, fmt.Sprintf("%s %s %s", c.dict.SpanIDText(f.client.ID), sign, c.dict.SpanIDText(f.server.ID)))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestPairs(t *testing.T) {
	for _, c := range []struct{ name, rows, want string }{
		{"a propagated edge", `
			r K - cb.lookup.rpc 10 60 process=sched
			r L K cb.lookup 20 50 process=server`, "K ⊇ L"},
		{"one process has one clock", `
			r K - cb.lookup.rpc 10 60
			r L K cb.lookup 20 50`, ""},
		{"background outlives its parent", `
			r Q - cb.request 0 60 process=sched
			r B Q cb.store_final 50 90 process=server`, ""},
		{"a producer does not wait", `
			r Q - cb.request 0 60 process=sched kind=4
			r E Q cb.execute 50 90 process=w0`, ""},
		{"a consumer was not waited for", `
			r Q - cb.request 0 60 process=sched
			r E Q cb.execute 50 90 process=w0 kind=5`, ""},
		{"an open span has no end", `
			r K - cb.lookup.rpc 10 60 process=sched
			r L K cb.lookup 20 0 process=server open`, ""},
		{"a negative one has none either", `
			r K - cb.lookup.rpc 10 60 process=sched
			r L K cb.lookup 20 15 process=server`, ""},
		{"untimed", `
			r K - cb.lookup.rpc 10 60 process=sched
			r L K cb.lookup 0 0 process=server untimed`, ""},
		{"the end of the server's root proves nothing", `
			r E - llm_request 0 100 process=engine
			r Q E request 5 200 process=server
			r S - cb.request 5 90 process=sched trace=1`, "E ⊇ S, E ⊇start Q"},
		{"nor does that of a server's cb.request, beside a scheduler's", `
			r E - llm_request 0 100 process=engine
			r Q - cb.request 5 200 process=server trace=1
			r S - cb.request 5 90 process=sched trace=2`, "E ⊇ S, E ⊇start Q"},
		{"llm_request over a span of the server", `
			r E - llm_request 0 100 process=engine
			r L E cb.lookup 5 50 process=server`, "E ⊇start L"},
		{"a scheduler's cb.request over a span of the server", `
			r S - cb.request 0 100 process=sched
			r L S cb.lookup 5 50 process=server`, "S ⊇ L"},
		{"the only lookup of the request", `
			r K - cb.lookup.rpc 10 60 process=sched
			r L - cb.lookup 20 50 process=server trace=1`, "K ⊇ L"},
		{"two lookups", `
			r K - cb.lookup.rpc 10 60 process=sched
			r L - cb.lookup 20 50 process=server trace=1
			r M - cb.lookup 20 50 process=server trace=2`, ""},
		{"two lookups, one joined by id", `
			r K - cb.lookup.rpc 10 60 process=sched
			r L K cb.lookup 20 50 process=server
			r M - cb.lookup 20 50 process=server trace=2`, "K ⊇ L"},
		{"a lookup under the root of the server goes under the rpc", `
			r K - cb.lookup.rpc 10 60 process=sched
			r Q - request 12 70 process=server trace=1
			r L Q cb.lookup 20 50 process=server trace=1`, "K ⊇ L"},
		{"and one under the scheduler's", `
			r S - cb.request 0 100 process=sched
			r K S cb.lookup.rpc 10 60 process=sched
			r L S cb.lookup 20 50 process=server`, "K ⊇ L"},
		{"a gateway above the root is no client", `
			g G - GET 0 500 process=gateway
			g Q G cb.request 10 100 process=sched`, ""},
		{"a wrapper below a known span is", `
			r K - cb.lookup.rpc 10 60 process=sched
			r W K grpc.call 12 58 process=sched
			r L W cb.lookup 20 50 process=server`, "W ⊇ L"},
		{"loads by worker and ordinal", `
			r A - cb.start_load_kv 100 150 process=w0 worker_id=0
			r B - cb.start_load_kv 200 250 process=w0 worker_id=0
			r C - cb.start_load_kv 100 150 process=w1 worker_id=1
			r R - cb.retrieve 210 240 process=server worker_id=0 trace=1
			r S - cb.retrieve 110 140 process=server worker_id=0 trace=1
			r T - cb.retrieve 111 141 process=server worker_id=1 trace=1`, "A ⊇ S, B ⊇ R, C ⊇ T"},
		{"a pass without work leaves no retrieve", `
			r A - cb.start_load_kv 100 102 process=w0 worker_id=0
			r B - cb.start_load_kv 200 250 process=w0 worker_id=0
			r C - cb.start_load_kv 100 150 process=w1 worker_id=1
			r R - cb.retrieve 210 240 process=server worker_id=0 trace=1
			r T - cb.retrieve 111 141 process=server worker_id=1 trace=1`, "C ⊇ T"},
		{"loads of a worker that only one side names", `
			r A - cb.start_load_kv 100 150 process=w0
			r R - cb.retrieve 110 140 process=server worker_id=0 trace=1`, "A ⊇ R"},
		{"a load and a retrieve of another worker", `
			r A - cb.start_load_kv 100 150 process=w0 worker_id=1
			r R - cb.retrieve 110 140 process=server worker_id=0 trace=1`, ""},
		{"schedule before execute", `
			r S - cb.schedule 0 50 process=sched
			r E - cb.execute 60 90 process=w0 trace=1`, "S < E"},
		{"two executes", `
			r S - cb.schedule 0 50 process=sched
			r E - cb.execute 60 90 process=w0 trace=1
			r F - cb.execute 60 90 process=w1 trace=1`, ""},
		{"two llm_requests", `
			r E - llm_request 0 100 process=engine
			r F - llm_request 0 100 process=engine trace=1
			r S - cb.request 5 90 process=sched trace=2`, ""},
	} {
		got := captureOf(t, us, 1, c.rows)
		if got := describe(got, got.requests[0].ID); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A pair says the same of two clocks whichever of them is called a.
func TestNewPair(t *testing.T) {
	c := captureOf(t, 1, 1, `
		r K - cb.lookup.rpc 1000 1600 process=sched
		r L K cb.lookup 3100 3500 process=server`)
	var x extractor
	f := x.pairsOf(c.requests[0])[0]
	at := func(ns int64) int64 { return int64(epoch) + ns }
	if got := newPair(f, false); got.low != -2100 || got.high != -1900 || got.lowAt != at(3100) || got.highAt != at(3100) || !got.bounded() {
		t.Errorf("to the server's clock: %+v", got)
	}
	if got := newPair(f, true); got.low != 1900 || got.high != 2100 || got.highAt != at(1000) || got.lowAt != at(1000) || !got.bounded() {
		t.Errorf("to the client's clock: %+v", got)
	}
	f.kind = holdsStart
	if got := newPair(f, false); got.low != -2100 || got.hasHigh {
		t.Errorf("the start alone: %+v", got)
	}
	if got := newPair(f, true); got.high != 2100 || got.hasLow {
		t.Errorf("the start alone, the other way: %+v", got)
	}
	f.kind = precedes // 1600 on one clock before 3100 on the other
	if got := newPair(f, false); got.low != -1500 || got.lowAt != at(3100) || got.hasHigh {
		t.Errorf("precedes: %+v", got)
	}
}
