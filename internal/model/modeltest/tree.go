// Package modeltest writes requests as indented text, for tests.
//
//	cb.request          sched   0ms 90ms
//	  cb.schedule       sched   0ms 60ms
//	    cb.lookup.rpc   sched   5ms 50ms  n_polls=4
//
// A line is a name, a process, a start and an end after Epoch (Go durations; `-` as end: open, as start and end: untimed) and words: key=value
// for an attribute; id=, parent=, trace=, scope= and polls= (instants, separated by commas) for what is no attribute; error; +flag for a flag as
// outputs name it. parent= names a parent id that is not in the request. The indentation makes the tree; further lines without it are adopted.
package modeltest

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Epoch is the instant that times in texts are told from.
const Epoch model.Time = 1_700_000_000_000_000_000

// Request makes a linked request of a text as the text has it. Its root is the first span, its window the root's interval widened to the
// foreground spans of the vocabulary (not for an llm_request). Times are aligned as they are raw. Spans of a process "server…" have the
// scope lmcache_mp.server unless they name one.
func Request(t testing.TB, text string) *model.Request {
	t.Helper()
	r := parse(t, text)
	r.Root = r.Spans[0]
	r.Root.Edge = model.EdgeRoot
	for _, s := range r.Spans[1:] {
		switch {
		case s.Parent == nil:
			s.Parent, s.Edge = r.Root, model.EdgeAdopted
		case s.Parent.Proc == s.Proc:
			s.Edge = model.EdgeParent
		default:
			s.Edge = model.EdgePropagated
		}
		s.Parent.Kids = append(s.Parent.Kids, s)
	}
	order := r.order()
	for _, s := range r.Spans {
		if s.RawEnd == 0 && s.RawStart != 0 {
			s.RawEnd, s.End = s.RawStart, s.Start
		}
		if s.RawEnd < s.RawStart {
			s.Flags |= model.FlagNegative
		}
		slices.SortStableFunc(s.Kids, order)
	}
	slices.SortStableFunc(r.Spans, order)
	r.OwnStart, r.OwnEnd = r.Root.Start, r.Root.End
	r.WindowStart, r.WindowEnd = r.Root.Start, r.Root.End
	for _, s := range r.Spans {
		if r.Root.Stage != model.StageLLMRequest && s.Known() && s.Class == model.Work && !s.Has(model.FlagShutdown|model.FlagTransparent|model.FlagUntimed) {
			r.WindowStart, r.WindowEnd = min(r.WindowStart, s.Start), max(r.WindowEnd, s.End)
		}
	}
	r.TakeNotes(nil)
	return r.Request
}

// Linked makes a request of a text as the program does: cleaned, and linked by ids (the indentation) and adoption, on raw times.
// Flags that cleaning and linking set need not be written.
func Linked(t testing.TB, text string) *model.Request {
	t.Helper()
	r := parse(t, text)
	for _, s := range r.Spans {
		s.Parent = nil
	}
	slices.SortStableFunc(r.Spans, func(a, b *model.Span) int {
		if u, v := a.Has(model.FlagUntimed), b.Has(model.FlagUntimed); u != v {
			return map[bool]int{true: 1, false: -1}[u]
		}
		return r.order()(a, b)
	})
	var b model.Builder
	parts := b.Clean(r.Request)
	if len(parts) != 1 {
		t.Fatalf("%d executions, want one", len(parts))
	}
	b.Link(parts[0], 0, noClock{}, model.LinkOptions{})
	return parts[0]
}

type request struct{ *model.Request }

func (r request) order() func(a, b *model.Span) int {
	return func(a, b *model.Span) int {
		if c := cmp.Compare(a.Start, b.Start); c != 0 {
			return c
		}
		return r.Dict.CompareSpanIDs(a.ID, b.ID)
	}
}

// parse reads the lines; the indentation gives Parent and ParentID.
func parse(t testing.TB, text string) request {
	t.Helper()
	b := builder{t: t, dict: model.NewDict()}
	r := &model.Request{Identity: model.Identity{ID: "r"}, Dict: b.dict}
	type level struct {
		indent int
		span   *model.Span
	}
	var open []level
	for line := range strings.Lines(text) {
		trimmed := strings.TrimLeft(line, " \t")
		if strings.TrimSpace(trimmed) == "" {
			continue
		}
		indent := len(line) - len(trimmed)
		s := b.span(strings.Fields(trimmed))
		for len(open) > 0 && open[len(open)-1].indent >= indent {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			s.Parent = open[len(open)-1].span
			s.ParentID = s.Parent.ID
		}
		open = append(open, level{indent, s})
		r.Spans = append(r.Spans, s)
	}
	if len(r.Spans) == 0 {
		t.Fatal("a request without spans")
	}
	return request{r}
}

