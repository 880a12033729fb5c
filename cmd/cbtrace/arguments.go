package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What is wrong with flags whatever the command.

// badFlag says what a flag takes instead of the value it was given; the words of strconv are no help. Of one that does not exist it says which is like it, or
// which command has it.
func badFlag(cmd *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok && len(missing.GetSpecifiedName()) > 1 {
		return fmt.Errorf("%w%s", err, likeFlag(cmd, missing.GetSpecifiedName()))
	}
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

// likeFlag says which flag may have been meant: another command's of that very name, the one of this command that is most like it, or another command's.
func likeFlag(cmd *cobra.Command, name string) string {
	elsewhere := func(of func(names []string) string) string {
		for _, other := range cmd.Root().Commands() {
			if found := of(flagNames(other)); found != "" && other.IsAvailableCommand() {
				return "; " + other.Name() + " has --" + found
			}
		}
		return ""
	}
	own := ""
	if near := nearest(name, flagNames(cmd)); near != "" {
		own = "; did you mean --" + near + "?"
	}
	return cmp.Or(elsewhere(func(names []string) string {
		if slices.Contains(names, name) {
			return name
		}
		return ""
	}), own, elsewhere(func(names []string) string { return nearest(name, names) }))
}

// flagNames are the long names of the flags of a command.
func flagNames(cmd *cobra.Command) (names []string) {
	for _, g := range flagGroups(cmd) {
		g.flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	return names
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
