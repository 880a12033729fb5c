package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// spansOf takes in batches and gives the spans of the only request, as text.
func spansOf(t *testing.T, d *model.Dict, show func(*model.Span) string, batches ...*model.Batch) []string {
	t.Helper()
	s := New(d, Config{TempDir: t.TempDir()})
	defer s.Close()
	fill(t, s, batches)
	if _, err := s.Identify(context.Background()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range s.Partitions() {
		err := s.Read(context.Background(), i, func(r *model.Request) error {
			if got != nil {
				t.Error("more than one request")
			}
			for _, span := range r.Spans {
				got = append(got, show(span))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// What a single record shows of times: R3.5, R4.8, R4.12.
func TestSpanTimes(t *testing.T) {
	c := newCapture()
	b := c.batch(t, `
a A - cb.request 10 100 session_id=one error
a B A cb.schedule 11 0 session_id=one
a C A cb.schedule 0 20 session_id=one
a D A cb.schedule 0 0 session_id=one
a E A cb.schedule 30 20 session_id=one
- - - sched.gnnmt 12 20 request_id=one line
- - - sched.gnnmt 13 20 request_id=one line unanchored
- - - sched.gnnmt 14 0 request_id=one line noend
- - - stats 15 0 request_id=one line noend
- - - sched.gnnmt 16 20 request_id=one line point
- - - lct.call 17 0 external_request_id=one point`)
	got := spansOf(t, c.dict, func(s *model.Span) string {
		return fmt.Sprint(c.dict.Str(s.Name), " ", s.Stage, " ", s.RawStart, s.RawEnd, s.Start, s.End, " ", s.Class, s.Flags.Names(), s.Error, s.Line)
	}, b)
	want := []string{
		"cb.request cb.request 10 100 10 100 work [] true false",
		"cb.schedule cb.schedule 11 0 11 0 work [open] false false",
		"sched.gnnmt cb.schedule 12 20 12 20 work [] false true",
		"sched.gnnmt cb.schedule 14 14 14 14 work [] false true",
		"stats  15 15 15 15 point [] false true",
		"sched.gnnmt cb.schedule 16 16 16 16 point [] false true",
		"lct.call  17 17 17 17 point [] false false",
		"cb.schedule cb.schedule 30 20 30 20 work [] false false",
		"cb.schedule cb.schedule 0 0 0 0 work [untimed] false false",
		"cb.schedule cb.schedule 0 20 0 20 work [untimed] false false",
		"sched.gnnmt cb.schedule 13 20 13 20 work [untimed] false true",
	}
	slices.Sort(got[8:])
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Names outside the vocabulary keep their own key and inherit from their longest known prefix (R4.13).
func TestSpanNames(t *testing.T) {
	c := newCapture()
	b := c.batch(t, `
a A - cb.store_final.flush 1 2 session_id=one scope=lmcache_mp.blend
a B - transfer.kernel 2 3 session_id=one scope=lmcache_mp.transfer
a C - request 3 4 session_id=one scope=lmcache
a D - request.inner 4 5 session_id=one scope=lmcache_x
a E - cb.lookup 5 6 session_id=one scope=vllm
a F - other 6 7 session_id=one scope=lmcache_mp`)
	got := spansOf(t, c.dict, func(s *model.Span) string {
		return fmt.Sprintf("%s %s %s %v %v %v", c.dict.Str(s.StageKey), s.Stage, s.Kin, s.Class, s.LMScope, s.MPScope)
	}, b)
	want := []string{
		"cb.store_final.flush  cb.store_final background true true",
		"transfer.kernel_interval transfer.kernel_interval transfer.kernel_interval breakdown true true",
		"request request request work true false",
		"request.inner   work true false",
		"cb.lookup cb.lookup cb.lookup work false false",
		"other   work true true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Everything of a record comes back: ids of each kind, attributes of each type in their order, and the key attribute that was left out.
func TestSpanContent(t *testing.T) {
	d := model.NewDict()
	d.AddFile("a.json")
	file := d.AddFile("b.jsonl")
	res := d.Resource(model.Resource{Host: "node-7", PID: 42}, "b")
	d.Process("other") // so that the process has a number of its own
	res2 := d.Resource(model.Resource{Instance: "i-2"}, "b")
	b := model.NewBatch(d, true)
	add := func(id, parent model.SpanID, start model.Time, fn func(r *model.Record)) {
		r := b.Begin()
		r.ID, r.Parent, r.Start, r.End, r.File, r.Res = id, parent, start, start+5, file, res
		r.Trace, r.Name = model.OpaqueTrace(d.InternString("trace-one")), model.StageSchedule.ID()
		fn(r)
		b.End()
	}
	add(model.HexID(0xfeed), model.HexID(0xbeef), 1, func(r *model.Record) {
		r.Kind, r.Pos, r.Res = model.KindConsumer, 1<<35, res2
		b.AddText(model.AttrRequestID, []byte("first"))
		b.AddText(model.AttrSessionID, []byte("other"))
		b.AddInt(model.AttrHitTokens, -5)
		b.AddInt(model.AttrHitTokens, math.MinInt64)
		b.AddFloat(model.AttrRecompRatio, 0.25)
		b.AddBool(model.AttrImpEmpty, true)
		b.AddText(b.Wants([]byte("custom")), []byte(strings.Repeat("x", 5000)))
		b.AddText(b.Wants([]byte("empty")), nil)
		b.AddText(model.AttrSessionID, []byte("one"))
	})
	add(model.LineID(file, 7), model.SpanID{}, 2, func(r *model.Record) {
		r.Pos, r.Flags, r.StageID = 7, model.RecordLine, model.StageBuildMeta.ID()
		b.AddText(model.AttrReqID, []byte("one"))
	})
	add(model.SpanID{N: uint64(d.InternString("span-x")), Kind: model.IDOpaque}, model.LineID(0, 9), 3, func(r *model.Record) {
		r.Start, r.End, r.Kind = math.MinInt64, math.MaxInt64, 77
		b.AddText(model.AttrSessionID, []byte("one"))
	})
	show := func(s *model.Span) string {
		var attrs []string
		for _, a := range s.Attrs {
			v := a.Value.Text()
			if len(v) > 100 {
				v = fmt.Sprint(len(v), " bytes")
			}
			attrs = append(attrs, d.KeyName(a.Key)+"="+v)
		}
		return fmt.Sprint(d.SpanIDText(s.ID), " ", d.SpanIDText(s.ParentID), " ", d.TraceIDText(s.Trace), " ", s.Kind, s.RawStart, s.RawEnd, s.Stage, attrs, s.Sources, d.Proc(s.Proc).Name)
	}
	got := spansOf(t, d, show, b)
	want := []string{
		"span-x a.json:9 trace-one 0 -9223372036854775808 9223372036854775807 cb.schedule [session_id=one] [{1 0 id}]node-7/42",
		"000000000000feed 000000000000beef trace-one 5 1 6 cb.schedule [request_id=first session_id=other hit_tokens=-5 hit_tokens=-9223372036854775808 recomp_ratio=0.25 " +
			"imp_empty=true custom=5000 bytes empty= session_id=one] [{1 34359738368 id}]i-2",
		"b.jsonl:7  trace-one 0 2 7 cb.build_meta [req_id=one] [{1 7 id}]node-7/42",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A trace id of hex digits is never taken for one that is kept as text, whatever its digits.
func TestTraceLikeText(t *testing.T) {
	c := newCapture()
	b := c.batch(t, `a A - cb.request 1 2 session_id=one`)
	for lo, want := range map[uint64]string{math.MaxUint32: "ffffffffffffffff00000000ffffffff", 1: "ffffffffffffffff0000000000000001", 0: "ffffffffffffffff0000000000000000"} {
		b.Records[0].Trace = model.TraceID{Hi: math.MaxUint64, Lo: lo}
		if got := spansOf(t, c.dict, func(s *model.Span) string { return c.dict.TraceIDText(s.Trace) }, b); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Slices of spans keep their memory from request to request and hold nothing of the one before.
func TestSpansAreReused(t *testing.T) {
	c := newCapture()
	s := New(c.dict, Config{TempDir: t.TempDir(), Partitions: 1})
	defer s.Close()
	fill(t, s, []*model.Batch{c.batch(t, `
a A - cb.request 1 9 session_id=one hit_tokens=1
a B A cb.schedule 2 3 session_id=one
b A - cb.request 1 9 session_id=two
b B A cb.schedule 2 3 session_id=two`)})
	if _, err := s.Identify(context.Background()); err != nil {
		t.Fatal(err)
	}
	r := s.Reader()
	var first []*model.Span
	err := r.Read(context.Background(), 0, func(req *model.Request) error {
		if first == nil {
			first = slices.Clone(req.Spans)
			for _, x := range req.Spans {
				x.Kids, x.Steps = append(x.Kids, x), append(x.Steps, x, x)
				x.Polls, x.Parent, x.Self, x.Flags, x.Mark = append(x.Polls, 1, 2, 3), x, 5, model.FlagOrphan, 7
			}
			return nil
		}
		for i, x := range req.Spans {
			if x != first[i] {
				t.Error("another span is used")
			}
			if len(x.Kids)+len(x.Steps)+len(x.Polls) != 0 || cap(x.Kids) < 1 || cap(x.Steps) < 2 || cap(x.Polls) < 3 {
				t.Errorf("slices of %d, %d, %d", len(x.Kids), len(x.Steps), len(x.Polls))
			}
			if x.Parent != nil || x.Self != 0 || x.Flags != 0 || x.Mark != 0 {
				t.Errorf("kept from before: %+v", x)
			}
		}
		return nil
	})
	if err != nil || first == nil {
		t.Fatal(err)
	}
}

// What belongs to no request is counted and can be read.
func TestReadProcess(t *testing.T) {
	c := newCapture()
	s := New(c.dict, Config{TempDir: t.TempDir()})
	defer s.Close()
	fill(t, s, []*model.Batch{c.batch(t, `
a A - cb.request 1 9 session_id=one
b B - cb.chunks.evicted 7 7 session_id= num_chunks=3 process=q
- C - app.step 2 3 scope=app
- - - engine.step 4 6 line`)})
	if _, err := s.Identify(context.Background()); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := s.ReadProcess(context.Background(), func(x *model.Span) error {
		got = append(got, fmt.Sprint(c.dict.Str(x.Name), " ", x.RawStart, x.RawEnd, c.dict.Proc(x.Proc).Name, x.Count(model.AttrNumChunks)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if want := []string{"app.step 2 3p0", "cb.chunks.evicted 7 7q3", "engine.step 4 6p0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A request that does not fit is named.
func TestRequestTooLarge(t *testing.T) {
	c := newCapture()
	s := New(c.dict, Config{TempDir: t.TempDir(), Memory: 1 << 20})
	defer s.Close()
	w := s.Writer()
	b := c.batch(t, `a A - cb.request 1 9 session_id=big`)
	for range spareMemory/spanCost + (1<<20)/spanCost + 2 {
		if err := w.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Identify(context.Background()); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := range s.Partitions() {
		if e := s.Read(context.Background(), i, func(*model.Request) error { return nil }); e != nil {
			err = e
		}
	}
	if want := "request big: its 263511 spans need about 193 MiB: raise --memory"; err == nil || err.Error() != want || !errors.Is(err, ErrMemory) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The life of a store: what comes at the wrong time is refused.
func TestOrderOfCalls(t *testing.T) {
	c := newCapture()
	s := New(c.dict, Config{TempDir: t.TempDir()})
	s.Writer()
	if _, err := s.Identify(context.Background()); err == nil {
		t.Error("identify with an open writer")
	}
	s = New(c.dict, Config{TempDir: t.TempDir()})
	w := s.Writer()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(c.batch(t, `a A - cb.request 1 9 session_id=one`)); err != ErrClosed {
		t.Errorf("add to a closed writer: %v", err)
	}
	if _, err := s.Identify(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := s.Identify(context.Background()); err == nil {
		t.Error("identify twice")
	}
	if err := s.Read(context.Background(), s.Partitions(), nil); err == nil {
		t.Error("a partition that is not there")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Read(context.Background(), 0, nil); err != ErrClosed {
		t.Errorf("read after close: %v", err)
	}
	if err := s.ReadProcess(context.Background(), nil); err != ErrClosed {
		t.Errorf("read after close: %v", err)
	}
	w = s.Writer()
	if err := w.Add(c.batch(t, `a A - cb.request 1 9 session_id=one`)); err != ErrClosed {
		t.Errorf("add after close: %v", err)
	}
}

// ReadBare leaves attributes out but for spans that have one of those that are asked for; a request with lines comes whole, another one again on demand.
func TestReadBare(t *testing.T) {
	c := newCapture()
	b := c.batch(t, `
a A - cb.request 10 100 session_id=one model=m hit_tokens=5
a B A cb.schedule 11 20 session_id=one n_polls=3
b A - cb.request 10 100 session_id=two hit_tokens=5
b B A cb.schedule 11 20 session_id=two hit_tokens=7
c A - cb.request 10 100 session_id=three hit_tokens=5
- - - sched.gnnmt 12 20 request_id=three line`)
	s := New(c.dict, Config{TempDir: t.TempDir(), Bare: func(k model.AttrKey) bool { return k == model.AttrModel }})
	defer s.Close()
	fill(t, s, []*model.Batch{b})
	if _, err := s.Identify(context.Background()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range s.Partitions() {
		err := s.ReadBare(context.Background(), i, func(r *model.Request, whole bool) (bool, error) {
			text := fmt.Sprint(r.ID, " ", whole)
			for _, span := range r.Spans {
				text += fmt.Sprint(" ", span.RawStart, " ", len(span.Attrs))
			}
			got = append(got, text)
			return r.ID != "two", nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(got)
	want := []string{"one false 10 3 11 0", "three true 10 2 12 1", "two false 10 0 11 0", "two true 10 2 11 2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// 12 MiB of input make a partition, from 256 on and as far as each has 256 KiB of memory.
func TestPickPartitions(t *testing.T) {
	for _, c := range []struct {
		memory, input int64
		want          int
	}{
		{1 << 30, 0, 256},
		{1 << 30, 256 * 12 << 20, 256},
		{1 << 30, 256*12<<20 + 1, 512},
		{1 << 30, 11e9, 1024}, // 874 times 12 MiB
		{1 << 30, 1 << 50, 4096},
		{128 << 20, 1 << 50, 512},
		{64 << 20, 1 << 50, 256},
		{16 << 20, 1 << 50, 64},
	} {
		if got := pickPartitions(c.memory, c.input); got != c.want {
			t.Errorf("%d bytes of memory, %d of input: %d partitions, should be %d", c.memory, c.input, got, c.want)
		}
	}
}
