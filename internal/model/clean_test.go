package model

import (
	"testing"
	"time"
)

func TestRepeats(t *testing.T) {
	for _, c := range []struct {
		name, rows                          string
		spans                               int
		duplicated, conflicting, open, left int64
		end                                 float64 // of Q in µs
	}{
		{name: "the same twice", rows: "Q - cb.request 0 100\nQ - cb.request 0 100", spans: 1, duplicated: 1, end: 100},
		{name: "cut to µs: the finer times stay", rows: "Q - cb.request 0 900\nQ - cb.request 0 900.123", spans: 1, duplicated: 1, end: 900.123},
		{name: "an attribute outside the stage's table", rows: "Q - cb.request 0 100 device=a\nQ - cb.request 0 100 device=b", spans: 1, duplicated: 1, end: 100},
		{name: "an attribute of the table", rows: "Q - cb.request 0 100 hit_tokens=1\nQ - cb.request 0 100 hit_tokens=2", spans: 2, conflicting: 1, end: 100},
		{name: "another end", rows: "Q - cb.request 0 100\nQ - cb.request 0 102", spans: 2, conflicting: 1, end: 100},
		{name: "open, then complete", rows: "Q - cb.request 0 -\nQ - cb.request 0 100 hit_tokens=1", spans: 1, open: 1, end: 100},
		{name: "open alone", rows: "Q - cb.request 5 -", spans: 1, left: 1, end: 5},
		{name: "one id in two traces", rows: "Q - cb.request 0 100\nQ - cb.request 0 100 trace=1", spans: 2, end: 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b Builder
			r := b.Clean(rows(t, c.rows))[0]
			n := r.Counts
			if len(r.Spans) != c.spans || n.Duplicated != c.duplicated || n.Conflicting != c.conflicting || n.OpenCopies != c.open || n.Open != c.left {
				t.Errorf("%d spans, counts %+v", len(r.Spans), n)
			}
			if got := float64(r.Spans[0].RawEnd-epoch) / 1000; got != c.end {
				t.Errorf("ends at %v µs, want %v", got, c.end)
			}
		})
	}
}

// R3.5: any number of different spans of one id takes time in proportion; the copy of a late one is still found, next to which it starts.
func TestManyRepeatsOfAnID(t *testing.T) {
	const n = 200_000
	r := &Request{Dict: NewDict()}
	add := func(i int) {
		at := epoch + Time(i)*Time(time.Microsecond)
		r.Spans = append(r.Spans, &Span{ID: HexID(1), StageKey: 1, RawStart: at, RawEnd: at + Time(i), Start: at, End: at + Time(i)})
	}
	for i := range n {
		add(i)
	}
	add(n - 1)
	var b Builder
	began := time.Now()
	got := b.Clean(r)[0]
	if len(got.Spans) != n || got.Counts.Conflicting != n-1 || got.Counts.Duplicated != 1 {
		t.Errorf("%d spans, counts %+v", len(got.Spans), got.Counts)
	}
	if took := time.Since(began); took > 20*time.Second { // comparing all with all takes minutes
		t.Errorf("took %v", took)
	}
}

