package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/cbtrace/cbtrace/internal/model"
)

// readText reads a text as standard input.
func readText(t testing.TB, text string, opt Options) (*gatherer, model.InputStats) {
	t.Helper()
	set, err := Expand([]string{Stdin}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	g, stats := read(t, set, opt)
	return g, stats[0]
}

func lineText(name string) string {
	return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + spanText(name, 10) + `]}]}]}` + "\n"
}

func gz(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func zst(text string) string {
	w, _ := zstd.NewWriter(nil)
	return string(w.EncodeAll([]byte(text), nil))
}

// framedText is a message with its length before it.
func framedText(text string) string {
	n := len(text)
	return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + text
}

// R3.5: what is bad never panics and never stops the rest; what came before counts, what was lost is counted and named.
func TestBadInput(t *testing.T) {
	good := lineText("a") + lineText("b")
	cutGzip := gz(strings.Repeat(good, 2000))
	for _, c := range []struct {
		name, text string
		spans      int64
		skipped    int64
		says       string // in Unusable or in an error
		truncated  bool
	}{
		{"empty file", "", 0, 0, "empty", false},
		{"white space", " \n\r\n\t", 0, 0, "nothing but white space", false},
		{"a byte order mark", "\xef\xbb\xbf", 0, 0, "nothing but white space", false},
		{"{}", "{}", 0, 0, "JSON without anything in it", false},
		{"{} between", lineText("a") + "{}\n" + lineText("b"), 2, 0, "", false},
		{"null", "null", 0, 0, "null at its top", false},
		{"null between", lineText("a") + "null\n" + lineText("b"), 2, 1, "-:2: no JSON value", false},
		{"invalid UTF-8", strings.Replace(good, `"name":"a"`, "\"name\":\"\xff\xfe\xc3\"", 1), 2, 0, "", false},
		{"NaN", lineText("a") + `{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":NaN},{"name":"x","attributes":[{"key":"ms","value":{"doubleValue":NaN}}]}]}]}]}`, 2, 1, "span: start time: want a number", false},
		{"ids of wrong length", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0123456789abcdef0123456789abcdef00","spanId":"0123456789abcdef00","parentSpanId":"","name":"x"}]}]}]}`, 1, 0, "", false},
		{"end before start", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"x","startTimeUnixNano":"10","endTimeUnixNano":"9"}]}]}]}`, 1, 0, "", false},
		{"zero times", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"x","startTimeUnixNano":"0","endTimeUnixNano":"0"}]}]}]}`, 1, 0, "", false},
		{"a cut last line", good + lineText("c")[:100], 2, 1, "-:3: ends in the middle of a record", true},
		{"a cut line within", good + lineText("c")[:100] + "\n" + lineText("d"), 3, 1, "-:3: want '\"', have the end of the line", false},
		{"a cut gzip", cutGzip[:len(cutGzip)/2], -1, 1, ": gzip: ends in the middle", true},
		{"a gzip and garbage", gz(good) + "garbage that is no gzip", 2, 0, fmt.Sprintf("-: offset %d: gzip: other bytes behind the compression", len(good)), false},
		{"a gzip and a byte", gz(good) + "x", 2, 0, fmt.Sprintf("-: offset %d: gzip: other bytes behind the compression", len(good)), false},
		{"a gzip and a byte of another", gz(good) + "\x1f", 2, 0, fmt.Sprintf("-: offset %d: gzip: ends in the middle", len(good)), true},
		{"a gzip and the beginning of another", gz(good) + gz(good)[:15], 2, 0, fmt.Sprintf("-: offset %d: gzip: ends in the middle", len(good)), true},
		{"gzips, one of them of nothing", gz(lineText("a")) + gz("") + gz(lineText("b")), 2, 0, "", false},
		{"a padded gzip", gz(good) + strings.Repeat("\x00", 100_000), 2, 0, "", false},
		{"padding and garbage", gz(good) + strings.Repeat("\x00", 100_000) + gz(good), 2, 0, fmt.Sprintf("-: offset %d: gzip: other bytes behind the compression", len(good)), false},
		{"a gzip without content", gz(good)[:15], 0, 0, "-: offset 0: gzip: ends in the middle", true},
		{"two bytes of a gzip", "\x1f\x8b", 0, 0, "-: offset 0: gzip: ends in the middle", true},
		{"gzip in gzip", gz(gz(good)), 2, 0, "", false},
		{"four gzips", gz(gz(gz(gz(good)))), 0, 0, "compressed more than 3 times", false},
		{"a cut zstd", zst(good) + zst(good)[:60], 2, 0, fmt.Sprintf("-: offset %d: zstd: ends in the middle", len(good)), true},
		{"a length prefix of 0xffffffff", "\xff\xff\xff\xff\x0a\x02", 0, 1, "record length 4294967295 is over the 256 MiB limit", false},
		{"a frame longer than the input", framedText(zst(lineText("a"))) + "\x0f\xff\xff\xff" + zst("x"), 1, 1, "ends in the middle", true},
		{"a damaged frame", framedText(zst(lineText("a"))) + framedText("\x28\xb5\x2f\xfdxxxxxxxxx") + framedText(zst(lineText("b"))), 2, 1, "-:2: zstd frame: ", false},
		{"a frame that says it is huge", framedText("\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\x00\x00\x00\x00"+"\x01\x00\x00") + framedText(zst(lineText("b"))), 1, 1, "-:1: zstd frame: ", false},
		{"a frame of 20 MB", framedText(zst(strings.Replace(lineText("a"), "xxxxxxxxxx", strings.Repeat("x", 20<<20), 1))) + framedText(zst(lineText("b"))), 2, 0, "", false},
		{"deep nesting", `{"resourceSpans":[{"x":` + strings.Repeat("[", 1<<20) + "\n" + good, 2, 1, "JSON nested more than 512 deep", false},
		{"deep nesting of attributes", strings.Replace(good, `"stringValue":"xxxxxxxxxx"`, `"arrayValue":{"values":[`+strings.Repeat(`{"arrayValue":{"values":[`, 300)+strings.Repeat(`]}}`, 300)+`]}`, 1), 1, 1, "JSON nested more than 512 deep", false},
		{"text between", "starting\n" + lineText("a") + "warning: {x\n" + lineText("b") + "done", 2, 3, "-:1: no JSON value", false},
		{"another format between", lineText("a") + `[{"traceId":"1","id":"2","timestamp":3}]` + "\n" + lineText("b"), 2, 1, "Zipkin JSON", false},
		{"protobuf appended", good + "\x00\x00\x00\x05\x0a\x03\x12\x01\x00", 2, 2, "-:3: no JSON value", false},
		{"metrics alone", `{"resourceMetrics":[]}`, 0, 0, "holds no traces, only metrics", false},
		{"binary", "\x7fELF\x02\x01\x01\x00\x00\x00", 0, 0, "not a format that cbtrace reads", false},
		{"a long text without lines", strings.Repeat("lorem ipsum ", 1<<19), 0, 0, "not a format that cbtrace reads", false},
		{"broken from the first byte", "{{{{{{", 0, 0, "broken JSON", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, keep := range []bool{false, true} {
				g, st := readText(t, c.text, Options{KeepAll: keep, Jobs: 2})
				if st.Spans != c.spans && c.spans >= 0 || int64(len(g.lines)) != st.Spans || st.Skipped != c.skipped && c.skipped >= 0 || st.Truncated != c.truncated {
					t.Errorf("%d spans, %d records, %d skipped, truncated %v; want %d, %d, %v", st.Spans, len(g.lines), st.Skipped, st.Truncated, c.spans, c.skipped, c.truncated)
				}
				all := st.Unusable + "\n" + strings.Join(st.Errors, "\n")
				if !strings.Contains(all, c.says) {
					t.Errorf("says %q, want %q", all, c.says)
				}
				if (st.Unusable == "") != (st.Spans > 0) {
					t.Errorf("%d spans, unusable: %q", st.Spans, st.Unusable)
				}
				if c.says == "" && (st.ErrorCount != 0 || len(st.Errors) != 0) {
					t.Errorf("errors: %q", st.Errors)
				}
			}
		})
	}
	_, st := readText(t, cutGzip[:len(cutGzip)/2], Options{})
	if st.Spans < 100 || st.Spans > 4000 {
		t.Errorf("%d spans of half a gzip of 4000", st.Spans)
	}
}

