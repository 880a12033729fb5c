package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
	"time"
)

// Standard input comes as it is, in whatever pieces, with the error that ends it.
func TestStandardInput(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 3*patientSize/16+1)
	for name, r := range map[string]io.Reader{
		"whole":        bytes.NewReader(want),
		"halves":       iotest.HalfReader(bytes.NewReader(want)),
		"end with it":  iotest.DataErrReader(bytes.NewReader(want)),
		"empty reads":  io.MultiReader(&emptyReads{n: 3}, bytes.NewReader(want)),
		"small pieces": iotest.OneByteReader(bytes.NewReader(want[:1000])),
	} {
		all := want
		if name == "small pieces" {
			all = want[:1000]
		}
		if got, err := io.ReadAll(newPatientReader(t.Context(), r)); err != nil || !bytes.Equal(got, all) {
			t.Errorf("%s: %d of %d bytes, %v", name, len(got), len(all), err)
		}
	}
	broken := io.MultiReader(bytes.NewReader(want), iotest.ErrReader(io.ErrClosedPipe))
	if got, err := io.ReadAll(newPatientReader(t.Context(), broken)); !errors.Is(err, io.ErrClosedPipe) || !bytes.Equal(got, want) {
		t.Errorf("broken: %d bytes, %v", len(got), err)
	}
}

// emptyReads gives nothing a few times, which a reader may.
type emptyReads struct{ n int }

func (e *emptyReads) Read([]byte) (int, error) {
	if e.n--; e.n < 0 {
		return 0, io.EOF
	}
	return 0, nil
}

// R3.3: nothing waits for input that does not come once the run is interrupted.
func TestStandardInputInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	defer w.Close()
	in := newPatientReader(ctx, r)
	time.AfterFunc(10*time.Millisecond, cancel)
	if n, err := in.Read(make([]byte, 10)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := in.Read(make([]byte, 10)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("again: %d, %v", n, err)
	}
}

// R3.3: an interrupt ends waiting for whoever opens a named pipe at its other end, and for what they write.
func TestNamedPipe(t *testing.T) {
	path := fifo(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if f, err := (&app{ctx: ctx}).openNamed(path); f != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("opened %v, %v", f, err)
	}
	w, err := os.OpenFile(path, os.O_RDWR, 0) // waits for nobody, and lets the opening above go on
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel = context.WithCancel(t.Context())
	f, err := (&app{ctx: ctx}).openNamed(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := w.WriteString("what is there"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, err := f.Read(b); err != nil || string(b[:n]) != "what is there" || f.Name() != path {
		t.Errorf("%q, %v, of %s", b[:n], err, f.Name())
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if n, err := f.Read(b); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A file is read as it is, and what cannot be opened is said as ever.
func TestOpenNamed(t *testing.T) {
	a := &app{ctx: t.Context()}
	path := filepath.Join(t.TempDir(), "a")
	if _, err := a.openNamed(path); !errors.Is(err, fs.ErrNotExist) || err.Error() != "open "+path+": no such file or directory" {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{path: "text", os.DevNull: ""} {
		f, err := a.openNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(f); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		f.Close()
	}
}
