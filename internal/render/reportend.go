package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// The end of the report page: what went wrong, and how far the numbers can be trusted.

func reportFailures(p *Page, d *report.Document) {
	p.Title("Failures and load")
	f := &d.Failed
	if f.Requests == 0 {
		p.Say("No request failed.")
	} else {
		p.Say(fmt.Sprintf("%s of %s failed: %s.", Count(f.Requests), Plural(d.Requests.Total, "request"), failedWords(f)))
		p.Say("Longest: " + idList(whyFailed(f, len(f.Exemplars)), 3))
	}
	reasons := slices.DeleteFunc(sortedKeys(f.ByReason), saidByFailures) // the others are of lookups
	if len(reasons) > 0 {
		p.Say("Of these, lookups that ended before they searched:")
	}
	for _, reason := range reasons {
		p.Item(fmt.Sprintf("%s: %s", brief(reason), Count(f.ByReason[reason])))
	}
	if text := loadWords(&d.Load); text != "" {
		p.Say(text + ".")
	}
}

func loadWords(l *report.Load) string {
	if !l.RequestsPerS.OK {
		return ""
	}
	text := fmt.Sprintf("%s requests/s", Number(l.RequestsPerS.V))
	if l.TokensPerS.OK {
		text += fmt.Sprintf(", %s tokens/s", Number(l.TokensPerS.V))
	}
	if mean := l.Concurrency.Mean; mean.OK {
		noun := "requests"
		if mean.V == 1 {
			noun = "request"
		}
		text += fmt.Sprintf(", %s %s at once on average", Number(mean.V), noun)
		if most := l.Concurrency.Max; most.OK && float64(most.V) >= mean.V { // few short requests are open when no second begins (R7.12)
			text += fmt.Sprintf(", at most %s at full seconds", Count(most.V))
		}
	}
	return text
}

// reportTrend has a row per bucket of time: all of them where they were asked for, else where they are few.
func (v *View) reportTrend(p *Page, d *report.Document) {
	p.Title("Trend")
	first := d.TTFT.N > 0 && d.ByTTFT()
	leading, beside := Column{Name: "latency p95", Kind: Time}, Column{Name: "ttft p95", Kind: Time, Drop: 2}
	if first {
		leading, beside = Column{Name: "ttft p95", Kind: Time}, Column{Name: "latency p95", Kind: Time, Hidden: true}
	}
	t := &Table{Name: "trend", Columns: []Column{{Name: "from", Page: true}, {Name: "start", Hidden: true},
		{Name: "start", Key: "start_unix_ns", Kind: Tally, Hidden: true}, {Name: "duration", Kind: Time, Hidden: true},
		{Name: "requests", Kind: Tally}, leading, {Name: "", Kind: Bar}, {Name: "ttft p50", Kind: Time, Hidden: true}, {Name: "latency p50", Kind: Time, Hidden: true}, beside,
		{Name: "hits", Key: "hit_rate", Kind: Share}, {Name: "failed", Kind: Tally, Drop: 1}, {Name: "at once", Key: "concurrency_mean", Kind: Ratio, Drop: 3}}}
	few := false
	leads := func(b *report.BucketResult) model.Opt {
		if first {
			return b.TTFTP95NS
		}
		return b.P95NS
	}
	percentile := func(n, p int64, v model.Opt) Cell {
		if v.OK && doubtful(n, p) {
			few = true
			return Known(v).Doubtful()
		}
		return Known(v)
	}
	most := int64(0)
	for i := range d.Buckets {
		most = max(most, leads(&d.Buckets[i]).V)
	}
	for i := range d.Buckets {
		b := &d.Buckets[i]
		other, lead := percentile(b.LatencyN, 950, b.P95NS), percentile(b.TTFTN, 950, b.TTFTP95NS)
		if !first {
			other, lead = lead, other
		}
		t.Add(Word(minute(b.StartUnixNS, v.Where)), Word(Instant(b.StartUnixNS, v.Where)), Of(b.StartUnixNS), Of(b.DurationNS), Of(b.Requests),
			lead, Drawn(amount(shareOf(leads(b).V, most).v)), percentile(b.TTFTN, 500, b.TTFTP50NS), percentile(b.LatencyN, 500, b.P50NS), other,
			KnownFloat(b.HitRate), Of(b.Failed), KnownFloat(b.Load.Concurrency.Mean))
	}
	if len(d.Buckets) > 1 && (v.Trend || len(d.Buckets) <= bucketsShown) {
		p.Table(t)
		p.Say("Each of " + Duration(d.Buckets[0].DurationNS) + "; --bucket makes them longer.")
		if few {
			p.once(tilde)
		}
		if v.Since != nil {
			p.Say(since(v.Since, v.Where))
		}
	} else {
		p.Data(t)
	}
}

