package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze/recording"
	"github.com/cbtrace/cbtrace/internal/ingest"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render"
)

func newLCT(a *app) *cobra.Command {
	var in captureFlags // what a run may take, of all commands below
	cmd := &cobra.Command{
		Use:   "lct",
		Short: "LMCache recordings (.lct) on their own",
		Long:  "Reads what LMCache's recorder writes: calls of its storage manager, or cache events.",
		Example: `  cbtrace lct info server.lct      what a recording holds
  cbtrace lct info recordings/     a fleet of them`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	in.registerWork(cmd)
	cmd.Flags().VisitAll(cmd.PersistentFlags().AddFlag)
	cmd.AddCommand(newLCTInfo(a, &in))
	return cmd
}

func newLCTInfo(a *app, in *captureFlags) *cobra.Command {
	var out outputFlags
	var each, strict, keepGoing bool
	cmd := &cobra.Command{
		Use:   "info [FILE…]",
		Short: "what recordings hold: header, calls or events, rates, keys",
		Long: "Says what LMCache recordings hold: everything that `lmcache trace info` prints, with rates, the number of different keys (exact up to " +
			"1,048,576, an estimate above that) and what is wrong with them. Of several files it prints a line each and the totals. " +
			"Token ids are never shown.",
		Example: `  cbtrace lct info server.lct                  one recording
  cbtrace lct info recordings/                 all of a folder, other files aside
  cbtrace lct info --each a.lct b.lct          two of them in full
  cbtrace lct info --format json a.lct         for machines (cbtrace schema lct-info)`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := in.check(); err != nil {
				return &usageError{err}
			}
			limitHeap(int64(in.memory))
			set, err := a.inputs(args)
			if err != nil {
				return err
			}
			if err := a.spareInputs(set, ingest.Options{}); err != nil {
				return err
			}
			all, err := set.Recordings(cmd.Context(), ingest.Options{Jobs: in.jobs, Progress: a.progress(set)})
			if err != nil {
				return err
			}
			good, err := a.recordings(all, strict, keepGoing)
			if err != nil {
				return err
			}
			d := recording.Build(good)
			return show(a, &out, render.Recordings(d, each), []*recording.Document{d})
		},
	}
	out.register(cmd, "the first")
	group(cmd, "Output", func(s *pflag.FlagSet) {
		s.BoolVar(&each, "each", false, "of several recordings, show each in full too")
	})
	group(cmd, "Reading", func(s *pflag.FlagSet) {
		s.BoolVar(&strict, "strict", false, "exit 3 when anything of a recording was bad")
		s.BoolVar(&keepGoing, "keep-going", false, "go on when a file that was named cannot be used")
	})
	return cmd
}

// recordings says what was wrong with the inputs and returns those that can be used. What is no recording and was found in a folder is passed over.
func (a *app) recordings(all []*model.Recording, strict, keepGoing bool) (good []*model.Recording, err error) {
	var unusable []error
	bad, foreign := 0, int64(0)
	var used []model.InputStats
	for _, r := range all {
		switch in := &r.Input; {
		case in.Unusable == "":
			good = append(good, r)
			a.problems(in)
			used = append(used, *in)
			if in.Skipped > 0 || in.ErrorCount > 0 || in.Truncated {
				bad++
			}
		case in.Named && !keepGoing:
			unusable = append(unusable, fmt.Errorf("%s: %s", in.Path, in.Unusable))
		case !in.Foreign():
			bad++
			a.note("%s: %s", in.Path, in.Unusable)
		default:
			foreign++
		}
	}
	a.remarks(used)
	if foreign > 0 {
		a.note("no recordings, passed over: %s", render.Plural(foreign, "file"))
	}
	switch {
	case len(unusable) > 0:
		return nil, errors.Join(unusable...)
	case len(good) == 0:
		return nil, fmt.Errorf("no recording in %s", render.Plural(int64(len(all)), "file"))
	case strict && bad > 0:
		return nil, fmt.Errorf("--strict: something was bad in %s", render.Plural(int64(bad), "recording"))
	}
	return good, nil
}
