package render

import (
	"strings"
	"testing"
)

func TestInk(t *testing.T) {
	in := "a " + Toned(Bad, "failed") + "  \n" + Toned(OnPath, "██  ") + "\nraw \x1b[2J\x00" + unbroken("a b") + "\n" + Toned(Strong, "two\nlines") + "\n"
	for _, c := range []struct {
		color bool
		want  string
	}{
		{false, "a failed\n██\nraw \\x1b[2J\\x00a b\ntwo\nlines\n"},
		{true, "a \x1b[1;31mfailed\x1b[m\n\x1b[36m██\x1b[m\nraw \\x1b[2J\\x00a b\n\x1b[1mtwo\x1b[m\n\x1b[1mlines\x1b[m\n"},
	} {
		var b strings.Builder
		k := &ink{w: &b, color: c.color}
		for _, part := range []string{in[:5], in[5:]} { // lines may come in pieces
			if _, err := k.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if b.String() != c.want {
			t.Errorf("color %v: got %q, want %q", c.color, b.String(), c.want)
		}
	}
}

// Under LC_ALL=C nothing outside ASCII is written, and columns still stand under each other.
func TestASCII(t *testing.T) {
	var b strings.Builder
	table := &Table{Columns: []Column{{Name: "name"}, {Name: "", Kind: Bar}, {Name: "±", Kind: Time}}}
	table.Add(Word("日本"), Drawn([]Stroke{{0, 0.5, Held}, {0.5, 0.75, Through}, {0.75, 1, OffPath}}), Of(1500))
	table.Add(Word("b"), Drawn([]Stroke{{0, 0.5, Overlapped}, {0.5, 0.9, InNoSpan}, {1, 1, Beyond}}), Cell{})
	if err := table.Text(&b, Style{ASCII: true, Width: 60}); err != nil {
		t.Fatal(err)
	}
	want := `
name                                                   +- us
\u65e5\u672c  ####################---------..........    1.5
b             ++++++++++++++++++++::::::::::::::::  >    -
`[1:]
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestDrawBar(t *testing.T) {
	for _, c := range []struct {
		name    string
		strokes []Stroke
		want    string
	}{
		{"nothing", nil, ""},
		{"the larger part of a character is shown", []Stroke{{0, 0.04, Held}, {0.04, 0.2, Through}, {0.2, 1, OffPath}}, "──········"},
		{"a short one has a character of its own", []Stroke{{0.31, 0.3100001, Held}}, "   █      "},
		{"outside the window", []Stroke{{-2, -1, OffPath}, {3, 4, OffPath}}, "·        ·"},
		{"after it", []Stroke{{1, 1, Beyond}}, "         ▸"},
		{"a moment", []Stroke{{0.5, 0.5, Moment}}, "     |    "},
		{"whole", []Stroke{{0, 1, Filled}}, "■■■■■■■■■■"},
	} {
		var b strings.Builder
		k := &ink{w: &b}
		if _, err := k.Write([]byte(drawBar(c.strokes, 10) + ".\n")); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(b.String(), ".\n"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"chatcmpl-1": "chatcmpl-1", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "\x1b[2J": `$'\x1b[2J'`, "a'\\\x00": `$'a\'\\\x00'`, "日本": "'日本'", "\u202e": `$'\xe2\x80\xae'`,
		"-x": "-x", "a;b": "'a;b'", "~": "'~'", "a*": "'a*'",
	} {
		if got := ShellWord(in); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", in, got, want)
		}
	}
	v := View{Inputs: []string{"a b", "c"}}
	if got, want := strings.ReplaceAll(v.inspectCommand("-x"), "\x0e", " "), "cbtrace inspect -- -x 'a b' c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	v.Inputs = []string{"1", "2", "3", "4", "5"}
	if got, want := strings.ReplaceAll(v.command("report"), "\x0e", " "), "cbtrace report INPUT…"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
