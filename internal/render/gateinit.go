package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
)

// BudgetFile writes a proposal as a budget file with its comments.
func BudgetFile(w io.Writer, p *budget.Proposal) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Budgets for cbtrace gate, made by cbtrace gate init from %s.\n", Plural(p.Requests, "request"))
	fmt.Fprintf(&b, "# Each limit is what was seen and %s of headroom, rounded. Tighten those that matter, drop those that do not.\n", Percent(p.Headroom))
	b.WriteString("# A rule fails only where the evidence says so with 95 % confidence: cbtrace gate --budget FILE --explain RULE INPUT\n")
	b.WriteString("version: 1\nalpha: 0.05                # of all baseline rules together\nbudgets:\n")
	width := 0
	for _, r := range p.Rules {
		width = max(width, len(r.Rule))
	}
	for _, r := range p.Rules {
		if r.Section != "" {
			fmt.Fprintf(&b, "  # %s\n", r.Section)
		}
		dash := "-"
		if r.Off {
			dash = "# -"
		}
		fmt.Fprintf(&b, "  %s %-*s  # seen: %s\n", dash, width, r.Rule, r.Seen)
	}
	b.WriteString("  # Against saved reports of the main branch (cbtrace report --save; three or more tell noise between runs):\n")
	for _, r := range []string{`{metric: ttft.p95, baseline: {max_ratio: 1.05, min_delta: 5ms}}`, `{stage: "cb.*", metric: p95, baseline: {max_ratio: 1.1, min_delta: 1ms}}`} {
		fmt.Fprintf(&b, "  # - %s\n", r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
