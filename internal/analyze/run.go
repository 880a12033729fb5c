package analyze

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/analyze/clock"
	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/store"
)

// Options say how a capture is read and worked on (R3.2).
type Options struct {
	Memory  int64  // bytes of records held before partitions go to disk; 0: the store's default
	TempDir string // where they go; "": the system's
	Input   int64  // bytes of the inputs on disk, as far as known: more partitions for more
	Jobs    int    // goroutines; 0: one per processor
	Key     store.KeyMode

	NoSkew       bool
	KeepShutdown bool
	Deadline     time.Duration // 0: finding.DefaultDeadline
	Since, Until When          // select requests by window start
	Where        Filter        // select requests by what they are; nil: all

	Surveys   []io.Reader // tables to use instead of surveying (R2.2); what has a Name, as files have, is called by it in errors
	SurveyOut io.Writer   // where the table goes
	Saved     bool        // a report of it will be saved: it says which survey table it was made with (R2.6)
	Picked    bool        // only what some requests need is read, and with Sampled a sample of the others (R5.7)
	Sampled   bool
}

// A Filter selects requests (package where). Any number of goroutines may ask it.
type Filter interface {
	Match(*model.Request, *model.Row) bool
	String() string // two filters with one text select the same
}

// analysis are the options that saved reports must have in common to be added up.
func (o *Options) analysis() report.Analysis {
	a := report.Analysis{Key: o.Key.String(), NoSkew: o.NoSkew, KeepShutdown: o.KeepShutdown, Deadline: cmp.Or(o.Deadline, finding.DefaultDeadline)}
	if o.Where != nil {
		a.Where = o.Where.String()
	}
	return a
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
	Survey  string // whole, given, sampled; SurveyKind is what a report says

	opt        Options
	store      *store.Store
	surveyHash uint64                         // XXH64 of the table, where it is wanted
	analysed   struct{ n, sum atomic.Uint64 } // requests, and the sum of the hashes of their ids, as clock.Requests
	met        []atomic.Bool                  // clocks that are in a request together with another one
	known      atomic.Bool                    // requests that were analysed have a stage of the vocabulary, be they selected or not
	others     atomic.Int64                   // of those that are selected, how many have none
	sought     sought
	hashes     model.Smallest // of the ids of all requests, where there was a survey: more than a request table holds
}

// Open reads an input, finds the request of every record and surveys all requests. A given survey table takes the place of the survey.
func Open(ctx context.Context, read Read, opt Options) (c *Capture, err error) {
	d := model.NewDict()
	c = &Capture{Dict: d, opt: opt, Survey: "whole"}
	if opt.Sampled {
		c.Survey = report.SurveySampled
	}
	c.store = store.New(d, store.Config{Memory: opt.Memory, Input: opt.Input, TempDir: opt.TempDir, KeyMode: opt.Key, Jobs: opt.jobs(), Bare: clock.Needs})
	defer func() {
		if err != nil {
			c.Close()
			c = nil
		}
	}()
	given, err := c.given()
	if err != nil {
		return
	}
	if c.Inputs, err = read(ctx, d, func() Sink { return c.store.Writer() }); err != nil {
		return
	}
	if c.Summary, err = c.store.Identify(ctx); err != nil {
		return
	}
	return c, c.survey(ctx, given)
}

// Close removes what the capture holds on disk.
func (c *Capture) Close() error { return c.store.Close() }

// Spilled says what went to disk: partitions, bytes, folder.
func (c *Capture) Spilled() (partitions int, bytes int64, dir string) { return c.store.Spilled() }

// Leftovers are folders that dead runs left behind and that were removed.
func (c *Capture) Leftovers() []store.Leftover { return c.store.Leftovers() }

