package render

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Kind says what the cells of a column are, and so how they are scaled.
type Kind uint8

const (
	Text   Kind = iota // as it is, left; escaped (R3.7)
	Time               // a length of time in ns
	Amount             // bytes
	Tally              // a whole number
	Share              // in [0, 1], shown in percent
	Ratio              // a plain number
	Rate               // decimal GB/s
)

// A Column of a table. All its cells have one unit, which the heading names.
type Column struct {
	Name   string // heading, without its unit
	Kind   Kind
	Drop   int  // where space is short the column with the largest Drop goes first; 0 stays
	Shrink bool // text that may be cut in the middle where space is short; ids are never cut
}

// A Cell is a value in the base unit of its column. The zero value is a number that is not known.
type Cell struct {
	known bool
	v     float64
	text  string
}

// Of is a cell with a number.
func Of[N int | int32 | int64 | float64](n N) Cell { return Cell{known: true, v: float64(n)} }

// Known is a cell with a number that may be unknown; KnownFloat with a share, a rate or a ratio.
func Known(n model.Opt) Cell { return Cell{known: n.OK, v: float64(n.V)} }

// KnownFloat is a cell; see Known.
func KnownFloat(n model.OptFloat) Cell { return Cell{known: n.OK, v: n.V} }

// Word is a cell with text, which may come from an input.
func Word(s string) Cell { return Cell{known: true, text: s} }

// A Table is a grid under headings. Every row has a cell per column.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// Add appends a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

const columnGap = 2

// Text writes the table with aligned columns. width 0 is as wide as it comes; otherwise columns are dropped by their Drop, then text that
// may be cut is cut, until a line fits.
func (t *Table) Text(w io.Writer, width int) error {
	if len(t.Rows) == 0 {
		return nil
	}
	heads, cells := t.grid()
	widths := make([]int, len(heads))
	for i := range heads {
		widths[i] = displaywidth.String(heads[i])
		for _, row := range cells {
			widths[i] = max(widths[i], displaywidth.String(row[i]))
		}
	}
	keep := t.fit(widths, width)
	table := newPlain(t, keep, w)
	pick := func(row []string) []string {
		out := make([]string, len(keep))
		for n, i := range keep {
			out[n] = row[i]
			if t.Columns[i].Shrink {
				out[n] = shorten(row[i], widths[i])
			}
		}
		return out
	}
	table.Header(pick(heads))
	for _, row := range cells {
		if err := table.Append(pick(row)); err != nil {
			return err
		}
	}
	return table.Render()
}

func newPlain(t *Table, keep []int, w io.Writer) *tablewriter.Table {
	align := make(tw.Alignment, len(keep))
	for n, i := range keep {
		if align[n] = tw.AlignRight; t.Columns[i].Kind == Text {
			align[n] = tw.AlignLeft
		}
	}
	c := tablewriter.NewConfigBuilder().WithTrimSpace(tw.Off).WithAutoHide(tw.Off).
		WithHeaderAutoFormat(tw.Off).WithHeaderAutoWrap(tw.WrapNone).WithRowAutoWrap(tw.WrapNone).Build()
	return tablewriter.NewTable(&lineTrimmer{w: w}, tablewriter.WithConfig(c), tablewriter.WithAlignment(align), tablewriter.WithEastAsian(tw.Off), tablewriter.WithTrimLine(tw.Off),
		tablewriter.WithPadding(tw.Padding{Right: strings.Repeat(" ", columnGap), Overwrite: true}),
		tablewriter.WithRendition(tw.Rendition{Borders: tw.BorderNone, Symbols: tw.NewSymbols(tw.StyleNone), Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.LinesNone}}))
}

