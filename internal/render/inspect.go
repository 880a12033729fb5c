package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Inspect is one request as a page. It begins with the answers: where its time went and why, what the cache gave, the worst thing about it,
// how far the numbers can be trusted, what to do next. What they rest on follows.
func (v *View) Inspect(d *inspect.Document) *Page {
	p := &Page{Main: "spans"}
	v.inspectAnswers(p, d)
	p.Title("Waterfall")
	spans := v.spanTable(d)
	p.Table(spans)
	if n := len(spans.hidden); n > 0 {
		p.Say(fmt.Sprintf("%s that held less: --unfold, --format csv and json have all.", Plural(int64(n), "more row")))
	}
	if text := newFall(d).legend(); text != "" {
		p.Say(text)
	}
	loose := looseClocks(d)
	if slices.ContainsFunc(d.Spans, func(s inspect.Span) bool { return s.StartNS.OK && !s.UncertaintyNS.OK && loose[s.Process] }) {
		p.Say(looseWords)
	}
	inspectPath(p, d)
	inspectLookup(p, d)
	inspectHits(p, d)
	inspectLoads(p, d)
	inspectWork(p, d)
	inspectFindings(p, d)
	inspectClock(p, d)
	inspectSources(p, d)
	return p
}

// A pathPart is the part of a request by which it is judged: up to the first token where that is known (R4.28), else the window.
type pathPart struct {
	total  int64
	stages []report.StageTime
	bounds []report.BoundTime
	words  string // " to the first token"
}

func judged(d *inspect.Document) pathPart {
	c := &d.CriticalPath
	if t := c.TTFT; t != nil && t.TotalNS > 0 {
		return pathPart{t.TotalNS, t.ByStage, t.ByBound, " to the first token"}
	}
	return pathPart{c.TotalNS, c.ByStage, c.ByBound, ""}
}

// answer is a sentence or two: what held the request up, for how long, why, what it would save, and what the cache gave.
func answer(d *inspect.Document) string {
	part := judged(d)
	if len(part.stages) == 0 {
		return Escape(d.Request.ID) + " has no time that could be explained." + reuse(d)
	}
	top, bound, ns := holder(d, &part)
	if top.Stage == d.Request.RootStage {
		return fmt.Sprintf("%s held %s%s (%s, in %s itself); without that at most %s less.", Escape(bound), ofWhole(ns, part.total), part.words, reasonOf(bound), brief(top.Stage), Duration(min(ns, top.DragNS))) + reuse(d)
	}
	most := ""
	if standsIn(d, top.Stage) {
		most = "at most "
	}
	cause := because(bound)
	if top.Stage == model.StageL2Load.String() && d.Blend.L2GBps.OK {
		cause += " at " + Speed(d.Blend.L2GBps.V)
	}
	return fmt.Sprintf("%s held %s%s%s (%s)%s.", brief(top.Stage), most, ofWhole(top.NS, part.total), part.words, cause, spared(d, top, part.total)) + reuse(d)
}

// holder is the stage that held the most, what limited most of that, and for how long. Of the root, whose own time is what nothing below it
// explains, only the time that one thing limits counts.
func holder(d *inspect.Document, part *pathPart) (top *report.StageTime, bound string, ns int64) {
	top = &part.stages[0]
	bound, ns = boundOf(d, top.Stage, part.total)
	if top.Stage == d.Request.RootStage && len(part.stages) > 1 && ns < part.stages[1].NS {
		top = &part.stages[1]
		bound, ns = boundOf(d, top.Stage, part.total)
	}
	return top, bound, ns
}

// spared says what would be spared without the spans of a stage that hold the first ns of the path (R6.8): not without the whole stage, since
// the same stage of another worker may run beside them and would be on the path then.
func spared(d *inspect.Document, top *report.StageTime, ns int64) string {
	if top.DragNS >= top.NS {
		return "; without it at most " + Duration(top.DragNS) + " less"
	}
	n, who := beside(d, top, ns)
	that := "that span"
	if n > 1 {
		that = "those spans"
	}
	if top.DragNS > 0 {
		return fmt.Sprintf("; without %s alone at most %s less: %s ran beside", that, Duration(top.DragNS), who)
	}
	return fmt.Sprintf("; without %s alone nothing less: %s ran beside and would have to be faster too", that, who)
}

