package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// small returns a set that reads one file in blocks of a size.
func small(t testing.TB, path string, size int) *Set {
	set := expand(t, path)
	set.block = size
	return set
}

// Wherever an input is cut into blocks, the records, their lines and what is said about it are the same.
func TestBlockSizes(t *testing.T) {
	var files []string
	for _, s := range samples {
		path := filepath.Join("testdata", s.file)
		if info, err := os.Stat(path); err == nil && info.Size() < 12<<10 && s.format != "" {
			files = append(files, path)
		}
	}
	for _, path := range files {
		want, wantStats := read(t, expand(t, path), Options{KeepAll: true})
		for _, size := range []int{1, 64, 100, 317, 1000, 1500, 4096} {
			got, stats := read(t, small(t, path, size), Options{KeepAll: true, Jobs: 2})
			if !slices.Equal(got.lines, want.lines) {
				t.Errorf("%s in blocks of %d bytes: got\n%s\nwant\n%s", path, size, strings.Join(got.lines, "\n"), strings.Join(want.lines, "\n"))
			}
			a, b := stats[0], wantStats[0]
			a.Names, b.Names = nil, nil // those of the first block
			if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) {
				t.Errorf("%s in blocks of %d bytes:\n got %+v\nwant %+v", path, size, a, b)
			}
		}
	}
	if len(files) < 40 {
		t.Errorf("only %d files", len(files))
	}
}

// A span of n bytes or so, and an export of some.
func spanText(name string, n int) string {
	return `{"traceId":"0123456789abcdef0123456789abcdef","spanId":"00000000000000a1","name":"` + name + `","attributes":[{"key":"pad","value":{"stringValue":"` + strings.Repeat("x", n) + `"}}]}`
}

func resourceText(name string, spans, n int) string {
	list := make([]string, spans)
	for i := range list {
		list[i] = spanText(fmt.Sprint(name, i), n)
	}
	return `{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"` + name + `"}}]},"scopeSpans":[{"scope":{"name":"s"},"spans":[` + strings.Join(list, ",\n") + `]}]}`
}

// blocks cuts a text into blocks of a size.
func blocks(text string, size int) (out []block, err error) {
	var broken error
	c := jsonCutter{r: iotest.OneByteReader(strings.NewReader(text)), broken: &broken, size: size, line: 1}
	for {
		b, err := c.next(nil)
		if errors.Is(err, io.EOF) {
			return out, broken
		}
		if err != nil {
			return out, err
		}
		b.data = bytes.Clone(b.data)
		out = append(out, b)
	}
}

// A document that is larger than a block is handed on in pieces of the same shape. Their size is that of its elements, not its own.
func TestDocumentInPieces(t *testing.T) {
	var elements []string
	for i := range 50 {
		elements = append(elements, resourceText(fmt.Sprintf("e%d-", i), 2, 100))
	}
	list := strings.Join(elements, ",\n")
	for _, c := range []struct {
		name, text string
		head, tail string
	}{
		{"document", `{"resourceSpans":[` + list + `]}`, `{"resourceSpans":[`, `]}`},
		{"white space", "\n { \"a\" : 1,\n \"resourceSpans\" : [ \n" + list + "\n ] , \"b\":[{}]\n}\n", "\n { \"a\" : 1,\n \"resourceSpans\" : [", `]}`},
		{"answer", `{"metrics":{},"trace":{"resourceSpans":[` + list + `]},"status":"PARTIAL"}`, `{"metrics":{},"trace":{"resourceSpans":[`, `]}}`},
		{"array", "[" + list + "]", "[", "]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := blocks(c.text, 2000)
			if err != nil || len(got) < 10 {
				t.Fatalf("%d blocks, %v", len(got), err)
			}
			var content strings.Builder
			for i, b := range got {
				if len(b.data) > 3000 {
					t.Errorf("block %d has %d bytes", i, len(b.data))
				}
				if !strings.HasPrefix(string(b.data), c.head) {
					t.Fatalf("block %d begins with %.40q, want %q", i, b.data, c.head)
				}
				at := int(b.offset) + len(c.head)
				body := string(b.data[len(c.head):])
				if i < len(got)-1 {
					body = strings.TrimSuffix(body, c.tail)
				}
				if c.text[at:at+len(body)] != body {
					t.Errorf("block %d is not what stands at offset %d", i, at)
				}
				if line := 1 + int64(strings.Count(c.text[:at], "\n")) - int64(strings.Count(c.head, "\n")); b.line != line {
					t.Errorf("block %d says line %d, want %d", i, b.line, line)
				}
				if i > 0 {
					content.WriteByte(',')
				}
				content.WriteString(body)
			}
			if c.head+content.String() != c.text {
				t.Error("the pieces do not make the whole")
			}
		})
	}
}

