package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze"
	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render"
)

func newInspect(a *app) *cobra.Command {
	var in captureFlags
	var out outputFlags
	var all, latest, showSensitive bool
	cmd := &cobra.Command{
		Use:   "inspect ID [INPUT…]",
		Short: "one request: where its time went, and why",
		Long: "Shows one request: what held it up and what it would be without, its spans as a tree, the critical path, the lookup, hits, loads and " +
			"findings. ID is the internal id, the external id (of the client's log), a trace id, or the first six or more characters of an id.",
		Example: `  cbtrace inspect chatcmpl-7f3a traces/             by the start of an id
  cbtrace inspect 4bf92f3577b34da6a3ce929d0e0e4736  by a trace id, in the current folder
  cbtrace inspect chatcmpl-7f3a --latest traces/    the last of several that fit
  cbtrace inspect chatcmpl-7f3a --format json -     for machines, from standard input`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return errors.New("want the id of a request")
			}
			if all && latest {
				return errors.New("--all and --latest exclude one another")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id := args[0]
			c, err := a.open(cmd.Context(), &in, args[1:], true, showSensitive)
			if err != nil {
				return err
			}
			defer c.Close()
			found, near, err := c.Find(cmd.Context(), id)
			if err != nil {
				return err
			}
			switch {
			case len(found) == 0:
				return notFound(c, id, near)
			case latest:
				found = found[len(found)-1:]
			case len(found) > 1 && !all:
				return ambiguous(id, found)
			}
			var ids []string
			for _, f := range found {
				ids = append(ids, f.ID)
			}
			docs, err := c.Inspect(cmd.Context(), ids, showSensitive)
			if err != nil {
				return err
			}
			return a.print(out.path, func(w io.Writer) error {
				switch {
				case out.format.value == "table":
					return pages(w, docs, a.width())
				case out.format.value == "json" && all:
					return render.JSON(w, docs)
				}
				return writeJSON(w, out.format.value, docs)
			})
		},
	}
	group(cmd, "Which requests", func(s *pflag.FlagSet) {
		s.BoolVar(&all, "all", false, "each of several requests that fit")
		s.BoolVar(&latest, "latest", false, "the last of several requests that fit")
	})
	in.register(cmd)
	out.register(cmd, "table", "json", "jsonl")
	group(cmd, "Output", func(s *pflag.FlagSet) {
		s.BoolVar(&showSensitive, "show-sensitive", false, "values that may hold prompts and credentials too")
	})
	return cmd
}

// pages are documents one after the other.
func pages(w io.Writer, docs []*inspect.Document, width int) error {
	for i, d := range docs {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := render.Inspect(d).Text(w, width); err != nil {
			return err
		}
	}
	return nil
}

// notFound is the error of an id that no request has: with the ids that are nearest, or with what else was meant.
func notFound(c *analyze.Capture, id string, near []string) error {
	if c.Summary.Records == c.Summary.Unattributed+c.Summary.ProcessRecords {
		return noRequest(c)
	}
	text := fmt.Sprintf("no request %q", id)
	if since, until, ok := c.Interval(); ok {
		text += " that starts " + interval(since, until)
	}
	if _, err := os.Stat(id); err == nil {
		return fmt.Errorf("%s: the id comes before the inputs", text)
	}
	if len(near) > 0 {
		quoted := make([]string, len(near))
		for i, n := range near {
			quoted[i] = render.Escape(n)
		}
		text += "; nearest:\n" + strings.Join(quoted, "\n")
	}
	return errors.New(text)
}

// ambiguous is the error of an id that several requests have (R3.1).
func ambiguous(id string, found []analyze.Found) error {
	t := &render.Table{Columns: []render.Column{{Name: "request"}, {Name: "start"}, {Name: "duration", Kind: render.Time}, {Name: "loads"}}}
	for _, f := range found[:min(len(found), candidatesShown)] {
		t.Add(render.Word(f.ID), render.Word(render.Instant(int64(f.Start), nil)), render.Of(f.Window), render.Word(f.Verdict.String()))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q fits %s: --all shows each, --latest the last\n", id, render.Plural(int64(len(found)), "request"))
	if err := t.Text(&b, 0); err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(f analyze.Found) bool { return f.Verdict != model.LoadNone }) {
		b.WriteString("loads: the verdict on their passes\n")
	}
	if len(found) > candidatesShown {
		fmt.Fprintf(&b, "… %d more\n", len(found)-candidatesShown)
	}
	return usagef("%s", strings.TrimSuffix(b.String(), "\n"))
}

const candidatesShown = 20
