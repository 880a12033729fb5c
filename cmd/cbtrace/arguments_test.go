package main

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// What cannot be written is never fine, help included, and no fault of the inputs (R3.4).
func TestFullDisk(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"report", "--help"}, {"help", "report"}, {"version"}, {"explain", "late_poll"}, {"report", "../../testdata/otlp"}} {
		var notes strings.Builder
		if status := run(args, strings.NewReader(""), full{}, &notes); status != exitUsage {
			t.Errorf("%v: status %d, want %d", args, status, exitUsage)
		}
		if !strings.HasSuffix(notes.String(), "cbtrace: cannot write standard output: no space left on device\n") {
			t.Errorf("%v: said %q", args, notes.String())
		}
	}
}

// An argument of 100 kB does not fill the screen, wherever it is wrong; what is wrong with it stays.
func TestLongArguments(t *testing.T) {
	long := strings.Repeat("ü", 50_000)
	for _, c := range []struct {
		args []string
		end  string
	}{
		{[]string{"report", "--since", long}, "as -2h\n"},
		{[]string{"report", "--jobs", long}, "\"\n"},
		{[]string{"inspect", long, "../../testdata/otlp"}, "\"\n"},
		{[]string{long}, "\"\n"},
		{[]string{"report", "--table", long, "../../testdata/otlp"}, "inputs\n"},
	} {
		var out, notes strings.Builder
		if status := run(c.args, strings.NewReader(""), &out, &notes); status == exitFine {
			t.Errorf("%.20v: status 0", c.args)
		}
		said, _, _ := strings.Cut(notes.String(), "see cbtrace")
		if len(said) > 1100 || !utf8.ValidString(said) || !strings.Contains(said, "bytes left out) …") || !strings.HasSuffix(said, c.end) {
			t.Errorf("%.20v: %d bytes: %.60q … %q", c.args, len(said), said, said[max(0, len(said)-60):])
		}
	}
	for _, line := range []string{"", "short", strings.Repeat("x", 1000)} {
		if brief(line) != line {
			t.Errorf("%d bytes were cut", len(line))
		}
	}
}
