package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// What the answers of the inspect page rest on.

// smallShare is the share of a path below which stages are shown as one row.
const smallShare = 0.01

func inspectPath(p *Page, d *inspect.Document) {
	p.Title("Critical path")
	c := &d.CriticalPath
	t := &Table{Name: "path"}
	if len(c.ByStage) == 0 {
		p.Say("No path: nothing in this request has a length.")
		p.Table(t)
		return
	}
	first := c.TTFT != nil && c.TTFT.TotalNS > 0
	t.Columns = []Column{{Name: "stage", Shrink: true, Most: nameMost}, {Name: "bound by", Key: "bound", Drop: 1}}
	if first {
		t.Columns = append(t.Columns, Column{Name: "ttft", Kind: Time}, Column{Name: "", Key: "ttft", Kind: Share}, Column{Name: "alone", Key: "ttft_drag", Kind: Time})
	}
	t.Columns = append(t.Columns, Column{Name: "window", Key: "window", Kind: Time}, Column{Name: "", Key: "window", Kind: Share})
	if !first {
		t.Columns = append(t.Columns, Column{Name: "alone", Key: "window_drag", Kind: Time})
	}
	if d.Against != nil {
		t.Columns = append(t.Columns, Column{Name: "at or below", Key: "rank", Kind: Share, Apart: true})
	}
	early := map[string]*report.StageTime{}
	rows := slices.Clone(c.ByStage)
	if first {
		for i := range c.TTFT.ByStage {
			early[c.TTFT.ByStage[i].Stage] = &c.TTFT.ByStage[i]
		}
		slices.SortStableFunc(rows, func(a, b report.StageTime) int { return cmp.Compare(nsOf(early[b.Stage]), nsOf(early[a.Stage])) })
	}
	for i := range rows {
		s, e := &rows[i], early[rows[i].Stage]
		within := c.TotalNS
		if e != nil {
			within = c.TTFT.TotalNS
		}
		limit, _ := boundOf(d, s.Stage, within)
		if all, _ := boundOf(d, s.Stage, c.TotalNS); first && e != nil && all != limit {
			limit += ", " + all // of the root: before the first token, and in all
		}
		cells := []Cell{Word(s.Stage), Word(limit)}
		if first && e != nil {
			cells = append(cells, Of(e.NS).Within(e.UncertaintyNS), shareWithin(e, c.TTFT.TotalNS), Of(e.DragNS))
		} else if first {
			cells = append(cells, Cell{}, Cell{}, Cell{})
		}
		cells = append(cells, Of(s.NS).Within(s.UncertaintyNS), shareWithin(s, c.TotalNS))
		if !first {
			cells = append(cells, Of(s.DragNS))
		}
		if d.Against != nil {
			cells = append(cells, KnownFloat(s.Rank))
		}
		t.Add(cells...)
		if s.Share.V >= smallShare || e != nil && e.Share.V >= smallShare {
			t.Small = i + 1
		}
	}
	if first {
		p.Say(fmt.Sprintf("%s to the first token, %s in all.", Duration(c.TTFT.TotalNS), Duration(c.TotalNS)))
	} else {
		p.Say(Duration(c.TotalNS) + " in all.")
	}
	p.Table(t)
	p.Say(aloneWords)
	if d.Against != nil {
		p.Say(standing(d.Against))
	}
	if first {
		p.Say("Bound in all by " + boundShares(c.ByBound, c.TotalNS) + ".")
	}
}

// aloneWords explain a column of path tables (R6.8).
const aloneWords = "alone: while nothing ran beside it, not even the same stage of another worker."

// standing says where a request stands among others.
func standing(a *inspect.Against) string {
	if a.Compared == 0 {
		return fmt.Sprintf("Nothing to compare with in %s: no request has a recorded root.", Escape(strings.Join(a.Inputs, ", ")))
	}
	var long []string
	if a.TTFTRank.OK {
		long = append(long, Percent(a.TTFTRank.V)+" waited as long or less for the first token")
	}
	if a.DurationRank.OK {
		long = append(long, Percent(a.DurationRank.V)+" took as long or less in all")
	}
	return fmt.Sprintf("Against %s, %s: %s. At or below: the share that spent as long or less on its path in that stage.", Escape(strings.Join(a.Inputs, ", ")),
		Plural(a.Compared, "request"), strings.Join(long, ", "))
}

