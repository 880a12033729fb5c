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

func (v *View) headline(d *report.Document) string {
	s := Plural(d.Requests.Total, "request")
	if w := d.Window; w.StartUnixNS.OK && w.EndUnixNS.OK {
		s += fmt.Sprintf(" in %s from %s", Duration(w.EndUnixNS.V-w.StartUnixNS.V), Instant(w.StartUnixNS.V, v.Where))
	}
	s += "."
	part := leading(d)
	if n := part.series.N; n > 0 {
		s += fmt.Sprintf(" Median %s %s", part.what, Duration(part.series.P50NS.V))
		if doubtful(n, 950) {
			s += fmt.Sprintf(", at most %s (%s)", Duration(part.series.MaxNS.V), Plural(n, "value"))
		} else {
			s += ", p95 " + Duration(part.series.P95NS.V)
			if !doubtful(n, 990) {
				s += ", p99 " + Duration(part.series.P99NS.V)
			}
		}
		s += "."
		if len(part.stages) > 0 && part.stages[0].Share.OK {
			top := &part.stages[0]
			s += fmt.Sprintf(" Of the %s of all requests %s holds %s", part.what, brief(top.Stage), Percent(top.Share.V))
			if why := stageWords(top.Stage); why != "" {
				s += " (" + why + ")"
			}
			if saves := float64(top.DragNS) / float64(part.total); top.DragNS > 0 {
				s += fmt.Sprintf("; if %s took no time, at most %s would be saved.", brief(top.Stage), Percent(saves))
			} else {
				s += fmt.Sprintf("; if %s took no time, nothing would be saved, for other work ran beside it.", brief(top.Stage))
			}
		}
	}
	if h := &d.Hits; h.HitRate.OK {
		s += fmt.Sprintf(" The cache had %s of %s tokens.", Percent(h.HitRate.V), Count(h.RequestedTokens.V))
	}
	return s
}

func (v *View) reportAnswers(p *Page, d *report.Document) {
	p.Say(Toned(Strong, v.headline(d)))
	part := leading(d)
	if part.total > 0 {
		p.Fact("Path", boundShares(part.bounds, part.total)+part.words)
	}
	p.Fact("Cache", reportCache(d))
	for _, s := range d.SLO {
		p.Fact("SLO", sloWords(&s))
	}
	p.Fact("Models", modelWords(d))
	p.Fact("Worst", v.reportWorst(d))
	p.Fact("Trust", strings.Join(reportDoubts(d), "; ")+".")
	p.Fact("Next", v.reportNext(d))
}

// reportCache says what was found and loaded, what that took of the time, and whether it was worth it as far as that can be told.
func reportCache(d *report.Document) string {
	h := &d.Hits
	if !h.HitRate.OK {
		return "no hit numbers: they need request or cb.request spans of LMCache"
	}
	c := &h.Classes
	text := fmt.Sprintf("%s of the tokens asked for were found, %s loaded; %s found all, %s a part, %s nothing", Percent(h.HitRate.V), optPercent(h.EffectiveReuse), Plural(c.Full, "request"), Count(c.Partial), Count(c.Miss))
	part := leading(d)
	if part.total > 0 {
		text += fmt.Sprintf("\nlookup, load and choosing what to recompute took %s of the %s", Percent(float64(cacheTime(part.bounds))/float64(part.total)), part.what)
	}
	return text + "\n" + worthWords(d)
}

// worthWords say whether the cache earned what it took, or what that would need.
func worthWords(d *report.Document) string {
	w := d.CacheWorth
	if w == nil {
		return "whether that is worth it is not known: it takes forward passes (cb.model_forward or cb.partial of the workers) of 20 requests of a model, of which some loaded more than others"
	}
	verdict := "in time it is about even"
	switch {
	case w.SavedLowNS > w.SpentNS:
		verdict = "in time it pays"
	case w.SavedHighNS < w.SpentNS:
		verdict = "in time it does not pay"
	}
	return fmt.Sprintf("%s: a request spent %s on that, and was spared about %s of forward pass (%s to %s, estimated from %s)", verdict, Duration(w.SpentNS), Duration(w.SavedNS), Duration(w.SavedLowNS),
		Duration(w.SavedHighNS), Plural(w.Requests, "request"))
}

