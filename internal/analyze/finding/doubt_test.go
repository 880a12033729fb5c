package finding

import (
	"strings"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/split"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// R5.8: what compares two clocks says how well they are known, and a warning of ours that is inferred is silent where that alone could be its cause.
func TestDoubt(t *testing.T) {
	const ms = time.Millisecond
	device := loads + "  cb.retrieve server 25ms 30ms worker_id=0" // 15 ms of waiting for 5 ms of load
	queue := queued + "  cb.lookup.rpc sched 30ms 90ms"            // 30 ms in queue before 60 ms of lookup
	for _, c := range []struct {
		name, text, code string
		process          string // whose clock is known to ± u against the reference's
		u                time.Duration
		want             string // "" where it is silent
	}{
		{"clocks nobody compared", device, "device_wait", "", 0, "A load began 15 ms after its call and took 5 ms (inferred)."},
		{"one clock is known", device, "device_wait", "server", 20 * ms, "A load began 15 ms after its call and took 5 ms (inferred)."},
		{"a wait in any case", device, "device_wait", "both", 10*ms - 1, "A load began 15 ms ± 10 ms after its call and took 5 ms (inferred)."},
		{"a wait that clocks may have made", device, "device_wait", "both", 10 * ms, ""},

		{"asked late in any case", queue, "lookup_could_overlap_queue", "engine", 20*ms - 1,
			"The lookup began 30 ms ± 20 ms after the request arrived and took 60 ms: up to 30 ms less in queue had it begun at once (inferred)."},
		{"asked late, or so the clocks say", queue, "lookup_could_overlap_queue", "engine", 20 * ms, ""},

		// Rows of VOCABULARY 5: counted whatever the clocks leave open, and said so.
		{"a late poll", polls + "48ms" + looked, "late_poll", "server", 20 * ms, "The answer waited 16 ms ± 20 ms for the last poll, where 10 ms is usual between polls."},
		{"a load after the rpc", "cb.request sched 0ms 900ms\n cb.lookup.rpc sched 5ms 50ms\n cb.retrieve server 151ms 160ms worker_id=0", "retrieve_after_deadline", "server", 3 * ms,
			"The load began 101 ms ± 3 ms after the lookup had ended; the deadline is 100 ms."},
		{"a load after a lookup of its own process", deadline + "151ms 160ms worker_id=0", "retrieve_after_deadline", "server", 3 * ms,
			"The load began 101 ms after the lookup had ended; the deadline is 100 ms."},
	} {
		r := modeltest.Linked(t, c.text)
		for i := range r.Aligned {
			a := &r.Aligned[i]
			switch name := r.Dict.Proc(a.Clock).Name; {
			case a.Clock == r.Reference || c.process == "":
			case strings.Contains(name, c.process):
				a.Known, a.Uncertainty = true, c.u
			case c.process == "both": // and the worker's as well as can be
				if a.Known = true; strings.Contains(name, "server") {
					a.Uncertainty = c.u
				}
			}
		}
		var sp split.Splitter
		_, found := new(Detector).Detect(r, Inputs{Split: sp.Split(r)})
		got := ""
		for _, f := range found {
			if f.Info().Code == c.code {
				got = f.Message
			}
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}
