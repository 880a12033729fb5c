package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// sound reports whether data is no JSON, or nothing but whole JSON values: what stands in a value that nobody reads is only counted in brackets, so
// reading may not see that it is broken.
func sound(data []byte) bool {
	data = bytes.TrimLeft(bytes.TrimPrefix(data, bom), " \t\r\n")
	if len(data) == 0 || data[0] != '{' && data[0] != '[' {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// FuzzInput: whatever the bytes, reading ends without a panic, what it says adds up, and of sound JSON the records do not depend on where
// blocks are cut.
func FuzzInput(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*")
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil && len(data) < 4<<10 {
			f.Add(data, uint16(100))
		}
	}
	f.Add([]byte(lineText("a")+"x\n"+lineText("b")), uint16(1))
	f.Add([]byte("\xef\xbb\xbf[\n"+strings.TrimSpace(lineText("a"))+",\n"+lineText("b")+"]\n{}"), uint16(40))
	f.Fuzz(func(t *testing.T, data []byte, size uint16) {
		run := func(size int) ([]string, int64, int64) {
			set, err := Expand([]string{Stdin}, bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			set.block = size
			g, stats := read(t, set, Options{Jobs: 1, KeepAll: true})
			st := stats[0]
			if int64(len(g.lines)) != st.Spans+st.Records {
				t.Fatalf("%d records, but %d spans and %d records", len(g.lines), st.Spans, st.Records)
			}
			if st.Skipped > st.ErrorCount || len(st.Errors) > 20 || int64(len(st.Errors)) > st.ErrorCount {
				t.Fatalf("%+v", st)
			}
			if st.Spans+st.Records == 0 && st.Unusable == "" && len(st.Notes) == 0 {
				t.Fatal("nothing read and nothing said")
			}
			if text := st.Unusable + strings.Join(st.Errors, "") + strings.Join(st.Notes, ""); !utf8.ValidString(text) {
				t.Fatalf("not UTF-8: %q", text)
			}
			return g.lines, st.Spans, st.ErrorCount
		}
		want, spans, problems := run(len(data) + 16)
		if spans == 0 || problems > 0 || !sound(data) {
			return
		}
		if got, _, _ := run(1 + int(size)); !slices.Equal(got, want) {
			t.Fatalf("in blocks of %d bytes: got\n%s\nwant\n%s", 1+int(size), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
