package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cbtrace/cbtrace/internal/analyze"
	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
)

// holdAgainst says where requests of a capture stand among those of other inputs, which may be what they were taken from. All requests of those count:
// what selects the ones to show selects none of them.
func (a *app) holdAgainst(cmd *cobra.Command, in *captureFlags, c *analyze.Capture, docs []*inspect.Document, args, inputs []string) error {
	quiet := a.quiet
	a.quiet = quiet || slices.Equal(args, inputs) // what there is to say of them has been said
	day, err := a.readAgainst(cmd, in, inputs)
	a.quiet = quiet
	if err != nil {
		return fmt.Errorf("--against: %w", err)
	}
	here := c.Facts().Analysis
	here.Where = ""
	var other []string
	for _, d := range here.Differences(day.Analysis) {
		other = append(other, fmt.Sprintf("%s %s here, there %s", d.Option, d.A, d.B))
	}
	if text := strings.Join(other, "; "); text != "" && in.strict {
		return fmt.Errorf("--strict: another configuration: %s", text)
	} else if text != "" {
		a.note("another configuration: %s", text)
	}
	for _, d := range docs {
		d.Hold(day.Figures, inputs)
	}
	return nil
}

// readAgainst reads the requests that others are held against.
func (a *app) readAgainst(cmd *cobra.Command, in *captureFlags, inputs []string) (*budget.Subject, error) {
	if reports, rest := a.splitSaved(inputs); len(reports) > 0 {
		if err := oneKind(reports, rest); err != nil {
			return nil, err
		}
		sum, _, err := a.mergeSaved(reports)
		if err != nil {
			return nil, err
		}
		if sum.Aggregate.Requests() == 0 {
			return nil, noSavedRequest(reports, sum)
		}
		return budget.Saved(strings.Join(reports, ", "), sum), a.judgeSaved(sum, in.strict)
	}
	whole := *in
	whole.since, whole.until, whole.where, whole.survey, whole.surveyOut = instant{}, instant{}, filter{}, nil, ""
	c, err := a.open(cmd.Context(), &whole, inputs, viewing{})
	if err != nil {
		return nil, err
	}
	s, err := budget.Read(cmd.Context(), c, nil)
	if err == nil && s.Figures.Requests.Total == 0 {
		err = noRequest(c)
	}
	return s, errors.Join(err, c.Close())
}
