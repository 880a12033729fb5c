package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// maxNames is how many span names outside the vocabulary are kept apart; with those of the vocabulary they are 65 536 (R8.7).
const maxNames = 1<<16 - int(model.NumStages)

const numOwners = int(model.Server) + 1

// A stageSum is what one stage of one owner did (R8.2). Path figures are those of requests in latency; self time leaves out what the
// percentiles leave out.
type stageSum struct {
	class                          model.Class
	known                          bool // class is set
	spans, requests                int64
	durations                      series
	self                           sum
	critical, drag, ttft, ttftDrag sum
}

func (s *stageSum) merge(o *stageSum) {
	if o.known {
		s.setClass(o.class)
	}
	s.spans += o.spans
	s.requests += o.requests
	s.durations.merge(&o.durations)
	s.self.merge(o.self)
	s.critical.merge(o.critical)
	s.drag.merge(o.drag)
	s.ttft.merge(o.ttft)
	s.ttftDrag.merge(o.ttftDrag)
}

// setClass notes the class of a sighting. A name can be both a span and a point of a recording: then the span's counts.
func (s *stageSum) setClass(c model.Class) {
	if !s.known || c < s.class {
		s.class, s.known = c, true
	}
}

// stageSums are all stages of a capture, keyed by name and owner.
type stageSums struct {
	dict  *model.Dict
	table [int(model.NumStages) * numOwners]*stageSum // names of the vocabulary
	names capped[model.StrID, stageSum, *stageSum]    // other names; nobody is known to own them
}

func newStageSums(d *model.Dict) stageSums {
	return stageSums{dict: d, names: newCapped[model.StrID, stageSum](maxNames, d.Str)}
}

func (t *stageSums) at(name model.StrID, owner model.Owner) *stageSum {
	if name >= model.NumStages.ID() {
		return t.names.at(name)
	}
	s := &t.table[int(name)*numOwners+int(owner)]
	if *s == nil {
		*s = new(stageSum)
	}
	return *s
}

// add counts a request. In per-span percentiles each span is a value, in per-request ones the time that all of a stage cover.
func (t *stageSums) add(r *model.Row, per Per) {
	edge, inLatency := r.Flags&model.RowEdge != 0, r.Flags.InLatency()
	for i := range r.Stages {
		s := &r.Stages[i]
		to := t.at(s.Stage, s.Owner)
		to.setClass(s.Class)
		to.spans += int64(s.Spans)
		if s.Spans > 0 {
			to.requests++
		}
		if !edge {
			to.self.add(s.Self)
			if per == PerRequest && s.Counted > 0 && s.Class != model.Point {
				to.durations.add(s.Union)
			}
		}
		if inLatency && s.Critical|s.Drag|s.TTFT|s.TTFTDrag != 0 { // most stages are not on the path
			to.critical.add(s.Critical)
			to.drag.add(s.Drag)
			to.ttft.add(s.TTFT)
			to.ttftDrag.add(s.TTFTDrag)
		}
	}
	if edge || per == PerRequest {
		return
	}
	for i := range r.Spans {
		s := &r.Spans[i]
		t.at(s.Stage, s.Owner).durations.add(s.NS)
	}
}

func (t *stageSums) merge(o *stageSums) {
	for i, from := range o.table {
		if from == nil {
			continue
		}
		if t.table[i] == nil {
			t.table[i] = new(stageSum)
		}
		t.table[i].merge(from)
	}
	t.names.merge(&o.names)
}

// A namedStage is a row of the stages.
type namedStage struct {
	name  string
	owner model.Owner
	*stageSum
}

// all are the stages in order of critical time, largest first, then name and owner.
func (t *stageSums) all() []namedStage {
	var out []namedStage
	for i, s := range t.table {
		if s != nil {
			out = append(out, namedStage{t.dict.Str(model.StrID(i / numOwners)), model.Owner(i % numOwners), s})
		}
	}
	for _, e := range t.names.sorted() {
		out = append(out, namedStage{e.text, model.OwnerNone, &e.value})
	}
	if t.names.other != nil {
		out = append(out, namedStage{model.OtherName, model.OwnerNone, t.names.other})
	}
	slices.SortFunc(out, func(a, b namedStage) int {
		return cmp.Or(cmp.Compare(b.critical.int64(), a.critical.int64()), strings.Compare(a.name, b.name), cmp.Compare(a.owner, b.owner))
	})
	return out
}

// A stageTime is the time of a stage on a path, whoever owns it.
type stageTime struct {
	name     string
	ns, drag sum
}

// byStage adds up the owners of each stage and leaves out stages without time; largest first, ties by name.
func byStage(stages []namedStage, of func(*stageSum) (ns, drag sum)) []stageTime {
	var out []stageTime
	at := map[string]int{}
	for _, s := range stages {
		ns, drag := of(s.stageSum)
		i, ok := at[s.name]
		if !ok {
			i = len(out)
			at[s.name], out = i, append(out, stageTime{name: s.name})
		}
		out[i].ns.merge(ns)
		out[i].drag.merge(drag)
	}
	out = slices.DeleteFunc(out, func(t stageTime) bool { return t.ns == sum{} })
	slices.SortFunc(out, func(a, b stageTime) int {
		return cmp.Or(cmp.Compare(b.ns.int64(), a.ns.int64()), strings.Compare(a.name, b.name))
	})
	return out
}