func sloWords(s *report.SLOResult) string {
	if !s.Share.OK {
		return Escape(s.Expr) + ": no request has that number"
	}
	return fmt.Sprintf("%s: met by %s (%s of %s)", Escape(s.Expr), Percent(s.Share.V), Count(s.Met), Count(s.Of))
}

// modelWords warns of percentiles that mix models; nothing where there is one, or where they are told apart.
func modelWords(d *report.Document) string {
	if len(d.Models) < 2 || slices.ContainsFunc(d.Groups, func(g report.Group) bool { return g.By == report.ByModel.String() }) {
		return ""
	}
	var text []string
	for _, name := range sortedKeys(d.Models) {
		text = append(text, brief(name)+" "+Percent(d.Models[name]))
	}
	if len(text) > modelsShown {
		text = append(text[:modelsShown], fmt.Sprintf("%d more", len(text)-modelsShown))
	}
	return strings.Join(text, ", ") + ": percentiles mix them, --by model tells them apart"
}

const modelsShown = 4

// reportWorst is what went wrong, gravest first: requests that failed, the gravest finding, background work that ran away, the slowest request.
func (v *View) reportWorst(d *report.Document) string {
	var lines []string
	f := &d.Failed
	if f.Requests > 0 {
		text := fmt.Sprintf("%s of %s failed (%s)", Toned(Bad, Count(f.Requests)), Plural(d.Requests.Total, "request"), failedWords(f))
		lines = append(lines, text+exampleOf(f.Exemplars, f.Requests))
	}
	if shown := gravest(d); shown != nil {
		text := Toned(severityTone(shown.Severity), shown.Severity) + " " + Escape(shown.Code)
		if shown.Scope == "request" {
			text += " in " + Plural(shown.Count, "request") + exampleOf(shown.Exemplars, shown.Count)
		}
		if more := len(d.Findings) - 1; more > 0 {
			text += fmt.Sprintf("; %s of finding below", oneOrMany(int64(more), "other kind", "other kinds"))
		}
		lines = append(lines, text)
	}
	if s := d.Outlasting(); s != nil {
		text := fmt.Sprintf("%s took up to %s in the background, usually %s", Escape(stageName(s.Stage, s.Owner)), Duration(s.MaxNS.V), Duration(s.P50NS.V))
		if s.Longest != "" {
			text += ", in " + Escape(s.Longest)
		}
		lines = append(lines, text)
	}
	if len(d.Slowest) > 0 {
		lines = append(lines, slowestWords(d))
	}
	if len(d.Findings) == 0 && f.Requests == 0 {
		lines = append([]string{"no finding, and nothing failed"}, lines...)
	}
	return strings.Join(lines, "\n")
}

// gravest is the finding to show beside the failures: the first that is not what they already say. nil where there is none.
func gravest(d *report.Document) *report.Finding {
	for i := range d.Findings {
		if f := &d.Findings[i]; d.Failed.Requests == 0 || f.Code != "request_error" && f.Code != "retrieve_failed" {
			return f
		}
	}
	return nil
}

// failedWords are the ways in which requests failed; one may have failed in several.
func failedWords(f *report.Failed) string {
	var ways []string
	for _, w := range []struct {
		n    int64
		what string
	}{{f.Retrieve, "by a retrieve that failed"}, {f.StatusError, "by a span that ended in an error"}, {f.Aborted, "aborted"}} {
		if w.n > 0 {
			ways = append(ways, Count(w.n)+" "+w.what)
		}
	}
	return strings.Join(ways, ", ")
}

// exampleOf names the first of some requests, the longest of n.
func exampleOf(ids []string, n int64) string {
	switch {
	case len(ids) == 0:
		return ""
	case n == 1:
		return ": " + Escape(ids[0])
	}
	return ", the longest " + Escape(ids[0])
}

func slowestWords(d *report.Document) string {
	s := &d.Slowest[0]
	text := "slowest: " + Escape(s.ID) + ", "
	if s.TTFTNS.OK && d.ByTTFT() {
		text += Duration(s.TTFTNS.V) + " to the first token"
	} else {
		text += Duration(s.DurationNS)
	}
	if s.TopStage != "" {
		text += ", mostly " + brief(s.TopStage)
	}
	return text
}