// beside is how many spans of a stage hold the first ns of the path, and what ran beside them: the same stage elsewhere, where that explains
// half of the time in which anything did.
func beside(d *inspect.Document, top *report.StageTime, ns int64) (holders int, who string) {
	holds := map[string]bool{}
	for _, s := range d.CriticalPath.Segments {
		if s.Stage == top.Stage && s.StartNS < ns {
			holds[s.Span] = true
		}
	}
	at := map[string]int{}
	for i := range d.Spans {
		at[d.Spans[i].ID] = i
	}
	worker := func(i int) string { // the process of the worker that a span is of, or was called by
		for range maxDepth {
			if d.Spans[i].Owner == model.Worker.String() {
				return d.Spans[i].Process
			}
			up, ok := at[d.Spans[i].Parent]
			if !ok {
				break
			}
			i = up
		}
		return ""
	}
	same, other := int64(0), false
	for _, s := range d.CriticalPath.Segments {
		if s.Stage != top.Stage || s.StartNS >= ns {
			continue
		}
		lo, hi := s.StartNS, min(s.StartNS+s.DurationNS, ns)
		reached := lo // spans are in order of start, so that what several of them cover counts once
		for i := range d.Spans {
			x := &d.Spans[i]
			if x.Stage != top.Stage || holds[x.ID] || !x.StartNS.OK || x.DurationNS.V <= 0 || x.StartNS.V >= hi {
				continue
			}
			if end := min(hi, x.StartNS.V+x.DurationNS.V); end > reached {
				same += end - max(reached, x.StartNS.V)
				reached = end
				other = other || worker(i) != worker(at[s.Span])
			}
		}
	}
	switch {
	case 2*same < top.NS-top.DragNS || same == 0:
		return len(holds), "other work"
	case other:
		return len(holds), "another worker's " + brief(top.Stage)
	}
	return len(holds), "another " + brief(top.Stage)
}

// standsIn reports whether a stage stands in for loads from L2, so that its time is only known from above: it ended some time before the poll
// that saw it (R7.2).
func standsIn(d *inspect.Document, stage string) bool {
	return (stage == model.StageSparsePrefetch.String() || stage == model.StageMPLookupPrefetch.String()) && atMost(d, inspect.UpperL2Load)
}

// atMost reports whether a part of a lookup is only known from above (R7.2).
func atMost(d *inspect.Document, part string) bool {
	return slices.ContainsFunc(d.Lookup, func(l inspect.Lookup) bool { return slices.Contains(l.UpperBounds, part) })
}

// reuse is what the cache gave, as a sentence with a blank in front.
func reuse(d *inspect.Document) string {
	switch h := &d.Hits; {
	case h.EffectiveReuse.OK:
		return fmt.Sprintf(" %s of %s tokens reused.", Percent(h.EffectiveReuse.V), Count(h.RequestedTokens.V))
	case h.HitRate.OK:
		return fmt.Sprintf(" %s of %s tokens found in the cache.", Percent(h.HitRate.V), Count(h.RequestedTokens.V))
	}
	return ""
}

// ofWhole is "50 of 90 ms", with both units where they differ.
func ofWhole(n, whole int64) string {
	a, b := Duration(n), Duration(whole)
	if x, unit, _ := strings.Cut(a, " "); strings.Count(a, " ") == 1 && strings.Count(b, " ") == 1 && strings.HasSuffix(b, " "+unit) {
		a = x
	}
	return a + " of " + b
}

// boundOf is what limited most of the time that a stage held of the first ns of the window, and how much of it that was.
func boundOf(d *inspect.Document, stage string, ns int64) (bound string, held int64) {
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
	return best, sum[best]
}

