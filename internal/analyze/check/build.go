package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A Subject is a capture that was read and counted.
type Subject struct {
	Inputs   []model.InputStats // by path
	Dict     *model.Dict
	Report   *report.Document
	Requests *Tally // with a stage of the vocabulary: what others lack tells nothing of vLLM and LMCache
}

// Build judges a capture.
func Build(s *Subject) *Document {
	d := &Document{
		Schema: Schema, Inputs: []Input{}, Quality: s.Report.Quality, Survey: s.Report.Survey, Findings: []report.Finding{}, Verdict: Clean,
		Requests: s.Report.Requests.Total, Problems: []Problem{}, Clock: s.Report.Clock,
	}
	for i := range s.Inputs {
		in := &s.Inputs[i]
		d.Inputs = append(d.Inputs, Input{
			report.Input{File: in.File, Format: in.Format, Bytes: in.Bytes, Spans: in.Spans, Records: in.Records, Skipped: in.Skipped,
				Errors: append([]string{}, in.Errors...), ErrorCount: in.ErrorCount},
			append([]string{}, in.Notes...), in.Truncated, in.Gaps, in.Unusable,
		})
	}
	for _, f := range s.Report.Findings {
		if f.Scope == finding.Capture.String() {
			d.Findings = append(d.Findings, f)
		}
	}
	b := builder{s, d, s.Requests}
	b.input()
	b.time()
	b.requests()
	b.processes()
	b.quality()
	for i := range d.Problems {
		if d.Verdict == Clean {
			d.Verdict = Notes
		}
		if d.Problems[i].Severity == Bad {
			d.Verdict = Bad
		}
	}
	slices.SortStableFunc(d.Problems, func(x, y Problem) int { return cmp.Compare(x.Severity, y.Severity) }) // bad before note
	return d
}

const note = "note"

// builder adds the problems one by one, those first on which others depend.
type builder struct {
	*Subject
	doc   *Document
	tally *Tally
}

// add adds a problem where something shows it.
func (b *builder) add(p Problem) {
	if p.Count == 0 {
		return
	}
	p.Exemplars = append([]string{}, p.Exemplars[:min(len(p.Exemplars), examples)]...)
	b.doc.Problems = append(b.doc.Problems, p)
}

// seen adds a problem of so many requests of others, with examples.
func (b *builder) seen(f, of fact, p Problem) {
	p.Count, p.Of, p.Unit, p.Exemplars = b.tally.n[f], b.tally.n[of], "request", b.tally.exemplars(f)
	b.add(p)
}

