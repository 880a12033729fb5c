package render

import (
	"fmt"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
)

// DiffRequests is two requests beside each other: what the path spent more or less, and their trees.
func DiffRequests(a, b *inspect.Document) *Page {
	p := &Page{Main: "spans"}
	head := fmt.Sprintf("%s took %s, %s took %s", Escape(a.Request.ID), Duration(a.Window.DurationNS.V), Escape(b.Request.ID), Duration(b.Window.DurationNS.V))
	changes := inspect.Changes(a, b)
	var causes []string
	for _, c := range changes {
		if len(causes) < 3 && c.Delta() != 0 {
			causes = append(causes, Signed(c.Delta())+" "+Escape(c.Stage))
		}
	}
	if len(causes) > 0 {
		head += fmt.Sprintf(": %s, of it %s", Signed(b.Window.DurationNS.V-a.Window.DurationNS.V), strings.Join(causes, ", "))
	}
	p.Say(head + ".")
	if x, y := a.Request.TTFTNS, b.Request.TTFTNS; x.OK && y.OK {
		p.Say(fmt.Sprintf("First token after %s and %s: %s.", Duration(x.V), Duration(y.V), Signed(y.V-x.V)))
	}
	p.Title("Path")
	t := &Table{Name: "path", Columns: []Column{{Name: "stage", Shrink: true}, {Name: "a", Kind: Time}, {Name: "b", Kind: Time},
		{Name: "delta", Page: true}, {Name: "delta", Kind: Time, Hidden: true}}}
	for _, c := range changes {
		t.Add(Word(c.Stage), Of(c.A), Of(c.B), Word(Signed(c.Delta())), Of(c.Delta()))
	}
	p.Table(t)
	p.Title("Spans")
	t = &Table{Name: "spans", Columns: []Column{{Name: "span", Shrink: true}, {Name: "a", Kind: Time}, {Name: "b", Kind: Time},
		{Name: "delta", Page: true}, {Name: "delta", Kind: Time, Hidden: true},
		{Name: "on path a", Key: "critical_a", Kind: Time, Drop: 2}, {Name: "on path b", Key: "critical_b", Kind: Time, Drop: 1}, {Name: "only in"}}}
	for _, at := range inspect.Align(a, b) {
		row := []Cell{Word(strings.Repeat("  ", min(at.Depth, maxDepth)) + at.Span().Stage), {}, {}, {}, {}, {}, {}, {}}
		if at.A != nil {
			row[1], row[5] = Known(at.A.DurationNS), Known(at.A.CriticalNS)
		} else {
			row[7] = Word("b")
		}
		if at.B != nil {
			row[2], row[6] = Known(at.B.DurationNS), Known(at.B.CriticalNS)
		} else {
			row[7] = Word("a")
		}
		if at.A != nil && at.B != nil {
			if d := inspect.Minus(at.B.DurationNS, at.A.DurationNS); d.OK {
				row[3], row[4] = Word(Signed(d.V)), Known(d)
			}
		}
		t.Add(row...)
	}
	p.Table(t)
	hits := func(d *inspect.Document) string {
		if !d.Hits.RequestedTokens.OK {
			return "unknown"
		}
		return Count(d.Hits.HitTokens.V) + " of " + Count(d.Hits.RequestedTokens.V)
	}
	p.Title("Hits and findings")
	p.Item("tokens found: " + hits(a) + " and " + hits(b))
	codes := func(d *inspect.Document) map[string]bool {
		out := map[string]bool{}
		for _, f := range d.Findings {
			out[f.Code] = true
		}
		return out
	}
	before, after := codes(a), codes(b)
	for _, x := range []struct {
		what     string
		of, than map[string]bool
	}{{"no longer", before, after}, {"new", after, before}} {
		for _, code := range sortedKeys(x.of) {
			if !x.than[code] {
				p.Item(x.what + ": " + Escape(code))
			}
		}
	}
	return p
}
