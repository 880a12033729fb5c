package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render"
)

// gateFlags are those of gate.
type gateFlags struct {
	budget         string
	baselines      []string
	onInsufficient choice
	junit          string
	markdown       string
	github         bool
	explain        string
	selftest       bool
}

func newGate(a *app) *cobra.Command {
	var in captureFlags
	var out outputFlags
	f := gateFlags{onInsufficient: choice{"error", []string{"error", "pass", "fail"}}}
	cmd := &cobra.Command{
		Use:   "gate --budget FILE [INPUT…]",
		Short: "the requests held against budgets; the exit status says it",
		Long: "Holds captures or saved reports against the rules of a budget file. A rule with a limit fails only when the evidence says so with 95 % confidence, " +
			"a rule against baselines only when the change is larger than allowed and no chance. Exit status: 0 pass or warn, 1 a budget is broken, 4 not enough evidence. " + savedSelection,
		Example: `  cbtrace gate init traces/ > budget.yaml                        budgets from what a capture shows
  cbtrace gate --budget budget.yaml traces/                      hold a capture against them
  cbtrace gate --budget budget.yaml --baseline 'main-*.cbr' pr/  against runs of the main branch too
  cbtrace gate --budget budget.yaml --selftest traces/           would the rules notice?
  cbtrace gate --budget budget.yaml --junit gate.xml --markdown gate.md --github traces/   for CI`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.gate(cmd, &f, &in, &out, args) },
	}
	group(cmd, "Gate", func(s *pflag.FlagSet) {
		s.StringVar(&f.budget, "budget", "", "the budget `FILE` (cbtrace schema gate-budget)")
		s.StringArrayVar(&f.baselines, "baseline", nil, "compare with the saved report `FILE` (report --save); several, or a quoted pattern: from three on the spread between runs counts")
		s.Var(&f.onInsufficient, "on-insufficient", "what not enough evidence means for the exit status: 4, 0 or 1")
		s.StringVar(&f.explain, "explain", "", "say how the rules are decided that `RULE` names: a number, or a part of the text")
		s.BoolVar(&f.selftest, "selftest", false, "make this capture worse for each rule and see whether the rule notices")
	})
	in.register(cmd)
	group(cmd, "For CI", func(s *pflag.FlagSet) {
		s.StringVar(&f.junit, "junit", "", "write JUnit XML to `FILE` too")
		s.StringVar(&f.markdown, "markdown", "", "write a summary in Markdown to `FILE` too")
		s.BoolVar(&f.github, "github", false, "print annotations for GitHub on stderr too")
	})
	out.register(cmd, "results")
	sub := newGateInit(a)
	sub.Flags().SortFlags = false
	cmd.AddCommand(sub)
	return cmd
}

func (a *app) gate(cmd *cobra.Command, f *gateFlags, in *captureFlags, out *outputFlags, args []string) error {
	if f.budget == "" {
		return usagef("gate needs --budget FILE; cbtrace gate init makes one from a capture")
	}
	b, err := a.budget(f.budget)
	if err != nil {
		return err
	}
	if r, needed := b.Baselines(); needed && len(f.baselines) == 0 {
		return usagef("%s:%d: %s: needs --baseline FILE (cbtrace report --save FILE)", f.budget, r.Line, r.Text)
	}
	input := budget.Input{Nearest: nearest, Jobs: in.jobs}
	if input.Baselines, err = a.baselines(f.baselines); err != nil {
		return err
	}
	if input.Current, err = a.subject(cmd, in, args, b); err != nil {
		return err
	}
	if err := a.mismatches(&input, in.strict); err != nil {
		return err
	}
	if f.selftest {
		return a.selftest(b, &input, f, out)
	}
	d, err := b.Evaluate(&input)
	if err != nil {
		return &usageError{err}
	}
	a.verdict = gateStatus(d.Verdict, f.onInsufficient.value)
	return a.printGate(d, f, out)
}

// mismatches says how what is compared with was made otherwise; strict makes that an error.
func (a *app) mismatches(in *budget.Input, strict bool) error {
	other := in.Mismatches()
	if len(other) > 0 && strict {
		return fmt.Errorf("--strict: another configuration: %s", strings.Join(other, "; "))
	}
	for _, text := range other {
		a.note("another configuration: %s", text)
	}
	return nil
}

