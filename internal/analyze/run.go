package analyze

import (
	"context"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/clock"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/store"
)

// Options say how a capture is read and worked on (R3.2).
type Options struct {
	Memory  int64  // bytes of records held before partitions go to disk; 0: the store's default
	TempDir string // where they go; "": the system's
	Jobs    int    // goroutines; 0: one per processor
	Key     store.KeyMode

	NoSkew       bool
	KeepShutdown bool
	Deadline     time.Duration // 0: finding.DefaultDeadline
	Since, Until When          // select requests by window start

	Surveys   []io.Reader // tables to use instead of surveying (R2.2)
	SurveyOut io.Writer   // where the table goes
}

func (o *Options) jobs() int {
	if o.Jobs > 0 {
		return o.Jobs
	}
	return runtime.GOMAXPROCS(0)
}

// A Capture is an input that was read, identified and surveyed: the first three phases of DESIGN 2. Close it.
type Capture struct {
	Dict    *model.Dict
	Inputs  []model.InputStats // by path
	Table   *clock.Table
	Summary store.Summary
	Survey  string // whole, given (OUTPUT report: survey)

	opt   Options
	store *store.Store
}

// Open reads an input, finds the request of every record and surveys all requests. A given survey table takes the place of the survey.
func Open(ctx context.Context, read Read, opt Options) (c *Capture, err error) {
	d := model.NewDict()
	c = &Capture{Dict: d, opt: opt, Survey: "whole"}
	c.store = store.New(d, store.Config{Memory: opt.Memory, TempDir: opt.TempDir, KeyMode: opt.Key})
	defer func() {
		if err != nil {
			c.Close()
			c = nil
		}
	}()
	if c.Inputs, err = read(ctx, d, func() Sink { return c.store.Writer() }); err != nil {
		return
	}
	if c.Summary, err = c.store.Identify(ctx); err != nil {
		return
	}
	return c, c.survey(ctx)
}

// Close removes what the capture holds on disk.
func (c *Capture) Close() error { return c.store.Close() }

// Spilled says what went to disk: partitions, bytes, folder.
func (c *Capture) Spilled() (partitions int, bytes int64, dir string) { return c.store.Spilled() }

// Leftovers are folders that dead runs left behind and that were removed.
func (c *Capture) Leftovers() []store.Leftover { return c.store.Leftovers() }

// survey makes the table of clocks and facts from all requests (4b, 5), or takes it from files.
func (c *Capture) survey(ctx context.Context) error {
	var whole *clock.Survey
	if len(c.opt.Surveys) > 0 {
		c.Survey = "given"
		whole = clock.NewSurvey(c.Dict)
		for _, f := range c.opt.Surveys {
			s, err := clock.Read(f, c.Dict)
			if err != nil {
				return err
			}
			whole.Merge(s)
		}
	} else {
		surveys := make([]*clock.Survey, c.opt.jobs())
		err := c.partitions(ctx, func(worker int) func(*model.Request) error {
			var b model.Builder
			s := clock.NewSurvey(c.Dict)
			surveys[worker] = s
			return func(g *model.Request) error {
				for _, r := range b.Clean(g) {
					s.Add(r)
				}
				return nil
			}
		})
		if err != nil {
			return err
		}
		whole = surveys[0]
		for _, s := range surveys[1:] {
			whole.Merge(s)
		}
	}
	if c.opt.SurveyOut != nil {
		if err := whole.Write(c.opt.SurveyOut); err != nil {
			return err
		}
	}
	c.Table = whole.Finish(clock.Options{NoSkew: c.opt.NoSkew})
	return nil
}

// partitions gives every grouped request of the capture to one of the workers, partition by partition. start is called once per worker, before any work.
func (c *Capture) partitions(ctx context.Context, start func(worker int) func(*model.Request) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range c.opt.jobs() {
		fn := start(w)
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= c.store.Partitions() {
					return
				}
				if err := c.store.Read(ctx, i, fn); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// Interval is the interval of window starts that --since and --until select, resolved against the capture's last instant (R3.2).
// ok is false where neither was given.
func (c *Capture) Interval() (since, until model.Time, ok bool) {
	_, last, _ := c.Table.Range()
	since, from := c.opt.Since.resolve(last)
	until, to := c.opt.Until.resolve(last)
	if !to {
		until = 1<<63 - 1
	}
	if !from {
		since = -1 << 63
	}
	return since, until, from || to
}

// rows analyses every request that is selected and gives its row to the worker's function. The row is good until the function returns.
func (c *Capture) rows(ctx context.Context, start func(worker int) func(*analyzer, *model.Row) error) error {
	since, until, _ := c.Interval()
	return c.partitions(ctx, func(worker int) func(*model.Request) error {
		a := newAnalyzer(c.Table, &c.opt)
		fn := start(worker)
		return func(g *model.Request) error {
			for _, r := range a.builder.Clean(g) {
				row := a.analyse(r)
				if row.Start < since || row.Start >= until {
					continue
				}
				if err := fn(a, row); err != nil {
					return err
				}
			}
			return nil
		}
	})
}
