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
	if a, b := &stats[0], &stats[1]; a.Unusable != "" || b.Unusable != "no file any more" || !b.Unopened || b.Foreign() {
		t.Errorf("%+v", stats)
	}
}