// fit returns the columns that stay, and cuts the widths of those that shrink.
func (t *Table) fit(widths []int, width int) []int {
	var keep []int
	total := -columnGap
	for i, n := range widths {
		keep = append(keep, i)
		total += n + columnGap
	}
	for width > 0 && total > width {
		worst := 0
		for n, i := range keep {
			if t.Columns[i].Drop >= t.Columns[keep[worst]].Drop {
				worst = n
			}
		}
		if t.Columns[keep[worst]].Drop == 0 {
			break
		}
		total -= widths[keep[worst]] + columnGap
		keep = slices.Delete(keep, worst, worst+1)
	}
	for width > 0 && total > width {
		widest := -1
		for _, i := range keep {
			if t.Columns[i].Shrink && widths[i] > minShrunk && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	return keep
}

const minShrunk = 8

// shorten cuts text in the middle until it is at most n cells wide.
func shorten(s string, n int) string {
	if displaywidth.String(s) <= n {
		return s
	}
	runes := []rune(s)
	for cut := 1; cut < len(runes); cut++ {
		head := (len(runes) - cut + 1) / 2
		if s := string(runes[:head]) + "…" + string(runes[head+cut:]); displaywidth.String(s) <= n {
			return s
		}
	}
	return "…"
}

// grid is the table as text: headings with units, numbers aligned at their decimal points.
func (t *Table) grid() (heads []string, cells [][]string) {
	heads, cells = make([]string, len(t.Columns)), make([][]string, len(t.Rows))
	for r := range t.Rows {
		cells[r] = make([]string, len(t.Columns))
	}
	for i, c := range t.Columns {
		format, name := t.format(i)
		heads[i] = strings.TrimSpace(c.Name + " " + name)
		if c.Kind == Text {
			for r := range t.Rows {
				cells[r][i] = Escape(t.Rows[r][i].text)
			}
			continue
		}
		tail := 0 // widest part from the decimal point on
		for r := range t.Rows {
			cells[r][i] = Unknown
			if cell := t.Rows[r][i]; cell.known {
				cells[r][i] = format(cell.v)
			}
			tail = max(tail, len(fraction(cells[r][i])))
		}
		for r := range t.Rows {
			cells[r][i] += strings.Repeat(" ", tail-len(fraction(cells[r][i])))
		}
	}
	return heads, cells
}

func fraction(s string) string {
	if i := strings.IndexByte(s, '.'); i >= 0 {
		return s[i:]
	}
	return ""
}

// format is how the numbers of a column are written, and the unit that its heading names.
func (t *Table) format(i int) (func(float64) string, string) {
	switch t.Columns[i].Kind {
	case Time:
		return t.inColumnUnit(i, timeUnits)
	case Amount:
		return t.inColumnUnit(i, byteUnits)
	case Rate:
		return t.inColumnUnit(i, speedUnits)
	case Tally:
		return func(v float64) string { return Count(int64(v)) }, ""
	case Share:
		return func(v float64) string {
			if v == 0 {
				return "0"
			}
			return percent(v, 1)
		}, "%"
	}
	return Number, ""
}

func (t *Table) inColumnUnit(i int, units []unit) (func(float64) string, string) {
	smallest, largest := 0.0, 0.0
	for _, row := range t.Rows {
		v := max(row[i].v, -row[i].v)
		if v > 0 && (smallest == 0 || v < smallest) {
			smallest = v
		}
		largest = max(largest, v)
	}
	u := columnUnit(units, smallest, largest)
	if largest == 0 {
		u = units[2]
	}
	return func(v float64) string { return inUnit(u, v) }, u.name
}

// A lineTrimmer takes the blanks off the end of lines.
type lineTrimmer struct {
	w io.Writer
	b []byte
}

func (l *lineTrimmer) Write(p []byte) (int, error) {
	l.b = append(l.b, p...)
	end := bytes.LastIndexByte(l.b, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	var out []byte
	for line := range bytes.Lines(l.b[:end]) {
		out = append(append(out, bytes.TrimRight(line, " \n")...), '\n')
	}
	l.b = append(l.b[:0], l.b[end:]...)
	if _, err := l.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
