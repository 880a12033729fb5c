package split

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

func (l *Loads) text() string {
	s := fmt.Sprintf("%d %v %s", l.Attempts, l.Verdict, opts("written", l.Written, "wasted", l.Wasted))
	if l.Overlapping {
		s += " overlapping"
	}
	for _, p := range l.Passes {
		s += fmt.Sprintf(" [%d/%s", p.Attempt, p.Worker)
		if p.Noop {
			s += " noop"
		}
		if p.Written.OK {
			s += fmt.Sprint(" ", p.Written.V)
		}
		s += "]"
	}
	for _, d := range l.Delays {
		s += fmt.Sprintf(" delay%d=%d", d.Attempt, d.NS/ms)
	}
	if len(l.NewTrace) > 0 {
		s += fmt.Sprintf(" new_trace=%d", len(l.NewTrace))
	}
	return s
}

const known = "hit_tokens=1024 requested_tokens=2048 prefix_hit_tokens=1024 non_prefix_hit_tokens=0"

// passes is a request with two passes of one rank; "" for a scatter that does not say what it wrote, "-" for a pass without a retrieve.
func passes(hits, first, second string, more ...string) string {
	load := func(at int, tokens string) string {
		s := fmt.Sprintf("  cb.start_load_kv worker0 %dms %dms worker_id=0\n", at, at+80)
		if tokens != "-" {
			s += fmt.Sprintf("    cb.retrieve server %dms %dms worker_id=0\n      cb.scatter server %dms %dms worker_id=0 %s\n", at+5, at+70, at+6, at+69, tokens)
		}
		return s
	}
	said := func(n string) string {
		if n == "" || n == "-" {
			return n
		}
		return "scattered_tokens=" + n
	}
	return "cb.request sched 0ms 1000ms " + hits + "\n  cb.lookup server 5ms 95ms\n" + load(110, said(first)) + load(320, said(second)) + strings.Join(more, "\n")
}

