package clock

import (
	"cmp"
	"slices"
	"sync"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Finish makes the table of what the survey holds. The survey can go on growing, and makes other tables then.
func (v *Survey) Finish(opt Options) *Table {
	t := &Table{dict: v.dict, opt: opt, procs: make([]*process, len(v.procs)), requests: v.requests, llm: v.llm,
		byPair: map[procPair]*estimate{}, anchors: map[model.ProcID]model.ProcID{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		v.notes.settle()
		t.leaked = v.notes.leaks()
	})
	defer wg.Wait()
	v.settlePairs()
	t.start, t.end, t.ranged = v.extent.span()
	t.stops.procs, t.stops.usual = make([]*stop, len(v.procs)), map[model.StrID]model.Opt{}
	for stage, s := range v.allSeries() {
		if s.N() >= enough {
			t.stops.usual[stage] = model.Some(s.Quantile(990))
		}
	}
	for id, p := range v.procs {
		if p != nil {
			facts := *p
			facts.server = serverSpans{}
			t.procs[id] = &facts
			t.stops.procs[id] = stopOf(&p.server)
		}
	}
	t.elect(v.votes)
	t.estimate(t.clocks(v))
	slices.SortFunc(t.estimates, func(x, y *estimate) int {
		return cmp.Or(t.byName(x.moved, y.moved), t.byName(x.reference, y.reference))
	})
	if !opt.NoSkew {
		t.link()
		t.anchor()
	}
	return t
}

// estimate fits the clocks of all processes that have pairs, several at a time.
func (t *Table) estimate(samples map[procPair]*sample) {
	type job struct {
		pp  procPair
		of  *sample
		est *estimate // nil where a shutdown ended all pairs
	}
	jobs := make([]job, 0, len(samples))
	for pp, s := range samples {
		jobs = append(jobs, job{pp: pp, of: s})
	}
	ended := func(p pair) bool {
		x := p.suspect
		return x != nil && t.stops.ended(x.proc, x.stage, x.end, x.dur, x.request, x.retrieved)
	}
	model.InParallel(len(jobs), func(i int) {
		pairs := jobs[i].of.pairs
		if slices.ContainsFunc(pairs, ended) {
			pairs = slices.DeleteFunc(slices.Clone(pairs), ended)
		}
		if len(pairs) > 0 {
			jobs[i].est = estimateOf(jobs[i].pp, pairs)
		}
	})
	for _, j := range jobs {
		e := j.est
		if e == nil {
			continue
		}
		if t.adrift(e.reference) && !t.adrift(e.moved) { // what has no epoch is read on what has one
			e.moved, e.reference = e.reference, e.moved
		}
		t.estimates = append(t.estimates, e)
		t.byPair[j.pp], t.byPair[procPair{j.pp.b, j.pp.a}] = e, e
	}
}

// settleAll brings the survey into the form that depends on its content alone.
func (v *Survey) settleAll() {
	v.settlePairs()
	v.notes.settle()
}

// settlePairs is settleAll of all but the notes.
func (v *Survey) settlePairs() {
	v.prunePairs(maxPairs)
	for _, p := range v.procs {
		if p != nil {
			v.settle(&p.server)
		}
	}
}

// allSeries are the series of durations, by name of the stage.
func (v *Survey) allSeries() map[model.StrID]*model.Series {
	all := map[model.StrID]*model.Series{}
	for stage, s := range v.stages {
		if s != nil {
			all[model.StrID(stage)] = s
		}
	}
	for stage, s := range v.unknown {
		all[stage] = s
	}
	return all
}

func (t *Table) byName(x, y model.ProcID) int {
	return cmp.Compare(t.dict.Proc(x).Name, t.dict.Proc(y).Name)
}