// given reads the tables that take the place of a survey, nil for none. It comes first: they say how lines are read (R4.12).
func (c *Capture) given() (*clock.Survey, error) {
	if len(c.opt.Surveys) == 0 {
		return nil, nil
	}
	c.Survey = "given"
	whole := clock.NewSurvey(c.Dict)
	for _, f := range c.opt.Surveys {
		s, err := clock.Read(f, c.Dict)
		if named, ok := f.(interface{ Name() string }); ok && err != nil {
			err = fmt.Errorf("%s: %w", named.Name(), err)
		}
		if err != nil {
			return nil, err
		}
		whole.Merge(s)
	}
	c.Dict.Plans = whole.Plans()
	return whole, nil
}

// survey makes the table of clocks and facts from all requests (4b, 5), unless it was given.
func (c *Capture) survey(ctx context.Context, whole *clock.Survey) error {
	if whole == nil {
		surveys, hashes := make([]*clock.Survey, c.opt.jobs()), make([]model.Smallest, c.opt.jobs())
		err := c.eachPartition(ctx, func(worker int) func(context.Context, int) error {
			var b model.Builder
			s, h := clock.NewSurvey(c.Dict), &hashes[worker]
			surveys[worker], h.N = s, report.MaxDigests+report.MaxDigests/16
			add := func(g *model.Request, whole bool) (enough bool, err error) {
				parts := b.Clean(g)
				if b.Repeated() && !whole { // what is a copy follows from attributes (R4.8)
					return false, nil
				}
				for _, r := range parts {
					s.Add(r)
					h.Add(hashOf(r.ID))
				}
				return true, nil
			}
			return func(ctx context.Context, i int) error { return c.store.ReadBare(ctx, i, add) }
		})
		if err != nil {
			return err
		}
		whole, c.hashes = surveys[0], hashes[0]
		for i, s := range surveys[1:] {
			whole.Merge(s)
			c.hashes.Merge(&hashes[i+1])
		}
		whole.AddFiles()
	}
	if c.opt.Saved || c.opt.SurveyOut != nil {
		h := xxhash.New()
		out := io.Writer(h)
		if c.opt.SurveyOut != nil {
			out = io.MultiWriter(h, c.opt.SurveyOut)
		}
		if err := whole.Write(out); err != nil {
			return err
		}
		c.surveyHash = h.Sum64()
	}
	c.Table = whole.Finish(clock.Options{NoSkew: c.opt.NoSkew})
	c.met = make([]atomic.Bool, c.Dict.NumProcs())
	return nil
}

// meet notes the clocks of a request that has several.
func (c *Capture) meet(r *model.Request) {
	if len(r.Aligned) < 2 || !slices.ContainsFunc(r.Aligned, func(a model.Alignment) bool { return int(a.Clock) < len(c.met) && !c.met[a.Clock].Load() }) {
		return
	}
	first := -1
	for _, s := range r.Spans {
		p := int(s.Clock)
		if p >= len(c.met) || s.Has(model.FlagSynthetic|model.FlagUntimed) || s.IsPoint() {
			continue
		}
		switch {
		case first < 0:
			first = p
		case p != first && !(c.met[p].Load() && c.met[first].Load()):
			c.met[p].Store(true)
			c.met[first].Store(true)
		}
	}
}

// SurveyKind says what the clocks come from: a table that was made from these very requests is a survey of the whole, wherever it was kept.
func (c *Capture) SurveyKind() string {
	if !c.opt.Sampled && (c.Table.Requests() == clock.Requests{N: c.analysed.n.Load(), Sum: c.analysed.sum.Load()}) {
		return "whole"
	}
	return c.Survey
}

// partitions gives every grouped request of the capture to one of the workers, partition by partition. start is called once per worker, before any work.
func (c *Capture) partitions(ctx context.Context, start func(worker int) func(*model.Request) error) error {
	return c.eachPartition(ctx, func(worker int) func(context.Context, int) error {
		fn := start(worker)
		return func(ctx context.Context, i int) error { return c.store.Read(ctx, i, fn) }
	})
}

