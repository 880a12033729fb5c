package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Report is a report as a page. It begins with the answers: how long requests took, where that went and why, what the cache gave, the worst
// thing, how far the numbers can be trusted, what to do next. A section without data says what it would need.
func (v *View) Report(d *report.Document) *Page {
	p := &Page{Main: "stages"}
	v.reportAnswers(p, d)
	reportTimes(p, d)
	v.reportStages(p, d)
	reportPath(p, d)
	reportLookup(p, d)
	reportHits(p, d)
	reportLoads(p, d)
	reportWork(p, d)
	reportGroups(p, d)
	reportFailures(p, d)
	v.reportTrend(p, d)
	reportFindings(p, d)
	reportSlowest(p, d)
	reportClock(p, d)
	reportQuality(p, d)
	if v.Repeated > 0 {
		p.Caution(repeatedWords(v.Repeated))
	}
	return p
}

// A reportPart is the part of requests by which they are judged: up to the first token where R4.28 says so, else their windows.
type reportPart struct {
	what   string
	series *report.Series
	total  int64
	stages []report.StageTime
	bounds []report.BoundTime
	words  string
}

func leading(d *report.Document) reportPart {
	c := &d.CriticalPath
	if d.ByTTFT() && c.TTFT != nil {
		return reportPart{"time to first token", &d.TTFT, c.TTFT.TotalNS, c.TTFT.ByStage, c.TTFT.ByBound, " to the first token"}
	}
	return reportPart{"latency", &d.Latency, c.TotalNS, c.ByStage, c.ByBound, ""}
}

// doubtful reports whether n values are too few for a percentile, in thousandths (R8.5).
func doubtful(n, p int64) bool { return n < report.NeededN(p) }

// seriesColumns are the columns of a distribution of times; p99.9 only where there is enough to tell (R8.1).
func seriesColumns(manyValues bool) []Column {
	c := []Column{{Name: "p50", Kind: Time}, {Name: "p90", Kind: Time, Drop: 4}, {Name: "p95", Kind: Time}, {Name: "p99", Kind: Time}}
	if manyValues {
		c = append(c, Column{Name: "p99.9", Key: "p999", Kind: Time, Drop: 3})
	}
	return append(c, Column{Name: "max", Kind: Time, Drop: 1})
}

func seriesCells(s *report.Series, manyValues bool) []Cell {
	at := func(p int64, v model.Opt) Cell {
		c := Known(v)
		if doubtful(s.N, p) {
			return c.Doubtful()
		}
		return c
	}
	c := []Cell{at(500, s.P50NS), at(900, s.P90NS), at(950, s.P95NS), at(990, s.P99NS)}
	if manyValues {
		p999 := Cell{}
		if s.N >= 1000 {
			p999 = at(999, s.P999NS)
		}
		c = append(c, p999)
	}
	return append(c, Known(s.MaxNS))
}

type namedSeries struct {
	key    string // in the document
	name   string // on pages
	series *report.Series
}

// seriesTable has a row per distribution that has values.
func seriesTable(name string, rows ...namedSeries) *Table {
	many := slices.ContainsFunc(rows, func(r namedSeries) bool { return r.series.N >= 1000 })
	t := &Table{Name: name, Columns: append([]Column{{Name: "", Key: "of"}, {Name: "n", Kind: Tally}}, append(seriesColumns(many), Column{Name: "mean", Kind: Time, Drop: 5})...)}
	for _, r := range rows {
		if r.series.N > 0 {
			t.Add(append([]Cell{Word(r.name).InCSV(r.key), Of(r.series.N)}, append(seriesCells(r.series, many), Known(r.series.MeanNS))...)...)
		}
	}
	return t
}

// tilde explains a mark that tables of distributions may hold, once a page.
const tilde = "~: too few values for that percentile (p50 needs 5, p90 29, p95 59, p99 299, p99.9 2,995)."

