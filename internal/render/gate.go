package render

import (
	"fmt"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Gate is a gate as a page: the verdict, a row per result in the order of the budget, and what is to be said of those that did not pass.
func Gate(d *budget.Document) *Page {
	p := &Page{}
	p.Say(gateHeadline(d))
	p.Table(gateTable(d))
	for _, n := range d.Notes {
		p.Say(Escape(n) + ".")
	}
	if worst := d.Worst(); len(worst) > 0 {
		p.Title("What to look at")
		for _, r := range worst {
			p.Item(verdictOf(r) + ": " + Escape(r.Message) + exemplars(r))
		}
	}
	return p
}

func gateHeadline(d *budget.Document) string {
	n := map[string]int64{}
	for i := range d.Results {
		n[d.Results[i].Verdict]++
	}
	s := strings.ToUpper(d.Verdict[:1]) + d.Verdict[1:] + ": " + Plural(int64(len(d.Results)), "result")
	var parts []string
	for _, v := range []struct{ verdict, words string }{{budget.Fail, "broken"}, {budget.Insufficient, "without enough evidence"}, {budget.Warn, "near or over"}, {budget.Pass, "passed"}} {
		if n[v.verdict] > 0 {
			parts = append(parts, Count(n[v.verdict])+" "+v.words)
		}
	}
	if len(parts) > 0 {
		s += ", " + strings.Join(parts, ", ")
	}
	s += fmt.Sprintf("; %s held against %s", Plural(d.Requests, "request"), Escape(d.Budget))
	if len(d.Baselines) > 0 {
		s += fmt.Sprintf(", %s", Plural(int64(len(d.Baselines)), "baseline"))
	}
	return s + "."
}

// verdictOf is the verdict of a result; one that does not decide the run says so.
func verdictOf(r *budget.Result) string {
	if !r.Counts() && r.Verdict != budget.Pass && r.Verdict != budget.Warn {
		return r.Verdict + " (level warn)"
	}
	return r.Verdict
}

// verdictTone is how a verdict is shown.
func verdictTone(r *budget.Result) Tone {
	switch {
	case r.Verdict == budget.Pass:
		return Good
	case r.Verdict == budget.Fail && r.Counts():
		return Bad
	}
	return Warn
}

func exemplars(r *budget.Result) string {
	if len(r.Exemplars) == 0 {
		return "."
	}
	return "; " + exemplarsAre(r) + " " + Escape(strings.Join(r.Exemplars, ", ")) + "."
}

// exemplarsAre says what the requests are that a result names: of a rule on how many there are no request is an example.
func exemplarsAre(r *budget.Result) string {
	if r.Metric == "requests" {
		return "the longest of them"
	}
	return "for example"
}

func gateTable(d *budget.Document) *Table {
	compared := len(d.Baselines) > 0
	t := &Table{Name: "results", Columns: []Column{{Name: "verdict"}, {Name: "level", Hidden: true}, {Name: "rule", Shrink: true},
		{Name: "value", Page: true}, {Name: "limit", Page: true},
		{Name: "n", Kind: Tally, Drop: 1}, {Name: "95 % bounds", Page: true, Drop: 3}}}
	if compared {
		t.Columns = append(t.Columns, Column{Name: "baseline", Page: true}, Column{Name: "ratio", Page: true, Drop: 2}, Column{Name: "p", Page: true, Drop: 4})
	}
	t.Columns = append(t.Columns, Column{Name: "metric", Hidden: true}, Column{Name: "unit", Hidden: true})
	for _, key := range []string{"value", "bound", "low", "high", "baseline", "ratio", "delta", "delta_low", "delta_high", "p"} { // in the unit of the rule
		t.Columns = append(t.Columns, Column{Key: key, Kind: Ratio, Hidden: true})
	}
	for i := range d.Results {
		r := &d.Results[i]
		low, high := r.Low, r.High
		if r.Baseline.OK {
			low, high = r.DeltaLow, r.DeltaHigh
		}
		bounds := ""
		if low.OK || high.OK {
			bounds = quantity(low, r.Unit) + " … " + quantity(high, r.Unit)
			if r.Baseline.OK {
				bounds = "Δ " + bounds
			}
		}
		cells := []Cell{Word(verdictOf(r)).Toned(verdictTone(r)).InCSV(r.Verdict), Word(r.Level), Word(ruleOf(r)).InCSV(r.Rule),
			Word(quantity(r.Value, r.Unit)), Word(quantity(r.Bound, r.Unit)), Of(r.N), Word(bounds)}
		if compared {
			p := ""
			if r.P.OK {
				p = probability(r.P.V)
			}
			base, times := "", ""
			if r.Baseline.OK {
				base = quantity(r.Baseline, r.Unit)
			}
			if r.Ratio.OK {
				times = Number(r.Ratio.V)
			}
			cells = append(cells, Word(base), Word(times), Word(p))
		}
		cells = append(cells, Word(r.Metric), Word(r.Unit))
		for _, v := range []model.OptFloat{r.Value, r.Bound, r.Low, r.High, r.Baseline, r.Ratio, r.Delta, r.DeltaLow, r.DeltaHigh, r.P} {
			cells = append(cells, KnownFloat(v))
		}
		t.Add(cells...)
	}
	return t
}

// ruleOf is the rule of a result; of a pattern with the metric it came to.
func ruleOf(r *budget.Result) string { return concrete(r.Rule, r.Metric) }

func concrete(rule, metric string) string {
	if head, rest, ok := strings.Cut(rule, " "); ok && strings.Contains(head, "*") {
		return metric + " " + rest
	}
	return rule
}

// quantity is a value of a result in its unit.
func quantity(v model.OptFloat, unit string) string {
	switch {
	case !v.OK:
		return Unknown
	case v.V < 0:
		return "−" + quantity(model.SomeFloat(-v.V), unit)
	case unit == "ns":
		return Duration(int64(v.V))
	case unit == "count":
		return Count(int64(v.V))
	}
	return Number(v.V)
}

// probability is a p-value; the smallest there is comes from 10 000 draws.
func probability(p float64) string {
	if p < 0.0005 {
		return "<0.0005"
	}
	return Number(p)
}

// Explained is how one result was decided, sentence by sentence.
func Explained(d *budget.Document, results []*budget.Result) *Page {
	p := &Page{}
	for _, r := range results {
		p.Title(fmt.Sprintf("%s (%s, line %d of %s)", Escape(r.Rule), verdictOf(r), r.Line, Escape(d.Budget)))
		p.Item("Measured: " + Escape(r.Metric) + ".")
		for _, s := range r.Steps() {
			p.Item(Escape(s))
		}
		p.Say(Escape(r.Message) + exemplars(r))
	}
	for _, n := range d.Notes {
		p.Say(Escape(n) + ".")
	}
	return p
}

// SelfTest is a selftest as a page.
func SelfTest(d *budget.SelfTest) *Page {
	p := &Page{}
	n := map[string]int64{}
	t := &Table{Columns: []Column{{Name: "noticed"}, {Name: "rule", Shrink: true}, {Name: "when", Shrink: true}, {Name: "says", Shrink: true, Drop: 1}}}
	for _, r := range d.Rules {
		noticed := "no"
		switch {
		case r.Verdict == budget.Fail:
			noticed = "yes"
		case r.Change == "":
			noticed = "insufficient"
		}
		n[noticed]++
		t.Add(Word(noticed), Word(concrete(r.Rule, r.Metric)), Word(r.Change), Word(r.Message))
	}
	p.Say(fmt.Sprintf("%s of %s would fail if this capture got worse; %s would not, %s cannot be judged for want of evidence.",
		Count(n["yes"]), Plural(int64(len(d.Rules)), "rule"), Count(n["no"]), Count(n["insufficient"])))
	p.Table(t)
	return p
}
