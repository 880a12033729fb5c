package render

import (
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// A Page is what a command prints for a person: sentences and tables, under titles. The zero value is empty.
type Page struct{ parts []part }

type part struct {
	title string
	text  string // a paragraph
	item  bool   // of a list: set in, lines after the first deeper
	table *Table
}

// Title begins a section. A section in which nothing follows is left out.
func (p *Page) Title(s string) { p.parts = append(p.parts, part{title: s}) }

// Say adds a paragraph. Text from inputs in it must have gone through Escape.
func (p *Page) Say(s string) { p.parts = append(p.parts, part{text: s}) }

// Item adds an entry of a list.
func (p *Page) Item(s string) { p.parts = append(p.parts, part{text: s, item: true}) }

// Table adds a table; one without rows is left out.
func (p *Page) Table(t *Table) {
	if len(t.Rows) > 0 {
		p.parts = append(p.parts, part{table: t})
	}
}

// Text writes the page for a terminal. width 0 is as wide as it comes.
func (p *Page) Text(w io.Writer, width int) error {
	var before *part
	for i := range p.parts {
		now := &p.parts[i]
		if now.title != "" && (i+1 == len(p.parts) || p.parts[i+1].title != "") {
			continue
		}
		text := now.title + "\n"
		switch {
		case now.item:
			text = wrap(now.text, width, "  ", "    ")
		case now.title == "":
			text = wrap(now.text, width, "", "")
		}
		if before != nil && (now.title != "" || before.table != nil || before.title == "" && !now.item) {
			text = "\n" + text
		}
		if now.table != nil {
			text = strings.TrimSuffix(text, "\n")
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		if now.table != nil {
			if err := now.table.Text(w, width); err != nil {
				return err
			}
		}
		before = now
	}
	return nil
}

// wrap breaks text at blanks so that lines fit. A word wider than a line, such as an id, stays whole.
func wrap(s string, width int, first, next string) string {
	var b strings.Builder
	lead, at := first, 0
	for _, word := range strings.Split(s, " ") {
		n := displaywidth.String(word)
		switch {
		case at == 0:
			b.WriteString(lead)
			at = len(lead)
		case width > 0 && at+1+n > width:
			b.WriteString("\n" + next)
			at = len(next)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
		lead = next
	}
	b.WriteByte('\n')
	return b.String()
}
