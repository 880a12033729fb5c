package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/render"
)

func newDiff(a *app) *cobra.Command {
	var in captureFlags
	var out outputFlags
	var fail bool
	var requests []string
	cmd := &cobra.Command{
		Use:   "diff A [B]",
		Short: "what is different in a second capture, stage by stage",
		Long: "Compares two captures or saved reports: times, stages, lookups, hits and findings, each with its interval and a verdict, sorted by what " +
			"they contribute to the change. A difference is told only where it is more than chance. " + savedSelection,
		Example: `  cbtrace diff main/ pr/                     two folders of traces
  cbtrace diff --fail main.cbr pr/           exit 1 when something is different
  cbtrace diff main.cbr pr.cbr --table metrics   every metric
  cbtrace diff traces/ --request chatcmpl-7f3a --request chatcmpl-93ab   two requests, span by span`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(requests) > 2:
				return fmt.Errorf("--request: want two requests to compare, have %d", len(requests))
			case len(args) == 2, len(args) == 1 && len(requests) == 2:
				return nil
			}
			return fmt.Errorf("want two inputs to compare, have %d", len(args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.spareAll(args); err != nil {
				return err
			}
			if len(requests) > 0 {
				return a.diffRequests(cmd.Context(), &in, &out, args, requests, fail)
			}
			var sides [2]*budget.Subject
			for i, arg := range args {
				s, err := a.subject(cmd, &in, []string{arg}, nil)
				if err != nil {
					return err
				}
				s.Name = arg
				sides[i] = s
			}
			input := budget.Input{Current: sides[1], Baselines: sides[:1]}
			if err := a.mismatches(&input, in.strict); err != nil {
				return err
			}
			d, err := budget.Compare(sides[0], sides[1], in.jobs)
			if err != nil {
				return err
			}
			if fail && d.Changed {
				a.verdict = exitBroken
			}
			return show(a, &out, render.Diff(d), []*budget.Diff{d})
		},
	}
	group(cmd, "Diff", func(s *pflag.FlagSet) {
		s.StringArrayVar(&requests, "request", nil, "compare the request with this `ID`, span by span; given twice, one of A with one of B, or two of A; not as JSON")
		s.BoolVar(&fail, "fail", false, "exit 1 when something is better or worse, or a stage appeared or vanished")
	})
	in.register(cmd)
	out.register(cmd, "metrics")
	return cmd
}

// diffRequests prints two requests beside each other. There is no JSON of it yet.
func (a *app) diffRequests(ctx context.Context, in *captureFlags, out *outputFlags, args, ids []string, fail bool) error {
	if format := out.format.value; format == "json" || format == "jsonl" {
		return usagef("diff --request has no %s yet: want table, csv or markdown; cbtrace inspect --format json gives each request", format)
	}
	var docs [2]*inspect.Document
	for i := range docs {
		d, err := a.request(ctx, in, args[min(i, len(args)-1)], ids[min(i, len(ids)-1)])
		if err != nil {
			return err
		}
		docs[i] = d
	}
	if fail && docs[0].Window.DurationNS != docs[1].Window.DurationNS {
		a.verdict = exitBroken
	}
	return show[any](a, out, render.DiffRequests(docs[0], docs[1]), nil)
}

// request is the one request of an input that an id names.
func (a *app) request(ctx context.Context, in *captureFlags, input, id string) (*inspect.Document, error) {
	if a.isSaved(input) {
		return nil, usagef("%s is a saved report, which has no spans: want a capture", input)
	}
	c, err := a.open(ctx, in, []string{input}, viewing{whole: true})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ids, _, err := a.chosen(ctx, c, &finder{}, &in.where, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", input, err)
	}
	docs, err := c.Inspect(ctx, ids, false)
	if err != nil {
		return nil, err
	}
	return docs[0], nil
}
