package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Inspect is one request as a page: the answer first, then what it rests on.
func Inspect(d *inspect.Document) *Page {
	p := &Page{}
	p.Say(answer(d))
	inspectHeader(p, d)
	p.Title("Spans")
	p.Table(spanTable(d))
	inspectPath(p, d)
	inspectLookup(p, d)
	inspectHits(p, d)
	inspectLoads(p, d)
	inspectTransfers(p, d)
	inspectFindings(p, d)
	inspectClock(p, d)
	inspectQuality(p, d)
	return p
}

// answer is one sentence or two: what held the request up, for how long, why, what it would save, and what the cache gave.
func answer(d *inspect.Document) string {
	var s strings.Builder
	stages, total, first := d.CriticalPath.ByStage, d.CriticalPath.TotalNS, ""
	if t := d.CriticalPath.TTFT; t != nil { // R4.28: of one request its own time decides
		stages, total, first = t.ByStage, t.TotalNS, " to the first token"
	}
	switch {
	case len(stages) == 0:
		fmt.Fprintf(&s, "%s has no time that could be explained.", Escape(d.Request.ID))
	default:
		top := stages[0]
		fmt.Fprintf(&s, "%s held %s%s", Escape(top.Stage), ofWhole(top.NS, total), first)
		cause := boundOf(d, top.Stage, total)
		if top.Stage == model.StageL2Load.String() && d.Blend.L2GBps.OK {
			cause += ", " + Speed(d.Blend.L2GBps.V)
		}
		fmt.Fprintf(&s, " (%s)", cause)
		if top.DragNS > 0 {
			fmt.Fprintf(&s, "; without it at most %s less", Duration(top.DragNS))
		}
		s.WriteString(".")
	}
	if h := d.Hits; h.EffectiveReuse.OK {
		fmt.Fprintf(&s, " %s of %s tokens reused.", Percent(h.EffectiveReuse.V), Count(h.RequestedTokens.V))
	} else if h.HitRate.OK {
		fmt.Fprintf(&s, " %s of %s tokens found in the cache.", Percent(h.HitRate.V), Count(h.RequestedTokens.V))
	}
	return s.String()
}

// ofWhole is "50 of 90 ms", with both units where they differ.
func ofWhole(n, whole int64) string {
	a, b := Duration(n), Duration(whole)
	if x, unit, ok := strings.Cut(a, " "); ok && strings.HasSuffix(b, " "+unit) {
		a = x
	}
	return a + " of " + b
}

// boundOf is what limited most of the time that a stage held of the first ns of the window.
func boundOf(d *inspect.Document, stage string, ns int64) string {
	sum, best := map[string]int64{}, ""
	for _, s := range d.CriticalPath.Segments {
		if s.Stage == stage && s.StartNS < ns {
			sum[s.Bound] += min(s.DurationNS, ns-s.StartNS)
		}
	}
	for _, b := range sortedKeys(sum) {
		if best == "" || sum[b] > sum[best] {
			best = b
		}
	}
	return best
}

func inspectHeader(p *Page, d *inspect.Document) {
	r := d.Request
	who := "request " + Escape(r.ID)
	if r.ExternalID != "" && r.ExternalID != r.ID {
		who += ", for the client " + Escape(r.ExternalID)
	}
	p.Item(who + ", model " + Escape(r.Model))
	var when []string
	if w := d.Window; w.StartUnixNS.OK {
		text := Instant(w.StartUnixNS.V, nil) + ", " + Duration(w.DurationNS.V)
		if w.UncertaintyNS.V > 0 {
			text += " ± " + Duration(w.UncertaintyNS.V)
		}
		when = append(when, text)
	}
	for _, t := range []struct {
		name string
		ns   model.Opt
	}{{"first token after", r.TTFTNS}, {"queue", r.QueueNS}, {"prefill", r.PrefillNS}, {"decode", r.DecodeNS}} {
		if t.ns.OK {
			when = append(when, t.name+" "+Duration(t.ns.V))
		}
	}
	if d.TailNS > 0 {
		when = append(when, "background work goes on for "+Duration(d.TailNS))
	}
	if len(when) > 0 {
		p.Item(strings.Join(when, ", "))
	}
	if r.PromptTokens.OK {
		p.Item(Count(r.PromptTokens.V) + " prompt tokens" + some(", %s completion tokens", r.CompletionTokens))
	}
}

