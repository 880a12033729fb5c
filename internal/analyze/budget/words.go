package budget

import (
	"math"
	"strconv"
	"strings"
)

// amount is a value of a metric in words: "31.2 ms", "0.412", "12".
func amount(v float64, u unit) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "unknown"
	case u == number:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case u == ratio:
		return digits(v)
	}
	for _, unit := range [...]struct {
		name string
		size float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if math.Abs(v) >= unit.size {
			return digits(v/unit.size) + " " + unit.name
		}
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + " ns"
}

// digits is a number with four significant digits and no zeros at the end.
func digits(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	s := strconv.FormatFloat(v, 'g', 4, 64)
	if strings.ContainsAny(s, "e") {
		return strconv.FormatFloat(v, 'f', 6, 64)
	}
	return s
}

// chance is a p-value in words.
func chance(p float64) string { return strconv.FormatFloat(p, 'g', 3, 64) }
