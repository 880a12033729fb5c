package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// R3.7
func TestEscape(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "cb.lookup.rpc", "cb.lookup.rpc"},
		{"wide", "日本 é naïve", "日本 é naïve"},
		{"escape sequence", "a\x1b[31mred", `a\x1b[31mred`},
		{"line end and tab", "a\r\n\tb", `a\x0d\x0a\x09b`},
		{"delete", "\x7f", `\x7f`},
		{"C1", "\u009b2J", `\u009b2J`},
		{"bidi override", "user\u202egnp.exe", `user\u202egnp.exe`},
		{"bidi isolate", "\u2066x\u2069", `\u2066x\u2069`},
		{"zero width", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"tag", "a\U000e0041", `a\U000e0041`},
		{"variation selector", "a\ufe0f", `a\ufe0f`},
		{"filler", "\u3164", `\u3164`},
		{"not UTF-8", "a\xffb\xc0", `a\xffb\xc0`},
		{"replacement character itself", "\ufffd", "\ufffd"},
	} {
		if got := Escape(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestJSON(t *testing.T) {
	doc := struct {
		B string         `json:"b"`
		A map[string]int `json:"a"`
		C *int           `json:"c"`
	}{"<x> & \u202e\x1b日\U000e0041\u009b\x7f", map[string]int{"y": 1, "x": 2}, nil}
	var b bytes.Buffer
	if err := JSON(&b, doc); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"b\": \"<x> & \\u202e\\u001b日\\udb40\\udc41\\u009b\\u007f\",\n  \"a\": {\n    \"x\": 2,\n    \"y\": 1\n  },\n  \"c\": null\n}\n"
	if b.String() != want {
		t.Errorf("got %s want %s", b.String(), want)
	}
	back := doc
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.B != doc.B {
		t.Errorf("read back %q, %v; want %q", back.B, err, doc.B)
	}
	b.Reset()
	if err := JSONLine(&b, doc); err != nil || strings.Count(b.String(), "\n") != 1 || !strings.HasSuffix(b.String(), "\n") {
		t.Errorf("a line: %q, %v", b.String(), err)
	}
}

// Whatever an input holds, nothing that acts on a terminal comes out, and JSON reads back as it was.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a\x1b[0m", "\u202e\u200b", "\xff\xfe", "\U000e0041", "日本"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Escape(s) {
			if !visible(r) {
				t.Fatalf("%q: %U in %q", s, r, Escape(s))
			}
		}
		var b bytes.Buffer
		if err := JSONLine(&b, s); err != nil {
			t.Fatal(err)
		}
		for _, r := range strings.TrimSuffix(b.String(), "\n") {
			if !visible(r) {
				t.Fatalf("%q: %U in %s", s, r, b.String())
			}
		}
		var back string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || utf8.ValidString(s) && back != s {
			t.Fatalf("%q read back as %q, %v", s, back, err)
		}
	})
}
