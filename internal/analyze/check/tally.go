package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A fact is something that a request has or lacks; requests are counted by it.
type fact uint8

const (
	anyRequest     fact = iota
	hasEngine           // an llm_request
	lacksTTFT           // one without a time to first token
	lacksEngine         // none, although the cache was asked
	hasServer           // spans of the cache server
	lacksServer         // none, although scheduler or worker wrote of it
	hasBlend            // spans of CacheBlend on the server
	lacksScheduler      // of those: no call of the scheduler
	lacksWorker         // of those that were loaded: no step or load of a worker
	bothSides           // spans of the engine, scheduler or workers, and of the server
	apart               // of those: no span of the server is in a trace with one of the others
	hasLookup           // a lookup
	lacksNumbers        // of those: nobody says what was asked for
	lacksPhases         // a retrieve or store of the standard path without transfer.* spans
	hasMove             // one of those
	lacksRoot           // the server's spans without the request that they belong to
	orphans             // a parent that is not there
	shutdown            // spans ended because their process was stopped
	ambiguous           // an external id that fits several
	stitched            // ranks mixed into one span
	leaked              // a trace that holds unrelated requests
	atMost              // a lookup whose L2 time is an upper bound
	numFacts
)

// A Tally counts requests by what they lack. The zero value is empty; one goroutine uses one.
type Tally struct {
	n         [numFacts]int64
	first     [numFacts][]example
	processes map[model.ProcID]bool // that say neither their instance nor host and pid
	models    map[string]int64
	traces    []model.TraceID // of the engine's side, of one request
}

// An example is a request that shows a fact; the earliest are kept.
type example struct {
	start model.Time
	id    string
}

const examples = 3

func compareExamples(a, b example) int {
	return cmp.Or(cmp.Compare(a.start, b.start), strings.Compare(a.id, b.id))
}

func (t *Tally) see(f fact, e example) {
	t.n[f]++
	t.keep(f, e, true)
}

func (t *Tally) keep(f fact, e example, clone bool) {
	kept := t.first[f]
	if len(kept) == examples && compareExamples(e, kept[examples-1]) >= 0 {
		return
	}
	if clone {
		e.id = strings.Clone(e.id)
	}
	kept = append(kept, e)
	slices.SortFunc(kept, compareExamples)
	t.first[f] = kept[:min(len(kept), examples)]
}

// Add counts a linked request and its row. Nothing of them is kept.
func (t *Tally) Add(r *model.Request, row *model.Row) {
	if t.models == nil {
		t.models, t.processes = map[string]int64{}, map[model.ProcID]bool{}
	}
	if !row.Flags.Known() {
		return
	}
	e := example{row.Start, row.ID}
	seen := func(f fact, is bool) {
		if is {
			t.see(f, e)
		}
	}
	s := t.survey(r)
	engine := row.Flags&model.RowLLM != 0
	seen(anyRequest, true)
	seen(hasEngine, engine)
	seen(lacksTTFT, engine && !row.TTFT.OK)
	seen(lacksEngine, !engine && s.server)
	seen(hasServer, s.server)
	seen(lacksServer, !s.server && s.calls)
	seen(hasBlend, s.blend)
	seen(lacksScheduler, s.blend && !s.scheduler)
	seen(lacksWorker, s.blend && s.loaded && !s.worker)
	seen(bothSides, s.server && s.caller)
	seen(apart, s.server && s.caller && !s.together)
	seen(hasLookup, row.Flags&model.RowHasLookup != 0)
	seen(lacksNumbers, row.Flags&model.RowHasLookup != 0 && !row.Hits.Requested.OK)
	seen(hasMove, s.moved)
	seen(lacksPhases, s.moved && len(row.Transfers) == 0)
	seen(lacksRoot, s.server && !s.root)
	seen(orphans, row.Findings.Has(finding.Orphan))
	seen(shutdown, row.Findings.Has(finding.Shutdown))
	seen(ambiguous, row.Findings.Has(finding.AmbiguousJoin))
	seen(stitched, row.Findings.Has(finding.StitchedRanks) || row.Findings.Has(finding.RankMismatch))
	seen(leaked, row.Findings.Has(finding.ContextLeak))
	seen(atMost, slices.ContainsFunc(row.Lookups, func(l model.RowLookup) bool { return l.AtMost }))
	if _, known := t.models[row.Model]; known {
		t.models[row.Model]++
	} else {
		t.models[strings.Clone(row.Model)] = 1
	}
}

// sides are what processes wrote of a request.
type sides struct {
	server, blend, scheduler, worker bool
	root                             bool // the server's own, or that of the scheduler
	caller                           bool // a span, not a line, of engine, scheduler or worker
	calls                            bool // a call of the server as its caller saw it
	loaded, moved                    bool
	together                         bool // a span of the server is in a trace with a caller's
}

func (t *Tally) survey(r *model.Request) (is sides) {
	t.traces = t.traces[:0]
	for _, s := range r.Spans {
		if s.Has(model.FlagSynthetic) || s.IsPoint() {
			continue
		}
		owner := s.Owner()
		is.scheduler = is.scheduler || owner == model.Scheduler
		is.worker = is.worker || owner == model.Worker
		is.root = is.root || s.Stage == model.StageCBRequest && owner == model.Scheduler
		is.calls = is.calls || s.Stage == model.StageLookupRPC || s.Stage == model.StageStartLoadKV
		if s.Line {
			continue
		}
		if res := r.Dict.Res(s.Res); res.Instance == "" && (res.Host == "" || res.PID == 0) {
			t.processes[s.Proc] = true
		}
		switch owner {
		case model.Server:
			is.server = true
			is.root = is.root || s.ServerRoot()
			is.blend = is.blend || s.Stage == model.StageLookup || s.Stage == model.StageRetrieve || s.Stage == model.StageCBRequest
			is.loaded = is.loaded || s.Stage == model.StageRetrieve
			is.moved = is.moved || s.Stage == model.StageMPRetrieve || s.Stage == model.StageMPStore
		case model.Engine, model.Scheduler, model.Worker:
			is.caller = true
			if n := len(t.traces); !s.Trace.IsZero() && (n == 0 || t.traces[n-1] != s.Trace) {
				t.traces = append(t.traces, s.Trace)
			}
		}
	}
	if is.server && is.caller {
		is.together = slices.ContainsFunc(r.Spans, func(s *model.Span) bool {
			return s.Owner() == model.Server && !s.Line && !s.Has(model.FlagSynthetic) && slices.Contains(t.traces, s.Trace)
		})
	}
	return is
}

// Merge adds what another tally counted.
func (t *Tally) Merge(o *Tally) {
	for f := range numFacts {
		t.n[f] += o.n[f]
		for _, e := range o.first[f] {
			t.keep(f, e, false)
		}
	}
	if t.models == nil {
		t.models, t.processes = map[string]int64{}, map[model.ProcID]bool{}
	}
	for name, n := range o.models {
		t.models[name] += n
	}
	for p := range o.processes {
		t.processes[p] = true
	}
}

// exemplars are the ids of the first requests that show a fact.
func (t *Tally) exemplars(f fact) []string {
	ids := []string{}
	for _, e := range t.first[f] {
		ids = append(ids, e.id)
	}
	return ids
}
