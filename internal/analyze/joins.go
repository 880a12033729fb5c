package analyze

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/model"
)

// What looks as if it belonged to a request and does not, for one that looks incomplete (inspect --explain-join). This is the only analysis that looks
// past its request: it joins nothing and changes no number.

const (
	maxRelatives = 12 // of a request that are named, the best reasons first
	maxAlike     = 4  // of them for one reason and of the same kinds of process
	leastAlike   = 6  // characters of an id that another one holds
)

// spanKey is a span of a trace.
type spanKey struct {
	trace model.TraceID
	span  model.SpanID
}

// A joining is a request, and what was found for it by one worker.
type joining struct {
	id, group string // group: without the number of an execution (R4.7)
	ids       []string
	traces    map[model.TraceID]bool
	spans     map[spanKey]bool
	parents   map[spanKey]bool // named by its spans, and not in it
	owners    owners
	seen      owners     // in the inputs, other requests and none included
	standard  bool       // of the standard path, in which scheduler and worker write nothing
	from, to  model.Time // raw; 0: untimed
	found     []inspect.Relative
	more      int64
	process   map[processRelative]*inspect.Relative
}

// owners says of which kinds of process there are records.
type owners [model.Server + 1]bool

type processRelative struct {
	proc model.ProcID
	why  inspect.Relation
}