const (
	barWidth = 24
	maxDepth = 20 // of indentation
)

// spanTable is the tree, each span with a bar over the window: full where it is on the path, light where it only runs.
func spanTable(d *inspect.Document) *Table {
	t := &Table{Columns: []Column{{Name: "span", Shrink: true}, {Name: "", Drop: 5}, {Name: "start", Kind: Time}, {Name: "duration", Kind: Time}, {Name: "on path", Kind: Time},
		{Name: "self", Kind: Time, Drop: 2}, {Name: "process", Shrink: true, Drop: 3}, {Name: "flags", Shrink: true, Drop: 1}, {Name: "from", Shrink: true, Drop: 4}}}
	segments := map[string][]*inspect.Segment{}
	for i := range d.CriticalPath.Segments {
		g := &d.CriticalPath.Segments[i]
		segments[g.Span] = append(segments[g.Span], g)
	}
	for _, n := range treeOrder(d.Spans) {
		s := &d.Spans[n.span]
		name := strings.Repeat("  ", min(n.depth, maxDepth)) + s.Stage
		if n.depth > maxDepth {
			name = fmt.Sprintf("%s(%d) %s", strings.Repeat("  ", maxDepth), n.depth, s.Stage)
		}
		from := ""
		if len(s.Sources) > 0 {
			from = place(&s.Sources[0])
		}
		flags := s.Flags
		if s.Edge == "adopted" {
			flags = append([]string{s.Edge}, flags...)
		}
		t.Add(Word(name), Word(bar(s, segments[s.ID], d.Window.DurationNS.V)), Known(s.StartNS), Known(s.DurationNS), Known(s.CriticalNS), Known(s.SelfNS), Word(s.Process), Word(strings.Join(flags, " ")), Word(from))
	}
	return t
}

func place(s *inspect.Source) string {
	switch {
	case s.Line != nil:
		return fmt.Sprintf("%s:%d", s.File, *s.Line)
	case s.Offset != nil:
		return fmt.Sprintf("%s@%d", s.File, *s.Offset)
	}
	return s.File
}

type treeNode struct{ span, depth int }

// treeOrder lists spans so that children follow their parent, each span once. Spans whose parent is not there come last.
func treeOrder(spans []inspect.Span) []treeNode {
	first, kids := map[string]int{}, map[string][]int{}
	for i := range spans {
		if _, ok := first[spans[i].ID]; !ok {
			first[spans[i].ID] = i
		}
	}
	var stack []treeNode
	for i := len(spans) - 1; i >= 0; i-- {
		parent, ok := first[spans[i].Parent]
		if spans[i].Parent == "" || !ok || parent == i {
			stack = append(stack, treeNode{i, 0})
			continue
		}
		kids[spans[i].Parent] = append(kids[spans[i].Parent], i)
	}
	out, seen := make([]treeNode, 0, len(spans)), make([]bool, len(spans))
	visit := func() {
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[n.span] {
				continue
			}
			seen[n.span] = true
			out = append(out, n)
			if id := spans[n.span].ID; first[id] == n.span {
				for _, k := range kids[id] {
					stack = append(stack, treeNode{k, n.depth + 1})
				}
			}
		}
	}
	slices.SortStableFunc(stack, func(a, b treeNode) int { return rootRank(&spans[a.span]) - rootRank(&spans[b.span]) })
	visit()
	for i := range spans {
		if !seen[i] {
			stack = append(stack, treeNode{i, 0})
			visit()
		}
	}
	return out
}

