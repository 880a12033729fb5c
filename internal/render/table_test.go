package render

import (
	"strings"
	"testing"
)

func stages() *Table {
	t := &Table{Columns: []Column{
		{Name: "stage", Shrink: true}, {Name: "spans", Kind: Tally, Drop: 1}, {Name: "p50", Kind: Time, Drop: 3}, {Name: "p99", Kind: Time},
		{Name: "share", Kind: Share}, {Name: "GB/s", Kind: Ratio, Drop: 2},
	}}
	t.Add(Word("cb.lookup.rpc"), Of(12345), Of(int64(1_234_000)), Of(int64(98_760_000)), Of(0.6183), Cell{})
	t.Add(Word("  日本\x1b"), Of(7), Cell{}, Of(int64(1_500)), Of(0.0001), Of(1.5))
	return t
}

func TestTableText(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		want  string
	}{
		{"as wide as it comes", 0, `
stage           spans  p50 ms  p99 ms  share %  GB/s
cb.lookup.rpc  12,345    1.23  98.8       61.8   –
  日本\x1b          7    –      0.002     <0.1   1.5`},
		{"p50 goes first", 51, `
stage           spans  p99 ms  share %  GB/s
cb.lookup.rpc  12,345  98.8       61.8   –
  日本\x1b          7   0.002     <0.1   1.5`},
		{"then GB/s and the spans; then the stage is cut", 28, `
stage        p99 ms  share %
cb.lo…p.rpc  98.8       61.8
  日本\x1b    0.002     <0.1`},
		{"what cannot shrink further is left", 3, `
stage     p99 ms  share %
cb.l…rpc  98.8       61.8
  日…x1b   0.002     <0.1`},
	} {
		var b strings.Builder
		if err := stages().Text(&b, Style{Width: c.width}); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(b.String(), "\n"); got != c.want[1:] {
			t.Errorf("%s: got\n%s\nwant%s", c.name, got, c.want)
		}
	}
}

// A column that says nothing is left out: one of numbers of which none is known, also the first, and one of words that all mean nothing.
func TestColumnsThatSayNothing(t *testing.T) {
	rows := func(word string) string {
		table := &Table{Columns: []Column{{Name: "rpc", Kind: Time}, {Name: "n", Kind: Tally}, {Name: "verdict", Idle: "none"}}}
		table.Add(Cell{}, Of(1), Word("none"))
		table.Add(Cell{}, Of(2), Word(word))
		var b strings.Builder
		if err := table.Text(&b, Style{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got, want := rows("none"), "n\n1\n2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := rows("repeat"), "n  verdict\n1  none\n2  repeat\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
