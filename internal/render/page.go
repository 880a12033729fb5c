package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Page is what a command prints for a person: sentences and tables, under titles. The zero value is empty.
type Page struct {
	Main  string // the table that CSV is of, unless another one is asked for
	parts []part
}

type part struct {
	title string
	text  string // a paragraph
	label string // of a fact
	item  bool   // of a list: set in, lines after the first deeper
	table *Table
	data  bool // a table that is only shown when it is asked for
}

// markdownText is a paragraph in Markdown, in which commands are code.
func markdownText(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		words := strings.Split(line, " ")
		for k, word := range words {
			if strings.HasPrefix(word, unbroken("cbtrace ")) {
				words[k] = codeSpan(strings.ReplaceAll(word, string(rune(hardBlank)), " "))
			} else {
				words[k] = markdown(word)
			}
		}
		lines[i] = strings.Join(words, " ")
	}
	return strings.Join(lines, "\n")
}

// silent reports whether a part is not shown.
func (p *part) silent() bool { return p.data || p.table != nil && len(p.table.Rows) == 0 }

// Title begins a section. A section in which nothing follows is left out.
func (p *Page) Title(s string) { p.parts = append(p.parts, part{title: s}) }

// Say adds a paragraph. Text from inputs in it must have gone through Escape.
func (p *Page) Say(s string) { p.parts = append(p.parts, part{text: s}) }

// Caution is the page with a sentence before all others, in which what is not quite what was asked for, or makes the rest wrong, cannot be missed.
func (p *Page) Caution(s string) *Page {
	p.parts = slices.Insert(p.parts, 0, part{text: Toned(Warn, "Caution: "+s+".")})
	return p
}

// once adds a paragraph unless the page has it already.
func (p *Page) once(s string) {
	if !slices.ContainsFunc(p.parts, func(have part) bool { return have.text == s }) {
		p.Say(s)
	}
}

// Item adds an entry of a list.
func (p *Page) Item(s string) { p.parts = append(p.parts, part{text: s, item: true}) }

// Fact adds lines behind a label; nothing where there is no text.
func (p *Page) Fact(label, s string) {
	if s != "" {
		p.parts = append(p.parts, part{text: s, label: label, item: true})
	}
}

// Table adds a table; one without rows is not shown.
func (p *Page) Table(t *Table) { p.parts = append(p.parts, part{table: t}) }

// Data adds a table that is only shown when it is asked for by its name.
func (p *Page) Data(t *Table) { p.parts = append(p.parts, part{table: t, data: true}) }

// labelWidth is how many columns the labels of facts take.
const labelWidth = 9

// Text writes the page for a terminal.
func (p *Page) Text(w io.Writer, s Style) error {
	k := &ink{w: w, color: s.Color}
	var before *part
	for i := range p.parts {
		now := &p.parts[i]
		if now.silent() || p.emptyTitle(i) {
			continue
		}
		text := Toned(Strong, s.Plain(now.title)) + "\n"
		switch {
		case now.label != "":
			lead := "  " + now.label + strings.Repeat(" ", max(1, labelWidth-columns(now.label)))
			text = ""
			deeper := "" // where there are several lines one that is broken goes on deeper
			if strings.Contains(now.text, "\n") {
				deeper = "  "
			}
			for line := range strings.SplitSeq(now.text, "\n") {
				text += wrap(s.Plain(line), s.Width, Toned(Strong, lead), strings.Repeat(" ", columns(lead))+deeper)
				lead = strings.Repeat(" ", columns(lead))
			}
		case now.item:
			text = wrap(s.Plain(now.text), s.Width, "  ", "    ")
		case now.title == "":
			text = wrap(s.Plain(now.text), s.Width, "", "")
		}
		if before != nil && (now.title != "" || before.table != nil || before.title == "" && !(now.item && before.item)) {
			text = "\n" + text
		}
		if now.table != nil {
			text = strings.TrimSuffix(text, "\n")
		}
		if _, err := io.WriteString(k, text); err != nil {
			return err
		}
		if now.table != nil {
			if err := now.table.write(k, s); err != nil {
				return err
			}
		}
		before = now
	}
	return nil
}

// emptyTitle reports whether a part is a title under which nothing is shown.
func (p *Page) emptyTitle(i int) bool {
	if p.parts[i].title == "" {
		return false
	}
	for i++; i < len(p.parts) && p.parts[i].silent(); i++ {
	}
	return i == len(p.parts) || p.parts[i].title != ""
}

// Markdown writes the page for a ticket or a comment.
func (p *Page) Markdown(w io.Writer) error {
	k := &ink{w: w}
	var before *part
	for i := range p.parts {
		now := &p.parts[i]
		if now.silent() || p.emptyTitle(i) {
			continue
		}
		text := markdownText(now.text) + "\n"
		switch {
		case now.title != "":
			text = "### " + markdown(now.title) + "\n"
		case now.label != "":
			text = "- **" + markdown(now.label) + "** " + strings.ReplaceAll(text[:len(text)-1], "\n", "<br>") + "\n"
		case now.item:
			text = "- " + text
		}
		if before != nil && !(now.item && before.item) {
			text = "\n" + text
		}
		if now.table != nil {
			text = strings.TrimSuffix(text, "\n")
		}
		if _, err := io.WriteString(k, text); err != nil {
			return err
		}
		if now.table != nil {
			if err := now.table.Markdown(k); err != nil {
				return err
			}
		}
		before = now
	}
	return nil
}

// Tables are the names of the tables of the page, in their order.
func (p *Page) Tables() []string {
	var names []string
	seen, title := map[string]int{}, ""
	for i := range p.parts {
		switch now := &p.parts[i]; {
		case now.title != "":
			title = now.title
		case now.table != nil:
			name := now.table.Name
			if name == "" {
				name = slug(title)
			}
			if seen[name]++; seen[name] > 1 {
				name = fmt.Sprintf("%s_%d", name, seen[name])
			}
			names = append(names, name)
		}
	}
	return names
}

// Find is the table of a name, nil when there is none.
func (p *Page) Find(name string) *Table {
	names := p.Tables()
	for i := range p.parts {
		if p.parts[i].table == nil {
			continue
		}
		if names[0] == name {
			return p.parts[i].table
		}
		names = names[1:]
	}
	return nil
}

// words are the pieces of a text between which a line may be broken. A number stays with its unit.
func words(s string) []string {
	all := strings.Split(s, " ")
	out := all[:0]
	for _, word := range all {
		bare := strings.TrimRight(word, ".,;:)")
		if n := len(out); n > 0 && isUnit(bare) && endsInDigit(out[n-1]) || n > 0 && out[n-1] == "±" {
			out[n-1] += " " + word
			continue
		}
		out = append(out, word)
	}
	return out
}

func isUnit(s string) bool {
	if s == "%" {
		return true
	}
	for _, units := range [...][]unit{timeUnits, byteUnits, speedUnits} {
		if slices.ContainsFunc(units, func(u unit) bool { return u.name == s }) {
			return true
		}
	}
	return false
}

func endsInDigit(s string) bool {
	return s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9'
}

// wrap breaks text at blanks so that lines fit. A word wider than a line, such as an id, stays whole.
func wrap(s string, width int, first, next string) string {
	var b strings.Builder
	lead, at := first, 0
	for _, word := range words(s) {
		n := columns(word)
		switch {
		case at == 0:
			b.WriteString(lead)
			at = columns(lead)
		case width > 0 && at+1+n > width:
			b.WriteString("\n" + next)
			at = columns(next)
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
