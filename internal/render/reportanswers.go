package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// The answers that a report begins with.

func (v *View) headline(d *report.Document) string {
	s := Plural(d.Requests.Total, "request")
	if w := d.Selected; w.StartUnixNS.OK && w.EndUnixNS.OK {
		if w != d.Window { // others started before or after
			s += " that started"
		}
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
		s += heldMost(&part)
		if work := float64(cacheTime(part.bounds)) / float64(max(1, part.total)); work >= 0.1 { // its stages are many: none of them shows what they hold together
			s += fmt.Sprintf(" The cache's own work (lookup, load, choosing what to recompute) holds %s.", Percent(work))
		}
	}
	if h := &d.Hits; h.HitRate.OK {
		s += fmt.Sprintf(" The cache had %s of %s tokens.", Percent(h.HitRate.V), Count(h.RequestedTokens.V))
	}
	return s
}

// heldMost says what held most of the time of requests, and how much of that nothing ran beside (R6.8).
func heldMost(part *reportPart) string {
	if len(part.stages) == 0 || !part.stages[0].Share.OK {
		return ""
	}
	top := &part.stages[0]
	of := fmt.Sprintf(" Of the %s of all requests ", part.what)
	if top.Stage == model.StageLLMRequest.String() { // its own time is what nothing below it explains: a bound says more
		if b := ownBound(part.bounds); b != nil && (len(part.stages) == 1 || b.NS >= part.stages[1].NS) {
			return of + fmt.Sprintf("%s holds %s (%s).", b.Bound, Percent(float64(b.NS)/float64(part.total)), reasonOf(b.Bound))
		}
		if len(part.stages) > 1 {
			top = &part.stages[1]
		}
	}
	s := of + brief(top.Stage) + " holds " + Percent(float64(top.NS)/float64(part.total))
	if why := stageWords(top.Stage); why != "" {
		s += " (" + why + ")"
	}
	switch alone := float64(top.DragNS) / float64(part.total); {
	case top.DragNS >= top.NS:
		return s + ", all of it alone."
	case top.DragNS == 0:
		return s + ", all of it with other work beside it (another worker's " + brief(top.Stage) + " counts)."
	default:
		return s + fmt.Sprintf(": %s alone, the rest with other work beside it (another worker's %s counts).", Percent(alone), brief(top.Stage))
	}
}

// ownBound is the largest of the bounds of the engine's own time; nil where there is none.
func ownBound(bounds []report.BoundTime) *report.BoundTime {
	i := slices.IndexFunc(bounds, func(b report.BoundTime) bool { return b.Bound == "queue" || b.Bound == "engine" || b.Bound == "decode" })
	if i < 0 {
		return nil
	}
	return &bounds[i]
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
	text := Percent(h.HitRate.V) + " of the tokens asked for were found"
	if asked := float64(h.RequestedTokens.V); h.WrittenTokens.OK && asked > 0 {
		text += fmt.Sprintf(", %s loaded", Percent(float64(h.WrittenTokens.V)/asked))
		if unknown := h.HitTokens.V - h.WrittenTokens.V - h.ShortfallTokens.V; unknown > 0 {
			text += fmt.Sprintf(" (of %s loading is not recorded)", Percent(float64(unknown)/asked))
		}
	}
	text += fmt.Sprintf("; %s found all, %s a part, %s nothing", Plural(c.Full, "request"), Count(c.Partial), Count(c.Miss))
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
	verdict := "as for latency it is about even"
	switch {
	case pays(w):
		verdict = "as for latency it pays"
	case w.SavedHighNS < w.SpentNS:
		verdict = "as for latency it does not pay"
	}
	models := make([]string, len(w.Models))
	for i, name := range w.Models {
		models[i] = brief(name)
	}
	of := ""
	if len(d.Models) > 1 && len(models) > 0 {
		of = " of " + firstFew(models)
	}
	return fmt.Sprintf("%s, by an estimate from %s of %s%s: on average one of these spent %s on that and was spared about %s of forward pass (%s to %s)", verdict, Count(w.Requests), Plural(d.Requests.Total, "request"), of,
		Duration(w.SpentNS), Duration(w.SavedNS), Duration(w.SavedLowNS), Duration(w.SavedHighNS))
}