// budget reads a budget file.
func (a *app) budget(path string) (*budget.Budget, error) {
	file, err := a.openNamed(path)
	if err != nil {
		return nil, usagef("--budget: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, budget.MaxSize+1))
	if err != nil {
		return nil, usagef("--budget: %w", err)
	}
	b, err := budget.Parse(path, text, nearest)
	if err != nil {
		return nil, &usageError{err}
	}
	return b, nil
}

// baselines reads saved reports; a name may be a pattern.
func (a *app) baselines(names []string) (out []*budget.Subject, err error) {
	var paths []string
	for _, name := range names {
		some := []string{name}
		if !exists(name) && strings.ContainsAny(name, "*?[") {
			if some, err = filepath.Glob(name); err != nil {
				return nil, usagef("--baseline %s: %w", name, err)
			}
			if len(some) == 0 {
				return nil, fmt.Errorf("--baseline %s: no file is called so", name)
			}
		}
		paths = append(paths, some...)
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		r, err := a.readSaved(path, model.NewDict())
		if err != nil {
			return nil, fmt.Errorf("--baseline: %w", err)
		}
		out = append(out, budget.Saved(path, r))
	}
	return out, nil
}

// subject reads the inputs that a budget is held against: captures, or saved reports that are added up.
func (a *app) subject(cmd *cobra.Command, f *captureFlags, args []string, b *budget.Budget) (*budget.Subject, error) {
	reports, rest := a.splitSaved(args)
	if len(reports) > 0 {
		if err := errors.Join(oneKind(reports, rest), onlySaved(cmd, reports[0], captureOnly...)); err != nil {
			return nil, err
		}
		sum, _, err := a.mergeSaved(reports)
		if err != nil {
			return nil, err
		}
		if sum.Aggregate.Requests() == 0 {
			return nil, noSavedRequest(reports, sum)
		}
		if sum.Aggregate.Options().Per == report.PerRequest {
			a.note("%s was saved with --per request: so are its percentiles of stages", reports[0])
		}
		a.alone(sum.Aggregate.Counting())
		return budget.Saved(strings.Join(reports, ", "), sum), a.judgeSaved(sum, f.strict)
	}
	c, err := a.open(cmd.Context(), f, args, viewing{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	s, err := budget.Read(cmd.Context(), c, b)
	if err != nil {
		return nil, err
	}
	if s.Figures.Requests.Total == 0 {
		return nil, noneOf(cmd.Context(), c, &f.where)
	}
	a.alone(s.Figures.Counting)
	return s, nil
}

// printGate prints a gate in every form that was asked for.
func (a *app) printGate(d *budget.Document, f *gateFlags, out *outputFlags) error {
	err := a.print(out.path, func(w io.Writer) error {
		switch {
		case f.explain != "":
			chosen := d.Find(f.explain)
			if len(chosen) == 0 {
				return usagef("--explain: no rule is %q: want a number or a part of a rule", f.explain)
			}
			return render.Explained(d, chosen).Text(w, a.style(out.path))
		case out.format.value == "csv" || out.table != "":
			t, err := tableOf(render.Gate(d), out.table)
			if err != nil {
				return err
			}
			return tableAs(w, t, out.format.value, a.style(out.path))
		case out.format.value == "table":
			return render.Gate(d).Text(w, a.style(out.path))
		case out.format.value == "markdown":
			return render.GateMarkdown(w, d)
		}
		return writeJSON(w, out.format.value, []*budget.Document{d})
	})
	insufficient := f.onInsufficient.value
	if f.junit != "" {
		err = errors.Join(err, a.print(f.junit, func(w io.Writer) error { return render.JUnit(w, d, insufficient) }))
	}
	if f.markdown != "" {
		err = errors.Join(err, a.print(f.markdown, func(w io.Writer) error { return render.GateMarkdown(w, d) }))
	}
	if f.github {
		err = errors.Join(err, render.GitHub(a.stderr, d, insufficient))
	}
	return err
}

// selftest prints which rules would notice.
func (a *app) selftest(b *budget.Budget, input *budget.Input, f *gateFlags, out *outputFlags) error {
	d, err := b.SelfTest(input)
	if err != nil {
		return &usageError{err}
	}
	a.verdict = gateStatus(d.Verdict, f.onInsufficient.value)
	return a.print(out.path, func(w io.Writer) error {
		switch out.format.value {
		case "table":
			return render.SelfTest(d).Text(w, a.style(out.path))
		case "markdown", "csv":
			return usagef("--selftest has no %s: want table, json or jsonl", out.format.value)
		}
		return writeJSON(w, out.format.value, []*budget.SelfTest{d})
	})
}
