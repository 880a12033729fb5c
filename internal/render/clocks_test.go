package render

import (
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Of a clock without an epoch (R4.12) the offset is decades: it is said, and the others keep their unit.
func TestClockTable(t *testing.T) {
	var b strings.Builder
	err := clockTable([]report.Clock{
		{Process: "/cb.jsonl#monotonic", Reference: "sched", OffsetNS: model.Some(1_764_000_000e9), UncertaintyNS: model.Some(1e6), Pairs: 20, Basis: "pairs"},
		{Process: "server", Reference: "sched", OffsetNS: model.Some(-40e6), UncertaintyNS: model.Some(2e5), DriftPPM: model.SomeFloat(4.5), Pairs: 300, Basis: "pairs"},
		{Process: "/few.jsonl#monotonic", Reference: "sched", Pairs: 3, Basis: "none"},
		{Process: "api", Reference: "server", Pairs: 24, Basis: "none"},
		{Process: "lone", Basis: "none"},
		{Process: "left", Reference: "sched", OffsetNS: model.Some(0), Pairs: 9, Basis: "none"},
	}).Text(&b, Style{})
	if err != nil {
		t.Fatal(err)
	}
	want := `process               against  offset ms  ± ms  ppm  pairs  disagree  basis
/cb.jsonl#monotonic   sched     no epoch   1    –       20         0  pairs
server                sched          -40   0.2  4.5    300         0  pairs
/few.jsonl#monotonic  sched            –   –    –        3         0  too few
api                   server           –   –    –       24         0  one-sided
lone                                   –   –    –        0         0  no pair
left                  sched            0   –    –        9         0  as it is
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

// What is not known of clocks is said with its reason: bounds from one side are no lack of pairs, and a process without any pair is named.
func TestClockDoubts(t *testing.T) {
	known := report.Clock{Process: "server", Reference: "sched", OffsetNS: model.Some(-40e6), UncertaintyNS: model.Some(2e5), Pairs: 300, Basis: "pairs"}
	zero := report.Clock{Process: "worker", Reference: "sched", OffsetNS: model.Some(0), UncertaintyNS: model.Some(1e6), Pairs: 300, Basis: "zero"}
	side := report.Clock{Process: "server", Reference: "api", Pairs: 24, Basis: "none"}
	few := report.Clock{Process: "b", Reference: "a", Pairs: 4, Basis: "none"}
	lone := func(name string) report.Clock { return report.Clock{Process: name, Basis: "none"} }
	for _, c := range []struct {
		clocks []report.Clock
		want   string
	}{
		{nil, "each request is on one clock"},
		{[]report.Clock{zero}, "clocks agree within ± 1 ms"},
		{[]report.Clock{known, zero}, "server's clock corrected by -40 ms ± 200 µs; the others agree within ± 1 ms"},
		{[]report.Clock{known, side}, "server's clock corrected by -40 ms ± 200 µs; clocks taken as they are: server and api (bounded from one side only)"},
		{[]report.Clock{known, {Process: "lct", Reference: "sched", OffsetNS: model.Some(5), UncertaintyNS: model.Some(3e5), Pairs: 9, Basis: "pairs"}}, "2 clocks corrected to ± 300 µs"},
		{[]report.Clock{{Process: "/cb.jsonl#monotonic", Reference: "sched", OffsetNS: model.Some(1_764_000_000e9), UncertaintyNS: model.Some(1e6), Pairs: 20, Basis: "pairs"}}, "1 clock corrected to ± 1 ms"},
		{[]report.Clock{few}, "clocks taken as they are: b and a (too few pairs of spans to compare them)"},
		{[]report.Clock{zero, lone("p"), lone("q"), lone("r"), lone("s")}, "clocks agree within ± 1 ms; clocks taken as they are: p, q, r and 1 more (no pair of spans compares them with any other)"},
		{[]report.Clock{{Process: "b", Reference: "a", OffsetNS: model.Some(0), Pairs: 9, Basis: "none"}}, "clocks taken as they are (--no-skew)"},
		{[]report.Clock{{Process: "b", Reference: "a", Basis: "none"}}, "clocks taken as they are: b and a (no pair of spans compares them)"},
	} {
		if got := clockDoubts(c.clocks); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// A request says of a clock without a route what the report says: which pairs there are, and why they do not tell.
func TestClockPairs(t *testing.T) {
	lost := report.Clock{Process: "api", Reference: "sched", Basis: "none"}
	near := report.Clock{Process: "server", Reference: "sched", OffsetNS: model.Some(0), UncertaintyNS: model.Some(1e6), Basis: "route"}
	side := report.Clock{Process: "server", Reference: "api", Pairs: 24, Basis: "none"}
	for _, c := range []struct {
		pairs []report.Clock
		want  string
	}{
		{nil, "clocks agree within ± 1 ms; clocks taken as they are: api and sched (no pair of spans compares them)"},
		{[]report.Clock{side}, "clocks agree within ± 1 ms; clocks taken as they are: server and api (bounded from one side only)"},
		{[]report.Clock{{Process: "server", Reference: "sched", OffsetNS: model.Some(0), Basis: "zero"}}, "clocks agree within ± 1 ms; clocks taken as they are: api and sched (no pair of spans compares them)"},
	} {
		if got := clockDoubts(inPairs([]report.Clock{near, lost}, c.pairs)); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