// At most 20 errors are listed, those that come first, and all are counted; whatever the number of workers.
func TestManyErrors(t *testing.T) {
	text := lineText("a") + strings.Repeat("{x\n", 20_000)
	var first model.InputStats
	for _, jobs := range []int{1, 2, 7} {
		set, _ := Expand([]string{Stdin}, strings.NewReader(text))
		set.block = 1 << 10
		_, stats := read(t, set, Options{Jobs: jobs})
		st := stats[0]
		if st.ErrorCount != 20_000 || len(st.Errors) != 20 || st.Errors[19] != "-:21: want a key, have 'x'" {
			t.Errorf("%d errors, %d listed: %q", st.ErrorCount, len(st.Errors), st.Errors)
		}
		if jobs == 1 {
			first = st
		} else if fmt.Sprintf("%+v", st) != fmt.Sprintf("%+v", first) {
			t.Errorf("%d jobs: %+v, want %+v", jobs, st, first)
		}
	}
}

// Values of an input never reach a message (R3.6).
func TestErrorsWithoutPayload(t *testing.T) {
	line := strings.Replace(strings.TrimSpace(lineText("SECRET")), "xxxxxxxxxx", "SECRET", 1)
	texts := []string{`"SECRET"`, `{"SECRETS":`, `SECRET`, `{"a":SECRET}`, `[1,"SECRET"]`, `{"traceId":"SECRET","id":"SECRET","timestamp":"SECRET"}`, `{"message":"SECRET","x":"SECRET`}
	for i := len(`{"resourceSpans"`); i < len(line); i += 3 {
		texts = append(texts, line[:i], line[:i]+"!"+line[i:], line[:i]+"SECRET"+line[i:], line[:i]+"\""+line[i:])
	}
	for _, text := range texts {
		_, st := readText(t, lineText("a")+text+"\n"+lineText("b"), Options{KeepAll: true})
		all := fmt.Sprint(st.Unusable, st.Errors, st.Notes)
		if strings.Contains(strings.ReplaceAll(all, `the keys "SECRETS"`, ""), "SECRET") {
			t.Errorf("%q: %s", text, all)
		}
	}
}

