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
	}).Text(&b, Style{})
	if err != nil {
		t.Fatal(err)
	}
	want := `process               against  offset ms  ± ms  ppm  pairs  disagree  basis
/cb.jsonl#monotonic   sched     no epoch   1    –       20         0  pairs
server                sched          -40   0.2  4.5    300         0  pairs
/few.jsonl#monotonic  sched            –   –    –        3         0  not known
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}
