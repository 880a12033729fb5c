package clock

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/model"
)

// ended counts the spans of a capture that were ended by a shutdown, asking the way model.Link does.
func ended(c *capture, tab *Table) (n int, names []string) {
	for _, r := range c.requests {
		retrieves := retrievesOf(r.Spans)
		for _, sp := range r.Spans {
			if tab.Shutdown(sp, xxhash.Sum64String(r.ID), beganInside(retrieves, sp)) {
				n++
				names = append(names, r.ID+"/"+c.dict.SpanIDText(sp.ID))
			}
		}
	}
	return n, names
}

// quick are requests of so many ms, and another process that ends later than the server.
func quick(length int) string {
	return strings.ReplaceAll(`
	* Q - request {i}*100 {i}*100+{long} process=server
	* L Q mp.lookup_prefetch {i}*100 {i}*100+{long} process=server
	end Q - request 94500 95200 process=other scope=lmcache_mp.server`, "{long}", fmt.Sprint(length))
}

// leak is a request whose lookup ends long after it.
func leak(id string, start, end int) string {
	return fmt.Sprintf("\n%s Q - request %d %d process=server\n%s L Q mp.lookup_prefetch %d %d process=server", id, start, start+50, id, start, end)
}

func alike(end int) string {
	return fmt.Sprintf(`
	* Q - request 5000 5050 process=server
	* L Q mp.lookup_prefetch 5000 %d process=server
	end Q - request 94500 95200 process=other scope=lmcache_mp.server`, end)
}

// R4.30, each limit and one tick inside it.
func TestShutdown(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  string
		times int
		want  int
	}{
		{"two at once", quick(1000) + leak("x", 5000, 95000) + leak("y", 6000, 94991), 25, 2},
		{"alone", quick(1000) + leak("x", 5000, 95000), 25, 0},
		{"ten milliseconds", quick(1000) + leak("x", 5000, 95000) + leak("y", 6000, 94990), 25, 2},
		{"eleven milliseconds", quick(1000) + leak("x", 5000, 95000) + leak("y", 6000, 94989), 25, 0},
		{"thirty seconds", quick(1000) + leak("x", 65000, 95000) + leak("y", 65000, 95000), 25, 0},
		{"over thirty seconds", quick(1000) + leak("x", 64999, 95000) + leak("y", 64999, 95000), 25, 2},
		{"twenty times the p99", quick(2000) + leak("x", 55000, 95000) + leak("y", 55000, 95000), 25, 0},
		{"over twenty times the p99", quick(2000) + leak("x", 54999, 95000) + leak("y", 54999, 95000), 25, 2},
		{"one over, one not: no other request", quick(2000) + leak("x", 54999, 95000) + leak("y", 55000, 95000), 25, 0},
		{"few others", quick(2000) + leak("x", 60000, 95000) + leak("y", 60000, 95000), 19, 0},
		{"twenty alike", alike(95000), 20, 20},
		{"nineteen alike", alike(95000), 19, 0},
		{"twenty alike of nineteen requests", alike(95000) + "\n	r0 M Q mp.lookup_prefetch 5000 94999 process=server", 19, 0},
		{"the root", quick(1000) + `
			x Q - request 5000 95000 process=server
			y Q - request 6000 95000 process=server`, 25, 2},
		{"of two stages", quick(1000) + leak("x", 5000, 95000) + "\n	y Q - request 6000 95000 process=server", 25, 2},
		{"alone, but its request went on", quick(1000) + leak("x", 5000, 95000) + "\n	x R Q mp.retrieve 5040 5048 process=server", 25, 1},
		{"a retrieve that began with it", quick(1000) + leak("x", 5000, 95000) + "\n	x R Q mp.retrieve 5000 5048 process=server", 25, 0},
		{"no llm_request", quick(1000) + `
			x E - llm_request 5000 95000 process=server
			y E - llm_request 5000 95000 process=server`, 25, 0},
		{"no line", quick(1000) + `
			x E - mp.lookup_prefetch 5000 95000 process=server line
			y E - mp.lookup_prefetch 5000 95000 process=server line`, 25, 0},
		{"not the scheduler's", quick(1000) + `
			x E - cb.lookup.rpc 5000 95000 process=server scope=lmcache_cacheblend
			y E - cb.lookup.rpc 5000 95000 process=server scope=lmcache_cacheblend`, 25, 0},
		{"an open span", quick(1000) + leak("x", 5000, 95000) + "\n	y L - mp.lookup_prefetch 5000 0 process=server open", 25, 0},
		{"one that ends earlier counts with the others", quick(1000) + leak("x", 60000, 95000) + leak("y", 60000, 95000) + `
			z Q - request 65999 94999 process=server
			z L Q mp.lookup_prefetch 65999 94999 process=server`, 20, 2},
		{"copies count", quick(2000) + leak("x", 50000, 95000) + leak("y", 50000, 95000) + "\n	r0 L Q mp.lookup_prefetch 0 2000 process=server", 19, 2},
		{"each process has its own end", quick(1000) + leak("x", 5000, 95000) + `
			y L - mp.lookup_prefetch 5000 95100 process=other scope=lmcache_mp.server`, 25, 0},
	} {
		got := captureOf(t, ms, c.times, c.rows)
		if n, names := ended(got, got.table()); n != c.want {
			t.Errorf("%s: %d ended %v, want %d", c.name, n, names, c.want)
		}
	}
}

