package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze"
	"github.com/cbtrace/cbtrace/internal/analyze/list"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render"
)

// listFlags are those of list.
type listFlags struct {
	sort    choice
	reverse bool
	limit   int
	all     bool
}

// unsorted is the order in which requests are met: that of hashes of their ids.
const unsorted = "none"

func newList(a *app) *cobra.Command {
	var in captureFlags
	var out outputFlags
	var f listFlags
	for k := range list.NumKeys {
		f.sort.of = append(f.sort.of, k.String())
	}
	f.sort = choice{f.sort.of[0], append(f.sort.of, unsorted)}
	cmd := &cobra.Command{
		Use:   "list [INPUT…]",
		Short: "requests as rows, filtered and sorted",
		Long: "Lists requests: when each began, how long it took, what the cache had for it, where most of its time went, and what is worth reading about it. " +
			"As jsonl, unless an order is asked for, rows come as they are worked out and nothing is kept.",
		Example: `  cbtrace list --sort ttft --limit 20 traces/       the slowest
  cbtrace list --sort hit_rate --limit 50 day.cbr   from a saved report
  cbtrace list --format csv traces/ > requests.csv  for a spreadsheet
  cbtrace list --since -10m --where '{ request.finding != nil }' traces/
                                                    what was odd of late
  cbtrace list --where '{ request.id = "chatcmpl-7f3a9c21-5d8f04b2" }' day/
                                                    one request, by its whole id, searched for as by inspect
  cbtrace list --format jsonl traces/ | jq -r 'select(.hit_rate < 0.3) | .id'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.limit < 0 {
				return usagef("--limit: want 0 (all) or more, have %d", f.limit)
			}
			stream := f.sort.value == unsorted || out.format.value == "jsonl" && !cmd.Flags().Changed("sort") && !f.reverse
			reports, rest := a.splitSaved(args)
			if len(reports) > 0 {
				if err := errors.Join(oneKind(reports, rest), onlySaved(cmd, reports[0], "key", "no-skew", "survey", "survey-out", "deadline", "keep-shutdown", "profile-map")); err != nil {
					return err
				}
				d, err := a.listSaved(reports, &in, &f)
				if err != nil {
					return err
				}
				return a.showList(&out, args, &f, d)
			}
			c, err := a.open(cmd.Context(), &in, args, viewing{id: in.where.id()})
			if err != nil {
				return err
			}
			defer c.Close()
			if stream {
				return a.streamList(cmd, c, &in, &f, &out, args)
			}
			all := f.others(&in)
			d, err := c.List(cmd.Context(), f.order(), f.limit, all)
			if err != nil {
				return err
			}
			if d.Total == 0 {
				return noneOf(cmd.Context(), c, &in.where)
			}
			a.alone(c.Counting(all))
			return a.showList(&out, args, &f, d)
		},
	}
	in.register(cmd)
	group(cmd, "Rows", func(s *pflag.FlagSet) {
		s.Var(&f.sort, "sort", "what comes first, as `ORDER`: start (the earliest), duration or ttft (the longest), hit_rate (the lowest), findings (the gravest), id; none: rows as they come")
		s.BoolVar(&f.reverse, "reverse", false, "the other way round; rows without the number stay last")
		s.IntVar(&f.limit, "limit", 0, "so many rows at most; 0: all")
		s.BoolVar(&f.all, "all", false, "requests without a stage of the vocabulary too")
	})
	out.register(cmd, "requests")
	return cmd
}

// others reports whether requests without a known stage were asked for: all of them, or the one of an id (R4.4).
func (f *listFlags) others(in *captureFlags) bool { return f.all || in.where.id() != "" }

// order is what was asked for; without an order the first there is.
func (f *listFlags) order() list.Order {
	for k := range list.NumKeys {
		if k.String() == f.sort.value {
			return list.Order{Key: k, Reverse: f.reverse}
		}
	}
	return list.Order{}
}

// showList prints a list. As jsonl it is its rows.
func (a *app) showList(out *outputFlags, args []string, f *listFlags, d *list.Document) error {
	if out.format.value == "jsonl" {
		return a.print(out.path, func(w io.Writer) error { return writeJSON(w, "jsonl", d.Requests) })
	}
	view := a.view(args)
	view.Sort = f.sort.value
	return show(a, out, view.List(d), []*list.Document{d})
}

// errEnough ends a stream of which no more is wanted.
var errEnough = errors.New("enough")

// streamList prints rows as they come, or gathers them for a format that needs all of them at once.
func (a *app) streamList(cmd *cobra.Command, c *analyze.Capture, in *captureFlags, f *listFlags, out *outputFlags, args []string) error {
	all := f.others(in)
	rows := func(emit func(*list.Row) error) (shown int64, err error) {
		_, err = c.StreamList(cmd.Context(), all, func(r *list.Row) error {
			if f.limit > 0 && shown == int64(f.limit) {
				return errEnough
			}
			shown++
			return emit(r)
		})
		switch {
		case errors.Is(err, errEnough):
			a.note("the first %s; there are more", render.Plural(shown, "request"))
			err = nil
		case err == nil && shown == 0:
			err = noneOf(cmd.Context(), c, &in.where)
		}
		if err == nil {
			a.alone(c.Counting(all))
		}
		return shown, err
	}
	if out.format.value == "jsonl" {
		return a.print(out.path, func(w io.Writer) error {
			_, err := rows(func(r *list.Row) error { return render.JSONLine(w, r) })
			return err
		})
	}
	d := &list.Document{Schema: list.Schema, Requests: []list.Row{}}
	n, err := rows(func(r *list.Row) error {
		d.Requests = append(d.Requests, *r)
		return nil
	})
	if err != nil {
		return err
	}
	d.Total, d.Shown = n, n
	return a.showList(out, args, f, d)
}

// listSaved lists the requests that saved reports keep (R8.4).
func (a *app) listSaved(paths []string, in *captureFlags, f *listFlags) (*list.Document, error) {
	if in.where.expr != nil {
		if err := in.where.expr.Saved(); err != nil {
			return nil, usagef("--where: %w", err)
		}
	}
	r, _, err := a.mergeSaved(paths)
	if err != nil {
		return nil, err
	}
	if err := a.judgeSaved(r, in.strict); err != nil {
		return nil, err
	}
	since, until, given := analyze.Between(in.since.when(), in.until.when(), r.Facts.End)
	if given {
		a.note("requests that start %s", interval(since, until, a.zone()))
	}
	found, others := list.Top{Order: f.order(), Limit: f.limit}, int64(0)
	table, which := r.Table(), r.Aggregate.Counting()
	which.Asked = which.Asked || f.others(in)
	var alike []analyze.Found // they begin as the id that --where asks for
	for d := range table.All {
		if d.Start < since || d.Start >= until {
			continue
		}
		if in.where.expr != nil {
			if fits, err := in.where.expr.MatchDigest(r.Dict, d); err != nil || !fits {
				if id := in.where.id(); id != "" && (strings.HasPrefix(d.ID, id) || strings.HasPrefix(d.External, id)) {
					alike = append(alike, analyze.Found{ID: d.ID, External: d.External, Match: analyze.MatchPrefix})
				}
				continue
			}
		}
		if !which.Counts(d.Flags) {
			others++
			continue
		}
		q := list.OfDigest(d)
		found.Add(&q)
	}
	if found.Total == 0 {
		where := ""
		if in.where.expr != nil {
			where = in.where.expr.String()
		}
		return nil, errors.New("no request found" + selection(where, since, until, given) + " in " + render.Plural(int64(len(paths)), "saved report") + uncounted(others) + meant(&in.where, alike))
	}
	a.alone(which)
	doc := found.Document(r.Dict)
	if kept := int64(table.Len()); kept < table.Total {
		doc.Of = model.Some(table.Total)
		a.note("%s of %s: a saved report keeps a sample", render.Count(kept), render.Plural(table.Total, "request"))
	}
	return doc, nil
}
