package main

import (
	"strings"
	"testing"
	"time"
)

func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		bytes, total, spans int64
		after               time.Duration
		want                string
	}{
		{512e6, 8_800e6, 3_100_000, 2 * time.Second, "reading 512 MB of 8.8 GB, 256 MB/s, 3.10 M spans, 32.4 s left"},
		{8_800e6, 8_800e6, 17_000_000, 14 * time.Second, "read 8.8 GB, 17.0 M spans; working, 14.0 s"},
		{512e6, 0, 950, 2 * time.Second, "reading 512 MB, 256 MB/s, 950 spans"},
		{1e6, 1_000_000e6, 950, time.Second, "reading 1 MB of 1 TB, 1 MB/s, 950 spans, 278 h left"},
	} {
		p := &progress{total: c.total}
		p.Bytes.Store(c.bytes)
		p.Spans.Store(c.spans)
		if got := p.line(c.after); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// What is written to the screen takes the line away first, and nothing is drawn once it stands still.
func TestScreen(t *testing.T) {
	var b strings.Builder
	s := &screen{w: &b}
	s.draw("10 %")
	s.draw("20 %")
	if _, err := s.Write([]byte("a note\n")); err != nil {
		t.Fatal(err)
	}
	s.draw("30 %")
	s.stop()
	s.draw("40 %")
	if want := "\r10 %\x1b[K\r20 %\x1b[K\r\x1b[Ka note\n\r30 %\x1b[K\r\x1b[K"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
