package inspect

import (
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// The engine is the root; the scheduler's clock is known to ± 1 ms, the server's to ± 0.3 ms, the worker's not at all. The path is
// llm_request [0,1) sched, rpc [1,2) server's start, cb.lookup [2,4) server's end, rpc [4,5) sched's end, llm_request [5,6) worker, retrieve
// [6,7), and the engine to 10.
//
//	llm_request   ends with the scheduler's 1 ms and begins again with its 5 ms: a scheduler that is wrong moves both alike, but the worker's
//	              6 and 7 ms too, which cancel as well
//	cb.lookup     begins and ends on the server's clock
//	cb.lookup.rpc likewise: what is added before the lookup is taken away behind it
func TestDoubts(t *testing.T) {
	const tree = `
llm_request          engine  0ms 10ms  id=E gen_ai.latency.time_to_first_token=0.0035
  cb.lookup.rpc      sched   1ms 5ms   id=K
    cb.lookup        server  2ms 4ms   id=L
  cb.start_load_kv   worker0 6ms 7ms   id=S
`
	r := modeltest.Linked(t, tree)
	know := map[string]int64{"engine": 0, "sched": 1e6, "server": 3e5}
	for i := range r.Aligned {
		if u, ok := know[r.Dict.Proc(r.Aligned[i].Clock).Name]; ok {
			r.Aligned[i].Uncertainty, r.Aligned[i].Known = time.Duration(u), true
		}
	}
	d := Build(analysed(r))
	spans := map[string]model.Opt{}
	for _, s := range d.Spans {
		spans[s.ID] = s.UncertaintyNS
	}
	for id, want := range map[string]model.Opt{"E": model.Some(0), "K": model.Some(1e6), "L": model.Some(3e5), "S": {}} {
		if spans[id] != want {
			t.Errorf("start of %s: ± %v, want %v", id, spans[id], want)
		}
	}
	whole := map[string]model.Opt{"llm_request": model.Some(0), "cb.lookup": model.Some(0), "cb.lookup.rpc": model.Some(0), "cb.start_load_kv": model.Some(0)}
	for _, s := range d.CriticalPath.ByStage {
		if s.UncertaintyNS != whole[s.Stage] {
			t.Errorf("%s over the window: ± %v, want %v", s.Stage, s.UncertaintyNS, whole[s.Stage])
		}
	}
	// Up to the first token, 3.5 ms, the engine's part ends with the scheduler's clock, the rpc's begins with that and ends with the server's,
	// and the lookup's begins with the server's and ends with the engine's.
	first := map[string]model.Opt{"llm_request": model.Some(1e6), "cb.lookup.rpc": model.Some(13e5), "cb.lookup": model.Some(3e5)}
	if len(d.CriticalPath.TTFT.ByStage) != 3 {
		t.Fatalf("%+v", d.CriticalPath.TTFT.ByStage)
	}
	for _, s := range d.CriticalPath.TTFT.ByStage {
		if s.UncertaintyNS != first[s.Stage] {
			t.Errorf("%s to the first token: ± %v, want %v", s.Stage, s.UncertaintyNS, first[s.Stage])
		}
	}
}
