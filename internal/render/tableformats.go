package render

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// CSV writes the table with one heading line, fields quoted as in RFC 4180, lines ended by a line feed. Numbers are as they are, in the
// base unit that the heading names (ns, bytes, shares in [0, 1], GB/s), or a column beside it where rows differ in theirs; what is not known is empty;
// bars and the indentation of text are left out. Text that a spreadsheet would take for a formula gets an apostrophe in front; a number is none.
func (t *Table) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	var line []string
	for i := range t.Columns {
		if c := &t.Columns[i]; c.inCSV() {
			line = append(line, c.key())
		}
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for _, row := range t.Rows {
		line = line[:0]
		for i := range t.Columns {
			if c := &t.Columns[i]; c.inCSV() {
				line = append(line, row[i].raw(c.Kind))
			}
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func (c *Column) inCSV() bool { return c.Kind != Bar && !c.Page }

var keyUnits = [...]string{Time: "_ns", Amount: "_bytes", Share: "_share", Rate: "_gbps", Bar: ""}

// key is the heading of a column in CSV: lower case words with the unit behind them. A rate says by its name that it is a share.
func (c *Column) key() string {
	name := c.Key
	if name == "" {
		name = slug(c.Name)
	}
	unit := keyUnits[c.Kind]
	if "_"+name == unit || c.Kind == Share && strings.HasSuffix(name, "_rate") {
		return name
	}
	return strings.TrimSuffix(name, unit) + unit
}

// slug is text as one word of lower-case letters, digits and underscores.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	return strings.TrimSuffix(b.String(), "_")
}

// raw is a cell as CSV has it.
func (c *Cell) raw(kind Kind) string {
	switch {
	case kind == Text && c.apart:
		return harmless(Escape(c.csv))
	case kind == Text:
		return harmless(Escape(strings.TrimLeft(c.text, " ")))
	case !c.known || math.IsNaN(c.v) || math.IsInf(c.v, 0):
		return ""
	case float64(c.n) == c.v && math.Abs(c.v) < 1<<63:
		return strconv.FormatInt(c.n, 10)
	}
	return strconv.FormatFloat(c.v, 'g', -1, 64)
}

// harmless puts an apostrophe in front of text that begins like a formula.
func harmless(s string) string {
	for _, start := range [...]string{"=", "+", "-", "@", "＝", "＋", "－", "＠"} {
		if strings.HasPrefix(s, start) {
			return "'" + s
		}
	}
	return s
}

// Markdown writes the table as GitHub has them, numbers scaled as in text. A table with bars becomes text in a block of code.
func (t *Table) Markdown(w io.Writer) error {
	if len(t.Rows) == 0 {
		return nil
	}
	t = t.shown()
	var b strings.Builder
	for i := range t.Columns {
		if t.Columns[i].Kind == Bar && t.says(i) {
			if err := t.Text(&b, Style{Width: markdownWidth}); err != nil {
				return err
			}
			fence := "```"
			for strings.Contains(b.String(), fence) {
				fence += "`"
			}
			_, err := fmt.Fprintf(w, "%stext\n%s%s\n", fence, b.String(), fence)
			return err
		}
	}
	heads, cells := t.grid(Style{})
	line := func(of func(i int) string) {
		for i := range t.Columns {
			if t.says(i) {
				b.WriteString("| " + of(i) + " ")
			}
		}
		b.WriteString("|\n")
	}
	line(func(i int) string { return markdown(heads[i]) })
	line(func(i int) string {
		if t.Columns[i].Kind == Text {
			return "---"
		}
		return "--:"
	})
	for _, row := range cells {
		line(func(i int) string {
			if t.Columns[i].Most > 0 {
				row[i] = shorten(row[i], nameMostWide, "…", t.Columns[i].Tail)
			}
			return markdown(strings.TrimRight(row[i], " "))
		})
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const markdownWidth = 100