func TestCuts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		size       int
		want       []string
	}{
		{"lines", "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n", 18, []string{"{\"a\":1}\n{\"b\":2}\n", "{\"c\":3}\n"}},
		{"no last newline", "{\"a\":1}\n{\"b\":2}", 10, []string{"{\"a\":1}\n", "{\"b\":2}"}},
		{"pretty", "{\n \"a\": {\n  \"b\": 1\n }\n}\n{\n \"a\": 2\n}\n", 30, []string{"{\n \"a\": {\n  \"b\": 1\n }\n}\n", "{\n \"a\": 2\n}\n"}},
		{"without indentation", "{\"a\":\n[\n{\n\"b\":1\n},\n{\n\"b\":2\n}\n]\n}\n{\"c\":3}\n", 41, []string{"{\"a\":\n[\n{\n\"b\":1\n},\n{\n\"b\":2\n}\n]\n}\n", "{\"c\":3}\n"}},
		{"nothing between", `{"a":1}{"b":2}{"c":3}`, 10, []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}},
		{"text between", "{\"a\":1}\nINFO x\n{\"b\":2}\n", 17, []string{"{\"a\":1}\nINFO x\n", "{\"b\":2}\n"}},
		{"cut line between", "{\"a\":1}\n{\"b\":[\"x\n{\"c\":2}\n{\"d\":3}\n", 20, []string{"{\"a\":1}\n{\"b\":[\"x\n", "{\"c\":2}\n{\"d\":3}\n"}},
		{"broken without end", "{\"a\":[}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nyyyyyy\nzzzzzzzz\n{\"b\":1}\n", 20, []string{"{\"a\":[}xxxxxxxxxxxxx", "{\"b\":1}\n"}},
		{"a value larger than blocks", `{"x":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]}` + "\n{\"b\":1}\n" + strings.Repeat(" ", 40), 10, []string{`{"x":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]}` + "\n", `{"b":1}`, "\n" + strings.Repeat(" ", 40)}},
		{"byte order mark", "\xef\xbb\xbf{\"a\":1}\n{\"b\":2}\n", 12, []string{"{\"a\":1}\n", "{\"b\":2}\n"}},
		{"nothing", "", 10, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := blocks(c.text, c.size)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, b := range got {
				texts = append(texts, string(b.data))
				if int64(strings.Index(c.text, string(b.data))) != b.offset {
					t.Errorf("%q is not at offset %d", b.data, b.offset)
				}
				if line := 1 + int64(strings.Count(c.text[:b.offset], "\n")); b.line != line {
					t.Errorf("%q says line %d, want %d", b.data, b.line, line)
				}
			}
			if !slices.Equal(texts, c.want) {
				t.Errorf("got %q\nwant %q", texts, c.want)
			}
		})
	}
}

