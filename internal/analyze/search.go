package analyze

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A Search finds requests without an id. The zero value fits every request.
type Search struct {
	Findings model.FindingSet // that show one of these; 0: whatever they show
	At       When             // that were going on at this instant; one that is not set: whenever
	Limit    int              // how many are wanted; 0: all
}

// A SearchResult is the requests that fit, the slowest first: by time to first token where R4.28 says so and they have one, then by window,
// ties by id.
type SearchResult struct {
	Found  []Found
	Total  int64 // that fit
	Others int64 // that would fit and do not count (R4.4)
	ByTTFT bool
	Near   bool // none was going on at the instant that was asked for: this is the one that is nearest to it

	Outside    bool       // and the instant lies outside the range of the capture (R8.8)
	Start, End model.Time // of that range
}

// filtered reports whether a search asks for more than the slowest.
func (s *Search) filtered() bool { return s.Findings != 0 || s.At.Set }

// Search finds the requests that fit. As in a report those without a stage of the vocabulary are left out unless the capture holds nothing else (R4.4),
// and the slowest of all are those in latency (R8.2) unless there are none.
func (c *Capture) Search(ctx context.Context, s Search) (*SearchResult, error) {
	first, last, _ := c.Table.Range()
	at, _ := s.At.resolve(last)
	workers := make([]searching, c.opt.jobs())
	err := c.rows(ctx, func(w int) func(*analyzer, *model.Row) error {
		f := &workers[w]
		f.limit = s.Limit
		return func(_ *analyzer, row *model.Row) error {
			f.add(&s, at, row)
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	all := &workers[0]
	for i := range workers[1:] {
		all.merge(&workers[i+1])
	}
	r := all.result(&s, c.Counting(false))
	r.Start, r.End, r.Outside = first, last, r.Near && (at < first || at > last)
	return r, nil
}

// A searching is what one worker has seen. What is decided by counts over the capture is kept for either outcome.
type searching struct {
	limit        int
	known, other fitting
}

// A fitting is the requests that fit, of those with a stage of the vocabulary or without.
type fitting struct {
	latency, ttft    int64 // requests in latency, and those of them with a time to first token, whether they fit or not
	total, inLatency int64
	byTTFT, byWindow []Found // of all that fit
	slowTTFT, slow   []Found // of those in latency
	nearest          *Found
	distance         model.Time
}

func (f *searching) add(s *Search, at model.Time, row *model.Row) {
	to := &f.other
	if row.Flags.Known() {
		to = &f.known
	}
	in := row.Flags.InLatency()
	if in {
		to.latency++
		if row.TTFT.OK {
			to.ttft++
		}
	}
	if s.Findings != 0 && row.Findings&s.Findings == 0 {
		return
	}
	found := Found{ID: row.ID, External: row.External, Start: row.Start, Window: row.Window, TTFT: row.TTFT, Verdict: row.Verdict}
	if s.At.Set {
		if row.Start == 0 {
			return // untimed
		}
		if d := distance(row.Start, row.Start+model.Time(row.Window), at); d > 0 {
			if to.nearest == nil || d < to.distance || d == to.distance && row.ID < to.nearest.ID {
				copied := found.clone()
				to.nearest, to.distance = &copied, d
			}
			return
		}
	}
	to.total++
	f.keep(&to.byTTFT, found, slowerByTTFT)
	f.keep(&to.byWindow, found, slowerByWindow)
	if in {
		to.inLatency++
		f.keep(&to.slowTTFT, found, slowerByTTFT)
		f.keep(&to.slow, found, slowerByWindow)
	}
}

// distance is how far an instant is from an interval.
func distance(start, end, at model.Time) model.Time { return max(0, start-at, at-end) }

// clone is a Found that outlives the row it was made of.
func (f Found) clone() Found {
	f.ID, f.External = strings.Clone(f.ID), strings.Clone(f.External)
	return f
}

func slowerByWindow(a, b Found) int {
	return cmp.Or(cmp.Compare(b.Window, a.Window), strings.Compare(a.ID, b.ID))
}

func slowerByTTFT(a, b Found) int {
	if a.TTFT.OK && b.TTFT.OK {
		return cmp.Or(cmp.Compare(b.TTFT.V, a.TTFT.V), strings.Compare(a.ID, b.ID))
	}
	if a.TTFT.OK != b.TTFT.OK {
		if a.TTFT.OK {
			return -1
		}
		return 1
	}
	return slowerByWindow(a, b)
}

// keep puts a request into a list that is in order, unless as many as are wanted come before it. Where all are wanted it is put in order at
// the end.
func (f *searching) keep(list *[]Found, found Found, slower func(a, b Found) int) {
	n := len(*list)
	switch {
	case f.limit == 0:
		*list = append(*list, found.clone())
		return
	case n == f.limit && slower(found, (*list)[n-1]) > 0:
		return
	}
	at, _ := slices.BinarySearchFunc(*list, found, slower)
	*list = slices.Insert(*list, at, found.clone())
	*list = (*list)[:min(n+1, f.limit)]
}

func (f *searching) merge(o *searching) {
	for _, p := range [...]struct{ to, from *fitting }{{&f.known, &o.known}, {&f.other, &o.other}} {
		p.to.latency += p.from.latency
		p.to.ttft += p.from.ttft
		p.to.total += p.from.total
		p.to.inLatency += p.from.inLatency
		for _, l := range [...]struct {
			to, from *[]Found
			slower   func(a, b Found) int
		}{{&p.to.byTTFT, &p.from.byTTFT, slowerByTTFT}, {&p.to.byWindow, &p.from.byWindow, slowerByWindow}, {&p.to.slowTTFT, &p.from.slowTTFT, slowerByTTFT}, {&p.to.slow, &p.from.slow, slowerByWindow}} {
			for _, found := range *l.from {
				f.keep(l.to, found, l.slower)
			}
		}
		if n := p.from.nearest; n != nil && (p.to.nearest == nil || p.from.distance < p.to.distance || p.from.distance == p.to.distance && n.ID < p.to.nearest.ID) {
			p.to.nearest, p.to.distance = n, p.from.distance
		}
	}
}

func (f *searching) result(s *Search, which report.Counting) *SearchResult {
	of, r := &f.known, &SearchResult{Others: f.other.total}
	if which.All() { // the capture holds nothing else
		of, r.Others = &f.other, 0
	}
	r.ByTTFT = of.ttft > 0 && 2*of.ttft >= of.latency
	byTTFT, byWindow := of.byTTFT, of.byWindow
	if r.Total = of.total; !s.filtered() && of.inLatency > 0 {
		r.Total, byTTFT, byWindow = of.inLatency, of.slowTTFT, of.slow
	}
	r.Found = byWindow
	slower := slowerByWindow
	if r.ByTTFT {
		r.Found, slower = byTTFT, slowerByTTFT
	}
	if s.Limit == 0 {
		slices.SortFunc(r.Found, slower)
	}
	if len(r.Found) == 0 && of.nearest != nil {
		r.Found, r.Total, r.Near = []Found{*of.nearest}, 1, true
	}
	return r
}
