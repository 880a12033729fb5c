package render

import (
	"encoding/csv"
	"math"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

func formatted(t *testing.T, write func(*strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCSV(t *testing.T) {
	table := stages()
	table.Columns = append(table.Columns, Column{Name: "saves ≤", Key: "drag", Kind: Time, Hidden: true}, Column{Name: "window", Kind: Bar}, Column{Name: "size", Kind: Amount})
	table.Rows[0] = append(table.Rows[0], Of(7), Drawn([]Stroke{{0, 1, Held}}), Of(1<<40))
	table.Rows[1] = append(table.Rows[1], Cell{}, Cell{}, Cell{})
	table.Rows[0][0] = Word(`=HYPERLINK("x"),`)
	table.Small = 1
	got := formatted(t, func(b *strings.Builder) error { return table.CSV(b) })
	want := `stage,spans,p50_ns,p99_ns,share,gb_s,drag_ns,size_bytes
"'=HYPERLINK(""x""),",12345,1234000,98760000,0.6183,,7,1099511627776
日本\x1b,7,,1500,0.0001,1.5,,
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if rows, err := csv.NewReader(strings.NewReader(got)).ReadAll(); err != nil || len(rows) != 3 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	for in, want := range map[string]string{"=1": "'=1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "＝1": "'＝1", "a=1": "a=1", "": "", "\t=1": `\x09=1`} {
		c := Word(in)
		if got := c.raw(Text); got != want {
			t.Errorf("%q as text: %q, want %q", in, got, want)
		}
	}
	for _, c := range []struct {
		cell Cell
		kind Kind
		want string
	}{
		{Of(-1), Tally, "-1"}, // no formula
		{Of(int64(1764432001467954553)), Tally, "1764432001467954553"},
		{Of(-0.25), Ratio, "-0.25"},
		{KnownFloat(model.SomeFloat(math.Inf(1))), Ratio, ""},
		{Of(int64(-1764432001467954553)).Saying("no epoch"), Time, "-1764432001467954553"},
		{Word("upper bound").InCSV("inferred_upper"), Text, "inferred_upper"},
		{Word("–").InCSV(""), Text, ""},
	} {
		if got := c.cell.raw(c.kind); got != c.want {
			t.Errorf("%+v: %q, want %q", c.cell, got, c.want)
		}
	}
}

// Some columns are of pages alone, others of CSV; a rate needs no word that it is a share; what a page does not show as a number decides no unit.
func TestColumnsOfCSV(t *testing.T) {
	table := &Table{Columns: []Column{{Name: "delta", Page: true}, {Name: "delta", Kind: Time, Hidden: true}, {Name: "hits", Key: "hit_rate", Kind: Share}, {Name: "offset", Kind: Time}}}
	table.Add(Word("+1.5 ms"), Of(1500000), Of(0.5), Of(int64(2e6)))
	table.Add(Word("−1 ms"), Of(-1000000), Cell{}, Of(int64(1764432000e9)).Saying("no epoch"))
	if got, want := formatted(t, func(b *strings.Builder) error { return table.CSV(b) }), "delta_ns,hit_rate,offset_ns\n1500000,0.5,2000000\n-1000000,,1764432000000000000\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	want := `
delta    hits %  offset ms
+1.5 ms    50.0          2
−1 ms       –     no epoch
`[1:]
	if got := formatted(t, func(b *strings.Builder) error { return table.Text(b, Style{}) }); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestMarkdown(t *testing.T) {
	table := stages()
	table.Rows[0][0] = Word("a|b <x> `*_`")
	got := formatted(t, func(b *strings.Builder) error { return table.Markdown(b) })
	want := `| stage | spans | p50 ms | p99 ms | share % | GB/s |
| --- | --: | --: | --: | --: | --: |
| a\|b &lt;x\> ` + "\\`\\*\\_\\`" + ` | 12,345 | 1.23 | 98.8 | 61.8 | – |
|   日本\\x1b | 7 | – | 0.002 | \<0.1 | 1.5 |
`
	want = strings.Replace(want, `\<0.1`, `&lt;0.1`, 1)
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	bars := &Table{Columns: []Column{{Name: "span"}, {Name: "window", Kind: Bar}}}
	bars.Add(Word("evil```"), Drawn([]Stroke{{0, 1, Held}}))
	got = formatted(t, func(b *strings.Builder) error { return bars.Markdown(b) })
	if !strings.HasPrefix(got, "````text\nspan") || !strings.HasSuffix(got, "█\n````\n") {
		t.Errorf("a table with bars: %s", got)
	}
}

func TestSmallRows(t *testing.T) {
	table := &Table{Columns: []Column{{Name: "stage"}, {Name: "time", Kind: Time}, {Name: "share", Kind: Share}, {Name: "x", Kind: Ratio}}, Small: 1}
	table.Add(Word("a"), Of(int64(97e6)), Of(0.97), Of(1))
	table.Add(Word("b"), Of(int64(2e6)), Of(0.02), Of(2))
	table.Add(Word("c"), Of(int64(1e6)), Of(0.01), Of(3))
	want := `
stage     time ms  share %  x
a              97     97.0  1
(2 more)        3      3.0  –
`[1:]
	if got := formatted(t, func(b *strings.Builder) error { return table.Text(b, Style{}) }); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	table.Small, table.Limit = 2, 2 // one small row is shown as it is
	if got := formatted(t, func(b *strings.Builder) error { return table.Text(b, Style{}) }); strings.Count(got, "\n") != 3 || strings.Contains(got, "more") {
		t.Errorf("got\n%s", got)
	}
	if got := formatted(t, func(b *strings.Builder) error { return table.CSV(b) }); strings.Count(got, "\n") != 4 {
		t.Errorf("CSV has all rows:\n%s", got)
	}
}

func TestPageFormats(t *testing.T) {
	var p Page
	p.Say("The *answer*.")
	p.Fact("Next", unbroken("cbtrace explain a_b")+" (x_y)\nb*")
	p.Title("Stages & more")
	table := &Table{Columns: []Column{{Name: "stage"}}}
	table.Add(Word("x"))
	p.Table(table)
	p.Table(table)
	p.Data(&Table{Name: "inputs", Columns: []Column{{Name: "file"}}})
	p.Title("Nothing")
	p.Table(&Table{Name: "empty", Columns: []Column{{Name: "a b"}}})
	want := "The \\*answer\\*.\n\n- **Next** `cbtrace explain a_b` (x_y)<br>b\\*\n\n### Stages &amp; more\n\n| stage |\n| --- |\n| x |\n\n| stage |\n| --- |\n| x |\n"
	if got := formatted(t, func(b *strings.Builder) error { return p.Markdown(b) }); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := strings.Join(p.Tables(), " "); got != "stages_more stages_more_2 inputs empty" {
		t.Errorf("tables %s", got)
	}
	if p.Find("empty") == nil || p.Find("nothing") != nil {
		t.Error("tables are found by name, also those without rows")
	}
	if got := formatted(t, func(b *strings.Builder) error { return p.Find("empty").CSV(b) }); got != "a_b\n" {
		t.Errorf("an empty table as CSV: %q", got)
	}
	if got := formatted(t, func(b *strings.Builder) error { return p.Text(b, Style{Width: 80}) }); got != "The *answer*.\n\n  Next     cbtrace explain a_b (x_y)\n           b*\n\nStages & more\nstage\nx\n\nstage\nx\n" {
		t.Errorf("got\n%s", got)
	}
}