// Relatives finds for requests with these ids what looks as if it belonged to them, by their ids.
func (c *Capture) Relatives(ctx context.Context, ids []string) (map[string]*inspect.Joins, error) {
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	found := make([][]*joining, c.opt.jobs())
	err := c.rows(ctx, func(w int) func(*analyzer, *model.Row) error {
		return func(a *analyzer, row *model.Row) error {
			if wanted[row.ID] {
				found[w] = append(found[w], joiningOf(a.req))
			}
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	subjects := slices.Concat(found...)
	workers := make([][]*joining, c.opt.jobs())
	err = c.partitions(ctx, func(w int) func(*model.Request) error {
		for _, s := range subjects {
			workers[w] = append(workers[w], s.fresh())
		}
		return func(g *model.Request) error {
			for _, s := range workers[w] {
				s.look(g)
			}
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	if err := c.store.ReadProcess(ctx, func(p *model.Span) error {
		for _, s := range subjects {
			s.lookProcess(c.Dict, p)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	out := map[string]*inspect.Joins{}
	for n, s := range subjects {
		for w := range workers {
			if len(workers[w]) > 0 { // a worker may never have begun
				s.merge(workers[w][n])
			}
		}
		out[s.id] = s.joins()
	}
	return out, nil
}

// joiningOf takes from a linked request what is asked of others.
func joiningOf(r *model.Request) *joining {
	s := &joining{id: strings.Clone(r.ID), traces: map[model.TraceID]bool{}, spans: map[spanKey]bool{}, parents: map[spanKey]bool{}, process: map[processRelative]*inspect.Relative{}}
	s.group = s.id
	if at := strings.LastIndexByte(s.id, '#'); at > 0 && r.Reused {
		s.group = s.id[:at]
	}
	for _, id := range []string{s.group, strings.Clone(r.External)} {
		if id != "" && r.Key == model.KeyID && !slices.Contains(s.ids, id) {
			s.ids = append(s.ids, id)
		}
	}
	standard, blend := false, false
	for _, x := range r.Spans {
		if x.Has(model.FlagSynthetic) {
			continue
		}
		s.owners[x.Owner()] = true
		name := r.Dict.Str(x.StageKey)
		standard = standard || strings.HasPrefix(name, "mp.") || x.Stage == model.StageRequest
		blend = blend || strings.HasPrefix(name, "cb.")
		if !x.Trace.IsZero() {
			s.traces[x.Trace] = true
			s.spans[spanKey{x.Trace, x.ID}] = true
		}
		s.extend(x)
	}
	s.standard = standard && !blend
	s.seen = s.owners
	for _, x := range r.Spans {
		if key := (spanKey{x.Trace, x.ParentID}); !x.ParentID.IsZero() && !x.Trace.IsZero() && !s.spans[key] {
			s.parents[key] = true
		}
	}
	return s
}

func (s *joining) extend(x *model.Span) {
	if x.Has(model.FlagUntimed) {
		return
	}
	if s.from == 0 || x.RawStart < s.from {
		s.from = x.RawStart
	}
	s.to = max(s.to, x.RawStart, x.RawEnd)
}

// fresh is the request with nothing found, for another worker.
func (s *joining) fresh() *joining {
	out := *s
	out.found, out.more, out.process = nil, 0, nil
	return &out
}

// look tells what another request has to do with this one.
func (s *joining) look(g *model.Request) {
	if g.ID == s.group {
		return
	}
	why := s.byID(g)
	for _, x := range g.Spans {
		s.seen[x.Owner()] = true
		if r := s.bySpan(x); r != inspect.NoRelation && (why == inspect.NoRelation || r < why) {
			why = r
		}
	}
	if why == inspect.NoRelation && s.complements(g) {
		why = inspect.SameTime
	}
	if why == inspect.NoRelation {
		return
	}
	of := inspect.Relative{Why: why, ID: strings.Clone(g.ID)}
	var other joining
	for _, x := range g.Spans {
		of.Spans++
		of.Owner(x.Owner())
		of.Stage(g.Dict, x)
		other.extend(x)
	}
	of.Start(other.from, s.from)
	s.keep(of)
}

// byID tells what the ids of another request say.
func (s *joining) byID(g *model.Request) inspect.Relation {
	best := inspect.NoRelation
	for _, own := range s.ids {
		for _, id := range []string{g.ID, g.External} {
			r := inspect.NoRelation
			switch {
			case id == "" || g.Key != model.KeyID:
			case own == id:
				r = inspect.SameExternal
			case model.Family(own) == model.Family(id):
				r = inspect.SameFamily
			case len(own) >= leastAlike && holds(id, own), len(id) >= leastAlike && holds(own, id), strings.EqualFold(own, id):
				r = inspect.AlikeID
			}
			if r != inspect.NoRelation && (best == inspect.NoRelation || r < best) {
				best = r
			}
		}
	}
	return best
}

// holds reports whether a part of an id, between what are no letters or digits, is another id.
func holds(id, part string) bool {
	at := strings.Index(id, part)
	if at < 0 {
		return false
	}
	inWord := func(i int) bool {
		return i >= 0 && i < len(id) && (id[i] >= '0' && id[i] <= '9' || id[i] >= 'a' && id[i] <= 'z' || id[i] >= 'A' && id[i] <= 'Z')
	}
	return !inWord(at-1) && !inWord(at+len(part))
}

// bySpan tells what one span of another request, or of none, says.
func (s *joining) bySpan(x *model.Span) inspect.Relation {
	switch {
	case x.Trace.IsZero():
	case s.parents[spanKey{x.Trace, x.ID}]:
		return inspect.ParentOfIts
	case s.spans[spanKey{x.Trace, x.ParentID}]:
		return inspect.ChildOfIts
	case s.traces[x.Trace]:
		return inspect.SameTrace
	}
	return inspect.NoRelation
}

// complements reports whether another request has only what is missing here, at the same time: over half of the shorter one on raw clocks.
func (s *joining) complements(g *model.Request) bool {
	if s.from == 0 {
		return false
	}
	var other joining
	for _, x := range g.Spans {
		owner := x.Owner()
		if owner == model.OwnerNone {
			continue
		}
		if s.owners[owner] || !s.wants(owner) {
			return false
		}
		other.extend(x)
	}
	if other.from == 0 {
		return false
	}
	shared := min(s.to, other.to) - max(s.from, other.from)
	return shared > 0 && 2*shared > min(s.to-s.from, other.to-other.from)
}

// wants reports whether a kind of process writes something of such a request.
func (s *joining) wants(o model.Owner) bool {
	return !s.standard || o == model.Engine || o == model.Server
}

// lookProcess tells what a record of no request has to do with this one.
func (s *joining) lookProcess(d *model.Dict, x *model.Span) {
	owner := x.Owner()
	s.seen[owner] = true
	why := s.bySpan(x)
	if why == inspect.NoRelation {
		if owner == model.OwnerNone || s.owners[owner] || !s.wants(owner) || s.from == 0 || x.Has(model.FlagUntimed) || x.RawStart < s.from || x.RawStart > s.to {
			return
		}
		why = inspect.SameTime
	}
	key := processRelative{x.Proc, why}
	of := s.process[key]
	if of == nil {
		of = &inspect.Relative{Why: why, Process: strings.Clone(d.Proc(x.Proc).Name)}
		s.process[key] = of
	}
	of.Spans++
	of.Owner(owner)
	of.Stage(d, x)
	of.Start(x.RawStart, s.from)
}

// keep puts a relative into the list, or counts it where others come first.
func (s *joining) keep(of inspect.Relative) {
	at, _ := slices.BinarySearchFunc(s.found, of, compareRelatives)
	s.found = slices.Insert(s.found, at, of)
	alike, last := 0, len(s.found)-1
	for i := range s.found {
		if x := &s.found[i]; x.Why == of.Why && slices.Equal(x.Owners, of.Owners) {
			if alike++; alike > maxAlike {
				last = i
			}
		}
	}
	if alike > maxAlike || len(s.found) > maxRelatives {
		s.more++
		s.found = slices.Delete(s.found, last, last+1)
	}
}

func compareRelatives(a, b inspect.Relative) int {
	return cmp.Or(cmp.Compare(a.Why, b.Why), cmp.Compare(a.Distance(), b.Distance()), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Process, b.Process))
}

func (s *joining) merge(o *joining) {
	for owner := range o.seen {
		s.seen[owner] = s.seen[owner] || o.seen[owner]
	}
	s.more += o.more
	for _, of := range o.found {
		s.keep(of)
	}
}

// joins is what was found, the best reasons first, then what began nearest to the request.
func (s *joining) joins() *inspect.Joins {
	for _, of := range s.process {
		s.keep(*of)
	}
	out := &inspect.Joins{Relatives: s.found, More: s.more}
	for owner := model.Engine; owner <= model.Server; owner++ {
		switch {
		case s.owners[owner] || !s.wants(owner):
		case s.seen[owner]:
			out.Missing = append(out.Missing, owner.String())
		default:
			out.Absent = append(out.Absent, owner.String())
		}
	}
	return out
}
