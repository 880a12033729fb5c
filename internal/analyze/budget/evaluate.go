package budget

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/stats"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A Subject is a capture or a saved report as it is held against a budget, or compared with as a baseline.
type Subject struct {
	Name     string
	Figures  *report.Figures
	Analysis report.Analysis
	// Selected are the figures of selections that were made while a capture was read. Those of a saved report come from its request table.
	Selected map[Selection]*report.Figures
}

// An Input is all that a budget is evaluated with.
type Input struct {
	Current   *Subject
	Baselines []*Subject
	Nearest   Nearest
	Jobs      int // goroutines; 0: one per processor. The answer does not depend on it.
}

// A task is one result to be: a rule and one metric of it.
type task struct {
	rule    *Rule
	current *population
	before  []*population
	m       *measurement // of the current population; of a baseline rule without its figures
	change  *change      // what selftest did to it; nil: nothing

	result     Result
	comparison *comparison // of a baseline rule that is not insufficient
}

// Evaluate decides every rule of a budget that is not off. An error says that the budget does not fit the capture: a *Problem for each rule that
// names something nobody knows.
func (b *Budget) Evaluate(in *Input) (*Document, error) {
	tasks, err := b.tasks(in)
	if err != nil {
		return nil, err
	}
	decide(tasks, b.Alpha, in.Jobs)
	return b.document(in, tasks), nil
}

func (b *Budget) document(in *Input, tasks []*task) *Document {
	doc := &Document{
		Schema: Schema, Verdict: Pass, Alpha: b.Alpha, Results: []Result{}, Budget: b.File, Requests: in.Current.Figures.Requests.Total,
		Baselines: []BaselineInfo{}, Notes: []string{},
	}
	for _, s := range in.Baselines {
		doc.Baselines = append(doc.Baselines, BaselineInfo{s.Name, s.Figures.Requests.Total})
	}
	order := []string{Pass, Warn, Insufficient, Fail}
	family := 0
	for _, t := range tasks {
		if t.comparison != nil && t.rule.Level == LevelError {
			family++
		}
		v := t.result.Verdict
		if !t.result.Counts() && v != Pass {
			v = Warn
		}
		if slices.Index(order, v) > slices.Index(order, doc.Verdict) {
			doc.Verdict = v
		}
		doc.Results = append(doc.Results, t.result)
	}
	subjects := append([]*Subject{in.Current}, in.Baselines...)
	for _, s := range subjects {
		if n := s.Figures.Table.Repeated(s.Figures.Counting); n > 0 {
			doc.Notes = append(doc.Notes, fmt.Sprintf("%s: at least %s in two shards, counted in each of them: counts and totals are too high by that, and percentiles, shares and "+
				"their bounds take such a request for several", s.Name, finding.Counted(n, "request")))
		}
	}
	doc.Notes = append(doc.Notes, noiseNotes(tasks)...)
	if b.Alpha/float64(max(family, 1)) < 1.0/(stats.BlockDraws+1) {
		doc.Notes = append(doc.Notes, fmt.Sprintf("%s share an alpha of %s: none can fail, since p is at least 1/%d; compare fewer", finding.Counted(family, "baseline result"), digits(b.Alpha), stats.BlockDraws+1))
	}
	for _, s := range subjects {
		if kept := int64(s.Figures.Table.Len()); kept < s.Figures.Table.Total {
			doc.Notes = append(doc.Notes, fmt.Sprintf("%s: bounds, comparisons and filters are of %d of %d requests", s.Name, kept, s.Figures.Table.Total))
		}
	}
	return doc
}

// noiseNotes say of which metrics nothing tells how runs differ, and how many baselines have requests enough for them (R9.3).
func noiseNotes(tasks []*task) (notes []string) {
	type few struct{ usable, given, least int }
	metrics := map[few][]string{}
	var order []few
	for _, t := range tasks {
		if c := t.comparison; c != nil && c.pooled {
			f := few{c.usable, c.given, t.m.least()}
			if c.given < enoughBaselines { // however large they are
				f = few{given: c.given}
			}
			if metrics[f] == nil {
				order = append(order, f)
			}
			if !slices.Contains(metrics[f], t.result.Metric) {
				metrics[f] = append(metrics[f], t.result.Metric)
			}
		}
	}
	for _, f := range order {
		with := fmt.Sprintf("with %d or more the spread between runs enters the test", enoughBaselines)
		if f.given < enoughBaselines {
			notes = append(notes, fmt.Sprintf("%s: run-to-run noise unknown; %s", finding.Counted(f.given, "baseline"), with))
			continue
		}
		names := metrics[f]
		if more := len(names) - exemplars; more > 0 {
			names = append(names[:exemplars:exemplars], fmt.Sprintf("%d more", more))
		}
		notes = append(notes, fmt.Sprintf("%s: run-to-run noise unknown, since only %d of %d baselines have the %d requests that it takes; %s", strings.Join(names, ", "), f.usable, f.given, f.least, with))
	}
	return notes
}

