package render

import (
	"fmt"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
)

// Diff is a diff as a page: what became better or worse and which stages did it.
func Diff(d *budget.Diff) *Page {
	p := &Page{Main: "metrics"}
	p.Say(diffHeadline(d))
	if d.Mix.ExplainedNS.OK {
		p.Say(fmt.Sprintf("The mix of hit class and prompt length differs: it explains %s of the %s of the mean.", Signed(d.Mix.ExplainedNS.V), signedDelta(d.Find(d.Leading+".mean"))))
	}
	p.Title("Where the change comes from")
	t := &Table{Name: "contributions", Columns: []Column{{Name: "stage", Shrink: true}, {Name: "contribution", Page: true}, {Name: "a", Page: true}, {Name: "b", Page: true},
		{Name: "contribution", Kind: Time, Hidden: true}, {Name: "a", Kind: Time, Hidden: true}, {Name: "b", Kind: Time, Hidden: true}, {Name: "verdict"}}}
	for i := range d.Metrics {
		m := &d.Metrics[i]
		if m.ContributionNS.OK && (m.ContributionNS.V != 0 || m.Verdict != budget.NoSign) && len(t.Rows) < contributionsShown {
			t.Add(Word(stageOfMetric(m)), Word(Signed(m.ContributionNS.V)), Word(quantity(m.A, m.Unit)), Word(quantity(m.B, m.Unit)),
				Known(m.ContributionNS), KnownFloat(m.A), KnownFloat(m.B), Word(m.Verdict))
		}
	}
	p.Table(t)
	if len(t.Rows) > 0 {
		p.Say("Contributions are changes of the mean time of a stage on the path" + map[bool]string{true: " to the first token", false: ""}[d.Leading == "ttft"] +
			"; over all stages they sum to the change of the mean. a and b are the mean over the whole window.")
	}
	p.Title("Better or worse")
	changed := diffTable("changed", Ratio)
	all := diffTable("metrics", Ratio)
	for i := range d.Metrics {
		m := &d.Metrics[i]
		all.Add(diffCells(m)...)
		if m.Verdict == budget.Better || m.Verdict == budget.Worse {
			changed.Add(diffCells(m)...)
		}
	}
	p.Table(changed)
	if len(changed.Rows) == 0 {
		p.Say("Nothing that is more than chance.")
	}
	p.Title("Times")
	times := diffTable("times", Time)
	for _, of := range []string{"ttft", "request", "queue", "decode_per_token"} {
		for _, stat := range []string{"p50", "p95", "p99", "mean"} {
			if m := d.Find(of + "." + stat); m != nil {
				times.Add(diffCells(m)...)
			}
		}
	}
	p.Table(times)
	if m := d.Find(d.Leading + ".p50"); m != nil && m.WholeP.OK {
		p.Say("Whole distribution: p " + probability(m.WholeP.V) + " (Mann–Whitney; it decides nothing).")
	}
	p.Title("Stages and findings")
	stages := func(what string, names []string) {
		if len(names) > 0 {
			p.Item(what + ": " + Escape(strings.Join(names, ", ")))
		}
	}
	stages("appeared", d.Appeared)
	stages("vanished", d.Vanished)
	findings := &Table{Name: "findings", Columns: []Column{{Name: "finding", Key: "code"}, {Name: "a", Kind: Tally}, {Name: "b", Kind: Tally}}}
	for _, f := range d.Findings {
		if f.A != f.B {
			findings.Add(Word(f.Code), Of(f.A), Of(f.B))
		}
	}
	p.Table(findings)
	for _, n := range d.Notes {
		p.Say(Escape(n) + ".")
	}
	p.Data(all)
	return p
}

// contributionsShown is how many stages the page lists.
const contributionsShown = 12

func stageOfMetric(m *budget.DiffMetric) string { return strings.TrimSuffix(m.Metric, ".critical") }

