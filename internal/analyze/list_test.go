package analyze

import (
	"slices"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/list"
	"github.com/cbtrace/cbtrace/internal/model"
)

// What is streamed is what is listed.
func TestListAndStream(t *testing.T) {
	c := opened(t, 120, Options{Jobs: 3})
	doc, err := c.List(t.Context(), list.Order{Key: list.ByStart}, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	var streamed []list.Row
	n, err := c.StreamList(t.Context(), false, func(r *list.Row) error { streamed = append(streamed, *r); return nil })
	if err != nil || n != 120 {
		t.Fatalf("%d, %v", n, err)
	}
	slices.SortFunc(streamed, func(a, b list.Row) int { return int(a.StartUnixNS.V - b.StartUnixNS.V) })
	same := func(a, b list.Row) bool {
		return a.ID == b.ID && a.StartUnixNS == b.StartUnixNS && a.TopStage == b.TopStage
	}
	if !slices.EqualFunc(streamed, doc.Requests, same) || doc.Total != 120 || doc.Shown != 120 {
		t.Errorf("%d of %d listed, %d streamed, or not the same", doc.Shown, doc.Total, len(streamed))
	}
	doc, err = c.List(t.Context(), list.Order{Key: list.ByID, Reverse: true}, 2, false)
	if err != nil || doc.Total != 120 || doc.Shown != 2 || doc.Requests[0].ID != "request-119" || doc.Requests[1].ID != "request-118" {
		t.Errorf("%+v, %v", doc, err)
	}
}

func TestBetween(t *testing.T) {
	const last = model.Time(1000e9)
	ago, at := When{Ago: 10 * time.Second, Relative: true, Set: true}, When{At: 995e9, Set: true}
	for _, c := range []struct {
		since, until When
		lo, hi       model.Time
		given        bool
	}{
		{When{}, When{}, -1 << 63, 1<<63 - 1, false},
		{ago, When{}, 990e9, 1<<63 - 1, true},
		{When{}, at, -1 << 63, 995e9, true},
		{ago, at, 990e9, 995e9, true},
	} {
		if lo, hi, given := Between(c.since, c.until, last); lo != c.lo || hi != c.hi || given != c.given {
			t.Errorf("%+v: %d %d %v", c, lo, hi, given)
		}
	}
}