// R7.9, R7.10.
func TestLoads(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no pass", "cb.request sched 0ms 100ms " + known + "\n  cb.lookup server 1ms 9ms", "1 none wasted=0"},
		{"neither lookup nor pass", "cb.request sched 0ms 100ms", "0 none "},
		{"a pass without a lookup", "cb.request sched 0ms 100ms\n  cb.retrieve server 1ms 9ms worker_id=0", "1 none  [1/0]"},

		{"partial then full", passes(known, "256", "768"), "1 partial_then_full written=1024 wasted=0 [1/0 256] [1/0 768] delay1=20"},
		{"repeat", passes(known, "512", "1024"), "1 repeat written=1536 wasted=512 [1/0 512] [1/0 1024] delay1=20"},
		{"repeat by one token", passes(known, "512", "513"), "1 repeat written=1025 wasted=1 [1/0 512] [1/0 513] delay1=20"},
		{"the same twice, together the hits", passes(known, "512", "512"), "1 partial_then_full written=1024 wasted=0 [1/0 512] [1/0 512] delay1=20"},
		{"the first larger", passes(known, "768", "256"), "1 partial_then_full written=1024 wasted=0 [1/0 768] [1/0 256] delay1=20"},
		{"all, then one that does not say", passes(known, "1024", ""), "1 double_unknown  [1/0 1024] [1/0] delay1=20"},
		{"one that does not say, and too much", passes(known, "", "1025"), "1 repeat  [1/0] [1/0 1025] delay1=20"},
		{"all, then one that wrote nothing", passes(known, "1024", "0"), "1 none written=1024 wasted=0 [1/0 1024] [1/0 0] delay1=20"},
		{"all, then a no-op", passes(known, "1024", "-"), "1 none written=1024 wasted=0 [1/0 1024] [1/0 noop 0] delay1=20"},
		{"a no-op, then all", passes(known, "-", "1024"), "1 noop_then_full written=1024 wasted=0 [1/0 noop 0] [1/0 1024] delay1=230"},
		{"three", passes(known, "256", "256", "  cb.start_load_kv worker0 500ms 600ms worker_id=0", "    cb.retrieve server 510ms 590ms worker_id=0",
			"      cb.scatter server 511ms 589ms worker_id=0 scattered_tokens=512"), "1 many written=1024 wasted=0 [1/0 256] [1/0 256] [1/0 512] delay1=20"},
		{"two and a no-op are two", passes(known, "256", "768", "  cb.start_load_kv worker0 500ms 600ms worker_id=0"),
			"1 partial_then_full written=1024 wasted=0 [1/0 256] [1/0 768] [1/0 noop 0] delay1=20"},

		{"hits unknown, the same", passes("", "512", "512"), "1 repeat written=1024 [1/0 512] [1/0 512] delay1=20"},
		{"hits unknown, smaller first", passes("", "256", "512"), "1 partial_then_full written=768 [1/0 256] [1/0 512] delay1=20"},
		{"hits unknown, larger first", passes("", "512", "256"), "1 double_unknown written=768 [1/0 512] [1/0 256] delay1=20"},
		{"hits unknown, nothing said", passes("", "", ""), "1 double_unknown  [1/0] [1/0] delay1=20"},

		// Attempts: a lookup after the first pass (110–190) ended begins another.
		{"a second lookup", passes(known, "1024", "1024", "  cb.lookup server 191ms 310ms"), "2 none written=1024 wasted=0 [1/0 1024] [2/0 1024] delay1=20 delay2=15"},
		{"a second lookup within the pass", passes(known, "1024", "1024", "  cb.lookup server 189ms 310ms"), "1 repeat written=2048 wasted=1024 [1/0 1024] [1/0 1024] delay1=20"},
		{"waste of every attempt", passes(known, "512", "1024", "  cb.lookup server 420ms 490ms",
			"  cb.start_load_kv worker0 500ms 560ms worker_id=0", "    cb.retrieve server 505ms 555ms worker_id=0", "      cb.scatter server 506ms 554ms worker_id=0 scattered_tokens=1024",
			"  cb.start_load_kv worker0 600ms 660ms worker_id=0", "    cb.retrieve server 605ms 655ms worker_id=0", "      cb.scatter server 606ms 654ms worker_id=0 scattered_tokens=1024"),
			"2 repeat written=2048 wasted=1536 [1/0 512] [1/0 1024] [2/0 1024] [2/0 1024] delay1=20 delay2=15"},
		{"the last attempt with a pass", passes(known, "1024", "512", "  cb.lookup server 200ms 310ms", "  cb.lookup server 500ms 600ms"),
			"3 none written=512 wasted=0 [1/0 1024] [2/0 512] delay1=20 delay2=15"},

		{"two ranks, one pass each", `
cb.request sched 0ms 100ms ` + known + `
  cb.start_load_kv worker0 12ms 50ms worker_id=0
    cb.retrieve    server 14ms 48ms worker_id=0
      cb.scatter   server 15ms 47ms worker_id=0 scattered_tokens=512
  cb.start_load_kv worker1 12ms 52ms worker_id=1
    cb.retrieve    server 15ms 49ms worker_id=1
      cb.scatter   server 16ms 48ms worker_id=1 scattered_tokens=768`, "1 none written=768 wasted=0 [1/0 512] [1/1 768]"},
		{"ranks that are not named are processes", `
cb.request sched 0ms 100ms ` + known + `
  cb.start_load_kv worker0 12ms 50ms
    cb.retrieve    server 14ms 48ms
      cb.scatter   server 15ms 47ms scattered_tokens=512
  cb.start_load_kv worker1 12ms 52ms
    cb.retrieve    server 15ms 49ms
      cb.scatter   server 16ms 48ms scattered_tokens=768`, "1 none written=768 wasted=0 [1/ 512] [1/ 768]"},
		{"passes of a rank that overlap, a third between", `
cb.request sched 0ms 100ms
  cb.start_load_kv worker0 10ms 50ms worker_id=0
  cb.start_load_kv worker0 50ms 90ms worker_id=0
  cb.start_load_kv worker0 60ms 65ms worker_id=0
  cb.start_load_kv worker0 70ms 80ms worker_id=0`, "1 many  overlapping [1/0] [1/0] [1/0] [1/0]"},
		{"passes of a rank that touch", `
cb.request sched 0ms 100ms
  cb.start_load_kv worker0 10ms 50ms worker_id=0
  cb.start_load_kv worker0 50ms 90ms worker_id=0
  cb.start_load_kv worker1 55ms 60ms worker_id=1`, "1 double_unknown  [1/0] [1/0] [1/1]"},
		{"no server was recorded: nothing is known of what was written", `
cb.request sched 0ms 100ms ` + known + `
  cb.start_load_kv worker0 10ms 50ms worker_id=0`, "1 none wasted=0 [1/0]"},
		{"clocks apart: the retrieve did not find its pass", `
cb.request sched 0ms 100ms ` + known + `
  cb.start_load_kv worker0 10ms 50ms worker_id=0
  cb.retrieve server 400ms 440ms worker_id=0
    cb.scatter server 401ms 439ms worker_id=0 scattered_tokens=1024`, "1 none wasted=0 [1/0]"},
		{"a retrieve without a pass tells nothing of another rank", `
cb.request sched 0ms 100ms ` + known + `
  cb.start_load_kv worker0 10ms 50ms worker_id=0
  cb.retrieve server 400ms 440ms worker_id=1`, "1 none written=0 wasted=0 [1/0 noop 0]"},
		{"but it does where it names none", `
cb.request sched 0ms 100ms ` + known + `
  cb.start_load_kv worker0 10ms 50ms worker_id=0
  cb.retrieve server 400ms 440ms`, "1 none wasted=0 [1/0]"},
		{"a line inside a pass is not another's", `
cb.request sched 0ms 100ms ` + known + `
  cb.start_load_kv worker0 10ms 50ms worker_id=0
    cb.start_load_kv worker0 12ms 45ms worker_id=0
      cb.retrieve server 14ms 44ms worker_id=0
        cb.scatter server 15ms 43ms worker_id=0 scattered_tokens=1024`, "1 noop_then_full written=1024 wasted=0 overlapping [1/0 noop 0] [1/0 1024]"},

		// the standard path: passes of a device
		{"mp once", `
request server 0ms 900ms hit_tokens=512 requested_tokens=1024
  mp.lookup_prefetch server 10ms 50ms
  mp.retrieve server 60ms 100ms device=cuda:0 num_tokens=512`, "1 none written=512 wasted=0 [1/cuda:0 512] delay1=10"},
		{"mp twice", `
request server 0ms 900ms hit_tokens=512 requested_tokens=1024
  mp.lookup_prefetch server 10ms 50ms
  mp.retrieve server 60ms 100ms device=cuda:0 num_tokens=512
  mp.retrieve server 110ms 150ms device=cuda:0 num_tokens=512`, "1 repeat written=1024 wasted=512 [1/cuda:0 512] [1/cuda:0 512] delay1=10"},
		{"mp, two devices", `
request server 0ms 900ms hit_tokens=512 requested_tokens=1024
  mp.lookup_prefetch server 10ms 50ms
  mp.retrieve server 60ms 100ms device=cuda:0 num_tokens=512
  mp.retrieve server 70ms 110ms device=cuda:1 num_tokens=512`, "1 none written=512 wasted=0 [1/cuda:0 512] [1/cuda:1 512] delay1=10"},
		{"mp, beside each other", `
request server 0ms 900ms hit_tokens=512 requested_tokens=1024
  mp.lookup_prefetch server 10ms 50ms
  mp.retrieve server 60ms 100ms device=cuda:0 num_tokens=256
  mp.retrieve server 80ms 120ms device=cuda:0 num_tokens=256`, "1 partial_then_full written=512 wasted=0 overlapping [1/cuda:0 256] [1/cuda:0 256] delay1=10"},
		{"mp, looked up again", `
request server 0ms 900ms hit_tokens=512 requested_tokens=1024
  mp.lookup_prefetch server 10ms 50ms
  mp.retrieve server 60ms 100ms device=cuda:0 num_tokens=512
  mp.lookup_prefetch server 150ms 200ms
  mp.retrieve server 210ms 250ms device=cuda:0 num_tokens=256`, "2 none written=256 wasted=0 [1/cuda:0 512] [2/cuda:0 256] delay1=10 delay2=10"},

		// CONTRACT 9.2 C: the first pass ended the request, the second is a trace of its own; gap 28–60 = 32.
		{"second pass in a new trace", `
cb.request server 0ms 30ms hit_tokens=256 requested_tokens=512
  cb.lookup server 0ms 28ms
    cb.fingerprint_match server 1ms 3ms
    cb.sparse_prefetch server 3ms 20ms l2_keys=2
cb.retrieve server 60ms 75ms trace=1 worker_id=0
  cb.scatter server 61ms 74ms trace=1 worker_id=0 scattered_tokens=256`, "1 noop_then_full written=256 wasted=0 [1/0 256] delay1=32 new_trace=1"},
		{"one tick before the root's end it is no second pass, but another trace", `
cb.request server 0ms 60001us hit_tokens=256 requested_tokens=512
  cb.lookup server 0ms 28ms
cb.retrieve server 60ms 75ms trace=1 worker_id=0
  cb.scatter server 61ms 74ms trace=1 worker_id=0 scattered_tokens=256`, "1 none written=256 wasted=0 [1/0 256] delay1=32 new_trace=1"},
		{"the same trace", `
cb.request server 0ms 30ms hit_tokens=256 requested_tokens=512
  cb.lookup server 0ms 28ms
  cb.retrieve server 60ms 75ms worker_id=0
    cb.scatter server 61ms 74ms worker_id=0 scattered_tokens=256`, "1 none written=256 wasted=0 [1/0 256] delay1=32"},
		{"a second root of the server in that trace", `
cb.request server 0ms 30ms hit_tokens=256 requested_tokens=512
  cb.lookup server 0ms 28ms
cb.request server 50ms 90ms trace=1
  cb.retrieve server 60ms 75ms trace=1 worker_id=0
    cb.scatter server 61ms 74ms trace=1 worker_id=0 scattered_tokens=256`, "1 none written=256 wasted=0 [1/0 256] delay1=32"},
		{"the scheduler's root is no server's", `
cb.request sched 0ms 100ms
  cb.start_load_kv sched 55ms 78ms worker_id=0
    cb.retrieve server 60ms 75ms trace=1 worker_id=0`, "1 none  [1/0]"},
		{"a load of the next attempt belongs to no root", `
cb.request server 0ms 30ms hit_tokens=256 requested_tokens=512
  cb.lookup server 0ms 8ms
  cb.retrieve server 10ms 29ms worker_id=0
    cb.scatter server 11ms 28ms worker_id=0 scattered_tokens=256
cb.lookup server 50ms 58ms trace=1
cb.retrieve server 60ms 75ms trace=1 worker_id=0
  cb.scatter server 61ms 74ms trace=1 worker_id=0 scattered_tokens=256`, "2 none written=256 wasted=0 [1/0 256] [2/0 256] delay1=2 delay2=2"},
		{"with workers the server's traces decide nothing", `
cb.request server 0ms 30ms hit_tokens=256 requested_tokens=512
  cb.lookup server 0ms 28ms
cb.start_load_kv worker0 55ms 78ms worker_id=0
  cb.retrieve server 60ms 75ms trace=1 worker_id=0
    cb.scatter server 61ms 74ms trace=1 worker_id=0 scattered_tokens=256`, "1 none written=256 wasted=0 [1/0 256] delay1=32 new_trace=1"},

		{"a delay counts from the rpc where the server left no lookup", `
cb.request sched 0ms 900ms
  cb.lookup.rpc sched 5ms 50ms
cb.retrieve server 151ms 160ms worker_id=0`, "1 none  [1/0] delay1=101"},
		{"but from the server's where it left one", `
cb.request sched 0ms 900ms
  cb.lookup.rpc sched 5ms 50ms
    cb.lookup server 6ms 45ms
    cb.lookup server 7ms 2000ms +shutdown
    cb.lookup server 7ms -
cb.retrieve server 151ms 160ms worker_id=0
cb.retrieve server 300ms 310ms worker_id=1`, "1 none  [1/0] [1/1] delay1=106"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sp Splitter
			r := modeltest.Request(t, c.text)
			out := sp.Split(r)
			if got := out.Loads.text(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			first := *out
			if again := sp.Split(r); again.Loads.text() != first.Loads.text() || again.Hits.text() != first.Hits.text() {
				t.Errorf("the second time %s", again.Loads.text())
			}
		})
	}
}

