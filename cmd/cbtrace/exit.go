package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/analyze/check"
)

// The exit statuses (R3.4). This file is the only place that gives one.
const (
	exitFine        = 0
	exitBroken      = 1 // a budget is broken, or diff --fail found differences
	exitUsage       = 2 // wrong usage, an ambiguous id, a bad budget file, an output that cannot be written
	exitInput       = 3 // input unusable: nothing could be read, no request found, a named file cannot be used
	exitEvidence    = 4 // not enough evidence
	exitInterrupted = 130
)

// statuses are what they mean, for help and the manual.
var statuses = []struct {
	status  int
	meaning string
}{
	{exitFine, "fine"},
	{exitBroken, "a budget is broken, or diff --fail found differences"},
	{exitUsage, "wrong usage, an ambiguous id, a bad budget file, an output that cannot be written or is an input"},
	{exitInput, "input unusable: nothing could be read, no request found, a named file cannot be used, or --strict and something was bad"},
	{exitEvidence, "not enough evidence for a budget"},
	{exitInterrupted, "interrupted"},
}

// A usageError is a mistake in the arguments, the flags or a file that only configures.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// A missingError says that no request was found, and why, where nothing else is wrong.
type missingError struct{ err error }

func (e *missingError) Error() string { return e.err.Error() }
func (e *missingError) Unwrap() error { return e.err }

func missingf(format string, args ...any) error { return &missingError{fmt.Errorf(format, args...)} }

// errClosedPipe is what writing to a standard output that nobody reads any more gives.
var errClosedPipe = errors.New("standard output was closed")

func status(err error, begun bool) int {
	var usage *usageError
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case !begun, errors.As(err, &usage):
		return exitUsage
	}
	return exitInput
}

// checkStatus is the exit status of a verdict on a capture.
func checkStatus(verdict string) int {
	if verdict == check.Bad {
		return exitInput
	}
	return exitFine
}

// gateStatus is the exit status of a verdict (R9.4); insufficient says what not enough evidence means: error, pass or fail.
func gateStatus(verdict, insufficient string) int {
	switch {
	case verdict == budget.Fail, verdict == budget.Insufficient && insufficient == "fail":
		return exitBroken
	case verdict == budget.Insufficient && insufficient == "error":
		return exitEvidence
	}
	return exitFine
}

// exit says on stderr what went wrong and returns the exit status.
func (a *app) exit(cmd *cobra.Command, err error) int {
	switch {
	case err == nil && a.stdout.failed != nil: // where nobody looked at it, as of help
		err, a.begun = a.stdout.failed, true
	case err == nil, errors.Is(err, errClosedPipe):
		return a.verdict
	}
	s := status(err, a.begun)
	if s == exitInterrupted {
		return s
	}
	a.complain(err)
	if s == exitUsage && !a.begun {
		fmt.Fprintf(a.stderr, "see %s --help\n", cmd.CommandPath())
	}
	return s
}

// complain prints an error; further lines of it, as those of joined errors, are set in. Text from inputs is made safe (R3.7).
func (a *app) complain(err error) {
	lead := "cbtrace: "
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(a.stderr, "%s%s\n", lead, a.plain(brief(strings.TrimRight(line, "\n"))))
		lead = "  "
	}
}
