package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func say(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestPrintToFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	var a app
	if err := a.print(path, say("one")); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink("out.json", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := a.print(link, say("two")); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(path)
	info, err := os.Stat(path)
	if err != nil || string(b) != "two" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q with %v, %v; want two, rights kept, written through the link", b, info.Mode(), err)
	}

	// What fails half-way leaves the old file, and nothing beside it once the run is over.
	broken := errors.New("broken")
	if err := a.print(path, func(w io.Writer) error { io.WriteString(w, strings.Repeat("x", 1<<20)); return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	a.scratch.clear()
	b, _ = os.ReadFile(path)
	if names, _ := filepath.Glob(filepath.Join(dir, ".*")); string(b) != "two" || len(names) != 0 {
		t.Errorf("%q beside %v; want the old file alone", b, names)
	}

	if err := a.print(os.DevNull, say("x")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is now %v, %v", os.DevNull, info.Mode(), err)
	}
	var usage *usageError
	if err := a.print(filepath.Join(dir, "no", "such", "folder"), say("x")); !errors.As(err, &usage) {
		t.Errorf("into a missing folder: %v, want a usage error", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

// R3.3: a closed pipe ends silently with the status the run would have had.
func TestClosedPipe(t *testing.T) {
	var stderr strings.Builder
	a := app{stdout: &pipe{w: brokenPipe{}}, stderr: &screen{w: &stderr}, begun: true, verdict: exitBroken}
	err := a.print("", say(strings.Repeat("x", 1<<20)))
	if got := a.exit(nil, err); got != exitBroken || stderr.Len() > 0 {
		t.Errorf("%v: status %d, %q; want the verdict and silence", err, got, stderr.String())
	}
}

// R3.4: a file on a disk that is full is no fault of the inputs.
func TestFileOnAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	for _, args := range []string{"report -q -o /dev/full", "report -q --format json -o /dev/full", "report -q -o /dev/null --save /dev/full", "report -q -o /dev/null --survey-out /dev/full", "export -q --to folded -o /dev/full"} {
		var stderr strings.Builder
		got := run(append(strings.Fields(args), filepath.Join("..", "..", "testdata", "otlp", "engine.jsonl")), strings.NewReader(""), io.Discard, &stderr)
		if want := "cbtrace: cannot write /dev/full: no space left on device\n"; got != exitUsage || stderr.String() != want {
			t.Errorf("%s: status %d, %q; want %d, %q", args, got, stderr.String(), exitUsage, want)
		}
	}
}
