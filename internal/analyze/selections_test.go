package analyze

import (
	"slices"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// The request table holds the requests of the smallest hashes among those that are selected, whether the survey told which those are, as where all
// are, or not; with more requests than it holds.
func TestTableOfMany(t *testing.T) {
	const n = report.MaxDigests + 6000
	smallest := func(c *Capture) (ids []string) {
		t.Helper()
		agg, err := c.Aggregate(t.Context(), report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for d := range agg.Table().All {
			ids = append(ids, d.ID)
		}
		if int64(len(ids)) != min(agg.Table().Total, report.MaxDigests) {
			t.Errorf("%d digests of %d requests", len(ids), agg.Table().Total)
		}
		return ids
	}
	want := streamed(t, opened(t, n, Options{Jobs: 1}))
	for _, jobs := range []int{1, 2, 5} {
		c := opened(t, n, Options{Jobs: jobs})
		if _, ok := c.hashes.Last(); !ok {
			t.Error("the survey does not tell")
		}
		if !slices.Equal(smallest(c), want[:report.MaxDigests]) {
			t.Errorf("%d jobs: not those of the smallest hashes", jobs)
		}
	}
	late := opened(t, n, Options{Jobs: 2, Since: When{Set: true, At: model.Time(1_764_432_000e9 + 5000*1e9)}})
	selected := streamed(t, late)
	if len(selected) != n-5000 || !slices.Equal(smallest(late), selected[:report.MaxDigests]) {
		t.Errorf("of %d selected: not those of the smallest hashes", len(selected))
	}
}
