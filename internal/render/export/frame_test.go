package export

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/cbtrace/cbtrace/internal/render"
)

// What readers of folded stacks make of a line.
var (
	flameGraph = regexp.MustCompile(`^(.*)\s+?(\d+(?:\.\d*)?)$`) // of flamegraph.pl, which reads a second count off the stack with it
	speedscope = regexp.MustCompile(`^(.*) (\d+)$`)
)

// inferno takes a count off the end of a line as its parser does: the text behind the last blank, digits with at most one point among them.
func inferno(line string) (rest string, count string) {
	line = strings.TrimSpace(line)
	at := strings.LastIndexByte(line, ' ')
	text := line[at+1:]
	whole, part, _ := strings.Cut(text, ".")
	if at < 0 || strings.Trim(whole+part, "0123456789") != "" {
		return line, ""
	}
	if _, err := strconv.ParseUint(whole, 10, 64); err != nil {
		return line, ""
	}
	return strings.TrimRightFunc(line[:at], unicode.IsSpace), whole
}

// reads holds that all three read a stack with its count from a line, and no second count.
func reads(t *testing.T, stack, count string) {
	t.Helper()
	line := stack + " " + count
	if m := flameGraph.FindStringSubmatch(line); m == nil || m[1] != stack || m[2] != count {
		t.Errorf("flamegraph.pl reads %q of %q", m, line)
	}
	if m := flameGraph.FindStringSubmatch(stack); m != nil {
		t.Errorf("flamegraph.pl reads a second count of %q", line)
	}
	if m := speedscope.FindStringSubmatch(line); m == nil || m[1] != stack || m[2] != count {
		t.Errorf("speedscope reads %q of %q", m, line)
	}
	rest, n := inferno(line)
	if rest != stack || n != count {
		t.Errorf("inferno reads %q, %q of %q", rest, n, line)
	}
	if _, second := inferno(rest); second != "" {
		t.Errorf("inferno reads a second count of %q", line)
	}
}

func TestFrame(t *testing.T) {
	for name, want := range map[string]string{
		"cb.lookup.rpc":       "cb.lookup.rpc",
		"GET /v1/models":      "GET /v1/models",
		"":                    "(nameless)",
		"(nameless)":          "%28nameless)",
		"(synthetic)":         "%28synthetic)",
		"a;b":                 "a%3Bb",
		"100 %":               "100 %25",
		"a%3Bb":               "a%253Bb",
		" a  b ":              "%20a  b%20",
		"  ":                  "%20%20",
		"layer 12":            "layer%2012",
		"layer 1 2":           "layer 1%202",
		"v 1.5":               "v%201.5",
		"v 1.":                "v%201.",
		"v .5":                "v .5",
		"v 1.2.3":             "v 1.2.3",
		"v 12b":               "v 12b",
		"12":                  "12",
		"a\tb\r\n":            "a%09b%0D%0A",
		"a\u00a0b":            "a%C2%A0b",
		"a\u202eb\x1b":        "a%E2%80%AEb%1B",
		"\xff":                "%FF",
		"größe":               "größe",
		"# note":              "%23 note",
		"a#b":                 "a#b",
		"kernel_[k]":          "kernel_%5Bk]",
		"kernel_[x]":          "kernel_[x]",
		"-":                   "%2D",
		"--":                  "%2D%2D",
		"---":                 "---",
		"cb.request@server":   "cb.request%40server",
		"cb.request@home":     "cb.request@home",
		"who@server":          "who@server",
		"cb.request@server 1": "cb.request@server%201",
	} {
		if got := Frame(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// FuzzFrame: a frame is safe, and its name can be read back from it, so no two names have one frame.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{"", "cb.lookup", "a;b c 12", "%41", " x_[k]", "\xc3", "- ", "cb.request@server", "(nameless)", "\u2028 7.", "#"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := Frame(name)
		if got == "" || strings.ContainsAny(got, ";\n\r\t") || !utf8.ValidString(got) || render.Escape(got) != got || strings.TrimSpace(got) != got {
			t.Errorf("%q: %q is not safe", name, got)
		}
		if name == "" {
			return
		}
		if back, err := url.PathUnescape(got); err != nil || back != name {
			t.Errorf("%q: %q is that of %q (%v)", name, got, back, err)
		}
		if made := map[string]bool{"(nameless)": true, "(synthetic)": true, "cb.request@server": true}; made[got] {
			t.Errorf("%q has a frame that cbtrace makes up: %q", name, got)
		}
		reads(t, got, "7")
		reads(t, "root;"+got, "1234567890123456789")
	})
}
