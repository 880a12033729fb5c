package budget

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/where"
)

// MaxSize is the largest budget file that is read, in bytes.
const MaxSize = 1 << 20

// maxRules is how many rules a budget file can have.
const maxRules = 10_000

// A Problem is a mistake in a budget file.
type Problem struct {
	File         string
	Line, Column int // from 1; 0: of the whole file
	Text         string
}

func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// maxProblems is how many are told of one file.
const maxProblems = 20

// Parse reads a budget file. The error joins a *Problem per mistake, in the order of the file.
func Parse(file string, text []byte, nearest Nearest) (*Budget, error) {
	p := &parser{file: file, nearest: nearest, exprs: map[string]*where.Expr{}}
	if len(text) > MaxSize {
		return nil, &Problem{file, 0, 0, fmt.Sprintf("longer than %d bytes", MaxSize)}
	}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, &Problem{file, 0, 0, "is empty: want version and budgets"}
	case err != nil:
		return nil, p.syntax(err)
	}
	var more yaml.Node
	if err := d.Decode(&more); err == nil {
		p.at(&more, "a second document: want one")
	} else if !errors.Is(err, io.EOF) {
		return nil, p.syntax(err)
	}
	b := p.budget(doc.Content[0])
	if len(p.problems) == 0 {
		return b, nil
	}
	slices.SortStableFunc(p.problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var errs []error
	for _, problem := range p.problems {
		errs = append(errs, problem)
	}
	if p.more > 0 {
		errs = append(errs, fmt.Errorf("%s: %d more", file, p.more))
	}
	return nil, errors.Join(errs...)
}

type parser struct {
	file     string
	nearest  Nearest
	exprs    map[string]*where.Expr
	problems []*Problem
	more     int // mistakes beyond those that are told
}

// bad notes a word that nobody knows.
func (p *parser) bad(n *yaml.Node, u *unknown) {
	if len(p.problems) < maxProblems {
		p.at(n, "%s", u.message(p.nearest))
	} else {
		p.more++
	}
}

// count is how many mistakes were found so far.
func (p *parser) count() int { return len(p.problems) + p.more }

// at notes a mistake at a place.
func (p *parser) at(n *yaml.Node, format string, args ...any) {
	if len(p.problems) == maxProblems {
		p.more++
		return
	}
	p.problems = append(p.problems, &Problem{p.file, n.Line, n.Column, fmt.Sprintf(format, args...)})
}

// syntax is an error of the YAML reader with its place.
func (p *parser) syntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if line, what, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(line); err == nil {
				return &Problem{p.file, n, 1, what}
			}
		}
	}
	return &Problem{p.file, 0, 0, text}
}

// A field is a key of a mapping and its value.
type field struct{ key, value *yaml.Node }

// fields are those of a mapping; keys that are not known, or are there twice, are mistakes. ok is false for what is no mapping.
func (p *parser) fields(n *yaml.Node, what string, known ...string) (map[string]field, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		p.at(n, "%s: want a mapping with %s, have %s", what, strings.Join(known, ", "), kind(n))
		return nil, false
	}
	out := map[string]field{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f := field{n.Content[i], n.Content[i+1]}
		if f.value.Kind == yaml.AliasNode {
			f.value = f.value.Alias
		}
		name := f.key.Value
		switch _, twice := out[name]; {
		case f.key.Kind != yaml.ScalarNode || !slices.Contains(known, name):
			p.bad(f.key, &unknown{"key", name, known})
		case twice:
			p.at(f.key, "%s is there twice, first on line %d", name, out[name].key.Line)
		default:
			out[name] = f
		}
	}
	return out, true
}

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "nothing"
		}
		return strconv.Quote(n.Value)
	}
	return "something else"
}

// scalar is the text of a field, which must be a single value.
func (p *parser) scalar(name string, f field) (string, bool) {
	if f.value.Kind != yaml.ScalarNode || f.value.Tag == "!!null" {
		p.at(f.value, "%s: want one value, have %s", name, kind(f.value))
		return "", false
	}
	return f.value.Value, true
}

