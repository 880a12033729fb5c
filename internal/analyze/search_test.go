package analyze

import (
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// searched is what a search over rows finds, spread over so many workers.
func searched(workers int, s Search, rows ...model.Row) (*SearchResult, string) {
	all := make([]searching, workers)
	at, _ := s.At.resolve(0)
	for i := range all {
		all[i].limit = s.Limit
	}
	for i := range rows {
		all[i%workers].add(&s, at, &rows[i])
	}
	for i := range all[1:] {
		all[0].merge(&all[i+1])
	}
	which := report.Counting{Known: slices.ContainsFunc(rows, func(r model.Row) bool { return r.Flags.Known() })}
	r := all[0].result(&s, which)
	var ids []string
	for _, f := range r.Found {
		ids = append(ids, f.ID)
	}
	return r, strings.Join(ids, " ")
}

func TestSearch(t *testing.T) {
	late := model.FindingSet(1 << finding.LatePoll)
	row := func(id string, start model.Time, window int64, ttft int64, found model.FindingSet, flags model.RowFlags) model.Row {
		return model.Row{Identity: model.Identity{ID: id}, Start: start, Window: window, TTFT: model.Opt{V: ttft, OK: ttft > 0}, Findings: found, Flags: flags}
	}
	const in = model.RowVocabulary | model.RowRealRoot | model.RowRootClosed
	rows := []model.Row{
		row("a", 100, 50, 20, 0, in),
		row("b", 110, 90, 10, late, in),
		row("c", 120, 70, 20, late, in),
		row("d", 300, 40, 0, late, in),
		row("edge", 100, 900, 800, 0, in|model.RowEdge),
		row("other", 100, 9999, 9999, late, model.RowRealRoot|model.RowRootClosed),
		row("untimed", 0, 0, 0, late, model.RowVocabulary),
	}
	at := func(ns model.Time) When { return When{At: ns, Set: true} }
	for _, c := range []struct {
		name   string
		search Search
		ids    string
		total  int64
		near   bool
	}{
		{"the slowest by time to first token, ties by id, those without one last", Search{}, "a c b d", 4, false},
		{"the two slowest", Search{Limit: 2}, "a c", 4, false},
		{"a finding, also of those out of latency", Search{Findings: late}, "c b d untimed", 4, false},
		{"at an instant", Search{At: at(150)}, "edge a c b", 4, false}, // a ends at 150
		{"at an instant, with a finding", Search{At: at(195), Findings: late, Limit: 1}, "b", 1, false},
		{"nothing then: the nearest", Search{At: at(1010)}, "edge", 1, true},
		{"nothing with the finding then: the nearest that has it", Search{At: at(1010), Findings: late}, "d", 1, true},
		{"no request shows it", Search{Findings: 1 << finding.RankNotOK}, "", 0, false},
	} {
		for _, workers := range []int{1, 3} {
			for range 2 {
				r, ids := searched(workers, c.search, rows...)
				if ids != c.ids || r.Total != c.total || r.Near != c.near || !r.ByTTFT {
					t.Errorf("%s, %d workers: %s, %d, near %v, by ttft %v; want %s, %d, %v", c.name, workers, ids, r.Total, r.Near, r.ByTTFT, c.ids, c.total, c.near)
				}
				slices.Reverse(rows)
			}
		}
	}
	// With a time to first token in less than half of them the window decides (R4.28); without a vocabulary all count (R4.4).
	if r, ids := searched(2, Search{}, rows[1], rows[3], row("e", 1, 95, 0, 0, in)); ids != "e b d" || r.ByTTFT {
		t.Errorf("by window: %s", ids)
	}
	// What does not count does not decide it: with it two of four would have a time to first token.
	if r, ids := searched(2, Search{}, rows[1], rows[3], row("e", 1, 95, 0, 0, in), rows[5]); ids != "e b d" || r.ByTTFT || r.Others != 1 {
		t.Errorf("beside one that does not count: %s, %d others", ids, r.Others)
	}
	if r, ids := searched(2, Search{Findings: late}, rows[0], rows[5]); ids != "" || r.Others != 1 {
		t.Errorf("left out: %s, %d others", ids, r.Others)
	}
	if _, ids := searched(2, Search{}, rows[5]); ids != "other" {
		t.Errorf("without vocabulary: %s", ids)
	}
}

// A capture is searched through its phases, for any number of workers.
func TestSearchCapture(t *testing.T) {
	for _, jobs := range []int{1, 4} {
		r, err := opened(t, 50, Options{Jobs: jobs}).Search(t.Context(), Search{At: When{At: 1_764_432_007e9 + 5e6, Set: true}, Limit: 1})
		if err != nil || len(r.Found) != 1 || r.Found[0].ID != "request-007" || r.Total != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}