func reportTimes(p *Page, d *report.Document) {
	p.Title("Times")
	ttft, latency := namedSeries{"ttft", "time to first token", &d.TTFT}, namedSeries{"latency", "latency", &d.Latency}
	p.Table(seriesTable("times", ttft, latency, namedSeries{"queue", "in vLLM's queue", &d.Queue},
		namedSeries{"decode_per_token", "decode per token", &d.DecodePerToken}))
	if d.Queue.N > 0 && d.Lookup.N > 0 {
		p.Say("In vLLM's queue: by its own account, lookups included; on the path lookups are apart from queue.")
	}
	for _, what := range []namedSeries{ttft, latency} {
		if text := confidence(d, &what); text != "" && (what.series == &d.TTFT) == d.ByTTFT() {
			p.Say(text)
		}
	}
	switch {
	case d.Latency.N == 0:
		p.Say("No latency: it needs requests with a recorded root that is closed and not cut off by the capture.")
	case d.TTFT.N == 0:
		p.Say("No time to first token: it needs vLLM's llm_request spans (vllm serve --otlp-traces-endpoint).")
	}
	if !d.Latency.Exact || d.TTFT.N > 0 && !d.TTFT.Exact {
		p.Say("Percentiles are from histograms, within 0.4 %.")
	}
	if d.Latency.N > 0 && doubtful(d.Latency.N, 990) || d.TTFT.N > 0 && doubtful(d.TTFT.N, 990) {
		p.once(tilde)
	}
}

// confidence says within what percentiles of a metric lie (R8.5).
func confidence(d *report.Document, of *namedSeries) string {
	var text []string
	for _, c := range d.Confidence {
		if c.Metric != of.key {
			continue
		}
		switch {
		case c.LowNS.OK && c.HighNS.OK:
			text = append(text, fmt.Sprintf("%s %s to %s", c.Percentile, Duration(c.LowNS.V), Duration(c.HighNS.V)))
		case c.LowNS.OK:
			text = append(text, fmt.Sprintf("%s at least %s", c.Percentile, Duration(c.LowNS.V)))
		}
	}
	if len(text) == 0 {
		return ""
	}
	return "95 % confidence, " + of.name + ": " + strings.Join(text, ", ") + "."
}

// stageName is a stage with its owner where that is not the one of the vocabulary (R8.2).
func stageName(stage, owner string) string {
	if s := model.StageOf(stage); s != model.StageNone && owner != "" && owner != s.Info().Owner.String() {
		return stage + "@" + owner
	}
	return stage
}

// StageOrders are the ways in which --sort puts the stages of a report in order; the first is that of the document.
var StageOrders = []string{"path", "p50", "p90", "p95", "p99", "max", "mean", "total", "self", "spans", "name"}

// sortStages puts stages in an order, largest first; those that are alike stay as they are.
func sortStages(stages []report.Stage, order string) {
	of := map[string]func(s *report.Stage) int64{
		"p50": func(s *report.Stage) int64 { return s.P50NS.V }, "p90": func(s *report.Stage) int64 { return s.P90NS.V }, "p95": func(s *report.Stage) int64 { return s.P95NS.V },
		"p99": func(s *report.Stage) int64 { return s.P99NS.V }, "max": func(s *report.Stage) int64 { return s.MaxNS.V }, "mean": func(s *report.Stage) int64 { return s.MeanNS.V },
		"total": func(s *report.Stage) int64 { return s.TotalNS.V }, "self": func(s *report.Stage) int64 { return s.SelfNS }, "spans": func(s *report.Stage) int64 { return s.Spans },
	}[order]
	slices.SortStableFunc(stages, func(a, b report.Stage) int {
		switch {
		case order == "name":
			return cmp.Or(strings.Compare(a.Stage, b.Stage), strings.Compare(a.Owner, b.Owner))
		case of != nil:
			return cmp.Compare(of(&b), of(&a))
		}
		return 0
	})
}

func (v *View) reportStages(p *Page, d *report.Document) {
	p.Title("Stages")
	stages := slices.Clone(d.Stages)
	sortStages(stages, v.Sort)
	many := slices.ContainsFunc(stages, func(s report.Stage) bool { return s.N >= 1000 })
	t := &Table{Name: "stages", Columns: append([]Column{{Name: "stage", Shrink: true, Most: nameMost}, {Name: "owner", Hidden: true}, {Name: "spans", Kind: Tally, Drop: 3}, {Name: "requests", Kind: Tally, Hidden: true}}, append(seriesColumns(many),
		Column{Name: "mean", Kind: Time, Drop: 7}, Column{Name: "on path", Key: "critical", Kind: Share}, Column{Name: "path", Key: "critical", Kind: Time, Hidden: true}, Column{Name: "alone", Key: "drag", Kind: Time, Hidden: true},
		Column{Name: "self", Kind: Time, Drop: 6}, Column{Name: "total", Kind: Time, Hidden: true})...)}
	if v.Sort != StageOrders[0] { // the column of the order is shown, however little space there is
		for i := range t.Columns {
			if c := &t.Columns[i]; c.Name == v.Sort {
				c.Hidden, c.Drop = false, 0
			}
		}
	}
	for i := range stages {
		s := &stages[i]
		who, times := []Cell{Word(stageName(s.Stage, s.Owner)).InCSV(s.Stage), Word(s.Owner), Of(s.Spans), Of(s.Requests)},
			append(seriesCells(&s.Series, many), Known(s.MeanNS), KnownFloat(s.CriticalShare), Of(s.CriticalNS), Of(s.DragNS),
				Of(s.SelfNS), Known(s.TotalNS))
		if s.Class == model.Point.String() { // a moment takes no time
			clear(times)
		}
		t.Add(append(who, times...)...)
	}
	p.Table(t)
	if len(t.Rows) > 0 {
		p.Say("On path: time of the stage itself, without what is below it, on the critical path, of the time of all requests.")
	}
	if more := t.hide(stagesShown, func(i int) bool { return model.StageOf(stages[i].Stage) != model.StageNone }); more > 0 {
		p.Say(fmt.Sprintf("%s, of names that cbtrace does not know: --sort puts others first, --format csv and json have all.", oneOrMany(int64(more), "more stage", "more stages")))
	}
}

