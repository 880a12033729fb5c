package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/render"
)

func newGateInit(a *app) *cobra.Command {
	var in captureFlags
	var path string
	slos, headroom := slos{}, share(budget.DefaultHeadroom)
	cmd := &cobra.Command{
		Use:   "init [INPUT…]",
		Short: "a budget file from what a capture shows",
		Long:  "Prints a budget file: what a capture shows with some headroom, rounded and with comments, the time to first token first.",
		Example: `  cbtrace gate init traces/ -o budget.yaml
  cbtrace gate init --slo 'ttft<=800ms' --headroom 10% traces/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.subject(cmd, &in, args, nil)
			if err != nil {
				return err
			}
			p, err := budget.Propose(s, slos, float64(headroom))
			if err != nil {
				return err
			}
			return a.print(path, func(w io.Writer) error { return render.BudgetFile(w, p) })
		},
	}
	group(cmd, "Budgets", func(s *pflag.FlagSet) {
		s.Var(&slos, "slo", "a rule on the requests that miss an objective, as 'ttft<=800ms'; several")
		s.Var(&headroom, "headroom", "how far limits lie beyond what was seen")
	})
	in.register(cmd)
	group(cmd, "Output", func(s *pflag.FlagSet) {
		s.StringVarP(&path, "output", "o", "", "write to `FILE`, which is whole or not there")
	})
	return cmd
}

// slos is a flag with an objective, that may be given several times.
type slos []report.SLO

func (s *slos) String() string { return "" }
func (s *slos) Type() string   { return "objective" }
func (s *slos) Set(text string) error {
	slo, err := report.ParseSLO(text)
	if err != nil {
		return err
	}
	*s = append(*s, slo)
	return nil
}

// A share is a flag such as 20% or 0.2.
type share float64

func (s *share) String() string { return strconv.FormatFloat(float64(*s)*100, 'g', -1, 64) + "%" }
func (s *share) Type() string   { return "share" }
func (s *share) Set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v < 1) {
		return fmt.Errorf("want a share such as 20%% or 0.2")
	}
	*s = share(v)
	return nil
}