func (p *parser) budget(n *yaml.Node) *Budget {
	b := &Budget{File: p.file, Alpha: DefaultAlpha, exprs: p.exprs}
	all, ok := p.fields(n, "budget file", "version", "alpha", "budgets")
	if !ok {
		return b
	}
	if f, ok := all["version"]; !ok {
		p.at(n, "no version: want version: 1")
	} else if v, ok := p.scalar("version", f); ok && v != "1" {
		p.at(f.value, "version %s: this cbtrace knows version 1", v)
	}
	if f, ok := all["alpha"]; ok {
		if v, ok := p.scalar("alpha", f); ok {
			x, err := strconv.ParseFloat(v, 64)
			if b.Alpha = x; err != nil || !(x > 0 && x <= maxAlpha) {
				p.at(f.value, "alpha: want a number above 0 and at most %g, have %q", maxAlpha, v)
			}
		}
	}
	f, ok := all["budgets"]
	switch {
	case !ok:
		if len(p.problems) == 0 {
			p.at(n, "no budgets: want a list of rules")
		}
		return b
	case f.value.Kind != yaml.SequenceNode:
		p.at(f.value, "budgets: want a list of rules, have %s", kind(f.value))
		return b
	case len(f.value.Content) == 0:
		p.at(f.value, "budgets: the list is empty")
		return b
	case len(f.value.Content) > maxRules:
		p.at(f.value, "%d rules: want at most %d", len(f.value.Content), maxRules)
		return b
	}
	type key struct {
		metric metric
		bound  bound
		sel    Selection
		level  Level
	}
	first := map[key]int{}
	for _, entry := range f.value.Content {
		before := p.count()
		r := p.rule(entry)
		if p.count() > before {
			continue
		}
		k := key{r.metric, r.bound, r.Select, r.Level}
		if line, twice := first[k]; twice {
			p.at(entry, "the rule of line %d again: %s", line, r.Text)
			continue
		}
		first[k] = r.Line
		b.Rules = append(b.Rules, r)
	}
	return b
}

// maxAlpha: above it a verdict would say nothing.
const maxAlpha = 0.5

// rule reads one entry.
func (p *parser) rule(n *yaml.Node) Rule {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	r := Rule{Line: n.Line}
	before := p.count()
	all, ok := p.fields(n, "rule", "metric", "stage", "finding", "max", "min", "max_rate", "baseline", "where", "model", "level")
	if !ok || p.count() > before { // what is missing may be what was misspelt
		return r
	}
	if !p.metric(n, all, &r) {
		return r
	}
	limit, delta := p.bound(n, all, &r)
	if f, ok := all["level"]; ok {
		if v, ok := p.scalar("level", f); ok {
			if at := slices.Index(levels, v); at >= 0 {
				r.Level = Level(at)
			} else {
				p.bad(f.value, &unknown{"level", v, levels})
			}
		}
	}
	if f, ok := all["model"]; ok {
		r.Select.Model, _ = p.scalar("model", f)
	}
	if f, ok := all["where"]; ok {
		if v, ok := p.scalar("where", f); ok {
			e, err := where.Parse(v, p.nearest)
			if err != nil {
				p.at(f.value, "where: %v", err)
				return r
			}
			r.Select.Where = e.String()
			p.exprs[r.Select.Where] = e
		}
	}
	r.Text = sentence(r.metric, r.bound, r.Select, limit, delta)
	return r
}

// metric reads what a rule selects: exactly one of metric, stage with metric, and finding.
func (p *parser) metric(n *yaml.Node, all map[string]field, r *Rule) bool {
	m, hasMetric := all["metric"]
	s, hasStage := all["stage"]
	f, hasFinding := all["finding"]
	var bad *unknown
	at := m.value
	switch {
	case hasFinding && (hasMetric || hasStage):
		p.at(f.key, "finding beside metric or stage: want one of them")
		return false
	case hasFinding:
		code, ok := p.scalar("finding", f)
		if !ok {
			return false
		}
		at = f.value
		if r.metric, ok = fixed["finding."+code+".rate"]; !ok {
			bad = &unknown{"finding", code, findingCodes()}
		}
	case !hasMetric && hasStage:
		p.at(s.key, "a stage needs a metric: %s", strings.Join(stageStatistics(), ", "))
		return false
	case !hasMetric:
		p.at(n, "no metric: want metric, stage and metric, or finding")
		return false
	default:
		name, ok := p.scalar("metric", m)
		if !ok {
			return false
		}
		if !hasStage {
			r.metric, bad = parseMetric(name)
			break
		}
		stage, ok := p.scalar("stage", s)
		if ok && stage == "" {
			p.at(s.value, "stage: want a name or a pattern")
		}
		if !ok || stage == "" {
			return false
		}
		if r.metric, bad = stageMetric(stage, name); bad != nil && bad.what == "owner" {
			at = s.value
		}
	}
	if bad != nil {
		p.bad(at, bad)
		return false
	}
	if info := finding.Registry[r.metric.code]; r.metric.of == ofFinding && r.metric.stat == rate && info.Scope == finding.Capture {
		if zero := all["max_rate"].value; zero == nil || zero.Value != "0" {
			p.at(at, "%s is about the whole capture: want metric: finding.%s.count", info.Code, info.Code)
			return false
		}
	}
	return true
}

