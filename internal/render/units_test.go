package render

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check(Duration(0), "0 ms")
	check(Duration(7), "7 ns")
	check(Duration(999), "999 ns")
	check(Duration(1_500), "1.5 µs")
	check(Duration(50_000_000), "50 ms")
	check(Duration(48_123_456), "48.1 ms")
	check(Duration(999_400_000), "999 ms")
	check(Duration(999_600_000), "1 s") // 1000 ms after rounding
	check(Duration(1_254_000_000), "1.25 s")
	check(Duration(59_940_000_000), "59.9 s")
	check(Duration(59_950_000_000), "1 min") // 60 s after rounding
	check(Duration(60_000_000_000), "1 min")
	check(Duration(119_000_000_000), "1 min 59 s")
	check(Duration(119_600_000_000), "2 min")
	check(Duration(209_285_000_000), "3 min 29 s")
	check(Duration(-209_285_000_000), "-3 min 29 s")
	check(Signed(-75_000_000_000), "−1 min 15 s")
	check(Duration(3_599_400_000_000), "59 min 59 s")
	check(Duration(3_599_600_000_000), "1 h")
	check(Duration(7_500_000_000_000), "2 h 5 min")
	check(Duration(86_400_000_000_000), "24 h")
	check(Duration(359_970_000_000_000), "100 h") // 99 h 59.5 min
	check(Duration(math.MaxInt64), "2,562,048 h")
	check(Duration(math.MinInt64), "-2,562,048 h")
	check(Duration(-1_500), "-1.5 µs")
	check(Signed(2_000_000), "+2 ms")
	check(Signed(-2_000_000), "−2 ms")
	check(Bytes(0), "0 B")
	check(Bytes(2_100_000_000), "2.1 GB")
	check(Bytes(999), "999 B")
	check(Speed(1.9), "1.9 GB/s")
	check(Speed(0.0123), "12.3 MB/s")
	check(Speed(0), "0 GB/s")
	check(Count(0), "0")
	check(Count(999), "999")
	check(Count(2048), "2,048")
	check(Count(17_123_456), "17,123,456")
	check(Count(-2048), "-2,048")
	check(Count(math.MinInt64), "-9,223,372,036,854,775,808")
	check(Plural(1, "file"), "1 file")
	check(Plural(1400, "file"), "1,400 files")
	check(Number(0.015), "0.015")
	check(Number(99.96), "100")
	check(Number(1234.5), "1,235") // away from zero
	check(Number(math.NaN()), Unknown)
	check(Percent(0), "0 %")
	check(Percent(0.001), "<1 %")
	check(Percent(0.617), "62 %")
	check(Percent(0.999), ">99 %")
	check(Percent(1), "100 %")
	check(percent(0.6183, 1), "61.8")
	check(percent(-0.0002, 1), "-<0.1")
	check(percent(-0.25, 1), "-25.0")
	check(Instant(1_764_432_000_123_000_000, nil), "2025-11-29T16:00:00.123Z")
	check(Instant(1_764_432_000_123_000_000, time.FixedZone("", 2*3600)), "2025-11-29T18:00:00.123+02:00")
}

func TestColumnUnit(t *testing.T) {
	for _, c := range []struct {
		smallest, largest float64
		unit, low, high   string
	}{
		{1_310_000, 90_200_000, "ms", "1.31", "90.2"},
		{102_000, 12_345_678_000, "ms", "0.102", "12,346"},
		{4_000, 65_000_000_000, "ms", "0.004", "65,000"},
		{200, 65_000_000_000, "ms", "<0.001", "65,000"},
		{5, 800, "ns", "5", "800"},
		{4_000, 999_000, "µs", "4", "999"},
		{2_000_000_000, 5_000_000_000, "s", "2", "5"},
		{2_000_000, 25_200_000_000_000, "s", "0.002", "25,200"},
		{2_000_000, 5_000_000_000_000_000, "h", "<0.001", "1,389"},
	} {
		u := columnUnit(timeUnits, c.smallest, c.largest)
		if low, high := inUnit(u, c.smallest), inUnit(u, c.largest); u.name != c.unit || low != c.low || high != c.high {
			t.Errorf("%v to %v: got %s and %s %s, want %s and %s %s", c.smallest, c.largest, low, high, u.name, c.low, c.high, c.unit)
		}
	}
}

func TestShort(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 950: "950", 999: "999", 1000: "1.00 k", 12_345: "12.3 k", 999_600: "1.00 M", 17_000_000: "17.0 M", 950_000_000: "950 M", 2_000_000_000: "2.00 G"} {
		if got := Short(n); got != want {
			t.Errorf("Short(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0.0 s", 12340 * time.Millisecond: "12.3 s", 59 * time.Second: "59.0 s", 99 * time.Second: "1 min 39 s", 185 * time.Second: "3 min 5 s", 7500 * time.Second: "2 h 5 min", -time.Second: "0.0 s"} {
		if got := Elapsed(d); got != want {
			t.Errorf("Elapsed(%v) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{1e12: "1 TB", 999_600_000_000: "1 TB", 60e9: "60 GB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 5, "abc"}, {"abc", 2, "ab"}, {"日本", 3, "日"}, {"", 0, ""}} {
		if got := Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		tail bool
		want string
	}{
		{"abc", 3, false, "abc"}, {"abcdefgh", 5, false, "ab…gh"}, {"abcdefgh", 4, false, "ab…h"}, {"abcdefgh", 4, true, "…fgh"},
		{"日本語日本語", 5, false, "日…語"}, {"abc", 1, false, "…"}, {"abc", 0, false, "…"}, {"", 0, false, ""},
	} {
		if got := shorten(c.in, c.n, "…", c.tail); got != c.want {
			t.Errorf("shorten(%q, %d, %v) = %q, want %q", c.in, c.n, c.tail, got, c.want)
		}
	}
}

// R3.5: a name of any length is cut in time in proportion to it, near enough.
func TestShortenLongText(t *testing.T) {
	began := time.Now()
	if got, want := shorten(strings.Repeat("x", 1_000_000), 9, "…", false), "xxxx…xxxx"; got != want {
		t.Errorf("%.20q, want %q", got, want)
	}
	if took := time.Since(began); took > 20*time.Second { // one at a time it takes hours
		t.Errorf("took %v", took)
	}
}
