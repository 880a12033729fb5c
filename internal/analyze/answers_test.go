package analyze

import (
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
)

// The top stage says why a request took its time: decoding, which is most of nearly every window, and the root's own time say nothing.
func TestTopStage(t *testing.T) {
	for _, c := range []struct{ name, text, want, bound string }{
		{"most of the time to the first token", `
r
  llm_request engine 0 1000 gen_ai.latency.time_to_first_token=0.1 gen_ai.request.id=r
    cb.request scheduler 5 95
      cb.schedule scheduler 5 65
        cb.lookup.rpc scheduler 5 45
      cb.execute worker 65 95
        cb.model_forward worker 65 95`, "cb.lookup.rpc not half", ""},
		{"the engine itself, where it held most of that", `
r
  llm_request engine 0 1000 gen_ai.latency.time_to_first_token=0.1 gen_ai.request.id=r
    cb.request scheduler 80 95
      cb.execute worker 80 95
        cb.model_forward worker 80 95`, "llm_request mostly", "engine"},
		{"without a first token the most below the root", `
r
  llm_request engine 0 1000 gen_ai.request.id=r
    cb.request scheduler 5 95
      cb.execute worker 65 95
        cb.model_forward worker 65 95`, "cb.request not half", ""},
		{"the root alone", `
r
  llm_request engine 0 1000 gen_ai.request.id=r`, "llm_request mostly", "engine"},
		{"the queue, without holding half", `
r
  llm_request engine 0 1000 gen_ai.latency.time_to_first_token=0.1 gen_ai.latency.time_in_queue=0.06 gen_ai.request.id=r
    cb.request scheduler 45 100
      cb.schedule scheduler 45 60
      cb.execute worker 65 100
        cb.model_forward worker 70 100`, "llm_request not half", "queue"},
	} {
		d := reported(t, scenario(t, c.text))
		if len(d.Slowest) != 1 {
			t.Fatalf("%s: %d requests", c.name, len(d.Slowest))
		}
		s := &d.Slowest[0]
		got := s.TopStage + " not half"
		if s.Mostly {
			got = s.TopStage + " mostly"
		}
		is(t, c.name, got, c.want)
		is(t, c.name+", bound", s.TopBound, c.bound)
	}
}

// R5.8: a process is named whose spans are in requests with those of others and that no pair of spans compares with any.
func TestLoneClocks(t *testing.T) {
	clocks := func(text string) (out []report.Clock) { return reported(t, scenario(t, text)).Clock }
	got := clocks(`
r
  cb.request scheduler 0 90
    cb.lookup.rpc scheduler 5 45
      cb.lookup server 10 40
    mp.store other 50 60
q
  mp.store elsewhere 0 10`)
	is(t, "clocks", got, []report.Clock{{Process: "other", Basis: "none"}, {Process: "server", Reference: "scheduler", Pairs: 1, Basis: "none"}})
	is(t, "one clock", clocks(`
r
  cb.request scheduler 0 90`), []report.Clock{})
	is(t, "two that never meet", clocks(`
r
  cb.request a 0 90
q
  cb.request b 0 90`), []report.Clock{})
}