// input is what was bad about files.
func (b *builder) input() {
	var unusable, foreign, skipped, damaged, cut, gaps []string
	var records, lost int64
	for i := range b.Inputs {
		in := &b.Inputs[i]
		if records += in.Skipped; in.Skipped > 0 { // of inputs of which nothing could be used too
			skipped = append(skipped, in.Here(firstOfRecord(in)))
		}
		switch {
		case in.Foreign():
			foreign = append(foreign, in.Here(in.File+": "+in.Unusable))
			continue
		case in.Unusable != "":
			unusable = append(unusable, in.Here(firstOf(in.Errors, in.File+": "+in.Unusable)))
			continue
		case in.Truncated:
			cut = append(cut, in.Here(in.File))
		}
		if in.ErrorCount > 0 && in.Skipped == 0 && !in.Truncated {
			damaged = append(damaged, in.Here(firstOf(in.Errors, in.File)))
		}
		if in.Gaps > 0 {
			lost += in.Gaps
			gaps = append(gaps, in.Here(in.File+": "+model.Digits(in.Gaps)))
		}
	}
	switch other := b.Report.Requests.Other; {
	case b.doc.Requests == 0 && other > 0:
		b.add(Problem{Code: "no_vocabulary", Severity: note, Count: other, Unit: "request",
			Message:  "No span of the requests that were selected is one of vLLM, LMCache or CacheBlend, so they are left out: the capture holds others that count.",
			WhatToDo: "Look at what --since, --until and --where leave; cbtrace list --all shows it."})
	case b.doc.Requests == 0:
		var names []string
		for i := range b.Inputs {
			names = append(names, b.Inputs[i].Names...)
		}
		slices.Sort(names)
		b.add(Problem{Code: "no_request", Severity: Bad, Count: 1, Unit: "capture", Exemplars: slices.Compact(names),
			Message:  "No request was found: no span has a session_id, request_id, req_id or external_request_id, and no llm_request a gen_ai.request.id.",
			WhatToDo: "Look at what the files hold."})
	case b.tally.n[anyRequest] == 0:
		b.add(Problem{Code: "no_vocabulary", Severity: note, Count: 1, Unit: "capture",
			Message:  "No span is one of vLLM, LMCache or CacheBlend, so every trace counts as a request of which only times are known.",
			WhatToDo: "Look whether the files are those of the right service."})
	}
	b.add(Problem{Code: "unusable_input", Severity: Bad, Count: int64(len(unusable)), Of: int64(len(b.Inputs)), Unit: "input", Exemplars: unusable,
		Message:  "Files that ought to hold traces cannot be used.",
		WhatToDo: "Read what is said of each; export them again, or name the others alone."})
	b.add(Problem{Code: "skipped_records", Severity: Bad, Count: records, Unit: "record", Exemplars: skipped,
		Message:  "Records are broken and were left out.",
		WhatToDo: "Look at the places named: a file that two processes wrote, or one that was copied while it was written."})
	b.add(Problem{Code: "damaged_input", Severity: Bad, Count: int64(len(damaged)), Of: int64(len(b.Inputs)), Unit: "input", Exemplars: damaged,
		Message:  "Parts of files cannot be read and were left out; the rest of them counts.",
		WhatToDo: "Look at the places named, and at what wrote them."})
	b.add(Problem{Code: "truncated_input", Severity: Bad, Count: int64(len(cut)), Of: int64(len(b.Inputs)), Unit: "input", Exemplars: cut,
		Message:  "Files end in the middle of a record: what came after is missing.",
		WhatToDo: "Copy them once the collector has rotated them or was stopped; it writes what it holds every second."})
	b.add(Problem{Code: "dropped_events", Severity: Bad, Count: lost, Unit: "record", Exemplars: gaps,
		Message:  "The capture says that events were dropped before they were written.",
		WhatToDo: "Compare lmcache_mp.event_bus.dropped_events_total: the server's event bus holds 10 000 events and drops the rest; export to a collector nearby."})
	for _, f := range b.doc.Findings {
		if f.Code != "capture_incomplete" && f.Code != "no_llm_request" { // told in detail here and below
			b.finding(f)
		}
	}
	b.add(Problem{Code: "foreign_file", Severity: note, Count: int64(len(foreign)), Of: int64(len(b.Inputs)), Unit: "input", Exemplars: foreign,
		Message:  "Files of a folder hold nothing that cbtrace reads.",
		WhatToDo: "Nothing, unless one of them should be part of the capture."})
}

// firstOf is the first of some texts, or what stands for it.
func firstOf(texts []string, otherwise string) string {
	if len(texts) > 0 {
		return texts[0]
	}
	return otherwise
}

// firstOfRecord is the first error of a record. Of an input of lines it has a line: what is said of the input as a whole has none and comes before,
// such as how its compression ended.
func firstOfRecord(in *model.InputStats) string {
	for _, text := range in.Errors {
		if at, ok := strings.CutPrefix(text, in.File+":"); ok && !strings.HasPrefix(at, " ") {
			return text
		}
	}
	return firstOf(in.Errors, in.File)
}

// finding adds a finding of the capture as it is registered.
func (b *builder) finding(f report.Finding) {
	n, ok := finding.ByCode(f.Code)
	if !ok {
		return
	}
	info := &finding.Registry[n]
	p := Problem{Code: f.Code, Severity: Bad, Count: f.Count, Unit: "process", Message: info.Meaning, WhatToDo: info.WhatToDo, Exemplars: f.Exemplars}
	if info.Severity == finding.Note {
		p.Severity = note
	}
	if n == finding.DualMismatch {
		p.Unit = "stage"
	}
	b.add(p)
}

