package clock

import (
	"slices"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A file whose clock has no epoch is placed by the requests it shares with others (R4.12): by what contains what (R5.1), or by what was seen as a
// span and as a line (R4.10).
func TestAdrift(t *testing.T) {
	const apart = int64(epoch - boot)
	for _, c := range []struct {
		name, rows   string
		times        int
		anchor       string // "" for none
		offset, u    int64  // of the file's clock, in the middle
		disagreement int64
	}{
		// The lookup lies 5 ms behind the start of its call and 10 ms before its end.
		{"what contains what", `
			* K - gnnmt.cb_unified_submit {i}*1000+10 {i}*1000+60 process=f line pid=9 mono
			* V - cb.lookup {i}*1000+15 {i}*1000+50 process=server`, 20, "server", apart - 2_500*us, 7_500 * us, 0},
		{"span and line", `
			* K - cb.lookup.rpc {i}*1000+10 {i}*1000+60 process=sched pid=9
			* L - gnnmt.cb_unified_submit {i}*1000+10 {i}*1000+60 process=f line pid=9 mono
			* V K cb.lookup {i}*1000+15 {i}*1000+50 process=server`, 20, "sched", apart, ms, 0},
		{"span and line of loads, by ordinal", `
			* P - cb.start_load_kv {i}*1000+10 {i}*1000+60 process=w pid=9 worker_id=0
			* Q - cb.start_load_kv {i}*1000+110 {i}*1000+150 process=w pid=9 worker_id=0
			* L - slk.load {i}*1000+10 {i}*1000+60 process=f line pid=9 mono worker_id=0
			* M - slk.load {i}*1000+110 {i}*1000+150 process=f line pid=9 mono worker_id=0`, 10, "w", apart, ms, 0},
		{"four pairs are too few", `
			* K - gnnmt.cb_unified_submit {i}*1000+10 {i}*1000+60 process=f line pid=9 mono
			* V - cb.lookup {i}*1000+15 {i}*1000+50 process=server`, 4, "", 0, 0, 0},
		// The schedule lies 10 ms behind the start of its request and 30 ms before its end; there is no other lookup than the line.
		{"what belongs under what", `
			* Q - cb.request {i}*1000 {i}*1000+100 process=sched
			* S - sched.gnnmt {i}*1000+10 {i}*1000+70 process=f line pid=9 mono`, 20, "sched", apart + 10*ms, 20 * ms, 0},
		{"two of one stage", `
			* Q - cb.request {i}*1000 {i}*1000+100 process=sched
			* K - gnnmt.cb_unified_submit {i}*1000+10 {i}*1000+20 process=f line pid=9 mono
			* L - gnnmt.cb_unified_poll {i}*1000+30 {i}*1000+31 process=f line pid=9 mono
			* M - gnnmt.cb_unified_submit {i}*1000+40 {i}*1000+50 process=f line pid=9 mono`, 20, "", 0, 0, 0},
		{"under the server's envelope", `
			* Q - cb.request {i}*1000 {i}*1000+100 process=server
			* S - sched.gnnmt {i}*1000+10 {i}*1000+70 process=f line pid=9 mono`, 20, "", 0, 0, 0},
		{"no request in common", `
			* K - gnnmt.cb_unified_submit {i}*1000+10 {i}*1000+60 process=f line pid=9 mono
			* V - cb.request {i}*1000+15 {i}*1000+50 process=server`, 20, "", 0, 0, 0},
		{"one request of ten is of another boot", `
			* K - gnnmt.cb_unified_submit {i}*1000+10 {i}*1000+60 process=f line pid=9 mono
			* V - cb.lookup {i}*1000+15 {i}*1000+50 process=server
			bad K - gnnmt.cb_unified_submit 700010 700060 process=f line pid=9 mono
			bad V - cb.lookup 4015 4050 process=server`, 20, "server", apart - 2_500*us, 7_500 * us, 1},
	} {
		cp := captureOf(t, ms, c.times, c.rows)
		tab, file := cp.table(), cp.proc("/f#monotonic")
		if p := cp.requests[0].Spans; c.name == "what contains what" && (!p[len(p)-1].Adrift() || p[len(p)-1].Clock != file) {
			t.Fatalf("%s: the line is on %s", c.name, cp.dict.Proc(p[len(p)-1].Clock).Name)
		}
		to, ok := tab.Anchor(file)
		if ok != (c.anchor != "") || ok && cp.dict.Proc(to).Name != c.anchor {
			t.Errorf("%s: anchor %q %v", c.name, cp.dict.Proc(to).Name, ok)
			continue
		}
		if !ok {
			continue
		}
		if _, ok := tab.Anchor(to); ok {
			t.Errorf("%s: %s has an epoch", c.name, c.anchor)
		}
		row := cp.clockOf(tab, "/f#monotonic", c.anchor)
		if tab.dict.Proc(row.Process).Name != "/f#monotonic" {
			t.Errorf("%s: the other is read on the clock without an epoch", c.name)
		}
		between(t, c.name+": offset", row.Offset.V, c.offset-1, c.offset+1)
		between(t, c.name+": uncertainty", row.Uncertainty.V, c.u, c.u+c.u/100)
		between(t, c.name+": disagreeing", row.Disagreeing, c.disagreement, c.disagreement)
		for _, at := range []model.Time{boot + sec, boot + 8*sec} {
			shift, u, ok := tab.Shift(file, to, at)
			between(t, c.name+": shift", int64(shift), c.offset-1, c.offset+1)
			between(t, c.name+": its uncertainty", int64(u), c.u-1, c.u+c.u/100)
			back, _, also := tab.Shift(to, file, at+model.Time(shift))
			between(t, c.name+": and back", int64(back+shift), -1, 1)
			if !ok || !also {
				t.Errorf("%s: no route", c.name)
			}
		}
		if _, ok := cp.survey().Finish(Options{NoSkew: true}).Anchor(file); ok {
			t.Errorf("%s: placed although clocks are not to be moved", c.name)
		}
	}
}

// Lines on a clock without an epoch are placed in their request, on the clock of its reference (R5.5), and back where that clock is not known.
func TestPlaced(t *testing.T) {
	const rows = `
		* Q - cb.request {i}*1000 {i}*1000+100 process=sched
		* K - cb.lookup.rpc {i}*1000+10 {i}*1000+60 process=sched pid=9
		* L - gnnmt.cb_unified_submit {i}*1000+10 {i}*1000+60 process=f line pid=9 mono
		* M - sched.build_meta {i}*1000+70 {i}*1000+75 process=f line pid=9 mono`
	for _, c := range []struct {
		times   int
		start   int64 // ns from the root's, of the line
		untimed int64
		proc    string
	}{{20, 70 * ms, 0, "sched"}, {2, 0, 1, "sched"}} {
		cp := captureOf(t, ms, c.times, rows)
		tab := cp.table()
		r := cp.requests[c.times-1]
		var b model.Builder
		b.Link(r, 1, tab, model.LinkOptions{})
		last := r.Spans[slices.IndexFunc(r.Spans, func(s *model.Span) bool { return s.Line })]
		if last.Stage != model.StageBuildMeta || cp.dict.Proc(last.Proc).Name != c.proc || r.Counts.Untimed != c.untimed || last.Has(model.FlagUntimed) != (c.untimed > 0) {
			t.Errorf("%d requests: %s of %s, untimed %d", c.times, last.Stage, cp.dict.Proc(last.Proc).Name, r.Counts.Untimed)
		}
		if c.untimed > 0 {
			continue
		}
		if last.Dur() != 5*ms || r.Window() != 100*ms || r.Reference != cp.proc("sched") {
			t.Errorf("duration %v in a window of %v", last.Dur(), r.Window())
		}
		between(t, "start", int64(last.Start-r.WindowStart), c.start-1, c.start+1)
		if u, ok := r.UncertaintyBetween(last, r.Root); !ok || u < ms || u > ms+ms/100 {
			t.Errorf("± %v %v", u, ok)
		}
		if last.Parent == nil || last.Parent.Stage != model.StageSchedule || last.Parent.Parent != r.Root {
			t.Errorf("under %v", last.Parent)
		}
	}
}

// A request of nothing but such lines is told on the clock that theirs is known best against.
func TestOnlyAdrift(t *testing.T) {
	cp := captureOf(t, ms, 20, `
		* K - gnnmt.cb_unified_submit {i}*1000+10 {i}*1000+60 process=f line pid=9 mono
		* V - cb.lookup {i}*1000+15 {i}*1000+50 process=server
		alone K - gnnmt.cb_unified_submit 5010 5060 process=f line pid=9 mono
		alone M - sched.build_meta 5070 5075 process=f line pid=9 mono`)
	tab, r := cp.table(), cp.byID["alone"]
	var b model.Builder
	b.Link(r, 1, tab, model.LinkOptions{})
	if r.Reference != cp.proc("server") || r.Window() != 65*ms || r.Counts.Untimed != 0 {
		t.Errorf("on %s, a window of %v, %d untimed", cp.dict.Proc(r.Reference).Name, r.Window(), r.Counts.Untimed)
	}
	between(t, "start", int64(r.WindowStart-epoch), 5010*ms-2_500*us-1, 5010*ms-2_500*us+1)
	between(t, "uncertainty", int64(r.Uncertainty), 7_500*us, 7_510*us)
}
