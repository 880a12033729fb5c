package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
)

// groupings is the flag --by.
type groupings []report.By

func (g *groupings) Type() string { return "what" }

func (g *groupings) String() string {
	var names []string
	for _, by := range *g {
		names = append(names, by.String())
	}
	return strings.Join(names, ",")
}

func (g *groupings) Set(s string) error {
	for _, name := range strings.Split(s, ",") {
		by, err := report.ParseBy(name)
		if err != nil {
			return err
		}
		if !slices.Contains(*g, by) {
			*g = append(*g, by)
		}
	}
	return nil
}

// A bucket is the flag --bucket: one of the lengths of R8.7.
type bucket time.Duration

const bucketLengths = "1m, 2m, 10m, 30m, 1h, 2h, 6h, 12h, 1d, 2d, 4d, 8d, …"

func (b *bucket) Type() string { return "length" }

func (b *bucket) String() string {
	if *b == 0 {
		return ""
	}
	return time.Duration(*b).String()
}

func (b *bucket) Set(s string) error {
	d, err := parseDuration(s)
	if one, ok := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[s]; ok {
		d, err = one, nil
	}
	if err == nil {
		_, ok := report.BucketLevel(d)
		if *b = bucket(d); ok {
			return nil
		}
	}
	return fmt.Errorf("want one of %s", bucketLengths)
}
