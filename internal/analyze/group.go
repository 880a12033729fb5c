package analyze

import (
	"context"
	"errors"

	"github.com/cbtrace/cbtrace/internal/analyze/clock"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/store"
)

// A Grouping takes the records of a capture request by request, as they were read: neither cleaned nor linked. What its functions are given is
// good until they return.
type Grouping struct {
	Start   func(*model.Dict, []model.InputStats) error // first of all, once everything was read
	Request func(*model.Request) error                  // in the order of the hash of its id, the same for any number of workers and partitions
	Process func(*model.Span) error                     // records of no request (R4.5, R4.6), in no particular order
}

// Group reads a capture, finds the request of every record (4a) and goes no further: what cut needs (R2.6).
func Group(ctx context.Context, read Read, opt Options, g Grouping) (c *Capture, err error) {
	d := model.NewDict()
	c = &Capture{Dict: d, opt: opt, Table: clock.NewSurvey(d).Finish(clock.Options{})}
	c.store = store.New(d, store.Config{Memory: opt.Memory, TempDir: opt.TempDir, KeyMode: opt.Key, Jobs: opt.jobs()})
	defer func() { err = errors.Join(err, c.Close()) }()
	if c.Inputs, err = read(ctx, d, func() Sink { return c.store.Writer() }); err != nil {
		return c, err
	}
	if c.Summary, err = c.store.Identify(ctx); err != nil {
		return c, err
	}
	if err := g.Start(d, c.Inputs); err != nil {
		return c, err
	}
	for i := range c.store.Partitions() {
		if err := c.store.Read(ctx, i, g.Request); err != nil {
			return c, err
		}
	}
	return c, c.store.ReadProcess(ctx, g.Process)
}