// bound reads the limit of a rule, and returns it and min_delta as they were written.
func (p *parser) bound(n *yaml.Node, all map[string]field, r *Rule) (limit, delta string) {
	var have []string
	for _, name := range []string{"max", "min", "max_rate", "baseline"} {
		if _, ok := all[name]; ok {
			have = append(have, name)
		}
	}
	if len(have) != 1 {
		p.at(n, "%d bounds: want one of max, min, max_rate, baseline", len(have))
		return
	}
	f := all[have[0]]
	_, byFinding := all["finding"]
	if (have[0] == "max_rate") != byFinding {
		p.at(f.key, "max_rate and finding belong together; a count is metric: finding.CODE.count")
		return
	}
	u := r.metric.unit()
	switch have[0] {
	case "max":
		r.bound.kind = boundMax
		r.bound.limit, limit = p.quantity("max", f, u)
	case "min":
		r.bound.kind = boundMin
		r.bound.limit, limit = p.quantity("min", f, u)
	case "max_rate":
		r.bound.kind = boundMaxRate
		r.bound.limit, limit = p.quantity("max_rate", f, ratio)
	case "baseline":
		return p.baseline(f, r)
	}
	return limit, ""
}

// baseline reads the bound of a baseline rule.
func (p *parser) baseline(f field, r *Rule) (limit, delta string) {
	before := p.count()
	all, ok := p.fields(f.value, "baseline", "max_ratio", "min_ratio", "min_delta")
	if !ok || p.count() > before {
		return
	}
	switch r.metric.stat {
	case maximum, total, count:
		p.at(f.key, "%s cannot be compared with a baseline: want a percentile, a mean, a ratio or a share", r.metric.name())
		return
	}
	most, hasMost := all["max_ratio"]
	least, hasLeast := all["min_ratio"]
	if hasMost == hasLeast {
		p.at(f.value, "baseline: want one of max_ratio, min_ratio")
		return
	}
	name, kind := "max_ratio", boundMaxRatio
	if hasLeast {
		name, kind, most = "min_ratio", boundMinRatio, least
	}
	r.bound.kind = kind
	if v, ok := p.scalar(name, most); ok {
		x, err := strconv.ParseFloat(v, 64)
		good := err == nil && x >= 1 && x <= maxFactor
		if hasLeast {
			good = err == nil && x > 0 && x <= 1
		}
		if !good {
			p.at(most.value, "%s: want a factor such as %s, have %q", name, map[bool]string{false: "1.05", true: "0.95"}[hasLeast], v)
		}
		r.bound.limit, limit = x, v
	}
	if d, ok := all["min_delta"]; ok {
		r.bound.minDelta, delta = p.quantity("min_delta", d, r.metric.unit())
	}
	return limit, delta
}

const maxFactor = 1e6

// quantity reads a limit in the unit of its metric: durations name theirs, rates and shares lie in [0, 1].
func (p *parser) quantity(name string, f field, u unit) (float64, string) {
	text, ok := p.scalar(name, f)
	if !ok {
		return 0, ""
	}
	x, err := strconv.ParseFloat(text, 64)
	isNumber := err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
	switch u {
	case ns:
		if isNumber && x != 0 {
			p.at(f.value, "%s: %s of what? want a duration with its unit, as %sms", name, text, text)
			return 0, ""
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			p.at(f.value, "%s: want a duration such as 800ms, 2s or 250us, have %q", name, text)
		}
		return float64(d), text
	case number:
		if !isNumber || x < 0 || x != math.Trunc(x) || x > 1<<53 {
			p.at(f.value, "%s: want a whole number, have %q", name, text)
		}
	case ratio:
		if !isNumber || x < 0 || x > 1 {
			p.at(f.value, "%s: want a share in [0, 1] such as 0.3, have %q", name, text)
		}
	}
	return x, text
}

func findingCodes() (all []string) {
	for name, m := range fixed {
		if m.of == ofFinding && m.stat == count {
			all = append(all, strings.TrimSuffix(strings.TrimPrefix(name, "finding."), ".count"))
		}
	}
	slices.Sort(all)
	return all
}
