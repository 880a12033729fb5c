package render

import (
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/check"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
)

// A page of problems: the verdict first, a switch that can be copied, nothing of an input as it is.
func TestCheckPage(t *testing.T) {
	d := &check.Document{Verdict: check.Bad, Requests: 80, Survey: "whole", Inputs: []check.Input{
		{Input: report.Input{File: "a.jsonl", Format: "otlp-json", Bytes: 2_000, Spans: 8}, Notes: []string{"taken for \x1b[2J"}},
		{Input: report.Input{File: "b.jsonl", Format: "otlp-json", Bytes: 1_000, Spans: 2, Skipped: 1}, Truncated: true},
		{Input: report.Input{File: "c", Bytes: 1_000}, Unusable: "an unknown format"},
	}, Problems: []check.Problem{
		{Code: "truncated_input", Severity: check.Bad, Count: 1, Of: 3, Unit: "input", Message: "It ends.", WhatToDo: "Copy it later.", Exemplars: []string{"b\u202e.jsonl"}},
		{Code: "no_propagation", Severity: "note", Count: 1_053, Of: 1_079, Unit: "request", Message: "Apart.", WhatToDo: "Set it.", Switch: "LMCACHE_MP_TRACE_CONTEXT=1", Exemplars: []string{"x", "y"}},
		{Code: "process_unnamed", Severity: "note", Count: 2, Unit: "process", Message: "Unnamed.", WhatToDo: "Name them."},
		{Code: "no_llm_request", Severity: "note", Count: 1, Unit: "capture", Message: "None.", WhatToDo: "Export."},
	}}
	var b strings.Builder
	if err := (&View{}).Check(d).Text(&b, Style{Width: 80}); err != nil {
		t.Fatal(err)
	}
	want := `bad: 80 requests in 3 files. Its numbers are doubtful: 1 problem; beside them 3
things could tell more.

bad: truncated_input, 1 of 3 inputs
  Means    It ends.
  Do       Copy it later.
  Such as  b\u202e.jsonl

note: no_propagation, 1,053 of 1,079 requests
  Means    Apart.
  Do       Set it.
  Switch   LMCACHE_MP_TRACE_CONTEXT=1
  Such as  x, y

note: process_unnamed, 2 processes
  Means    Unnamed.
  Do       Name them.

note: no_llm_request, of the capture
  Means    None.
  Do       Export.

Inputs
file     format     size kB  spans  skipped  state
a.jsonl  otlp-json        2      8        0
b.jsonl  otlp-json        1      2        1  ends in the middle of a record
c                         1      0        0  an unknown format

  a.jsonl: taken for \x1b[2J

Clocks
Each request is on one clock.
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	for verdict, begins := range map[string]string{check.Clean: "clean: 80 requests in 3 files, and nothing is damaged or missing.", check.Notes: "notes: 80 requests in 3 files. Nothing is damaged; 1 thing could tell more."} {
		d.Verdict, d.Problems = verdict, d.Problems[:0]
		if verdict == check.Notes {
			d.Problems = []check.Problem{{Severity: "note", Unit: "capture"}}
		}
		b.Reset()
		if err := (&View{}).Check(d).Text(&b, Style{}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), begins) {
			t.Errorf("%s: %s", verdict, b.String())
		}
	}
}
