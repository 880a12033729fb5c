package budget

import (
	"fmt"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// leastRequests is the least number of requests whose means, shares and rates are judged: that of a median (R9.2).
const leastRequests = 5

// absolute decides a rule with a limit of its own (R9.2).
func (t *task) absolute() {
	m, r, b := t.m, &t.result, t.rule.bound
	u := m.unit()
	r.Bound = model.SomeFloat(b.limit)
	if m.known {
		r.Value = model.SomeFloat(m.value)
	}
	if !m.known {
		t.insufficient("nothing to measure")
		return
	}
	low, high := m.value, m.value // the value itself decides
	switch {
	case m.stat == percentile:
		t.order()
		if need := report.NeededN(m.p); m.n < need {
			t.insufficient(fmt.Sprintf("%d of at least %d values", m.n, need))
			return
		}
		low, high = r.Low.V, r.High.V
	case m.stat == maximum, m.stat == total, m.stat == count, m.of == ofFinding && b.limit == 0, m.of == ofFailed && b.limit == 0:
		r.step("The value itself decides: it is no estimate of something else.")
	case !m.tabled():
		t.insufficient("the request table has no stages outside the vocabulary, so there is no bound")
		return
	default:
		if n := len(m.column.row); n < leastRequests {
			t.insufficient(fmt.Sprintf("%s, at least %d are needed", finding.Counted(n, "request"), leastRequests))
			return
		}
		low, high = m.bounds(m.seed(t.rule.Select))
		r.Low, r.High = model.SomeFloat(low), model.SomeFloat(high)
		r.step(fmt.Sprintf("2 000 draws of %s with replacement: 5 %% of them are at or below %s, 95 %% at or below %s.", finding.Counted(len(m.column.row), "request"), amount(low, u), amount(high, u)))
	}
	sure, point := low > b.limit, m.value > b.limit
	side, bounding, than := "over", low, "at least"
	if b.least() {
		sure, point = high < b.limit, m.value < b.limit
		side, bounding, than = "under", high, "at most"
	}
	r.step(fmt.Sprintf("It fails when the %s bound %s is %s %s, and warns when only the value %s is.", map[bool]string{false: "lower", true: "upper"}[b.least()],
		amount(bounding, u), side, amount(b.limit, u), amount(m.value, u)))
	value := amount(m.value, u)
	switch {
	case sure && r.Low.OK:
		r.Verdict = Fail
		r.Message = fmt.Sprintf("%s is %s, %s %s with 95 %% confidence: %s %s", r.Metric, value, than, amount(bounding, u), side, amount(b.limit, u))
	case sure:
		r.Verdict = Fail
		r.Message = fmt.Sprintf("%s is %s: %s %s", r.Metric, value, side, amount(b.limit, u))
	case point:
		r.Verdict = Warn
		r.Message = fmt.Sprintf("%s is %s, %s %s, but that may be chance: the bound is %s", r.Metric, value, side, amount(b.limit, u), amount(bounding, u))
	default:
		r.Verdict = Pass
		r.Message = fmt.Sprintf("%s is %s, within %s", r.Metric, value, amount(b.limit, u))
	}
	t.finish()
}

// order takes the bounds of a percentile from the order statistics of its values (R8.5).
func (t *task) order() {
	m, r := t.m, &t.result
	lower, upper := report.OrderBounds(m.n, m.p, report.Confidence)
	if lower > 0 {
		r.Low = model.SomeFloat(float64(m.series.Rank(lower)))
	}
	if upper > 0 {
		r.High = model.SomeFloat(float64(m.series.Rank(upper)))
	}
	r.step(fmt.Sprintf("Of %s in ascending order the percentile is number %d; with 95 %% confidence it is not below number %d, and not above number %d (0: too few values to say).",
		finding.Counted(m.n, "value"), (m.n*m.p+999)/1000, lower, upper))
	if !m.series.Exact() {
		r.step("The values are from a histogram, within 0.4 %.")
	}
}

// insufficient says that the evidence decides nothing.
func (t *task) insufficient(why string) {
	t.result.Verdict = Insufficient
	t.result.Message = t.result.Metric + ": not enough evidence: " + why
	t.finish()
}

// finish names requests where there is something to look at, and adds what was measured to the message.
func (t *task) finish() {
	r := &t.result
	if r.Verdict == Fail || r.Verdict == Warn {
		r.Exemplars = t.current.exemplars(t.m, t.rule.bound)
	}
	if r.N > 0 {
		r.Message += fmt.Sprintf(" (n %d)", r.N)
	}
	if t.current.figures == nil && t.m.of == ofStage && t.m.unit() == ns && t.m.stat != mean && !t.rule.Baseline() {
		r.Message += "; of a saved report a filter gives the time of the stage per request"
	}
}
