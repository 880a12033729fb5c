package report

import "github.com/cbtrace/cbtrace/internal/model"

// Figures are an aggregate as the rules of a budget read it (R9.1): the report, the distributions behind it, and the request table.
type Figures struct {
	*Document
	Decision

	Latency, Root, TTFT, Queue, DecodePerToken *model.Series // of requests in latency, ns
	Lookup                                     Parts[*model.Series]

	Dict  *model.Dict
	Table *Table

	stages map[stageKey]*model.Series
}

// Parts are the rpc of a lookup and the parts that sum to it.
type Parts[T any] struct{ RPC, Submit, L2Load, ServerOther, PollWait T }

type stageKey struct{ name, owner string }

// Figures are those of what was added to the aggregate, to which nothing is added afterwards.
func (a *Aggregate) Figures(c *Capture) *Figures {
	d, t := a.decide()
	return a.figures(c, d, t)
}

// FiguresOf are those of requests that were selected from the ones of this aggregate: what depends on counts over all of them is decided here (R2.3).
func (a *Aggregate) FiguresOf(part *Aggregate, c *Capture) *Figures {
	whole, _ := a.decide()
	d, t := part.decide()
	d.MissingStage = whole.MissingStage
	return part.figures(c, d, t)
}

func (a *Aggregate) figures(c *Capture, d Decision, t *tally) *Figures {
	l := &t.lookup
	f := &Figures{
		Document: a.document(c, d, t), Decision: d, Latency: &t.latency.Series, Root: &t.root.Series, TTFT: &t.ttft.Series, Queue: &t.queue.Series,
		DecodePerToken: &t.perToken.Series, Dict: a.dict, Table: &a.table, stages: map[stageKey]*model.Series{},
		Lookup: Parts[*model.Series]{&l.rpc.Series, &l.submit.Series, &l.l2Load.Series, &l.serverOther.Series, &l.pollWait.Series},
	}
	for _, s := range t.stages.all() {
		f.stages[stageKey{s.name, s.owner.String()}] = &s.durations.Series
	}
	return f
}

// StageTimes is the distribution behind a row of Stages; empty for a stage that is not there.
func (f *Figures) StageTimes(name, owner string) *model.Series {
	if s := f.stages[stageKey{name, owner}]; s != nil {
		return s
	}
	return &model.Series{}
}

// DecodePerToken is the decode time of a token after the first, in ns rounded down.
func (d *Digest) DecodePerToken() model.Opt { return perTokenOf(d.Decode, d.CompletionTokens) }
