package budget

import (
	"fmt"
	"math"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

// SelfTestSchema names the document of gate --selftest and its version.
const SelfTestSchema = "cbtrace.gate-selftest/v1"

// A SelfTest says of each rule whether it would notice (R9.6).
type SelfTest struct {
	Schema  string       `json:"schema" enum:"cbtrace.gate-selftest/v1" doc:"name and version of this document"`
	Verdict string       `json:"verdict" enum:"pass|fail|insufficient" doc:"fail: a rule does not notice; insufficient: there is too little evidence for one"`
	Rules   []TestedRule `json:"rules" doc:"in the order of the budget file"`
}

// A TestedRule is a rule and what it says of this very capture made worse.
type TestedRule struct {
	Rule    string `json:"rule"`
	Metric  string `json:"metric"`
	Line    int    `json:"line" doc:"of the rule in the budget file"`
	Change  string `json:"change" doc:"what was done to the capture"`
	Verdict string `json:"verdict" enum:"pass|warn|fail|insufficient" doc:"of the changed capture: fail is right"`
	Message string `json:"message"`
}

// A change makes requests worse.
type change struct {
	words string
	part  func(num, den float64) (float64, float64) // of a request's parts in a metric
	count float64                                   // what a number becomes; NaN: it is no number
}

// entries are those of a side after the change; nil changes nothing.
func (c *change) entries(s side) side {
	if c != nil {
		for i := range s {
			s[i].num, s[i].den = c.part(s[i].num, s[i].den)
		}
	}
	return s
}

// SelfTest changes the capture for each rule so that the rule must fail, and looks whether it does.
func (b *Budget) SelfTest(in *Input) (*SelfTest, error) {
	tasks, err := b.tasks(in)
	if err != nil {
		return nil, err
	}
	decide(tasks, b.Alpha, in.Jobs)
	doc := &SelfTest{Schema: SelfTestSchema, Verdict: Pass, Rules: []TestedRule{}}
	var changed []*task
	for _, t := range tasks {
		if t.result.Verdict != Insufficient {
			changed = append(changed, t.worse())
		}
	}
	decide(changed, b.Alpha, in.Jobs)
	at := 0
	for _, t := range tasks {
		row := TestedRule{Rule: t.result.Rule, Metric: t.result.Metric, Line: t.result.Line, Verdict: Insufficient, Message: t.result.Message}
		if t.result.Verdict != Insufficient {
			r := &changed[at].result
			row.Change, row.Verdict, row.Message = changed[at].change.words, r.Verdict, r.Message
			at++
		}
		switch {
		case row.Verdict == Fail:
		case row.Verdict != Insufficient || row.Change != "":
			doc.Verdict = Fail
		case doc.Verdict == Pass:
			doc.Verdict = Insufficient
		}
		doc.Rules = append(doc.Rules, row)
	}
	return doc, nil
}

// worse is the task with its requests changed.
func (t *task) worse() *task {
	out := &task{rule: t.rule, current: t.current, before: t.before, change: t.worsen()}
	m := *t.m
	out.m = &m
	if t.rule.Baseline() {
		return out
	}
	c := out.change
	m.column = &column{row: t.m.column.row}
	x, y := 0.0, 0.0
	for i := range t.m.column.num {
		num, den := c.part(t.m.column.num[i], t.m.column.den[i])
		m.column.num, m.column.den = append(m.column.num, num), append(m.column.den, den)
		x, y = x+num, y+den
	}
	switch {
	case !math.IsNaN(c.count):
		m.value = c.count
	case m.series != nil:
		s := &model.Series{}
		for v, n := range m.series.All() {
			num, _ := c.part(float64(v), 1)
			s.AddN(int64(num), n)
		}
		m.distribution(s)
	case m.stat == total:
		m.value, _ = c.part(m.value, float64(m.n))
	case m.unit() == ns:
		m.value, _ = c.part(m.value, 1)
	case y > 0:
		m.value = x / y
	}
	return out
}

// worsen is the change that a rule must notice: durations past the limit, tokens not found, a finding more, half of the requests gone.
func (t *task) worsen() *change {
	m, b := t.m, t.rule.bound
	c := &change{count: math.NaN()}
	value, limit := m.value, b.limit
	if t.rule.Baseline() {
		value, limit = t.result.Value.V, t.result.Bound.V+b.minDelta
		if b.least() {
			limit = t.result.Bound.V - b.minDelta
		}
	}
	if t.result.Low.OK {
		value = t.result.Low.V
	}
	switch {
	case m.unit() == ns && b.least():
		c.words, c.part = "durations set to 0", func(num, den float64) (float64, float64) { return 0, den }
	case m.unit() == ns && value > 0:
		factor := max(2, math.Ceil(2*limit/value))
		c.words, c.part = fmt.Sprintf("durations × %g", factor), func(num, den float64) (float64, float64) { return num * factor, den }
	case m.unit() == ns:
		more := 2*limit + 1
		c.words, c.part = "durations + "+amount(more, ns), func(num, den float64) (float64, float64) { return num + more*den, den }
	case m.stat == over:
		c.words, c.part = "all durations over "+m.limit.String(), func(num, den float64) (float64, float64) { return den, den }
		if b.least() {
			c.words, c.part = "no duration over "+m.limit.String(), func(num, den float64) (float64, float64) { return 0, den }
		}
	case m.stat == share || m.stat == criticalShare:
		t.worsenShare(c, value, limit)
	case m.of == ofHits || m.of == ofReuse:
		c.words, c.part = "hit tokens set to 0", func(num, den float64) (float64, float64) { return 0, den }
		if !b.least() {
			c.words, c.part = "all tokens found", func(num, den float64) (float64, float64) { return den, den }
		}
	case m.of == ofFinding || m.of == ofFailed:
		t.worsenRate(c, limit)
	default:
		c.words, c.part, c.count = "half of the requests dropped", unchanged, math.Floor(value/2)
		if !b.least() {
			c.words, c.count = fmt.Sprintf("%g where there were %g", 2*limit+1, value), 2*limit+1
		}
	}
	return c
}

func unchanged(num, den float64) (float64, float64) { return num, den }

// worsenShare makes a part of each request longer, and with it the whole.
func (t *task) worsenShare(c *change, value, limit float64) {
	name := t.m.name()
	switch {
	case t.rule.bound.least():
		c.words, c.part = "that part of "+name+" set to 0", func(num, den float64) (float64, float64) { return 0, den - num }
	case value > 0:
		factor := 1000.0
		if limit < 1 {
			factor = max(2, math.Ceil(2*limit/(1-limit)*(1-value)/value))
		}
		c.words = fmt.Sprintf("that part of %s × %g", name, factor)
		c.part = func(num, den float64) (float64, float64) { return num * factor, den + num*(factor-1) }
	default:
		factor := 1000.0
		if limit < 1 {
			factor = max(1, math.Ceil(2*limit/(1-limit)))
		}
		c.words = fmt.Sprintf("that part of %s added, × %g of the whole", name, factor)
		c.part = func(num, den float64) (float64, float64) { return num + den*factor, den + den*factor }
	}
}

// worsenRate adds requests that show a finding, or that failed: one where none is allowed.
func (t *task) worsenRate(c *change, limit float64) {
	m := t.m
	what := "failure"
	if m.of == ofFinding {
		what = "finding"
	}
	every := func(num, den float64) (float64, float64) { return den, den }
	switch {
	case t.rule.bound.least():
		c.words, c.part = "no request shows it", func(num, den float64) (float64, float64) { return 0, den }
		if m.stat == count {
			c.count = 0
		}
	case m.stat == count:
		more := max(1, limit-m.value+1)
		c.words, c.part, c.count = finding.Counted(int64(more), what)+" added", unchanged, m.value+more
	case limit == 0 && !t.rule.Baseline():
		c.words, c.part, c.count = "one "+what+" added", unchanged, m.value+1/float64(max(m.n, 1))
	default:
		c.words, c.part = "every request shows it", every
	}
}
