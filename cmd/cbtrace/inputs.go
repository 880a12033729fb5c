package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/cbtrace/cbtrace/internal/ingest"
	"github.com/cbtrace/cbtrace/internal/render"
)

// inputs finds what the arguments name; without any, what $CBTRACE_INPUT lists, else the current folder, and says so on stderr.
func (a *app) inputs(args []string) (*ingest.Set, error) {
	given := len(args) > 0
	if !given {
		args = slices.DeleteFunc(filepath.SplitList(a.getenv("CBTRACE_INPUT")), func(s string) bool { return s == "" })
	}
	here := len(args) == 0
	if here {
		args = []string{"."}
	}
	for _, arg := range args {
		if isURL.MatchString(arg) {
			return nil, usagef("%s: live backends: not yet", arg)
		}
	}
	set, err := ingest.Expand(args, a.stdin)
	if err != nil {
		return nil, err
	}
	if !given {
		what := "./"
		if !here {
			what = "$CBTRACE_INPUT"
		}
		size := int64(0)
		for _, in := range set.Inputs {
			size += max(in.Size, 0)
		}
		a.note("reading %s: %s, %s", what, render.Plural(int64(len(set.Inputs)), "file"), render.Bytes(size))
	}
	return set, nil
}

var isURL = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// note says something on stderr that is neither data nor an error. Text from inputs in it is made safe.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintln(a.stderr, a.plain(fmt.Sprintf(format, args...)))
	}
}
