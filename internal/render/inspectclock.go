package render

import (
	"fmt"
	"slices"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
)

// clockWords say how well the clocks of a request are known against each other.
func clockWords(d *inspect.Document) string {
	processes := timedProcesses(d)
	if len(processes) < 2 {
		return "one clock"
	}
	var clocks []report.Clock
	for _, c := range d.Clock {
		if slices.Contains(processes, c.Process) {
			clocks = append(clocks, c)
		}
	}
	clocks = inPairs(clocks, d.Pairs)
	if len(clocks) == 0 {
		return units(int64(len(processes)), "process") + ", of whose clocks nothing is known"
	}
	return units(int64(len(processes)), "process") + ", " + clockDoubts(clocks)
}

// inPairs puts in the place of a clock without a route the pairs of the report that tell why there is none, where there are some.
func inPairs(clocks, pairs []report.Clock) []report.Clock {
	var out []report.Clock
	for _, c := range clocks {
		if c.Basis != "none" || c.OffsetNS.OK || c.Pairs > 0 {
			out = append(out, c)
			continue
		}
		why := 0
		for _, x := range pairs {
			if x.Basis == "none" && (x.Process == c.Process || x.Reference == c.Process) {
				why++
				if !slices.Contains(out, x) {
					out = append(out, x)
				}
			}
		}
		if why == 0 {
			out = append(out, c)
		}
	}
	return out
}

// timedProcesses are those that wrote when something was: spans, or moments.
func timedProcesses(d *inspect.Document) []string {
	var out []string
	for i := range d.Spans {
		if s := &d.Spans[i]; s.StartNS.OK && !slices.Contains(s.Flags, "synthetic") && !slices.Contains(out, s.Process) {
			out = append(out, s.Process)
		}
	}
	return out
}

// looseClocks are the processes whose clocks are not known against the root's, and so are taken as they are.
func looseClocks(d *inspect.Document) map[string]bool {
	loose := map[string]bool{}
	for i := range d.Clock {
		if c := &d.Clock[i]; !c.OffsetNS.OK {
			loose[c.Process] = true
		}
	}
	return loose
}

// startCell is when a span began. Below its uncertainty it is not printed as fact, and where that is not known it says so (R5.8).
func startCell(start Cell, s *inspect.Span, loose map[string]bool) Cell {
	if loose[s.Process] && !s.UncertaintyNS.OK {
		return start.Loose()
	}
	return start.Within(s.UncertaintyNS)
}

// looseWords explain ±? on a page that has it.
const looseWords = "±?: on a clock that is not known against that of the request, and taken as it is."

func inspectClock(p *Page, d *inspect.Document) {
	p.Title("Clocks")
	processes := timedProcesses(d)
	var rows []report.Clock
	reference := ""
	for _, c := range d.Clock {
		if slices.Contains(processes, c.Process) {
			rows, reference = append(rows, c), c.Reference
		}
	}
	if len(rows) > 0 {
		p.Say("Times are on the clock of " + Escape(reference) + "; added to the others:")
	}
	t := clockTable(rows)
	t.Columns[1].Hidden = true
	for i, c := range rows {
		if instead := inPairs(rows[i:i+1], d.Pairs); instead[0] != c { // there are pairs, but they do not lead here
			t.Rows[i][len(t.Columns)-1] = Word("no route").InCSV(c.Basis)
		}
	}
	p.Table(t)
	for _, c := range inPairs(rows, d.Pairs) {
		if c.OneSided() {
			p.Say(fmt.Sprintf("No route: %s and %s are bounded from one side only, by %s.", Escape(c.Process), Escape(c.Reference), Plural(c.Pairs, "pair")))
		}
	}
}
