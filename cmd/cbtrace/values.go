package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/where"
)

// A choice is a flag that takes one of a few words.
type choice struct {
	value string
	of    []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.of, "|") }
func (c *choice) Set(s string) error {
	if !slices.Contains(c.of, s) {
		return fmt.Errorf("want one of %s", strings.Join(c.of, ", "))
	}
	c.value = s
	return nil
}

// A size is a flag in bytes: 1GiB, 256KiB, 2GB, 1073741824.
type size int64

var sizeUnits = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
}

func (s *size) Type() string { return "size" }
func (s *size) String() string {
	for _, u := range []int{3, 2, 1, 0} {
		if n := int64(sizeUnits[u].bytes); *s > 0 && int64(*s)%n == 0 {
			return strconv.FormatInt(int64(*s)/n, 10) + sizeUnits[u].name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *size) Set(text string) error {
	number, unit := text, 1.0
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(f > 0) || f*unit >= math.MaxInt64 || f*unit < 1 {
		return fmt.Errorf("want a size such as 256MiB or 2GB")
	}
	*s = size(f * unit)
	return nil
}

// An instant is a flag that names a moment: RFC 3339, of which the zone, seconds and time may be left out, or a time before the last moment of the capture,
// such as -2h (R3.2).
type instant struct {
	text   string
	at     time.Time     // when before is 0
	zoned  bool          // text says in which zone at is; else it is one of UTC, until in says otherwise
	before time.Duration // how long before the last instant
}

func (t *instant) String() string { return t.text }
func (t *instant) Type() string   { return "time" }
func (t *instant) Set(s string) error {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		d, err := parseDuration(rest)
		if err != nil || d <= 0 {
			return fmt.Errorf("want a length of time such as -2h, -90m or -1d")
		}
		*t = instant{text: s, before: d}
		return nil
	}
	at, zoned, err := parseInstant(s, time.UTC)
	if err == nil && (at.Year() < 1678 || at.Year() > 2261) { // what fits into 64 bits of ns
		return fmt.Errorf("the year %d is out of range: want one from 1678 to 2261", at.Year())
	}
	if err != nil {
		return fmt.Errorf("want a time such as 2025-11-29T16:00:00Z, 2025-11-29T16:00 or 2025-11-29, or one before the end of the capture, as -2h")
	}
	*t = instant{text: s, at: at, zoned: zoned}
	return nil
}

// in takes an instant without a zone for one of this place.
func (t *instant) in(where *time.Location) {
	if t.text != "" && t.before == 0 && !t.zoned {
		t.at, _, _ = parseInstant(t.text, where) // as it was before
	}
}

// parseInstant reads RFC 3339, also with a blank for the T as pages have it, and without seconds, a time or a zone; where is the place of one without.
func parseInstant(s string, where *time.Location) (at time.Time, zoned bool, err error) {
	s = strings.Replace(s, " ", "T", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		if at, err = time.Parse(layout, s); err == nil {
			return at, true, nil
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if at, err = time.ParseInLocation(layout, s, where); err == nil {
			return at, false, nil
		}
	}
	return at, false, err
}

// parseDuration is time.ParseDuration with days.
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		f, err := strconv.ParseFloat(days, 64)
		if err != nil || math.Abs(f) > 36500 {
			return 0, fmt.Errorf("%q is not a number of days", days)
		}
		return time.Duration(f * 24 * float64(time.Hour)), nil
	}
	return time.ParseDuration(s)
}

// A filter is a flag that selects requests (package where).
type filter struct {
	text string
	expr *where.Expr
}

func (f *filter) String() string { return f.text }
func (f *filter) Type() string   { return "expression" }
func (f *filter) Set(s string) error {
	expr, err := where.Parse(s, nearest)
	if err != nil {
		return err
	}
	*f = filter{s, expr}
	return nil
}

// id is the one that all requests have that it selects, "" where it names none.
func (f *filter) id() string {
	if f.expr == nil {
		return ""
	}
	return f.expr.ID()
}
