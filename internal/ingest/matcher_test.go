package ingest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The matcher finds what bytes.Index finds, for strings of one letter too, in which everything overlaps.
func TestMatcher(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		letters := 1 + r.IntN(3)
		text := make([]byte, r.IntN(300))
		if round%10 == 0 {
			text = make([]byte, 4000+r.IntN(16000)) // in lanes
		}
		for i := range text {
			text[i] = byte('a' + r.IntN(letters))
		}
		var patterns [][]byte
		for range 1 + r.IntN(4) {
			p := make([]byte, minPattern+r.IntN(12))
			for i := range p {
				p[i] = byte('a' + r.IntN(letters))
			}
			if len(text) > len(p) && r.IntN(2) == 0 {
				p = slices.Clone(text[r.IntN(len(text)-len(p)):][:len(p)])
			}
			patterns = append(patterns, p)
		}
		if len(text) > 1000 && letters > 1 { // no more than one of its long texts has
			for i := range patterns {
				patterns[i] = slices.Clone(text[r.IntN(len(text)-40):][:20+r.IntN(20)])
			}
		}
		m := newMatcher(patterns)
		from := r.IntN(len(text) + 1)
		want := -1
		for _, p := range patterns {
			if at := bytes.Index(text[from:], p); at >= 0 && (want < 0 || from+at+len(p) < want) {
				want = from + at + len(p)
			}
		}
		if got := m.next(text, from); got != want {
			t.Fatalf("round %d: %q from %d in %q: %d, want %d", round, patterns, from, text, got, want)
		}
	}
}

func BenchmarkMatcher(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for len(text) < 256<<10 {
		text = fmt.Appendf(text, `{"traceId":"%016x%016x","spanId":"%016x","name":"cb.lookup","startTimeUnixNano":"%d","attributes":[{"key":"request_id","value":{"stringValue":"chatcmpl-%08x"}}]},`,
			r.Uint64(), r.Uint64(), r.Uint64(), r.Int64(), r.Uint32())
	}
	for _, set := range [][]string{{"chatcmpl-90a5f"}, {"0123456789abcdef0123456789abcdef"}, {"chatcmpl-90a5f01", "0123456789abcdef0123456789abcdef", "0123456789ABCDEF0123456789ABCDEF", "ASNFZ4mrze8BI0VniavN"}} {
		var patterns [][]byte
		for _, p := range set {
			patterns = append(patterns, []byte(p))
		}
		m := newMatcher(patterns)
		b.Run(set[0], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if m.next(text, 0) >= 0 {
					b.Fatal("found")
				}
			}
		})
	}
}
