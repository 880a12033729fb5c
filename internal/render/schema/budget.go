package schema

import (
	"regexp"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
)

// Budget is the schema of a budget file, for editors: what can be written where. What else makes a budget right, such as stages that are known,
// is told when it is read.
func Budget() *Schema {
	words := budget.Words()
	text := func(doc string) *Schema { return &Schema{Type: Type{"string"}, Description: doc} }
	number := func(doc string) *Schema { return &Schema{Type: Type{"number"}, Description: doc} }
	duration := &Schema{Type: Type{"string"}, Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`}
	quantity := func(doc string) *Schema {
		return &Schema{Description: doc + " (800ms, 0.3, 5)", AnyOf: []*Schema{duration, {Type: Type{"number"}}}}
	}
	some := func(of []string) string {
		for i := range of {
			of[i] = regexp.QuoteMeta(of[i])
		}
		return "(" + strings.Join(of, "|") + ")"
	}
	metric := &Schema{Description: "what is measured; with stage the part after the stage", AnyOf: []*Schema{
		{Enum: words.Metrics},
		{Enum: append([]string{}, words.Stage...)},
		{Type: Type{"string"}, Pattern: `.\.` + some(words.Stage) + "$"},
		{Type: Type{"string"}, Pattern: "^" + some(words.Over) + `\.over\(.+\)$`},
	}}
	finding := text("a finding (cbtrace explain)")
	finding.Enum = words.Findings
	level := text("what a broken rule means")
	level.Enum = words.Levels
	needs := func(names ...string) *Schema { return &Schema{Required: names} }
	rule := &Schema{
		Type: Type{"object"}, Values: Nothing,
		Properties: Properties{
			{"metric", metric},
			{"stage", text("a stage, name@owner, or a pattern with *: one result per stage")},
			{"finding", finding},
			{"max", quantity("fails when the metric is over it with 95 % confidence")},
			{"min", quantity("fails when the metric is under it with 95 % confidence")},
			{"max_rate", number("of a finding: share of requests; 0: none may show it")},
			{"baseline", &Schema{Ref: defs + "baseline"}},
			{"where", text("only requests in which a span satisfies the expression: { span.hit_rate >= 0.5 }")},
			{"model", text("only requests of this model; * stands for any text")},
			{"level", level},
		},
		AnyOf: []*Schema{needs("metric"), needs("finding")},
		OneOf: []*Schema{needs("max"), needs("min"), needs("finding", "max_rate"), needs("baseline")},
	}
	baseline := &Schema{
		Type: Type{"object"}, Description: "compares with --baseline: percentiles are per request", Values: Nothing,
		Properties: Properties{
			{"max_ratio", number("the value may be this many times the baseline's")},
			{"min_ratio", number("the value must be this many times the baseline's")},
			{"min_delta", quantity("a smaller change never fails")},
		},
		OneOf: []*Schema{needs("max_ratio"), needs("min_ratio")},
	}
	return &Schema{
		Dialect: Dialect, Title: "cbtrace.gate-budget/v1", Type: Type{"object"}, Values: Nothing,
		Properties: Properties{
			{"version", &Schema{Description: "1", Type: Type{"integer"}}},
			{"alpha", number("chance of a false alarm that all baseline rules share; 0.05 unless told")},
			{"budgets", &Schema{Type: Type{"array"}, Items: &Schema{Ref: defs + "rule"}}},
		},
		Required: []string{"version", "budgets"},
		Defs:     Properties{{"rule", rule}, {"baseline", baseline}},
	}
}