// tasks measures what the rules ask for.
func (b *Budget) tasks(in *Input) ([]*task, error) {
	type wanted struct {
		rule   *Rule
		metric metric
	}
	var all []wanted
	var errs []error
	for i := range b.Rules {
		r := &b.Rules[i]
		if r.Level == LevelOff {
			continue
		}
		metrics, bad := expand(r.metric, in)
		if bad != nil {
			errs = append(errs, &Problem{b.File, r.Line, 1, bad.message(in.Nearest)})
		}
		for _, m := range metrics {
			all = append(all, wanted{r, m})
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	asked := map[Selection][]metric{} // by any rule, and by baseline rules
	compared := map[Selection][]metric{}
	var selections []Selection
	for _, w := range all {
		s := w.rule.Select
		if asked[s] == nil {
			selections = append(selections, s)
		}
		asked[s] = append(asked[s], w.metric)
		if w.metric.stat == over { // its exemplars are those with the largest values
			asked[s] = append(asked[s], metric{of: w.metric.of, stat: percentile})
		}
		if w.rule.Baseline() {
			compared[s] = append(compared[s], w.metric)
		}
	}
	current, before := map[Selection]*population{}, map[Selection][]*population{}
	for _, s := range selections {
		var err error
		if current[s], err = in.Current.population(&filter{s, b.exprs[s.Where]}, asked[s]); err != nil {
			return nil, b.cannot(s, err)
		}
		for _, base := range in.Baselines {
			if len(compared[s]) > 0 {
				p, err := base.population(&filter{s, b.exprs[s.Where]}, compared[s])
				if err != nil {
					return nil, b.cannot(s, err)
				}
				before[s] = append(before[s], p)
			}
		}
	}
	tasks := make([]*task, len(all))
	for i, w := range all {
		t := &task{rule: w.rule, current: current[w.rule.Select], before: before[w.rule.Select]}
		t.m = t.current.measure(w.metric)
		tasks[i] = t
	}
	return tasks, nil
}

// cannot is the error of a selection that a request table cannot make.
func (b *Budget) cannot(s Selection, err error) error {
	for i := range b.Rules {
		if b.Rules[i].Select == s {
			return &Problem{b.File, b.Rules[i].Line, 1, "where: " + err.Error()}
		}
	}
	return err
}

// population is the requests of a selection, with the columns of some metrics.
func (s *Subject) population(f *filter, metrics []metric) (*population, error) {
	p := &population{figures: s.Figures}
	if f.Selection == (Selection{}) {
		p.table = tableOf(p.figures, nil, metrics, false)
		return p, nil
	}
	if p.figures = s.Selected[f.Selection]; p.figures != nil {
		p.table = tableOf(p.figures, nil, metrics, false)
		return p, nil
	}
	match, err := f.digests(s.Figures.Dict)
	if err != nil {
		return nil, err
	}
	p.table = tableOf(s.Figures, match, metrics, true)
	return p, nil
}

// expand lists the metrics that a rule stands for: of a pattern one per stage of the capture, by name (R9.1). A stage that neither vocabulary nor
// capture has is a mistake (R9.4).
func expand(m metric, in *Input) ([]metric, *unknown) {
	if m.of != ofStage {
		return []metric{m}, nil
	}
	names := stageNames()
	for _, s := range append([]*Subject{in.Current}, in.Baselines...) {
		for _, row := range s.Figures.Stages {
			names = append(names, row.Stage)
		}
	}
	if !m.pattern() {
		if !slices.Contains(names, m.stage) {
			for _, l := range latencies {
				names = append(names, l.name)
			}
			return nil, &unknown{"stage", m.stage, names}
		}
		return []metric{m}, nil
	}
	var out []metric
	for _, row := range in.Current.Figures.Stages {
		one := m
		one.stage = row.Stage
		for o := model.Engine; o <= model.Server; o++ {
			if o.String() == row.Owner {
				one.owner = o
			}
		}
		if row.Spans == 0 || row.Class == model.Point.String() || row.Class == model.Breakdown.String() || !glob(m.stage, row.Stage) ||
			m.owner != model.OwnerNone && m.owner != one.owner {
			continue
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b metric) int { return cmp.Or(strings.Compare(a.stage, b.stage), cmp.Compare(a.owner, b.owner)) })
	switch {
	case len(out) > 0:
		return out, nil
	case slices.ContainsFunc(names, func(name string) bool { return glob(m.stage, name) }):
		return []metric{m}, nil // known, but none here
	}
	return nil, &unknown{"stage", m.stage, nil}
}

// decide gives every task its result. Each is a function of its task alone until Holm's procedure, which takes them in their order.
func decide(tasks []*task, alpha float64, jobs int) {
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	for _, t := range tasks { // a series sorts when it is first asked
		if t.m.series != nil {
			t.m.series.Quantile(500)
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(jobs, len(tasks)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(tasks)); i = next.Add(1) - 1 {
				tasks[i].measured()
			}
		})
	}
	wg.Wait()
	var p []float64
	for _, t := range tasks {
		if t.comparison != nil && t.rule.Level == LevelError {
			p = append(p, t.comparison.p)
		}
	}
	steps := stats.Holm(p, alpha)
	at := 0
	for _, t := range tasks {
		switch {
		case t.comparison == nil:
		case t.rule.Level == LevelError:
			t.compared(steps[at], len(p))
			at++
		default: // a warning is told one by one
			t.compared(stats.Step{Limit: alpha, Rejected: t.comparison.p <= alpha}, 1)
		}
	}
}

// measured begins the result of a task and, for an absolute rule, decides it.
func (t *task) measured() {
	m := t.m
	t.result = Result{
		Rule: t.rule.Text, Metric: m.name(), Level: t.rule.Level.String(), N: m.n, Exemplars: []string{}, Unit: m.unit().String(), Line: t.rule.Line,
	}
	if t.rule.Baseline() {
		t.compare()
	} else {
		t.absolute()
	}
}
