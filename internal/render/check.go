package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/check"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
)

// Check is the judgement on a capture: the verdict, a section per problem, what was read, and clocks.
func (v *View) Check(d *check.Document) *Page {
	p := &Page{Main: "inputs"}
	p.Say(checkVerdict(d))
	for i := range d.Problems {
		problem := &d.Problems[i]
		tone := Plain
		if problem.Severity == check.Bad {
			tone = Bad
		}
		p.Title(Toned(tone, problem.Severity+": "+problem.Code) + ", " + howMany(problem))
		p.Fact("Means", Escape(problem.Message))
		p.Fact("Do", Escape(problem.WhatToDo))
		p.Fact("Switch", unbroken(Escape(problem.Switch)))
		var such []string
		for _, e := range problem.Exemplars {
			if problem.Unit != "request" {
				such = append(such, shorten(Escape(e), exampleMost, "…", false))
				continue
			}
			such = append(such, Escape(e))
		}
		p.Fact("Such as", strings.Join(such, ", "))
	}
	p.Title("Inputs")
	inputs := checkInputs(d)
	p.Table(inputs)
	if more := inputs.hide(inputsListed, func(i int) bool { in := &d.Inputs[i]; return in.Unusable != "" || in.Truncated || in.Skipped > 0 }); more > 0 {
		p.Say(fmt.Sprintf("%s without anything wrong: --format csv and json have all.", Plural(int64(more), "more file")))
	}
	for i := range d.Inputs {
		for _, text := range d.Inputs[i].Notes {
			p.Item(Escape(d.Inputs[i].File + ": " + text))
		}
	}
	reportClock(p, &report.Document{Clock: d.Clock, Survey: d.Survey})
	return p
}

// exampleMost is how many columns an example takes that is no id.
const exampleMost = 160

func checkVerdict(d *check.Document) string {
	bad := int64(0)
	for i := range d.Problems {
		if d.Problems[i].Severity == check.Bad {
			bad++
		}
	}
	missing := int64(len(d.Problems)) - bad
	read := fmt.Sprintf("%s in %s", Plural(d.Requests, "request"), Plural(int64(len(d.Inputs)), "file"))
	switch d.Verdict {
	case check.Clean:
		return Toned(Good, "clean") + ": " + read + ", and nothing is damaged or missing."
	case check.Notes:
		return Toned(Good, "notes") + ": " + read + fmt.Sprintf(". Nothing is damaged; %s could tell more.", Plural(missing, "thing"))
	}
	s := Toned(Bad, "bad") + ": " + read + fmt.Sprintf(". Its numbers are doubtful: %s", Plural(bad, "problem"))
	if missing > 0 {
		s += fmt.Sprintf("; beside them %s could tell more", Plural(missing, "thing"))
	}
	return s + "."
}

// inputsListed is how many files are listed, those with something wrong first.
const inputsListed = 100

// howMany is a count with its unit: "53 of 79 requests".
func howMany(p *check.Problem) string {
	switch {
	case p.Unit == "capture":
		return "of the capture"
	case p.Of > 0:
		return Count(p.Count) + " of " + units(p.Of, p.Unit)
	}
	return units(p.Count, p.Unit)
}

func units(n int64, unit string) string {
	switch {
	case unit == "clock": // a row of the table of clocks
		return oneOrMany(n, "pair of processes", "pairs of processes")
	case unit == "process" && n != 1:
		return Count(n) + " processes"
	}
	return Plural(n, unit)
}

// checkInputs is what was read.
func checkInputs(d *check.Document) *Table {
	t := &Table{Columns: []Column{{Name: "file", Shrink: true, Tail: true, Least: 24}, {Name: "format", Drop: 2}, {Name: "size", Key: "bytes", Kind: Amount, Drop: 1}, {Name: "spans", Kind: Tally},
		{Name: "records", Kind: Tally, Drop: 3}, {Name: "skipped", Kind: Tally}, {Name: "state", Page: true, Shrink: true},
		{Name: "truncated", Hidden: true}, {Name: "unusable", Hidden: true}}}
	for i := range d.Inputs {
		in := &d.Inputs[i]
		state := Cell{}
		switch {
		case in.Unusable != "":
			state = Word(in.Unusable)
		case in.Truncated:
			state = Word("ends in the middle of a record")
		}
		t.Add(Word(in.File), Word(in.Format), Of(in.Bytes), Of(in.Spans), Of(in.Records), Of(in.Skipped), state.Toned(Bad),
			Word(strconv.FormatBool(in.Truncated)), Word(in.Unusable))
	}
	return t
}
