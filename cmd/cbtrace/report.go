package main

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render"
)

func newReport(a *app) *cobra.Command {
	var in captureFlags
	var out outputFlags
	var all bool
	method, per := choice{"nearest", []string{"nearest", "linear"}}, choice{"span", []string{"span", "request"}}
	cmd := &cobra.Command{
		Use:   "report [INPUT…]",
		Short: "all requests: times, critical path, lookups, hits, findings",
		Long: "Reads captures and reports on all of their requests: latency and time to first token, where the time went by stage and by cause, " +
			"what the cache was worth, what went wrong, and how far the numbers can be trusted.",
		Example: `  cbtrace report traces/                              a folder of exported traces
  cbtrace report --since -2h day.jsonl.gz             its last two hours
  cbtrace report --format json traces/ -o day.json    for machines (cbtrace schema report)`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.open(cmd.Context(), &in, args, false, false)
			if err != nil {
				return err
			}
			defer c.Close()
			opt := report.Options{All: all}
			if per.value == "request" {
				opt.Per = report.PerRequest
			}
			if method.value == "linear" {
				opt.Method = report.Linear
			}
			d, err := c.Report(cmd.Context(), opt)
			if err != nil {
				return err
			}
			if d.Requests.Total == 0 {
				return noRequest(c)
			}
			if !all && !known(d) {
				a.note("no stage of the vocabulary in this capture: every trace counts as a request")
			}
			return a.print(out.path, func(w io.Writer) error {
				if out.format.value == "table" {
					return render.Report(d).Text(w, a.width())
				}
				return writeJSON(w, out.format.value, []*report.Document{d})
			})
		},
	}
	in.register(cmd)
	group(cmd, "Statistics", func(s *pflag.FlagSet) {
		s.BoolVar(&all, "all", false, "requests without a stage of the vocabulary too")
		s.Var(&per, "per", "what a value of a stage's percentiles is: a span, or the time that its spans cover in a request")
		s.Var(&method, "quantile-method", "how percentiles are taken: nearest rank, or linear between ranks")
	})
	out.register(cmd, "table", "json", "jsonl")
	return cmd
}

// known reports whether a report has a stage of the vocabulary.
func known(d *report.Document) bool {
	for i := range d.Stages {
		if model.StageOf(d.Stages[i].Stage) != model.StageNone {
			return true
		}
	}
	return false
}