// A length prefix is never believed beyond the bytes that are there.
func TestMessageCutter(t *testing.T) {
	cut := func(data []byte, frame framing, size int) (sizes []int, err error) {
		var broken error
		c := messageCutter{r: iotest.OneByteReader(bytes.NewReader(data)), frame: frame, broken: &broken, size: size}
		for {
			b, err := c.next(nil)
			if errors.Is(err, io.EOF) {
				return sizes, broken
			}
			if err != nil {
				return sizes, err
			}
			if cap(b.data) > 4*len(data)+4*size+64 {
				t.Errorf("%d bytes of memory for %d", cap(b.data), len(data))
			}
			sizes = append(sizes, len(b.data))
		}
	}
	msg := func(n int) []byte { return append([]byte{0, 0, byte(n >> 8), byte(n)}, make([]byte, n)...) }
	for _, c := range []struct {
		name  string
		data  []byte
		frame framing
		want  []int
		err   string
	}{
		{"several to a block", slices.Concat(msg(5), msg(6), msg(90), msg(3)), be32, []int{19, 94, 7}, ""},
		{"larger than a block", slices.Concat(msg(500), msg(1)), be32, []int{504, 5}, ""},
		{"cut", slices.Concat(msg(5), msg(60)[:30]), be32, []int{9, 30}, ""},
		{"cut prefix", slices.Concat(msg(5), []byte{0, 0}), be32, []int{9, 2}, ""},
		{"0xffffffff", slices.Concat(msg(5), []byte{0xff, 0xff, 0xff, 0xff, 1, 2}), be32, []int{9}, "record length 4294967295 is over the 256 MiB limit"},
		{"a length that is not there", []byte{0x0f, 0xff, 0xff, 0xff, 1, 2}, be32, []int{6}, ""},
		{"varint", slices.Concat([]byte{3, 1, 2, 3}, []byte{0x80, 1}, make([]byte, 128)), varint, []int{4, 130}, ""},
		{"no varint", bytes.Repeat([]byte{0xff}, 12), varint, nil, "record length: not a varint"},
		{"fields", []byte{0x0a, 2, 1, 1, 0x10, 0x80, 1, 0x19, 1, 2, 3, 4, 5, 6, 7, 8, 0x25, 1, 2, 3, 4}, field, []int{16, 5}, ""},
		{"a group", []byte{0x0a, 1, 1, 0x0b}, field, []int{3}, "not a protobuf field"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := cut(c.data, c.frame, 20)
			if !slices.Equal(got, c.want) || err != nil && err.Error() != c.err || err == nil && c.err != "" {
				t.Errorf("got %v, %v, want %v, %s", got, err, c.want, c.err)
			}
		})
	}
}

func TestLastNewline(t *testing.T) {
	for _, size := range []int{0, 1, 1023, 1024, 1025, 2048, 5000} {
		b := bytes.Repeat([]byte("x"), size)
		if n := lastNewline(b); n != -1 {
			t.Errorf("%d bytes without one: %d", size, n)
		}
		for _, at := range []int{0, 1, size - 1025, size - 1024, size - 1023, size / 2, size - 1} {
			if at >= 0 && at < size {
				b[at] = '\n'
				if n := lastNewline(b); n != bytes.LastIndexByte(b, '\n') {
					t.Errorf("%d bytes, the last one at %d: %d", size, at, n)
				}
			}
		}
	}
}

// The names of an input are those of its whole first block, which reaches the sink in several batches.
func TestNamesOfFirstBlock(t *testing.T) {
	var text strings.Builder
	for n := range 2*batchRecords + 1 {
		name := "early"
		if n == 2*batchRecords {
			name = "late"
		}
		text.WriteString(lineOfSpan("0123456789abcdef0123456789abcdef", name, 1.7e18, "other", "x"))
	}
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := Expand([]string{path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, stats := read(t, set, Options{Jobs: 1})
	if want := []string{"early", "late"}; !slices.Equal(stats[0].Names, want) || stats[0].Spans != 2*batchRecords+1 {
		t.Errorf("names %v of %d spans, should be %v", stats[0].Names, stats[0].Spans, want)
	}
}
