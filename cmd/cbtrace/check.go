package main

import (
	"github.com/spf13/cobra"

	"github.com/cbtrace/cbtrace/internal/analyze/check"
)

func newCheck(a *app) *cobra.Command {
	var in captureFlags
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "check [INPUT…]",
		Short: "what is wrong with the capture, what is missing, which switch brings it",
		Long: "Judges the capture rather than its requests: files that cannot be used, broken and missing records, clocks that contradict each other; what is missing for one trace per request, " +
			"and which flag or variable of vLLM or LMCache would bring it. The verdict is clean or notes (exit status 0), or bad (3).",
		Example: `  cbtrace check traces/                              before the numbers are believed
  cbtrace check --format json traces/ | jq -r .verdict`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if reports, _ := a.splitSaved(args); len(reports) > 0 {
				return usagef("%s is a saved report: check wants the capture it was made of; what was wrong with that stands at the end of cbtrace report %s", reports[0], reports[0])
			}
			c, err := a.capture(cmd.Context(), &in, args, viewing{})
			if err != nil {
				return err
			}
			defer c.Close()
			d, err := c.Check(cmd.Context())
			if err != nil {
				return err
			}
			if d.Requests == 0 && c.Others() == 0 && c.Facts().Analysed.N > 0 { // what is wrong is the selection, not the capture
				if err := a.judge(c, &in); err != nil {
					return err
				}
				return noneOf(cmd.Context(), c, &in.where)
			}
			a.verdict = checkStatus(d.Verdict)
			return show(a, &out, a.view(args).Check(d), []*check.Document{d})
		},
	}
	in.register(cmd)
	for _, name := range []string{"strict", "keep-going"} { // what they decide is what this is about
		cmd.Flags().Lookup(name).Hidden = true
	}
	out.register(cmd, "inputs")
	return cmd
}