// reportDoubts are what one must know before trusting the numbers.
func reportDoubts(d *report.Document) []string {
	r, q := &d.Requests, &d.Quality
	out := []string{fmt.Sprintf("%s of %s complete", Count(r.Complete), Plural(r.Total, "request"))}
	for _, x := range []struct {
		n         int64
		one, many string
	}{{r.Edge, "cut off by the start or end of the capture", "cut off by the start or end of the capture"}, {r.Other, "request without a known stage left out (--all)", "requests without a known stage left out (--all)"},
		{q.Skipped, "record skipped", "records skipped"}, {q.Orphaned, "span without its parent", "spans without their parent"}, {q.Negative, "span that ends before it starts", "spans that end before they start"},
		{q.Conflicting, "id that repeats with other content", "ids that repeat with other content"}} {
		if x.n > 0 {
			out = append(out, oneOrMany(x.n, x.one, x.many))
		}
	}
	if n := d.Lookup.AtMost; n > 0 {
		out = append(out, fmt.Sprintf("l2_load is an upper bound in %s of %s", Count(n), Plural(d.Lookup.N, "lookup")))
	}
	return append(out, clockDoubts(d.Clock))
}

// clockDoubts say how well the clocks of a capture are known against each other, and which are not and why.
func clockDoubts(clocks []report.Clock) string {
	worst, known, moved, asTheyAre := int64(0), 0, 0, false
	var oneSided, few, none, alone []string
	for i := range clocks {
		switch c := &clocks[i]; {
		case c.UncertaintyNS.OK:
			known++
			worst = max(worst, c.UncertaintyNS.V)
			if c.OffsetNS.V != 0 {
				moved++
			}
		case c.OffsetNS.OK:
			asTheyAre = true
		case c.Reference == "":
			alone = append(alone, brief(c.Process))
		case c.OneSided():
			oneSided = append(oneSided, brief(c.Process)+" and "+brief(c.Reference))
		case c.Pairs == 0:
			none = append(none, brief(c.Process)+" and "+brief(c.Reference))
		default:
			few = append(few, brief(c.Process)+" and "+brief(c.Reference))
		}
	}
	var text []string
	switch {
	case len(clocks) == 0:
		return "each request is on one clock"
	case moved > 0:
		text = append(text, "clocks corrected to ± "+Duration(worst))
	case known > 0:
		text = append(text, "clocks agree within ± "+Duration(worst))
	case asTheyAre:
		text = append(text, "clocks taken as they are (--no-skew)")
	}
	for _, x := range []struct {
		who []string
		why string
	}{{oneSided, "bounded from one side only"}, {few, "too few pairs of spans to compare them"}, {none, "no pair of spans compares them"}, {alone, "no pair of spans compares them with any other"}} {
		if len(x.who) > 0 {
			text = append(text, "clocks taken as they are: "+firstFew(x.who)+" ("+x.why+")")
		}
	}
	return strings.Join(text, "; ")
}

