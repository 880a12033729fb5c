package main

import (
	"context"
	"io"
)

// A standardInput is read by a goroutine of its own, so that an interrupt ends a run that waits for input (R3.3). One goroutine at a time may use it.
type standardInput struct {
	ctx context.Context
	r   io.Reader

	buf  []byte
	rest []byte // of what was read
	err  error  // after that
	read chan int
}

// stdinSize is how much is read at once, in bytes.
const stdinSize = 1 << 20

func newStandardInput(ctx context.Context, r io.Reader) *standardInput {
	return &standardInput{ctx: ctx, r: r, read: make(chan int, 1)}
}

func (s *standardInput) Read(p []byte) (int, error) {
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
func (s *standardInput) fill() {
	if s.buf == nil {
		s.buf = make([]byte, stdinSize)
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
