package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render"
	"github.com/cbtrace/cbtrace/internal/render/export"
)

// exportFlags are those of export.
type exportFlags struct {
	to, weight, per choice
	owner           bool
	request         string
	all, diff       bool
}

func newExport(a *app) *cobra.Command {
	var in captureFlags
	var path string
	f := exportFlags{
		to:     choice{"", []string{"folded"}},
		weight: choice{"self", []string{"self", "critical"}},
		per:    choice{"capture", []string{"capture", "request"}},
	}
	cmd := &cobra.Command{
		Use:   "export --to FORMAT [INPUT…]",
		Short: "requests in the formats of other tools",
		Long: "Writes requests for other tools. folded: stacks of spans with the ns that each took, for flamegraph.pl, inferno and speedscope. Weighted by self time they add up to the " +
			"time that was spent, by critical to what requests waited. Characters that such files have no way to write are written as %XX.",
		Example: `  cbtrace export --to folded traces/ | inferno-flamegraph > spent.svg
                                          where time is spent
  cbtrace export --to folded --weight critical traces/ | flamegraph.pl > waits.svg
                                          what requests wait for
  cbtrace export --to folded --request chatcmpl-7f3a -o one.folded traces/
                                          one request, for speedscope
  cbtrace export --to folded --owner --per request traces/
                                          by request and kind of process
  cbtrace export --to folded --diff main/ pr/ | flamegraph.pl > slower.svg
                                          what is slower in pr: as wide as it is there, red where it is more
  cbtrace export --to folded --diff pr/ main/ | flamegraph.pl --negate > before.svg
                                          the other way, with what is gone: as wide as it was in main`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.to.value == "" {
				return usagef("export needs --to: want one of %s", "folded")
			}
			if f.diff {
				return a.foldedDiff(cmd, &in, &f, args, path)
			}
			c, err := a.open(cmd.Context(), &in, args, viewing{id: cmp.Or(f.request, in.where.id())})
			if err != nil {
				return err
			}
			defer c.Close()
			return a.print(path, func(w io.Writer) error { return a.folded(cmd, c, &in, &f, w) })
		},
	}
	group(cmd, "Export", func(s *pflag.FlagSet) {
		s.Var(&f.to, "to", "the format")
		s.Var(&f.weight, "weight", "what counts: the self time of every span, or its time on the critical path")
		s.Var(&f.per, "per", "stacks of all requests added up, or those of each with its id as the first frame")
		s.BoolVar(&f.owner, "owner", false, "the kind of process that spent the time as the frame before all spans: engine, scheduler, worker, server, other")
		s.StringVar(&f.request, "request", "", "only the request of this `ID`, as inspect takes it")
		s.BoolVar(&f.diff, "diff", false, "the stacks of two inputs beside one another, with the ns of each: the first scaled to as many requests as the second has")
		s.BoolVar(&f.all, "all", false, "requests without a stage of the vocabulary too")
	})
	in.register(cmd)
	group(cmd, "Output", func(s *pflag.FlagSet) {
		s.StringVarP(&path, "output", "o", "", "write to `FILE`, which is whole or not there")
	})
	return cmd
}

// options say what a stack is.
func (f *exportFlags) options() export.Options {
	opt := export.Options{Owner: f.owner}
	if f.weight.value == "critical" {
		opt.Weight = export.Critical
	}
	return opt
}

// folded writes folded stacks.
func (a *app) folded(cmd *cobra.Command, c *analyze.Capture, in *captureFlags, f *exportFlags, w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	err := a.fold(cmd, c, in, f, func(ctx context.Context, c *analyze.Capture, opt export.Options, chosen func(*model.Row) bool) (int64, error) {
		if f.per.value == "request" {
			return foldedEach(ctx, c, opt, chosen, b)
		}
		sum, n, err := foldedSum(ctx, c, opt, chosen)
		if err != nil {
			return 0, err
		}
		return n, sum.Write(b, "")
	})
	if err != nil {
		return err
	}
	return b.Flush()
}

