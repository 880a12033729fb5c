//go:build unix

package ingest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cbtrace/cbtrace/internal/model"
)

// R3.5: a file that became a pipe after it was listed is not waited for; nobody knows what it held.
func TestFileThatBecameAPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "b.jsonl")
	for _, name := range []string{filepath.Join(dir, "a.jsonl"), path} {
		if err := os.WriteFile(name, []byte(lineOfSpan("0123456789abcdef0123456789abcdef", "cb.request", 1.7e18, "chat-1", "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := Expand([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	var names []string
	stats, err := set.Read(context.Background(), model.NewDict(), Options{Jobs: 1}, func() Sink { return recordSink{&names} })
	if err != nil || len(stats) != 2 || len(names) != 1 {
		t.Fatalf("%+v, %v, %v", stats, names, err)
	}
	if a, b := &stats[0], &stats[1]; a.Unusable != "" || b.Unusable != "no file any more" || !b.Unread || b.Foreign() {
		t.Errorf("%+v", stats)
	}
}

// R5.7: a pipe can be read once, so nothing of it is looked at to find out whether it can be searched: all is read.
func TestPickWithAPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	plain := filepath.Join(dir, "a.jsonl")
	if err := os.WriteFile(plain, []byte(lineOfSpan("a123456789abcdef0123456789abcdef", "cb.request", 1.7e18, "chatcmpl-1", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := Expand([]string{plain, pipe}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if pick, err := set.Pick(context.Background(), "chatcmpl-1", true, Options{PickFrom: 1}); pick != nil || err != nil { // nobody writes to the pipe
		t.Errorf("%v, %v", pick, err)
	}
}
