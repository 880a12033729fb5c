package main

import (
	"testing"
	"time"
)

func TestSize(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int64 // 0: refused
		text string
	}{
		{"256KiB", 256 << 10, "256KiB"}, {"1GiB", 1 << 30, "1GiB"}, {"1.5GiB", 3 << 29, "1536MiB"}, {"2GB", 2e9, "1953125KiB"}, {"64M", 64 << 20, "64MiB"},
		{"1000", 1000, "1000"}, {"10 MB", 1e7, "10000000"}, {"12B", 12, "12"},
		{"", 0, ""}, {"0", 0, ""}, {"-1KiB", 0, ""}, {"1XB", 0, ""}, {"NaN", 0, ""}, {"9e30", 0, ""}, {"KiB", 0, ""}, {"0.5", 0, ""},
	} {
		var s size
		err := s.Set(c.in)
		if int64(s) != c.want || (err == nil) != (c.want != 0) || err == nil && s.String() != c.text {
			t.Errorf("%q: got %d %q, %v; want %d %q", c.in, s, s.String(), err, c.want, c.text)
		}
	}
}

func TestInstant(t *testing.T) {
	noon := time.Date(2025, 11, 29, 12, 0, 0, 5, time.UTC)
	for _, c := range []struct {
		in     string
		at     time.Time
		before time.Duration
	}{
		{"2025-11-29T12:00:00.000000005Z", noon, 0},
		{"2025-11-29T14:00:00.000000005+02:00", noon, 0},
		{"2025-11-29T12:00:00.000000005", noon, 0}, // what is left out: the zone, seconds, the time
		{"2025-11-29 12:00", noon.Add(-5), 0},
		{"2025-11-29 14:00+02:00", noon.Add(-5), 0},
		{"2025-11-29", noon.Add(-12*time.Hour - 5), 0},
		{"-2h", time.Time{}, 2 * time.Hour}, {"-90m", time.Time{}, 90 * time.Minute}, {"-1.5d", time.Time{}, 36 * time.Hour},
		{"2h", time.Time{}, 0}, {"--2h", time.Time{}, 0}, {"-0s", time.Time{}, 0}, {"yesterday", time.Time{}, 0}, {"2025-11", time.Time{}, 0}, {"12:00", time.Time{}, 0},
		{"9999-01-01T00:00:00Z", time.Time{}, 0}, {"-1e9d", time.Time{}, 0},
	} {
		var i instant
		err := i.Set(c.in)
		refused := c.at.IsZero() && c.before == 0
		if !i.at.Equal(c.at) || i.before != c.before || (err != nil) != refused {
			t.Errorf("%q: got %v %v, %v", c.in, i.at, i.before, err)
		}
	}
}