// bucketsShown is how many buckets are shown unasked.
const bucketsShown = 12

// minute is an instant to the minute.
func minute(ns int64, where *time.Location) string {
	if where == nil {
		where = time.UTC
	}
	return time.Unix(0, ns).In(where).Format("2006-01-02 15:04Z07:00")
}

func reportFindings(p *Page, d *report.Document) {
	p.Title("Findings")
	all := &Table{Name: "findings", Columns: []Column{{Name: "severity"}, {Name: "code"}, {Name: "scope"}, {Name: "count", Kind: Tally}, {Name: "exemplar"}}}
	p.Data(all)
	if len(d.Findings) == 0 {
		p.Say("None.")
		return
	}
	var t *Table
	for i := range d.Findings {
		f := &d.Findings[i]
		example := ""
		if len(f.Exemplars) > 0 {
			example = f.Exemplars[0]
		}
		meaning := ""
		if n, ok := finding.ByCode(f.Code); ok {
			meaning = finding.Registry[n].Meaning
		}
		all.Add(Word(f.Severity), Word(f.Code), Word(f.Scope), Of(f.Count), Word(example))
		if i == 0 || d.Findings[i-1].Severity != f.Severity {
			t = &Table{Name: "findings_" + f.Severity, Columns: []Column{{Name: f.Severity, Key: "code"}, {Name: "n", Key: "count", Kind: Tally},
				{Name: "for example", Key: "exemplar", Drop: 1}, {Name: "which is", Key: "meaning", Drop: 2}}}
			p.Table(t)
		}
		t.Add(Word(f.Code).Toned(severityTone(f.Severity)), Of(f.Count), Word(example), Word(meaning))
	}
	p.Say("cbtrace explain CODE says what one means, how it is told and what to do.")
}

func reportSlowest(p *Page, d *report.Document) {
	p.Title("Slowest")
	t := &Table{Name: "slowest", Columns: []Column{{Name: "request", Key: "id"}, {Name: "ttft", Kind: Time}, {Name: "latency", Key: "duration", Kind: Time},
		{Name: "most in", Page: true, Shrink: true, Most: nameMost, Drop: 1}, {Name: "top stage", Hidden: true}, {Name: "top bound", Hidden: true}, {Name: "which is", Drop: 2}}}
	for i := range d.Slowest {
		r := &d.Slowest[i]
		why := stageWords(r.TopStage)
		if r.TopBound != "" {
			why = reasonOf(r.TopBound)
		}
		t.Add(Word(r.ID), Known(r.TTFTNS), Of(r.DurationNS), Word(topWord(r.TopStage, r.TopBound)), Word(r.TopStage), Word(r.TopBound), Word(why))
	}
	t.Limit = slowestShown
	p.Table(t)
}

const slowestShown = 10

func reportClock(p *Page, d *report.Document) {
	p.Title("Clocks")
	if len(d.Clock) == 0 {
		p.Say("Each request is on one clock.")
	}
	p.Table(clockTable(d.Clock))
	if slices.ContainsFunc(d.Clock, func(c report.Clock) bool { return c.OneSided() }) {
		p.Say("one-sided: the pairs only say that a clock is not ahead, or not behind, by more than some amount.")
	}
	if d.Survey == report.SurveySampled || d.Survey == report.SurveyPerShard {
		p.Say("Estimated from a part of the capture (" + d.Survey + ").")
	}
}

// clockTable is what is added to the clocks of processes. A drift or an offset below its uncertainty is not printed as fact (R5.8).
func clockTable(clocks []report.Clock) *Table {
	t := &Table{Name: "clocks", Columns: []Column{{Name: "process", Most: 40, Least: 14, Shrink: true}, {Name: "against", Key: "reference", Most: 40, Least: 14, Shrink: true}, {Name: "offset", Kind: Time}, {Name: "±", Key: "uncertainty", Kind: Time},
		{Name: "ppm", Key: "drift_ppm", Kind: Ratio, Drop: 3}, {Name: "pairs", Kind: Tally, Drop: 1}, {Name: "disagree", Key: "disagreeing", Kind: Tally, Drop: 2}, {Name: "basis"}}}
	for i := range clocks {
		c := &clocks[i]
		drift := KnownFloat(c.DriftPPM)
		if c.DriftPPM.V == 0 {
			drift = Cell{}
		}
		basis := c.Basis
		switch {
		case basis != "none":
		case c.OffsetNS.OK:
			basis = "as it is"
		case c.Pairs == 0:
			basis = "no pair"
		case c.OneSided():
			basis = "one-sided"
		default:
			basis = "too few"
		}
		offset := Known(c.OffsetNS)
		if offset.known && (model.IsAdrift(c.Process) || model.IsAdrift(c.Reference)) { // decades, which would be the unit of all the others
			offset = offset.Saying("no epoch")
		}
		t.Add(Word(c.Process), Word(c.Reference), offset, Known(c.UncertaintyNS), drift, Of(c.Pairs), Of(c.Disagreeing), Word(basis).InCSV(c.Basis))
	}
	return t
}

