package critpath

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// amounts are ns by name; what is 0 is left out.
type amounts map[string]int64

func (a amounts) add(name string, d time.Duration) {
	if d != 0 {
		a[name] += int64(d)
	}
}

// TestCases holds tree, window, path, bounds, drag and self time against the answers of the cases.
func TestCases(t *testing.T) {
	var w Work
	for _, c := range modeltest.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			r := c.Request(t)
			p := Analyze(r, &w)
			checkPath(t, &c, r, p)
			checkSpans(t, &c, r)
		})
	}
}

func same(t *testing.T, what string, got amounts, want map[string]int64) {
	t.Helper()
	want = maps.Clone(want)
	maps.DeleteFunc(want, func(_ string, n int64) bool { return n == 0 })
	if !maps.Equal(got, want) {
		t.Errorf("%s\n have %v\n want %v", what, got, want)
	}
}

func checkPath(t *testing.T, c *modeltest.Case, r *model.Request, p *Path) {
	t.Helper()
	if r.RealRoot() != (c.RootStage != nil) || c.RootStage != nil && r.Dict.Str(r.Root.StageKey) != *c.RootStage {
		t.Errorf("root %q", r.Dict.Str(r.Root.StageKey))
	}
	if lo, hi := r.WindowStart-modeltest.Epoch, r.WindowEnd-modeltest.Epoch; int64(lo) != c.Window.Start || int64(hi) != c.Window.End {
		t.Errorf("window [%d, %d), want [%d, %d)", lo, hi, c.Window.Start, c.Window.End)
	}
	if int64(r.Tail) != c.Expect.Tail {
		t.Errorf("tail %d, want %d", r.Tail, c.Expect.Tail)
	}
	factsOf(t, r, p) // a partition of the window
	name := func(key model.StrID) string {
		if s := r.Dict.Str(key); s != model.SyntheticStage {
			return s
		}
		return "$root"
	}
	during, kinds, bounds := amounts{}, [NumKinds]amounts{{}, {}, {}}, amounts{}
	for i := range p.Segments {
		s := &p.Segments[i]
		kinds[s.Kind].add(name(s.Span.StageKey), s.Dur())
		bounds.add(s.Bound.String(), s.Dur())
		if s.Kind == Overlap {
			during.add(name(s.Span.StageKey)+" during "+name(s.During.StageKey), s.Dur())
		}
	}
	stages, drag, early, earlyBounds := amounts{}, amounts{}, amounts{}, amounts{}
	for _, s := range p.Stages {
		stages.add(name(s.Key), s.Total)
		drag.add(name(s.Key), s.Drag)
		early.add(name(s.Key), s.TTFT)
	}
	for b, d := range p.TTFTBounds {
		earlyBounds.add(model.Bound(b).String(), d)
	}
	e := &c.Expect
	same(t, "by stage", stages, e.ByStage)
	same(t, "self", kinds[Self], e.Self)
	same(t, "overlap", kinds[Overlap], e.Overlap)
	same(t, "gap", kinds[Gap], e.Gap)
	same(t, "by bound", bounds, e.ByBound)
	if e.During != nil {
		same(t, "during", during, e.During)
	}
	if e.Drag != nil {
		same(t, "drag", drag, e.Drag)
	}
	if p.TTFT.OK != (e.TTFT != nil) {
		t.Errorf("ttft %v", p.TTFT)
	}
	if e.TTFT != nil {
		if p.TTFT.V != e.TTFT.Total {
			t.Errorf("ttft %d, want %d", p.TTFT.V, e.TTFT.Total)
		}
		same(t, "by stage to the first token", early, e.TTFT.ByStage)
		same(t, "by bound to the first token", earlyBounds, e.TTFT.ByBound)
	}
}

func checkSpans(t *testing.T, c *modeltest.Case, r *model.Request) {
	t.Helper()
	e := &c.Expect
	critical, self := amounts{}, amounts{}
	transparent := []string{}
	for _, s := range r.Spans {
		if s.Has(model.FlagSynthetic) {
			continue
		}
		name := id(r, s)
		critical.add(name, s.Critical)
		if _, ok := e.SelfNS[name]; ok {
			self.add(name, s.Self)
		}
		if s.Has(model.FlagTransparent) {
			transparent = append(transparent, name)
		}
		if want, ok := e.Parents[name]; ok {
			if edge, parent := *want[0], parentName(r, s); edge != s.Edge.String() || parent != deref(want[1]) {
				t.Errorf("%s: edge %v, parent %q, want %s, %q", name, s.Edge, parent, edge, deref(want[1]))
			}
		}
	}
	if e.BySpan != nil {
		same(t, "critical", critical, e.BySpan)
	}
	if e.SelfNS != nil {
		same(t, "self time", self, e.SelfNS)
		slices.Sort(transparent)
		if !slices.Equal(transparent, e.Transparent) {
			t.Errorf("transparent %v, want %v", transparent, e.Transparent)
		}
	}
}

func parentName(r *model.Request, s *model.Span) string {
	switch {
	case s.Parent == nil:
		return ""
	case !s.Parent.Has(model.FlagSynthetic):
		return id(r, s.Parent)
	case s.Parent == r.Root:
		return "$root"
	}
	return "+" + r.Dict.Str(s.Parent.StageKey)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
