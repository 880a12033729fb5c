package modeltest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

//go:embed testdata/critical-path.json
var criticalPath []byte

// A Case is a request with right answers, worked out by an implementation of its own. Times are ns after Epoch.
type Case struct {
	Name, About string
	Window      struct {
		Start int64 `json:"start_ns"`
		End   int64 `json:"end_ns"`
	}
	RootStage *string `json:"root_stage"` // nil for a synthetic root
	Copies    int     // how often it is in a capture, so that there are pairs for its clocks
	Spans     []CaseSpan
	Expect    CaseAnswer
}

// A CaseSpan is a span of a Case. Without a process it is of "p", without a trace of 1.
type CaseSpan struct {
	ID         string
	Parent     *string
	Stage      string
	Start      int64 `json:"start_ns"`
	End        int64 `json:"end_ns"`
	Process    string
	Trace      json.Number
	Kind       string
	Attributes map[string]any
}

// A CaseAnswer is what is right for a Case, in ns; $root stands for a synthetic root. Nil: not pinned down.
type CaseAnswer struct {
	Total       int64            `json:"total_ns"`
	Tail        int64            `json:"tail_ns"`
	ByStage     map[string]int64 `json:"by_stage"`
	Self        map[string]int64 // by_stage by kind
	Overlap     map[string]int64
	Gap         map[string]int64
	ByBound     map[string]int64 `json:"by_bound"`
	During      map[string]int64 // "a during b": overlap by what ran
	BySpan      map[string]int64 `json:"by_span"`
	SelfNS      map[string]int64 `json:"self_ns"`
	Drag        map[string]int64
	Parents     map[string][2]*string // edge and parent; +stage for one that was made up
	Transparent []string
	TTFT        *struct {
		Total   int64            `json:"total_ns"`
		ByStage map[string]int64 `json:"by_stage"`
		ByBound map[string]int64 `json:"by_bound"`
	}
	Lookup []map[string]any // rows of OUTPUT's lookup
}

// Cases are the critical-path cases.
func Cases(t testing.TB) []Case {
	t.Helper()
	var doc struct{ Cases []Case }
	if err := json.Unmarshal(criticalPath, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Cases) < 100 {
		t.Fatalf("%d cases", len(doc.Cases))
	}
	return doc.Cases
}

// Request is the case as a linked request. Where it has copies, its clocks are those that so many would show.
func (c *Case) Request(t testing.TB) *model.Request {
	t.Helper()
	r := &model.Request{Identity: model.Identity{ID: "case-" + c.Name}, Dict: model.NewDict()}
	file := r.Dict.AddFile("case.json")
	for i := range c.Spans {
		r.Spans = append(r.Spans, c.Spans[i].span(t, r.Dict))
		r.Spans[i].Sources = []model.Source{{File: file, Pos: int64(100 * i)}}
	}
	slices.SortStableFunc(r.Spans, request{r}.order())
	var b model.Builder
	parts := b.Clean(r)
	if len(parts) != 1 {
		t.Fatalf("%s: %d executions, want one", c.Name, len(parts))
	}
	b.Link(parts[0], 0, c.clock(r.Dict), model.LinkOptions{})
	return parts[0]
}

func (s *CaseSpan) process() string {
	if s.Process == "" {
		return "p"
	}
	return s.Process
}

func (s *CaseSpan) span(t testing.TB, d *model.Dict) *model.Span {
	t.Helper()
	opaque := func(id string) model.SpanID {
		return model.SpanID{N: uint64(d.InternString(id)), Kind: model.IDOpaque}
	}
	name := d.InternString(s.Stage)
	out := &model.Span{
		Name: name, StageKey: name, Stage: d.Stage(name), Kin: d.Kin(name), Trace: traceID(s.Trace.String()), ID: opaque(s.ID),
		Kind:     map[string]model.SpanKind{"producer": model.KindProducer, "consumer": model.KindConsumer}[s.Kind],
		Res:      d.Resource(model.Resource{Instance: "i-" + s.process(), Service: s.process()}, ""),
		RawStart: Epoch + model.Time(s.Start), RawEnd: Epoch + model.Time(s.End), LMScope: true, MPScope: s.process() == "server",
	}
	out.Start, out.End, out.Class, out.Proc = out.RawStart, out.RawEnd, out.Kin.Info().Class, d.Res(out.Res).Proc
	scope := "lmcache_cacheblend"
	if out.MPScope {
		scope = "lmcache_mp.blend"
	}
	out.Scope = d.InternString(scope)
	if s.Parent != nil {
		out.ParentID = opaque(*s.Parent)
	}
	for key, v := range s.Attributes {
		k := model.AttrOf([]byte(key))
		if k == model.AttrNone {
			continue
		}
		out.Attrs = append(out.Attrs, model.Attr{Key: k, Value: model.Typed(k, model.Value{Kind: model.StrValue, Str: fmt.Sprint(v)})})
	}
	slices.SortFunc(out.Attrs, func(a, b model.Attr) int { return int(a.Key) - int(b.Key) })
	return out
}

// clock knows of every process below another what five pairs or more would say: the middle of the shifts that put all its spans into their
// clients, none where they are there already.
func (c *Case) clock(d *model.Dict) model.Clock {
	type span struct{ trace, id string }
	at := map[span]*CaseSpan{}
	for i := range c.Spans {
		at[span{c.Spans[i].Trace.String(), c.Spans[i].ID}] = &c.Spans[i]
	}
	type corridor struct{ lo, hi int64 }
	found := map[string]corridor{}
	for i := range c.Spans {
		s := &c.Spans[i]
		if s.Parent == nil {
			continue
		}
		up := at[span{s.Trace.String(), *s.Parent}]
		if up == nil || up.process() == s.process() {
			continue
		}
		k, ok := found[s.process()]
		if !ok {
			k = corridor{-1 << 62, 1 << 62}
		}
		found[s.process()] = corridor{max(k.lo, up.Start-s.Start), min(k.hi, up.End-s.End)}
	}
	shifts := caseClock{}
	for proc, k := range found {
		if c.Copies >= 5 && (k.lo > 0 || k.hi < 0) {
			shifts[d.Process("i-"+proc)] = model.Time(k.lo+k.hi) / 2
		}
	}
	return shifts
}

// A caseClock is what must be added to the times of a process; all others agree.
type caseClock map[model.ProcID]model.Time

func (c caseClock) Shift(from, to model.ProcID, _ model.Time) (shift, uncertainty time.Duration, ok bool) {
	return time.Duration(c[from] - c[to]), 0, true
}
func (c caseClock) Anchor(model.ProcID) (model.ProcID, bool)             { return 0, false }
func (c caseClock) Routed(model.ProcID) bool                             { return true }
func (c caseClock) Process(_ *model.Request, s *model.Span) model.ProcID { return s.Proc }
func (c caseClock) Shutdown(*model.Span, uint64, bool) bool              { return false }
