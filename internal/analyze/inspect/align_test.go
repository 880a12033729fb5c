package inspect

import (
	"fmt"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

func tree(spans ...Span) *Document { return &Document{Spans: spans} }

func span(id, parent, stage string, start int64) Span {
	return Span{ID: id, Parent: parent, Stage: stage, StartNS: model.Some(start)}
}

// The second load stands with the second load, whatever its id; what one side alone has stands by itself where it began.
func TestAlign(t *testing.T) {
	a := tree(span("1", "", "cb.request", 0), span("2", "1", "cb.schedule", 1), span("3", "1", "cb.execute", 5), span("4", "3", "cb.start_load_kv", 6), span("5", "3", "cb.start_load_kv", 8))
	b := tree(span("x", "", "cb.request", 0), span("y", "x", "cb.execute", 7), span("z", "y", "cb.start_load_kv", 8), span("v", "y", "cb.check", 9), span("w", "gone", "gateway", 0))
	got := ""
	id := func(s *Span) string {
		if s == nil {
			return "-"
		}
		return s.ID
	}
	for _, p := range Align(a, b) {
		got += fmt.Sprintf("%d %s %s %s\n", p.Depth, p.Span().Stage, id(p.A), id(p.B))
	}
	want := "0 cb.request 1 x\n1 cb.schedule 2 -\n1 cb.execute 3 y\n2 cb.start_load_kv 4 z\n2 cb.start_load_kv 5 -\n2 cb.check - v\n0 gateway - w\n"
	if got != want {
		t.Errorf("have\n%swant\n%s", got, want)
	}
	if n := len(Align(tree(span("1", "2", "a", 0), span("2", "1", "b", 0)), tree())); n != 0 { // a ring hangs under nothing
		t.Errorf("%d places in a ring", n)
	}
	if n := len(Align(tree(span("1", "1", "a", 0)), tree(span("1", "", "a", 0), span("1", "1", "a", 0)))); n != 2 {
		t.Errorf("%d places of spans with one id", n)
	}
}

func TestChanges(t *testing.T) {
	path := func(times ...report.StageTime) *Document {
		return &Document{CriticalPath: CriticalPath{ByStage: times}}
	}
	got := fmt.Sprint(Changes(path(report.StageTime{Stage: "a", NS: 10}, report.StageTime{Stage: "b", NS: 50}), path(report.StageTime{Stage: "b", NS: 20}, report.StageTime{Stage: "c", NS: 10})))
	if want := "[{b 50 20} {a 10 0} {c 0 10}]"; got != want {
		t.Errorf("have %s, want %s", got, want)
	}
}
