package jsonscan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"testing"
)

// Every byte at every place: hex8 and digits8 accept exactly hex and decimal digits.
func TestSWARDigits(t *testing.T) {
	load := func(b []byte) (w uint64) {
		for i := 7; i >= 0; i-- {
			w = w<<8 | uint64(b[i])
		}
		return
	}
	hex := func(text []byte) (uint32, bool) {
		n, bad := hex8(load(text))
		return bits.ReverseBytes32(n), bad == 0
	}
	for at := range 8 {
		for c := range 256 {
			text := []byte("01234567")
			text[at] = byte(c)
			n, ok := hex(text)
			want, err := strconv.ParseUint(string(text), 16, 32)
			if ok != (err == nil) || ok && uint64(n) != want {
				t.Errorf("hex8(%q) = %x, %v, want %x, %v", text, n, ok, want, err)
			}
			d, ok := digits8(load(text))
			want, err = strconv.ParseUint(string(text), 10, 64)
			if ok != (err == nil) || ok && d != want {
				t.Errorf("digits8(%q) = %d, %v, want %d, %v", text, d, ok, want, err)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		n := rng.Uint32()
		for _, f := range []string{"%08x", "%08X"} {
			if got, ok := hex(fmt.Appendf(nil, f, n)); !ok || got != n {
				t.Fatalf("hex8 of %08x = %x, %v", n, got, ok)
			}
		}
		if got, ok := digits8(load(fmt.Appendf(nil, "%08d", n%1e8))); !ok || got != uint64(n%1e8) {
			t.Fatalf("digits8 of %08d = %d, %v", n%1e8, got, ok)
		}
	}
}

func TestExact(t *testing.T) {
	var s Scanner
	for _, c := range []struct {
		text string
		n    uint64
		ok   bool
		rest string
	}{
		{`0"`, 0, true, `"`},
		{`1760000000000000003","x":1`, 1760000000000000003, true, `","x":1`},
		{`9999999999999999999"`, 9999999999999999999, true, `"`},
		{`10000000000000000000"`, 0, false, ``},
		{`12345678`, 12345678, true, ``},
		{`1.5`, 1, true, `.5`},
		{`-1`, 0, false, ``},
		{``, 0, false, ``},
	} {
		s.Reset([]byte(c.text))
		n, ok := s.Digits()
		if n != c.n && ok || ok != c.ok || ok && c.text[s.Pos():] != c.rest || !ok && s.Pos() != 0 {
			t.Errorf("Digits of %q = %d, %v, at %d", c.text, n, ok, s.Pos())
		}
	}
	s.Reset([]byte(`"name":"cb.lookup","kind":2`))
	m := s.Mark()
	if s.Exact(`"kind":`) || s.Pos() != 0 {
		t.Error("Exact read what is not there")
	}
	if !s.Exact(`"name":"`) {
		t.Error("Exact did not read what is there")
	}
	if text, ok := s.Plain(); !ok || string(text) != "cb.lookup" {
		t.Errorf("Plain = %q, %v", text, ok)
	}
	s.Return(m)
	if s.Pos() != 0 {
		t.Error("Return did not")
	}
	for _, text := range []string{`abc\n", 12345678`, `abcdefghij`, "abcdefgh\xc3\xa9\"        ", "abc\ndefghi\"      "} {
		s.Reset([]byte(text))
		if got, ok := s.Plain(); ok || s.Pos() != 0 {
			t.Errorf("Plain(%q) = %q", text, got)
		}
	}
}

func TestLeadingDigits(t *testing.T) {
	for _, c := range []struct {
		text  string
		n     uint64
		count int
	}{{"12345678", 12345678, 8}, {"00000001", 1, 8}, {"99999999", 99999999, 8}, {"1,345678", 1, 1}, {"123.5678", 123, 3}, {"1234567}", 1234567, 7}, {"0.000001", 0, 1},
		{",1234567", 0, 0}, {"/2345678", 0, 0}, {":2345678", 0, 0}, {"1\xb0345678", 1, 1}, {"12\x00\x0034567", 12, 2}, {"42 99999", 42, 2}} {
		n, count := LeadingDigits(binary.LittleEndian.Uint64([]byte(c.text)))
		if count != c.count || count > 0 && n != c.n {
			t.Errorf("%q: %d, %d digits; want %d, %d", c.text, n, count, c.n, c.count)
		}
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for range 100_000 {
		var b [8]byte
		for i := range b {
			b[i] = "0123456789,.eE-/:"[rng.IntN(17)]
		}
		want, count := uint64(0), 0
		for count < 8 && b[count] >= '0' && b[count] <= '9' {
			want = want*10 + uint64(b[count]-'0')
			count++
		}
		n, got := LeadingDigits(binary.LittleEndian.Uint64(b[:]))
		if got != count || count > 0 && n != want {
			t.Fatalf("%q: %d, %d digits; want %d, %d", b, n, got, want, count)
		}
	}
}
