package analyze

import (
	"context"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/store"
)

// Aggregates analyses every selected request once, and adds up the rows of all of them, first, and then those of each filter.
func (c *Capture) Aggregates(ctx context.Context, opt report.Options, filters []Filter) ([]*report.Aggregate, error) {
	return c.aggregates(ctx, opt, filters, false)
}

// The values of series take the eighth part of the memory, 8 bytes each at most, before they go to disk; fewestValues they may be however little it is.
const (
	valuePart    = 8
	valueSize    = 8
	fewestValues = 1 << 16
)

func (c *Capture) aggregates(ctx context.Context, opt report.Options, filters []Filter, putAway bool) ([]*report.Aggregate, error) {
	spool := model.NewSpool(func() (model.SpoolFile, error) { return store.TempFile(c.opt.TempDir) })
	held := max(c.store.Memory()/valuePart/valueSize/int64(c.opt.jobs()), fewestValues)
	since, until, some := c.Interval()
	opt.Since, opt.Until = since, until
	last, many := c.hashes.Last()
	workers := make([][]*report.Aggregate, c.opt.jobs())
	err := c.rows(ctx, func(w int) func(*analyzer, *model.Row) error {
		all := make([]*report.Aggregate, 1+len(filters))
		for i := range all {
			all[i] = report.New(c.Dict, opt)
		}
		if many && !some && c.opt.Where == nil { // every request that was surveyed is added to one of these
			all[0].Table().Within(last)
		}
		if putAway {
			all[0].PutAway(spool, int(held))
		}
		workers[w] = all
		return func(a *analyzer, row *model.Row) error {
			all[0].Add(row)
			all[0].Relieve()
			for i, f := range filters {
				if f.Match(a.req, row) {
					all[i+1].Add(row)
				}
			}
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	whole := workers[0]
	for i := range whole {
		for _, w := range workers[1:] {
			whole[i].Merge(w[i])
		}
		if c.known.Load() {
			whole[i].Know()
		}
	}
	return whole, nil
}
