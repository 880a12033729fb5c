package budget

import (
	"context"
	"strconv"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Read makes a subject of a capture: the figures of all its requests, and those of each selection.
func Read(ctx context.Context, c *analyze.Capture, selections []Selection) (*Subject, error) {
	filters := make([]analyze.Filter, len(selections))
	for i, s := range selections {
		filters[i] = &filter{s}
	}
	all, err := c.Aggregates(ctx, report.Options{}, filters)
	if err != nil {
		return nil, err
	}
	facts := c.Facts()
	s := &Subject{Name: "this capture", Figures: all[0].Figures(facts), Selected: map[Selection]*report.Figures{}}
	for i, sel := range selections {
		s.Selected[sel] = all[i+1].Figures(facts)
	}
	return s, nil
}

// A filter keeps the requests of a selection.
type filter struct{ Selection }

func (f *filter) Match(_ *model.Request, row *model.Row) bool {
	return f.Model == "" || glob(f.Model, row.Model)
}

func (f *filter) String() string { return f.Model }

// Find is the results that a text names: the rule of a number, from 1 in the order of the results, else those with the text in rule or metric.
func (d *Document) Find(text string) (out []*Result) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(d.Results) {
		return []*Result{&d.Results[n-1]}
	}
	for i := range d.Results {
		if r := &d.Results[i]; strings.Contains(r.Rule, text) || strings.Contains(r.Metric, text) {
			out = append(out, r)
		}
	}
	return out
}