// A spanStream writes a document of many resource spans, or of one with many spans.
type spanStream struct {
	head, element, tail string
	left                int64
	rest                string
	began               bool
}

func (s *spanStream) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if s.rest == "" {
			switch {
			case !s.began:
				s.began, s.rest = true, s.head+s.element
			case s.left > 0:
				s.rest = "," + s.element
			case s.tail != "":
				s.rest, s.tail = s.tail, ""
			default:
				return n, io.EOF
			}
			s.left -= int64(len(s.rest))
		}
		k := copy(p[n:], s.rest)
		n, s.rest = n+k, s.rest[k:]
	}
	return n, nil
}

type countSink struct{ n *int64 }

func (c countSink) Add(b *model.Batch) error { *c.n += int64(len(b.Records)); return nil }
func (c countSink) Close() error             { return nil }

// A line of 100 MB that is one resource is read; a document of many resources streams in the memory of a few blocks.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	const size = largeInput
	for _, c := range []struct {
		name   string
		stream spanStream
		memory uint64 // MiB
	}{
		{"a 100 MB line", spanStream{head: `{"resourceSpans":[{"scopeSpans":[{"spans":[`, element: spanText("a", 600), tail: "]}]}]}\n" + lineText("b")}, 700},
		{"a document of 100 MB", spanStream{head: "{\n \"resourceSpans\": [\n", element: resourceText("a", 10, 600), tail: "]\n}\n" + lineText("b")}, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.stream.left = size
			set, _ := Expand([]string{Stdin}, &c.stream)
			var n int64
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			stats, err := set.Read(context.Background(), model.NewDict(), Options{Jobs: 1}, func() Sink { return countSink{&n} })
			if err != nil || stats[0].ErrorCount != 0 || stats[0].Spans != n || n < size/1000 || stats[0].Bytes < size {
				t.Fatalf("%d spans, %v, %+v", n, err, stats[0])
			}
			runtime.ReadMemStats(&after)
			if grown := (after.HeapSys - min(before.HeapSys, after.HeapSys)) >> 20; grown > c.memory {
				t.Errorf("the heap grew by %d MiB", grown)
			}
		})
	}
}

