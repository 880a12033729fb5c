// Package clock surveys a capture (DESIGN 2, 4b and 5): one pass over its cleaned requests collects all that the analysis of a single request
// may need to know of the others, and what comes out answers how clocks relate, which spans a shutdown ended, and what time the capture covers.
//
// A Survey grows: Add takes requests, Merge other surveys, in any order and parts; what it holds is a function of the set of requests, bounded
// in size, and can be written and read back. Finish makes the Table that the analysis asks.
//
//	survey.go    what is collected and how it adds up
//	pairs.go     which spans of a request bound the clocks of two processes (R5.1)
//	sample.go    the bounded sample of pairs (R5.6)
//	corridor.go  all lines that no bound contradicts
//	estimate.go  offset and drift of two clocks (R5.2–R5.4)
//	finish.go    from a survey to its table
//	checker.go   which pairs of a request disagree with a table
//	doubt.go     whether a table of a sample is enough for a request
//	table.go     routes between processes (R5.5), the clock section (R5.8)
//	votes.go     which instance the process of profile lines is (R4.11)
//	leak.go      traces that hold unrelated requests (R2.2)
//	shutdown.go  spans that ended because their process was stopped (R4.30)
//	extent.go    the range of the capture (R8.8)
//	plans.go     what was decided of files of profile lines (R4.12)
//	file.go      a survey as bytes
package clock

