package main

import (
	"context"
	"io"
	"os"
)

// A namedFile is a file that is read for what is in it, not as an input: a survey, a map, a budget, a saved report.
type namedFile struct {
	io.Reader
	file *os.File
}

func (f *namedFile) Name() string { return f.file.Name() }
func (f *namedFile) Close() error { return f.file.Close() }

// openNamed opens such a file. Neither opening nor reading a pipe or a device outlasts an interrupt (R3.3).
func (a *app) openNamed(path string) (*namedFile, error) {
	if err := a.spare(path); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() || info.IsDir() {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		return &namedFile{f, f}, nil
	}
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened)
	go func() {
		f, err := os.Open(path) // of a pipe that nobody writes to, for as long as that is so
		select {
		case done <- opened{f, err}:
		case <-a.ctx.Done():
			if err == nil {
				f.Close()
			}
		}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, o.err
		}
		return &namedFile{newPatientReader(a.ctx, o.f), o.f}, nil
	case <-a.ctx.Done():
		return nil, context.Cause(a.ctx)
	}
}

// A patientReader reads what may keep a run waiting, standard input or a pipe, in a goroutine of its own, so that an interrupt ends a run that waits
// (R3.3). One goroutine at a time may use it.
type patientReader struct {
	ctx context.Context
	r   io.Reader

	buf  []byte
	rest []byte // of what was read
	err  error  // after that
	read chan int
}

// patientSize is how much is read at once, in bytes.
const patientSize = 1 << 20

func newPatientReader(ctx context.Context, r io.Reader) *patientReader {
	return &patientReader{ctx: ctx, r: r, read: make(chan int, 1)}
}

func (s *patientReader) Read(p []byte) (int, error) {
	for len(p) > 0 && len(s.rest) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.fill()
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// fill reads once, or until an interrupt.
func (s *patientReader) fill() {
	if s.buf == nil {
		s.buf = make([]byte, patientSize)
	}
	var err error
	go func() {
		var n int
		n, err = s.r.Read(s.buf)
		s.read <- n
	}()
	select {
	case n := <-s.read:
		s.rest, s.err = s.buf[:n], err
	case <-s.ctx.Done(): // what is still read is never looked at
		s.err = context.Cause(s.ctx)
	}
}
