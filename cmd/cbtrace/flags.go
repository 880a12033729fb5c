package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
)

// The flags that several commands share (R3.2), by what they are about.

// captureFlags say how a capture is read and analysed.
type captureFlags struct {
	since, until instant
	where        filter
	key          choice
	noSkew       bool
	survey       []string
	surveyFull   bool // --survey full: nothing is sampled
	surveyOut    string
	deadline     duration
	keepShutdown bool
	memory       size
	jobs         int
	strict       bool
	keepGoing    bool
	profileMap   string
}

func (f *captureFlags) register(cmd *cobra.Command) {
	f.key = choice{"auto", []string{"auto", "id", "trace"}}
	f.deadline = duration(finding.DefaultDeadline)
	group(cmd, "Which requests", func(s *pflag.FlagSet) {
		s.Var(&f.since, "since", "requests that start at or after this instant, as 2025-11-29T16:00:00Z or 2025-11-29, or -2h before the end of the capture")
		s.Var(&f.until, "until", "requests that start before this instant")
		s.Var(&f.where, "where", "requests with a span that satisfies this, as '{ span.hit_rate >= 0.5 && request.ttft > 1s }'")
		s.Var(&f.key, "key", "what makes a request: its ids, or its trace; auto takes the trace where there is no id")
	})
	group(cmd, "Analysis", func(s *pflag.FlagSet) {
		s.BoolVar(&f.noSkew, "no-skew", false, "take all clocks as they are")
		s.StringArrayVar(&f.survey, "survey", nil, "use the survey table in `FILE` instead of making one; several are merged; full: read and survey everything, where inspect would take a sample")
		s.StringVar(&f.surveyOut, "survey-out", "", "write the survey table to `FILE`")
		s.Var(&f.deadline, "deadline", "a load that starts later than this after its lookup is a finding")
		s.BoolVar(&f.keepShutdown, "keep-shutdown", false, "count spans that ended because their process was stopped")
	})
	f.registerReading(cmd)
}

// registerReading adds the flags of commands that read a capture and do not analyse it.
func (f *captureFlags) registerReading(cmd *cobra.Command) {
	f.registerWork(cmd)
	group(cmd, "Reading", func(s *pflag.FlagSet) {
		s.BoolVar(&f.strict, "strict", false, "exit 3 when anything of the input was bad")
		s.BoolVar(&f.keepGoing, "keep-going", false, "go on when a file that was named cannot be used")
		s.StringVar(&f.profileMap, "profile-map", "", "what the names and keys of CB_PROFILE lines mean, from the YAML in `FILE`")
	})
}

// registerWork adds the flags that say what a run may take (R3.2): of every command that reads inputs, so that a script can give them to all.
func (f *captureFlags) registerWork(cmd *cobra.Command) {
	f.memory = 1 << 30
	group(cmd, "Reading", func(s *pflag.FlagSet) {
		s.Var(&f.memory, "memory", "what does not fit goes to disk, as 256MiB or 4GiB")
		s.IntVar(&f.jobs, "jobs", 0, "how many workers; 0: one per processor")
	})
}

func (f *captureFlags) check() error {
	if f.survey, f.surveyFull = withoutFull(f.survey); f.surveyFull && len(f.survey) > 0 {
		return errors.New("--survey: full excludes survey tables")
	}
	if f.jobs < 0 || f.jobs > 1024 {
		return fmt.Errorf("--jobs: want 0 to 1024, have %d", f.jobs)
	}
	return nil
}

// mayPick reports whether a part of large inputs is enough: nothing was asked for that depends on all of them.
func (f *captureFlags) mayPick() bool {
	return !f.surveyFull && f.surveyOut == "" && !f.strict && f.since.before == 0 && f.until.before == 0 && f.key.value == "auto"
}

// withoutFull takes the word full out of the values of --survey.
func withoutFull(values []string) (files []string, full bool) {
	for _, v := range values {
		if v == "full" {
			full = true
		} else {
			files = append(files, v)
		}
	}
	return files, full
}

// outputFlags say what is printed where.
type outputFlags struct {
	format choice
	path   string
	table  string
}

// register adds them; csv is the table that CSV is of unless another one is asked for.
func (f *outputFlags) register(cmd *cobra.Command, csv string) {
	f.format = choice{"table", []string{"table", "json", "jsonl", "csv", "markdown"}}
	group(cmd, "Output", func(s *pflag.FlagSet) {
		s.Var(&f.format, "format", "how it is printed")
		s.StringVar(&f.table, "table", "", "only the table of this `NAME`, in any format but JSON; csv is always one table, "+csv+" unless this names another")
		s.StringVarP(&f.path, "output", "o", "", "write to `FILE`, which is whole or not there")
	})
}

// A duration is a flag such as 100ms.
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }
func (d *duration) Type() string   { return "duration" }
func (d *duration) Set(s string) error {
	v, err := parseDuration(s)
	if err != nil || v <= 0 {
		return fmt.Errorf("want a length of time such as 100ms or 2s")
	}
	*d = duration(v)
	return nil
}
