package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render"
	"github.com/cbtrace/cbtrace/internal/render/export"
)

// exportFlags are those of export.
type exportFlags struct {
	to, weight, per choice
	owner           bool
	request         string
	all             bool
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
                                          by request and kind of process`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.to.value == "" {
				return usagef("export needs --to: want one of %s", "folded")
			}
			c, err := a.open(cmd.Context(), &in, args, viewing{})
			if err != nil {
				return err
			}
			defer c.Close()
			return a.print(path, func(w io.Writer) error { return a.folded(cmd, c, &f, w) })
		},
	}
	group(cmd, "Export", func(s *pflag.FlagSet) {
		s.Var(&f.to, "to", "the format")
		s.Var(&f.weight, "weight", "what counts: the self time of every span, or its time on the critical path")
		s.Var(&f.per, "per", "stacks of all requests added up, or those of each with its id as the first frame")
		s.BoolVar(&f.owner, "owner", false, "the kind of process that spent the time as the frame before all spans: engine, scheduler, worker, server, other")
		s.StringVar(&f.request, "request", "", "only the request of this `ID`, as inspect takes it")
		s.BoolVar(&f.all, "all", false, "requests without a stage of the vocabulary too")
	})
	in.register(cmd)
	group(cmd, "Output", func(s *pflag.FlagSet) {
		s.StringVarP(&path, "output", "o", "", "write to `FILE`, which is whole or not there")
	})
	return cmd
}

// folded writes folded stacks.
func (a *app) folded(cmd *cobra.Command, c *analyze.Capture, f *exportFlags, w io.Writer) error {
	ctx := cmd.Context()
	opt := export.Options{Owner: f.owner}
	if f.weight.value == "critical" {
		opt.Weight = export.Critical
	}
	var wanted func(id string) bool
	if f.request != "" {
		found, near, err := c.Find(ctx, f.request)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return notFound(c, f.request, near)
		case len(found) > 1:
			return usagef("--request: %q fits %d requests; cbtrace inspect %s lists them", f.request, len(found), f.request)
		}
		wanted = func(id string) bool { return id == found[0].ID }
	}
	b := bufio.NewWriterSize(w, 1<<16)
	var left atomic.Int64 // requests without a path that counts
	for _, all := range []bool{f.all || wanted != nil, true} {
		left.Store(0)
		chosen := func(row *model.Row) bool {
			switch {
			case wanted != nil:
				return wanted(row.ID)
			case !all && row.Flags&model.RowVocabulary == 0:
				return false
			case opt.Weight == export.Critical && !row.Flags.InLatency(): // as the critical path of a report (R8.2)
				left.Add(1)
				return false
			}
			return true
		}
		fold := foldedSum
		if f.per.value == "request" {
			fold = foldedEach
		}
		n, err := fold(ctx, c, opt, chosen, b)
		switch {
		case errors.Is(err, export.ErrManyStacks):
			return fmt.Errorf("%w: select requests with --where, or take --per request", err)
		case err != nil:
			return err
		case n == 0 && left.Load() == 0 && !all:
			continue // nothing of the vocabulary: all that there is (R4.4)
		case n == 0 && left.Load() == 0:
			return noRequest(c)
		}
		if n := left.Load(); n > 0 {
			a.note("left out: %s without a recorded root, or cut off by the ends of the capture", render.Plural(n, "request"))
		}
		break
	}
	return b.Flush()
}

// foldedSum writes the stacks of all requests that are chosen added up, and returns how many those were.
func foldedSum(ctx context.Context, c *analyze.Capture, opt export.Options, chosen func(*model.Row) bool, w *bufio.Writer) (int64, error) {
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
		return 0, err
	}
	for _, s := range sums[1:] {
		if err := sums[0].Merge(s); err != nil {
			return 0, err
		}
	}
	return n.Load(), sums[0].Write(w, "")
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
