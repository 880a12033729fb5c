package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
)

func newMerge(a *app) *cobra.Command {
	var in captureFlags // saved reports take little of what these allow
	var out outputFlags
	var save string
	cmd := &cobra.Command{
		Use:   "merge A.cbr B.cbr…",
		Short: "saved reports added up",
		Long: "Adds saved reports up and prints the report of all, or saves it. Shards by request that were made with one survey table add up to the report of the whole, to the byte. " +
			"Of other shards, by file or by hour, everything that lies in one shard is exact; what is not is said.",
		Example: `  cbtrace merge mon.cbr tue.cbr wed.cbr            the report of three days
  cbtrace merge --save week.cbr mon.cbr tue.cbr    saved as one
  ls shard-*.cbr | xargs cbtrace merge --format json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("merge needs saved reports (cbtrace report --save FILE)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := in.check(); err != nil {
				return &usageError{err}
			}
			limitHeap(int64(in.memory))
			sum, shards, err := a.mergeSaved(args)
			if err != nil {
				return err
			}
			empty := sum.Aggregate.Requests() == 0
			if empty && save == "" {
				return noSavedRequest(args, sum)
			}
			if save != "" {
				if err := a.print(save, sum.Write); err != nil {
					return err
				}
				if empty {
					a.note("saved %s without any request", save)
					return nil
				}
				if !cmd.Flags().Changed("format") && out.path == "" {
					return nil
				}
			}
			a.alone(sum.Aggregate.Counting())
			d := sum.Merged(shards)
			view := a.view(args)
			return show(a, &out, view.Merge(d), []*report.MergeDocument{d})
		},
	}
	in.registerWork(cmd)
	cmd.Flags().Lookup("memory").Usage = "what the run may take; saved reports need little, and nothing of them goes to disk"
	out.register(cmd, "stages")
	group(cmd, "Output", func(s *pflag.FlagSet) {
		s.StringVar(&save, "save", "", "save the merged report to `FILE` instead of printing it")
	})
	return cmd
}
