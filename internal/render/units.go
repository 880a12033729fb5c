// Package render turns results into bytes: tables, pages, JSON. It computes nothing: it scales, rounds, aligns and escapes.
package render

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A number has three significant digits, without zeros at the end of its decimals; whole ones of 1000 and more keep all their digits.
// A column of a table has one unit.

// Unknown is what stands for a quantity that is not known.
const Unknown = "–"

type unit struct {
	name string
	size float64 // base units in one
}

var (
	timeUnits  = []unit{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}}
	byteUnits  = []unit{{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}}
	speedUnits = []unit{{"kB/s", 1e-6}, {"MB/s", 1e-3}, {"GB/s", 1}, {"TB/s", 1e3}} // of decimal GB/s
)

// best is the largest unit in which v is at least one after rounding to three digits.
func best(units []unit, v float64) unit {
	u := units[0]
	for _, w := range units[1:] {
		if math.Abs(v)/w.size < 0.9995 {
			break
		}
		u = w
	}
	return u
}

// decimals is how many digits after the point leave v with n significant ones.
func decimals(v float64, n int) int {
	v = math.Abs(v)
	d := n - 1
	for p := 10.0; d > 0 && v+v*math.Pow(10, float64(-n))/2 >= p; p *= 10 {
		d--
	}
	for p := 1.0; v > 0 && v < p && d < 9; p /= 10 {
		d++
	}
	return d
}

func trimZeros(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Number is v with three significant digits; whole numbers from 1000 on keep all their digits, in groups of three.
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Unknown
	}
	if math.Abs(v) >= 999.5 {
		if math.Abs(v) < 1<<62 {
			return Count(int64(math.Round(v)))
		}
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	if v == 0 {
		return "0"
	}
	return trimZeros(strconv.FormatFloat(v, 'f', decimals(v, 3), 64))
}

func scaled(units []unit, v float64) string {
	u := best(units, v)
	return Number(v/u.size) + " " + u.name
}

// Duration is a length of time in ns, as "50 ms", "1.25 s" or "3 min 29 s".
func Duration(ns int64) string {
	switch s := float64(ns) / 1e9; {
	case ns == 0:
		return "0 ms"
	case s <= -longest:
		return "-" + long(-s)
	case s >= longest:
		return long(s)
	}
	return scaled(timeUnits, float64(ns))
}

// longest is from how many seconds on a length of time is told in minutes: what three digits round to 60 s.
const longest = 59.95

// long is a length of time of a minute or more: to the second, from an hour on to the minute, from 100 hours on in hours.
func long(seconds float64) string {
	of := func(n int64, unit string, each int64, part string) string {
		text := Count(n/each) + " " + unit
		if n%each > 0 {
			text += " " + Count(n%each) + " " + part
		}
		return text
	}
	switch s := int64(math.Round(seconds)); {
	case s < 3600:
		return of(s, "min", 60, "s")
	case s < 100*3600:
		return of((s+30)/60, "h", 60, "min")
	default:
		return Count((s+1800)/3600) + " h"
	}
}

// Signed is a length of time in ns that always shows its sign: "+50 ms".
func Signed(ns int64) string {
	if ns < 0 {
		return "−" + Duration(-ns)
	}
	return "+" + Duration(ns)
}

// Bytes is a number of bytes in decimal units, as "2.1 GB".
func Bytes(n int64) string { return scaled(byteUnits, float64(n)) }

// Speed is a rate in decimal GB/s, as "1.9 GB/s".
func Speed(gbps float64) string {
	if gbps == 0 {
		return "0 GB/s"
	}
	return scaled(speedUnits, gbps)
}

// Count is a whole number in groups of three: "2,048".
func Count(n int64) string { return model.Digits(n) }

// Short is a large number in words: "950", "17.0 M".
func Short(n int64) string {
	for _, u := range []unit{{"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
		if v := float64(n) / u.size; v >= 0.9995 {
			return strconv.FormatFloat(v, 'f', decimals(max(v, 1), 3), 64) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Elapsed is how long something took, as precisely as one cares: "0.4 s", "12.3 s", "3 min 5 s", "2 h 4 min".
func Elapsed(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 0:
		return "0.0 s"
	case s < longest:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	default:
		return long(s)
	}
}

// Plural is a count with its noun: "1 file", "14 files".
func Plural(n int64, noun string) string {
	return finding.Counted(n, noun)
}

// Percent is a share in [0, 1] as "62 %". A share that is not 0 or 1 is never shown as "0 %" or "100 %".
func Percent(share float64) string { return percent(share, 0) + " %" }

// percent is a share in percent with n decimals, more when it lies below them.
func percent(share float64, n int) string {
	p := share * 100
	if math.IsNaN(p) || math.IsInf(p, 0) {
		return Unknown
	}
	if p < 0 {
		return "-" + percent(-share, n)
	}
	s := strconv.FormatFloat(p, 'f', n, 64)
	step := math.Pow(10, float64(-n))
	switch {
	case p > 0 && p < step/2:
		s = "<" + strconv.FormatFloat(step, 'f', n, 64)
	case p < 100 && s == strconv.FormatFloat(100, 'f', n, 64):
		s = ">" + strconv.FormatFloat(100-step, 'f', n, 64)
	}
	return s
}

// Instant is a time in ns since the epoch in RFC 3339 with milliseconds, in UTC unless another place is given.
func Instant(ns int64, where *time.Location) string {
	if where == nil {
		where = time.UTC
	}
	return time.Unix(0, ns).In(where).Format("2006-01-02T15:04:05.000Z07:00")
}

// columnUnit is the unit of a column whose values lie between smallest and largest, both over 0. Times are in ms, so that columns can be
// compared, unless all of them are shorter, or they need seconds or hours.
func columnUnit(units []unit, smallest, largest float64) unit {
	if units[0].name != "ns" || largest < 1e6 {
		return best(units, largest)
	}
	switch ms, s, h := units[2], units[3], units[5]; {
	case largest >= 1e6*s.size:
		return h
	case smallest >= s.size || largest >= 1e3*s.size:
		return s
	default:
		return ms
	}
}

// inUnit is v with three significant digits and at most three decimals; what is not 0 but would be printed so is "<0.001".
func inUnit(u unit, v float64) string {
	x := v / u.size
	if x > 0 && x < 0.0005 {
		return "<0.001"
	}
	if a := math.Abs(x); a > 0 && a < 0.0995 {
		return trimZeros(strconv.FormatFloat(x, 'f', 3, 64))
	}
	return Number(x)
}
