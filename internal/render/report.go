package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Report is a report as a page. A section without data says what it would need.
func Report(d *report.Document) *Page {
	p := &Page{}
	reportHeadline(p, d)
	reportTimes(p, d)
	reportPath(p, d)
	reportStages(p, d)
	reportLookup(p, d)
	reportHits(p, d)
	reportLoads(p, d)
	reportBlend(p, d)
	reportFailures(p, d)
	reportFindings(p, d)
	reportSlowest(p, d)
	reportGroups(p, d)
	reportClock(p, d)
	reportQuality(p, d)
	return p
}

// byTTFT reports whether the time to the first token leads (R4.28).
func byTTFT(d *report.Document) bool { return d.TTFT.N > 0 && 2*d.TTFT.N >= d.Latency.N }

func reportHeadline(p *Page, d *report.Document) {
	var s strings.Builder
	s.WriteString(Plural(d.Requests.Total, "request"))
	if w := d.Window; w.StartUnixNS.OK && w.EndUnixNS.OK {
		fmt.Fprintf(&s, " in %s from %s", Duration(w.EndUnixNS.V-w.StartUnixNS.V), Instant(w.StartUnixNS.V, nil))
	}
	s.WriteString(".")
	what, series, stages := "latency", d.Latency, d.CriticalPath.ByStage
	if byTTFT(d) {
		what, series = "time to first token", d.TTFT
		if d.CriticalPath.TTFT != nil {
			stages = d.CriticalPath.TTFT.ByStage
		}
	}
	if series.N > 0 {
		fmt.Fprintf(&s, " Median %s %s, p99 %s", what, Duration(series.P50NS.V), Duration(series.P99NS.V))
		if len(stages) > 0 && stages[0].Share.OK {
			fmt.Fprintf(&s, "; %s of it is %s", Percent(stages[0].Share.V), Escape(stages[0].Stage))
		}
		s.WriteString(".")
	}
	if h := d.Hits; h.HitRate.OK {
		fmt.Fprintf(&s, " The cache had %s of %s tokens.", Percent(h.HitRate.V), Count(h.RequestedTokens.V))
	}
	count := map[string]int64{}
	for _, f := range d.Findings {
		count[f.Severity]++
	}
	if count["error"]+count["warning"] > 0 {
		fmt.Fprintf(&s, " Findings: %s, %s, %s.", Plural(count["error"], "error"), Plural(count["warning"], "warning"), Plural(count["note"], "note"))
	}
	p.Say(s.String())
}

// seriesColumns are the columns of a distribution of times; p99.9 only where there is enough to tell (R8.1).
func seriesColumns(manyValues bool) []Column {
	c := []Column{{Name: "p50", Kind: Time}, {Name: "p90", Kind: Time, Drop: 4}, {Name: "p95", Kind: Time, Drop: 2}, {Name: "p99", Kind: Time}}
	if manyValues {
		c = append(c, Column{Name: "p99.9", Kind: Time, Drop: 3})
	}
	return append(c, Column{Name: "max", Kind: Time, Drop: 1})
}

