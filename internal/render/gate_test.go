package render

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/model"
)

// gateDocument has a result of each kind, with texts that mean something in each format.
func gateDocument() *budget.Document {
	some := model.SomeFloat
	return &budget.Document{
		Schema: budget.Schema, Verdict: budget.Fail, Alpha: 0.05, Budget: "ci/a,b:c.yaml", Requests: 1234, Baselines: []budget.BaselineInfo{{File: "main.cbr", Requests: 1000}},
		Notes: []string{"1 baseline: run-to-run noise unknown"},
		Results: []budget.Result{
			{Rule: "request.p50 ≤ 1s", Metric: "request.p50", Level: "error", Verdict: budget.Pass, Value: some(20e6), Bound: some(1e9), N: 1200, Low: some(19e6), High: some(21e6), Unit: "ns", Line: 3, Exemplars: []string{}, Message: "request.p50 is 20 ms, within 1 s (n 1200)"},
			{Rule: "cb.*.p95 ≤ 25ms", Metric: "cb.full_recomp.p95", Level: "error", Verdict: budget.Fail, Value: some(31.2e6), Bound: some(25e6), N: 900, Low: some(29e6), High: some(33e6), Unit: "ns", Line: 4, Exemplars: []string{"r|1", "r`2"}, Message: "100% <bad> & | `x`\n::error::\x1b[2J"},
			{Rule: "hit_rate ≥ 0.6", Metric: "hit_rate", Level: "error", Verdict: budget.Warn, Value: some(0.55), Bound: some(0.6), N: 1200, Low: some(0.5), High: some(0.61), Unit: "ratio", Line: 5, Exemplars: []string{"r3"}, Message: "hit_rate is 0.55"},
			{Rule: "ttft.p99 ≤ 1s", Metric: "ttft.p99", Level: "error", Verdict: budget.Insufficient, Bound: some(1e9), N: 12, Unit: "ns", Line: 6, Exemplars: []string{}, Message: "ttft.p99: not enough evidence"},
			{Rule: "requests ≥ 2000", Metric: "requests", Level: "warn", Verdict: budget.Fail, Value: some(1234), Bound: some(2000), N: 1234, Unit: "count", Line: 7, Exemplars: []string{}, Message: "requests is 1234: under 2000"},
			{Rule: "ttft.p50 ≤ baseline × 1.05", Metric: "ttft.p50", Level: "error", Verdict: budget.Fail, Value: some(110e6), Bound: some(105e6), N: 1200, Baseline: some(100e6), Ratio: some(1.1), Delta: some(10e6), DeltaLow: some(8e6), DeltaHigh: some(12e6), P: some(1. / 10001), Unit: "ns", Line: 8, Exemplars: []string{"r4"}, Message: "ttft.p50 is 110 ms"},
		},
	}
}

