package render

import (
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
)

func TestDiff(t *testing.T) {
	some := share
	d := &budget.Diff{
		Changed: true, Leading: "ttft", A: budget.DiffSide{Label: "main.cbr", Requests: 1000}, B: budget.DiffSide{Label: "pr", Requests: 900}, Mix: budget.DiffMix{ExplainedNS: opt(2e6)},
		Appeared: []string{"cb.coordinator_match"}, Vanished: []string{"\x1b[2J"}, Findings: []budget.DiffFinding{{Code: "late_poll", A: 3, B: 30}, {Code: "store_tail", A: 5, B: 5}},
		Metrics: []budget.DiffMetric{
			{Metric: "cb.l2_load.critical", A: some(40e6), B: some(78e6), Delta: some(38e6), Ratio: some(1.95), Low: some(30e6), High: some(46e6), P: some(0.0002), Verdict: "worse", ContributionNS: opt(38e6), Unit: "ns"},
			{Metric: "cb.partial.critical", A: some(50e6), B: some(48e6), Delta: some(-2e6), Verdict: "~", ContributionNS: opt(-2e6), Unit: "ns"},
			{Metric: "cb.check.critical", A: some(1e6), B: some(1e6), Delta: some(0), Verdict: "~", ContributionNS: opt(0), Unit: "ns"},
			{Metric: "ttft.p50", A: some(100e6), B: some(130e6), Delta: some(30e6), Ratio: some(1.3), WholeP: some(0.00001), P: some(0.01), Verdict: "~", Unit: "ns"},
			{Metric: "ttft.p95", A: some(205e6), B: some(246e6), Delta: some(41e6), Ratio: some(1.2), P: some(0.0002), Verdict: "worse", Unit: "ns"},
			{Metric: "ttft.mean", A: some(110e6), B: some(146e6), Delta: some(36e6), Ratio: some(1.33), P: some(0.0002), Verdict: "worse", Unit: "ns"},
			{Metric: "hit_rate", A: some(0.6), B: some(0.5), Delta: some(-0.1), Ratio: some(0.83), Low: some(-0.12), High: some(-0.08), P: some(0.0002), Verdict: "worse", Unit: "ratio"},
		},
	}
	got := text(t, Diff(d), 0)
	for _, want := range []string{
		"Worse: time to first token p95 +41 ms (× 1.2), mean +36 ms: +38 ms cb.l2_load, −2 ms cb.partial. pr (900 requests) against main.cbr (1,000 requests).\n",
		"The mix of hit class and prompt length differs: it explains +2 ms of the +36 ms of the mean.\n",
		"cb.l2_load  +38 ms        40 ms  78 ms  worse\n",
		"worse    hit_rate             0.6     0.5     −0.1    0.83   −0.12 … −0.08             <0.0005\n",
		"Whole distribution: p <0.0005 (Mann–Whitney; it decides nothing).\n",
		"  appeared: cb.coordinator_match\n", `  vanished: \x1b[2J` + "\n", "late_poll  3  30\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, not := range []string{"cb.check", "store_tail"} {
		if strings.Contains(got, not) {
			t.Errorf("%s in\n%s", not, got)
		}
	}
	d.Changed = false
	if got := text(t, Diff(d), 0); !strings.HasPrefix(got, "No difference that is more than chance: pr (900 requests) against main.cbr (1,000 requests).\n") {
		t.Errorf("have\n%s", got)
	}
}
