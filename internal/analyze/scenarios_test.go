package analyze

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/clock"
	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// textual is a Read of sessions written as text: below a line that names a session its spans, `name process start end` with times in ms after the
// epoch and attributes; indentation makes parents. trace=N is another trace of the session (0), trace=@N one that sessions share; a line is of a profile;
// id=N is the id of a span that comes again.
func textual(t *testing.T, text string) Read {
	t.Helper()
	const epoch = model.Time(1_764_432_000e9)
	ms := func(text string) model.Time {
		d, err := time.ParseDuration(text + "ms")
		if err != nil {
			t.Fatal(err)
		}
		return epoch + model.Time(d)
	}
	return func(_ context.Context, d *model.Dict, newSink func() Sink) ([]model.InputStats, error) {
		file := d.AddFile("scenario.jsonl")
		b, sink := model.NewBatch(d, true), newSink()
		type level struct {
			indent int
			id     model.SpanID
		}
		var above []level
		session, n := "", uint64(0)
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			switch len(f) {
			case 0:
				continue
			case 1:
				session, above = f[0], nil
				continue
			}
			indent := len(line) - len(strings.TrimLeft(line, " \t"))
			for len(above) > 0 && above[len(above)-1].indent >= indent {
				above = above[:len(above)-1]
			}
			n++
			r := b.Begin()
			r.ID, r.Name, r.File, r.Start, r.End = model.HexID(n), b.Names.Intern([]byte(f[0])), file, ms(f[2]), ms(f[3])
			r.Res = d.Resource(model.Resource{Instance: f[1]}, "scenario.jsonl")
			r.Scope = b.Names.Intern([]byte(map[bool]string{true: "lmcache_mp.server", false: "engine"}[f[1] == "server"]))
			if len(above) > 0 {
				r.Parent = above[len(above)-1].id
			}
			above = append(above, level{indent, r.ID})
			trace := session + "/0"
			b.AddText(model.AttrSessionID, []byte(session))
			for _, w := range f[4:] {
				key, value, _ := strings.Cut(w, "=")
				if key == "line" {
					r.Flags, r.StageID, r.Res = model.RecordLine, model.ProfileStage(f[0]).ID(), d.Resource(model.Resource{}, "profile.jsonl")
					continue
				}
				if key == "id" {
					again, err := strconv.ParseUint(value, 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					r.ID = model.HexID(again)
					continue
				}
				if key == "trace" {
					if trace = session + "/" + value; value[0] == '@' {
						trace = value
					}
					continue
				}
				b.AddText(b.Wants([]byte(key)), []byte(value))
			}
			r.Trace = model.OpaqueTrace(b.Names.Intern([]byte(trace)))
			b.End()
		}
		if err := sink.Add(b); err != nil {
			return nil, err
		}
		return []model.InputStats{{File: "scenario.jsonl", Format: "otlp-json", Spans: int64(n)}}, sink.Close()
	}
}

