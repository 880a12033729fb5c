package render

import (
	"fmt"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// The second half of the report page: what went wrong, and how far the numbers can be trusted.

func reportLoads(p *Page, d *report.Document) {
	l := d.DoubleStartLoadKV
	if l.Requests == 0 {
		return
	}
	p.Title("Double loads")
	said := []string{}
	for _, v := range []struct {
		n    int64
		text string
	}{{l.Many, "three passes or more"}, {l.Repeat, "the same tokens twice"}, {l.NoopThenFull, "nothing, then all"}, {l.PartialThenFull, "a part, then the rest (expected)"},
		{l.DoubleUnknown, "unknown"}} {
		if v.n > 0 {
			said = append(said, Count(v.n)+" "+v.text)
		}
	}
	text := fmt.Sprintf("%s loaded twice: %s", Plural(l.Requests, "request"), strings.Join(said, ", "))
	if l.WastedTokens > 0 {
		text += fmt.Sprintf("; %s tokens written for nothing", Count(l.WastedTokens))
	}
	p.Say(text + ".")
	p.Say("Longest: " + idList(l.Exemplars, 3))
}

// idList is the first n of a list of ids, none of them cut.
func idList(ids []string, n int) string {
	shown := make([]string, 0, n)
	for _, id := range ids[:min(n, len(ids))] {
		shown = append(shown, Escape(id))
	}
	if len(ids) > n {
		shown = append(shown, "…")
	}
	return strings.Join(shown, " ")
}

func reportBlend(p *Page, d *report.Document) {
	b, t := &d.Blend, &d.Transfers
	p.Title("Cache work")
	if b.L2Bytes.OK {
		text := fmt.Sprintf("L2: %s in %s chunks", Bytes(b.L2Bytes.V), Count(b.L2Chunks.V))
		if b.L2GBps.OK {
			text += " at " + Speed(b.L2GBps.V)
		}
		p.Item(text)
	}
	if b.ScatteredTokens.OK {
		text := fmt.Sprintf("scatter: %s tokens", Count(b.ScatteredTokens.V))
		if b.ScatterTokensPerS.OK {
			text += fmt.Sprintf(" at %s tokens/s", Number(b.ScatterTokensPerS.V))
		}
		p.Item(text + some(", %s prefix chunks", b.PrefixChunks) + some(", %s shifted", b.ShiftedChunks) + some(", %s dropped", b.DroppedChunks) +
			some(", %s partial blocks", b.PartialBlocks))
	}
	if b.Matches.OK {
		p.Item(fmt.Sprintf("fingerprints: %s matches", Count(b.Matches.V)) + some(" in %s probes", b.Probes) + some(", %s table hits", b.TableHits))
	}
	if b.ImpCount.OK || b.RecompRatio.N > 0 {
		text := "recompute:" + some(" %s tokens", b.ImpCount)
		if r := b.RecompRatio; r.N > 0 && r.P50.OK && r.Max.OK {
			text += fmt.Sprintf(", ratio p50 %s max %s", Percent(r.P50.V), Percent(r.Max.V))
		}
		for _, way := range sortedKeys(b.Dispatch) {
			text += fmt.Sprintf(", %s %s", Count(b.Dispatch[way]), Escape(way))
		}
		p.Item(text)
	}
	if t.N > 0 {
		text := fmt.Sprintf("transfers: %s", Count(t.N)) + some(", %s bytes", t.Bytes)
		if t.StagingGBps.OK {
			text += ", staging at " + Speed(t.StagingGBps.V)
		}
		p.Item(text)
		p.Table(seriesTable(namedSeries{"kernel interval", &t.Kernel}, namedSeries{"staging", &t.Staging}, namedSeries{"idle", &t.Idle}))
	}
}

// some is a phrase about a number, "" when it is not known.
func some(phrase string, n model.Opt) string {
	if !n.OK {
		return ""
	}
	return fmt.Sprintf(phrase, Count(n.V))
}

func reportFailures(p *Page, d *report.Document) {
	p.Title("Failures and load")
	f := d.Failed
	if f.Requests == 0 {
		p.Say("No request failed.")
	} else {
		p.Say(fmt.Sprintf("%s failed: %s by a retrieve, %s by a status, %s aborted.", Plural(f.Requests, "request"), Count(f.Retrieve), Count(f.StatusError), Count(f.Aborted)))
	}
	for _, reason := range sortedKeys(f.ByReason) {
		p.Item(fmt.Sprintf("%s: %s", Escape(reason), Count(f.ByReason[reason])))
	}
	if l := d.Load; l.RequestsPerS.OK {
		text := fmt.Sprintf("%s requests/s", Number(l.RequestsPerS.V))
		if l.TokensPerS.OK {
			text += fmt.Sprintf(", %s tokens/s", Number(l.TokensPerS.V))
		}
		if l.Concurrency.Mean.OK {
			text += fmt.Sprintf(", %s requests at once on average", Number(l.Concurrency.Mean.V)) + some(", %s at most", l.Concurrency.Max)
		}
		p.Say(text + ".")
	}
}

func reportFindings(p *Page, d *report.Document) {
	p.Title("Findings")
	if len(d.Findings) == 0 {
		p.Say("None.")
		return
	}
	t := &Table{Columns: []Column{{Name: "severity"}, {Name: "finding"}, {Name: "count", Kind: Tally}, {Name: "for example"}}}
	for _, f := range d.Findings {
		t.Add(Word(f.Severity), Word(f.Code), Of(f.Count), Word(strings.Join(f.Exemplars[:min(1, len(f.Exemplars))], " ")))
	}
	p.Table(t)
	p.Say("What one means: cbtrace explain " + d.Findings[0].Code)
}

func reportSlowest(p *Page, d *report.Document) {
	p.Title("Slowest")
	t := &Table{Columns: []Column{{Name: "request"}, {Name: "first token", Kind: Time}, {Name: "latency", Kind: Time}, {Name: "mostly", Shrink: true}}}
	for _, r := range d.Slowest[:min(slowestShown, len(d.Slowest))] {
		t.Add(Word(r.ID), Known(r.TTFTNS), Of(r.DurationNS), Word(r.TopStage))
	}
	p.Table(t)
}

const slowestShown = 10

func reportGroups(p *Page, d *report.Document) {
	for rest := d.Groups; len(rest) > 0; {
		by := rest[0].By
		t := &Table{Columns: []Column{{Name: by}, {Name: "requests", Kind: Tally}, {Name: "ttft p50", Kind: Time}, {Name: "ttft p95", Kind: Time, Drop: 1}, {Name: "latency p50", Kind: Time},
			{Name: "latency p95", Kind: Time, Drop: 1}, {Name: "hits", Kind: Share}}}
		for len(rest) > 0 && rest[0].By == by {
			g := &rest[0]
			t.Add(Word(g.Value), Of(g.Requests), Known(g.TTFT.P50NS), Known(g.TTFT.P95NS), Known(g.Latency.P50NS), Known(g.Latency.P95NS), KnownFloat(g.Hits.HitRate))
			rest = rest[1:]
		}
		p.Title("By " + by)
		p.Table(t)
	}
}

func reportClock(p *Page, d *report.Document) {
	p.Title("Clocks")
	if len(d.Clock) == 0 {
		p.Say("All from one clock.")
		return
	}
	p.Table(clockTable(d.Clock))
}

func clockTable(clocks []report.Clock) *Table {
	t := &Table{Columns: []Column{{Name: "process", Shrink: true}, {Name: "against", Shrink: true}, {Name: "offset", Kind: Time}, {Name: "±", Kind: Time}, {Name: "ppm", Kind: Ratio, Drop: 2},
		{Name: "pairs", Kind: Tally, Drop: 1}, {Name: "disagree", Kind: Tally, Drop: 1}, {Name: "basis"}}}
	for _, c := range clocks {
		t.Add(Word(c.Process), Word(c.Reference), Known(c.OffsetNS), Known(c.UncertaintyNS), KnownFloat(c.DriftPPM), Of(c.Pairs), Of(c.Disagreeing), Word(c.Basis))
	}
	return t
}

func reportQuality(p *Page, d *report.Document) {
	p.Title("Can these numbers be trusted")
	r, q := d.Requests, &d.Quality
	p.Say(fmt.Sprintf("%s of %s complete; %s at the edge of the capture.", Count(r.Complete), Plural(r.Total, "request"), Count(r.Edge)))
	if r.Other > 0 {
		p.Say(fmt.Sprintf("%s without a stage that is known are not in this report (--all).", Plural(r.Other, "request")))
	}
	p.Say(fmt.Sprintf("%s and %s read from %s.", Plural(q.SpansRead, "span"), Plural(q.RecordsRead, "other record"), Plural(int64(len(d.Inputs)), "input")))
	qualityItems(p, []counted{{q.Skipped, "records skipped"}, {q.Duplicated, "exact copies dropped"}, {q.Conflicting, "ids repeated with other content"},
		{q.Unattributed, "spans of no request"}, {q.Orphaned, "spans whose parent is missing"}, {q.Adopted, "spans whose parent was inferred"}, {q.Clipped, "spans cut to their parent"},
		{q.Outside, "spans outside their parent"}, {q.Cycles, "rings of parents cut"}, {q.Negative, "spans that end before they start"}, {q.Untimed, "spans without a time"},
		{q.Open, "spans without an end"}, {q.UnknownStages, "spans with unknown names"}})
	for _, in := range d.Inputs {
		for i, e := range in.Errors {
			if i == errorsShown {
				p.Item(fmt.Sprintf("… %s more in %s", Count(in.ErrorCount-errorsShown), Escape(in.File)))
				break
			}
			p.Item(Escape(e))
		}
	}
}

const errorsShown = 3

type counted struct {
	n    int64
	text string
}

// qualityItems lists what was counted, leaving out what did not happen.
func qualityItems(p *Page, items []counted) {
	for _, c := range items {
		if c.n > 0 {
			p.Item(c.text + ": " + Count(c.n))
		}
	}
}