type builder struct {
	t    testing.TB
	dict *model.Dict
	n    uint64
}

func (b *builder) span(words []string) *model.Span {
	b.t.Helper()
	if len(words) < 4 {
		b.t.Fatalf("want name, process, start and end, have %q", words)
	}
	b.n++
	name := b.dict.InternString(words[0])
	s := &model.Span{
		Name: name, Stage: b.dict.Stage(name), Kin: b.dict.Kin(name), Trace: traceID("0"), ID: model.HexID(b.n), Kind: 1,
		Res: b.dict.Resource(model.Resource{Instance: words[1]}, ""), RawStart: b.time(words[2]), RawEnd: b.time(words[3]),
	}
	s.Proc = b.dict.Res(s.Res).Proc
	s.StageKey = name
	if s.Known() {
		s.StageKey = s.Stage.ID()
	}
	s.Class = s.Kin.Info().Class
	switch {
	case s.RawStart == 0:
		s.Flags |= model.FlagUntimed
	case s.RawEnd == 0:
		s.Flags |= model.FlagOpen
	}
	s.Start, s.End = s.RawStart, s.RawEnd
	scope := "lmcache_cacheblend"
	if strings.HasPrefix(words[1], "server") {
		scope = "lmcache_mp.server"
	}
	for _, w := range words[4:] {
		key, value, _ := strings.Cut(w, "=")
		switch {
		case strings.HasPrefix(w, "+"):
			b.flag(s, w[1:])
		case w == "error":
			s.Error = true
		case key == "id":
			s.ID = model.SpanID{N: uint64(b.dict.InternString(value)), Kind: model.IDOpaque}
		case key == "parent":
			s.ParentID = model.SpanID{N: uint64(b.dict.InternString(value)), Kind: model.IDOpaque}
		case key == "trace":
			s.Trace = traceID(value)
		case key == "scope":
			scope = value
		case key == "polls":
			for p := range strings.SplitSeq(value, ",") {
				s.Polls = append(s.Polls, b.time(p))
			}
		default:
			k := model.AttrOf([]byte(key))
			if k == model.AttrNone {
				b.t.Fatalf("%q is no attribute of the vocabulary", key)
			}
			s.Attrs = append(s.Attrs, model.Attr{Key: k, Value: model.Typed(k, model.Value{Kind: model.StrValue, Str: value})})
		}
	}
	s.Scope = b.dict.InternString(scope)
	s.LMScope, s.MPScope = strings.HasPrefix(scope, "lmcache"), strings.HasPrefix(scope, "lmcache_mp")
	return s
}

func (b *builder) time(text string) model.Time {
	b.t.Helper()
	if text == "-" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		b.t.Fatal(err)
	}
	return Epoch + model.Time(d)
}

func (b *builder) flag(s *model.Span, name string) {
	b.t.Helper()
	for f := model.Flags(1); len(f.Names()) > 0; f <<= 1 {
		if f.Names()[0] == name {
			s.Flags |= f
			return
		}
	}
	b.t.Fatalf("no flag %q", name)
}

func traceID(text string) model.TraceID {
	h := fnv.New64a()
	h.Write([]byte(text))
	return model.TraceID{Hi: 1, Lo: h.Sum64()}
}

// noClock is a Clock that moves nothing and knows of no shutdown.
type noClock struct{}

func (noClock) Shift(from, to model.ProcID, _ model.Time) (shift, uncertainty time.Duration, ok bool) {
	return 0, 0, from == to
}
func (noClock) Routed(model.ProcID) bool                             { return false }
func (noClock) Anchor(model.ProcID) (model.ProcID, bool)             { return 0, false }
func (noClock) Process(_ *model.Request, s *model.Span) model.ProcID { return s.Proc }
func (noClock) Shutdown(*model.Span, uint64, bool) bool              { return false }
