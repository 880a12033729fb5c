package model

import (
	"slices"
	"strings"
	"testing"
)

// shown are the spans of a request in order, as `id start end` in µs, with poll instants after a `!`.
func shown(r *Request) string {
	var out []string
	for _, s := range r.Spans {
		text := r.Dict.SpanIDText(s.ID) + " " + micros(s.RawStart) + " " + micros(s.RawEnd)
		for _, p := range s.Polls {
			text += " !" + micros(p)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func micros(t Time) string { return Value{Kind: FloatValue, Float: float64(t-epoch) / 1000}.Text() }

// R4.9 looks at the lines of one process only: lines of other pids, or without pids of other roles, are of others.
func TestCoalesceByProcess(t *testing.T) {
	for _, c := range []struct{ name, rows, want string }{
		{"two pids in one file", `
			a - gnnmt.cb_unified_submit 0 10 line pid=1
			b - gnnmt.cb_unified_submit 5 15 line pid=2
			c - gnnmt.cb_unified_poll 100 110 line pid=1
			d - gnnmt.cb_unified_poll 200 210 line pid=2
			e - gnnmt.cb_unified_poll 300 310 line pid=1`, "a 0 310 !100 !300\nb 5 210 !200"},
		{"two roles without pids", `
			a - slk.load 0 10 line role=worker-a
			b - slk.load 1 11 line role=worker-b
			c - slk.wait 20 30 line role=worker-a
			d - slk.wait 21 31 line role=worker-b`, "a 0 30\nb 1 31"},
		{"two ranks of one pid", `
			a - slk.load 0 10 line pid=1 rank=0
			b - slk.load 1 11 line pid=1 rank=1
			c - slk.wait 20 30 line pid=1 rank=0
			d - slk.wait 21 31 line pid=1 rank=1`, "a 0 30\nb 1 31"},
		{"two files", `
			a - sched.gnnmt 0 10 line proc=a
			b - sched.gnnmt 20 30 line proc=b`, "a 0 10\nb 20 30"},
		{"a schedule line that holds the next lookup's submit begins the next", `
			a - sched.gnnmt 0 50 line
			b - gnnmt.cb_unified_submit 10 20 line
			c - gnnmt.cb_unified_poll 60 70 line
			d - sched.gnnmt 55 75 line
			e - sched.gnnmt 80 100 line
			f - gnnmt.cb_unified_submit 100 110 line`, "a 0 75\nb 10 70 !60\ne 80 100\nf 100 110"},
		{"a schedule line that ends before that submit does not", `
			a - sched.gnnmt 0 50 line
			b - gnnmt.cb_unified_submit 10 20 line
			c - gnnmt.cb_unified_poll 60 70 line
			e - sched.gnnmt 80 99 line
			f - gnnmt.cb_unified_submit 100 110 line`, "a 0 99\nb 10 70 !60\nf 100 110"},
		{"the first of slk.* opens a pass, slk.load opens another", `
			a - slk.submit 0 10 line
			b - slk.poll 11 12 line
			c - slk.load 20 30 line
			d - slk.wait 31 40 line`, "a 0 12\nc 20 40"},
		{"a line that is drawn into another may outlast it", `
			a - slk.load 0 100 line
			b - slk.wait 10 20 line`, "a 0 100"},
		{"on a clock without an epoch, beside one with", `
			a - slk.load 0 10 line
			b - slk.wait 20 30 line
			c - slk.load 5 15 line unplaced
			d - slk.wait 25 35 line unplaced`, "a 0 30\nc 5 35"},
	} {
		var b Builder
		if got := shown(b.Clean(rows(t, c.rows))[0]); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// Many processes in one request: the same as one by one.
func TestCoalesceManyProcesses(t *testing.T) {
	var text strings.Builder
	const pids = 3 * manyOwners
	for i := range pids {
		text.WriteString(strings.NewReplacer("PID", Value{Kind: IntValue, Int: int64(i + 1)}.Text()).Replace("aPID - slk.load 0 10 line pid=PID\nbPID - slk.wait 20 30 line pid=PID\n"))
	}
	var b Builder
	r := b.Clean(rows(t, text.String()))[0]
	if len(r.Spans) != pids || r.Counts.Coalesced != pids {
		t.Errorf("%d passes of %d lines that went into others, want %d of %d", len(r.Spans), r.Counts.Coalesced, pids, pids)
	}
}

// R4.10: both sources stay, the finer clock wins, attributes and polls of the line are added.
func TestPairedSpan(t *testing.T) {
	for _, c := range []struct{ name, rows, want string }{
		{"the span's clock is finer", "B - cb.build_meta 0.5 100.25\nb - sched.build_meta 0 99 line", "B 0.5 100.25"},
		{"the line's clock is finer", "B - cb.build_meta 1 100\nb - sched.build_meta 1.25 100.5 line", "B 1.25 100.5"},
		{"both the same: the span's", "B - cb.build_meta 1 100\nb - sched.build_meta 2 101 line", "B 1 100"},
		{"coalesced first", `
			K - cb.lookup.rpc 0 400
			a - gnnmt.cb_unified_submit 1 10 line
			b - gnnmt.cb_unified_poll 200 210 line
			c - gnnmt.cb_unified_poll 390 401 line`, "K 0 400 !200 !390"},
	} {
		var b Builder
		r := b.Clean(rows(t, c.rows))[0]
		if got := shown(r); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if s := r.Spans[0]; s.Line || len(s.Sources) < 2 || r.Counts.Dual != 1 {
			t.Errorf("%s: line %v, %d sources, %d spans seen both ways", c.name, s.Line, len(s.Sources), r.Counts.Dual)
		}
	}
}

// R4.10: lines of a file without an epoch pair by stage, duration and ordinal; polls move to the span's clock.
func TestUnplacedSightings(t *testing.T) {
	for _, c := range []struct{ name, rows, want string }{
		{"by ordinal and duration", `
			B - cb.build_meta 10000 20000
			C - cb.build_meta 50000 90000
			b - sched.build_meta 5 10105 line unplaced
			c - sched.build_meta 40000 80000 line unplaced`, "B 10000 20000\nC 50000 90000"},
		{"another duration", `
			B - cb.build_meta 10000 20000
			b - sched.build_meta 5 12105 line unplaced`, "B 10000 20000\nb 5 12105"},
		{"the second of the lines has no partner", `
			B - cb.build_meta 10000 20000
			b - sched.build_meta 5 10105 line unplaced
			c - sched.build_meta 40000 50000 line unplaced`, "B 10000 20000\nc 40000 50000"},
		{"each rank counts for itself", `
			B - cb.model_forward 10000 20000 worker_id=1
			C - cb.model_forward 12000 42000 worker_id=0
			b - shim.wrapper.fwd 5 30005 line unplaced rank=0
			c - shim.wrapper.fwd 6 10006 line unplaced rank=1`, "B 10000 20000\nC 12000 42000"},
		{"polls on the span's clock", `
			K - cb.lookup.rpc 70000 90000
			a - gnnmt.cb_unified_submit 100 110 line unplaced
			b - gnnmt.cb_unified_poll 20000 20100 line unplaced`, "K 70000 90000 !89900"},
	} {
		var b Builder
		if got := shown(b.Clean(rows(t, c.rows))[0]); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// R4.11: what was seen both ways votes, what is of one process anyway does not.
func TestVotes(t *testing.T) {
	var b Builder
	r := b.Clean(rows(t, `
		B - cb.build_meta 0 100 proc=i-sched
		C - cb.build_meta 50000 50100 proc=i-other
		D - cb.build_meta 90000 90100 proc=file pid=4242
		b - sched.build_meta 1 101 line proc=file pid=4242
		c - sched.build_meta 50001 50101 line proc=file pid=4242
		d - sched.build_meta 90001 90101 line proc=file pid=4242`))[0]
	var got []string
	for _, v := range r.Votes {
		got = append(got, r.Dict.Proc(v.Lines.Proc).Name+" "+Value{Kind: IntValue, Int: v.Lines.PID}.Text()+" "+r.Dict.Proc(v.Span).Name)
	}
	slices.Sort(got)
	if want := "file 4242 i-other\nfile 4242 i-sched"; strings.Join(got, "\n") != want {
		t.Errorf("votes %q, want %q", got, want)
	}
}

// named is a Clock on which all clocks are equal and lines of a pid are of the instance that it names.
type named struct {
	noClock
	d  *Dict
	by map[int64]string
}

func (c named) Process(r *Request, s *Span) ProcID {
	if name, ok := c.by[r.LineProcess(s).PID]; ok {
		return c.d.Process(name)
	}
	return s.Proc
}

// R4.15, R4.16: processes that write to one file have levels of their own.
func TestLevelsOfOneFile(t *testing.T) {
	const text = `
		Q - cb.request 0 1000 proc=i-sched
		a - shim.wrapper.prepare 10 20 line proc=file pid=1
		b - shim.wrapper.fwd 30 400 line proc=file pid=1
		c - flex.check 50 300 line proc=file pid=1
		d - shim.wrapper.prepare 11 21 line proc=file pid=2
		e - shim.wrapper.fwd 31 600 line proc=file pid=2
		f - flex.check 51 301 line proc=file pid=2`
	want := `+cb.execute:file:1<Q adopted synthetic
+cb.execute:file:2<Q adopted synthetic
Q< root
a<+cb.execute:file:1 adopted
b<+cb.execute:file:1 adopted
c<b adopted
d<+cb.execute:file:2 adopted
e<+cb.execute:file:2 adopted
f<e adopted`
	if got := tree(built(t, text)); got != want {
		t.Errorf("by pid:\n%s\nwant\n%s", got, want)
	}
	want = strings.NewReplacer("file:1", "i-w0", "file:2", "i-w1").Replace(want)
	if got := tree(builtOn(t, text, func(d *Dict) Clock { return named{d: d, by: map[int64]string{1: "i-w0", 2: "i-w1"}} })); got != want {
		t.Errorf("by instance:\n%s\nwant\n%s", got, want)
	}
	ranks := strings.NewReplacer("pid=", "rank=").Replace(text)
	want = strings.NewReplacer("i-w0", "file:1", "i-w1", "file:2").Replace(want)
	if got := tree(built(t, ranks)); got != want {
		t.Errorf("by rank:\n%s\nwant\n%s", got, want)
	}
	one := `
		Q - cb.request 0 1000 proc=i-sched
		a - shim.wrapper.prepare 10 20 line proc=file pid=1
		b - shim.wrapper.fwd 30 400 line proc=file pid=1`
	if got := tree(built(t, one)); !strings.HasPrefix(got, "+cb.execute:file<Q adopted synthetic\n") {
		t.Errorf("one process: %s", got)
	}
}
