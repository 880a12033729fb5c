package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Messages are cut into the same chunks whether all at once or one after the other, and chunks stay where they are.
func TestCut(t *testing.T) {
	var data []byte
	var ends []int64
	for n := range 900 {
		data = append(binary.BigEndian.AppendUint32(data, uint32(n*37%5000)), make([]byte, n*37%5000)...)
		ends = append(ends, int64(len(data)))
	}
	path := filepath.Join(t.TempDir(), "a")
	open := func(data []byte) *seekable {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		k := &seekable{f: f, frame: be32}
		t.Cleanup(k.close)
		if err := k.measure(); err != nil {
			t.Fatal(err)
		}
		return k
	}
	all := open(data)
	if err := all.cut(all.size, all.copied); err != nil || !all.whole() {
		t.Fatal(err)
	}
	for n, c := range all.chunks {
		if last := n == len(all.chunks)-1; !slices.Contains(ends, c.end) || last != (c.end == all.size) || !last && (c.end-c.off < chunkSize || c.end-c.off > chunkSize+5004) ||
			n > 0 && c.off != all.chunks[n-1].end {
			t.Errorf("%d: %+v", n, c)
		}
	}
	k := open(data)
	k.mapped = mapFile(k.f, k.size)
	for n := range all.chunks {
		at, ok, err := k.take(3, 1, 2)
		if err != nil || !ok || at.file != 3 || at.n != n || at.chunk != &k.chunks[n] || at.from != 0 || at.to != 2 || at.chunk.off != all.chunks[n].off || at.chunk.end != all.chunks[n].end {
			t.Fatalf("%d: %+v, %v, %v", n, at, ok, err)
		}
		if _, ok := k.taken(at, 2); ok {
			t.Errorf("%d was searched", n)
		}
	}
	if at, ok, err := k.take(3, 1, 2); ok || err != nil {
		t.Errorf("behind the last: %+v, %v", at, err)
	}
	k.next = 0
	if at, ok, err := k.take(3, 3, 4); !ok || err != nil || at.n != 0 || at.from != 2 || at.to != 4 {
		t.Errorf("the next pass: %+v, %v, %v", at, ok, err)
	}
	short := open(data)
	if short.mapped = mapFile(short.f, short.size); short.mapped != nil {
		if err := os.Truncate(path, 10); err != nil {
			t.Fatal(err)
		}
		if err := guard(func() error { _, _, err := short.take(0, 1, 1); return err }); err != errNotSeekable || !short.mu.TryLock() {
			t.Errorf("a file that became shorter: %v", err)
		}
	}
	for _, broken := range [][]byte{data[:len(data)-1], append(slices.Clone(data), 0, 0), append(slices.Clone(data), 0xff, 0xff, 0xff, 0xff)} {
		k := open(broken)
		if err := k.cut(k.size, k.copied); err != errNotSeekable {
			t.Errorf("broken: %v", err)
		}
	}
	if k := open(nil); k.cut(k.size, k.copied) != nil || !k.whole() || len(k.chunks) != 0 {
		t.Error("an empty file")
	}
}

// As soon as a time is known its chunks come first, those of the file that has it before those of the file that ends just before it, and each but once.
func TestNear(t *testing.T) {
	const begin, second = 1.7e18, 1e9
	dir := t.TempDir()
	for n := range 4 { // 1000 s each, in lines of 2 KB; between the second and the third lies an hour
		var file strings.Builder
		for i := range 1000 {
			at := int64(begin) + int64(n*1000+i)*second
			if n >= 2 {
				at += 3600 * second
			}
			file.WriteString(lineOfSpan(fmt.Sprintf("%032x", 1<<40+n*1000+i), "a", at, fmt.Sprint("chatcmpl-", n, "-", i), strings.Repeat("x", 1700)))
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(n, ".jsonl")), []byte(file.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := Expand([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := picker{set: set, opt: Options{Jobs: 1}, related: newRelated("chatcmpl-0"), matchers: map[matcherKey]*matcher{}}
	defer p.close()
	if errs := p.open(); len(p.files) != 4 {
		t.Fatal(errs)
	}
	if err := p.ask("chatcmpl-0"); err != nil {
		t.Fatal(err)
	}
	p.order = order{patterns: len(p.patterns)}
	worker := -1
	next := func() string {
		at, ok, err := p.take(&worker)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return "none"
		}
		return fmt.Sprint(at.file, "/", at.n)
	}
	if got := next() + " " + next(); got != "0/0 0/1" {
		t.Fatal(got)
	}
	chunks := len(p.files[0].chunks) // about 130 s each
	for _, c := range []struct {
		at   model.Time
		want []string
	}{
		{begin + 1700*second, []string{"1/5", "1/6", "1/4"}},
		{begin + 2010*second, []string{fmt.Sprint("1/", chunks-1)}},                                           // the second file has just ended; the chunk before was searched
		{begin + 5599*second, []string{"2/0", "2/1"}},                                                         // the third begins in a second
		{begin + 1001*second, []string{"1/0", "1/1", fmt.Sprint("0/", chunks-1), fmt.Sprint("0/", chunks-2)}}, // the first has ended
		{begin + 4000*second, nil},
		{0, nil},
	} {
		p.mu.Lock()
		err := p.near(c.at)
		p.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for slices.ContainsFunc(p.order.urgent, func(u place) bool { return u.chunk.searched < len(p.patterns) }) {
			got = append(got, next())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d s: %v, want %v", (c.at-begin)/second, got, c.want)
		}
	}
	for next() != "none" {
	}
	for _, k := range p.files {
		for n := range k.chunks {
			if k.chunks[n].searched != len(p.patterns) {
				t.Errorf("%d was not searched", n)
			}
		}
	}
}

// A file of one line is no seekable one: whatever is looked for, all of it is to be read.
func TestOneLine(t *testing.T) {
	const line = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"a3143f4ffaba56a1b04340317ef5d453","spanId":"590d459012dbc5e6","name":"a"}]}]}]}`
	for text, want := range map[string]bool{line: false, line + "\n": false, line + "\n" + line: true} {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := Expand([]string{path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		k, err := set.seekable(0, nil)
		if err == nil {
			k.close()
		}
		if got := err == nil; got != want || err != nil && !errors.Is(err, errNotSeekable) {
			t.Errorf("seekable %v, %v: %s", got, err, text)
		}
	}
}
