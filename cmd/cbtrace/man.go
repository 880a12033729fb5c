package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newMan(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "the manual page of this program",
		Long:  "Prints the manual page, with all commands and their flags.",
		Example: `  cbtrace man | man -l -
  cbtrace man > /usr/local/share/man/man1/cbtrace.1`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.print("", func(w io.Writer) error {
				_, err := w.Write(manual(cmd.Root()))
				return err
			})
		},
	}
}

// manual is the manual page in the macros of man(7), made from what --help is made of.
func manual(root *cobra.Command) []byte {
	var b bytes.Buffer
	b.WriteString(".TH CBTRACE 1\n.SH NAME\n")
	fmt.Fprintf(&b, "cbtrace \\- %s\n.SH SYNOPSIS\n.B %s\n.SH DESCRIPTION\n%s\n", roff(root.Short), roff(usage(root)), roff(root.Long))
	fmt.Fprintf(&b, ".PP\n%s\n.SH EXAMPLES\n", roff(inputHelp))
	manExample(&b, root.Example)
	b.WriteString(".SH COMMANDS\n")
	var commands func(cmd *cobra.Command)
	commands = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			if !c.IsAvailableCommand() {
				continue
			}
			fmt.Fprintf(&b, ".SS %s\n", roff(usage(c)))
			about := c.Long
			if about == "" {
				about = c.Short + "."
			}
			fmt.Fprintf(&b, "%s\n", roff(about))
			if c.Example != "" {
				manExample(&b, c.Example)
			}
			for _, g := range flagGroups(c) {
				if g.name != terminalGroup {
					manFlags(&b, g)
				}
			}
			commands(c)
		}
	}
	commands(root)
	b.WriteString(".SH OPTIONS OF EVERY COMMAND\n")
	for _, g := range flagGroups(root) {
		manFlags(&b, g)
	}
	b.WriteString(".SH ENVIRONMENT\n.TP\n.B CBTRACE_INPUT\nthe inputs where no argument names one: a list of paths\n" +
		".TP\n.B NO_COLOR, TERM\nno colours where the one is set or the other is dumb\n" +
		".TP\n.B LC_ALL, LC_CTYPE, LANG\nnothing outside ASCII is printed where they name a locale without UTF\\-8\n" +
		".SH EXIT STATUS\n")
	for _, s := range statuses {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", s.status, roff(s.meaning))
	}
	return b.Bytes()
}

func manExample(b *bytes.Buffer, text string) {
	fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(strings.TrimRight(text, "\n")))
}

func manFlags(b *bytes.Buffer, g flagGroup) {
	fmt.Fprintf(b, ".PP\n.I %s\n", roff(g.name))
	g.flags.VisitAll(func(f *pflag.Flag) {
		flag, about := flagText(f)
		flag = strings.TrimLeft(flag, " ")
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(flag), roff(about))
	})
}

// roff is text that means itself in roff, with characters outside ASCII by their code.
func roff(s string) string {
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			b.WriteString(`\&`)
		}
		for _, r := range line {
			switch {
			case r == '\\':
				b.WriteString(`\e`)
			case r == '-':
				b.WriteString(`\-`)
			case r == '\'':
				b.WriteString(`\(aq`)
			case r >= 0x80:
				fmt.Fprintf(&b, `\[u%04X]`, r)
			default:
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}
