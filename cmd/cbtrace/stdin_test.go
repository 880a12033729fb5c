package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"
)

// Standard input comes as it is, in whatever pieces, with the error that ends it.
func TestStandardInput(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 3*stdinSize/16+1)
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
		if got, err := io.ReadAll(newStandardInput(t.Context(), r)); err != nil || !bytes.Equal(got, all) {
			t.Errorf("%s: %d of %d bytes, %v", name, len(got), len(all), err)
		}
	}
	broken := io.MultiReader(bytes.NewReader(want), iotest.ErrReader(io.ErrClosedPipe))
	if got, err := io.ReadAll(newStandardInput(t.Context(), broken)); !errors.Is(err, io.ErrClosedPipe) || !bytes.Equal(got, want) {
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
	in := newStandardInput(ctx, r)
	time.AfterFunc(10*time.Millisecond, cancel)
	if n, err := in.Read(make([]byte, 10)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := in.Read(make([]byte, 10)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("again: %d, %v", n, err)
	}
}
