package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/saved"
	"github.com/cbtrace/cbtrace/internal/ingest"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render"
)

// splitSaved parts the inputs that arguments name: saved reports, which are known by how they begin, and the rest.
func (a *app) splitSaved(args []string) (reports, rest []string) {
	for _, arg := range args {
		if a.isSaved(arg) {
			reports = append(reports, arg)
		} else {
			rest = append(rest, arg)
		}
	}
	return reports, rest
}

func (a *app) isSaved(arg string) bool {
	if arg == ingest.Stdin {
		b := bufio.NewReader(a.stdin)
		a.stdin = b
		head, _ := b.Peek(len(saved.Magic))
		return saved.Is(head)
	}
	if info, err := os.Stat(arg); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(arg)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(saved.Magic))
	n, _ := io.ReadFull(f, head)
	return saved.Is(head[:n])
}

// readSaved reads a saved report.
func (a *app) readSaved(path string, dict *model.Dict) (*saved.Report, error) {
	var r io.Reader = a.stdin
	if path != ingest.Stdin {
		if isFolder(path) {
			return nil, fmt.Errorf("%s is a folder: want saved reports, as '%s'", path, filepath.Join(path, "*.cbr"))
		}
		f, err := a.openNamed(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	s, err := saved.Read(r, dict)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// mergeSaved reads saved reports, adds them up and says what is then approximate (R2.6).
func (a *app) mergeSaved(paths []string) (*saved.Report, []report.Shard, error) {
	var sum *saved.Report
	var held []report.Held
	dict := model.NewDict()
	for _, path := range paths {
		if err := a.spare(path); err != nil {
			return nil, nil, err
		}
	}
	for _, path := range paths {
		s, err := a.readSaved(path, dict)
		if err != nil {
			return nil, nil, err
		}
		held = append(held, s.Aggregate.Held())
		if sum == nil {
			sum = s
		} else if err := sum.Merge(s); err != nil {
			if merge, ok := errors.AsType[*saved.MergeError](err); ok {
				return nil, nil, usagef("%s and %s were %w", paths[0], path, merge)
			}
			return nil, nil, err
		}
	}
	var shards []report.Shard
	for i, path := range paths {
		shards = append(shards, report.Shard{File: path, Requests: held[i].Of(sum.Aggregate.Counting())})
	}
	if n := sum.Table().Repeated(sum.Aggregate.Counting()); n > 0 {
		a.note("at least %s in two shards: counted in each of them", render.Plural(n, "request"))
	}
	if sum.Facts.Survey == report.SurveyPerShard {
		a.note("clocks estimated per shard: reports made with one survey table (--survey) have one clock")
	}
	return sum, shards, nil
}

// onlySaved refuses flags that say how a capture is read or which figures are kept: in a saved report that is decided.
func onlySaved(cmd *cobra.Command, path string, flags ...string) error {
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return usagef("--%s: %s is a saved report, in which that was decided when it was saved", name, path)
		}
	}
	return nil
}

// savedSelection is what the help of a command says that takes saved reports and selects requests of captures only.
const savedSelection = "The requests of a saved report were selected when it was saved: --since, --until and --where are for captures (list selects in both)."

// captureOnly are the flags of captureFlags that mean nothing for a saved report.
var captureOnly = []string{"since", "until", "where", "key", "no-skew", "survey", "survey-out", "deadline", "keep-shutdown", "profile-map"}

// noSavedRequest is the error of saved reports without a request that counts.
func noSavedRequest(paths []string, sum *saved.Report) error {
	return missingf("no request in %s%s", strings.Join(paths, ", "), uncounted(sum.Aggregate.Others()))
}

// judgeSaved says what was wrong with the inputs of a saved report.
func (a *app) judgeSaved(r *saved.Report, strict bool) error {
	bad := 0
	for i := range r.Facts.Inputs {
		if in := &r.Facts.Inputs[i]; in.Skipped > 0 || in.ErrorCount > 0 || in.Truncated || in.Unusable != "" && !in.Foreign() {
			bad++
		}
	}
	if strict && bad > 0 {
		return fmt.Errorf("--strict: something was bad in %s", render.Plural(int64(bad), "input"))
	}
	return nil
}

// oneKind refuses saved reports and captures beside each other.
func oneKind(reports, rest []string) error {
	if len(reports) > 0 && len(rest) > 0 {
		return usagef("%s is a saved report and %s is none: save what is to be added up (report --save) and merge it", reports[0], strings.Join(slices.Compact(rest), ", "))
	}
	return nil
}
