package render

import (
	"io"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

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
	Bar                // strokes; as wide as there is room
)

// A Column of a table. All its cells have one unit, which the heading names. A column in which nothing is known is left out.
type Column struct {
	Name   string // heading, without its unit
	Key    string // heading in CSV, without its unit; "": made from Name
	Kind   Kind
	Drop   int    // where space is short the column with the largest Drop goes first; 0 stays
	Shrink bool   // text that may be cut in the middle where space is short; ids are never cut
	Hidden bool   // only in CSV
	Page   bool   // not in CSV, where other columns say it
	Most   int    // columns of a terminal that its text takes at most, more where the table may be as wide as it comes; 0: no limit
	Tail   bool   // text is cut at its beginning rather than in the middle
	Idle   string // text that says nothing: a column in which no cell says anything else is left out
	Least  int    // columns to which its text is cut before columns are dropped; 0: not before
	Apart  bool   // its numbers do not add up: the row of small ones has none
}

// A Cell is a value in the base unit of its column. The zero value is a number that is not known.
type Cell struct {
	known bool
	v     float64
	n     int64 // v, where that is a whole number
	text  string
	csv   string // what CSV has instead of text, where apart is set
	apart bool
	mark  string  // before a number: "~" where few values stand behind it; before text the sign in a sum
	doubt float64 // how far the number may be wrong, where that is more than it is; 0 otherwise
	loose bool    // nobody knows how far it may be wrong
	tone  Tone
	bar   []Stroke
}

// Of is a cell with a number.
func Of[N int | int32 | int64 | float64](n N) Cell {
	return Cell{known: true, v: float64(n), n: int64(n)}
}

// Known is a cell with a number that may be unknown; KnownFloat with a share, a rate or a ratio.
func Known(n model.Opt) Cell { return Cell{known: n.OK, v: float64(n.V), n: n.V} }

// KnownFloat is a cell; see Known.
func KnownFloat(n model.OptFloat) Cell { return Cell{known: n.OK, v: n.V, n: int64(n.V)} }

// Word is a cell with text, which may come from an input.
func Word(s string) Cell { return Cell{known: s != "", text: s} }

// Drawn is a cell with a bar.
func Drawn(strokes []Stroke) Cell { return Cell{known: len(strokes) > 0, bar: strokes} }

// Toned is the cell set apart.
func (c Cell) Toned(t Tone) Cell {
	c.tone = t
	return c
}

// Doubtful is the cell with a number behind which there are too few values (R8.5).
func (c Cell) Doubtful() Cell {
	c.mark = "~"
	return c
}

// Within is the cell with a number that may be wrong by u; below that it is not printed as fact but as 0.3±1 (R5.8).
func (c Cell) Within(u model.Opt) Cell {
	if c.known && u.OK && max(c.v, -c.v) < float64(u.V) {
		c.doubt = float64(u.V)
	}
	return c
}

// Loose is the cell with a number of which nobody knows how far it may be wrong: 12±? (R5.8).
func (c Cell) Loose() Cell {
	c.loose = true
	return c
}

// Saying is the cell with a number of which pages say something else.
func (c Cell) Saying(s string) Cell {
	c.text = s
	return c
}

// InCSV is the cell with text of which CSV has another form: a number as it is, a code rather than words.
func (c Cell) InCSV(s string) Cell {
	c.csv, c.apart = s, true
	return c
}

// Signed is the cell with text that has a sign before it, which CSV does not show.
func (c Cell) Signed(sign string) Cell {
	c.mark = sign
	return c
}

// A Table is a grid under headings. Every row has a cell per column.
type Table struct {
	Name    string // what --table calls it; "": by the title of its section
	Columns []Column
	Rows    [][]Cell
	Small   int          // text and Markdown show the rows from here on as one, added up; 0: each
	Limit   int          // how many rows text and Markdown show; 0: all
	hidden  map[int]bool // rows that they do not show
}

// hide leaves rows out of text and Markdown until at most so many are shown: the last ones that are not kept. It is how many it left out.
func (t *Table) hide(most int, keep func(row int) bool) int {
	t.hidden = map[int]bool{}
	for i := len(t.Rows) - 1; i >= 0 && len(t.Rows)-len(t.hidden) > most; i-- {
		if !keep(i) {
			t.hidden[i] = true
		}
	}
	return len(t.hidden)
}

// Add appends a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

const columnGap = 2