// time is what is not known of clocks.
func (b *builder) time() {
	known := map[string]bool{}
	for _, c := range b.doc.Clock {
		if c.Basis != "none" {
			known[c.Process], known[c.Reference] = true, true
		}
	}
	var loose []string
	few, oneSided := false, false
	for i := range b.doc.Clock {
		switch c := &b.doc.Clock[i]; {
		case c.Basis != "none" || known[c.Process] && known[c.Reference]:
		case c.Reference == "":
			loose = append(loose, c.Process+" and any other (no pair of spans compares them)")
			few = true
		case c.OneSided():
			loose = append(loose, fmt.Sprintf("%s and %s (%s of spans, bounded from one side only)", c.Process, c.Reference, finding.Counted(c.Pairs, "pair")))
			oneSided = true
		default:
			loose = append(loose, fmt.Sprintf("%s and %s (pairs of spans: %s, needed: %d)", c.Process, c.Reference, model.Digits(c.Pairs), report.PairsNeeded))
			few = true
		}
	}
	do := "Keep the clocks of the hosts in step (chrony, PTP)."
	if few {
		do += " Five requests or more with the spans or CB_PROFILE lines of scheduler and worker around the server's would tell."
	}
	if oneSided {
		do += " More requests do not help where pairs bound clocks from one side only: that takes spans of which one holds the other from start to end, the scheduler's cb.request in llm_request, the server's cb.lookup in the scheduler's cb.lookup.rpc, its cb.retrieve in a worker's cb.start_load_kv."
	}
	b.add(Problem{Code: "clock_unknown", Severity: note, Count: int64(len(loose)), Of: int64(len(b.doc.Clock)), Unit: "clock", Exemplars: loose,
		Message:  "The capture does not say how far the clocks of two processes are apart: too few spans of them hold one another, or they bound it from one side only. Their times are taken as they are.",
		WhatToDo: do})
}

// processes is what processes should say of themselves.
func (b *builder) processes() {
	var unnamed []string
	for p := range b.tally.processes {
		unnamed = append(unnamed, b.Dict.Proc(p).Name)
	}
	slices.Sort(unnamed)
	b.add(Problem{Code: "process_unnamed", Severity: note, Count: int64(len(unnamed)), Unit: "process", Exemplars: unnamed,
		Message:  "Spans do not say which process wrote them, so all of a file count as one process with one clock.",
		WhatToDo: "Give every process a name of its own: the cache server by its flag, vLLM by the variable OTEL_RESOURCE_ATTRIBUTES=service.instance.id=NAME.",
		Switch:   "LMCache: --instance-id NAME"})
	var models []string
	for m := range b.tally.models {
		models = append(models, m)
	}
	slices.SortFunc(models, func(x, y string) int {
		return cmp.Or(cmp.Compare(b.tally.models[y], b.tally.models[x]), strings.Compare(x, y))
	})
	if len(models) > 1 {
		b.add(Problem{Code: "several_models", Severity: note, Count: int64(len(models)), Unit: "model", Exemplars: models,
			Message:  "Requests are of several models, and percentiles over all of them mix them.",
			WhatToDo: "Tell them apart with report --by model, or take one with --where."})
	}
}

// quality is what is odd about spans, whatever the request.
func (b *builder) quality() {
	q := &b.doc.Quality
	spans := func(code string, n int64, message, whatToDo string) {
		b.add(Problem{Code: code, Severity: note, Count: n, Of: q.SpansRead, Unit: "span", Message: message, WhatToDo: whatToDo})
	}
	spans("unattributed_spans", q.Unattributed, "Spans belong to no request: they have no id and no ancestor that has one.",
		"Nothing, where they are of other programs; look at --key trace otherwise.")
	spans("duplicated_spans", q.Duplicated, "Spans were there twice and count once.",
		"Nothing: a file was given twice, or two exporters wrote the same spans.")
	spans("conflicting_spans", q.Conflicting, "Spans repeat the id of another with other content; all of them count.",
		"Look for an exporter that retries, or for two processes that made up the same ids.")
	spans("untimed_spans", q.Untimed, "Spans have no time: they are shown and counted, and are in no percentile.",
		"Profile lines on a clock without an epoch need spans of the same requests beside them; elsewhere look at the exporter.")
	spans("negative_spans", q.Negative, "Spans end before they start and are left out of all times.",
		"Look for clocks that are set while processes run: step them at boot only.")
	spans("open_spans", q.Open, "Spans have no end: they were exported before they were over, or it got lost.",
		"Export once requests are done; stop the server in order, so that it closes what is open.")
}
