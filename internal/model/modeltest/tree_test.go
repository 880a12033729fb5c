package modeltest

import (
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

func TestRequest(t *testing.T) {
	r := Request(t, `
cb.request       sched   0ms 90ms
  cb.lookup.rpc  sched   5ms 50ms  n_polls=4 polls=10ms,20ms
    cb.lookup    server  6ms -     +duplicate_id trace=1
  app.step       sched   1ms 2ms   error
cb.retrieve      server  60ms 95ms success=True id=R
`)
	if r.Root.Stage != model.StageCBRequest || r.Root.ServerRoot() || len(r.Spans) != 5 || r.Window() != 95*time.Millisecond {
		t.Fatalf("root %v, %d spans, window %v", r.Root.Stage, len(r.Spans), r.Window())
	}
	if len(r.Root.Kids) != 3 || r.Root.Kids[0].Known() || !r.Root.Kids[0].Error || r.Root.Kids[2].Edge != model.EdgeAdopted {
		t.Errorf("children of the root: %v", r.Root.Kids)
	}
	rpc := r.Root.Kids[1]
	if n, _ := rpc.Int(model.AttrNPolls); n != 4 || len(rpc.Polls) != 2 || rpc.Polls[1] != Epoch+20_000_000 || rpc.Dur() != 45*time.Millisecond {
		t.Errorf("the rpc: %+v", rpc)
	}
	look := rpc.Kids[0]
	if look.Edge != model.EdgePropagated || !look.Has(model.FlagOpen) || !look.Has(model.FlagDuplicateID) || look.Dur() != 0 || !look.MPScope || look.Trace == rpc.Trace {
		t.Errorf("the lookup: %+v", look)
	}
	if s := r.Root.Kids[2]; !s.True(model.AttrSuccess) || r.Dict.SpanIDText(s.ID) != "R" {
		t.Errorf("the retrieve: %+v", s)
	}
}

func TestLinked(t *testing.T) {
	r := Linked(t, `
cb.request       sched   0ms 90ms
  cb.lookup.rpc  sched   5ms 50ms
cb.lookup        server  6ms 40ms
cb.classify      server  7ms 6ms   parent=gone
cb.execute       worker  60ms 95ms
`)
	find := func(stage model.Stage) *model.Span {
		for _, s := range r.Spans {
			if s.Stage == stage {
				return s
			}
		}
		t.Fatalf("no %v", stage)
		return nil
	}
	if up := find(model.StageLookup).Parent; up != find(model.StageLookupRPC) {
		t.Errorf("the lookup hangs under %v", up.Stage)
	}
	if s := find(model.StageClassify); !s.Has(model.FlagOrphan) || !s.Has(model.FlagNegative) {
		t.Errorf("flags %v", s.Flags.Names())
	}
	if r.Window() != 95*time.Millisecond || r.Root.Stage != model.StageCBRequest {
		t.Errorf("window %v, root %v", r.Window(), r.Root.Stage)
	}
}