// shareWithin is the share that a stage has of a path; one below its uncertainty is not printed as fact (R5.8).
func shareWithin(s *report.StageTime, total int64) Cell {
	c := KnownFloat(s.Share)
	if u := s.UncertaintyNS; u.OK && total > 0 && s.NS < u.V {
		c.doubt = float64(u.V) / float64(total)
	}
	return c
}

func nsOf(s *report.StageTime) int64 {
	if s == nil {
		return -1
	}
	return s.NS
}

// basisWords say how the parts of a lookup are known (R7.3).
var basisWords = map[string]string{
	"measured": "measured", "inferred_upper": "upper bound", "durations_only": "no common clock", "no_server": "no server span", "no_rpc": "server alone",
}

func inspectLookup(p *Page, d *inspect.Document) {
	p.Title("Lookup")
	t := &Table{Name: "lookup", Columns: []Column{{Name: "rpc", Kind: Time}, {Name: "= submit", Key: "submit", Kind: Time}, {Name: "+ l2_load", Key: "l2_load", Kind: Time},
		{Name: "+ server_other", Key: "server_other", Kind: Time}, {Name: "+ poll_wait", Key: "poll_wait", Kind: Time}, {Name: "server", Kind: Time}, {Name: "of it waiting", Key: "wait", Kind: Time},
		{Name: "polls", Key: "n_polls", Kind: Tally, Drop: 2}, {Name: "overshoot", Kind: Time, Drop: 3}, {Name: "basis", Drop: 1}}}
	for i := range d.Lookup {
		l := &d.Lookup[i]
		part := func(name string, ns model.Opt) Cell {
			c := Known(ns)
			if ns.V > 0 && slices.Contains(l.UpperBounds, name) {
				c.mark = "≤"
			}
			return c
		}
		t.Add(Known(l.RPCNS), Known(l.SubmitNS).Within(l.UncertaintyNS), part(inspect.UpperL2Load, l.L2LoadNS), part(inspect.UpperServerOther, l.ServerOtherNS), Known(l.PollWaitNS).Within(l.UncertaintyNS), Known(l.ServerNS), Known(l.WaitNS),
			Known(l.NPolls), Known(l.OvershootNS).Within(l.UncertaintyNS), Word(basisWords[l.Basis]).InCSV(l.Basis))
	}
	p.Table(t)
	for i := range d.Lookup {
		l := &d.Lookup[i]
		if l.L2LoadNS.V > 0 && slices.Contains(l.UpperBounds, inspect.UpperL2Load) {
			text := "l2_load is at most " + Duration(l.L2LoadNS.V)
			if l.L2LoadMinNS.OK {
				text += " and at least " + Duration(l.L2LoadMinNS.V)
			}
			p.Say(text + ": its end is only known from the poll that saw it.")
			break
		}
	}
	for i := range d.Lookup {
		if l := &d.Lookup[i]; l.ServerOtherNS.V > 0 && slices.Contains(l.UpperBounds, inspect.UpperServerOther) {
			p.Say("server_other is at most " + Duration(l.ServerOtherNS.V) + ": of a part of it the end is only known from the poll that saw it.")
			break
		}
	}
	for i := range d.Lookup {
		var legs []string
		for _, leg := range d.Lookup[i].Legs {
			legs = append(legs, Escape(leg.Stage)+" "+Duration(leg.NS))
		}
		if len(legs) > 0 {
			p.Say("Legs: " + strings.Join(legs, ", ") + ".")
		}
	}
}

// allRequests is whose tokens a row of the sum of hits is of, where it is not of some of them.
const allRequests = "all"

func newHitTable() *Table {
	return &Table{Name: "hits", Columns: []Column{{Name: "tokens", Key: "part"}, {Name: "", Key: "tokens", Kind: Tally}, {Name: "", Key: "requested", Kind: Share},
		{Name: "requests", Idle: allRequests}, {Name: "of requested", Key: "bar", Kind: Bar}}}
}