// A file that is gone, shorter than it was, or still growing when it is read.
func TestChangingFiles(t *testing.T) {
	root := tree(t, "gone", "shrunk", "grown", "ok")
	for _, name := range []string{"shrunk", "grown", "ok"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(lineText("a")+lineText("b")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := expand(t, root)
	_ = os.Remove(filepath.Join(root, "gone"))
	_ = os.Truncate(filepath.Join(root, "shrunk"), int64(len(lineText("a"))))
	_ = os.WriteFile(filepath.Join(root, "grown"), []byte(lineText("a")+lineText("b")+lineText("c")), 0o600)
	_, stats := read(t, set, Options{})
	for i, want := range []struct {
		file     string
		spans    int64
		unusable string
		errors   string
	}{
		{"gone", 0, "no such file or directory", "gone: no such file or directory"}, {"grown", 3, "", ""}, {"ok", 2, "", ""}, {"shrunk", 1, "", fmt.Sprintf("shrunk: %d of its %d bytes were there to be read", len(lineText("a")), 2*len(lineText("a")))},
	} {
		st := stats[i]
		if st.File != want.file || st.Spans != want.spans || st.Unusable != want.unusable || strings.Join(st.Errors, "") != want.errors || st.Truncated != (want.file == "shrunk") || st.Named {
			t.Errorf("got %+v, want %+v", st, want)
		}
	}
}

// A file that is refused before its end says why, not how much of it was read.
func TestRefusedBeforeItsEnd(t *testing.T) {
	root := tree(t, "framed")
	text := framedText(zst(lineText("a"))) + "\xff\xff\xff\xff" + strings.Repeat("x", 4<<20)
	if err := os.WriteFile(filepath.Join(root, "framed"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stats := read(t, expand(t, root), Options{})
	if st := stats[0]; len(st.Errors) != 1 || !strings.Contains(st.Errors[0], "record length 4294967295 is over the 256 MiB limit") || st.Skipped != 1 {
		t.Errorf("%+v", st)
	}
}

// R3.5: of what is found in a folder, what begins as a compression and cannot be taken apart is lost, not foreign, and so is what cannot be opened:
// why is kept with its place.
func TestLostInAFolder(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a.json": lineText("a"), "b.json.gz": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03garbage", "c.json.gz": gz(lineText("c"))[:12], "d.zst": "\x28\xb5\x2f\xfdgarbage",
		"e.json.gz": gz(lineText("e"))[:40], "f.gz": gz("lorem ipsum"), "g.bin": "\x7fELF\x02\x01\x01\x00\x00\x00", "h.json": "", "i.json": "x",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := expand(t, root)
	if err := os.Remove(filepath.Join(root, "i.json")); err != nil {
		t.Fatal(err)
	}
	_, stats := read(t, set, Options{})
	if len(stats) != 9 {
		t.Fatalf("%+v", stats)
	}
	for i, want := range []struct {
		lost  bool
		error string
	}{
		{false, ""}, {true, "b.json.gz: offset 0: flate: corrupt input before offset "}, {true, "c.json.gz: offset 0: gzip: ends in the middle"}, {true, "d.zst: offset 0: "},
		{true, "e.json.gz: offset "}, {false, ""}, {false, ""}, {false, ""}, {true, "i.json: no such file or directory"},
	} {
		st := &stats[i]
		if lost := st.Unusable != "" && !st.Foreign(); lost != want.lost || st.ErrorCount != int64(len(st.Errors)) || (st.ErrorCount == 1) != want.lost || !strings.HasPrefix(strings.Join(st.Errors, ""), want.error) {
			t.Errorf("%+v, want %+v", *st, want)
		}
		if foreign := set.Foreign(&set.Inputs[i], Options{}); foreign != st.Foreign() {
			t.Errorf("%s: foreign by its beginning %v, once it is read %v", st.File, foreign, st.Foreign())
		}
	}
}

// Of a folder with unrelated files the traces are read; the others say what they are.
func TestFolder(t *testing.T) {
	_, stats := read(t, expand(t, "testdata"), Options{})
	got := map[string]model.InputStats{}
	for _, st := range stats {
		got[st.File] = st
		if st.Named {
			t.Errorf("%s is named", st.File)
		}
		if st.Spans == 0 && st.Records == 0 && st.Unusable == "" && len(st.Notes) == 0 {
			t.Errorf("%s: nothing read and nothing said", st.File)
		}
	}
	if got["README.md"].Unusable != "not a format that cbtrace reads" || got["framings/json-lines.jsonl"].Spans != 7 {
		t.Errorf("%+v", got["README.md"])
	}
}

// The same records and the same InputStats whatever the number of workers and the order of arguments.
func TestJobs(t *testing.T) {
	args, _ := filepath.Glob("testdata/*/*")
	set := func() *Set {
		s := expand(t, args...)
		s.block = 2000
		return s
	}
	want, wantStats := read(t, set(), Options{Jobs: 1, KeepAll: true})
	for _, jobs := range []int{2, 7} {
		slices.Reverse(args)
		got, stats := read(t, set(), Options{Jobs: jobs, KeepAll: true})
		if !slices.Equal(got.lines, want.lines) || fmt.Sprint(stats) != fmt.Sprint(wantStats) {
			t.Errorf("%d jobs give something else", jobs)
		}
	}
	if len(want.lines) < 3000 {
		t.Errorf("only %d records", len(want.lines))
	}
}

// An interrupt ends reading at once, even while an input keeps it waiting.
func TestInterrupt(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, lineText("a")) }()
	set, _ := Expand([]string{Stdin}, r)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	done := make(chan error, 1)
	go func() {
		var n int64
		_, err := set.Read(ctx, model.NewDict(), Options{Jobs: 1}, func() Sink { return countSink{&n} })
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("still reading")
	}
}

type failingSink struct{ err error }

func (s failingSink) Add(*model.Batch) error { return s.err }
func (s failingSink) Close() error           { return nil }

// The error of a sink ends reading and is that of Read.
func TestSinkError(t *testing.T) {
	full := errors.New("disk full")
	set := expand(t, "testdata")
	if _, err := set.Read(context.Background(), model.NewDict(), Options{}, func() Sink { return failingSink{full} }); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

// Secret values are redacted as they are read, unless asked for (R3.6).
func TestShowSensitive(t *testing.T) {
	text := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"x","attributes":[{"key":"authorization","value":{"stringValue":"Bearer"}}]}]}]}]}`
	for show, want := range map[bool]string{false: "authorization=<redacted 6 bytes>", true: "authorization=Bearer"} {
		g, _ := readText(t, text, Options{KeepAll: true, ShowSensitive: show})
		if !strings.HasSuffix(g.lines[0], want) {
			t.Errorf("got %s, want %s", g.lines[0], want)
		}
	}
}

// The names of spans at the beginning of an input, for the message that no request was found.
func TestNames(t *testing.T) {
	_, st := readText(t, lineText("b")+lineText("a")+lineText("b"), Options{})
	if !slices.Equal(st.Names, []string{"a0", "b0"}) && !slices.Equal(st.Names, []string{"a", "b"}) {
		t.Errorf("got %q", st.Names)
	}
}

// A saved report that is compressed is told from one in the place of a capture: what reads those does not decompress them.
func TestSavedReportsAreNoCaptures(t *testing.T) {
	report := savedReport + "\x01 and more"
	for text, want := range map[string]string{
		report:      "a saved report, which has no spans: report, list, merge, diff and gate read it where an argument names it, a file or -",
		gz(report):  "a saved report, compressed: report, list, merge, diff and gate read it once it is decompressed",
		zst(report): "a saved report, compressed: report, list, merge, diff and gate read it once it is decompressed",
	} {
		if _, stats := readText(t, text, Options{}); stats.Unusable != want {
			t.Errorf("%q, want %q", stats.Unusable, want)
		}
	}
}
