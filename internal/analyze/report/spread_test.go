package report

import (
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Of the values 1 to 100 the median lies between the 40th and the 61st with 95 % confidence: P(Bin(100, ½) ≥ 40) = 0.982 and ≥ 41 = 0.972,
// P(Bin ≤ 60) = 0.982. p95 lies between the 90th, P(Bin ≥ 90) = 0.989 and ≥ 91 = 0.972, and the 100th, P(Bin ≤ 98) = 0.963. Of p99 the 100th value bounds nothing from above: 0.99^100 = 0.366.
func TestIntervals(t *testing.T) {
	a := New(model.NewDict(), Options{})
	for i := range 100 {
		a.Add(&model.Row{Flags: model.RowVocabulary | model.RowRealRoot | model.RowRootClosed, Window: int64(i + 1)})
	}
	got := a.Document(&Capture{}).Confidence
	want := []Interval{{"latency", "p50", 100, model.Some(40), model.Some(61)}, {"latency", "p95", 100, model.Some(90), model.Some(100)}, {"latency", "p99", 100, model.Some(97), model.Opt{}}}
	check(t, "intervals", got, want)
}

func TestModels(t *testing.T) {
	a := New(model.NewDict(), Options{})
	for i, name := range []string{"a", "b", "a", "a"} {
		row := &model.Row{Model: name}
		row.ID = string(rune('k' + i))
		a.Add(row)
	}
	check(t, "models", a.Document(&Capture{}).Models, map[string]float64{"a": 0.75, "b": 0.25})
}