func reportQuality(p *Page, d *report.Document) {
	p.Title("Quality")
	r, q := &d.Requests, &d.Quality
	p.Say(fmt.Sprintf("%s of %s complete; %s at the edge of the capture. %s and %s read from %s.", Count(r.Complete), Plural(r.Total, "request"), Count(r.Edge), Plural(q.SpansRead, "span"),
		Plural(q.RecordsRead, "other record"), inputsRead(d.Inputs)))
	if r.Other > 0 {
		p.Say(fmt.Sprintf("%s without a stage that is known are not in this report (--all).", Plural(r.Other, "request")))
	}
	qualityItems(p, []counted{{q.Skipped, "records skipped"}, {q.Duplicated, "exact copies dropped"}, {q.OpenCopies, "copies without an end dropped"}, {q.Conflicting, "ids repeated with other content"},
		{q.Unattributed, "spans of no request"}, {q.Orphaned, "spans whose parent is missing"}, {q.Adopted, "spans whose parent was inferred"}, {q.Clipped, "spans cut to their parent"},
		{q.Outside, "spans outside their parent"}, {q.Cycles, "rings of parents cut"}, {q.Negative, "spans that end before they start"}, {q.Untimed, "spans without a time"},
		{q.Open, "spans without an end"}, {q.UnknownStages, "spans with unknown names"}, {q.Coalesced, "profile lines made one span with others"}, {q.Dual, "spans seen as a profile line too"}})
	t := &Table{Name: "inputs", Columns: []Column{{Name: "file"}, {Name: "format"}, {Name: "size", Key: "bytes", Kind: Amount},
		{Name: "spans", Kind: Tally}, {Name: "records", Kind: Tally}, {Name: "skipped", Kind: Tally}, {Name: "errors", Key: "error_count", Kind: Tally}}}
	bad, errors := int64(0), int64(0)
	for i := range d.Inputs {
		in := &d.Inputs[i]
		t.Add(Word(in.File), Word(in.Format), Of(in.Bytes), Of(in.Spans), Of(in.Records), Of(in.Skipped), Of(in.ErrorCount))
		if in.ErrorCount == 0 {
			continue
		}
		if bad++; bad > badInputsShown {
			errors += in.ErrorCount
			continue
		}
		for i, e := range in.Errors {
			if i == errorsShown {
				p.Item(fmt.Sprintf("… %s more in %s", Count(in.ErrorCount-errorsShown), Escape(in.File)))
				break
			}
			p.Item(Escape(e))
		}
	}
	if more := bad - badInputsShown; more > 0 {
		p.Item(fmt.Sprintf("… %s in %s", Plural(errors, "more error"), Plural(more, "more input")))
	}
	p.Data(t)
}

// inputsRead is how many inputs were read, and what was the matter with the others.
func inputsRead(inputs []report.Input) string {
	all, lost, foreign := int64(len(inputs)), lostInputs(inputs), int64(0)
	for i := range inputs {
		if inputs[i].Foreign {
			foreign++
		}
	}
	if lost+foreign == 0 {
		return Plural(all, "input")
	}
	var others []string
	if lost > 0 {
		others = append(others, Count(lost)+" could not be used")
	}
	if foreign > 0 {
		others = append(others, oneOrMany(foreign, "holds nothing that cbtrace reads", "hold nothing that cbtrace reads"))
	}
	return fmt.Sprintf("%s of %s: %s", Count(all-lost-foreign), Plural(all, "input"), strings.Join(others, ", "))
}

// lostInputs is how many inputs could not be used.
func lostInputs(inputs []report.Input) (n int64) {
	for i := range inputs {
		if inputs[i].Lost {
			n++
		}
	}
	return n
}

// badInputsShown is of how many inputs errors are shown.
const badInputsShown = 10

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
