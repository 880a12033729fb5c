package budget

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/saved"
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
	s := &Subject{Name: "this capture", Figures: all[0].Figures(facts), Analysis: facts.Analysis, Selected: map[Selection]*report.Figures{}}
	for i, sel := range selections {
		s.Selected[sel] = all[i+1].Figures(facts)
	}
	return s, nil
}

// Saved makes a subject of a saved report.
func Saved(name string, r *saved.Report) *Subject {
	return &Subject{Name: name, Figures: r.Figures(), Analysis: r.Facts.Analysis}
}

// A filter keeps the requests of a selection.
type filter struct{ Selection }

func (f *filter) Match(_ *model.Request, row *model.Row) bool {
	return f.Model == "" || glob(f.Model, row.Model)
}

func (f *filter) String() string { return f.Model }

// Mismatches are the ways in which a baseline was not made as this capture was, in words: with other options, or of other models.
func (in *Input) Mismatches() (out []string) {
	here := models(in.Current.Figures)
	for _, b := range in.Baselines {
		for _, d := range in.Current.Analysis.Differences(b.Analysis) {
			out = append(out, fmt.Sprintf("%s was made with %s %s, this with %s", b.Name, d.Option, said(d.B), said(d.A)))
		}
		if there := models(b.Figures); !slices.Equal(here, there) {
			out = append(out, fmt.Sprintf("%s is of %s, this of %s", b.Name, strings.Join(there, ", "), strings.Join(here, ", ")))
		}
	}
	return out
}

func said(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// models are those of the requests, by name.
func models(f *report.Figures) []string {
	seen := map[model.StrID]bool{}
	for d := range f.Table.All {
		seen[d.Model] = true
	}
	names := map[string]bool{}
	for id := range seen {
		names[f.Dict.Str(id)] = true
	}
	return slices.Sorted(maps.Keys(names))
}