func written(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGatePage(t *testing.T) {
	got := text(t, Gate(gateDocument()), 0)
	for _, want := range []string{
		"Fail: 6 results, 3 broken, 1 without enough evidence, 1 near or over, 1 passed; 1,234 requests held against ci/a,b:c.yaml, 1 baseline.\n",
		"fail               cb.full_recomp.p95 ≤ 25ms   31.2 ms  25 ms     900  29 ms … 33 ms\n",
		"fail (level warn)  requests ≥ 2000             1,234    2,000   1,234\n",
		"fail               ttft.p50 ≤ baseline × 1.05  110 ms   105 ms  1,200  Δ 8 ms … 12 ms  100 ms    1.1    <0.0005\n",
		"1 baseline: run-to-run noise unknown.\n",
		`  fail: 100% <bad> & | ` + "`x`" + `\x0a::error::\x1b[2J; for example r|1, r` + "`2.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if fail, warn := strings.Index(got, "  fail: ttft.p50"), strings.Index(got, "  fail (level warn)"); fail < 0 || fail > warn {
		t.Errorf("what only warns stands before what is broken:\n%s", got)
	}
}

// Whatever stands in a message, there is one command a line, with the file, line and title that were meant.
func TestGitHub(t *testing.T) {
	got := written(t, func(b *bytes.Buffer) error { return GitHub(b, gateDocument(), "error") })
	want := "::error file=ci/a%2Cb%3Ac.yaml,line=4,title=cbtrace gate%3A cb.full_recomp.p95::100%25 <bad> & | `x`\\x0a::error::\\x1b[2J; for example r|1, r`2.\n" +
		"::error file=ci/a%2Cb%3Ac.yaml,line=8,title=cbtrace gate%3A ttft.p50::ttft.p50 is 110 ms; for example r4.\n" +
		"::error file=ci/a%2Cb%3Ac.yaml,line=6,title=cbtrace gate%3A ttft.p99::ttft.p99: not enough evidence.\n" +
		"::warning file=ci/a%2Cb%3Ac.yaml,line=5,title=cbtrace gate%3A hit_rate::hit_rate is 0.55; for example r3.\n" +
		"::warning file=ci/a%2Cb%3Ac.yaml,line=7,title=cbtrace gate%3A requests::requests is 1234: under 2000.\n"
	if got != want {
		t.Errorf("have\n%s\nwant\n%s", got, want)
	}
	if got := written(t, func(b *bytes.Buffer) error { return GitHub(b, gateDocument(), "pass") }); !strings.Contains(got, "::notice file=ci/a%2Cb%3Ac.yaml,line=6,") {
		t.Errorf("evidence that is to pass is no notice:\n%s", got)
	}
	// at most ten of a kind, the worst
	d := &budget.Document{Budget: "b.yaml"}
	for i := range 30 {
		d.Results = append(d.Results, budget.Result{Metric: fmt.Sprint("m", i), Level: "error", Verdict: []string{budget.Fail, budget.Warn}[i%2], Value: model.SomeFloat(float64(i)), Bound: model.SomeFloat(1), Line: i + 1})
	}
	got = written(t, func(b *bytes.Buffer) error { return GitHub(b, d, "error") })
	if e, w := strings.Count(got, "::error "), strings.Count(got, "::warning "); e != 10 || w != 10 || !strings.HasPrefix(got, "::error file=b.yaml,line=29,") || strings.Contains(got, "line=3,") {
		t.Errorf("%d errors and %d warnings:\n%s", e, w, got)
	}
}

func TestJUnit(t *testing.T) {
	for insufficient, want := range map[string][3]int{"error": {2, 1, 0}, "fail": {3, 0, 0}, "pass": {2, 0, 1}} { // failures, errors, skipped
		got := written(t, func(b *bytes.Buffer) error { return JUnit(b, gateDocument(), insufficient) })
		var s junitSuites
		if err := xml.Unmarshal([]byte(got), &s); err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		have := [3]int{}
		for _, c := range s.Suite.Cases {
			if c.Failure != nil {
				have[0]++
			}
			if c.Error != nil {
				have[1]++
			}
			if c.Skipped != nil {
				have[2]++
			}
		}
		if have != want || len(s.Suite.Cases) != 6 || s.Tests != 6 || s.Failures != want[0] || s.Errors != want[1] || s.Suite.Skipped != want[2] {
			t.Errorf("%s: %v of %d, says %d %d %d", insufficient, have, len(s.Suite.Cases), s.Failures, s.Errors, s.Suite.Skipped)
		}
		c := s.Suite.Cases[1]
		if c.Failure.Message != "100% <bad> & | `x`\\x0a::error::\\x1b[2J" || c.Name != "cb.full_recomp.p95 ≤ 25ms" || c.Line != 4 || !strings.Contains(c.Failure.Text, "95 % bounds: 29 ms … 33 ms\nfor example: r|1, r`2\n") {
			t.Errorf("%+v", c)
		}
	}
}

func TestGateMarkdown(t *testing.T) {
	got := written(t, func(b *bytes.Buffer) error { return GateMarkdown(b, gateDocument()) })
	for _, want := range []string{
		"### cbtrace gate: fail\n\n",
		"- **fail** `cb.full_recomp.p95 ≤ 25ms`: 100% &lt;bad\\> &amp; \\| \\`x\\`\\\\x0a::error::\\\\x1b\\[2J; for example `r\\|1`, ``r`2``\n",
		"| verdict | rule | value | limit | n | baseline | ratio | p |\n|---|---|--:|--:|--:|--:|--:|--:|\n| pass | `request.p50 ≤ 1s` | 20 ms | 1 s | 1,200 |  |  |  |\n",
		"| fail | `ttft.p50 ≤ baseline × 1.05` | 110 ms | 105 ms | 1,200 | 100 ms | 1.1 | &lt;0.0005 |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestSelfTestPage(t *testing.T) {
	got := text(t, SelfTest(&budget.SelfTest{Rules: []budget.TestedRule{
		{Rule: "a ≤ 1s", Metric: "a", Change: "durations × 2", Verdict: budget.Fail, Message: "a is 2 s"}, {Rule: "b ≥ 0", Metric: "b", Change: "hit tokens set to 0", Verdict: budget.Pass, Message: "b is 0"},
		{Rule: "c ≤ 1s", Metric: "c", Verdict: budget.Insufficient, Message: "too few"},
	}}), 0)
	want := "1 of 3 rules would fail if this capture got worse; 1 would not, 1 cannot be judged for want of evidence.\n"
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "no            b ≥ 0   hit tokens set to 0  b is 0\n") || !strings.Contains(got, "insufficient  c ≤ 1s                       too few\n") {
		t.Errorf("have\n%s", got)
	}
}

// Of a rule on how many requests there are no request is an example: the page says what those are that it names.
func TestExemplarsOfRequests(t *testing.T) {
	for _, c := range []struct {
		r    budget.Result
		want string
	}{
		{budget.Result{Metric: "requests", Exemplars: []string{"r5", "r6"}}, "; the longest of them r5, r6."},
		{budget.Result{Metric: "request.p50", Exemplars: []string{"r5", "r6"}}, "; for example r5, r6."},
		{budget.Result{Metric: "requests"}, "."},
	} {
		if got := exemplars(&c.r); got != c.want {
			t.Errorf("%s: %q, want %q", c.r.Metric, got, c.want)
		}
	}
}