import (
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Survey is what one pass over a capture collects (R2.2). It belongs to one goroutine; several are joined with Merge.
type Survey struct {
	dict    *model.Dict
	extract extractor

	samples map[procPair]*sample
	lately  [1 << 6]sampled // by the last bits of the two clocks
	nPairs  int
	bound   uint64 // pairs of a larger rank are left out everywhere (R5.6)

	requests Requests
	procs    []*process // by ProcID, nil where nothing was seen
	stages   [model.NumStages]*model.Series
	unknown  map[model.StrID]*model.Series // of names outside the vocabulary
	llm      llmStarts
	extent   extent
	notes    notes // of traces (R2.2)
	traces   []model.TraceID

	votes  ballot // which instances profile lines are of (R4.11)
	voters []voter
	voted  []voted

	plans map[string]filePlan // of files of profile lines, by path (R4.12)
}

// A procPair names two processes, a the one whose name comes first.
type procPair struct{ a, b model.ProcID }

// sampled is the sample that the pairs of a client and a server go to.
type sampled struct {
	client, server model.ProcID
	*sample        // nil: none yet
	serverIsA      bool
}

// Requests say which requests went into a survey: how many, and the sum of the XXH64 of their ids. A table that was read back is of the whole
// of a capture when both are those of the requests that are analysed.
type Requests struct {
	N, Sum uint64
}

// Add counts the request whose id has a hash.
func (r *Requests) Add(hash uint64) { r.N, r.Sum = r.N+1, r.Sum+hash }

// llmStarts are the raw starts of the first and last llm_request (R7.11); both 0 without any.
type llmStarts struct{ first, last model.Time }

func (l *llmStarts) add(first, last model.Time) {
	if l.first == 0 || first < l.first {
		l.first = first
	}
	if l.last == 0 || last > l.last {
		l.last = last
	}
}

// A process is what is known of one process.
type process struct {
	seen        bool
	first, last model.Time // raw instants of its timed spans
	models      modelNames
	server      serverSpans
}

// modelNames is the only model a process named, or that it named several (R4.29).
type modelNames struct {
	name    string
	several bool
}

func (m *modelNames) add(name string) {
	switch {
	case name == "" || name == m.name || m.several:
	case m.name == "":
		m.name = strings.Clone(name) // the text of a span is gone after its request
	default:
		*m = modelNames{several: true}
	}
}

func (m *modelNames) merge(o modelNames) {
	if o.several {
		*m = o
		return
	}
	m.add(o.name)
}

// NewSurvey returns an empty survey of a capture whose names are in d.
func NewSurvey(d *model.Dict) *Survey {
	return &Survey{dict: d, samples: map[procPair]*sample{}, votes: ballot{}, bound: ^uint64(0), notes: newNotes()}
}

// Add takes in a cleaned request (R4.7–R4.10: no copies, raw times). It need not be linked and is not changed.
func (v *Survey) Add(r *model.Request) {
	hash := xxhash.Sum64String(r.ID)
	v.requests.Add(hash)
	v.addSpans(r.Spans, hash, true)
	v.addPairs(r)
	v.addVotes(r)
	v.addTraces(r)
}

// Needs reports whether a survey of requests without profile lines asks for an attribute: the model, what Span.Worker looks at, and what a request is called
// outside (R4.2).
func Needs(k model.AttrKey) bool {
	return k.NamesModel() || k.NamesWorker() || k == model.AttrGenAIRequestID
}

// AddProcessSpans takes in spans that belong to no request but to their process (R4.5, R4.6).
func (v *Survey) AddProcessSpans(spans []*model.Span) { v.addSpans(spans, 0, false) }

func (v *Survey) addSpans(spans []*model.Span, request uint64, inRequest bool) {
	var p *process
	var id model.ProcID
	for _, s := range spans {
		if p == nil || id != s.Proc {
			id = s.Proc
			p = v.process(id)
		}
		for i := range s.Attrs {
			if s.Attrs[i].Key.NamesModel() {
				p.models.add(s.Attrs[i].Value.Str)
			}
		}
		if s.Has(model.FlagUntimed) || s.IsPoint() {
			continue
		}
		first, last := min(s.RawStart, s.RawEnd), max(s.RawStart, s.RawEnd)
		if !p.seen {
			p.seen, p.first, p.last = true, first, last
		}
		p.first, p.last = min(p.first, first), max(p.last, last)
		v.extent.add(s.RawStart)
		v.extent.add(s.RawEnd)
		if s.Stage == model.StageLLMRequest {
			v.llm.add(s.RawStart, s.RawStart)
		}
		if inRequest && couldBeStopped(s) {
			v.addServerSpan(p, s, request)
		}
	}
}

func (v *Survey) process(id model.ProcID) *process {
	for int(id) >= len(v.procs) {
		v.procs = append(v.procs, nil)
	}
	if v.procs[id] == nil {
		v.procs[id] = &process{}
	}
	return v.procs[id]
}

// series is the series of durations of a stage, or of a name outside the vocabulary.
func (v *Survey) series(stage model.StrID) *model.Series {
	if stage < model.StrID(model.NumStages) {
		if v.stages[stage] == nil {
			v.stages[stage] = model.NewSeries(durationLimit)
		}
		return v.stages[stage]
	}
	s := v.unknown[stage]
	if s == nil {
		if v.unknown == nil {
			v.unknown = map[model.StrID]*model.Series{}
		}
		s = model.NewSeries(durationLimit)
		v.unknown[stage] = s
	}
	return s
}

// Merge takes in all that another survey with the same Dict holds; o must not be used afterwards.
func (v *Survey) Merge(o *Survey) {
	for pp, s := range o.samples {
		mine := v.sample(pp)
		v.nPairs += mine.merge(s)
	}
	v.bound = min(v.bound, o.bound)
	v.prunePairs(maxPairs)
	for id, p := range o.procs {
		if p == nil {
			continue
		}
		mine := v.process(model.ProcID(id))
		if p.seen {
			if !mine.seen {
				mine.seen, mine.first, mine.last = true, p.first, p.last
			}
			mine.first, mine.last = min(mine.first, p.first), max(mine.last, p.last)
		}
		mine.models.merge(p.models)
		v.mergeServer(mine, &p.server)
	}
	for stage, s := range o.stages {
		if s != nil {
			v.series(model.StrID(stage)).Merge(s)
		}
	}
	for stage, s := range o.unknown {
		v.series(stage).Merge(s)
	}
	v.requests.N += o.requests.N
	v.requests.Sum += o.requests.Sum
	if o.llm.first != 0 {
		v.llm.add(o.llm.first, o.llm.last)
	}
	v.extent.merge(&o.extent)
	v.votes.merge(o.votes)
	v.notes.merge(&o.notes)
	v.mergePlans(o.plans)
}
