package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// epoch is the instant that times in rows are told from.
const epoch Time = 1_764_432_000_000_000_000

// rows makes a grouped, uncleaned request: a line `id parent stage start end [key=value …]` is a span, times in µs, `-` as parent for none, as end
// for open. Keys: proc (p), trace (0), kind, worker_id and other attributes of the table; line: a profile line with that name; pid; unplaced: on a clock
// without an epoch.
func rows(t testing.TB, text string) *Request {
	t.Helper()
	d := NewDict()
	d.AddFile("rows")
	r := &Request{Identity: Identity{ID: "r"}, Dict: d}
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		w := strings.Fields(line)
		if len(w) < 5 {
			t.Fatalf("want id, parent, stage, start and end, have %q", line)
		}
		at := func(s string) Time {
			if s == "-" {
				return 0
			}
			f, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			return epoch + Time(f*1000)
		}
		id := func(s string) SpanID {
			if s == "-" {
				return SpanID{}
			}
			return SpanID{uint64(d.InternString(s)), IDOpaque}
		}
		s := &Span{ID: id(w[0]), ParentID: id(w[1]), Name: d.InternString(w[2]), RawStart: at(w[3]), RawEnd: at(w[4]), Kind: 1, Trace: TraceID{0, 1}, LMScope: true,
			Sources: []Source{{Pos: int64(n + 1)}}}
		proc, service, host, pid := "p", "", "", int64(0)
		for _, x := range w[5:] {
			key, value, _ := strings.Cut(x, "=")
			switch key {
			case "proc":
				proc = value
			case "service":
				service, host = value, "h"
			case "trace":
				s.Trace.Lo = uint64(len(value)) + uint64(value[0])<<8
			case "kind":
				n, _ := strconv.Atoi(value)
				s.Kind = SpanKind(n)
			case "line":
				s.Line = true
			case "unplaced":
				s.Flags |= FlagUntimed
			case "pid":
				pid, _ = strconv.ParseInt(value, 10, 64)
			case "error":
				s.Error = true
			default:
				k := AttrOf([]byte(key))
				s.Attrs = append(s.Attrs, Attr{k, Typed(k, Value{Kind: StrValue, Str: value})})
			}
		}
		s.MPScope = strings.HasPrefix(proc, "server")
		s.Stage, s.Kin = d.Stage(s.Name), d.Kin(s.Name)
		if s.Line {
			for _, p := range ProfileNames {
				if prefix, ok := strings.CutSuffix(p.Line, "*"); w[2] == p.Line || ok && strings.HasPrefix(w[2], prefix) {
					s.Stage, s.Kin = p.Stage, p.Stage
				}
			}
		}
		s.StageKey = s.Name
		if s.Stage != StageNone {
			s.StageKey = s.Stage.ID()
		}
		s.Class = s.Kin.Info().Class
		s.Res = d.Resource(Resource{Instance: proc, Service: service, Host: host, PID: pid}, "f")
		s.Proc = d.Res(s.Res).Proc
		if s.RawEnd == 0 {
			s.Flags |= FlagOpen
		}
		s.Start, s.End = s.RawStart, s.RawEnd
		r.Spans = append(r.Spans, s)
	}
	slices.SortStableFunc(r.Spans, func(a, b *Span) int {
		return cmp.Or(boolCompare(a.Has(FlagUntimed), b.Has(FlagUntimed)), cmp.Compare(a.RawStart, b.RawStart), d.CompareSpanIDs(a.ID, b.ID))
	})
	return r
}

// shifts is a Clock that adds to each process what it says, ± u.
type shifts struct {
	d  *Dict
	by map[string]Time
	u  int64
}

func (c shifts) Shift(from, to ProcID, _ Time) (d, u time.Duration, ok bool) {
	return time.Duration(c.by[c.d.Proc(from).Name] - c.by[c.d.Proc(to).Name]), time.Duration(c.u), true
}
func (c shifts) Anchor(ProcID) (ProcID, bool)       { return 0, false }
func (c shifts) Routed(ProcID) bool                 { return true }
func (c shifts) Process(_ *Request, s *Span) ProcID { return s.Proc }
func (c shifts) Shutdown(*Span, uint64, bool) bool  { return false }

// tree shows each span as `id<parent edge flags`, in order of id; made-up spans by their id.
func tree(r *Request) string {
	var out []string
	for _, s := range r.Spans {
		up := ""
		if s.Parent != nil {
			up = r.Dict.SpanIDText(s.Parent.ID)
		}
		text := fmt.Sprintf("%s<%s %s", r.Dict.SpanIDText(s.ID), up, s.Edge)
		if names := s.Flags.Names(); len(names) > 0 {
			text += " " + strings.Join(names, ",")
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// built cleans and links the rows, on equal clocks.
func built(t testing.TB, text string) *Request {
	t.Helper()
	return builtOn(t, text, func(d *Dict) Clock { return noClock{} })
}

func builtOn(t testing.TB, text string, clock func(*Dict) Clock) *Request {
	t.Helper()
	var b Builder
	parts := b.Clean(rows(t, text))
	if len(parts) != 1 {
		t.Fatalf("%d executions", len(parts))
	}
	b.Link(parts[0], 1, clock(parts[0].Dict), LinkOptions{})
	return parts[0]
}
