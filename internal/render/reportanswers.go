package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
)

// The answers that a report begins with.

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
