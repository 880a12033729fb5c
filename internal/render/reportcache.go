package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// The middle of the report page: lookups and what the cache gave.

func reportLookup(p *Page, d *report.Document) {
	l := &d.Lookup
	p.Title("Lookup")
	if l.N == 0 {
		p.Say("No lookup in the capture.")
	}
	rows := []namedSeries{{"rpc", "rpc", &l.RPC}, {"submit", "submit", &l.Submit}, {"l2_load", "l2_load", &l.L2Load},
		{"server_other", "server_other", &l.ServerOther}, {"poll_wait", "poll_wait", &l.PollWait}}
	t := seriesTable("lookup", rows...) // a lookup gives each of them a value: all have values or none
	t.Columns = append(t.Columns, Column{Name: "of rpc", Kind: Share})
	for i := range t.Rows {
		share := shareOf(rows[i].series.TotalNS.V, l.RPC.TotalNS.V)
		if key := rows[i].key; key == "submit" || key == "poll_wait" { // they compare the clocks of two processes (R5.8)
			for c := 2; c < len(t.Rows[i]); c++ {
				t.Rows[i][c] = t.Rows[i][c].Within(l.UncertaintyNS)
			}
			if whole := l.UncertaintyNS.V * l.RPC.N; l.UncertaintyNS.OK && rows[i].series.TotalNS.V < whole {
				share.doubt = shareOf(whole, l.RPC.TotalNS.V).v
			}
		}
		if t.Rows[i] = append(t.Rows[i], share); i > 0 {
			t.Rows[i][0] = t.Rows[i][0].Signed("  ")
		}
	}
	p.Table(t)
	p.Table(seriesTable("lookup_wait", namedSeries{"wait", "wait (server alone)", &l.Wait}))
	if l.N == 0 {
		return
	}
	known := []string{}
	for _, b := range []struct {
		n    int64
		text string
	}{{l.Basis.Measured, "measured"}, {l.Basis.InferredUpper, upperWords(l)}, {l.Basis.DurationsOnly, "without a common clock"},
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

// upperWords say which part of the lookups of basis inferred_upper is an upper bound: loads that a prefetch stands in for, or other work of the
// server that counts whole (R7.2).
func upperWords(l *report.Lookup) string {
	switch n := l.AtMost; {
	case n == 0:
		return "with server_other as an upper bound"
	case n < l.Basis.InferredUpper:
		return "with an upper bound (" + Count(n) + " of l2_load, the others of server_other)"
	}
	return "with l2_load as an upper bound"
}

func reportHits(p *Page, d *report.Document) {
	h := &d.Hits
	p.Title("Hits")
	if h.Requests == 0 || !h.RequestedTokens.OK {
		p.Say("No hit numbers: they need request or cb.request spans of LMCache (--enable-tracing).")
		p.Table(newHitTable())
		return
	}
	p.Say(fmt.Sprintf("%s of %s tokens found: %s of all tokens, %s on average per request. Of the requests whose loads are known %s of the tokens were loaded.", Count(h.HitTokens.V), Count(h.RequestedTokens.V), optPercent(h.HitRate),
		optPercent(h.RequestMean), optPercent(h.EffectiveReuse)))
	p.Table(hitTable(h.RequestedTokens, h.HitTokens, h.PrefixTokens, h.SegmentedPrefixTokens, h.NonPrefixTokens, h.L1Tokens, h.L2Tokens, h.WrittenTokens, h.ShortfallTokens))
	hitNotes(p, h)
	c := &h.Classes
	text := fmt.Sprintf("Requests: %s full, %s partial, %s miss", Count(c.Full), Count(c.Partial), Count(c.Miss))
	if c.None > 0 {
		text += fmt.Sprintf(", %s without a lookup or its numbers", Count(c.None))
	}
	if h.ZeroRequested > 0 {
		text += fmt.Sprintf(" (%s asked for nothing)", Count(h.ZeroRequested))
	}
	p.Say(text + ".")
	if len(h.EarlyExits) > 0 {
		p.Say("Lookups that ended before they searched:")
	}
	for _, reason := range sortedKeys(h.EarlyExits) {
		p.Item(fmt.Sprintf("%s: %s", brief(reason), Count(h.EarlyExits[reason])))
	}
}

// hitNotes explain parts of the sum that may be misread.
func hitNotes(p *Page, h *report.Hits) {
	var parts, twice int64
	for _, n := range [...]model.Opt{h.PrefixTokens, h.SegmentedPrefixTokens, h.NonPrefixTokens, h.L1Tokens, h.L2Tokens} {
		parts += n.V
	}
	twice = parts - h.HitTokens.V
	if twoFamilies(h.PrefixTokens, h.SegmentedPrefixTokens, h.NonPrefixTokens, h.L1Tokens, h.L2Tokens) {
		p.Say("CacheBlend tells kinds of hits, LMCache without it tiers: how much of CacheBlend's hits came from L2 is under Cache work.")
	}
	if twice > 0 {
		p.Say("Counted twice: the parts of a request are more than what it found (hit_identity_broken).")
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

func reportLoads(p *Page, d *report.Document) {
	l := &d.DoubleStartLoadKV
	p.Title("Double loads")
	t := &Table{Name: "double_loads", Columns: []Column{{Name: "verdict"}, {Name: "requests", Kind: Tally}, {Name: "which is", Drop: 1}}}
	for _, x := range []struct {
		verdict model.Verdict
		n       int64
	}{{model.LoadMany, l.Many}, {model.LoadRepeat, l.Repeat}, {model.LoadNoopThenFull, l.NoopThenFull}, {model.LoadPartialThenFull, l.PartialThenFull}, {model.LoadDoubleUnknown, l.DoubleUnknown}} {
		if x.n > 0 {
			t.Add(Word(x.verdict.String()), Of(x.n), Word(verdictWords(x.verdict.String())))
		}
	}
	if l.Requests == 0 {
		p.Say("No request loaded more than once.")
		p.Table(t)
		return
	}
	text := Plural(l.Requests, "request") + " loaded more than once"
	if l.WastedTokens > 0 {
		text += fmt.Sprintf("; %s tokens written for nothing", Count(l.WastedTokens))
	}
	p.Say(text + ".")
	p.Table(t)
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

// work is what CacheBlend did, of a request or of many.
type work struct {
	l2Bytes, l2Chunks                             model.Opt
	l2GBps                                        model.OptFloat
	scattered                                     model.Opt
	perS                                          model.OptFloat
	prefixChunks, shifted, dropped, partialBlocks model.Opt
	matches, probes, tableHits                    model.Opt
}

func workItems(p *Page, b *work) {
	if b.l2Bytes.OK {
		text := "L2: " + Bytes(b.l2Bytes.V) + some(" in %s chunks", b.l2Chunks)
		if b.l2GBps.OK {
			text += " at " + Speed(b.l2GBps.V)
		}
		p.Item(text)
	}
	if b.scattered.OK {
		text := fmt.Sprintf("scatter: %s tokens", Count(b.scattered.V))
		if b.perS.OK {
			text += fmt.Sprintf(" at %s tokens/s", Number(b.perS.V))
		}
		p.Item(text + some(", %s prefix chunks", b.prefixChunks) + some(", %s shifted", b.shifted) + some(", %s dropped", b.dropped) + some(", %s partial blocks", b.partialBlocks))
	}
	if b.matches.OK {
		p.Item(fmt.Sprintf("fingerprints: %s matched", Count(b.matches.V)) + some(" in %s probes", b.probes) + some(", %s table hits", b.tableHits))
	}
}

func reportWork(p *Page, d *report.Document) {
	b, t := &d.Blend, &d.Transfers
	p.Title("Cache work")
	workItems(p, &work{b.L2Bytes, b.L2Chunks, b.L2GBps, b.ScatteredTokens, b.ScatterTokensPerS, b.PrefixChunks, b.ShiftedChunks, b.DroppedChunks, b.PartialBlocks, b.Matches, b.Probes, b.TableHits})
	if b.ImpCount.OK || b.RecompRatio.N > 0 {
		text := "recompute:" + some(" %s tokens", b.ImpCount)
		if r := &b.RecompRatio; r.N > 0 && r.P50.OK && r.Max.OK {
			text += fmt.Sprintf(", ratio p50 %s max %s", Percent(r.P50.V), Percent(r.Max.V))
		}
		for _, way := range sortedKeys(b.Dispatch) {
			text += fmt.Sprintf(", %s %s", Count(b.Dispatch[way]), brief(way))
		}
		p.Item(text)
	}
	if t.N > 0 {
		text := fmt.Sprintf("transfers: %s", Count(t.N))
		if t.Bytes.OK {
			text += ", " + Bytes(t.Bytes.V)
		}
		if t.StagingGBps.OK {
			text += ", staging at " + Speed(t.StagingGBps.V)
		}
		p.Item(text)
	}
	p.Table(seriesTable("transfers", namedSeries{"kernel", "kernel interval", &t.Kernel},
		namedSeries{"staging", "staging", &t.Staging}, namedSeries{"idle", "idle", &t.Idle}))
}

// some is a phrase about a number, "" when it is not known.
func some(phrase string, n model.Opt) string {
	if !n.OK {
		return ""
	}
	return fmt.Sprintf(phrase, Count(n.V))
}

func reportGroups(p *Page, d *report.Document) {
	for rest := d.Groups; len(rest) > 0; {
		by := rest[0].By
		t := &Table{Name: "by_" + by, Columns: []Column{{Name: by, Shrink: true, Most: nameMost}, {Name: "requests", Kind: Tally}, {Name: "ttft p50", Kind: Time, Drop: 1}, {Name: "ttft p95", Kind: Time}, {Name: "latency p50", Kind: Time, Drop: 3},
			{Name: "latency p95", Kind: Time, Drop: 2}, {Name: "hits", Key: "hit_rate", Kind: Share}}}
		few := false
		for len(rest) > 0 && rest[0].By == by {
			g := &rest[0]
			cells := []Cell{Word(g.Value), Of(g.Requests)}
			for _, s := range []*report.Series{&g.TTFT, &g.Latency} {
				for _, x := range []struct {
					p int64
					v model.Opt
				}{{500, s.P50NS}, {950, s.P95NS}} {
					c := Known(x.v)
					if doubtful(s.N, x.p) {
						c, few = c.Doubtful(), few || x.v.OK
					}
					cells = append(cells, c)
				}
			}
			t.Add(append(cells, KnownFloat(g.Hits.HitRate))...)
			rest = rest[1:]
		}
		p.Title("By " + strings.ReplaceAll(by, "_", " "))
		p.Table(t)
		if few {
			p.once(tilde)
		}
		if by == report.ByWorker.String() {
			p.Say("A request counts in each of its ranks.")
		}
	}
}
