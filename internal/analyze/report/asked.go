package report

import (
	"errors"
	"slices"
	"sort"

	"github.com/cbtrace/cbtrace/internal/model"
)

// errWorkers is the error of a grouping that a request table cannot make.
var errWorkers = errors.New("worker: a saved report does not keep the ranks of single requests: save it with --by worker")

// Ask answers in a document of this aggregate what it was not made for, as a saved report is asked: objectives from distributions, groups from
// the request table (R8.4). Groups of a table that does not hold all requests are those of a sample, and none knows why lookups ended early. The
// aggregate stays as it is. answered is false where all was there.
func (a *Aggregate) Ask(d *Document, slos []SLO, by []By) (answered bool, err error) {
	decision, t := a.decide()
	for _, slo := range slos {
		if slices.ContainsFunc(a.opt.SLOs, func(s SLO) bool { return s.Expr == slo.Expr }) {
			continue
		}
		answered = true
		d.SLO = append(d.SLO, slo.count(t).result(slo.Expr))
	}
	for _, b := range by {
		if slices.Contains(a.opt.By, b) {
			continue
		}
		if b == ByWorker {
			return false, errWorkers
		}
		answered = true
		g := newGrouping(b)
		for q := range a.table.All {
			if decision.Counts(q.Flags) {
				g.add(q.row(a.dict))
			}
		}
		for _, one := range g.document(a.opt.Method) {
			one.Hits.EarlyExits = nil
			d.Groups = append(d.Groups, one)
		}
	}
	return answered, nil
}

// count counts the requests that have the number, and those that keep the bound.
func (s SLO) count(t *tally) sloSum {
	of := &t.latency.Series
	switch s.Metric {
	case "ttft":
		of = &t.ttft.Series
	case "decode_per_token":
		of = &t.perToken.Series
	}
	defer of.Release()
	n := of.N()
	met := sort.Search(int(n), func(i int) bool { return !s.Met(of.Rank(int64(i) + 1)) })
	return sloSum{int64(met), n}
}

// row is the request of a digest as far as groupings read one.
func (d *Digest) row(dict *model.Dict) *model.Row {
	r := &model.Row{
		Flags: d.Flags, Window: d.Window, TTFT: d.TTFT, PromptTokens: d.PromptTokens, Model: dict.Str(d.Model), Instance: dict.Str(d.Instance),
		Hits: model.RowHits{Requested: d.Requested, Hit: d.Hit, Prefix: d.Prefix, Segmented: d.Segmented, NonPrefix: d.NonPrefix, L1Tokens: d.L1Tokens, L2Tokens: d.L2Tokens,
			L1Keys: d.L1Keys, L2Keys: d.L2Keys, Written: d.Written, Class: d.HitClass},
	}
	if d.Hit.OK && d.Written.OK { // R7.10
		r.Hits.Shortfall = model.Some(d.Hit.V - d.Written.V)
	}
	return r
}