// CONTRACT-lmcache 9.2 G: three spans of one process that end within 2 ms of its last instant after 40, 95 and 310 s, beside 200 ordinary
// ones of the stage whose p99 is 0.2 s.
func TestShutdownArtefact(t *testing.T) {
	c := captureOf(t, ms, 200, `
	* Q - request {i}*1000 {i}*1000+250 process=server
	* L Q mp.lookup_prefetch {i}*1000+10 {i}*1000+210 process=server
	a L - mp.lookup_prefetch 280000 320000 process=server
	b L - mp.lookup_prefetch 225001 320001 process=server
	c L - mp.lookup_prefetch 10002 320002 process=server`)
	if n, names := ended(c, c.table()); n != 3 {
		t.Errorf("%d ended: %v", n, names)
	}
}

// The survey keeps exact facts although the last instant moves with every span: ended is the same for each order of the requests.
func TestLastInstantMoves(t *testing.T) {
	c := captureOf(t, ms, 120, quick(1000)+leak("x", 5000, 94985)+leak("y", 6000, 94993)+leak("z", 6000, 95000))
	for turn := range c.requests {
		v := NewSurvey(c.dict)
		for i := range c.requests {
			v.Add(c.requests[(turn+i)%len(c.requests)])
		}
		if n, names := ended(c, v.Finish(Options{})); n != 2 { // x ends 15 ms before z, and counts among 121
			t.Errorf("from request %d: %v", turn, names)
		}
	}
}

// R5.1: what a shutdown ended bounds no clock. Without that these 40 pairs of which 20 are leaks would be a finding.
func TestShutdownGivesNoPair(t *testing.T) {
	const rows = `
	* K - cb.lookup.rpc {i}*1000 {i}*1000+60 process=sched
	* L K cb.lookup {i}*1000+10 {i}*1000+50 process=server`
	leaks := func(end int) string {
		out := rows
		for i := range 20 {
			out += fmt.Sprintf("\n	l%d K - cb.lookup.rpc %d %d process=sched\n	l%d L K cb.lookup %d %d process=server", i, 30000+i, 30060+i, i, 30010+i, end)
		}
		return out
	}
	c := captureOf(t, ms, 20, leaks(95000))
	row := c.clockOf(c.table(), "server", "sched")
	if row.Pairs != 20 || row.Disagreeing != 0 || row.Basis != BasisZero {
		t.Errorf("%+v", row)
	}
	c = captureOf(t, ms, 20, leaks(95000)+"\n	later Q - request 95000 96000 process=server")
	row = c.clockOf(c.table(), "server", "sched")
	if row.Pairs != 40 || row.Disagreeing != 20 {
		t.Errorf("leaks that no shutdown ended: %+v", row)
	}
}

// The two longest are of different requests, so that every request sees another's.
func TestLongestOfTwoRequests(t *testing.T) {
	const stage = model.StrID(1)
	srv := serverSpans{any: true, last: 1000}
	for i, dur := range []int64{40, 90, 80, 90, 35} {
		srv.near = append(srv.near, nearSpan{stage: stage, end: 1000, dur: seconds(dur), request: []uint64{1, 2, 2, 2, 3}[i], n: 1})
	}
	row := stopOf(&srv).stages[stage]
	if row.requests != 3 || row.longest[0].request != 2 || row.longest[0].dur != seconds(90) || row.longest[1].request != 1 || row.longest[1].dur != seconds(40) {
		t.Errorf("%+v", row)
	}
}