// pays reports whether the cache saved more than it took, for all that the estimate can tell.
func pays(w *report.CacheWorth) bool { return w != nil && w.SavedLowNS > w.SpentNS }

func sloWords(s *report.SLOResult) string {
	if !s.Share.OK {
		return Escape(s.Expr) + ": no request has that number"
	}
	return fmt.Sprintf("%s: met by %s (%s of %s)", Escape(s.Expr), Percent(s.Share.V), Count(s.Met), Count(s.Of))
}

// modelWords warns of percentiles that mix models, those of most requests first; nothing where there is one, or where they are told apart.
func modelWords(d *report.Document) string {
	if len(d.Models) < 2 || slices.ContainsFunc(d.Groups, func(g report.Group) bool { return g.By == report.ByModel.String() }) {
		return ""
	}
	names := sortedKeys(d.Models)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(d.Models[b], d.Models[a]) })
	var text []string
	for _, name := range names {
		text = append(text, brief(name)+" "+Percent(d.Models[name]))
	}
	if len(text) > modelsShown {
		text = append(text[:modelsShown], Count(int64(len(text)-modelsShown))+" more")
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
		lines = append(lines, text+exampleOf(whyFailed(f, 1), f.Requests))
	}
	if shown := gravest(d); shown != nil {
		text, others := "", len(d.Findings)-1
		if f.Requests > 0 {
			text = "besides these: "
			others -= len(d.Findings) - len(unsaid(d))
		}
		text += Toned(severityTone(shown.Severity), shown.Severity) + " " + Escape(shown.Code)
		if shown.Scope == "request" {
			text += " in " + Plural(shown.Count, "request") + exampleOf(shown.Exemplars, shown.Count)
		}
		if others > 0 {
			text += fmt.Sprintf("; %s of finding below", oneOrMany(int64(others), "other kind", "other kinds"))
		}
		lines = append(lines, text)
	}
	if s := d.Outlasting(); s != nil {
		text := fmt.Sprintf("%s took up to %s in the background, usually %s", Escape(stageName(s.Stage, s.Owner)), Duration(s.MaxNS.V), Duration(s.P50NS.V))
		if s.Longest != "" {
			text += ", in " + Escape(s.Longest)
		}
		if idle := idleOf(d, s); idle > 0 {
			text += fmt.Sprintf("; up to %s of it idle, neither staging nor in a kernel", Duration(idle))
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
	if rest := unsaid(d); len(rest) > 0 {
		return rest[0]
	}
	return nil
}

// unsaid are the findings that failures, where there are any, do not say already.
func unsaid(d *report.Document) (out []*report.Finding) {
	for i := range d.Findings {
		if f := &d.Findings[i]; d.Failed.Requests == 0 || !saidByFailures(f.Code) {
			out = append(out, f)
		}
	}
	return out
}

// saidByFailures reports whether a code only says what the counts of failures say (R7.11).
func saidByFailures(code string) bool { return code == "request_error" || code == "retrieve_failed" }

// whyFailed are the first n requests that failed, the longest, each with what says so.
func whyFailed(f *report.Failed, n int) []string {
	out := make([]string, 0, n)
	for i, id := range f.Exemplars[:min(n, len(f.Exemplars))] {
		if i < len(f.Why) {
			id += " (" + f.Why[i] + ")"
		}
		out = append(out, id)
	}
	return out
}

// idleOf is the idle part of the longest transfer, where it is half of a background stage's longest span or more, and longer than any span of
// the other kind of transfer, so that it is of that stage; else 0.
func idleOf(d *report.Document, s *report.Stage) int64 {
	idle := d.Transfers.Idle.MaxNS.V
	if 2*idle < s.MaxNS.V || idle > s.MaxNS.V || s.Stage != model.StageMPStore.String() {
		return 0
	}
	for i := range d.Stages {
		if x := &d.Stages[i]; x.Stage == model.StageMPRetrieve.String() && x.MaxNS.V >= idle {
			return 0
		}
	}
	return idle
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
		text += ", " + slowestBy(s)
	}
	return text
}

// slowestBy is what held most of a slow request: "mostly" only where that is half or more.
func slowestBy(s *report.SlowRequest) string {
	if s.Mostly {
		return "mostly " + brief(topWord(s.TopStage, s.TopBound))
	}
	return brief(topWord(s.TopStage, s.TopBound)) + " held the most of it"
}

