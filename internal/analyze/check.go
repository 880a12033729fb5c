package analyze

import (
	"context"

	"github.com/cbtrace/cbtrace/internal/analyze/check"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Check judges the capture by all requests that are selected.
func (c *Capture) Check(ctx context.Context) (*check.Document, error) {
	type worker struct {
		sum   *report.Aggregate
		tally check.Tally
	}
	workers := make([]worker, c.opt.jobs())
	var opt report.Options
	opt.Since, opt.Until, _ = c.Interval()
	err := c.rows(ctx, func(w int) func(*analyzer, *model.Row) error {
		mine := &workers[w]
		mine.sum = report.New(c.Dict, opt)
		return func(a *analyzer, row *model.Row) error {
			mine.sum.Add(row)
			mine.tally.Add(a.req, row)
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	whole := &workers[0]
	for i := range workers[1:] {
		whole.sum.Merge(workers[i+1].sum)
		whole.tally.Merge(&workers[i+1].tally)
	}
	if c.known.Load() {
		whole.sum.Know()
	}
	return check.Build(&check.Subject{Inputs: c.Inputs, Dict: c.Dict, Report: whole.sum.Document(c.Facts()), Requests: &whole.tally}), nil
}