func seriesCells(s *report.Series, manyValues bool) []Cell {
	c := []Cell{Known(s.P50NS), Known(s.P90NS), Known(s.P95NS), Known(s.P99NS)}
	if manyValues {
		p999 := Cell{}
		if s.N >= 1000 {
			p999 = Known(s.P999NS)
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
func seriesTable(rows ...namedSeries) *Table {
	many := slices.ContainsFunc(rows, func(r namedSeries) bool { return r.series.N >= 1000 })
	t := &Table{Columns: append([]Column{{Name: ""}, {Name: "n", Kind: Tally}}, append(seriesColumns(many), Column{Name: "mean", Kind: Time, Drop: 5})...)}
	for _, r := range rows {
		if r.series.N > 0 {
			t.Add(append([]Cell{Word(r.name), Of(r.series.N)}, append(seriesCells(r.series, many), Known(r.series.MeanNS))...)...)
		}
	}
	return t
}

func reportTimes(p *Page, d *report.Document) {
	p.Title("Times")
	p.Table(seriesTable(namedSeries{"time to first token", &d.TTFT}, namedSeries{"latency", &d.Latency}, namedSeries{"queue", &d.Queue},
		namedSeries{"decode per token", &d.DecodePerToken}))
	for _, s := range d.SLO {
		if s.Share.OK {
			p.Item(fmt.Sprintf("%s: met by %s (%s of %s)", Escape(s.Expr), Percent(s.Share.V), Count(s.Met), Count(s.Of)))
		} else {
			p.Item(fmt.Sprintf("%s: no request has that number", Escape(s.Expr)))
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
}

// stageName is a stage with its owner where that is not the one of the vocabulary (R8.2).
func stageName(stage, owner string) string {
	if s := model.StageOf(stage); s != model.StageNone && owner != "" && owner != s.Info().Owner.String() {
		return stage + "@" + owner
	}
	return stage
}

func reportPath(p *Page, d *report.Document) {
	p.Title("Critical path")
	c := d.CriticalPath
	if c.TotalNS == 0 {
		p.Say("No path: it needs requests in latency.")
		return
	}
	type row struct {
		all, first  model.OptFloat
		drag, early int64
	}
	first := c.TTFT != nil && c.TTFT.TotalNS > 0
	t := &Table{Columns: []Column{{Name: "stage", Shrink: true}, {Name: "share", Kind: Share}, {Name: "saves at most", Kind: Share, Drop: 2}}}
	b := &Table{Columns: []Column{{Name: "bound by"}, {Name: "share", Kind: Share}}}
	if first {
		t.Columns = append(t.Columns, Column{Name: "to first token", Kind: Share}, Column{Name: "saves at most", Kind: Share, Drop: 1})
		b.Columns = append(b.Columns, Column{Name: "to first token", Kind: Share})
	}
	rows, names := map[string]*row{}, []string{}
	at := func(name string) *row {
		if rows[name] == nil {
			rows[name] = &row{}
			names = append(names, name)
		}
		return rows[name]
	}
	for _, s := range c.ByStage {
		r := at(s.Stage)
		r.all, r.drag = s.Share, s.DragNS
	}
	if first {
		for _, s := range c.TTFT.ByStage {
			r := at(s.Stage)
			r.first, r.early = s.Share, s.DragNS
		}
	}
	for _, name := range names {
		r := rows[name]
		cells := []Cell{Word(name), KnownFloat(r.all), shareOf(r.drag, c.TotalNS)}
		if first {
			cells = append(cells, KnownFloat(r.first), shareOf(r.early, c.TTFT.TotalNS))
		}
		t.Add(cells...)
	}
	p.Table(t)
	early := map[string]int64{}
	if first {
		for _, s := range c.TTFT.ByBound {
			early[s.Bound] = s.NS
		}
	}
	for _, s := range c.ByBound {
		cells := []Cell{Word(s.Bound), shareOf(s.NS, c.TotalNS)}
		if first {
			cells = append(cells, shareOf(early[s.Bound], c.TTFT.TotalNS))
		}
		b.Add(cells...)
	}
	p.Table(b)
}

// shareOf is n as a share of a whole.
func shareOf(n, whole int64) Cell {
	if whole == 0 {
		return Cell{}
	}
	return Of(float64(n) / float64(whole))
}

func reportStages(p *Page, d *report.Document) {
	p.Title("Stages")
	many := slices.ContainsFunc(d.Stages, func(s report.Stage) bool { return s.N >= 1000 })
	t := &Table{Columns: append([]Column{{Name: "stage", Shrink: true}, {Name: "spans", Kind: Tally, Drop: 3}}, append(seriesColumns(many),
		Column{Name: "of path", Kind: Share}, Column{Name: "self", Kind: Time, Drop: 6})...)}
	for i := range d.Stages {
		s := &d.Stages[i]
		t.Add(append([]Cell{Word(stageName(s.Stage, s.Owner)), Of(s.Spans)}, append(seriesCells(&s.Series, many), KnownFloat(s.CriticalShare), Of(s.SelfNS))...)...)
	}
	p.Table(t)
}

func reportLookup(p *Page, d *report.Document) {
	l := &d.Lookup
	p.Title("Lookup")
	if l.N == 0 {
		p.Say("No lookup in the capture.")
		return
	}
	rows := []namedSeries{{"rpc", &l.RPC}, {"submit", &l.Submit}, {"l2_load", &l.L2Load}, {"server_other", &l.ServerOther}, {"poll_wait", &l.PollWait}}
	t := seriesTable(rows...) // a lookup gives each of them a value: all have values or none
	t.Columns = append(t.Columns, Column{Name: "share", Kind: Share})
	for i := range t.Rows {
		t.Rows[i] = append(t.Rows[i], shareOf(rows[i].series.TotalNS.V, l.RPC.TotalNS.V))
	}
	p.Table(t)
	p.Table(seriesTable(namedSeries{"wait (server alone)", &l.Wait}))
	known := []string{}
	for _, b := range []struct {
		n    int64
		text string
	}{{l.Basis.Measured, "measured"}, {l.Basis.InferredUpper, "with l2_load as an upper bound"}, {l.Basis.DurationsOnly, "without a common clock"},
		{l.Basis.NoServer, "without the server's side"}, {l.Basis.NoRPC, "from the server alone"}} {
		if b.n > 0 {
			known = append(known, Count(b.n)+" "+b.text)
		}
	}
	p.Say(Plural(l.N, "lookup") + ": " + strings.Join(known, ", ") + ".")
	if l.RPC.N == 0 {
		p.Say("Parts of a lookup need the scheduler's cb.lookup.rpc (spans or CB_PROFILE lines) beside the server's spans.")
	}
}

func reportHits(p *Page, d *report.Document) {
	p.Title("Hits")
	if d.Hits.Requests == 0 || !d.Hits.RequestedTokens.OK {
		p.Say("No hit numbers: they need request or cb.request spans of LMCache (--enable-tracing).")
		return
	}
	hitLines(p, &d.Hits)
}

// hitLines say what was found: the sum that adds up to what was asked for, both averages, the classes.
func hitLines(p *Page, h *report.Hits) {
	p.Say(fmt.Sprintf("%s of %s tokens found (%s); mean of requests %s; loaded %s.", Count(h.HitTokens.V), Count(h.RequestedTokens.V), optPercent(h.HitRate),
		optPercent(h.RequestMean), optPercent(h.EffectiveReuse)))
	t := &Table{Columns: []Column{{Name: "tokens"}, {Name: "", Kind: Tally}, {Name: "of requested", Kind: Share}}}
	add := func(name string, n model.Opt) {
		if n.OK {
			t.Add(Word(name), Known(n), shareOf(n.V, h.RequestedTokens.V))
		}
	}
	add("prefix", h.PrefixTokens)
	add("segmented prefix", h.SegmentedPrefixTokens)
	add("non-prefix", h.NonPrefixTokens)
	add("L1", h.L1Tokens)
	add("L2", h.L2Tokens)
	if h.HitTokens.OK {
		add("not found", model.Some(h.RequestedTokens.V-h.HitTokens.V))
	}
	add("requested", h.RequestedTokens)
	add("shortfall (found, not written)", h.ShortfallTokens)
	p.Table(t)
	c := h.Classes
	p.Say(fmt.Sprintf("Requests: %s full, %s partial, %s miss, %s without numbers.", Count(c.Full), Count(c.Partial), Count(c.Miss), Count(c.None)))
	for _, reason := range sortedKeys(h.EarlyExits) {
		p.Item(fmt.Sprintf("ended early, %s: %s", Escape(reason), Count(h.EarlyExits[reason])))
	}
}

func optPercent(v model.OptFloat) string {
	if !v.OK {
		return "unknown"
	}
	return Percent(v.V)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