// topWord is what held the most of a request: a stage, of the root what limited its own time.
func topWord(stage, bound string) string {
	if bound != "" {
		return bound
	}
	return stage
}

// reportDoubts are what one must know before trusting the numbers.
func reportDoubts(d *report.Document) []string {
	r, q := &d.Requests, &d.Quality
	out := []string{fmt.Sprintf("%s of %s complete", Count(r.Complete), Plural(r.Total, "request"))}
	if n := lostInputs(d.Inputs); n > 0 {
		out = append(out, fmt.Sprintf("%s of %s could not be used", Count(n), Plural(int64(len(d.Inputs)), "input")))
	}
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
	if n := q.Adopted; n > 0 && float64(n) >= largeDoubt*float64(q.SpansRead) {
		of := Plural(q.SpansRead, "span")
		if q.RecordsRead > 0 {
			of += " and " + Plural(q.RecordsRead, "other record")
		}
		out = append(out, fmt.Sprintf("%s of %s placed by ids and times, without a recorded parent", Count(n), of))
	}
	guessed := int64(0)
	for i := range d.Inputs {
		if slices.ContainsFunc(d.Inputs[i].Notes, func(note string) bool { return strings.Contains(note, "by magnitude)") }) {
			guessed++
		}
	}
	if guessed > 0 {
		out = append(out, "units of "+Plural(guessed, "file")+" taken by magnitude")
	}
	if d.Survey == report.SurveyPerShard {
		out = append(out, "clocks estimated per shard")
	}
	return append(out, clockDoubts(d.Clock))
}

// largeDoubt is the share of spans from which on it matters how they were placed.
const largeDoubt = 0.1

// clockDoubts say how well the clocks of a capture are known against each other, and which are not and why.
func clockDoubts(clocks []report.Clock) string {
	var zero, moved, offset int64 // how far those may be wrong that were left as they are, and moved; by how much the last of these
	known, corrected, asTheyAre := 0, 0, false
	var movers []string
	noEpoch := false
	var oneSided, few, none, alone []string
	for i := range clocks {
		switch c := &clocks[i]; {
		case c.UncertaintyNS.OK:
			if known++; c.OffsetNS.V == 0 {
				zero = max(zero, c.UncertaintyNS.V)
				continue
			}
			if moved, offset = max(moved, c.UncertaintyNS.V), c.OffsetNS.V; !slices.Contains(movers, c.Process) {
				movers = append(movers, c.Process)
			}
			noEpoch = noEpoch || model.IsAdrift(c.Process) || model.IsAdrift(c.Reference)
			corrected++
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
	case len(movers) == 1 && !noEpoch: // else it is by decades
		text = append(text, fmt.Sprintf("%s's clock corrected by %s ± %s", brief(movers[0]), Duration(offset), Duration(moved)))
	case len(movers) > 0:
		text = append(text, fmt.Sprintf("%s corrected to ± %s", Plural(int64(len(movers)), "clock"), Duration(moved)))
	case asTheyAre && known == 0:
		text = append(text, "clocks taken as they are (--no-skew)")
	}
	switch {
	case known == 0 || known == corrected:
	case corrected > 0:
		text = append(text, "the others agree within ± "+Duration(zero))
	default:
		text = append(text, "clocks agree within ± "+Duration(zero))
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
		return strings.Join(names[:namesShown], ", ") + " and " + Count(int64(more)) + " more"
	}
	return strings.Join(names, ", ")
}

const namesShown = 3

// nextSplits are the reports by what the first lines left open: whether the cache pays, and what models have to do with it.
func (v *View) nextSplits(d *report.Document) (lines []string) {
	by := func(by report.By, why string) {
		if !slices.ContainsFunc(d.Groups, func(g report.Group) bool { return g.By == by.String() }) {
			lines = append(lines, v.command("report", "--by", by.String())+" ("+why+")")
		}
	}
	if d.Hits.HitRate.OK && !pays(d.CacheWorth) {
		by(report.ByHitClass, "are hits faster than misses?")
	}
	if len(d.Models) > 1 {
		by(report.ByModel, "each model for itself")
	}
	return lines
}

// reportNext are the commands that lead on: what the gravest thing means, and the request to look at.
func (v *View) reportNext(d *report.Document) string {
	lines := v.nextSplits(d)
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
