package analyze

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// written is a Read of n requests, each a cb.request over a cb.schedule, in traces of their own.
func written(n int) Read {
	return func(_ context.Context, d *model.Dict, newSink func() Sink) ([]model.InputStats, error) {
		file := d.AddFile("a.jsonl")
		res := d.Resource(model.Resource{Instance: "one"}, "a.jsonl")
		sink := newSink()
		b := model.NewBatch(d, false)
		for i := range n {
			start := model.Time(1_764_432_000e9 + int64(i)*1e9)
			for j, name := range []string{"cb.request", "cb.schedule"} {
				r := b.Begin()
				r.Trace, r.ID, r.Parent = model.TraceID{Hi: 1, Lo: uint64(i + 1)}, model.HexID(uint64(2*i+j+1)), model.HexID(uint64(2*i+1)*uint64(j))
				r.Start, r.End, r.Name, r.Res, r.File = start, start+model.Time(10e6-j*5e6), b.Names.Intern([]byte(name)), res, file
				b.AddText(model.AttrRequestID, fmt.Appendf(nil, "request-%03d", i))
				b.End()
			}
			if err := sink.Add(b); err != nil {
				return nil, err
			}
			b.Reset()
		}
		return []model.InputStats{{File: "a.jsonl", Format: "otlp-json", Spans: int64(2 * n)}}, sink.Close()
	}
}

func opened(t *testing.T, n int, opt Options) *Capture {
	t.Helper()
	c, err := Open(t.Context(), written(n), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func idOf(r *model.Request, _ *model.Row) (string, bool) { return r.ID, true }

func streamed(t *testing.T, c *Capture) (ids []string) {
	t.Helper()
	err := Stream(t.Context(), c, func(int) func(*model.Request, *model.Row) (string, bool) { return idOf },
		func(id string) error { ids = append(ids, id); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// The sequence is the same for any number of workers and partitions (R2.4), each request once, in the order of the hashes of their ids.
func TestStreamOrder(t *testing.T) {
	want := streamed(t, opened(t, 300, Options{Jobs: 1}))
	for _, opt := range []Options{{Jobs: 7}, {Jobs: 3, Memory: 256 << 10}} {
		if got := streamed(t, opened(t, 300, opt)); !slices.Equal(got, want) {
			t.Errorf("%+v: another sequence", opt)
		}
	}
	byHash := slices.SortedFunc(slices.Values(want), func(a, b string) int {
		if hashOf(a) < hashOf(b) {
			return -1
		}
		return 1
	})
	if !slices.Equal(byHash, want) || len(want) != 300 {
		t.Errorf("%d requests, not in the order of hashes", len(want))
	}
}

// What a selection leaves out is not streamed; an error of emit ends the run at once and is what Stream returns.
func TestStreamEnds(t *testing.T) {
	since := When{At: 1_764_432_290e9, Set: true}
	if got := streamed(t, opened(t, 300, Options{Jobs: 2, Since: since})); len(got) != 10 {
		t.Errorf("%d requests from the last ten seconds", len(got))
	}
	enough, seen := errors.New("enough"), 0
	err := Stream(t.Context(), opened(t, 300, Options{Jobs: 4}), func(int) func(*model.Request, *model.Row) (string, bool) { return idOf },
		func(string) error {
			if seen++; seen == 5 {
				return enough
			}
			return nil
		})
	if !errors.Is(err, enough) || seen != 5 {
		t.Errorf("%v after %d", err, seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := opened(t, 10, Options{Jobs: 2})
	cancel()
	err = Stream(ctx, c, func(int) func(*model.Request, *model.Row) (string, bool) { return idOf }, func(string) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Each gives linked requests: a tree with a root and its row.
func TestEach(t *testing.T) {
	roots := make([]int, 3)
	err := opened(t, 50, Options{Jobs: 3}).Each(t.Context(), func(w int) func(*model.Request, *model.Row) error {
		return func(r *model.Request, row *model.Row) error {
			if r.Root.Stage == model.StageCBRequest && len(r.Root.Kids) == 1 && row.Window == 10e6 {
				roots[w]++
			}
			return nil
		}
	})
	if n := roots[0] + roots[1] + roots[2]; err != nil || n != 50 {
		t.Errorf("%d requests with their tree, %v", n, err)
	}
}
