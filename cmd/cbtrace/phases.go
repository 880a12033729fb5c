package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/where"
	"github.com/cbtrace/cbtrace/internal/ingest"
	"github.com/cbtrace/cbtrace/internal/ingest/profile"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/store"
	"github.com/cbtrace/cbtrace/internal/render"
)

// What lies between the inputs and the phases of package analyze.

// reader is a set of inputs as the phases want to read it.
func reader(set *ingest.Set, opt ingest.Options) analyze.Read {
	return func(ctx context.Context, d *model.Dict, newSink func() analyze.Sink) ([]model.InputStats, error) {
		return set.Read(ctx, d, opt, func() ingest.Sink { return newSink() })
	}
}

// open takes the inputs that the arguments name through the first phases and says what was wrong with them.
func (a *app) open(ctx context.Context, f *captureFlags, args []string, v viewing) (*analyze.Capture, error) {
	c, err := a.capture(ctx, f, args, v)
	if err != nil {
		return nil, err
	}
	if err := a.judge(c, f); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// A viewing says what of a capture will be looked at. The zero value: what the table of attributes holds, of all requests.
type viewing struct {
	whole         bool   // all that spans hold
	showSensitive bool   // secrets too
	saved         bool   // a report of it will be saved
	id            string // only requests that this may mean, "" for all: large inputs are searched for it (R5.7)
}

// capture is open for those who say themselves what was wrong with the inputs.
func (a *app) capture(ctx context.Context, f *captureFlags, args []string, v viewing) (c *analyze.Capture, err error) {
	set, opt, read, err := a.reading(f, args)
	if err != nil {
		return nil, err
	}
	read.KeepAll, read.ShowSensitive = v.whole, v.showSensitive
	opt.Saved = v.saved
	if v.id != "" && f.mayPick() {
		if err := a.pick(ctx, set, &read, &opt, f, v.id); err != nil {
			return nil, err
		}
	}
	if f.where.expr != nil {
		opt.Where = f.where.expr
	}
	for _, path := range f.survey {
		file, err := a.openNamed(path)
		if err != nil {
			return nil, fmt.Errorf("--survey: %w", err)
		}
		defer file.Close()
		opt.Surveys = append(opt.Surveys, file)
	}
	work := func(w io.Writer) error {
		opt.SurveyOut = w
		c, err = analyze.Open(ctx, reader(set, read), opt)
		return err
	}
	if f.surveyOut != "" {
		err = a.print(f.surveyOut, work)
	} else {
		err = work(nil)
	}
	if err == nil && opt.Sampled {
		var doubt bool
		if doubt, err = c.Doubtful(ctx, v.id); doubt && err == nil {
			a.note("the sample does not tell enough of the clocks or processes of %s: reading everything", v.id)
			a.leftovers(c)
			err = c.Close()
			read.Pick, opt.Picked, opt.Sampled = nil, false, false
			if p := read.Progress; p != nil { // it counts what is read from the beginning
				p.Bytes.Store(0)
				p.Spans.Store(0)
			}
			if err == nil {
				err = work(nil)
			}
		}
	}
	if err != nil {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
		return nil, err
	}
	return c, nil
}

// pick has only that read of large inputs which an id needs, with a sample of the rest where there is no survey table (R5.7).
func (a *app) pick(ctx context.Context, set *ingest.Set, read *ingest.Options, opt *analyze.Options, f *captureFlags, id string) (err error) {
	sampled := len(f.survey) == 0
	if read.Pick, err = set.Pick(ctx, id, sampled, *read); err != nil || read.Pick == nil {
		return err
	}
	opt.Picked, opt.Sampled = true, sampled
	text := fmt.Sprintf("searched %s for %s", render.Bytes(read.Pick.Searched), id)
	if sampled {
		text += fmt.Sprintf("; clocks from a sample of %s (--survey full reads everything)", render.Bytes(read.Pick.Sampled))
	}
	a.note("%s", text)
	return nil
}

// reading finds the inputs that the arguments name, and says how they are to be read and worked on.
func (a *app) reading(f *captureFlags, args []string) (set *ingest.Set, opt analyze.Options, read ingest.Options, err error) {
	if err := f.check(); err != nil {
		return nil, opt, read, &usageError{err}
	}
	if set, err = a.inputs(args); err != nil {
		return nil, opt, read, err
	}
	limitHeap(int64(f.memory))
	opt = analyze.Options{
		Memory: int64(f.memory), Input: set.Size(), Jobs: f.jobs, NoSkew: f.noSkew, KeepShutdown: f.keepShutdown, Deadline: time.Duration(f.deadline),
		Since: f.since.when(), Until: f.until.when(), Key: map[string]store.KeyMode{"auto": store.KeyAuto, "id": store.KeyByID, "trace": store.KeyByTrace}[f.key.value],
	}
	read = ingest.Options{Jobs: f.jobs, Progress: a.progress(set)}
	if f.profileMap != "" {
		if read.ProfileKeys, err = a.profileKeys(f.profileMap); err != nil {
			return nil, opt, read, &usageError{fmt.Errorf("--profile-map: %w", err)}
		}
	}
	return set, opt, read, a.spareInputs(set, read)
}

// profileKeys reads a file of --profile-map.
func (a *app) profileKeys(path string) (*profile.Keys, error) {
	f, err := a.openNamed(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return profile.ReadMap(f, path)
}

func (t *instant) when() analyze.When {
	switch {
	case t.text == "":
		return analyze.When{}
	case t.before > 0:
		return analyze.When{Ago: t.before, Relative: true, Set: true}
	}
	return analyze.When{At: model.Time(t.at.UnixNano()), Set: true}
}

// judge says what became of the inputs, and returns an error where that ends the run (R3.4).
func (a *app) judge(c *analyze.Capture, f *captureFlags) error {
	var unusable []error
	foreign, bad, records := 0, 0, int64(0)
	for i := range c.Inputs {
		in := &c.Inputs[i]
		records += in.Spans + in.Records
		switch {
		case in.Unusable != "" && in.Named && !f.keepGoing:
			unusable = append(unusable, fmt.Errorf("%s: %s", in.Path, in.Unusable))
			continue
		case in.Unusable != "":
			if foreign++; foreign <= foreignShown || in.Named {
				a.note("%s: %s", in.Path, in.Unusable)
			}
			if !in.Foreign() {
				bad++
			}
			continue
		case in.Skipped > 0 || in.ErrorCount > 0 || in.Truncated:
			bad++
		}
		a.problems(in)
	}
	a.remarks(c.Inputs)
	if foreign > foreignShown {
		a.note("%s more that cannot be used", render.Plural(int64(foreign-foreignShown), "file"))
	}
	a.leftovers(c)
	if n, bytes, _ := c.Spilled(); n > 0 {
		a.note("wrote %s (%s) to disk: --memory is less than the records take", render.Plural(int64(n), "partition"), render.Bytes(bytes))
	}
	if since, until, ok := c.Interval(); ok {
		a.note("requests that start %s", interval(since, until, a.zone()))
	}
	if since, until, ok := c.Interval(); ok && since > until {
		return usagef("--since is after --until: %s is after %s", render.Instant(int64(since), a.zone()), render.Instant(int64(until), a.zone()))
	}
	switch {
	case len(unusable) > 0:
		return errors.Join(unusable...)
	case f.strict && bad > 0:
		return fmt.Errorf("--strict: something was bad in %s", render.Plural(int64(bad), "input"))
	case records == 0 && !c.Picked(): // no record holds the id
		return missingf("nothing could be read from %s", render.Plural(int64(len(c.Inputs)), "file"))
	}
	return nil
}

// leftovers says what of dead runs was removed.
func (a *app) leftovers(c *analyze.Capture) {
	for _, l := range c.Leftovers() {
		a.note("removed %s (%s), which an earlier run left behind", l.Dir, render.Bytes(l.Bytes))
	}
}

// problems says what was wrong with an input.
func (a *app) problems(in *model.InputStats) {
	for n, text := range in.Errors {
		if n == errorsShown {
			a.note("%s: %s more", in.Path, render.Plural(in.ErrorCount-errorsShown, "problem"))
			break
		}
		a.note("%s", in.Here(text))
	}
}

// remarks says what is to be remarked about inputs, once where it is the same of several.
func (a *app) remarks(inputs []model.InputStats) {
	files, order := map[string][]string{}, []string{}
	for i := range inputs {
		for _, text := range inputs[i].Notes {
			if files[text] == nil {
				order = append(order, text)
			}
			files[text] = append(files[text], inputs[i].Path)
		}
	}
	for _, text := range order {
		of := files[text][0]
		if n := len(files[text]) - 1; n > 0 {
			of += " and " + render.Count(int64(n)) + " more"
		}
		a.note("%s: %s", of, text)
	}
}

const (
	foreignShown = 5 // files of a folder that are no captures
	errorsShown  = 3 // problems of an input
)

// interval is what --since and --until select, in words.
func interval(since, until model.Time, where *time.Location) string {
	var text []string
	if since > -1<<63 {
		text = append(text, "from "+render.Instant(int64(since), where))
	}
	if until < 1<<63-1 {
		text = append(text, "before "+render.Instant(int64(until), where))
	}
	return strings.Join(text, ", ")
}

// noRequest is the error of a capture in which no request was found: what names were seen and what was missing (R3.4).
func noRequest(c *analyze.Capture) error {
	if of := selected(c); of != "" {
		return missingf("no request found%s%s", of, uncounted(c.Others()))
	}
	var names []string
	for i := range c.Inputs {
		names = append(names, c.Inputs[i].Names...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	text := "no request found: no span has a session_id, request_id, req_id or external_request_id, and no llm_request a gen_ai.request.id"
	if len(names) == 0 {
		return missingf("%s", text)
	}
	more := ""
	if len(names) > namesShown {
		names, more = names[:namesShown], ", …"
	}
	return missingf("%s\nspan names seen: %s%s", text, strings.Join(names, ", "), more)
}

const namesShown = 20

// selection says which requests --where, --since and --until select: " that satisfies … and starts …"; "" where all are.
func selection(where string, since, until model.Time, some bool) string {
	of, and := "", " that"
	if where != "" {
		of, and = " that satisfies "+where, " and"
	}
	if some {
		of += and + " starts " + interval(since, until, nil)
	}
	return of
}

// selected is the selection of a capture.
func selected(c *analyze.Capture) string {
	since, until, some := c.Interval()
	return selection(c.Facts().Analysis.Where, since, until, some)
}

// uncounted says where nothing else was found that so many requests do not count (R4.4).
func uncounted(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", but %s without a known stage (cbtrace list --all)", render.Plural(n, "request"))
}

// alone says that requests without a known stage count because there is nothing else (R4.4).
func (a *app) alone(which report.Counting) {
	if which.Alone() {
		a.note("no stage of the vocabulary in this capture: every trace counts as a request")
	}
}

// noneOf is noRequest for a command that may have been given the beginning of an id, or another id of a request, in --where, which compares the whole one.
func noneOf(ctx context.Context, c *analyze.Capture, f *filter) error {
	err := noRequest(c)
	if f.id() == "" {
		return err
	}
	left, failed := c.LeftOut(ctx, f.id())
	if failed != nil {
		return failed
	}
	if hint := meant(f, left); hint != "" {
		return missingf("%w%s", err, hint)
	}
	return err
}

// meant says what to write for requests that are there and of which --where may have a part of an id, or another id; "" where there are none.
func meant(f *filter, left []analyze.Found) string {
	id, begin, external, want := f.id(), int64(0), int64(0), ""
	for i := range left {
		if strings.HasPrefix(left[i].ID, id) {
			begin++
		}
		if strings.HasPrefix(left[i].External, id) {
			external++
		}
	}
	n := int64(1)
	switch beginning := "`" + regexp.QuoteMeta(id) + ".*`"; {
	case len(left) == 0 || left[0].ID == id || f.expr.IDField() == where.FieldExternalID && left[0].External == id: // something else leaves it out
		return ""
	case len(left) == 1 && f.expr.IDField() == where.FieldExternalID && strings.HasPrefix(left[0].External, id):
		want = fmt.Sprintf("%s = %q", where.FieldExternalID, left[0].External)
	case len(left) == 1:
		want = fmt.Sprintf("%s = %q", where.FieldID, left[0].ID)
	case begin > 0:
		want, n = where.FieldID+" =~ "+beginning, begin
	case external > 0:
		want, n = where.FieldExternalID+" =~ "+beginning, external
	default:
		return ""
	}
	return fmt.Sprintf("\n= wants a whole id; what begins so: %s, of %s", want, render.Plural(n, "request"))
}