func TestExecutions(t *testing.T) {
	const s = "000000" // µs to s
	for _, c := range []struct {
		name, rows string
		want       []int // spans of each execution
	}{
		{"more than a minute later, with a lookup", "Q - cb.request 0 1" + s + "\nP - cb.request 61000001 62" + s + " trace=1\nL P cb.lookup 61000001 62" + s + " trace=1", []int{1, 2}},
		{"a minute later to the tick", "Q - cb.request 0 1" + s + "\nP - cb.request 61" + s + " 62" + s + " trace=1\nL P cb.lookup 61" + s + " 62" + s + " trace=1", []int{3}},
		{"without a lookup of its own", "Q - cb.request 0 1" + s + "\nP - cb.request 61000001 62" + s + " trace=1", []int{2}},
		{"another instance of the service", "Q - cb.request 0 1" + s + " proc=a service=v\nP - cb.request 2" + s + " 3" + s + " trace=1 proc=b service=v", []int{1, 1}},
		{"another service", "Q - cb.request 0 1" + s + " proc=a service=v\nP - cb.request 2" + s + " 3" + s + " trace=1 proc=b service=w", []int{2}},
		{"an llm_request goes with what it holds", "Q - cb.request 0 1" + s + "\nE - llm_request 70" + s + " 80" + s + " trace=2\nP - cb.request 71" + s + " 72" + s + " trace=1\nL P cb.lookup 71" + s + " 72" + s + " trace=1", []int{1, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b Builder
			parts := b.Clean(rows(t, c.rows))
			var got []int
			for i, p := range parts {
				got = append(got, len(p.Spans))
				if p.Reused != (i > 0) {
					t.Errorf("execution %d: reused %v", i+1, p.Reused)
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("executions of %v spans, want %v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Fatalf("executions of %v spans, want %v", got, c.want)
				}
			}
			if len(parts) > 1 && parts[1].ID != "r#2" {
				t.Errorf("the second is called %q", parts[1].ID)
			}
		})
	}
}

// R4.9, with the lines of the scenario "submits-and-polls".
func TestCoalesce(t *testing.T) {
	var b Builder
	r := b.Clean(rows(t, `
		Q - cb.request 0 50000
		a - sched.gnnmt 0 2000 line
		b - gnnmt.cb_unified_submit 500 600 line
		c - gnnmt.cb_unified_submit 1000 1100 line
		d - sched.gnnmt 10000 11000 line
		e - gnnmt.cb_unified_poll 10200 10400 line
		f - sched.gnnmt 20000 22000 line
		g - gnnmt.cb_unified_submit 20500 20600 line
		h - sched.gnnmt 30000 31000 line
		i - gnnmt.cb_unified_poll 30200 30400 line
		j - sched.gnnmt 40000 41000 line
		k - gnnmt.cb_unified_poll 40200 40400 line`))[0]
	type span struct {
		start, end Time
		polls      int
	}
	want := map[string]span{"Q": {0, 50000, 0}, "a": {0, 11000, 0}, "b": {500, 10400, 1}, "f": {20000, 41000, 0}, "g": {20500, 40400, 2}}
	if len(r.Spans) != len(want) {
		t.Errorf("%d spans, want %d", len(r.Spans), len(want))
	}
	for _, s := range r.Spans {
		id := r.Dict.SpanIDText(s.ID)
		if got := (span{(s.RawStart - epoch) / 1000, (s.RawEnd - epoch) / 1000, len(s.Polls)}); got != want[id] {
			t.Errorf("%s is %+v, want %+v", id, got, want[id])
		}
	}
	if r.Counts.Coalesced != 7 {
		t.Errorf("%d lines went into others, want 7", r.Counts.Coalesced)
	}
}

func TestPasses(t *testing.T) {
	var b Builder
	r := b.Clean(rows(t, `
		a - slk.submit 0 10 line worker_id=0
		b - slk.wait 20 30 line worker_id=0
		c - slk.load 40 50 line worker_id=0
		d - slk.wait 60 70 line worker_id=0
		e - slk.wait 61 71 line worker_id=1`))[0]
	if len(r.Spans) != 3 {
		t.Errorf("%d passes, want 3: two of worker 0, one of worker 1", len(r.Spans))
	}
}

// R4.10: within max(1 ms, 1 %), one span and one line, the closest first.
func TestSightings(t *testing.T) {
	for _, c := range []struct {
		name, rows string
		spans      int
	}{
		{"a tick apart", "B - cb.build_meta 0 100000\nb - sched.build_meta 1 100001 line", 1},
		{"a millisecond apart", "B - cb.build_meta 0 100000\nb - sched.build_meta 1000 101000 line", 1},
		{"more than a millisecond", "B - cb.build_meta 0 100000\nb - sched.build_meta 1001 101001 line", 2},
		{"one in a hundred of a long one", "B - cb.build_meta 0 1000000\nb - sched.build_meta 10000 1000000 line", 1},
		{"more than that", "B - cb.build_meta 0 1000000\nb - sched.build_meta 10001 1000001 line", 2},
		{"of another rank", "B - cb.model_forward 0 100 worker_id=0\nb - shim.wrapper.fwd 0 100 line worker_id=1", 2},
		{"of another pid", "B - cb.build_meta 0 100 pid=1\nb - sched.build_meta 0 100 line pid=2", 2},
		{"never two lines", "B - cb.build_meta 0 100\nb - sched.build_meta 0 100 line\nc - sched.build_meta 1 101 line", 2},
	} {
		var b Builder
		if r := b.Clean(rows(t, c.rows))[0]; len(r.Spans) != c.spans {
			t.Errorf("%s: %d spans, want %d", c.name, len(r.Spans), c.spans)
		}
	}
}