// Text writes the table with aligned columns; see Style for the width: 0 is as wide as it comes, otherwise columns are dropped by their
// Drop, then bars and text that may be cut are cut, until a line fits.
func (t *Table) Text(w io.Writer, s Style) error {
	k := &ink{w: w, color: s.Color}
	return t.write(k, s)
}

func (t *Table) write(w io.Writer, s Style) error {
	if len(t.Rows) == 0 {
		return nil
	}
	t = t.shown()
	heads, cells := t.grid(s)
	widths, headings := make([]int, len(heads)), make([]int, len(heads))
	var keep []int
	for i := range heads {
		if !t.says(i) {
			continue
		}
		keep = append(keep, i)
		headings[i] = columns(heads[i])
		if t.Columns[i].Kind == Bar {
			widths[i] = max(barUsual, headings[i])
			continue
		}
		widths[i] = headings[i]
		for _, row := range cells {
			widths[i] = max(widths[i], columns(row[i]))
		}
		if most := t.Columns[i].Most; most > 0 {
			if s.Width <= 0 {
				most = max(most, nameMostWide)
			}
			widths[i] = min(widths[i], max(most, headings[i]))
		}
	}
	keep = t.fit(keep, widths, headings, s.Width)
	table := newPlain(t, keep, w)
	cut := "…"
	if s.ASCII {
		cut = "~"
	}
	pick := func(row []string, r int) []string {
		out := make([]string, len(keep))
		for n, i := range keep {
			out[n] = row[i]
			if c := &t.Columns[i]; c.Shrink || c.Most > 0 || c.Least > 0 {
				out[n] = shorten(row[i], widths[i], cut, c.Tail)
			}
			if r < 0 {
				continue
			}
			cell := &t.Rows[r][i]
			if t.Columns[i].Kind == Bar {
				out[n] = s.Plain(drawBar(cell.bar, widths[i]))
			}
			out[n] = Toned(cell.tone, out[n])
		}
		return out
	}
	table.Header(pick(heads, -1))
	for r, row := range cells {
		if err := table.Append(pick(row, r)); err != nil {
			return err
		}
	}
	return table.Render()
}

// shown is the table as text has it: with small rows as one, and not more rows than the limit.
func (t *Table) shown() *Table {
	out := *t
	if len(t.hidden) > 0 {
		out.Rows = nil
		for i, row := range t.Rows {
			if !t.hidden[i] {
				out.Rows = append(out.Rows, row)
			}
		}
	}
	if t.Small > 0 && len(t.Rows)-t.Small > 1 {
		rest := make([]Cell, len(t.Columns))
		for _, row := range t.Rows[t.Small:] {
			for i := range row {
				if row[i].known {
					rest[i].known, rest[i].v = true, rest[i].v+row[i].v
				}
			}
		}
		for i := range rest {
			if k := t.Columns[i].Kind; k == Text || k == Bar || k == Ratio || k == Rate || t.Columns[i].Apart {
				rest[i] = Cell{}
			}
		}
		rest[0] = Word("(" + Count(int64(len(t.Rows)-t.Small)) + " more)")
		out.Rows = append(slices.Clone(t.Rows[:t.Small]), rest)
	}
	if t.Limit > 0 {
		out.Rows = out.Rows[:min(t.Limit, len(out.Rows))]
	}
	return &out
}

// says reports whether a column is shown: not hidden, and something in it is known. The first one always is where it names the rows.
func (t *Table) says(i int) bool {
	c := &t.Columns[i]
	return i == 0 && c.Kind == Text || !c.Hidden && slices.ContainsFunc(t.Rows, func(row []Cell) bool { return row[i].known && (c.Idle == "" || row[i].text != c.Idle) })
}

func newPlain(t *Table, keep []int, w io.Writer) *tablewriter.Table {
	align := make(tw.Alignment, len(keep))
	for n, i := range keep {
		if align[n] = tw.AlignRight; t.Columns[i].Kind == Text || t.Columns[i].Kind == Bar {
			align[n] = tw.AlignLeft
		}
	}
	c := tablewriter.NewConfigBuilder().WithTrimSpace(tw.Off).WithAutoHide(tw.Off).
		WithHeaderAutoFormat(tw.Off).WithHeaderAutoWrap(tw.WrapNone).WithRowAutoWrap(tw.WrapNone).Build()
	return tablewriter.NewTable(w, tablewriter.WithConfig(c), tablewriter.WithAlignment(align), tablewriter.WithEastAsian(tw.Off), tablewriter.WithTrimLine(tw.Off),
		tablewriter.WithPadding(tw.Padding{Right: strings.Repeat(" ", columnGap), Overwrite: true}),
		tablewriter.WithRendition(tw.Rendition{Borders: tw.BorderNone, Symbols: tw.NewSymbols(tw.StyleNone), Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.LinesNone}}))
}

