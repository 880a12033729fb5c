package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze"
	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/ingest"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render"
)

// A finder says which requests inspect shows.
type finder struct {
	all, latest bool
	slowest     int
	finding     string
	findings    model.FindingSet // of that code, or all whose code begins so
	at          instant
	skip        int // arguments that belong to flags
}

func (f *finder) register(cmd *cobra.Command) {
	group(cmd, "Which requests", func(s *pflag.FlagSet) {
		s.BoolVar(&f.all, "all", false, "each of several requests that fit")
		s.BoolVar(&f.latest, "latest", false, "the last of several requests that fit")
		s.IntVar(&f.slowest, "slowest", 0, "the slowest, or the `N` slowest: by time to first token where most have one, else by latency")
		s.Lookup("slowest").NoOptDefVal = "1"
		s.StringVar(&f.finding, "finding", "", "requests that show the finding of this `CODE`, or of one that begins so; the slowest of them")
		s.Var(&f.at, "at", "requests that were going on at this instant, as 2025-11-29T16:00:12Z, or -30s before the end of the capture; the slowest of them, or the nearest where none was")
	})
}

// used reports whether requests are found without an id.
func (f *finder) used() bool { return f.slowest > 0 || f.finding != "" || f.at.text != "" }

// check reads what flags leave to arguments: the N of --slowest may stand behind a blank.
func (f *finder) check(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("slowest") {
		if len(args) > 0 && f.slowest == 1 && isNumber(args[0]) {
			f.slowest, _ = strconv.Atoi(args[0])
			f.skip = 1
		}
		if f.slowest < 1 {
			return fmt.Errorf("--slowest: want 1 or more, have %d", f.slowest)
		}
	}
	if f.all && f.latest {
		return errors.New("--all and --latest exclude one another")
	}
	if f.finding == "" {
		return nil
	}
	f.findings = 0
	var codes []string
	capture := ""
	for n := range finding.Registry {
		info := &finding.Registry[n]
		codes = append(codes, info.Code)
		switch {
		case info.Code != f.finding && !strings.HasPrefix(info.Code, f.finding):
		case info.Scope == finding.Capture:
			capture = info.Code
		default:
			f.findings |= 1 << n
		}
	}
	switch {
	case f.findings != 0:
		return nil
	case capture != "":
		return fmt.Errorf("--finding: %s is about the capture as a whole: see cbtrace check", capture)
	}
	if near := nearest(f.finding, codes); near != "" {
		return fmt.Errorf("--finding: no finding %q; did you mean %s?", f.finding, near)
	}
	return fmt.Errorf("--finding: no finding %q; cbtrace explain lists all", f.finding)
}

// isNumber reports whether an argument is a number and no file.
func isNumber(arg string) bool {
	if _, err := strconv.ParseUint(arg, 10, 31); err != nil {
		return false
	}
	return !exists(arg)
}

// idFirst finds arguments of inspect that are in another order than an id and its inputs; nothing is read for that. An id may be called like a file: with
// its inputs named it is an id, and a plain name without an extension is one anyway. With keepGoing an input may be missing.
func idFirst(id string, inputs []string, keepGoing bool) error {
	missing := ""
	for _, in := range inputs {
		if missing == "" && in != ingest.Stdin && !exists(in) {
			missing = in
		}
	}
	isInput := exists(id) && (isFolder(id) || strings.ContainsRune(id, filepath.Separator) || filepath.Ext(id) != "")
	switch {
	case isInput && len(inputs) == 0:
		return fmt.Errorf("%s is an input: want the id of a request before it, or --slowest, --finding or --at; where a request is called so, name its inputs too", id)
	case isInput && missing != "":
		return fmt.Errorf("the id comes first: want %s before %s", missing, id)
	case missing != "" && !keepGoing && !exists(id) && likeID(missing):
		return fmt.Errorf("%s is no file: want one id at a time, and its inputs behind it", missing)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// likeID reports whether what is no file is built as ids are, rather than a file's name that was mistyped: a trace id, or words and numbers that are joined.
func likeID(s string) bool {
	switch {
	case len(s) < model.MinPrefix || strings.ContainsRune(s, filepath.Separator) || filepath.Ext(s) != "":
		return false
	case strings.Trim(strings.ToLower(s), "0123456789abcdef") == "":
		return len(s) == 16 || len(s) == 32
	}
	return strings.ContainsAny(s, "-_") && strings.ContainsAny(s, "0123456789")
}

// chosen are the ids of the requests to show: those that have the id, or those that are found without one. caution is what the page of one must
// say that is not quite what was asked for; "" otherwise.
func (a *app) chosen(ctx context.Context, c *analyze.Capture, f *finder, in *filter, id string) (ids []string, caution string, err error) {
	if f.used() {
		return a.searched(ctx, c, f, in)
	}
	found, near, err := c.Find(ctx, id)
	switch {
	case err != nil:
		return nil, "", err
	case len(found) == 0:
		return nil, "", notFound(ctx, c, id, near)
	case f.latest:
		found = found[len(found)-1:]
	case len(found) > 1 && !f.all:
		return nil, "", a.ambiguous(id, found)
	}
	return idsOf(found), "", nil
}

func idsOf(found []analyze.Found) []string {
	ids := make([]string, 0, len(found))
	for _, f := range found {
		ids = append(ids, f.ID)
	}
	return ids
}

// searched finds requests without an id, and says on stderr which of how many they are. The caution is as of chosen.
func (a *app) searched(ctx context.Context, c *analyze.Capture, f *finder, in *filter) (ids []string, caution string, err error) {
	s := analyze.Search{Findings: f.findings, At: f.at.when(), Limit: max(1, f.slowest)}
	if f.all || f.latest {
		s.Limit = 0
	}
	r, err := c.Search(ctx, s)
	if err != nil {
		return nil, "", err
	}
	if len(r.Found) > 0 {
		a.alone(c.Counting(false))
	}
	what := ""
	if f.finding != "" {
		what = " with " + f.finding
	}
	by := "latency"
	if r.ByTTFT {
		by = "time to first token"
	}
	switch {
	case len(r.Found) == 0 && what == "":
		return nil, "", noneOf(ctx, c, in)
	case len(r.Found) == 0:
		return nil, "", fmt.Errorf("no request%s%s%s", what, selected(c), uncounted(r.Others))
	case r.Outside:
		return nil, "", missingf("no request%s was going on at %s: the capture is from %s to %s", what, f.at.text, render.Instant(int64(r.Start), a.zone()), render.Instant(int64(r.End), a.zone()))
	case r.Near:
		caution = fmt.Sprintf("no request%s%s was going on at %s%s: this one is the nearest", what, selected(c), f.at.text, uncounted(r.Others))
	case f.latest:
		last := &r.Found[0]
		for i := range r.Found {
			if x := &r.Found[i]; x.Start > last.Start || x.Start == last.Start && x.ID > last.ID {
				last = x
			}
		}
		return []string{last.ID}, "", nil
	case r.Total > int64(len(r.Found)) && len(r.Found) == 1:
		a.note("the slowest by %s of %s%s; --all shows each", by, render.Plural(r.Total, "request"), what)
	case r.Total > int64(len(r.Found)):
		a.note("the %d slowest by %s of %s%s", len(r.Found), by, render.Plural(r.Total, "request"), what)
	}
	return idsOf(r.Found), caution, nil
}
