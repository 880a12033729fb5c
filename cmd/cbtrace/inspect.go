package main

import (
	"cmp"
	"context"
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
	var f finder
	var against []string
	var showSensitive, unfold, why, joins bool
	cmd := &cobra.Command{
		Use:   "inspect [ID] [INPUT…]",
		Short: "one request: where its time went, and why",
		Long: "Shows one request: what held it up and what it would be without, what the cache gave, the worst thing about it and what to do next; " +
			"then its spans as a waterfall, the critical path, the lookup, hits, loads and findings. ID is the internal id, the external id (of the client's log), " +
			"a trace id, or the first six or more characters of an id. Without an id --slowest, --finding and --at find one.",
		Example: `  cbtrace inspect chatcmpl-7f3a traces/             by the start of an id
  cbtrace inspect 4bf92f3577b34da6a3ce929d0e0e4736  by a trace id, in the current folder
  cbtrace inspect chatcmpl-7f3a --latest traces/    the last of several that fit
  cbtrace inspect --slowest traces/                 no id: the slowest
  cbtrace inspect --finding late_poll traces/       the slowest that shows a finding
  cbtrace inspect --at 2025-11-29T16:00:12Z traces/ the slowest that was going on then
  cbtrace inspect chatcmpl-7f3a --why traces/       what the cache found and loaded, as a sum
  cbtrace inspect --explain-join chatcmpl-7f3a traces/
                                                    what it is put together of, and what is not in it
  cbtrace inspect --slowest --against week.cbr traces/
                                                    where its times lie among those of a week
  cbtrace inspect chatcmpl-7f3a --format json -     for machines, from standard input`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			if why && joins {
				return errors.New("--why and --explain-join exclude one another")
			}
			if format := out.format.value; (why || joins) && (format == "json" || format == "jsonl") {
				name := "--why"
				if joins {
					name = "--explain-join"
				}
				return fmt.Errorf("%s is a table: want --format table, csv or markdown, have %s", name, format)
			}
			if !f.used() && (len(args) == 0 || args[0] == "") {
				return errors.New("want the id of a request, or --slowest, --finding or --at")
			}
			if !f.used() {
				return idFirst(args[0], args[1:], in.keepGoing)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if args = args[f.skip:]; !f.used() {
				id, args = args[0], args[1:]
			}
			look := viewing{whole: true, showSensitive: showSensitive, id: id}
			if joins {
				look.id = "" // what does not belong to it has other ids
			}
			if err := a.spareAll(against); err != nil {
				return err
			}
			c, err := a.open(cmd.Context(), &in, args, look)
			if err != nil {
				return err
			}
			defer c.Close()
			ids, caution, err := a.chosen(cmd.Context(), c, &f, &in.where, id)
			if err != nil {
				return err
			}
			docs, err := c.Inspect(cmd.Context(), ids, showSensitive)
			if err != nil {
				return err
			}
			if len(against) > 0 {
				if err := a.holdAgainst(cmd, &in, c, docs, args, against); err != nil {
					return err
				}
			}
			if f.used() { // the slowest first
				slices.SortFunc(docs, func(x, y *inspect.Document) int {
					return slices.Index(ids, x.Request.ID) - slices.Index(ids, y.Request.ID)
				})
			}
			view := a.view(args)
			view.Unfold = unfold
			page := view.Inspect
			switch {
			case why:
				page = view.Why
			case joins:
				relatives, err := c.Relatives(cmd.Context(), ids)
				if err != nil {
					return err
				}
				page = func(d *inspect.Document) *render.Page { return view.Joins(d, relatives[d.Request.ID]) }
			}
			if format := out.format.value; caution != "" && out.table == "" && (format == "table" || format == "markdown") {
				without := page
				page = func(d *inspect.Document) *render.Page { return without(d).Caution(caution) }
			} else if caution != "" {
				a.note("%s", caution)
			}
			return a.showRequests(&out, page, docs, f.all || len(docs) > 1)
		},
	}
	f.register(cmd)
	in.register(cmd)
	out.register(cmd, "spans")
	group(cmd, "Analysis", func(s *pflag.FlagSet) {
		s.StringArrayVar(&against, "against", nil, "say where its times lie among those of the requests in `INPUT`: a capture, or a saved report; several are added up")
	})
	group(cmd, "Output", func(s *pflag.FlagSet) {
		s.BoolVar(&why, "why", false, "the cache's decision instead: what was asked for, found and loaded as sums, with the time of each step")
		s.BoolVar(&joins, "explain-join", false, "how it was put together instead, for one that looks incomplete: why its spans are in it, what looks as if it belonged to it and does not, and what would join that")
		s.BoolVar(&unfold, "unfold", false, "every span in a row of its own, also of many alike under one parent")
		s.BoolVar(&showSensitive, "show-sensitive", false, "values that may hold prompts and credentials too")
	})
	return cmd
}