// eachPartition gives the partitions to workers, in their order. start is called once per worker, before any work.
func (c *Capture) eachPartition(ctx context.Context, start func(worker int) func(ctx context.Context, i int) error) error {
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
				if err := fn(ctx, i); err != nil {
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
	return Between(c.opt.Since, c.opt.Until, last)
}

// rows analyses every request that is selected and gives its row to the worker's function. The row is good until the function returns.
func (c *Capture) rows(ctx context.Context, start func(worker int) func(*analyzer, *model.Row) error) error {
	return c.rowsOf(ctx, nil, func(worker int) (func(*model.Request) bool, func(*analyzer, *model.Row) error) {
		return nil, start(worker)
	})
}

// rowsOf is rows of the requests that a worker's wanted asks for, which are cleaned and no more, with the calls that were found for them through hashes.
func (c *Capture) rowsOf(ctx context.Context, found map[string]*chunkSet, start func(worker int) (wanted func(*model.Request) bool, fn func(*analyzer, *model.Row) error)) error {
	return c.judgedOf(ctx, found, func(worker int) (func(*model.Request) bool, func(*analyzer, *model.Row, selection) error) {
		wanted, fn := start(worker)
		return wanted, onlySelected(fn)
	})
}

// judgedOf is rowsOf with the requests that are not selected among the others.
func (c *Capture) judgedOf(ctx context.Context, found map[string]*chunkSet, start func(worker int) (wanted func(*model.Request) bool, fn func(*analyzer, *model.Row, selection) error)) error {
	c.begin()
	return c.partitions(ctx, func(worker int) func(*model.Request) error {
		read := c.judged(start(worker))
		return func(g *model.Request) error {
			found[g.ID].with(g)
			return read(g)
		}
	})
}

// begin begins to count what is analysed.
func (c *Capture) begin() {
	c.analysed.n.Store(0)
	c.analysed.sum.Store(0)
	c.others.Store(0)
}

// Counting says which requests count, once all were analysed; asked is whether those without a stage of the vocabulary were asked for (R4.4).
func (c *Capture) Counting(asked bool) report.Counting {
	return report.Counting{Asked: asked, Known: c.known.Load()}
}

// Others is how many of the requests that were analysed last and are selected have no stage of the vocabulary (R4.4).
func (c *Capture) Others() int64 { return c.others.Load() }

// A selection says whether a request is selected, and what leaves it out.
type selection uint8

const (
	selected  selection = iota
	otherTime           // Since or Until: it starts at another time
	otherwise           // Where: it is not so
)

func onlySelected(fn func(*analyzer, *model.Row) error) func(*analyzer, *model.Row, selection) error {
	return func(a *analyzer, row *model.Row, s selection) error {
		if s != selected {
			return nil
		}
		return fn(a, row)
	}
}

// selected analyses the requests of one worker that are wanted (nil: all) and gives the rows of those that are selected to fn.
func (c *Capture) selected(wanted func(*model.Request) bool, fn func(*analyzer, *model.Row) error) func(*model.Request) error {
	return c.judged(wanted, onlySelected(fn))
}

// judged is selected with the requests that are not selected among the others.
func (c *Capture) judged(wanted func(*model.Request) bool, fn func(*analyzer, *model.Row, selection) error) func(*model.Request) error {
	since, until, _ := c.Interval()
	a := newAnalyzer(c.Table, &c.opt)
	return func(g *model.Request) error {
		for _, r := range a.builder.Clean(g) {
			if wanted != nil && !wanted(r) {
				continue
			}
			row := a.analyse(r)
			c.analysed.n.Add(1)
			c.analysed.sum.Add(row.Hash)
			c.meet(r)
			s := selected
			switch {
			case row.Start < since || row.Start >= until:
				s = otherTime
			case c.opt.Where != nil && !c.opt.Where.Match(r, row):
				s = otherwise
			}
			switch {
			case !row.Flags.Known() && s == selected:
				c.others.Add(1)
			case row.Flags.Known() && !c.known.Load():
				c.known.Store(true)
			}
			if err := fn(a, row, s); err != nil {
				return err
			}
		}
		return nil
	}
}
