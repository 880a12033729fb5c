package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A file that logrotate cut while its writer went on has NUL bytes before its first record: they are dropped, said, and no record is lost. Offsets and
// lines are those of the file.
func TestLeadingNULs(t *testing.T) {
	profileLine := `{"name":"sched.build_meta","ts":1764432000000000,"dur_us":5,"request_id":"r1"}` + "\n"
	for _, nuls := range []int{1, 5, 64<<10 - 1, 64 << 10, 64<<10 + 1, 3 << 20} {
		hole := strings.Repeat("\x00", nuls)
		said := fmt.Sprintf("%d NUL bytes at its beginning were dropped: it was cut while its writer went on", nuls)
		for _, c := range []struct {
			name, text     string
			spans, records int64
			format         string
		}{
			{"OTLP JSON", hole + lineText("a") + lineText("b"), 2, 0, "otlp-json"},
			{"profile lines", hole + profileLine + profileLine, 0, 2, "cb-profile"},
			{"compressed", gz(hole + lineText("a")), 1, 0, "otlp-json+gzip"},
		} {
			_, stats := readText(t, c.text, Options{Now: time.Unix(1_764_500_000, 0)})
			if stats.Spans != c.spans || stats.Records != c.records || stats.Format != c.format || stats.Skipped != 0 || stats.Unusable != "" {
				t.Errorf("%s behind %d NUL bytes: %+v", c.name, nuls, stats)
			}
			found := false
			for _, n := range stats.Notes {
				found = found || n == said
			}
			if !found {
				t.Errorf("%s behind %d NUL bytes: want the note %q, have %q", c.name, nuls, said, stats.Notes)
			}
		}
	}
	// what is broken behind them is named by its place in the file
	_, stats := readText(t, strings.Repeat("\x00", 100)+"\xff\xfe\xfd\xfc", Options{})
	if !strings.Contains(stats.Unusable, "not a format that cbtrace reads") {
		t.Errorf("%+v", stats)
	}
	if _, stats = readText(t, strings.Repeat("\x00", 200_000), Options{}); stats.Unusable != "nothing but NUL bytes" {
		t.Errorf("%+v", stats)
	}
}

// Zeros at the beginning of a framed message are its length, and stay.
func TestFramedZerosStay(t *testing.T) {
	message, err := os.ReadFile("testdata/framings/proto-single.pb")
	if err != nil {
		t.Fatal(err)
	}
	_, stats := readText(t, framedText(string(message)), Options{})
	if stats.Format != "otlp-proto+framed" || stats.Spans == 0 || len(stats.Notes) != 0 {
		t.Errorf("%+v", stats)
	}
}

// A JSON value that is larger than the limit is lost, counted and named, wherever it stands; memory does not grow with it, and what stands before
// and behind it is read.
func TestTooLarge(t *testing.T) {
	huge := `{"resourceSpans":[{"scopeSpans":[{"spans":[` + spanText("huge", 100_000) + `]}]}]}` + "\n"
	lines := `{"name":"sched.build_meta","ts":1764432000000000,"dur_us":5,"request_id":"r1"}` + "\n"
	hugeLine := strings.Replace(lines, "r1", strings.Repeat("r", 100_000), 1)
	a, b := lineText("a"), lineText("b")
	for _, c := range []struct {
		name, text     string
		spans, records int64
		says           string
	}{
		{"in the middle", a + huge + b, 2, 0, fmt.Sprintf("-:2: a JSON value of more than 8192 bytes at offset %d", len(a))},
		{"first, as JSON", huge + a + b, 2, 0, "-:1: a JSON value of more than 8192 bytes at offset 0"},
		{"last", a + b + strings.TrimSpace(huge), 2, 0, fmt.Sprintf("-:3: a JSON value of more than 8192 bytes at offset %d", len(a+b))},
		{"cut", a + huge[:50_000], 1, 0, fmt.Sprintf("-:2: a JSON value of more than 8192 bytes at offset %d", len(a))},
		{"compressed", gz(a + huge + b), 2, 0, fmt.Sprintf("-:2: a JSON value of more than 8192 bytes at offset %d", len(a))},
		{"a profile line", lines + hugeLine + lines, 0, 2, fmt.Sprintf("-:2: a JSON value of more than 8192 bytes at offset %d", len(lines))},
		{"behind NUL bytes", strings.Repeat("\x00", 10) + a + huge + b, 2, 0, fmt.Sprintf("-:2: a JSON value of more than 8192 bytes at offset %d", 10+len(a))},
	} {
		for _, size := range []int{512, 8192} {
			set, err := Expand([]string{Stdin}, strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			set.block, set.limit = size, 8192
			_, all := read(t, set, Options{Now: time.Unix(1_764_500_000, 0)})
			st := all[0]
			if st.Spans != c.spans || st.Records != c.records || st.Skipped != 1 || st.ErrorCount != 1 || st.Errors[0] != c.says {
				t.Errorf("%s in blocks of %d: %d spans, %d records, %d skipped, %q; want %d, %d, 1, %q", c.name, size, st.Spans, st.Records, st.Skipped, st.Errors, c.spans, c.records, c.says)
			}
		}
	}
	path := filepath.Join(folder(t, map[string]string{"huge.json": huge}), "huge.json")
	set := small(t, path, 512)
	set.limit = 8192
	if _, all := read(t, set, Options{}); !strings.Contains(all[0].Unusable, "nothing in it could be read: a JSON value of more than 8192 bytes at offset 0") {
		t.Errorf("nothing else in it: %+v", all[0])
	}
}
