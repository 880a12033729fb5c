package budget

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// days makes a week or more: so many requests a day, of a factor that day.
func days(rnd *rand.Rand, each int, factors ...float64) *report.Figures {
	agg := report.New(model.NewDict(), report.Options{})
	n := 0
	for day, factor := range factors {
		for i := range each {
			r := requestOf(n)
			r.Start = model.Time(1_763_942_400e9 + int64(day)*86_400e9 + int64(i)*(86_400e9/int64(each))) // 2025-11-24
			r.Window = int64(10 * factor * math.Exp(0.3*rnd.NormFloat64()) * ms)
			agg.Add(r)
			n++
		}
	}
	agg.Show(report.Nearest, false, 24*3600e9)
	return agg.Figures(&report.Capture{})
}

// Since when it has been so: the days of the changes, and what was measured between them.
func TestTrend(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	const day = 86_400e9
	for _, c := range []struct {
		name    string
		factors []float64
		want    []int // days on which stretches begin
	}{
		{"no change", []float64{1, 1, 1, 1, 1, 1, 1}, []int{0}},
		{"slower since Friday", []float64{1, 1, 1, 1, 1.25, 1.25, 1.25}, []int{0, 4}},
		{"faster on the last day", []float64{1, 1, 1, 1, 1, 1, 0.7}, []int{0, 6}},
		{"slow for two days", []float64{1, 1, 1, 1.4, 1.4, 1, 1}, []int{0, 3, 5}},
		{"two days", []float64{1, 1.3}, []int{0, 1}},
	} {
		f := days(rnd, 300, c.factors...)
		trend := TrendOf(f)
		var have []int
		total := int64(0)
		for _, s := range trend.Stretches {
			have = append(have, int((s.StartUnixNS-1_763_942_400e9)/day))
			total += s.N
		}
		if !reflect.DeepEqual(have, c.want) || trend.Metric != "request.p95" || total != int64(300*len(c.factors)) {
			t.Errorf("%s: %s changed on days %v, want %v; of %d requests", c.name, trend.Metric, have, c.want, total)
			continue
		}
		for i, s := range trend.Stretches { // p95 of a lognormal of σ 0.3 is exp(0.3·1.645) = 1.64 times its median
			want := 16.4 * c.factors[c.want[i]] * ms
			if math.Abs(float64(s.ValueNS)/want-1) > 0.1 {
				t.Errorf("%s: from day %d %d ns, want about %.0f", c.name, c.want[i], s.ValueNS, want)
			}
		}
	}
	if trend := TrendOf(days(rnd, 20, 1, 1, 2, 2)); trend.Metric != "request.p50" || len(trend.Stretches) != 2 {
		t.Errorf("of few requests: %+v", trend)
	}
	if trend := TrendOf(days(rnd, 300, 1)); trend != nil {
		t.Errorf("of one day: %+v", trend)
	}
	if trend := TrendOf(days(rnd, 1, 1, 2, 3)); trend != nil {
		t.Errorf("of three requests: %+v", trend)
	}
}

// A change is told of weeks without one no more often than chance allows.
func TestPowerTrend(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	weeks := trials(1000, 100)
	told := repeated(weeks, 4, func(rnd *rand.Rand) bool {
		return len(TrendOf(days(rnd, 100, 1, 1, 1, 1, 1, 1, 1)).Stretches) > 1
	})
	tell("\n| weeks of 700 requests without a change | told one | at most |\n|--:|--:|--:|\n| %d | %.1f %% | %.1f %% |\n", weeks, 100*float64(told)/float64(weeks), 100*allowed(trendAlpha, weeks))
	if most := allowed(trendAlpha, weeks); float64(told) > most*float64(weeks) {
		t.Errorf("%d of %d", told, weeks)
	}
}
