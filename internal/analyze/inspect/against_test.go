package inspect

import (
	"fmt"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Of a day of ten requests of 10, 20 … 100 ms, of which the first five loaded from L2 for as many ms as their number says, and one more that was
// cut off and does not count.
func TestHold(t *testing.T) {
	const ms = 1_000_000
	agg := report.New(model.NewDict(), report.Options{})
	for i := range 11 {
		id := fmt.Sprintf("r%d", i)
		r := &model.Row{Identity: model.Identity{ID: id}, Hash: xxhash.Sum64String(id), Flags: model.RowRealRoot | model.RowRootClosed | model.RowVocabulary,
			Start: 1_700_000_000e9, Window: int64(i+1) * 10 * ms}
		if i%2 == 0 {
			r.TTFT = model.Some(int64(i+1) * ms)
		}
		if i < 5 {
			r.Stages = []model.RowStage{{Stage: model.StageL2Load.ID(), Owner: model.Server, Spans: 1, Counted: 1, Critical: int64(i+1) * ms}}
		}
		if i == 10 {
			r.Flags |= model.RowEdge
		}
		agg.Add(r)
	}
	day := agg.Figures(&report.Capture{})

	d := &Document{Window: Window{DurationNS: model.Some(30 * ms)}, Request: Request{TTFTNS: model.Some(4 * ms)}}
	d.CriticalPath.ByStage = []report.StageTime{{Stage: "cb.l2_load", NS: 3 * ms}, {Stage: "cb.scatter", NS: 1}, {Stage: "unheard.of", NS: 26 * ms}}
	d.Hold(day, []string{"day"})
	a := d.Against
	if a.Requests != 11 || a.Compared != 10 {
		t.Errorf("%d of %d requests, want 10 of 11", a.Compared, a.Requests)
	}
	if a.DurationRank != model.SomeFloat(0.3) { // 10, 20, 30 ms
		t.Errorf("duration %v", a.DurationRank)
	}
	if a.TTFTRank != model.SomeFloat(0.4) { // 1 and 3 of 1, 3, 5, 7, 9 ms
		t.Errorf("ttft %v", a.TTFTRank)
	}
	for i, want := range []model.OptFloat{model.SomeFloat(0.8), model.SomeFloat(1), {}} { // 1, 2, 3 ms and five times 0
		if have := d.CriticalPath.ByStage[i].Rank; have != want {
			t.Errorf("%s: %v, want %v", d.CriticalPath.ByStage[i].Stage, have, want)
		}
	}

	d = &Document{} // untimed: no place
	d.Hold(day, []string{"day"})
	if d.Against.DurationRank.OK || d.Against.TTFTRank.OK {
		t.Errorf("untimed: %v", d.Against)
	}
	d.Window.DurationNS = model.Some(1)
	d.Hold(report.New(model.NewDict(), report.Options{}).Figures(&report.Capture{}), nil)
	if d.Against.DurationRank.OK || d.Against.Compared != 0 {
		t.Errorf("against nothing: %v", d.Against)
	}
}