// tokenKeys are the keys of numbers of tokens in documents, by the words for them in sums; rests that no document has are not here.
var tokenKeys = map[string]string{"prefix": "prefix_tokens", "segmented prefix": "segmented_prefix_tokens", "non-prefix": "non_prefix_tokens",
	"L1": "l1_tokens", "in L1": "l1_tokens", "L2": "l2_tokens", "in L2": "l2_tokens", "found": "hit_tokens", "requested": "requested_tokens",
	"loaded": "written_tokens", "written": "written_tokens", "found, not loaded": "shortfall_tokens"}

// tokenCell names a number of tokens in a sum, with its sign.
func tokenCell(sign, name string) Cell {
	c := Word(name).Signed(sign)
	if key, ok := tokenKeys[name]; ok {
		return c.InCSV(key)
	}
	return c
}

// hitTable is the sum that makes up what was asked for: the parts that are known of either family, what was found without a part said, and
// what was not found. Below it what became of the tokens found.
func hitTable(requested, hit, prefix, segmented, nonPrefix, l1, l2, written, shortfall model.Opt) *Table {
	t := newHitTable()
	of := allRequests
	add := func(sign, name string, n model.Opt) {
		if n.OK {
			share := shareOf(n.V, requested.V)
			t.Add(tokenCell(sign, name), Known(n), share, Word(of), Drawn(amount(share.v)))
		}
	}
	unsaid, sign := hit, "  "
	both := twoFamilies(prefix, segmented, nonPrefix, l1, l2) // of some requests the ones, of others the others
	for _, part := range []struct {
		name, of string
		n        model.Opt
	}{{"prefix", "with CacheBlend", prefix}, {"segmented prefix", "with CacheBlend", segmented}, {"non-prefix", "with CacheBlend", nonPrefix}, {"L1", "without", l1}, {"L2", "without", l2}} {
		if part.n.OK {
			if of = allRequests; both {
				of = part.of
			}
			add(sign, part.name, part.n)
			unsaid.V, sign = unsaid.V-part.n.V, "+ "
		}
	}
	of = allRequests
	if unsaid.V != 0 || sign == "  " {
		name := "found"
		if sign == "+ " {
			name = "found, of a kind not said"
		}
		if unsaid.V < 0 { // the parts count some tokens twice
			name = "less those counted twice"
		}
		add(sign, name, unsaid)
	}
	add("+ ", "not found", model.Opt{V: requested.V - hit.V, OK: requested.OK && hit.OK})
	add("= ", "requested", requested)
	add("  ", "loaded", written)
	if shortfall.V != 0 {
		add("  ", "found, not loaded", shortfall)
	}
	if unknown := hit.V - written.V - shortfall.V; written.OK && unknown > 0 {
		add("  ", "found, loading not recorded", model.Some(unknown))
	}
	return t
}

// twoFamilies reports whether hits are known by kind, as CacheBlend tells them, and by tier.
func twoFamilies(prefix, segmented, nonPrefix, l1, l2 model.Opt) bool {
	return (prefix.OK || segmented.OK || nonPrefix.OK) && (l1.OK || l2.OK)
}

// amount is a bar of a share.
func amount(share float64) []Stroke {
	if share <= 0 {
		return nil
	}
	return []Stroke{{0, share, Filled}}
}

func inspectHits(p *Page, d *inspect.Document) {
	h := &d.Hits
	p.Title("Hits")
	p.Table(hitTable(h.RequestedTokens, h.HitTokens, h.PrefixTokens, h.SegmentedPrefixTokens, h.NonPrefixTokens, h.L1Tokens, h.L2Tokens, h.WrittenTokens, h.ShortfallTokens))
	if slices.ContainsFunc(d.Findings, func(f inspect.Finding) bool { return f.Code == "hit_identity_broken" }) {
		p.Say("The parts do not add up to what was found (hit_identity_broken): trust the total, none of the parts.")
	}
	if h.EarlyExitReason != "" {
		p.Say("The lookup ended before it searched: " + Escape(h.EarlyExitReason))
	}
}