// R7.10: what a pass wrote whose retrieve lies outside of it. On clocks that are known against each other it left none; otherwise nobody knows.
func TestRetrieveOutsideItsPass(t *testing.T) {
	const text = `
cb.request         sched   0ms 100ms hit_tokens=256 requested_tokens=1024
  cb.lookup        server  1ms 5ms
  cb.start_load_kv worker0 10ms 12ms worker_id=0
  cb.retrieve      server  13ms 15ms worker_id=0
    cb.scatter     server  13ms 15ms worker_id=0 scattered_tokens=256`
	for _, c := range []struct {
		name          string
		worker, serve bool // whether their clocks are known
		want          model.Opt
	}{
		{"known", true, true, model.Some(0)},
		{"the server's is not", true, false, model.Opt{}},
		{"the worker's is not", false, true, model.Opt{}},
	} {
		r := modeltest.Linked(t, text)
		for i := range r.Aligned {
			switch r.Dict.Proc(r.Aligned[i].Clock).Name {
			case "worker0":
				r.Aligned[i].Known = c.worker
			case "server":
				r.Aligned[i].Known = c.serve
			}
		}
		var sp Splitter
		if out := sp.Split(r); out.Loads.Passes[0].Written != c.want || out.Hits.Written != c.want {
			t.Errorf("%s: the pass wrote %v, the request %v, want %v", c.name, out.Loads.Passes[0].Written, out.Hits.Written, c.want)
		}
	}
}
