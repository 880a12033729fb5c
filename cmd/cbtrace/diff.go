package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/render"
)

func newDiff(a *app) *cobra.Command {
	var in captureFlags
	var out outputFlags
	var fail bool
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "what is different in a second capture, stage by stage",
		Long: "Compares two captures or saved reports: times, stages, lookups, hits and findings, each with its interval and a verdict, sorted by what " +
			"they contribute to the change. A difference is told only where it is more than chance.",
		Example: `  cbtrace diff main/ pr/                     two folders of traces
  cbtrace diff --fail main.cbr pr/           exit 1 when something is different
  cbtrace diff main.cbr pr.cbr --table metrics   every metric`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("want two inputs to compare, have %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
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
		s.BoolVar(&fail, "fail", false, "exit 1 when something is better or worse, or a stage appeared or vanished")
	})
	in.register(cmd)
	out.register(cmd, "table", "json", "jsonl", "csv", "markdown")
	return cmd
}