func scenario(t *testing.T, text string) *Capture {
	t.Helper()
	c, err := Open(t.Context(), textual(t, text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func inspected(t *testing.T, c *Capture, id string) *inspect.Document {
	t.Helper()
	docs, err := c.Inspect(t.Context(), []string{id}, false)
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	return docs[0]
}

func reported(t *testing.T, c *Capture) *report.Document {
	t.Helper()
	agg, err := c.Aggregate(t.Context(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return agg.Document(c.Facts())
}

func codesOf(d *inspect.Document) string {
	var codes []string
	for _, f := range d.Findings {
		codes = append(codes, f.Code)
	}
	slices.Sort(codes)
	return strings.Join(codes, " ")
}

func findSpan(t *testing.T, d *inspect.Document, stage string) *inspect.Span {
	t.Helper()
	i := slices.IndexFunc(d.Spans, func(s inspect.Span) bool { return s.Stage == stage })
	if i < 0 {
		t.Fatalf("no %s", stage)
	}
	return &d.Spans[i]
}

// is fails unless what is printed is what is wanted.
func is(t *testing.T, what string, have any, want any) {
	t.Helper()
	if h, w := fmt.Sprintf("%+v", have), fmt.Sprintf("%+v", want); h != w {
		t.Errorf("%s: %s, want %s", what, h, w)
	}
}

const msec = 1_000_000

// CONTRACT-lmcache 9.2 A: REQUEST_END comes before the work it ends.
func TestDeferral(t *testing.T) {
	d := inspected(t, scenario(t, `
s
 request server 0 5
  mp.lookup_prefetch server 0.2 3.2
  mp.retrieve server 4 9
  mp.store server 10 50`), "s")
	is(t, "end of the root", d.Request.RootDurationNS.V, 5*msec)
	is(t, "window", d.Window.DurationNS.V, 9*msec)
	is(t, "tail", d.TailNS, 41*msec)
	beyond := map[string]int64{}
	for _, s := range d.Spans {
		if over := s.StartNS.V + s.DurationNS.V - 5*msec; over > 0 {
			beyond[s.Stage] = over / msec
		}
	}
	is(t, "beyond the root", beyond, map[string]int64{"mp.retrieve": 4, "mp.store": 45})
	is(t, "start of the store", findSpan(t, d, "mp.store").StartNS.V, 10*msec)
	is(t, "findings", codesOf(d), "store_tail")
}

// B: bars of transfers are sums; what counts are their numbers.
func TestTransferBars(t *testing.T) {
	d := inspected(t, scenario(t, `
s
 request server 0 60
  mp.store server 10 50
   transfer.kernel_interval server 11 21 elapsed_seconds=0.010 first_start_s=1764432000.011 last_end_s=1764432000.044 nbytes=2000000000
   transfer.staging server 21 41 elapsed_seconds=0.020 first_start_s=1764432000.012 last_end_s=1764432000.045 nbytes=2000000000`), "s")
	if len(d.Transfers) != 1 {
		t.Fatalf("%d transfers", len(d.Transfers))
	}
	x := d.Transfers[0]
	is(t, "kernel, staging, idle", []int64{x.KernelNS, x.StagingNS, x.IdleNS}, []int64{10 * msec, 20 * msec, 10 * msec})
	is(t, "staging GB/s", x.StagingGBps.V, 100)
	for _, stage := range []string{"transfer.kernel_interval", "transfer.staging"} {
		if bar := findSpan(t, d, stage); bar.Class != "breakdown" || bar.CriticalNS.V != 0 {
			t.Errorf("%s is of class %s, %d ns on the path", stage, bar.Class, bar.CriticalNS.V)
		}
	}
	is(t, "the store's own time", findSpan(t, d, "mp.store").SelfNS.V, 40*msec)
	const epoch = int64(1_764_432_000e9)
	within := func(got, want int64) bool { return got > want-msec/1000 && got < want+msec/1000 } // float seconds
	if !within(x.FirstUnixNS.V-epoch, 11*msec) || !within(x.LastUnixNS.V-epoch, 45*msec) {
		t.Errorf("real span %d to %d", x.FirstUnixNS.V-epoch, x.LastUnixNS.V-epoch)
	}
}

// C: the second pass in a trace of its own.
func TestDoublePass(t *testing.T) {
	c := scenario(t, `
s
 cb.request server 0 30 trace=1
  cb.lookup server 0 28 trace=1
   cb.fingerprint_match server 1 3 trace=1
   cb.sparse_prefetch server 3 20 trace=1
 cb.retrieve server 60 75 trace=2 worker_id=0
  cb.scatter server 61 74 trace=2 worker_id=0`)
	d := inspected(t, c, "s")
	retrieve := findSpan(t, d, "cb.retrieve")
	is(t, "the retrieve", []string{retrieve.Edge, retrieve.Parent}, []string{"adopted", findSpan(t, d, "cb.request").ID})
	if len(d.Lookup) != 1 {
		t.Fatalf("%d lookups", len(d.Lookup))
	}
	l := d.Lookup[0]
	is(t, "basis, server, residual", []any{l.Basis, l.ServerNS.V, l.WaitNS.V}, []any{"no_rpc", 28 * msec, 9 * msec})
	is(t, "legs", l.Legs, []inspect.Leg{{Stage: "cb.fingerprint_match", NS: 2 * msec}, {Stage: "cb.sparse_prefetch", NS: 17 * msec}})
	lookup := findSpan(t, d, "cb.lookup")
	is(t, "gap", retrieve.StartNS.V-lookup.StartNS.V-lookup.DurationNS.V, 32*msec)
	is(t, "window", d.Window.DurationNS.V, 75*msec)
	is(t, "requests", reported(t, c).Requests.Total, 1)
	is(t, "findings", codesOf(d), "double_start_load_kv.noop_then_full second_pass_in_new_trace")
}

// D: three kinds of hits, one chunk dropped; with the overlap taken out the parts do not add up.
func TestSplitHits(t *testing.T) {
	text := `
s
 cb.request server 0 90 requested_tokens=2048 prefix_hit_tokens=512 segmented_prefix_hit_tokens=256 non_prefix_hit_tokens=256 hit_tokens=1024
  cb.lookup server 1 20
  cb.retrieve server 30 60 worker_id=0
   cb.scatter server 31 59 scattered_tokens=896 dropped=1 worker_id=0`
	d := inspected(t, scenario(t, text), "s")
	is(t, "rate, reuse, shortfall", []any{d.Hits.HitRate.V, d.Hits.EffectiveReuse.V, d.Hits.ShortfallTokens.V}, []any{0.5, 0.4375, 128})
	is(t, "findings", codesOf(d), "dropped_chunks")
	d = inspected(t, scenario(t, strings.Replace(text, " hit_tokens=1024", " hit_tokens=960", 1)), "s")
	is(t, "numerator", d.Hits.HitTokens.V, 960)
	is(t, "findings", codesOf(d), "dropped_chunks hit_identity_broken")
	if i := slices.IndexFunc(d.Findings, func(f inspect.Finding) bool { return f.Code == "hit_identity_broken" }); i < 0 || !strings.Contains(d.Findings[i].Message, "off by -64") {
		t.Errorf("findings %+v", d.Findings)
	}
}

// E: of two ranks one span is left, with the start of one and the end of the other.
func TestStitchedRanks(t *testing.T) {
	d := inspected(t, scenario(t, `
s
 cb.request server 0 30
  cb.lookup server 0 8
   cb.sparse_prefetch server 1 7 world_size=2
  cb.retrieve server 11 20 worker_id=0`), "s")
	is(t, "findings", codesOf(d), "rank_mismatch stitched_ranks")
	is(t, "passes", len(d.Loads.Passes), 1)
}

// F: averages with a request that asked for nothing.
func TestAveragesOfHits(t *testing.T) {
	h := reported(t, scenario(t, `
a
 cb.request server 0 9 hit_tokens=512 requested_tokens=1024
  cb.lookup server 1 2
b
 cb.request server 10 19 hit_tokens=0 requested_tokens=0
  cb.lookup server 11 12
c
 cb.request server 20 29 hit_tokens=1024 requested_tokens=1024
  cb.lookup server 21 22`)).Hits
	is(t, "token-weighted", []any{h.HitTokens.V, h.RequestedTokens.V, h.HitRate.V}, []any{1536, 2048, 0.75})
	is(t, "mean of those that asked", h.RequestMean.V, 0.75)
	is(t, "those that did not", h.ZeroRequested, 1)
}

// G: what the shutdown ended is listed and does not count.
func TestShutdownScenario(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "r%d\n request server %d %d\n  mp.lookup_prefetch server %d %d\n", i, i*1000, i*1000+250, i*1000+10, i*1000+210)
	}
	b.WriteString("a\n mp.lookup_prefetch server 280000 320000\nb\n mp.lookup_prefetch server 225001 320001\nc\n mp.lookup_prefetch server 10002 320002\n")
	c := scenario(t, b.String())
	d := reported(t, c)
	i := slices.IndexFunc(d.Stages, func(s report.Stage) bool { return s.Stage == "mp.lookup_prefetch" })
	is(t, "spans, n, p99, max", []int64{d.Stages[i].Spans, d.Stages[i].N, d.Stages[i].P99NS.V, d.Stages[i].MaxNS.V}, []int64{203, 200, 200 * msec, 200 * msec})
	f := slices.IndexFunc(d.Findings, func(f report.Finding) bool { return f.Code == "shutdown" })
	if f < 0 || d.Findings[f].Count != 3 {
		t.Errorf("findings %+v", d.Findings)
	}
	for id, seconds := range map[string]int64{"a": 40, "b": 95, "c": 310} {
		s := findSpan(t, inspected(t, c, id), "mp.lookup_prefetch")
		is(t, id, []any{s.Flags, s.DurationNS.V}, []any{[]string{"shutdown"}, seconds * 1000 * msec})
	}
}

// R2.2: three requests that have nothing to do with each other in one trace, from the records to the report; two are none, nor are three choices of one.
func TestContextLeak(t *testing.T) {
	for _, c := range []struct {
		name, ids string
		want      int64
	}{
		{"three", "chatcmpl-a-00000001 chatcmpl-b-00000002 chatcmpl-c-00000003", 3},
		{"two", "chatcmpl-a-00000001 chatcmpl-b-00000002", 0},
		{"choices of one", "0_chatcmpl-a-00000001 1_chatcmpl-a-00000001 2_chatcmpl-a-00000001", 0},
	} {
		var b strings.Builder
		for i, id := range strings.Fields(c.ids) {
			fmt.Fprintf(&b, "%s\n cb.request sched %d %d trace=@all\n  cb.schedule sched %d %d\n", id, 10*i, 10*i+9, 10*i+1, 10*i+2)
		}
		capture := scenario(t, b.String())
		d := reported(t, capture)
		n := int64(0)
		if i := slices.IndexFunc(d.Findings, func(f report.Finding) bool { return f.Code == "context_leak" }); i >= 0 {
			n = d.Findings[i].Count
		}
		is(t, c.name, n, c.want)
		first, _, _ := strings.Cut(c.ids, " ")
		is(t, c.name+", inspected", strings.Contains(codesOf(inspected(t, capture, first)), "context_leak"), c.want > 0)
	}
}

// The survey looks at requests without most attributes, and at all of those in which they decide what is a copy (R4.8): its table is the same.
func TestSurveyOfBareRequests(t *testing.T) {
	for name, last := range map[string]string{"a copy": "hit_tokens=5", "two spans of one id": "hit_tokens=6"} {
		var bare, whole bytes.Buffer
		c, err := Open(t.Context(), textual(t, `
s
 cb.request sched 0 100
  cb.lookup.rpc sched 10 50
 cb.lookup server 20 40 trace=1 id=99 hit_tokens=5
 cb.lookup server 20 40 trace=1 id=99 `+last), Options{SurveyOut: &bare})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s := clock.NewSurvey(c.Dict)
		var b model.Builder
		c.opt.Jobs = 1
		err = c.partitions(t.Context(), func(int) func(*model.Request) error {
			return func(g *model.Request) error {
				for _, r := range b.Clean(g) {
					s.Add(r)
				}
				return nil
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		s.AddFiles()
		if err := s.Write(&whole); err != nil || !bytes.Equal(bare.Bytes(), whole.Bytes()) {
			t.Errorf("%s: %v\n%s\nof whole requests\n%s", name, err, bare.Bytes(), whole.Bytes())
		}
	}
}
