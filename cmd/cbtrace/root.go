package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot is the command tree. A command is here once it works.
func newRoot(a *app) *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   "cbtrace",
		Short: "where the time of an LLM request went, and whether the KV cache earned it",
		Long: "cbtrace reads what a vLLM, LMCache or CacheBlend deployment leaves behind (exported traces, profile lines, recordings), " +
			"puts it together into one tree per request and says where the time went and what the KV cache was worth.",
		Example: `  cbtrace report traces/                     a day of traces as a page
  cbtrace inspect chatcmpl-7f3a traces/      one request: where its time went
  cbtrace report --format json - < day.jsonl the same for machines, from standard input
  cbtrace explain late_poll                  what a finding means and what to do`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.version()
			}
			return cmd.Help()
		},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"since", "until", "at"} {
				if t, ok := instantOf(cmd, name); ok {
					t.in(a.zone())
				}
			}
			err := checkFlags(cmd)
			if err == nil {
				a.replaced, err = toReplace(cmd)
			}
			a.begun = err == nil
			return err
		},
	}
	a.terminal.register(root, &a.quiet)
	root.Flags().BoolVar(&version, "version", false, "the version of this program, as cbtrace version")
	root.SetFlagErrorFunc(badFlag)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { help(cmd, max(80, min(100, cmp.Or(a.style("").Width, 100)))) })
	root.SetHelpCommand(&cobra.Command{Use: "help [command]", Hidden: true, Args: cobra.ArbitraryArgs, RunE: func(cmd *cobra.Command, args []string) error {
		target, rest, err := cmd.Root().Find(args)
		if err != nil || len(rest) > 0 {
			return &usageError{noCommand(target, strings.Join(rest, " "))}
		}
		return target.Help()
	}})
	cobra.EnableCommandSorting = false // the order of commands is that of how often they are wanted
	for _, command := range commands {
		cmd := command(a)
		cmd.Flags().SortFlags = false
		root.AddCommand(cmd)
	}
	complete(root)
	return root
}

// commands are the commands in the order in which help lists them.
var commands = []func(*app) *cobra.Command{
	newInspect,
	newReport,
	newList,
	newCheck,
	newExport,
	newMerge,
	newCut,
	newGate,
	newDiff,
	newLCT,
	newExplain,
	newSchema,
	newVersion,
	newCompletion,
	newMan,
}

// noArgs refuses arguments; of a command that has others below it they are such that do not exist.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasAvailableSubCommands() {
		return fmt.Errorf("%s takes no argument, have %q", cmd.Name(), args[0])
	}
	return noCommand(cmd, args[0])
}

// noCommand is the error of a command that does not exist, with the one that is most like it.
func noCommand(parent *cobra.Command, name string) error {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	text := fmt.Sprintf("no command %q", name)
	if parent.HasParent() {
		text += " of " + parent.Name()
	}
	if near := nearest(name, names); near != "" {
		text += "; did you mean " + near + "?"
	}
	return errors.New(text)
}
