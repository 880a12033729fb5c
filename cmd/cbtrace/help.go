package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/render"
)

// help prints the help of a command: examples first, then what it does, its commands, its flags by group, at most width columns wide.
func help(cmd *cobra.Command, width int) {
	var b strings.Builder
	if cmd.Example != "" {
		fmt.Fprintf(&b, "Examples:\n%s\n\n", strings.TrimRight(cmd.Example, "\n"))
	}
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	var page render.Page
	page.Say(about)
	_ = page.Text(&b, render.Style{Width: width}) // into memory
	fmt.Fprintf(&b, "\nUsage: %s\n", usage(cmd))
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-10s %s\n", c.Name(), c.Short)
			}
		}
	}
	for _, group := range flagGroups(cmd) {
		fmt.Fprintf(&b, "\n%s:\n", group.name)
		group.flags.VisitAll(func(f *pflag.Flag) { flagHelp(&b, f, width) })
	}
	if !cmd.HasParent() {
		var page render.Page
		page.Say(inputHelp)
		page.Say(statusHelp())
		b.WriteByte('\n')
		_ = page.Text(&b, render.Style{Width: width}) // into memory
	}
	fmt.Fprint(cmd.OutOrStdout(), b.String())
}

// flagColumn is where what a flag does begins.
const flagColumn = 28

// flagHelp is a flag and what it does, on a line of its own where the flag is long.
func flagHelp(b *strings.Builder, f *pflag.Flag, width int) {
	left, about := flagText(f)
	gap := "\n" + strings.Repeat(" ", flagColumn)
	if len(left)+2 <= flagColumn {
		gap = strings.Repeat(" ", flagColumn-len(left))
	}
	var page render.Page
	page.Say(about)
	var text strings.Builder
	_ = page.Text(&text, render.Style{Width: width - flagColumn}) // into memory
	lines := strings.TrimSuffix(text.String(), "\n")
	b.WriteString(left + gap + strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", flagColumn)) + "\n")
}

// flagText is a flag with the name of its value, and what it does.
func flagText(f *pflag.Flag) (flag, about string) {
	name, about := pflag.UnquoteUsage(f)
	flag = "      --" + f.Name
	if f.Shorthand != "" {
		flag = "  -" + f.Shorthand + ", --" + f.Name
	}
	switch {
	case f.NoOptDefVal != "" && name != "" && f.Value.Type() != "bool":
		flag += " [" + name + "]"
	case name != "":
		flag += " " + name
	}
	switch f.DefValue {
	case "", "false", "0", "[]":
	default:
		about += " (default " + f.DefValue + ")"
	}
	return flag, about
}

const inputHelp = "An INPUT is a file, a folder, - (standard input) or a saved report. Without any, $CBTRACE_INPUT is read, else the current folder."

// statusHelp is what the exit statuses mean, in a line.
func statusHelp() string {
	var text []string
	for _, s := range statuses {
		text = append(text, fmt.Sprintf("%d %s", s.status, s.meaning))
	}
	return "Exit status: " + strings.Join(text, "; ") + "."
}

func usage(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return "cbtrace COMMAND [flags] [INPUT…]"
	}
	name, args, _ := strings.Cut(cmd.Use, " ")
	line := strings.TrimSuffix(cmd.CommandPath(), cmd.Name()) + name + " [flags]"
	return strings.TrimSpace(line + " " + args)
}

type flagGroup struct {
	name  string
	flags *pflag.FlagSet
}

const groupKey = "group"

// flagGroups are the flags of a command under the headings they were registered with.
func flagGroups(cmd *cobra.Command) []flagGroup {
	var groups []flagGroup
	add := func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "Other flags"
		if g := f.Annotations[groupKey]; len(g) > 0 {
			name = g[0]
		}
		for i := range groups {
			if groups[i].name == name {
				groups[i].flags.AddFlag(f)
				return
			}
		}
		set := pflag.NewFlagSet(name, pflag.ContinueOnError)
		set.SortFlags = false
		set.AddFlag(f)
		groups = append(groups, flagGroup{name, set})
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			add(f)
		}
	})
	cmd.InheritedFlags().VisitAll(add)
	return groups
}

// group puts the flags that register adds under a heading.
func group(cmd *cobra.Command, name string, register func(*pflag.FlagSet)) {
	set := pflag.NewFlagSet(name, pflag.ContinueOnError)
	set.SortFlags = false
	register(set)
	set.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{groupKey: {name}}
		cmd.Flags().AddFlag(f)
	})
}
