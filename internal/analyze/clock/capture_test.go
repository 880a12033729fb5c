package clock

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

const (
	us  = 1_000
	ms  = 1_000_000
	sec = 1_000_000_000
)

// epoch is when the captures of these tests begin.
const epoch = model.Time(1_764_432_000 * sec)

// boot is what clocks without an epoch read at epoch.
const boot = model.Time(100 * sec)

// A capture is a set of cleaned requests written as rows
//
//	request id parent stage start end [process=p] [trace=0] [worker_id=0] [scope=…] [model=…] [kind=3] [pid=…] [line] [open] [mono]
//
// with times in a unit, after epoch. A trace is of its request alone unless it begins with @. A line with a pid is of a file that is called like the process; mono: its clock has no epoch but read boot at epoch. In a row that begins with "*" the request is r0, r1 … and {i} its number; times may be sums of products.
type capture struct {
	t        testing.TB
	dict     *model.Dict
	requests []*model.Request
	byID     map[string]*model.Request
}

func newCapture(t testing.TB) *capture {
	return &capture{t: t, dict: model.NewDict(), byID: map[string]*model.Request{}}
}

// captureOf reads rows; those with a star stand for so many requests.
func captureOf(t testing.TB, unit int64, times int, rows string) *capture {
	t.Helper()
	c := newCapture(t)
	for _, row := range strings.Split(strings.TrimSpace(rows), "\n") {
		row = strings.TrimSpace(row)
		if !strings.HasPrefix(row, "*") {
			c.row(unit, row)
			continue
		}
		for i := range times {
			n := strconv.Itoa(i)
			c.row(unit, "r"+n+strings.ReplaceAll(row[1:], "{i}", n))
		}
	}
	return c.clean()
}

func (c *capture) row(unit int64, row string) {
	c.t.Helper()
	f := strings.Fields(row)
	if len(f) < 6 {
		c.t.Fatalf("row %q", row)
	}
	opt := map[string]string{"process": "p", "trace": "0", "scope": "lmcache_cacheblend"}
	for _, o := range f[6:] {
		k, v, _ := strings.Cut(o, "=")
		opt[k] = v
	}
	if opt["process"] == "server" {
		opt["scope"] = "lmcache_mp.server"
	}
	for _, o := range f[6:] { // a scope that is given wins
		if v, ok := strings.CutPrefix(o, "scope="); ok {
			opt["scope"] = v
		}
	}
	id := func(x string) model.SpanID {
		if x == "-" {
			return model.SpanID{}
		}
		return model.SpanID{N: uint64(c.dict.InternString(x)), Kind: model.IDOpaque}
	}
	name := c.dict.InternString(f[3])
	kind, _ := strconv.Atoi(opt["kind"])
	trace := f[0] + "/" + opt["trace"]
	if strings.HasPrefix(opt["trace"], "@") {
		trace = opt["trace"]
	}
	sp := &model.Span{Trace: model.OpaqueTrace(c.dict.InternString(trace)), ID: id(f[1]), ParentID: id(f[2]),
		Name: name, StageKey: name, Stage: c.dict.Stage(name), Kin: c.dict.Kin(name), Kind: model.SpanKind(kind),
		MPScope: strings.HasPrefix(opt["scope"], "lmcache_mp"), LMScope: strings.HasPrefix(opt["scope"], "lmcache"),
		Res:      c.dict.Resource(model.Resource{Instance: opt["process"]}, ""),
		RawStart: epoch + model.Time(c.sum(f[4])*unit), RawEnd: epoch + model.Time(c.sum(f[5])*unit)}
	pid, _ := strconv.ParseInt(opt["pid"], 10, 64)
	if _, sp.Line = opt["line"]; sp.Line {
		sp.MPScope = false
		sp.Stage = model.ProfileStage(f[3])
		sp.Kin = sp.Stage
	}
	if pid != 0 {
		r := model.Resource{Instance: opt["process"], PID: pid}
		if sp.Line { // its process is a file
			r.Instance = ""
		}
		sp.Res = c.dict.Resource(r, opt["process"])
	}
	sp.Class, sp.Proc = sp.Kin.Info().Class, c.dict.Res(sp.Res).Proc
	if _, open := opt["open"]; open {
		sp.Flags |= model.FlagOpen
	}
	if _, untimed := opt["untimed"]; untimed {
		sp.Flags |= model.FlagUntimed
		sp.RawStart, sp.RawEnd = 0, 0
	}
	if _, mono := opt["mono"]; mono {
		sp.Flags |= model.FlagUntimed
		sp.RawStart, sp.RawEnd = sp.RawStart-epoch+boot, sp.RawEnd-epoch+boot
	}
	for k, a := range map[string]model.AttrKey{"worker_id": model.AttrWorkerID, "model": model.AttrModel, "model_name": model.AttrModelName} {
		if v, ok := opt[k]; ok {
			sp.Attrs = append(sp.Attrs, model.Attr{Key: a, Value: model.Value{Kind: model.StrValue, Str: v}})
		}
	}
	c.request(f[0]).Spans = append(c.request(f[0]).Spans, sp)
}

