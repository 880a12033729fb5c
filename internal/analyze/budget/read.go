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
	"github.com/cbtrace/cbtrace/internal/analyze/where"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Read makes a subject of a capture: the figures of all its requests, and those of each selection of a budget, which may be nil.
func Read(ctx context.Context, c *analyze.Capture, b *Budget) (*Subject, error) {
	var selections []Selection
	var filters []analyze.Filter
	if b != nil {
		selections = b.Selections()
	}
	for _, s := range selections {
		filters = append(filters, &filter{s, b.exprs[s.Where]})
	}
	all, err := c.Aggregates(ctx, report.Options{}, filters)
	if err != nil {
		return nil, err
	}
	facts := c.Facts()
	s := &Subject{Name: "this capture", Figures: all[0].Figures(facts), Analysis: facts.Analysis, Selected: map[Selection]*report.Figures{}}
	for i, sel := range selections {
		s.Selected[sel] = all[0].FiguresOf(all[i+1], facts)
	}
	return s, nil
}

// Saved makes a subject of a saved report.
func Saved(name string, r *saved.Report) *Subject {
	return &Subject{Name: name, Figures: r.Figures(), Analysis: r.Facts.Analysis}
}

// A filter keeps the requests of a selection.
type filter struct {
	Selection
	expr *where.Expr // nil: any
}

func (f *filter) Match(r *model.Request, row *model.Row) bool {
	return (f.Model == "" || glob(f.Model, row.Model)) && (f.expr == nil || f.expr.Match(r, row))
}

func (f *filter) String() string { return f.Model + " " + f.Where }

// digests is the filter over a request table; the error says that the table cannot answer (R9.5).
func (f *filter) digests(dict *model.Dict) (func(*report.Digest) bool, error) {
	if f.expr != nil {
		if err := f.expr.Saved(); err != nil {
			return nil, err
		}
	}
	return func(d *report.Digest) bool {
		if f.Model != "" && !glob(f.Model, dict.Str(d.Model)) {
			return false
		}
		if f.expr == nil {
			return true
		}
		ok, _ := f.expr.MatchDigest(dict, d) // it can: see Saved
		return ok
	}, nil
}

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

// models are those of the requests that count, by name.
func models(f *report.Figures) []string {
	seen := map[model.StrID]bool{}
	for d := range f.Table.All {
		if f.Counts(d.Flags) {
			seen[d.Model] = true
		}
	}
	names := map[string]bool{}
	for id := range seen {
		names[f.Dict.Str(id)] = true
	}
	return slices.Sorted(maps.Keys(names))
}