// rootRank makes the root come off the stack first.
func rootRank(s *inspect.Span) int {
	if s.Edge == "root" {
		return 1
	}
	return 0
}

// bar draws a span over the window, total ns long, and on it the segments of the path that it holds.
func bar(s *inspect.Span, path []*inspect.Segment, total int64) string {
	if total <= 0 || !s.StartNS.OK {
		return ""
	}
	cells := slices.Repeat([]rune{' '}, barWidth)
	draw := func(start, length int64, r rune) {
		lo, hi := barCell(start, total), barCell(start+length-1, total)
		for i := max(lo, 0); i <= min(hi, barWidth-1); i++ {
			cells[i] = r
		}
	}
	draw(s.StartNS.V, max(s.DurationNS.V, 1), '─')
	for _, g := range path {
		if g.Stage == s.Stage {
			draw(g.StartNS, g.DurationNS, '█')
		}
	}
	return strings.TrimRight(string(cells), " ")
}

func barCell(at, total int64) int {
	return int(float64(at) / float64(total) * barWidth)
}

func inspectPath(p *Page, d *inspect.Document) {
	p.Title("Critical path")
	c := &d.CriticalPath
	if len(c.ByStage) == 0 {
		p.Say("No path: nothing in this request has a length.")
		return
	}
	stages := func(rows []report.StageTime, total int64) *Table {
		t := &Table{Columns: []Column{{Name: "stage", Shrink: true}, {Name: "time", Kind: Time}, {Name: "share", Kind: Share}, {Name: "saves at most", Kind: Time}, {Name: "bound by"}}}
		for _, s := range rows {
			t.Add(Word(s.Stage), Of(s.NS), KnownFloat(s.Share), Of(s.DragNS), Word(boundOf(d, s.Stage, total)))
		}
		return t
	}
	bounds := func(rows []report.BoundTime, total int64) {
		var text []string
		for _, b := range rows {
			text = append(text, fmt.Sprintf("%s %s", b.Bound, Percent(float64(b.NS)/float64(total))))
		}
		p.Say(strings.Join(text, ", "))
	}
	if c.TTFT != nil && c.TTFT.TotalNS > 0 {
		p.Say(fmt.Sprintf("To the first token, %s:", Duration(c.TTFT.TotalNS)))
		p.Table(stages(c.TTFT.ByStage, c.TTFT.TotalNS))
		bounds(c.TTFT.ByBound, c.TTFT.TotalNS)
		p.Say(fmt.Sprintf("The whole window, %s:", Duration(c.TotalNS)))
	}
	p.Table(stages(c.ByStage, c.TotalNS))
	bounds(c.ByBound, c.TotalNS)
}

func inspectLookup(p *Page, d *inspect.Document) {
	p.Title("Lookup")
	t := &Table{Columns: []Column{{Name: "rpc", Kind: Time}, {Name: "submit", Kind: Time}, {Name: "l2_load", Kind: Time}, {Name: "server_other", Kind: Time}, {Name: "poll_wait", Kind: Time},
		{Name: "server", Kind: Time, Drop: 1}, {Name: "wait", Kind: Time, Drop: 1}, {Name: "polls", Kind: Tally, Drop: 2}, {Name: "late", Kind: Time, Drop: 3}, {Name: "basis"}}}
	for _, l := range d.Lookup {
		t.Add(Known(l.RPCNS), Known(l.SubmitNS), Known(l.L2LoadNS), Known(l.ServerOtherNS), Known(l.PollWaitNS), Known(l.ServerNS), Known(l.WaitNS), Known(l.NPolls), Known(l.OvershootNS),
			Word(l.Basis))
	}
	p.Table(t)
	for _, l := range d.Lookup {
		if l.Basis == model.InferredUpper.String() && l.L2LoadNS.OK {
			text := "l2_load is at most " + Duration(l.L2LoadNS.V)
			if l.L2LoadMinNS.OK {
				text += ", at least " + Duration(l.L2LoadMinNS.V)
			}
			p.Say(text + ": its end is only known from the poll that saw it.")
		}
	}
}

