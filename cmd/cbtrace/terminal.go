package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/cbtrace/cbtrace/internal/ingest"
	"github.com/cbtrace/cbtrace/internal/render"
)

// terminalFlags say how pages are shown, whatever the command (R3.2).
type terminalFlags struct {
	color, progress choice
	width           columns
	local           bool
}

func (f *terminalFlags) register(root *cobra.Command, quiet *bool) {
	when := []string{"auto", "always", "never"}
	f.color, f.progress, f.width = choice{"auto", when}, choice{"auto", when}, columns{auto: true}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.Var(&f.width, "width", fmt.Sprintf("columns of a line, 0 for no limit; auto is the terminal's, and %d for a file or pipe", pipeWidth))
	set.Var(&f.color, "color", "colours; auto is on a terminal, unless NO_COLOR is set or TERM is dumb")
	set.BoolVar(&f.local, "local", false, "times in the local time zone rather than in UTC, also those of flags that name none")
	set.Var(&f.progress, "progress", "how far reading has come, on stderr; auto is on a terminal")
	set.BoolVarP(quiet, "quiet", "q", false, "no notes on stderr, only errors")
	set.VisitAll(func(flag *pflag.Flag) {
		flag.Annotations = map[string][]string{groupKey: {terminalGroup}}
		root.PersistentFlags().AddFlag(flag)
	})
}

// terminalGroup is the heading of these flags.
const terminalGroup = "Terminal"

// pipeWidth is how many columns a line has where there is no terminal: what fits into a ticket. It does not depend on where a pipe
// ends, so that the same command gives the same bytes.
const pipeWidth = 120

// narrowest is the least width that tables are fitted to.
const narrowest = 40

// style is what the place that an output goes to can show: a path, "" or "-" for standard output.
func (a *app) style(path string) render.Style {
	s := render.Style{Width: pipeWidth, ASCII: !a.unicode()}
	columns, terminal := 0, false
	if path == "" || path == "-" {
		columns, terminal = terminalOf(a.stdout.w)
	}
	if terminal && columns > 0 {
		s.Width = max(narrowest, columns)
	}
	if !a.terminal.width.auto {
		s.Width = a.terminal.width.n
	}
	switch a.terminal.color.value {
	case "always":
		s.Color = true
	case "auto":
		s.Color = terminal && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
	}
	return s
}

// terminalOf is how many columns the terminal has that something is written to, 0 where it does not say; ok is false where it is none.
func terminalOf(w io.Writer) (columns int, ok bool) {
	f, is := w.(*os.File)
	if !is || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, true
	}
	return columns, true
}

// unicode reports whether the locale has more than ASCII. Where none is set, as in most containers, it is taken to.
func (a *app) unicode() bool {
	for _, name := range [...]string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := a.getenv(name); v != "" {
			v = strings.ReplaceAll(strings.ToUpper(v), "-", "")
			return strings.Contains(v, "UTF8")
		}
	}
	return true
}

// plain is text for stderr: safe to show (R3.7), and in ASCII where the locale has no more.
func (a *app) plain(text string) string {
	return render.Style{ASCII: !a.unicode()}.Plain(render.Escape(text))
}

// zone is where times are read: UTC, or the local time zone.
func (a *app) zone() *time.Location {
	if a.terminal.local {
		return time.Local
	}
	return time.UTC
}

// view is what pages must know of this run; args name its inputs.
func (a *app) view(args []string) *render.View {
	v := &render.View{Where: a.zone(), Inputs: args}
	for _, arg := range args {
		v.Elsewhere = v.Elsewhere || arg == ingest.Stdin || a.isSaved(arg)
	}
	return v
}

// columns is the flag --width: a number, or auto.
type columns struct {
	auto bool
	n    int
}

func (c *columns) Type() string { return "columns" }

func (c *columns) String() string {
	if c.auto {
		return "auto"
	}
	return strconv.Itoa(c.n)
}

func (c *columns) Set(s string) error {
	if s == "auto" {
		*c = columns{auto: true}
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n != 0 && (n < narrowest || n > 10_000) {
		return fmt.Errorf("want auto, 0 or a number of columns from %d", narrowest)
	}
	*c = columns{n: n}
	return nil
}