// firstFew lists the first of some names.
func firstFew(names []string) string {
	if more := len(names) - namesShown; more > 0 {
		return strings.Join(names[:namesShown], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

const namesShown = 3

// reportNext are the commands that lead on: what the gravest thing means, and the request to look at.
func (v *View) reportNext(d *report.Document) string {
	var lines []string
	show := func(ids []string, n int64, what string) {
		if len(ids) == 0 {
			return
		}
		which := "the request "
		if n > 1 {
			which = "the longest "
		}
		lines = append(lines, v.inspectCommand(ids[0])+" ("+which+what+")")
	}
	grave := gravest(d)
	if grave != nil && grave.Severity == "note" {
		grave = nil
	}
	if d.Failed.Requests > 0 {
		show(d.Failed.Exemplars, d.Failed.Requests, "that failed")
	}
	if grave != nil {
		lines = append(lines, v.bare("explain", grave.Code)+" (what it means)")
		if d.Failed.Requests == 0 {
			show(grave.Exemplars, grave.Count, "with it")
		}
	}
	if len(d.Slowest) > 0 {
		lines = append(lines, v.inspectCommand(d.Slowest[0].ID)+" (the slowest)")
	}
	if slices.ContainsFunc(d.Clock, func(c report.Clock) bool { return !c.UncertaintyNS.OK }) || d.Requests.Complete < d.Requests.Total {
		lines = append(lines, v.command("check")+" (what is missing, and which switch would mend it)")
	}
	return strings.Join(lines, "\n")
}

// seriesColumns are the columns of a distribution of times; p99.9 only where there is enough to tell (R8.1).
func seriesColumns(manyValues bool) []Column {
	c := []Column{{Name: "p50", Kind: Time}, {Name: "p90", Kind: Time, Drop: 4}, {Name: "p95", Kind: Time}, {Name: "p99", Kind: Time}}
	if manyValues {
		c = append(c, Column{Name: "p99.9", Kind: Time, Drop: 3})
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
	name   string
	series *report.Series
}

// seriesTable has a row per distribution that has values.
func seriesTable(name string, rows ...namedSeries) *Table {
	many := slices.ContainsFunc(rows, func(r namedSeries) bool { return r.series.N >= 1000 })
	t := &Table{Name: name, Columns: append([]Column{{Name: "", Key: "of"}, {Name: "n", Kind: Tally}}, append(seriesColumns(many), Column{Name: "mean", Kind: Time, Drop: 5})...)}
	for _, r := range rows {
		if r.series.N > 0 {
			t.Add(append([]Cell{Word(r.name), Of(r.series.N)}, append(seriesCells(r.series, many), Known(r.series.MeanNS))...)...)
		}
	}
	return t
}

// tilde explains a mark that tables of distributions may hold, once a page.
const tilde = "~: too few values for that percentile (p50 needs 5, p90 29, p95 59, p99 299, p99.9 2,995)."

func reportTimes(p *Page, d *report.Document) {
	p.Title("Times")
	p.Table(seriesTable("times", namedSeries{"time to first token", &d.TTFT}, namedSeries{"latency", &d.Latency}, namedSeries{"queue", &d.Queue},
		namedSeries{"decode per token", &d.DecodePerToken}))
	for _, what := range []namedSeries{{"time to first token", &d.TTFT}, {"latency", &d.Latency}} {
		if text := confidence(d, what.name); text != "" && (what.series == &d.TTFT) == d.ByTTFT() {
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
func confidence(d *report.Document, metric string) string {
	var text []string
	for _, c := range d.Confidence {
		if c.Metric != strings.ReplaceAll(strings.Replace(metric, "time to first token", "ttft", 1), " ", "_") {
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
	return "95 % confidence, " + metric + ": " + strings.Join(text, ", ") + "."
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
		Column{Name: "mean", Kind: Time, Drop: 7}, Column{Name: "of window", Key: "of_path", Kind: Share}, Column{Name: "path", Key: "critical", Kind: Time, Hidden: true}, Column{Name: "saves ≤", Key: "drag", Kind: Time, Hidden: true},
		Column{Name: "self", Kind: Time, Drop: 6}, Column{Name: "total", Kind: Time, Hidden: true})...)}
	for i := range stages {
		s := &stages[i]
		t.Add(append([]Cell{Word(stageName(s.Stage, s.Owner)), Word(s.Owner), Of(s.Spans), Of(s.Requests)}, append(seriesCells(&s.Series, many), Known(s.MeanNS), KnownFloat(s.CriticalShare), Of(s.CriticalNS), Of(s.DragNS),
			Of(s.SelfNS), Known(s.TotalNS))...)...)
	}
	p.Table(t)
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
		p.Table(b)
	}()
	if c.TotalNS == 0 {
		p.Say("No path: it needs requests in latency.")
		return
	}
	first := c.TTFT != nil && c.TTFT.TotalNS > 0
	t.Columns = []Column{{Name: "stage", Shrink: true, Most: nameMost}}
	b.Columns = []Column{{Name: "bound by"}}
	early, bounds := map[string]*report.StageTime{}, map[string]int64{}
	rows, causes := slices.Clone(c.ByStage), slices.Clone(c.ByBound)
	if first {
		t.Columns = append(t.Columns, Column{Name: "ttft", Kind: Share}, Column{Name: "saves ≤", Key: "ttft_saves", Kind: Share}, Column{Name: "", Key: "ttft", Kind: Time, Hidden: true})
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
	t.Columns = append(t.Columns, Column{Name: "in all", Key: "all", Kind: Share}, Column{Name: "saves ≤", Key: "all_saves", Kind: Share, Drop: 1}, Column{Name: "", Key: "all", Kind: Time, Hidden: true})
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
