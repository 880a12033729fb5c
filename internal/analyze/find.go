package analyze

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Match is how a request fits what was asked for, the best first (R3.1).
type Match uint8

const (
	NoMatch     Match = iota
	MatchID           // its id: internal, else external, else trace
	MatchOther        // its external id, a trace it has spans in, or the id of which it is a later execution
	MatchPrefix       // its id, external id or one of its traces begins so
)

// A Found is a request that fits what was asked for.
type Found struct {
	ID, External string
	Start        model.Time
	Window       int64 // ns
	TTFT         model.Opt
	Verdict      model.Verdict
	Match        Match
	Outside      bool // of one that was left out: it starts at another time; false: it does not satisfy Options.Where

	doubtful bool // the sample may be too little for it
}

// A Query is what inspect was asked for: an id, external id, trace id (16 or 32 hex digits) or a beginning of at least 6 characters.
type Query struct {
	text string
	low  string // lower case, for trace ids
}

// NewQuery prepares a query.
func NewQuery(text string) Query { return Query{text, strings.ToLower(text)} }

func (q Query) match(r *model.Request) Match {
	if r.ID == q.text {
		return MatchID
	}
	if r.External == q.text && r.External != "" || r.Reused && strings.HasPrefix(r.ID, q.text+"#") || q.matchTrace(r) {
		return MatchOther
	}
	if len(q.text) >= model.MinPrefix && (strings.HasPrefix(r.ID, q.text) || strings.HasPrefix(r.External, q.text) || q.anyTrace(r, func(text string) bool { return strings.HasPrefix(text, q.low) })) {
		return MatchPrefix
	}
	return NoMatch
}

func (q Query) matchTrace(r *model.Request) bool {
	if len(q.text) != 32 && len(q.text) != 16 {
		return false
	}
	want := strings.Repeat("0", 32-len(q.low)) + q.low
	return q.anyTrace(r, func(text string) bool { return text == want || len(q.low) == 16 && strings.HasSuffix(text, q.low) })
}

// anyTrace reports whether a trace that a request has spans in is what hex digits ask for.
func (q Query) anyTrace(r *model.Request, is func(text string) bool) bool {
	if strings.Trim(q.low, "0123456789abcdef") != "" {
		return false
	}
	var last model.TraceID
	for _, s := range r.Spans {
		if s.Trace == last {
			continue
		}
		last = s.Trace
		if is(r.Dict.TraceIDText(s.Trace)) {
			return true
		}
	}
	return false
}

// nearLimit is how many near ids a failed search names.
const nearLimit = 5

// Find lists the requests that fit a query: those of the best kind of match alone, in order of (start, id). Without any it names the ids that
// are most like it.
func (c *Capture) Find(ctx context.Context, query string) (found []Found, near []string, err error) {
	err = c.seek(ctx, query)
	return slices.Clone(c.sought.found), slices.Clone(c.sought.near), err
}

// LeftOut lists the requests that fit a query for which Find finds none: they are there, and Options.Since, Until or Where leave them out.
func (c *Capture) LeftOut(ctx context.Context, query string) ([]Found, error) {
	err := c.seek(ctx, query)
	return slices.Clone(c.sought.left), err
}

func (c *Capture) seek(ctx context.Context, query string) (err error) {
	if c.sought.query != query || !c.sought.done {
		c.sought = sought{query: query}
		err = c.find(ctx, &c.sought)
		c.sought.done = err == nil
	}
	return err
}

// sought is what was found last: whoever opens a sample asks before whoever shows it.
type sought struct {
	query    string
	done     bool
	found    []Found
	left     []Found // that fit and are not selected, where none is that fits
	near     []string
	doubtful bool
}

func (c *Capture) find(ctx context.Context, s *sought) error {
	q := NewQuery(s.query)
	workers := make([]finds, c.opt.jobs())
	err := c.judgedOf(ctx, nil, func(w int) (func(*model.Request) bool, func(*analyzer, *model.Row, selection) error) {
		f := &workers[w]
		wanted := func(r *model.Request) bool {
			f.near(s.query, r.ID)
			return q.match(r) != NoMatch
		}
		return wanted, func(a *analyzer, row *model.Row, s selection) error {
			to := &f.found
			if s != selected {
				to = &f.left
			}
			*to = append(*to, Found{ID: row.ID, External: row.External, Start: row.Start, Window: row.Window, TTFT: row.TTFT, Verdict: row.Verdict, Match: q.match(a.req),
				Outside: s == otherTime, doubtful: c.opt.Sampled && a.checker.Doubts(a.req)}.clone())
			return nil
		}
	})
	if err != nil {
		return err
	}
	var all finds
	for _, f := range workers {
		all.found = append(all.found, f.found...)
		all.left = append(all.left, f.left...)
		for _, n := range f.nearest {
			all.add(n)
		}
	}
	fits, list := all.found, &s.found
	if len(fits) == 0 {
		fits, list = all.left, &s.left
	}
	s.doubtful = slices.ContainsFunc(fits, func(f Found) bool { return f.doubtful }) // whatever they fit by: list shows them too
	if *list = best(fits); len(*list) > 0 {
		return nil
	}
	for _, n := range all.nearest {
		s.near = append(s.near, n.id)
	}
	return nil
}

// best are those of the best kind of match, in order of (start, id).
func best(all []Found) []Found {
	if len(all) == 0 {
		return nil
	}
	best := slices.MinFunc(all, func(a, b Found) int { return cmp.Compare(a.Match, b.Match) }).Match
	all = slices.DeleteFunc(all, func(f Found) bool { return f.Match != best })
	slices.SortFunc(all, func(a, b Found) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Picked reports whether only what some requests need was read (R5.7).
func (c *Capture) Picked() bool { return c.opt.Picked }

// Sampled reports whether a sample of the others came with it.
func (c *Capture) Sampled() bool { return c.opt.Sampled }

// Doubtful reports whether the sample is too little for the requests that fit a query: reading everything may tell of their clocks, or of the end of a
// process, what it does not (R5.7).
func (c *Capture) Doubtful(ctx context.Context, query string) (bool, error) {
	err := c.seek(ctx, query)
	return c.sought.doubtful, err
}

// finds is what one worker found.
type finds struct {
	found   []Found
	left    []Found // that fit and are not selected
	nearest []nearID
}

type nearID struct {
	id    string
	alike int
}

// near keeps an id when it is among those most like the query.
func (f *finds) near(query, id string) {
	if n := alike(query, id); n > 0 && (len(f.nearest) < nearLimit || n >= f.nearest[len(f.nearest)-1].alike) {
		f.add(nearID{strings.Clone(id), n})
	}
}

func (f *finds) add(n nearID) {
	f.nearest = append(f.nearest, n)
	slices.SortFunc(f.nearest, func(a, b nearID) int { return cmp.Or(cmp.Compare(b.alike, a.alike), cmp.Compare(a.id, b.id)) })
	f.nearest = f.nearest[:min(len(f.nearest), nearLimit)]
}

// fewestAlike is how many characters make ids alike.
const fewestAlike = 3

// alike is how many characters a query shares with an id: at both ends, counted once, or all of it where the id holds it.
func alike(a, b string) int {
	if len(a) >= fewestAlike && strings.Contains(b, a) {
		return len(a)
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	a, b = a[n:], b[n:]
	m := 0
	for m < len(a) && m < len(b) && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	if n+m < fewestAlike {
		return 0
	}
	return n + m
}
