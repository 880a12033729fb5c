package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/model"
)

// What continuous integration shows of a gate (R9.6). A gate is given with what a result without evidence means for the exit status.

// A Gravity says what a result means for the run.
type Gravity uint8

const (
	Harmless  Gravity = iota // passed
	Notice                   // not enough evidence, and that is to pass
	Warning                  // of level warn, or only near its limit
	Undecided                // not enough evidence
	Broken
)

// GravityOf is what a result means; insufficient is the choice of --on-insufficient: error, pass or fail.
func GravityOf(r *budget.Result, insufficient string) Gravity {
	switch {
	case r.Verdict == budget.Pass:
		return Harmless
	case !r.Counts() || r.Verdict == budget.Warn:
		return Warning
	case r.Verdict == budget.Fail || insufficient == "fail":
		return Broken
	case insufficient == "pass":
		return Notice
	}
	return Undecided
}

type junitSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Suite    junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	File    string     `xml:"file,attr"`
	Line    int        `xml:"line,attr"`
	Failure *junitNote `xml:"failure"`
	Error   *junitNote `xml:"error"`
	Skipped *junitNote `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitNote struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes a gate as JUnit XML: a test case per result; broken rules are failures, results without evidence errors or, where they are to
// pass, skipped; warnings pass with their message.
func JUnit(w io.Writer, d *budget.Document, insufficient string) error {
	s := junitSuite{Name: Escape(d.Budget), Cases: []junitCase{}}
	for i := range d.Results {
		r := &d.Results[i]
		c := junitCase{Name: Escape(ruleOf(r)), Class: "cbtrace.gate", File: Escape(d.Budget), Line: r.Line}
		note := &junitNote{Message: Escape(r.Message), Type: r.Verdict, Text: details(r)}
		switch GravityOf(r, insufficient) {
		case Broken:
			c.Failure = note
			s.Failures++
		case Undecided:
			c.Error = note
			s.Errors++
		case Notice:
			note.Type, note.Text = "", ""
			c.Skipped = note
			s.Skipped++
		case Warning:
			c.Out = verdictOf(r) + ": " + Escape(r.Message) + "\n" + details(r)
		}
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Name: "cbtrace gate", Tests: s.Tests, Failures: s.Failures, Errors: s.Errors, Suite: s}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// details are the numbers of a result, a line each.
func details(r *budget.Result) string {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%s: %s\n", name, text) }
	line("rule", Escape(r.Rule))
	line("value", quantity(r.Value, r.Unit))
	line("limit", quantity(r.Bound, r.Unit))
	line("n", Count(r.N))
	interval := func(name string, low, high model.OptFloat) {
		if low.OK || high.OK {
			line(name, quantity(low, r.Unit)+" … "+quantity(high, r.Unit))
		}
	}
	interval("95 % bounds", r.Low, r.High)
	if r.Baseline.OK {
		line("baseline", quantity(r.Baseline, r.Unit))
		line("delta", quantity(r.Delta, r.Unit))
		interval("95 % bounds of the delta", r.DeltaLow, r.DeltaHigh)
	}
	if r.P.OK {
		line("p", probability(r.P.V))
	}
	if len(r.Exemplars) > 0 {
		line(exemplarsAre(r), Escape(strings.Join(r.Exemplars, ", ")))
	}
	return b.String()
}

// GateMarkdown writes a gate as Markdown, for the summary of a run or a comment: what did not pass, worst first, and a table of all results.
func GateMarkdown(w io.Writer, d *budget.Document) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### cbtrace gate: %s\n\n%s\n\n", d.Verdict, markdown(gateHeadline(d)))
	for _, r := range d.Worst() {
		fmt.Fprintf(&b, "- **%s** %s: %s", markdown(verdictOf(r)), codeSpan(ruleOf(r)), markdown(Escape(r.Message)))
		for n, id := range r.Exemplars {
			b.WriteString(map[bool]string{true: "; " + exemplarsAre(r) + " ", false: ", "}[n == 0] + codeSpan(Escape(id)))
		}
		b.WriteString("\n")
	}
	if len(d.Worst()) > 0 {
		b.WriteString("\n")
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "%s.\n\n", markdown(Escape(n)))
	}
	b.WriteString("| verdict | rule | value | limit | n |")
	if len(d.Baselines) > 0 {
		b.WriteString(" baseline | ratio | p |")
	}
	b.WriteString("\n|---|---|--:|--:|--:|")
	if len(d.Baselines) > 0 {
		b.WriteString("--:|--:|--:|")
	}
	b.WriteString("\n")
	for i := range d.Results {
		r := &d.Results[i]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |", verdictOf(r), codeSpan(ruleOf(r)), quantity(r.Value, r.Unit), quantity(r.Bound, r.Unit), Count(r.N))
		if len(d.Baselines) > 0 {
			ratio, p := "", ""
			if r.Ratio.OK {
				ratio = Number(r.Ratio.V)
			}
			if r.P.OK {
				p = markdown(probability(r.P.V))
			}
			base := ""
			if r.Baseline.OK {
				base = quantity(r.Baseline, r.Unit)
			}
			fmt.Fprintf(&b, " %s | %s | %s |", base, ratio, p)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdown makes text mean itself in Markdown, in a cell of a table too. An underscore within a word marks nothing there.
func markdown(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '_' && i > 0 && i+1 < len(s) && isWord(s[i-1]) && isWord(s[i+1]):
		case r == '<':
			b.WriteString("&lt;")
			continue
		case r == '&':
			b.WriteString("&amp;")
			continue
		case strings.ContainsRune("\\`*_{}[]>#|~!", r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// codeSpan is text as code: between more backticks than it holds in a row. In a table a bar ends a cell even there.
func codeSpan(s string) string {
	s = strings.ReplaceAll(Escape(s), "|", `\|`)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// annotationsPerKind is how many of a kind GitHub shows of a step.
const annotationsPerKind = 10

// GitHub writes a gate as workflow commands, which become annotations at the lines of the budget file: worst first, at most ten of a kind.
func GitHub(w io.Writer, d *budget.Document, insufficient string) error {
	seen := map[string]int{}
	for _, r := range d.Worst() {
		kind := map[Gravity]string{Broken: "error", Undecided: "error", Warning: "warning", Notice: "notice"}[GravityOf(r, insufficient)]
		if seen[kind]++; seen[kind] > annotationsPerKind {
			continue
		}
		file := path.Clean(filepath.ToSlash(d.Budget))
		if _, err := fmt.Fprintf(w, "::%s file=%s,line=%d,title=%s::%s\n", kind, commandProperty(file), r.Line, commandProperty("cbtrace gate: "+Escape(r.Metric)),
			commandData(Escape(r.Message)+exemplars(r))); err != nil {
			return err
		}
	}
	return nil
}

// commandData and commandProperty escape what would end a part of a workflow command.
func commandData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func commandProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