// signedDelta is the change of a metric that may not be there.
func signedDelta(m *budget.DiffMetric) string {
	if m == nil || !m.Delta.OK {
		return Unknown
	}
	if m.Unit == "ns" {
		return Signed(int64(m.Delta.V))
	}
	if m.Delta.V < 0 {
		return "−" + Number(-m.Delta.V)
	}
	return "+" + Number(m.Delta.V)
}

// diffHeadline names the change of the leading time and the stages that hold it.
func diffHeadline(d *budget.Diff) string {
	sides := fmt.Sprintf("%s (%s) against %s (%s)", Escape(d.B.Label), Plural(d.B.Requests, "request"), Escape(d.A.Label), Plural(d.A.Requests, "request"))
	if !d.Changed {
		return "No difference that is more than chance: " + sides + "."
	}
	name := map[string]string{"ttft": "time to first token", "request": "latency"}[d.Leading]
	verdict, text := "Changed", ""
	for _, stat := range []string{"mean", "p95"} {
		m := d.Find(d.Leading + "." + stat)
		if m == nil || !m.Delta.OK {
			continue
		}
		if m.Verdict == budget.Better || m.Verdict == budget.Worse {
			verdict = strings.ToUpper(m.Verdict[:1]) + m.Verdict[1:]
		}
		part := stat + " " + signedDelta(m)
		if stat == "p95" && m.Ratio.OK {
			part += " (× " + Number(m.Ratio.V) + ")"
		}
		if text != "" {
			part += ", " + text
		}
		text = part
	}
	if text == "" {
		return "Changed: " + sides + "."
	}
	return verdict + ": " + name + " " + text + causes(d) + ". " + sides + "."
}

// causes are the stages that hold most of the change, at most three, each at least a twentieth of the largest.
func causes(d *budget.Diff) string {
	var parts []string
	for i := range d.Metrics {
		m := &d.Metrics[i]
		if !m.ContributionNS.OK || m.ContributionNS.V == 0 || len(parts) == 3 || 20*max(m.ContributionNS.V, -m.ContributionNS.V) < max(d.Metrics[0].ContributionNS.V, -d.Metrics[0].ContributionNS.V) {
			break
		}
		parts = append(parts, Signed(m.ContributionNS.V)+" "+Escape(stageOfMetric(m)))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// diffTable is a table of metrics. Its rows have units of their own, so on a page its numbers are text; in CSV they are of one kind, or a column has the unit.
func diffTable(name string, kind Kind) *Table {
	return &Table{Name: name, Columns: []Column{{Name: "verdict"}, {Name: "metric", Shrink: true}, {Name: "unit", Hidden: true, Page: kind == Time},
		{Name: "a", Page: true}, {Name: "b", Page: true}, {Name: "delta", Page: true},
		{Name: "ratio", Page: true, Drop: 1}, {Name: "95 % bounds of the delta", Page: true, Drop: 2}, {Name: "p", Page: true, Drop: 3},
		{Name: "a", Kind: kind, Hidden: true}, {Name: "b", Kind: kind, Hidden: true}, {Name: "delta", Kind: kind, Hidden: true}, {Name: "ratio", Kind: Ratio, Hidden: true},
		{Name: "low", Kind: kind, Hidden: true}, {Name: "high", Kind: kind, Hidden: true}, {Name: "p", Kind: Ratio, Hidden: true}}}
}

func diffCells(m *budget.DiffMetric) []Cell {
	bounds, ratio, p := "", "", ""
	if m.Low.OK && m.High.OK {
		bounds = quantity(m.Low, m.Unit) + " … " + quantity(m.High, m.Unit)
	}
	if m.Ratio.OK {
		ratio = Number(m.Ratio.V)
	}
	if m.P.OK {
		p = probability(m.P.V)
	}
	return []Cell{Word(m.Verdict), Word(m.Metric), Word(m.Unit), Word(quantity(m.A, m.Unit)), Word(quantity(m.B, m.Unit)), Word(signedDelta(m)), Word(ratio), Word(bounds),
		Word(p),
		KnownFloat(m.A), KnownFloat(m.B), KnownFloat(m.Delta), KnownFloat(m.Ratio), KnownFloat(m.Low), KnownFloat(m.High), KnownFloat(m.P)}
}