func inspectHits(p *Page, d *inspect.Document) {
	h := d.Hits
	if !h.RequestedTokens.OK && h.EarlyExitReason == "" {
		return
	}
	p.Title("Hits")
	t := &Table{Columns: []Column{{Name: "tokens"}, {Name: "", Kind: Tally}, {Name: "of requested", Kind: Share}}}
	for _, r := range []struct {
		name string
		n    model.Opt
	}{{"prefix", h.PrefixTokens}, {"segmented prefix", h.SegmentedPrefixTokens}, {"non-prefix", h.NonPrefixTokens}, {"L1", h.L1Tokens}, {"L2", h.L2Tokens},
		{"not found", model.Opt{V: h.RequestedTokens.V - h.HitTokens.V, OK: h.RequestedTokens.OK && h.HitTokens.OK}}, {"requested", h.RequestedTokens},
		{"loaded", h.WrittenTokens}, {"shortfall (found, not loaded)", h.ShortfallTokens}} {
		if r.n.OK {
			t.Add(Word(r.name), Known(r.n), shareOf(r.n.V, h.RequestedTokens.V))
		}
	}
	p.Table(t)
	if h.EarlyExitReason != "" {
		p.Say("The lookup ended before it searched: " + Escape(h.EarlyExitReason))
	}
}

func inspectLoads(p *Page, d *inspect.Document) {
	l := d.Loads
	if len(l.Passes) == 0 {
		return
	}
	p.Title("Loads")
	text := fmt.Sprintf("%s in %s", Plural(int64(len(l.Passes)), "load"), Plural(int64(l.Attempts), "attempt"))
	if l.Verdict != model.LoadNone.String() {
		text += ": " + l.Verdict
	}
	p.Say(text + some(", %s tokens written for nothing", l.WastedTokens))
	t := &Table{Columns: []Column{{Name: "attempt", Kind: Tally}, {Name: "worker"}, {Name: "start", Kind: Time}, {Name: "duration", Kind: Time}, {Name: "tokens", Kind: Tally}}}
	for _, s := range l.Passes {
		t.Add(Of(s.Attempt), Word(s.Worker), Of(s.StartNS), Of(s.DurationNS), Known(s.WrittenTokens))
	}
	p.Table(t)
}

func inspectTransfers(p *Page, d *inspect.Document) {
	p.Title("Transfers")
	t := &Table{Columns: []Column{{Name: "of"}, {Name: "kernel", Kind: Time}, {Name: "staging", Kind: Time}, {Name: "idle", Kind: Time}, {Name: "moved", Kind: Amount}, {Name: "staging", Kind: Rate}}}
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
	for _, f := range d.Findings {
		p.Item(fmt.Sprintf("%s %s: %s", f.Severity, Escape(f.Code), Escape(f.Message)))
	}
}

func inspectClock(p *Page, d *inspect.Document) {
	p.Title("Clocks")
	p.Table(clockTable(d.Clock))
}

func inspectQuality(p *Page, d *inspect.Document) {
	p.Title("Records")
	q := &d.Quality
	p.Say(fmt.Sprintf("%s and %s.", Plural(q.SpansRead, "span"), Plural(q.RecordsRead, "other record")))
	qualityItems(p, []counted{{q.Duplicated, "exact copies dropped"}, {q.Conflicting, "ids repeated with other content"}, {q.Orphaned, "spans whose parent is missing"},
		{q.Adopted, "spans whose parent was inferred"}, {q.Clipped, "spans cut to their parent"}, {q.Outside, "spans outside their parent"}, {q.Cycles, "rings of parents cut"},
		{q.Negative, "spans that end before they start"}, {q.Untimed, "spans without a time"}, {q.Open, "spans without an end"}, {q.UnknownStages, "spans with unknown names"}})
}
