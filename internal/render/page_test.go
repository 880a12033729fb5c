package render

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"it held 50 ms of 90 ms", "it held\n50 ms of\n90 ms\n"},
		{"about 62 %, of", "about\n62 %, of\n"},
		{"an s b", "an s b\n"},
		{"clocks ± 2 ms", "clocks\n± 2 ms\n"},
		{unbroken("a b c d e f"), "a\x0eb\x0ec\x0ed\x0ee\x0ef\n"},
		{"x " + unbroken("a b c d"), "x\na\x0eb\x0ec\x0ed\n"},
	} {
		if got := wrap(c.in, 8, "", ""); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestPage(t *testing.T) {
	var p Page
	p.Say("cb.l2_load held 50 of 90 ms to the first token; without it at most 48 ms less.")
	p.Title("Nothing")
	p.Title("Stages")
	table := &Table{Columns: []Column{{Name: "stage"}, {Name: "p50", Kind: Time}}}
	table.Add(Word("cb.lookup"), Of(int64(90e6)))
	p.Table(table)
	p.Table(&Table{Columns: table.Columns})
	p.Say("Clocks were not corrected.")
	p.Title("Findings")
	p.Item("late_poll: chatcmpl-0fb197e4796608fe-34470eb5 chatcmpl-1 and others")
	p.Item("store_tail")
	p.Title("Empty at the end")
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, `cb.l2_load held 50 of 90 ms to the first token; without it at most 48 ms less.

Stages
stage      p50 ms
cb.lookup      90

Clocks were not corrected.

Findings
  late_poll: chatcmpl-0fb197e4796608fe-34470eb5 chatcmpl-1 and others
  store_tail
`},
		{30, `cb.l2_load held 50 of 90 ms to
the first token; without it at
most 48 ms less.

Stages
stage      p50 ms
cb.lookup      90

Clocks were not corrected.

Findings
  late_poll:
    chatcmpl-0fb197e4796608fe-34470eb5
    chatcmpl-1 and others
  store_tail
`},
	} {
		var b strings.Builder
		if err := p.Text(&b, Style{Width: c.width}); err != nil || b.String() != c.want {
			t.Errorf("width %d: %v\n%s\nwant\n%s", c.width, err, b.String(), c.want)
		}
	}
}
