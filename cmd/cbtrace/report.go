package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/saved"
	"github.com/cbtrace/cbtrace/internal/render"
)

func newReport(a *app) *cobra.Command {
	var in captureFlags
	var out outputFlags
	var all bool
	var save string
	var slos slos
	var by groupings
	var bucket bucket
	sort := choice{render.StageOrders[0], render.StageOrders}
	method, per := choice{"nearest", []string{"nearest", "linear"}}, choice{"span", []string{"span", "request"}}
	cmd := &cobra.Command{
		Use:   "report [INPUT…]",
		Short: "all requests: times, critical path, lookups, hits, findings",
		Long: "Reads captures and reports on all of their requests: latency and time to first token, where the time went by stage and by cause, " +
			"what the cache was worth, what went wrong, and how far the numbers can be trusted. " + savedSelection,
		Example: `  cbtrace report traces/                              a folder of exported traces
  cbtrace report --since -2h day.jsonl.gz             its last two hours
  cbtrace report --where '{ span.hit_rate < 0.3 }' traces/
                                                      requests for which the cache had little
  cbtrace report --slo 'ttft<=800ms' --by prompt_tokens traces/
                                                      who keeps an objective, long and short prompts apart
  cbtrace report --bucket 10m --table trend traces/   how it went on
  cbtrace report --bucket day week/*.cbr              saved reports of a week, and since when it has been so
  cbtrace report --format json traces/ -o day.json    for machines (cbtrace schema report)
  cbtrace report --save day.cbr traces/               saved, for merge and gate
  cbtrace report day.cbr                              and printed again`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opt := report.Options{All: all, SLOs: slos, By: by, Bucket: time.Duration(bucket)}
			if per.value == "request" {
				opt.Per = report.PerRequest
			}
			if method.value == "linear" {
				opt.Method = report.Linear
			}
			made, err := a.makeReport(cmd, &in, args, opt)
			if _, missing := errors.AsType[*missingError](err); missing && save != "" {
				return a.saveEmpty(made, save, in.keepGoing, err)
			}
			if err != nil {
				return err
			}
			d := made.Document()
			answered, err := made.Aggregate.Ask(d, slos, by)
			if err != nil {
				return usagef("--by %w", err)
			}
			if err := made.Aggregate.Err(); err != nil {
				return err
			}
			if answered && save != "" {
				return usagef("--slo and --by cannot be added to what is saved: save the capture with them")
			}
			if kept, of := int64(made.Table().Len()), made.Table().Total; answered && len(by) > 0 && kept < of {
				a.note("groups are of %s of %s: a saved report keeps a sample", render.Count(kept), render.Plural(of, "request"))
			}
			a.alone(made.Aggregate.Counting())
			if save != "" {
				if err := a.print(save, made.Write); err != nil {
					return err
				}
			}
			view := a.view(args)
			view.Sort, view.Trend, view.Repeated = sort.value, bucket > 0, made.Table().Repeated(made.Aggregate.Counting())
			if view.Trend {
				view.Since = budget.TrendOf(made.Figures())
			}
			return show(a, &out, view.Report(d), []*report.Document{d})
		},
	}
	in.register(cmd)
	group(cmd, "Statistics", func(s *pflag.FlagSet) {
		s.BoolVar(&all, "all", false, "requests without a stage of the vocabulary too")
		s.Var(&slos, "slo", "the share of requests that keep a bound on ttft, latency or decode_per_token, as 'ttft<=800ms'; several")
		s.Var(&by, "by", "a row for each model, instance, hit_class, worker or prompt_tokens (in powers of two); several, parted by commas")
		s.Var(&bucket, "bucket", "a row for each stretch of time of this length: "+bucketLengths)
		s.Var(&sort, "sort", "the order of stages, largest first: by time on the path, by a column, or by name")
		s.Var(&per, "per", "what a value of a stage's percentiles is: a span, or the time that its spans cover in a request")
		s.Var(&method, "quantile-method", "how percentiles are taken: nearest rank, or linear between ranks")
	})
	out.register(cmd, "stages")
	group(cmd, "Output", func(s *pflag.FlagSet) {
		s.StringVar(&save, "save", "", "save the report to `FILE` too, for merge, diff, gate and report")
	})
	return cmd
}

// saveEmpty saves the report of a shard in which no request lies, so that merge lacks none (R2.6). For report that is still an input without any
// request, unless it was told to go on.
func (a *app) saveEmpty(made *saved.Report, path string, keepGoing bool, why error) error {
	if err := a.print(path, made.Write); err != nil {
		return err
	}
	a.note("saved %s without any request", path)
	if keepGoing {
		a.note("%s", why)
		return nil
	}
	return why
}

// makeReport adds up the requests of captures, or saved reports. With a *missingError there is a report too, without any request.
func (a *app) makeReport(cmd *cobra.Command, in *captureFlags, args []string, opt report.Options) (*saved.Report, error) {
	reports, rest := a.splitSaved(args)
	if len(reports) > 0 {
		if err := errors.Join(oneKind(reports, rest), onlySaved(cmd, reports[0], append(captureOnly, "per")...)); err != nil {
			return nil, err
		}
		sum, _, err := a.mergeSaved(reports)
		if err != nil {
			return nil, err
		}
		was := sum.Aggregate.Options()
		if !cmd.Flags().Changed("quantile-method") {
			opt.Method = was.Method
		}
		sum.Aggregate.Show(opt.Method, opt.All || was.All, opt.Bucket)
		err = a.judgeSaved(sum, in.strict)
		if err == nil && sum.Aggregate.Requests() == 0 {
			err = noSavedRequest(reports, sum)
		}
		return sum, err
	}
	c, err := a.capture(cmd.Context(), in, args, viewing{saved: cmd.Flags().Changed("save")})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	why := a.judge(c, in)
	if _, missing := errors.AsType[*missingError](why); why != nil && !missing {
		return nil, why
	}
	sum, err := c.Aggregate(cmd.Context(), opt)
	if err != nil {
		return nil, err
	}
	if n := sum.Away(); n > 0 {
		a.note("wrote exact values of percentiles (%s) to disk: --memory is less than they take", render.Bytes(n))
	}
	if sum.Requests() == 0 && why == nil {
		why = noneOf(cmd.Context(), c, &in.where)
	}
	return &saved.Report{Dict: c.Dict, Aggregate: sum, Facts: c.Facts()}, why
}
