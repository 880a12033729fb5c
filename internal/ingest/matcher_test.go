package ingest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The matcher finds, and says where the match ends that ends first: worked out by hand.
func TestMatcherByHand(t *testing.T) {
	const trace = "0123456789abcdef" // 16 bytes: a step is 13, and 52 four of them
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		patterns []string
		text     string
		from     int
		want     int
	}{
		{[]string{"abcde"}, "xxabcdexx", 0, 7},
		{[]string{"abcde"}, "abcdeabcde", 0, 5},
		{[]string{"abcde"}, "abcdeabcde", 1, 10},
		{[]string{"abcde"}, "abcd", 0, -1},
		{[]string{"abcde"}, "", 0, -1},
		{[]string{"aaaaa"}, "aaaaaaa", 1, 6},
		{[]string{"abcdefgh", "cdefg"}, "abcdefgh", 0, 7},  // the shorter ends first
		{[]string{"abcdefgh", "cdefgh"}, "abcdefgh", 0, 8}, // both end there
		{[]string{"abcdefgh", "cdefgh"}, "abcdefgh", 3, -1},
		{[]string{"one-" + trace + trace}, "two-" + trace + trace, 0, -1}, // what is before the window counts
		{[]string{"one-" + trace + trace}, "one-" + trace + trace, 0, 36},
		{[]string{"one-" + trace + trace}, "one-" + trace + trace, 1, -1},
		{[]string{trace}, long + trace + long, 0, 5016},
		{[]string{trace}, long + trace, 0, 5016},
		{[]string{trace}, trace + long, 0, 16},
		{[]string{trace}, trace + long, 1, -1},
		{[]string{trace}, long + trace + long + trace, 0, 5016}, // in either half
		{[]string{trace}, long + trace + long + trace, 5001, 10032},
		{[]string{trace, "other-0123"}, long + trace + "other-0123", 0, 5016},
		{[]string{trace, "other-0123"}, long + "other-0123" + trace, 0, 5010},
		{[]string{trace}, strings.Repeat(trace[:15], 400) + trace, 0, 6016}, // nearly everywhere
	} {
		var patterns [][]byte
		for _, p := range c.patterns {
			patterns = append(patterns, []byte(p))
		}
		if got := newMatcher(needles(patterns)).next([]byte(c.text), c.from); got != c.want {
			t.Errorf("%q from %d in %d bytes: %d, want %d", c.patterns, c.from, len(c.text), got, c.want)
		}
	}
	m := newMatcher([]needle{{b: []byte(trace)}})
	for at := range 1000 - len(trace) + 1 { // wherever it stands
		text := bytes.Repeat([]byte("x"), 1000)
		copy(text[at:], trace)
		if got := m.next(text, 0); got != at+len(trace) {
			t.Errorf("at %d: %d", at, got)
		}
	}
}

// Hex digits stand for themselves in either case, digit by digit; nothing else does.
func TestMatcherFolds(t *testing.T) {
	const digits = "00f067aa0ba902b74bf92f3577b34da6" // 32 bytes: the window is the last 19, which begin with 902b
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		patterns []needle
		text     string
		want     int
	}{
		{[]needle{{[]byte(digits), true}}, long + digits + long, 5032},
		{[]needle{{[]byte(digits), true}}, long + strings.ToUpper(digits) + long, 5032},
		{[]needle{{[]byte(digits), true}}, long + "00F067aA0ba902B74bF92f3577b34dA6" + long, 5032}, // in the window and before it
		{[]needle{{[]byte(digits), true}}, long + "00f067aa0ba902b74bf92f3577b34DA6" + long, 5032}, // at its end
		{[]needle{{[]byte(digits), true}}, long + "10F067aA0ba902B74bF92f3577b34dA6" + long, -1},   // another digit before it
		{[]needle{{[]byte(digits), true}}, long + "00F067aA0ba902B74bF92f3577b34dA7" + long, -1},
		{[]needle{{b: []byte(digits)}}, long + strings.ToUpper(digits), -1},
		{[]needle{{b: []byte(digits)}, {[]byte("abcdef"), true}}, long + strings.ToUpper(digits) + "aBcDeF", 5038},
		{[]needle{{[]byte(`"abc"`), true}}, `'ABC' "aBC"`, 11},
		{[]needle{{[]byte("12345"), true}}, "\x11\x12\x13\x14\x15 12345", 11}, // a digit has no other case
		{[]needle{{[]byte("bcdef0"), true}, {[]byte("cdef0"), true}}, "xBCdef0", 7},
	} {
		if got := newMatcher(c.patterns).next([]byte(c.text), 0); got != c.want {
			t.Errorf("%s in %d bytes: %d, want %d", c.patterns[0].b, len(c.text), got, c.want)
		}
	}
	m := newMatcher([]needle{{[]byte("abcdefabcdefabcdefab"), true}})
	text := make([]byte, 100)
	for n := range 1 << 14 { // any mixture of cases from the seventh on, wherever it stands
		at := copy(text, strings.Repeat(".", n%80))
		for i := range 20 {
			c := "abcdefabcdefabcdefab"[i]
			if n<<6>>i&1 != 0 {
				c -= 'a' - 'A'
			}
			text[at+i] = c
		}
		if got := m.next(text[:at+20], 0); got != at+20 {
			t.Fatalf("%q: %d", text[:at+20], got)
		}
	}
}

