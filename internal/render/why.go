package render

import (
	"fmt"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Why is the cache's decision on one request as a page: what was asked for as a sum, what was found as another, and the steps that led there.
func (v *View) Why(d *inspect.Document) *Page {
	p := &Page{Main: "asked"}
	p.Say(decision(d))
	w := d.Why
	p.Title("Asked for")
	p.Table(sumTable("asked", "requested", w.Requested, w.Asked))
	p.Title("Found")
	p.Table(sumTable("given", "found", w.Found, w.Given))
	p.Title("Steps")
	t := &Table{Name: "steps", Columns: []Column{{Name: "step", Shrink: true}, {Name: "start", Kind: Time, Drop: 1}, {Name: "time", Kind: Time}, {Name: "says", Shrink: true}}}
	for i := range w.Steps {
		s := &w.Steps[i]
		var says []string
		for _, x := range s.Says {
			says = append(says, fmt.Sprintf("%s %s", x.Key, said(x.Value)))
		}
		t.Add(Word(s.Name).Signed(strings.Repeat("  ", min(s.Depth, maxDepth))), Known(s.StartNS).Within(s.StartDoubtNS), Known(s.NS).Within(s.UncertaintyNS), Word(strings.Join(says, ", ")))
	}
	p.Table(t)
	if len(w.Steps) == 0 {
		p.Say("No span of a lookup or of a load was recorded.")
	}
	return p
}

// decision is the sum in words.
func decision(d *inspect.Document) string {
	w := d.Why
	var s strings.Builder
	switch {
	case w.EarlyExit != "":
		fmt.Fprintf(&s, "The lookup ended before it searched: %s.", Escape(w.EarlyExit))
	case !w.Requested.OK:
		s.WriteString("Nobody said how many tokens were asked for.")
	case w.Requested.V == 0:
		s.WriteString("Nothing was asked for.")
	case !w.Found.OK:
		fmt.Fprintf(&s, "%s tokens were asked for, and nobody said how many were found.", Count(w.Requested.V))
	default:
		fmt.Fprintf(&s, "Of %s tokens %s were found (%s)", Count(w.Requested.V), Count(w.Found.V), Percent(float64(w.Found.V)/float64(w.Requested.V)))
		switch {
		case w.Found.V == 0:
		case !w.Written.OK:
			s.WriteString("; no load was recorded")
		case w.Written.V == w.Found.V:
			s.WriteString(" and all of those loaded")
		default:
			fmt.Fprintf(&s, " and %s of those loaded", Count(w.Written.V))
		}
		s.WriteString(".")
	}
	return s.String()
}

// sumTable is a sum, its total last.
func sumTable(name, whole string, total model.Opt, parts []inspect.Part) *Table {
	t := &Table{Name: name, Columns: []Column{{Name: "tokens", Key: "part"}, {Name: "", Key: "tokens", Kind: Tally}, {Name: "of " + whole, Key: "share", Kind: Share}}}
	for i, part := range parts {
		sign := "+ "
		if i == 0 {
			sign = "  "
		}
		t.Add(tokenCell(sign, part.Name), Of(part.Tokens), shareOf(part.Tokens, total.V))
	}
	if len(parts) > 0 {
		t.Add(tokenCell("= ", whole), Known(total), shareOf(total.V, total.V))
	}
	return t
}

// said is the value of an attribute as text, which the table escapes.
func said(v any) string {
	switch v := v.(type) {
	case int64:
		return Count(v)
	case float64:
		return Number(v)
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return fmt.Sprint(v)
}
