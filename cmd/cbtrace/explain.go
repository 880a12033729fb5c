package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/render"
)

func newExplain(a *app) *cobra.Command {
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "explain [CODE]",
		Short: "what a finding means, how it is detected, what to do",
		Long:  "Says what a finding means, how it is detected and what to do about it. A code may be cut short; without one all findings are listed.",
		Example: `  cbtrace explain late_poll
  cbtrace explain double_start_load_kv     all kinds of it
  cbtrace explain                          every finding in a line`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("want one code, have %d", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			docs, err := explained(strings.Join(args, ""))
			if err != nil {
				return err
			}
			return show(a, &out, render.Explain(docs), docs)
		},
	}
	out.register(cmd, "findings")
	return cmd
}

// explained are the findings of a code: that one, else all whose code begins so.
func explained(code string) ([]render.Explanation, error) {
	if n, ok := finding.ByCode(code); ok {
		return []render.Explanation{render.ExplanationOf(n)}, nil
	}
	var docs []render.Explanation
	var codes []string
	for n := range finding.Registry {
		codes = append(codes, finding.Registry[n].Code)
		if strings.HasPrefix(codes[n], code) {
			docs = append(docs, render.ExplanationOf(n))
		}
	}
	if len(docs) > 0 {
		return docs, nil
	}
	hint := "; cbtrace explain lists all"
	if near := nearest(code, codes); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return nil, usagef("no finding %q%s", code, hint)
}
