package schema_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render/schema"
	"github.com/cbtrace/cbtrace/internal/render/schema/schematest"
)

// A gate with results of every verdict, absolute and against a baseline, and its selftest are what their schemas say.
func TestGateIsWhatItsSchemaSays(t *testing.T) {
	dict := model.NewDict()
	a := report.New(dict, report.Options{})
	for i := range 100 {
		r := fullRow(dict)
		r.ID = fmt.Sprint("r", i)
		r.Hash, r.Window, r.Start = xxhash.Sum64String(r.ID), int64(i+1)*1e6, r.Start+model.Time(i)
		a.Add(r)
	}
	s := &budget.Subject{Name: "s", Figures: a.Figures(&report.Capture{})}
	b, err := budget.Parse("b.yaml", []byte(`version: 1
budgets:
  - {metric: request.p50, max: 1s}
  - {metric: request.p50, max: 1ms}
  - {metric: request.p50, max: 49ms}
  - {metric: request.p99, max: 1s}
  - {metric: hit_rate, min: 0.5}
  - {stage: "cb.*", metric: count, max: 1}
  - {metric: request.p95, baseline: {max_ratio: 1.05, min_delta: 1ms}, level: warn}
`), func(string, []string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	in := budget.Input{Current: s, Baselines: []*budget.Subject{s}}
	gate, err := b.Evaluate(&in)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range gate.Results {
		seen[r.Verdict] = true
	}
	if len(seen) != 4 {
		t.Errorf("verdicts %v", seen)
	}
	test, err := b.SelfTest(&in)
	if err != nil {
		t.Fatal(err)
	}
	for command, doc := range map[string]any{"gate": gate, "gate-selftest": test} {
		s, err := schema.Command(command)
		if err != nil {
			t.Fatal(err)
		}
		rules, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range schematest.Validate(rules, text) {
			t.Errorf("%s: %v", command, err)
		}
	}
}
