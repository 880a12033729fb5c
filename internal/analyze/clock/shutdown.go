package clock

import (
	"cmp"
	"slices"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// R4.30: a span of an LMCache server was ended by a shutdown when it (1) ends within stoppedWithin of its process's last instant, (2) lasted
// more than stoppedAfter, (3) more than timesUsual × the p99 of the stage's spans that end earlier than that, or, with fewer than enough of
// those, at least enough requests have such a span there, and (4) another request has one too or its own went on to a retrieve meanwhile.
const (
	stoppedWithin = model.Time(10 * time.Millisecond)
	stoppedAfter  = model.ShutdownAfter
	timesUsual    = 20
	enough        = 20
)

// durationLimit is how many durations of a stage are kept exactly. The p99 is compared after a factor of 20: the 0.4 % of a histogram
// decide nothing, and every stage of a server keeps such a series.
const durationLimit = 1 << 16

// couldBeStopped reports whether a shutdown could have ended a span: the server's own ends of spans, never llm_request, never lines.
func couldBeStopped(s *model.Span) bool {
	return s.MPScope && !s.Line && s.Stage != model.StageLLMRequest && !s.Has(model.FlagUntimed|model.FlagOpen)
}

// serverSpans are the spans that an LMCache server wrote in one process. Those that end near its last instant are kept one by one, because
// that instant may still move; the durations of the others are in the survey's series.
type serverSpans struct {
	any     bool
	last    model.Time // raw
	near    []nearSpan
	settled int // how many of near are known to be near, and different
}

// A nearSpan is n spans that end together.
type nearSpan struct {
	stage   model.StrID
	end     model.Time
	dur     time.Duration
	request uint64 // hash of the id; 0 where the span is too short to have been ended by a shutdown
	n       int64
}

func compareNear(x, y nearSpan) int {
	return cmp.Or(cmp.Compare(x.stage, y.stage), cmp.Compare(x.end, y.end), cmp.Compare(x.dur, y.dur), cmp.Compare(x.request, y.request))
}

// addServerSpan takes in a span of a server, copies counted.
func (v *Survey) addServerSpan(p *process, s *model.Span, request uint64) {
	srv := &p.server
	if !srv.any || s.RawEnd > srv.last {
		srv.any, srv.last = true, s.RawEnd
	}
	near := nearSpan{stage: s.StageKey, end: s.RawEnd, dur: s.Dur(), n: 1 + int64(s.Copies)}
	if near.dur > stoppedAfter {
		near.request = request
	}
	if near.dur >= 0 {
		v.addNear(srv, near)
	}
}

func (v *Survey) addNear(srv *serverSpans, s nearSpan) {
	if s.end < srv.last-stoppedWithin {
		v.series(s.stage).AddN(int64(s.dur), s.n)
		return
	}
	srv.near = append(srv.near, s)
	if len(srv.near) > 2*srv.settled+64 {
		v.settle(srv)
	}
}

// settle moves what is no longer near the last instant to the series, and adds up equal spans.
func (v *Survey) settle(srv *serverSpans) {
	kept := srv.near[:0]
	for _, s := range srv.near {
		if s.end < srv.last-stoppedWithin {
			v.series(s.stage).AddN(int64(s.dur), s.n)
		} else {
			kept = append(kept, s)
		}
	}
	slices.SortFunc(kept, compareNear)
	n := 0
	for _, s := range kept {
		if n > 0 && compareNear(kept[n-1], s) == 0 {
			kept[n-1].n += s.n
			continue
		}
		kept[n] = s
		n++
	}
	srv.near, srv.settled = kept[:n], n
}

func (v *Survey) mergeServer(p *process, o *serverSpans) {
	if !o.any {
		return
	}
	srv := &p.server
	if !srv.any || o.last > srv.last {
		srv.any, srv.last = true, o.last
	}
	for _, s := range o.near {
		v.addNear(srv, s)
	}
}

// A stop is the end of one server process, as the analysis of a request needs it.
type stop struct {
	last   model.Time
	stages map[model.StrID]*stopStage
}

// A stopStage is about the spans of one stage that end there and lasted long enough.
type stopStage struct {
	requests int // how many requests have one
	longest  [2]struct {
		dur     time.Duration // 0: none
		request uint64        // another than that of the longest
	}
}

// stopOf makes the facts of a process's end, nil where no span there could have been ended by it.
func stopOf(srv *serverSpans) *stop {
	var st *stop
	type seen struct {
		stage   model.StrID
		request uint64
	}
	requests := map[seen]bool{}
	for _, s := range srv.near {
		if s.dur <= stoppedAfter {
			continue
		}
		if st == nil {
			st = &stop{last: srv.last, stages: map[model.StrID]*stopStage{}}
		}
		row := st.stages[s.stage]
		if row == nil {
			row = &stopStage{}
			st.stages[s.stage] = row
		}
		if k := (seen{s.stage, s.request}); !requests[k] {
			requests[k] = true
			row.requests++
		}
		first, second := &row.longest[0], &row.longest[1]
		switch {
		case first.dur == 0 || s.request == first.request:
			first.dur, first.request = max(first.dur, s.dur), s.request
		case s.dur > first.dur || s.dur == first.dur && s.request < first.request:
			*second = *first
			first.dur, first.request = s.dur, s.request
		case s.dur > second.dur || s.dur == second.dur && s.request < second.request:
			second.dur, second.request = s.dur, s.request
		}
	}
	return st
}

// stops is the table's part on shutdowns.
type stops struct {
	procs []*stop                   // by ProcID, nil where nothing could have been ended
	usual map[model.StrID]model.Opt // p99 of the durations of a stage, ns
}

// ended reports whether a span of a server was ended by a shutdown; see Table.Shutdown.
func (t *stops) ended(proc model.ProcID, stage model.StrID, end model.Time, dur time.Duration, request uint64, retrieved bool) bool {
	if !t.near(proc, end) {
		return false
	}
	st := t.procs[proc]
	return t.unusual(st, stage, dur) && (retrieved || t.another(st, request))
}

// unusual is (2) and (3) of R4.30.
func (t *stops) unusual(st *stop, stage model.StrID, dur time.Duration) bool {
	if dur <= stoppedAfter {
		return false
	}
	if usual := t.usual[stage]; usual.OK {
		return usual.V <= int64(dur-1)/timesUsual // dur > timesUsual × usual, without overflow
	}
	row := st.stages[stage]
	return row != nil && row.requests >= enough
}

// another reports whether some other request has such a span there, of whatever stage.
func (t *stops) another(st *stop, request uint64) bool {
	for stage, row := range st.stages {
		for _, l := range row.longest {
			if l.dur > 0 && l.request != request && t.unusual(st, stage, l.dur) {
				return true
			}
		}
	}
	return false
}

// retrievesOf are the raw starts of a request's retrieves, ascending.
func retrievesOf(spans []*model.Span) []model.Time {
	starts := []model.Time{}
	for _, s := range spans {
		if s.Stage == model.StageRetrieve || s.Stage == model.StageMPRetrieve {
			starts = append(starts, s.RawStart)
		}
	}
	slices.Sort(starts)
	return starts
}

// beganInside reports whether a retrieve began while a span was running: its request went on.
func beganInside(retrieves []model.Time, s *model.Span) bool {
	n, _ := slices.BinarySearch(retrieves, s.RawStart+1)
	return n < len(retrieves) && retrieves[n] < s.RawEnd
}
