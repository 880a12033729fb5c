package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/cbtrace/cbtrace/internal/analyze/clock"
	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Aggregate analyses every selected request and adds up the rows. Values that are too many for the memory lie on disk: see report.Aggregate.Err.
func (c *Capture) Aggregate(ctx context.Context, opt report.Options) (*report.Aggregate, error) {
	all, err := c.aggregates(ctx, opt, nil, true)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Facts are what a report of this capture says beside its requests.
func (c *Capture) Facts() *report.Capture {
	start, end, _ := c.Table.Range()
	_, _, llm := c.Table.LLMStarts()
	f := &report.Capture{
		Inputs: c.Inputs, Start: start, End: end, Survey: c.SurveyKind(), SurveyHash: c.surveyHash, Surveyed: c.Table.Requests(), Clock: c.allClocks(),
		Analysed:     clock.Requests{N: c.analysed.n.Load(), Sum: c.analysed.sum.Load()},
		Unattributed: c.Summary.Unattributed, LLM: llm, Analysis: c.opt.analysis(),
	}
	for _, p := range c.Table.Disagreeing() {
		f.Disagreeing = append(f.Disagreeing, c.Dict.Proc(p).Name)
	}
	return f
}

func (c *Capture) clockRows(rows []clock.Row) []report.Clock {
	out := make([]report.Clock, 0, len(rows))
	for _, r := range rows {
		row := report.Clock{
			Process: c.Dict.Proc(r.Process).Name, Reference: c.Dict.Proc(r.Reference).Name, OffsetNS: r.Offset, UncertaintyNS: r.Uncertainty,
			Pairs: r.Pairs, Disagreeing: r.Disagreeing, Basis: r.Basis.String(),
		}
		if r.Offset.OK {
			row.DriftPPM = model.SomeFloat(r.DriftPPM)
		}
		out = append(out, row)
	}
	return out
}

// allClocks are the rows of the clock section (R5.8), in order of (process, reference): those of all pairs of processes, and one without a
// reference for each process that analysed requests hold together with others and whose clock no pair of spans compares with another.
func (c *Capture) allClocks() []report.Clock {
	pairs := c.Table.Clocks()
	rows := c.clockRows(pairs)
	var compared, lone []model.ProcID
	for _, r := range pairs {
		compared = append(compared, r.Process, r.Reference)
	}
	shared := func(p, q model.ProcID) bool {
		_, _, ok := c.Table.Shift(p, q, 0)
		return ok
	}
	for i := range c.Dict.NumProcs() {
		p := model.ProcID(i)
		if c.Table.Routed(p) || i >= len(c.met) || !c.met[i].Load() {
			continue
		}
		same := func(q model.ProcID) bool { return shared(p, q) } // p is in no route: only its own clock is
		if !slices.ContainsFunc(compared, same) && !slices.ContainsFunc(lone, same) {
			lone = append(lone, p)
		}
	}
	for _, p := range lone {
		rows = append(rows, report.Clock{Process: c.Dict.Proc(p).Name, Basis: clock.BasisNone.String()})
	}
	slices.SortStableFunc(rows, func(x, y report.Clock) int { return cmp.Compare(x.Process, y.Process) })
	return rows
}

// Inspect makes the documents of the requests with these ids, in the order of (start, id).
func (c *Capture) Inspect(ctx context.Context, ids []string, showSensitive bool) ([]*inspect.Document, error) {
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	found, err := c.callsByHash(ctx, wanted)
	if err != nil {
		return nil, err
	}
	workers := make([][]*inspect.Document, c.opt.jobs())
	pairs := c.clockRows(c.Table.Clocks())
	err = c.rowsOf(ctx, found, func(w int) (func(*model.Request) bool, func(*analyzer, *model.Row) error) {
		return func(r *model.Request) bool { return wanted[r.ID] }, func(a *analyzer, row *model.Row) error {
			workers[w] = append(workers[w], inspect.Build(&inspect.Subject{
				Request: a.req, Row: row, Path: a.walk, Split: a.split, Findings: a.findings(), Inputs: c.Inputs, ShowSensitive: showSensitive,
				Clock: c.clockRows(c.Table.Against(a.req.Reference, clocksOf(a.req))), Pairs: pairs,
			}))
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	docs := slices.Concat(workers...)
	slices.SortFunc(docs, func(x, y *inspect.Document) int {
		return cmp.Or(cmp.Compare(x.Window.StartUnixNS.V, y.Window.StartUnixNS.V), cmp.Compare(x.Request.ID, y.Request.ID))
	})
	return docs, nil
}

// clocksOf are the clocks that spans of a request are on.
func clocksOf(r *model.Request) []model.ProcID {
	var out []model.ProcID
	for _, s := range r.Spans {
		if !s.Has(model.FlagSynthetic) && !slices.Contains(out, s.Clock) {
			out = append(out, s.Clock)
		}
	}
	return out
}