// needles are patterns in which case matters.
func needles(patterns [][]byte) (out []needle) {
	for _, p := range patterns {
		out = append(out, needle{b: p})
	}
	return out
}

// firstEnd is what next of a matcher is to be.
func firstEnd(patterns [][]byte, text []byte, from int) int {
	end := -1
	for _, p := range patterns {
		if at := bytes.Index(text[from:], p); at >= 0 && (end < 0 || from+at+len(p) < end) {
			end = from + at + len(p)
		}
	}
	return end
}

// FuzzMatcher: whatever the patterns, one a line, and the text, which is repeated to be long: what bytes.Index finds, one match after the other.
func FuzzMatcher(f *testing.F) {
	f.Add([]byte("abcde\nbcdefg"), []byte("abcabcdefg"), uint16(3), uint16(0))
	f.Add([]byte("0123456789abcdef"), []byte("0123456789abcde0123456789abcdef"), uint16(40), uint16(5))
	f.Add([]byte("aaaaaa\naaaaaaaaaaaaaaaaaaaaaaaaaaaa"), []byte("a"), uint16(900), uint16(1))
	f.Fuzz(func(t *testing.T, lines, text []byte, times, from uint16) {
		var patterns [][]byte
		for line := range bytes.SplitSeq(lines, []byte("\n")) {
			if len(line) >= minPattern && len(line) <= maxPattern {
				patterns = append(patterns, line)
			}
		}
		if len(patterns) == 0 || len(patterns) > 50 || len(text)*int(times) > 1<<16 {
			return
		}
		text = append(bytes.Repeat(text, int(times)), patterns[0]...)
		m := newMatcher(needles(patterns))
		for at, n := min(int(from), len(text)), 0; at >= 0 && n < 20; n++ {
			want := firstEnd(patterns, text, at)
			if got := m.next(text, at); got != want {
				t.Fatalf("%q from %d in %q: %d, want %d", patterns, at, text, got, want)
			}
			at = want
		}
	})
}

// The matcher finds what bytes.Index finds, for strings of one letter too, in which everything overlaps.
func TestMatcher(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		letters := 1 + r.IntN(3)
		text := make([]byte, r.IntN(300))
		if round%10 == 0 {
			text = make([]byte, 4000+r.IntN(16000))
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
		m := newMatcher(needles(patterns))
		from := r.IntN(len(text) + 1)
		if got, want := m.next(text, from), firstEnd(patterns, text, from); got != want {
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
	run := func(name string, patterns []needle) {
		m := newMatcher(patterns)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if m.next(text, 0) >= 0 {
					b.Fatal("found")
				}
			}
		})
	}
	for _, set := range [][]string{{"chatcmpl-90a5f"}, {"0123456789abcdef0123456789abcdef"}, {"chatcmpl-90a5f01", "0123456789abcdef0123456789abcdef", "0123456789ABCDEF0123456789ABCDEF", "ASNFZ4mrze8BI0VniavN"}} {
		var patterns [][]byte
		for _, p := range set {
			patterns = append(patterns, []byte(p))
		}
		run(set[0], needles(patterns))
	}
	for _, n := range []int{20, 500} { // traces of one request, in either case
		var patterns []needle
		for range n {
			patterns = append(patterns, needle{fmt.Appendf(nil, "%016x%016x", r.Uint64(), r.Uint64()), true})
		}
		run(fmt.Sprintf("traces=%d", n), patterns)
	}
}
