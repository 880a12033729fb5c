package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What is wrong with flags whatever the command.

// badFlag says what a flag takes instead of the value it was given; the words of strconv are no help.
func badFlag(_ *cobra.Command, err error) error {
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	want := ""
	switch bad.GetFlag().Value.Type() {
	case "int":
		want = "a whole number"
	case "bool":
		want = "true or false"
	default:
		return err
	}
	return fmt.Errorf("--%s: want %s, have %q", bad.GetFlag().Name, want, bad.GetValue())
}

// checkFlags finds what single flags cannot see: values that are there and empty, which a script gives whose variable is not set, and flags that
// exclude each other.
func checkFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		empty := f.Value.Type() == "string" && f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = slices.Contains(list.GetSlice(), "")
		}
		if empty && err == nil {
			what, _ := pflag.UnquoteUsage(f)
			if what == "string" {
				what = "value"
			}
			article := "a"
			if strings.ContainsRune("AEIO", rune(what[0])) {
				article = "an"
			}
			err = fmt.Errorf("--%s: want %s %s, have nothing", f.Name, article, what)
		}
	})
	if err != nil {
		return err
	}
	format, table := cmd.Flags().Lookup("format"), cmd.Flags().Lookup("table")
	if format != nil && table != nil && table.Changed && strings.HasPrefix(format.Value.String(), "json") {
		return fmt.Errorf("--table and --format %s exclude one another: want --format table, csv or markdown", format.Value)
	}
	since, ok := instantOf(cmd, "since")
	until, both := instantOf(cmd, "until")
	if ok && both && since.after(until) {
		return fmt.Errorf("--since %s is after --until %s", since.text, until.text)
	}
	return nil
}

// instantOf is the value of a flag that was given an instant.
func instantOf(cmd *cobra.Command, name string) (*instant, bool) {
	f := cmd.Flags().Lookup(name)
	if f == nil || !f.Changed {
		return nil, false
	}
	t, ok := f.Value.(*instant)
	return t, ok
}

// after reports whether an instant is known to be after another one; one that is told from the end of the capture is not known against one that is not.
func (t *instant) after(u *instant) bool {
	switch {
	case t.before > 0 && u.before > 0:
		return t.before < u.before
	case t.before > 0 || u.before > 0:
		return false
	}
	return t.at.After(u.at)
}

const (
	messageStart = 600 // bytes of a line of a message before what is left out, and after it
	messageEnd   = 300
)

// brief is a line of a message, in which an argument may stand that nobody wants to read to its end.
func brief(line string) string {
	if len(line) <= messageStart+messageEnd+100 {
		return line
	}
	start, end := strings.ToValidUTF8(line[:messageStart], ""), strings.ToValidUTF8(line[len(line)-messageEnd:], "")
	return fmt.Sprintf("%s … (%d bytes left out) … %s", start, len(line)-len(start)-len(end), end)
}
