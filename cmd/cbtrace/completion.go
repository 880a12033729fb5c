package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/render/schema"
)

// shells are those for which completion is made.
var shells = []struct {
	name  string
	write func(root *cobra.Command, w io.Writer) error
}{
	{"bash", func(root *cobra.Command, w io.Writer) error {
		if err := root.GenBashCompletionV2(w, true); err != nil {
			return err
		}
		_, err := io.WriteString(w, withoutBashCompletion)
		return err
	}},
	{"zsh", func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }},
	{"fish", func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
	{"powershell", func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) }},
}

// withoutBashCompletion makes the script work where the package bash-completion is not installed, as in containers. That package would take
// words apart at blanks alone; bash itself does so at = and : too.
const withoutBashCompletion = `
if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
    __cbtrace_init_completion()
    {
        local i word
        words=("${COMP_WORDS[0]}") cword=0
        for ((i = 1; i <= COMP_CWORD; i++)); do
            word=${COMP_WORDS[i]}
            if ((cword > 0)) && [[ $word == [=:] || ${words[cword]} == *[=:] ]]; then
                words[cword]+=$word
            else
                words[++cword]=$word
            fi
        done
        cur=${words[cword]} prev=${words[cword-1]}
    }
fi
`

func newCompletion(a *app) *cobra.Command {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "completion of commands, flags and their values, for a shell",
		Long:  "Prints what makes a shell complete commands, flags and their values: for " + strings.Join(names, ", ") + ".",
		Example: `  source <(cbtrace completion bash)                                  in this shell
  cbtrace completion bash > /etc/bash_completion.d/cbtrace           for good
  cbtrace completion zsh > "${fpath[1]}/_cbtrace"
  cbtrace completion fish > ~/.config/fish/completions/cbtrace.fish`,
		ValidArgs: names,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("want one of %s", strings.Join(names, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range shells {
				if s.name == args[0] {
					return a.print("", func(w io.Writer) error { return s.write(cmd.Root(), w) })
				}
			}
			return usagef("no completion for %q: want one of %s", args[0], strings.Join(names, ", "))
		},
	}
}

// complete says what flags and arguments may hold, as far as that is known: flags that take one of a few words take those.
func complete(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { completeFlag(cmd, f) })
	cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { completeFlag(cmd, f) })
	for _, sub := range cmd.Commands() {
		complete(sub)
	}
	switch cmd.Name() {
	case "explain":
		cmd.ValidArgsFunction = fixed(findingCodes(func(*finding.Info) bool { return true }))
	case "schema":
		var names []string
		for _, d := range schema.Documents {
			names = append(names, d.Command)
		}
		cmd.ValidArgsFunction = fixed(names)
	}
}

func completeFlag(cmd *cobra.Command, f *pflag.Flag) {
	values := []string(nil)
	switch v := f.Value.(type) {
	case *choice:
		values = v.of
	case *groupings:
		values = report.ByNames()
	case *bucket:
		values = strings.Split(strings.TrimSuffix(bucketLengths, ", …"), ", ")
	default:
		if f.Name == "finding" {
			values = findingCodes(func(info *finding.Info) bool { return info.Scope == finding.Request })
		}
	}
	if values != nil {
		_ = cmd.RegisterFlagCompletionFunc(f.Name, fixed(values)) // it fails for a flag that is not there
	}
}

func fixed(values []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	}
}

// findingCodes are the codes of findings with their meanings, as shells show them.
func findingCodes(wanted func(*finding.Info) bool) (codes []string) {
	for i := range finding.Registry {
		if info := &finding.Registry[i]; wanted(info) {
			codes = append(codes, info.Code+"\t"+info.Meaning)
		}
	}
	return codes
}
