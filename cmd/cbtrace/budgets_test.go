package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/render/schema"
	"github.com/cbtrace/cbtrace/internal/render/schema/schematest"
)

func budgetSchema(t *testing.T) []byte {
	t.Helper()
	s, err := schema.Command("gate-budget")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// asJSON is a YAML document as JSON, which is what editors hold against the schema.
func asJSON(t *testing.T, text []byte) []byte {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Six rules of each form and more are accepted, by the schema too.
func TestBudgetsAccepted(t *testing.T) {
	rules := budgetSchema(t)
	for _, form := range []string{"metric", "stage", "finding", "baseline", "select"} {
		path := filepath.Join("..", "..", "testdata", "budgets", form+".yaml")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := budget.Parse(path, text, nearest)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(b.Rules) != 6 || form == "baseline" && b.Alpha != 0.01 || form != "baseline" && b.Alpha != budget.DefaultAlpha {
			t.Errorf("%s: %d rules, alpha %v", form, len(b.Rules), b.Alpha)
		}
		for _, r := range b.Rules {
			if r.Line < 4 || !strings.ContainsAny(r.Text, "≤≥") {
				t.Errorf("%s:%d: %q", form, r.Line, r.Text)
			}
		}
		for _, err := range schematest.Validate(rules, asJSON(t, text)) {
			t.Errorf("%s: %v", form, err)
		}
	}
}

// Each entry of the refused files is a mistake, told with its line and column, and with what was probably meant.
func TestBudgetsRefused(t *testing.T) {
	for _, form := range []string{"metric", "stage", "finding", "baseline", "select"} {
		path := filepath.Join("..", "..", "testdata", "budgets", form+"-refused.yaml")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for i, line := range strings.Split(string(text), "\n") {
			if _, what, ok := strings.Cut(line, "# want: "); ok {
				want = append(want, fmt.Sprintf("%s:%d:%s", path, i+1, what))
			}
		}
		b, err := budget.Parse(path, text, nearest)
		if err == nil {
			t.Errorf("%s: accepted %d rules", form, len(b.Rules))
			continue
		}
		if have := err.Error(); have != strings.Join(want, "\n") {
			t.Errorf("%s: have\n%s\nwant\n%s", form, have, strings.Join(want, "\n"))
		}
		if len(want) < 6 {
			t.Errorf("%s: %d mistakes", form, len(want))
		}
	}
}

func TestBudgetFilesRefused(t *testing.T) {
	rule := "\nbudgets:\n  - {metric: requests, min: 1}\n"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":            {"", "b: is empty: want version and budgets"},
		"a comment":          {"# later\n", "b: is empty: want version and budgets"},
		"a text":             {"version\n", `b:1:1: budget file: want a mapping with version, alpha, budgets, have "version"`},
		"no version":         {"budgets:\n  - {metric: requests, min: 1}\n", "b:1:1: no version: want version: 1"},
		"another version":    {"version: 2" + rule, "b:1:10: version 2: this cbtrace knows version 1"},
		"no budgets":         {"version: 1\n", "b:1:1: no budgets: want a list of rules"},
		"an empty list":      {"version: 1\nbudgets: []\n", "b:2:10: budgets: the list is empty"},
		"alpha of 0":         {"version: 1\nalpha: 0" + rule, `b:2:8: alpha: want a number above 0 and at most 0.5, have "0"`},
		"alpha in percent":   {"version: 1\nalpha: 5%" + rule, `b:2:8: alpha: want a number above 0 and at most 0.5, have "5%"`},
		"an unknown key":     {"version: 1\nbudgits: 3" + rule, `b:2:1: unknown key "budgits"; did you mean budgets?`},
		"a second document":  {"version: 1" + rule + "---\nversion: 1\n", "b:4:1: a second document: want one"},
		"no YAML":            {"version: 1\nbudgets: [\n", "b:2:1: did not find expected node content"},
		"a tab":              {"version: 1\n\tbudgets: 3\n", "b:2:1: found a tab character that violates indentation"},
		"an alias to itself": {"version: 1\nbudgets: &a [*a]\n", "b:2:10: rule: want a mapping with metric, stage, finding, max, min, max_rate, baseline, where, model, level, have a list"},
		"too long":           {"version: 1" + rule + strings.Repeat("#\n", budget.MaxSize), "b: longer than 1048576 bytes"},
	} {
		if _, err := budget.Parse("b", []byte(c.text), nearest); err == nil || err.Error() != c.want {
			t.Errorf("%s: have %v\nwant %s", name, err, c.want)
		}
	}
	many := "version: 1\nbudgets:\n" + strings.Repeat("  - {metric: x}\n", 30)
	if _, err := budget.Parse("b", []byte(many), nearest); err == nil || strings.Count(err.Error(), "\n") != 20 || !strings.HasSuffix(err.Error(), "b: 10 more") {
		t.Errorf("thirty mistakes: %v", err)
	}
}

// What the schema can tell, it tells as the program does.
func TestBudgetSchemaRefuses(t *testing.T) {
	rules := budgetSchema(t)
	for name, text := range map[string]string{
		"unknown key":     `{version: 1, budgets: [{metric: requests, min: 1, maxx: 2}]}`,
		"unknown on top":  `{version: 1, budgits: 1, budgets: [{metric: requests, min: 1}]}`,
		"no bound":        `{version: 1, budgets: [{metric: requests}]}`,
		"two bounds":      `{version: 1, budgets: [{metric: requests, min: 1, max: 2}]}`,
		"no metric":       `{version: 1, budgets: [{stage: cb.request, max: 1s}]}`,
		"unknown metric":  `{version: 1, budgets: [{metric: ttft.p98, max: 1s}]}`,
		"unknown unit":    `{version: 1, budgets: [{metric: ttft.p95, max: 1xs}]}`,
		"unknown finding": `{version: 1, budgets: [{finding: dropped, max_rate: 0}]}`,
		"unknown level":   `{version: 1, budgets: [{metric: requests, min: 1, level: wran}]}`,
		"both ratios":     `{version: 1, budgets: [{metric: ttft.p95, baseline: {max_ratio: 1.1, min_ratio: 0.9}}]}`,
		"no version":      `{budgets: [{metric: requests, min: 1}]}`,
	} {
		if errs := schematest.Validate(rules, asJSON(t, []byte(text))); len(errs) == 0 {
			t.Errorf("%s: accepted", name)
		}
		if _, err := budget.Parse("b", []byte(text), nearest); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}
