package inspect

import (
	"cmp"
	"slices"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// An Aligned is a place in the trees of two requests: the span of each that stands there, nil where one has none.
type Aligned struct {
	Depth int
	A, B  *Span
}

// Span is the span of either.
func (a *Aligned) Span() *Span {
	if a.A != nil {
		return a.A
	}
	return a.B
}

// Align puts the trees of two requests beside each other, parents before children. Under two spans that stand together the first child of a stage and
// owner stands with the first of the same in the other, the second with the second, and so on; siblings come in order of time.
func Align(a, b *Document) []Aligned {
	l := &aligner{kidsA: kidsOf(a), kidsB: kidsOf(b)}
	l.level(l.kidsA[""], l.kidsB[""], 0)
	return l.out
}

// kidsOf are the spans under each id in order of time; under "" those whose parent is not there.
func kidsOf(d *Document) map[string][]*Span {
	known := make(map[string]bool, len(d.Spans))
	for i := range d.Spans {
		known[d.Spans[i].ID] = true
	}
	out := map[string][]*Span{}
	for i := range d.Spans {
		s := &d.Spans[i]
		parent := s.Parent
		if !known[parent] || parent == s.ID {
			parent = ""
		}
		out[parent] = append(out[parent], s)
	}
	return out
}

type aligner struct {
	kidsA, kidsB map[string][]*Span
	out          []Aligned
}

func (l *aligner) level(as, bs []*Span, depth int) {
	type key struct{ stage, owner string }
	waiting := map[key][]*Span{}
	for _, b := range bs {
		k := key{b.Stage, b.Owner}
		waiting[k] = append(waiting[k], b)
	}
	var pairs []Aligned
	paired := map[*Span]bool{}
	for _, a := range as {
		k := key{a.Stage, a.Owner}
		p := Aligned{depth, a, nil}
		if w := waiting[k]; len(w) > 0 {
			p.B, waiting[k] = w[0], w[1:]
			paired[p.B] = true
		}
		pairs = append(pairs, p)
	}
	for _, b := range bs {
		if !paired[b] {
			pairs = append(pairs, Aligned{depth, nil, b})
		}
	}
	slices.SortStableFunc(pairs, func(x, y Aligned) int { return cmp.Compare(x.Span().StartNS.V, y.Span().StartNS.V) })
	for _, p := range pairs {
		l.out = append(l.out, p)
		var as, bs []*Span
		if p.A != nil {
			as = l.take(l.kidsA, p.A.ID)
		}
		if p.B != nil {
			bs = l.take(l.kidsB, p.B.ID)
		}
		if len(as)+len(bs) > 0 {
			l.level(as, bs, depth+1)
		}
	}
}

// take gives the children of a span once, so that ids that are there twice make no rings.
func (l *aligner) take(kids map[string][]*Span, id string) []*Span {
	out := kids[id]
	delete(kids, id)
	return out
}

// A StageChange is the path time of a stage in two requests, in ns.
type StageChange struct {
	Stage string
	A, B  int64
}

// Delta is by how much it is longer in the second.
func (c StageChange) Delta() int64 { return c.B - c.A }

// Changes are the stages of two paths by how much they changed, most first, ties by name; over all of them they sum to the change of the window.
func Changes(a, b *Document) []StageChange {
	at := map[string]int{}
	var out []StageChange
	add := func(path []report.StageTime, to func(*StageChange) *int64) {
		for _, s := range path {
			i, ok := at[s.Stage]
			if !ok {
				i = len(out)
				at[s.Stage], out = i, append(out, StageChange{Stage: s.Stage})
			}
			*to(&out[i]) += s.NS
		}
	}
	add(a.CriticalPath.ByStage, func(c *StageChange) *int64 { return &c.A })
	add(b.CriticalPath.ByStage, func(c *StageChange) *int64 { return &c.B })
	slices.SortFunc(out, func(x, y StageChange) int {
		return cmp.Or(cmp.Compare(max(y.Delta(), -y.Delta()), max(x.Delta(), -x.Delta())), cmp.Compare(x.Stage, y.Stage))
	})
	return out
}

// Minus is a − b where both are known.
func Minus(a, b model.Opt) model.Opt {
	if !a.OK || !b.OK {
		return model.Opt{}
	}
	return model.Some(a.V - b.V)
}