func (v *View) inspectAnswers(p *Page, d *inspect.Document) {
	p.Say(Toned(Strong, answer(d)))
	r := &d.Request
	who := Escape(r.ID)
	if r.ExternalID != "" && r.ExternalID != r.ID {
		who += ", for the client " + Escape(r.ExternalID)
	}
	p.Fact("Request", who+"; model "+brief(r.Model))
	p.Fact("When", v.when(d))
	part := judged(d)
	p.Fact("Path", boundShares(part.bounds, part.total)+part.words)
	p.Fact("Cache", cacheLine(d))
	p.Fact("Worst", worstOf(d))
	p.Fact("Trust", strings.Join(doubts(d), "; ")+".")
	p.Fact("Source", sourceOf(d))
	p.Fact("Next", v.nextOf(d))
}

// when is the window, what the engine says of its phases, and how many tokens there were.
func (v *View) when(d *inspect.Document) string {
	r := &d.Request
	var text []string
	if w := d.Window; w.StartUnixNS.OK {
		length := Duration(w.DurationNS.V)
		if w.UncertaintyNS.V > 0 {
			length += " ± " + Duration(w.UncertaintyNS.V)
		}
		text = append(text, Instant(w.StartUnixNS.V, v.Where)+" for "+length)
	} else {
		text = append(text, "at no known time")
	}
	lookup := "" // vLLM looks up what is cached before it takes a request out of its queue
	if len(d.Lookup) > 0 {
		lookup = " (lookup included)"
	}
	for _, t := range []struct {
		name  string
		ns    model.Opt
		after string
	}{{"first token after", r.TTFTNS, ""}, {"in vLLM's queue", r.QueueNS, lookup}, {"prefill", r.PrefillNS, ""}, {"decode", r.DecodeNS, ""}} {
		if t.ns.OK {
			text = append(text, t.name+" "+Duration(t.ns.V)+t.after)
		}
	}
	if d.TailNS > 0 {
		text = append(text, "background work for "+Duration(d.TailNS)+" after it")
	}
	if r.PromptTokens.OK {
		text = append(text, Count(r.PromptTokens.V)+" prompt tokens"+some(" and %s completion tokens", r.CompletionTokens))
	}
	return strings.Join(text, ", ")
}

// boundShares are the bounds of a path with their shares, those below 1 % left out, and what the first two are.
func boundShares(bounds []report.BoundTime, total int64) string {
	if total <= 0 {
		return "none"
	}
	var text []string
	for _, b := range bounds {
		if share := float64(b.NS) / float64(total); share >= 0.01 || len(text) == 0 {
			what := unbroken(b.Bound + " " + Percent(share))
			if why := reasons[b.Bound]; why != "" && len(text) < 2 {
				what += " (" + why + ")"
			}
			text = append(text, what)
		}
	}
	return strings.Join(text, ", ")
}

// cacheLine says what was asked for, found and loaded.
func cacheLine(d *inspect.Document) string {
	h := &d.Hits
	var text []string
	switch {
	case h.RequestedTokens.OK && h.HitTokens.OK && h.RequestedTokens.V > 0:
		text = append(text, fmt.Sprintf("%s of %s tokens found (%s)", Count(h.HitTokens.V), Count(h.RequestedTokens.V), optPercent(h.HitRate)))
	case h.RequestedTokens.OK && h.RequestedTokens.V == 0:
		text = append(text, "asked for no tokens")
	case len(d.Lookup) == 0:
		text = append(text, "no lookup recorded")
	default:
		text = append(text, "the lookup says no numbers")
	}
	switch {
	case h.WrittenTokens.OK && h.WrittenTokens.V == h.HitTokens.V && h.HitTokens.V > 0:
		text = append(text, "all of them loaded")
	case h.WrittenTokens.OK && h.HitTokens.V > 0:
		text = append(text, Count(h.WrittenTokens.V)+" loaded")
	case h.HitTokens.V > 0:
		text = append(text, "no load recorded")
	}
	if d.Loads.Verdict != "" && d.Loads.Verdict != model.LoadNone.String() {
		text = append(text, "loaded more than once: "+verdictWords(d.Loads.Verdict))
	}
	if h.EarlyExitReason != "" {
		text = append(text, "the lookup ended before it searched: "+Escape(h.EarlyExitReason))
	}
	all := strings.Join(text, ", ")
	if part := judged(d); part.total > 0 {
		if ns := cacheTime(part.bounds); ns > 0 {
			all += "; lookup, load and choosing what to recompute took " + ofWhole(ns, part.total) + part.words
		}
	}
	return all
}