// foldedDiff writes the folded stacks of two captures beside one another.
func (a *app) foldedDiff(cmd *cobra.Command, in *captureFlags, f *exportFlags, args []string, path string) error {
	switch {
	case len(args) != 2:
		return usagef("--diff: want two inputs to compare, have %d", len(args))
	case f.per.value == "request":
		return usagef("--diff compares sums: --per request is not to be had with it")
	}
	if err := a.spareAll(args); err != nil {
		return err
	}
	var parts [2]export.Part
	for i, arg := range args {
		if a.isSaved(arg) {
			return usagef("%s is a saved report, which has no spans: want a capture", arg)
		}
		c, err := a.open(cmd.Context(), in, args[i:i+1], viewing{})
		if err != nil {
			return err
		}
		err = a.fold(cmd, c, in, f, func(ctx context.Context, c *analyze.Capture, opt export.Options, chosen func(*model.Row) bool) (n int64, err error) {
			parts[i].Folded, n, err = foldedSum(ctx, c, opt, chosen)
			parts[i].Requests = n
			return n, err
		})
		if err == nil && parts[i].Requests == 0 {
			err = fmt.Errorf("%s: no request counts", arg)
		}
		if err := errors.Join(err, c.Close()); err != nil {
			return err
		}
	}
	if before, after := parts[0].Requests, parts[1].Requests; before != after {
		a.note("%s of %s scaled to the %s of %s", render.Plural(before, "request"), args[0], render.Count(after), args[1])
	}
	return a.print(path, func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		return errors.Join(export.WriteDiff(b, parts[0], parts[1]), b.Flush())
	})
}

// fold takes the requests that are chosen through a function, which returns how many those were.
func (a *app) fold(cmd *cobra.Command, c *analyze.Capture, in *captureFlags, f *exportFlags,
	fold func(context.Context, *analyze.Capture, export.Options, func(*model.Row) bool) (int64, error)) error {
	ctx, opt := cmd.Context(), f.options()
	var wanted func(id string) bool
	if f.request != "" {
		found, near, err := c.Find(ctx, f.request)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return notFound(ctx, c, f.request, near)
		case len(found) > 1:
			return usagef("--request: %q fits %d requests; cbtrace inspect %s lists them", f.request, len(found), f.request)
		}
		wanted = func(id string) bool { return id == found[0].ID }
	}
	var left atomic.Int64 // requests without a path that counts
	pass := func(which report.Counting) (int64, error) {
		left.Store(0)
		return fold(ctx, c, opt, func(row *model.Row) bool {
			switch {
			case wanted != nil:
				return wanted(row.ID)
			case !which.Counts(row.Flags):
				return false
			case opt.Weight == export.Critical && !row.Flags.InLatency(): // as the critical path of a report (R8.2)
				left.Add(1)
				return false
			}
			return true
		})
	}
	asked := f.all || f.request != "" || in.where.id() != ""
	n, err := pass(report.Counting{Asked: asked, Known: true})
	if which := c.Counting(asked); err == nil && which.Alone() && c.Others() > 0 { // now that all were seen
		a.alone(which)
		n, err = pass(which)
	}
	switch {
	case errors.Is(err, export.ErrManyStacks):
		return fmt.Errorf("%w: select requests with --where, or take --per request", err)
	case err != nil:
		return err
	case n == 0 && left.Load() == 0:
		return noneOf(ctx, c, &in.where)
	}
	if n := left.Load(); n > 0 {
		a.note("left out: %s without a recorded root, or cut off by the ends of the capture", render.Plural(n, "request"))
	}
	return nil
}

// foldedSum is the stacks of all requests that are chosen added up, and how many those were.
func foldedSum(ctx context.Context, c *analyze.Capture, opt export.Options, chosen func(*model.Row) bool) (*export.Folded, int64, error) {
	var sums []*export.Folded
	var n atomic.Int64
	err := c.Each(ctx, func(int) func(*model.Request, *model.Row) error {
		sum := export.NewFolded(c.Dict, opt)
		sums = append(sums, sum)
		return func(r *model.Request, row *model.Row) error {
			if !chosen(row) {
				return nil
			}
			n.Add(1)
			return sum.Add(r)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	for _, s := range sums[1:] {
		if err := sums[0].Merge(s); err != nil {
			return nil, 0, err
		}
	}
	return sums[0], n.Load(), nil
}

// foldedEach writes the stacks of each request that is chosen, in an order that is always the same, and returns how many those were.
func foldedEach(ctx context.Context, c *analyze.Capture, opt export.Options, chosen func(*model.Row) bool, w *bufio.Writer) (n int64, err error) {
	type lines struct {
		text []byte
		err  error
	}
	err = analyze.Stream(ctx, c, func(int) func(*model.Request, *model.Row) (lines, bool) {
		one := export.NewFolded(c.Dict, opt)
		var b bytes.Buffer
		return func(r *model.Request, row *model.Row) (lines, bool) {
			if !chosen(row) {
				return lines{}, false
			}
			one.Reset()
			b.Reset()
			out := bufio.NewWriter(&b)
			err := errors.Join(one.Add(r), one.Write(out, row.ID), out.Flush())
			return lines{bytes.Clone(b.Bytes()), err}, true
		}
	}, func(l lines) error {
		n++
		_, err := w.Write(l.text)
		return errors.Join(l.err, err)
	})
	return n, err
}