// fit returns the columns that stay, and sets the widths of bars and of those that shrink, which stay as wide as their headings.
func (t *Table) fit(keep, widths, heads []int, width int) []int {
	if width <= 0 {
		return keep
	}
	total := -columnGap
	for _, i := range keep {
		total += widths[i] + columnGap
	}
	wanted := slices.Clone(widths)
	for total > width {
		widest := -1
		for _, i := range keep {
			if least := t.Columns[i].Least; least > 0 && widths[i] > max(least, heads[i]) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	for total > width {
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
	for _, i := range keep { // what was cut for columns that went nevertheless
		if t.Columns[i].Least > 0 {
			more := max(0, min(wanted[i]-widths[i], width-total))
			widths[i] += more
			total += more
		}
	}
	for _, i := range keep {
		if t.Columns[i].Kind == Bar {
			to := min(barMost, max(barLeast, heads[i], widths[i]+width-total))
			total += to - widths[i]
			widths[i] = to
		}
	}
	for total > width {
		widest := -1
		for _, i := range keep {
			if t.Columns[i].Shrink && widths[i] > max(minShrunk, heads[i]) && (widest < 0 || widths[i] > widths[widest]) {
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

// shorten cuts text in the middle, or at its beginning, until it is at most n columns wide; cut takes the place of what is gone.
func shorten(s string, n int, cut string, tail bool) string {
	if columns(s) <= n {
		return s
	}
	runes := []rune(s)
	without := func(gone int) string {
		if gone == len(runes) {
			return cut
		}
		head := (len(runes) - gone + 1) / 2
		if tail {
			head = 0
		}
		return string(runes[:head]) + cut + string(runes[head+gone:])
	}
	return without(1 + sort.Search(len(runes)-1, func(i int) bool { return columns(without(1+i)) <= n }))
}

// nameMost is how many columns a name takes that is no id: a stage, a model, a process.
const nameMost = 48

// nameMostWide is how many it takes where there is room: in Markdown, and on a page as wide as it comes.
const nameMostWide = 160

// brief is a name within a sentence: escaped, and cut in the middle where it is long. Ids are never cut.
func brief(s string) string { return shorten(Escape(s), nameMost, "…", false) }

// Cut is text that takes at most n columns of a terminal: what is too much is taken off its end.
func Cut(s string, n int) string {
	for columns(s) > n {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// grid is the table as text: headings with units, numbers aligned at their decimal points.
func (t *Table) grid(s Style) (heads []string, cells [][]string) {
	heads, cells = make([]string, len(t.Columns)), make([][]string, len(t.Rows))
	for r := range t.Rows {
		cells[r] = make([]string, len(t.Columns))
	}
	for i, c := range t.Columns {
		format, name := t.format(i)
		heads[i] = s.Plain(strings.TrimSpace(c.Name + " " + name))
		if c.Kind == Text || c.Kind == Bar {
			for r := range t.Rows {
				cells[r][i] = s.Plain(t.Rows[r][i].mark + Escape(t.Rows[r][i].text))
			}
			continue
		}
		tail := 0 // widest part from the decimal point on
		for r := range t.Rows {
			cells[r][i] = s.Plain(Unknown)
			switch cell := &t.Rows[r][i]; {
			case cell.text != "":
				cells[r][i] = s.Plain(Escape(cell.text))
			case cell.known:
				text := cell.mark + format(cell.v)
				if cell.doubt > 0 {
					text += "±" + format(cell.doubt)
				} else if cell.loose {
					text += "±?"
				}
				cells[r][i] = s.Plain(text)
			}
			tail = max(tail, columns(fraction(cells[r][i])))
		}
		for r := range t.Rows {
			cells[r][i] += strings.Repeat(" ", tail-columns(fraction(cells[r][i])))
		}
	}
	return heads, cells
}

// fraction is what stands behind the whole part of a number: decimals, and how far it may be wrong, in ASCII "+-".
func fraction(s string) string {
	if i := strings.IndexAny(s, ".±+"); i > 0 {
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
	for r := range t.Rows {
		if t.Rows[r][i].text != "" { // it is not shown as a number
			continue
		}
		v := max(t.Rows[r][i].v, -t.Rows[r][i].v)
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