// stagesShown is how many stages are shown, those of the vocabulary first.
const stagesShown = 50

func reportPath(p *Page, d *report.Document) {
	p.Title("Critical path")
	c := &d.CriticalPath
	t, b := &Table{Name: "path"}, &Table{Name: "bounds"}
	defer func() {
		p.Table(t)
		if len(t.Rows) > 0 {
			p.Say(aloneWords)
		}
		p.Table(b)
	}()
	if c.TotalNS == 0 {
		p.Say("No path: it needs requests in latency.")
		return
	}
	first := c.TTFT != nil && c.TTFT.TotalNS > 0
	t.Columns = []Column{{Name: "stage", Shrink: true, Most: nameMost}}
	b.Columns = []Column{{Name: "bound by", Key: "bound"}}
	early, bounds := map[string]*report.StageTime{}, map[string]int64{}
	rows, causes := slices.Clone(c.ByStage), slices.Clone(c.ByBound)
	if first {
		t.Columns = append(t.Columns, Column{Name: "ttft", Kind: Share}, Column{Name: "alone", Key: "ttft_drag", Kind: Share}, Column{Name: "", Key: "ttft", Kind: Time, Hidden: true})
		b.Columns = append(b.Columns, Column{Name: "ttft", Kind: Share}, Column{Name: "", Key: "ttft", Kind: Time, Hidden: true})
		for i := range c.TTFT.ByStage {
			early[c.TTFT.ByStage[i].Stage] = &c.TTFT.ByStage[i]
		}
		for _, x := range c.TTFT.ByBound {
			bounds[x.Bound] = x.NS
		}
	}
	if first && d.ByTTFT() {
		slices.SortStableFunc(rows, func(a, b report.StageTime) int { return cmp.Compare(nsOf(early[b.Stage]), nsOf(early[a.Stage])) })
		slices.SortStableFunc(causes, func(a, b report.BoundTime) int { return cmp.Compare(bounds[b.Bound], bounds[a.Bound]) })
	}
	t.Columns = append(t.Columns, Column{Name: "in all", Key: "all", Kind: Share}, Column{Name: "alone", Key: "all_drag", Kind: Share, Drop: 1}, Column{Name: "", Key: "all", Kind: Time, Hidden: true})
	b.Columns = append(b.Columns, Column{Name: "in all", Key: "all", Kind: Share}, Column{Name: "", Key: "all", Kind: Time, Hidden: true}, Column{Name: "which is", Drop: 1})
	for i := range rows {
		s, e := &rows[i], early[rows[i].Stage]
		cells := []Cell{Word(s.Stage)}
		switch {
		case e != nil:
			cells = append(cells, KnownFloat(e.Share), shareOf(e.DragNS, c.TTFT.TotalNS), Of(e.NS))
		case first:
			cells = append(cells, Of(0), Of(0), Of(0))
		}
		t.Add(append(cells, KnownFloat(s.Share), shareOf(s.DragNS, c.TotalNS), Of(s.NS))...)
		if s.Share.V >= smallShare || e != nil && e.Share.V >= smallShare {
			t.Small = i + 1
		}
	}
	for _, s := range causes {
		cells := []Cell{Word(s.Bound)}
		if first {
			cells = append(cells, shareOf(bounds[s.Bound], c.TTFT.TotalNS), Of(bounds[s.Bound]))
		}
		b.Add(append(cells, shareOf(s.NS, c.TotalNS), Of(s.NS), Word(reasons[s.Bound]))...)
	}
}

// shareOf is n as a share of a whole.
func shareOf(n, whole int64) Cell {
	if whole == 0 {
		return Cell{}
	}
	return Of(float64(n) / float64(whole))
}