// call adds a request with one lookup: the rpc on sched's clock, the server's span on its own, ns after epoch.
func (c *capture) call(i int, start, end, serverStart, serverEnd int64) {
	span := func(id, parent uint64, stage model.Stage, process string, a, b int64) *model.Span {
		return &model.Span{Trace: model.TraceID{Lo: uint64(i) + 1}, ID: model.HexID(id), ParentID: model.HexID(parent), Name: stage.ID(), StageKey: stage.ID(),
			Stage: stage, Kin: stage, MPScope: process == "server", Proc: c.proc(process), Clock: c.proc(process), RawStart: epoch + model.Time(a), RawEnd: epoch + model.Time(b)}
	}
	r := c.request("r" + strconv.Itoa(i))
	r.Spans = append(r.Spans, span(uint64(2*i+1), 0, model.StageLookupRPC, "sched", start, end),
		span(uint64(2*i+2), uint64(2*i+1), model.StageLookup, "server", serverStart, serverEnd))
}

func (c *capture) request(id string) *model.Request {
	r := c.byID[id]
	if r == nil {
		r = &model.Request{Identity: model.Identity{ID: id}, Dict: c.dict}
		c.byID[id] = r
		c.requests = append(c.requests, r)
	}
	return r
}

// sum is the value of a+b*c….
func (c *capture) sum(text string) int64 {
	total := int64(0)
	for _, part := range strings.Split(text, "+") {
		product := int64(1)
		for _, factor := range strings.Split(part, "*") {
			n, err := strconv.ParseInt(factor, 10, 64)
			if err != nil {
				c.t.Fatalf("time %q", text)
			}
			product *= n
		}
		total += product
	}
	return total
}

func (c *capture) clean() *capture {
	c.t.Helper()
	var b model.Builder
	for i, r := range c.requests {
		slices.SortStableFunc(r.Spans, func(x, y *model.Span) int {
			if u := x.Has(model.FlagUntimed); u != y.Has(model.FlagUntimed) {
				return map[bool]int{true: 1, false: -1}[u]
			}
			return int(x.RawStart - y.RawStart)
		})
		parts := b.Clean(r)
		if len(parts) != 1 {
			c.t.Fatalf("request %s: %d executions", r.ID, len(parts))
		}
		c.requests[i] = parts[0]
	}
	return c
}

func (c *capture) survey() *Survey {
	v := NewSurvey(c.dict)
	for _, r := range c.requests {
		v.Add(r)
	}
	return v
}

func (c *capture) table() *Table { return c.survey().Finish(Options{}) }

func (c *capture) proc(name string) model.ProcID { return c.dict.Process(name) }

// clockOf is the row of two processes, whichever way round, read as what is to be added to the first.
func (c *capture) clockOf(t *Table, process, reference string) Row {
	c.t.Helper()
	for _, r := range t.Clocks() {
		p, q := c.dict.Proc(r.Process).Name, c.dict.Proc(r.Reference).Name
		if p == process && q == reference {
			return r
		}
		if q == process && p == reference {
			r.Offset.V, r.DriftPPM = -r.Offset.V, -r.DriftPPM
			return r
		}
	}
	c.t.Fatalf("no row of %s and %s", process, reference)
	return Row{}
}

// between fails unless lo ≤ got ≤ hi.
func between(t testing.TB, what string, got, lo, hi int64) {
	t.Helper()
	if got < lo || got > hi {
		t.Errorf("%s: %d, want %d … %d", what, got, lo, hi)
	}
}
