// Package budget holds a capture against a budget file (DESIGN 9): it reads the file, takes the metrics that its rules select from the figures
// of a capture or saved report, and decides each rule with its statistics. Compare does the same with all metrics of two captures.
//
//	Parse → Budget ─┐
//	Read, Saved → Subject ─ population (a request table as columns) ─ measurement ─ absolute, compare ─ Holm ─ Document
package budget

import (
	"fmt"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/where"
)

// A Level says what a broken rule means (R9.4).
type Level uint8

const (
	LevelError Level = iota
	LevelWarn
	LevelOff
)

func (l Level) String() string { return levels[l] }

var levels = []string{"error", "warn", "off"}

// A boundKind is the way a rule bounds its metric.
type boundKind uint8

const (
	boundMax boundKind = iota
	boundMin
	boundMaxRate // of a finding
	boundMaxRatio
	boundMinRatio
)

// A bound is the limit of a rule, in the unit of its metric; of a baseline rule a factor.
type bound struct {
	kind     boundKind
	limit    float64
	minDelta float64
}

// baseline reports whether the rule compares with baselines.
func (b bound) baseline() bool { return b.kind >= boundMaxRatio }

// least reports whether small values break the rule.
func (b bound) least() bool { return b.kind == boundMin || b.kind == boundMinRatio }

// A Selection restricts a rule to some requests. The zero value is all of them.
type Selection struct {
	Model string // a name, or a pattern with *; "": any
	Where string // an expression of package where, in its usual spelling; "": any
}

// A Rule is one entry of a budget file.
type Rule struct {
	Text   string // the rule in one line
	Line   int    // in the file
	Level  Level
	Select Selection

	metric metric
	bound  bound
}

// Baseline reports whether the rule compares with baselines.
func (r *Rule) Baseline() bool { return r.bound.baseline() }

// A Budget is a budget file.
type Budget struct {
	File  string
	Alpha float64 // of all baseline rules together
	Rules []Rule

	exprs map[string]*where.Expr // of the selections, by their text
}

// DefaultAlpha is that of a budget file that does not say.
const DefaultAlpha = 0.05

// Baselines reports whether a rule that is not off needs a baseline, and the first one that does.
func (b *Budget) Baselines() (*Rule, bool) {
	for i := range b.Rules {
		if r := &b.Rules[i]; r.Level != LevelOff && r.Baseline() {
			return r, true
		}
	}
	return nil, false
}

// Selections are the selections that rules make, each once, in the order of the file; all requests are not among them.
func (b *Budget) Selections() []Selection {
	var out []Selection
	seen := map[Selection]bool{{}: true}
	for i := range b.Rules {
		if s := b.Rules[i].Select; b.Rules[i].Level != LevelOff && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// sentence is a rule in one line: what is measured, of which requests, and its limit as it was written.
func sentence(m metric, b bound, s Selection, limit, delta string) string {
	var t strings.Builder
	switch b.kind {
	case boundMaxRate:
		name, _, _ := strings.Cut(strings.TrimPrefix(m.name(), "finding."), ".rate")
		t.WriteString("finding " + name + " rate ≤ " + limit)
	case boundMax:
		t.WriteString(m.name() + " ≤ " + limit)
	case boundMin:
		t.WriteString(m.name() + " ≥ " + limit)
	case boundMaxRatio:
		t.WriteString(m.name() + " ≤ baseline × " + limit)
	case boundMinRatio:
		t.WriteString(m.name() + " ≥ baseline × " + limit)
	}
	if delta != "" && b.minDelta != 0 {
		sign := "+"
		if b.least() {
			sign = "−"
		}
		fmt.Fprintf(&t, " and %s %s", sign, delta)
	}
	if s.Model != "" {
		t.WriteString(", model " + s.Model)
	}
	if s.Where != "" {
		t.WriteString(", where " + s.Where)
	}
	return t.String()
}