func inspectLoads(p *Page, d *inspect.Document) {
	l := &d.Loads
	p.Title("Loads")
	t := &Table{Name: "loads", Columns: []Column{{Name: "attempt", Kind: Tally}, {Name: "rank", Key: "worker"},
		{Name: "start", Kind: Time}, {Name: "duration", Kind: Time}, {Name: "tokens written", Key: "written_tokens", Kind: Tally}}}
	spans, loose := map[string]*inspect.Span{}, looseClocks(d)
	for i := range d.Spans {
		spans[d.Spans[i].ID] = &d.Spans[i]
	}
	for i := range l.Passes {
		s := &l.Passes[i]
		start := Of(s.StartNS)
		if span := spans[s.Span]; span != nil {
			start = startCell(start, span, loose)
		}
		t.Add(Of(s.Attempt), Word(s.Worker), start, Of(s.DurationNS), Known(s.WrittenTokens))
	}
	if len(l.Passes) > 0 {
		text := fmt.Sprintf("%s in %s", passes(len(l.Passes)), Plural(int64(l.Attempts), "attempt"))
		if l.Verdict != model.LoadNone.String() {
			text += ": " + Escape(l.Verdict) + ", " + verdictWords(l.Verdict)
		}
		if l.WastedTokens.V > 0 {
			text += "; " + Count(l.WastedTokens.V) + " tokens written for nothing"
		}
		if l.Overlapping {
			text += "; two passes of a rank overlap"
		}
		p.Say(text + ".")
	}
	p.Table(t)
}

func passes(n int) string {
	if n == 1 {
		return "1 pass"
	}
	return Count(int64(n)) + " passes"
}

// inspectWork is what CacheBlend did, and copies between GPU and server.
func inspectWork(p *Page, d *inspect.Document) {
	b := &d.Blend
	p.Title("Cache work")
	workItems(p, &work{b.L2Bytes, b.L2Chunks, b.L2GBps, b.ScatteredTokens, b.ScatterTokensPerS, b.PrefixChunks, b.ShiftedChunks, b.DroppedChunks, b.PartialBlocks,
		b.Matches, b.Probes, b.TableHits})
	if b.ImpCount.OK || b.RecompRatio.OK {
		text := "recompute:" + some(" %s tokens", b.ImpCount)
		if b.RecompRatio.OK {
			text += ", ratio " + Percent(b.RecompRatio.V)
		}
		if b.Dispatch != "" {
			text += ", " + Escape(b.Dispatch)
		}
		p.Item(text)
	}
	t := &Table{Name: "transfers", Columns: []Column{{Name: "transfer of", Key: "of"}, {Name: "kernel", Kind: Time}, {Name: "staging", Kind: Time}, {Name: "idle", Kind: Time},
		{Name: "moved", Key: "bytes", Kind: Amount}, {Name: "staging", Kind: Rate}}}
	stage := map[string]string{}
	for i := range d.Spans {
		stage[d.Spans[i].ID] = d.Spans[i].Stage
	}
	for _, x := range d.Transfers {
		t.Add(Word(stage[x.Parent]), Of(x.KernelNS), Of(x.StagingNS), Of(x.IdleNS), Of(x.Bytes), KnownFloat(x.StagingGBps))
	}
	p.Table(t)
}

func inspectFindings(p *Page, d *inspect.Document) {
	p.Title("Findings")
	t := &Table{Name: "findings", Columns: []Column{{Name: "severity"}, {Name: "code"}, {Name: "message"}, {Name: "source"}}}
	from := map[string]string{}
	for i := range d.Spans {
		if s := &d.Spans[i]; len(s.Sources) > 0 {
			from[s.ID] = place(&s.Sources[0])
		}
	}
	for _, f := range d.Findings {
		source := ""
		if len(f.Spans) > 0 {
			source = from[f.Spans[0]]
		}
		text := Toned(severityTone(f.Severity), f.Severity) + " " + Escape(f.Code) + ": " + Escape(f.Message)
		if source != "" {
			text += " (" + Escape(source) + ")"
		}
		p.Item(text)
		t.Add(Word(f.Severity), Word(f.Code), Word(f.Message), Word(source))
	}
	p.Data(t)
}