// showRequests prints requests, one page after the other; several for machines are an array.
func (a *app) showRequests(out *outputFlags, pageOf func(*inspect.Document) *render.Page, docs []*inspect.Document, array bool) error {
	if len(docs) == 1 && !(array && out.format.value == "json") {
		return show(a, out, pageOf(docs[0]), docs)
	}
	return a.print(out.path, func(w io.Writer) error {
		switch out.format.value {
		case "json":
			return render.JSON(w, docs)
		case "jsonl":
			return writeJSON(w, "jsonl", docs)
		case "csv":
			return usagef("csv is a table of one request, and %d were chosen: want jsonl", len(docs))
		}
		for i, d := range docs {
			if i > 0 {
				if _, err := io.WriteString(w, "\n"); err != nil {
					return err
				}
			}
			page := pageOf(d)
			write := func(w io.Writer) error { return page.Text(w, a.style(out.path)) }
			if out.format.value == "markdown" {
				write = page.Markdown
			}
			if err := write(w); err != nil {
				return err
			}
		}
		return nil
	})
}

// notFound is the error of an id that no request has that is selected: with what leaves the request out, with the ids that are nearest, or with what
// else was meant.
func notFound(ctx context.Context, c *analyze.Capture, id string, near []string) error {
	if left, err := c.LeftOut(ctx, id); err != nil || len(left) > 0 {
		return cmp.Or(err, leftOut(c, id, left))
	}
	if !c.Picked() && c.Summary.Records == c.Summary.Unattributed+c.Summary.ProcessRecords {
		return noRequest(c)
	}
	text := fmt.Sprintf("no request %q", id)
	if since, until, ok := c.Interval(); ok {
		text += " that starts " + interval(since, until, nil)
	}
	if _, err := os.Stat(id); err == nil {
		return fmt.Errorf("%s: the id comes before the inputs", text)
	}
	if len(id) < model.MinPrefix {
		text += fmt.Sprintf(": a beginning takes at least %d characters", model.MinPrefix)
	}
	nearest := "nearest"
	if c.Sampled() {
		nearest += " of a sample (--survey full looks at all ids)"
	}
	if len(near) > 0 {
		quoted := make([]string, len(near))
		for i, n := range near {
			quoted[i] = render.Escape(n)
		}
		text += "; " + nearest + ":\n" + strings.Join(quoted, "\n")
	} else if c.Sampled() {
		text += "; no id of a sample is like it (--survey full looks at all)"
	}
	return errors.New(text)
}

// leftOut is the error of an id whose requests are there and are not selected.
func leftOut(c *analyze.Capture, id string, left []analyze.Found) error {
	why := func(f *analyze.Found) string {
		switch {
		case !f.Outside:
			return "excluded by --where: it does not satisfy " + c.Facts().Analysis.Where
		case f.Start == 0:
			return "excluded by --since or --until: it has no time"
		}
		return "excluded by --since or --until: it starts at " + render.Instant(int64(f.Start), nil)
	}
	if len(left) == 1 {
		return fmt.Errorf("request %s was found and is %s", render.Escape(left[0].ID), why(&left[0]))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q fits %s, all of them excluded:", id, render.Plural(int64(len(left)), "request"))
	for i := range left[:min(len(left), candidatesShown)] {
		fmt.Fprintf(&b, "\n%s %s", render.Escape(left[i].ID), why(&left[i]))
	}
	if more := len(left) - candidatesShown; more > 0 {
		fmt.Fprintf(&b, "\n… %s more", render.Count(int64(more)))
	}
	return errors.New(b.String())
}

// ambiguous is the error of an id that several requests have (R3.1).
func (a *app) ambiguous(id string, found []analyze.Found) error {
	t := &render.Table{Columns: []render.Column{{Name: "request"}, {Name: "start"}, {Name: "ttft", Kind: render.Time}, {Name: "duration", Kind: render.Time}, {Name: "loads"}}}
	for _, f := range found[:min(len(found), candidatesShown)] {
		t.Add(render.Word(f.ID), render.Word(render.Instant(int64(f.Start), a.zone())), render.Known(f.TTFT), render.Of(f.Window), render.Word(f.Verdict.String()))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q fits %s: --all shows each, --latest the last\n", id, render.Plural(int64(len(found)), "request"))
	if err := t.Text(&b, render.Style{}); err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(f analyze.Found) bool { return f.Verdict != model.LoadNone }) {
		b.WriteString("loads: the verdict on their passes\n")
	}
	if len(found) > candidatesShown {
		fmt.Fprintf(&b, "… %s more\n", render.Count(int64(len(found)-candidatesShown)))
	}
	return usagef("%s", strings.TrimSuffix(b.String(), "\n"))
}

const candidatesShown = 20