// verdictWords are a verdict on several loads in words.
func verdictWords(verdict string) string {
	if text := map[string]string{"partial_then_full": "a part, then the rest (expected)", "noop_then_full": "nothing, then all (expected)", "repeat": "the same tokens again (waste)",
		"many": "three times or more", "double_unknown": "nothing says why"}[verdict]; text != "" {
		return text
	}
	return Escape(verdict)
}

// severityTone is how a severity is shown.
func severityTone(severity string) Tone {
	return map[string]Tone{"error": Bad, "warning": Warn}[severity]
}

// worstOf is the worst finding; without one the longest wait.
func worstOf(d *inspect.Document) string {
	if len(d.Findings) == 0 {
		part := judged(d)
		for _, b := range part.bounds {
			if waits[b.Bound] && float64(b.NS) >= longWait*float64(part.total) {
				return fmt.Sprintf("no finding; the longest wait: %s%s %s", ofWhole(b.NS, part.total), part.words, reasonOf(b.Bound))
			}
		}
		return "no finding"
	}
	f := &d.Findings[0]
	text := Toned(severityTone(f.Severity), f.Severity) + " " + Escape(f.Code) + ": " + Escape(f.Message)
	if n := len(d.Findings) - 1; n > 0 {
		text += fmt.Sprintf(" (%s below)", oneOrMany(int64(n), "other finding", "other findings"))
	}
	return text
}

// waits are bounds of time in which nothing was worked on that is known.
var waits = map[string]bool{"queue": true, "engine": true, "rpc": true, "poll": true, "unexplained": true}

// longWait is the share of a path from which on a wait is worth a word.
const longWait = 0.05

// sourceOf is where the numbers of the first sentence were read.
func sourceOf(d *inspect.Document) string {
	var text []string
	add := func(what string, is func(s *inspect.Span) bool) {
		for i := range d.Spans {
			if s := &d.Spans[i]; len(s.Sources) > 0 && is(s) {
				text = append(text, what+" "+Escape(place(&s.Sources[0])))
				return
			}
		}
	}
	if part := judged(d); len(part.stages) > 0 {
		held, _, _ := holder(d, &part)
		top := held.Stage
		longest := int64(-1)
		for i := range d.Spans {
			if s := &d.Spans[i]; s.Stage == top {
				longest = max(longest, s.CriticalNS.V)
			}
		}
		add(brief(top), func(s *inspect.Span) bool { return s.Stage == top && s.CriticalNS.V == longest })
	}
	if d.CriticalPath.TTFT != nil {
		add("first token", func(s *inspect.Span) bool { return s.Stage == model.StageLLMRequest.String() })
	}
	if d.Hits.HitTokens.OK {
		add("hits", func(s *inspect.Span) bool { return s.Attributes["hit_tokens"] != nil })
	}
	return strings.Join(text, ", ")
}

// nextOf are the commands that lead on.
func (v *View) nextOf(d *inspect.Document) string {
	if len(d.Findings) > 0 && d.Findings[0].Severity != "note" {
		code := d.Findings[0].Code
		return v.bare("explain", code) + " (what it means)\n" + v.command("inspect", "--finding", code, "--all") + " (others like it)"
	}
	return v.command("report") + " (is it usual?)"
}