// doubts are what one must know before trusting the numbers of a request; one phrase where there is no doubt.
func doubts(d *inspect.Document) []string {
	var out []string
	say := func(n int64, one, many string) {
		if n > 0 {
			out = append(out, oneOrMany(n, one, many))
		}
	}
	q := &d.Quality
	if !slices.ContainsFunc(d.Spans, func(s inspect.Span) bool { return s.Stage == model.StageLLMRequest.String() }) {
		out = append(out, "no llm_request: the times are those of "+sideOf(d)+", without a first token")
	}
	if missing := missingSides(d); missing != "" {
		out = append(out, "no spans of the "+missing)
	}
	say(q.Orphaned, "span without its parent", "spans without their parent")
	say(q.Open, "span without an end", "spans without an end")
	say(q.Negative, "span that ends before it starts", "spans that end before they start")
	say(q.Untimed, "span without a time", "spans without a time")
	say(q.Conflicting, "id that repeats with other content", "ids that repeat with other content")
	say(q.Cycles, "ring of parents, cut", "rings of parents, cut")
	switch load, other := atMost(d, inspect.UpperL2Load), atMost(d, inspect.UpperServerOther); {
	case load && other:
		out = append(out, "l2_load and server_other are upper bounds")
	case load:
		out = append(out, "l2_load is an upper bound")
	case other:
		out = append(out, "server_other is an upper bound")
	}
	if len(out) == 0 {
		out = append(out, "nothing is missing")
	}
	out = append(out, clockWords(d))
	spans, placed := int64(0), int64(0)
	for i := range d.Spans {
		if s := &d.Spans[i]; s.Class != "point" && !slices.Contains(s.Flags, "synthetic") {
			if spans++; s.Edge == "adopted" {
				placed++
			}
		}
	}
	if placed > 0 {
		out = append(out, fmt.Sprintf("%s of %s placed by ids and times, without a recorded parent", Count(placed), Plural(spans, "span")))
	}
	return out
}

// missingSides are the kinds of processes of which nothing was recorded, where others were: their work shows as that of those around them.
func missingSides(d *inspect.Document) string {
	var missing []string
	for _, side := range []string{"scheduler", "worker", "server"} {
		if !slices.ContainsFunc(d.Spans, func(s inspect.Span) bool { return s.Owner == side && !slices.Contains(s.Flags, "synthetic") }) {
			missing = append(missing, side)
		}
	}
	switch n := len(missing); n {
	case 0, 3:
		return ""
	case 1:
		return missing[0]
	default:
		return strings.Join(missing[:n-1], ", ") + " and " + missing[n-1]
	}
}

// oneOrMany is a count with what was counted.
func oneOrMany(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// sideOf is whose times they are where the engine wrote none.
func sideOf(d *inspect.Document) string {
	for i := range d.Spans {
		if s := &d.Spans[i]; s.Edge == "root" && s.Owner != "" {
			return "the " + s.Owner
		}
	}
	return "what was recorded"
}

// inspectSources are the files that the request was read from.
func inspectSources(p *Page, d *inspect.Document) {
	p.Title("Sources")
	type file struct {
		format, first string
		n             int64
	}
	files := map[string]*file{}
	for i := range d.Spans {
		for k := range d.Spans[i].Sources {
			s := &d.Spans[i].Sources[k]
			if files[s.File] == nil {
				files[s.File] = &file{format: s.Format, first: place(s)}
			}
			files[s.File].n++
		}
	}
	t := &Table{Name: "sources", Columns: []Column{{Name: "file", Shrink: true}, {Name: "format", Drop: 1}, {Name: "records", Kind: Tally}, {Name: "first at", Shrink: true, Drop: 2}}}
	for _, name := range sortedKeys(files) {
		f := files[name]
		t.Add(Word(name), Word(f.format), Of(f.n), Word(f.first))
	}
	p.Table(t)
	q := &d.Quality
	qualityItems(p, []counted{{q.Duplicated, "exact copies dropped"}, {q.OpenCopies, "copies without an end dropped"}, {q.Coalesced, "lines made one span with others"}, {q.Dual, "spans seen as a line too"},
		{q.Clipped, "spans cut to their parent"}, {q.Outside, "spans outside their parent"}, {q.UnknownStages, "spans with unknown names"}})
}
