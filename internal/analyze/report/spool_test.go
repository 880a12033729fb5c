package report

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A memFile is a file in memory.
type memFile struct {
	mu   sync.Mutex
	b    []byte
	gone bool
}

var errBroken = errors.New("broken")

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.b = append(f.b[:off], b...)
	return len(b), nil
}

func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return 0, errBroken
	}
	return copy(b, f.b[off:]), nil
}

// Values that were put away change nothing: not the document, before and after more came, nor what is saved, nor what is asked of it (R2.5, R8.3).
func TestPutAway(t *testing.T) {
	dict := model.NewDict()
	for _, opt := range []Options{{}, {Method: Linear, All: true, Bucket: 3600e9, By: []By{ByHitClass}}} {
		rnd := rand.New(rand.NewPCG(5, 6))
		file := &memFile{}
		spool := model.NewSpool(func() (model.SpoolFile, error) { return file, nil })
		plain, two := New(dict, opt), [2]*Aggregate{New(dict, opt), New(dict, opt)}
		for _, a := range two {
			a.PutAway(spool, 31_000)
		}
		some := []*Capture{factsOf(0), factsOf(0, 1)}
		for round, facts := range some {
			for i := range 2_400 {
				r := usualRow(rnd, 2_400*round+i)
				if i%20 == 0 {
					r = randomRow(rnd, dict, 2_400*round+i)
				}
				plain.Add(r)
				a := two[i%2]
				a.Add(r)
				a.Relieve()
			}
			if held := two[0].main.latency.Held(); !two[0].main.latency.Away() || held > 800 {
				t.Fatalf("%d values in memory", held)
			}
			if two[0].Away() == 0 || plain.Away() != 0 {
				t.Fatalf("%d bytes away, %d of what stays", two[0].Away(), plain.Away())
			}
			two[0].Merge(two[1])
			two[1] = New(dict, opt)
			two[1].PutAway(spool, 31_000)
			for range 2 { // the second comes from what was noted
				differ(t, fmt.Sprint(opt, " document ", round), documentOf(t, two[0], facts), documentOf(t, plain, facts))
			}
			differ(t, "saved", string(saveOf(t, two[0], facts)), string(saveOf(t, plain, facts)))
			if !two[0].main.latency.Away() || two[0].main.latency.Held() > 1600 {
				t.Errorf("%d values came back to stay", two[0].main.latency.Held())
			}
		}
		a, b := plain.Figures(some[1]), two[0].Figures(some[1])
		if x, y := a.Latency.Rank(77), b.Latency.Rank(77); x != y {
			t.Errorf("rank 77: %d, want %d", y, x)
		}
		slo := []SLO{{Expr: "ttft<=200ms", Metric: "ttft", Bound: 200 * ms}}
		docs := [2]*Document{plain.Document(some[1]), two[0].Document(some[1])}
		for i, agg := range []*Aggregate{plain, two[0]} {
			if _, err := agg.Ask(docs[i], slo, nil); err != nil {
				t.Fatal(err)
			}
		}
		if x, y := docs[0].SLO, docs[1].SLO; len(x) != 1 || x[0] != y[0] || x[0].Met == 0 {
			t.Errorf("%v, want %v", y, x)
		}
		if err := two[0].Err(); err != nil {
			t.Error(err)
		}
		file.gone = true
		if two[0].main.latency.Release(); two[0].main.latency.Rank(5) != 0 || !errors.Is(two[0].Err(), errBroken) {
			t.Errorf("values that are gone: %v", two[0].Err())
		}
		if _, err := two[0].Append(nil, some[1]); !errors.Is(err, errBroken) {
			t.Errorf("saved all the same: %v", err)
		}
	}
}
