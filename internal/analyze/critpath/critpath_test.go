package critpath

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// show writes segments as `stage kind lo-hi bound`, times after the window's start in ms.
func show(r *model.Request, p *Path) string {
	var b strings.Builder
	for _, s := range p.Segments {
		ms := func(t model.Time) float64 { return float64(t-r.WindowStart) / 1e6 }
		fmt.Fprintf(&b, "%s %v %v-%v %v", r.Dict.Str(s.Span.StageKey), s.Kind, ms(s.Lo), ms(s.Hi), s.Bound)
		if s.During != nil {
			fmt.Fprintf(&b, " during %s", r.Dict.Str(s.During.StageKey))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestSegments(t *testing.T) {
	for _, test := range []struct {
		name, text, want string
	}{
		{"a window wider than the root, a lookup that polls", `
cb.request               sched   10ms 80ms
  cb.schedule            sched   10ms 60ms
    cb.lookup.rpc        sched   15ms 55ms
      cb.lookup          server  20ms 50ms
        cb.sparse_prefetch server 22ms 50ms l2_keys=2
          cb.l2_load     server  25ms 40ms
  cb.execute             worker  62ms 90ms
    cb.start_load_kv     worker  62ms 70ms
    cb.model_forward     worker  66ms 90ms
      cb.check           worker  70ms 75ms
`, `cb.schedule self 0-5 queue
cb.lookup.rpc self 5-10 rpc
cb.lookup self 10-12 match
cb.sparse_prefetch self 12-15 l2_io
cb.l2_load self 15-30 l2_io
cb.sparse_prefetch self 30-40 poll
cb.lookup.rpc self 40-45 poll
cb.schedule self 45-50 queue
cb.request self 50-52 engine
cb.execute overlap 52-56 engine during cb.start_load_kv
cb.model_forward self 56-60 forward
cb.check self 60-65 recompute
cb.model_forward self 65-80 forward
`},
		{"gap before and after a root that brackets badly", `
cb.request        sched 10ms 20ms
  cb.schedule     sched 5ms 8ms
  cb.execute      worker 12ms 30ms
    x.between     worker 12ms 13ms
`, `cb.schedule self 0-3 queue
cb.request gap 3-5 unexplained
cb.request self 5-7 engine
x.between self 7-8 unexplained
cb.execute self 8-25 engine
`},
		{"the bound of a name that begins with a stage", `
cb.request            sched 0ms 10ms
  cb.partial.layer3   sched 0ms 4ms
  cb.lookup.wait      sched 4ms 6ms
  cb.scatter.dma.copy sched 6ms 10ms
`, `cb.partial.layer3 self 0-4 forward
cb.lookup.wait self 4-6 unexplained
cb.scatter.dma.copy self 6-10 gpu_copy
`},
		{"an overlap is cut at the end of the root and where another runs", `
cb.request    sched  0ms 100ms
  cb.execute  worker 0ms 60ms id=A
  cb.scatter  worker 10ms 70ms id=B
  cb.retrieve worker 20ms 50ms id=C
  cb.check    worker 65ms 90ms id=D
`, `cb.execute self 0-60 engine
cb.request overlap 60-65 engine during cb.scatter
cb.check self 65-90 recompute
cb.request self 90-100 engine
`},
		{"queue, engine and decode of an llm_request", `
llm_request   engine 0ms 100ms gen_ai.latency.time_to_first_token=0.06 gen_ai.latency.time_in_model_prefill=0.05 gen_ai.latency.time_in_queue=0.04
  cb.request  sched  20ms 40ms
`, `llm_request self 0-10 queue
llm_request self 10-20 engine
cb.request self 20-40 engine
llm_request self 40-60 engine
llm_request self 60-100 decode
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := modeltest.Request(t, test.text)
			step(r)
			var w Work
			if got := show(r, Analyze(r, &w)); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}

func TestJitter(t *testing.T) { // R6.5: a parent of 2 ms tolerates 20 µs, one of 10 ms 50 µs
	for _, test := range []struct {
		name      string
		parent    string
		end       string
		execute   time.Duration // critical time of the earlier child
		shortened bool
	}{
		{"one percent", "2000us", "1020us", 500 * time.Microsecond, true},
		{"one percent and a ns", "2000us", "1020001ns", 0, false},
		{"50 µs", "10ms", "1050us", 500 * time.Microsecond, true},
		{"50 µs and a ns", "10ms", "1050001ns", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := modeltest.Request(t, fmt.Sprintf(`
cb.request     sched  0ms %s
  cb.execute   worker 500us %s
    cb.check   worker 900us %s
  cb.scatter   worker 1ms 1800us
`, test.parent, test.end, test.end))
			step(r)
			var w Work
			Analyze(r, &w)
			execute, check := r.Root.Kids[0].Critical, r.Root.Kids[0].Kids[0].Critical
			if execute+check != test.execute {
				t.Errorf("the earlier child has %v on the path, want %v", execute+check, test.execute)
			}
			if test.shortened && check != 100*time.Microsecond {
				t.Errorf("its child has %v on the path, want 100µs: shortened with it", check)
			}
		})
	}
}

func TestDrag(t *testing.T) {
	// Two ranks of 80 and 70 ms: without the longer one the request would be 10 ms shorter, whatever is inside it.
	r := modeltest.Request(t, `
llm_request          engine  0ms 100ms gen_ai.latency.time_to_first_token=0.085
  cb.execute         worker0 10ms 90ms
    cb.model_forward worker0 20ms 88ms
  cb.execute         worker1 10ms 80ms
    cb.check         worker1 15ms 60ms
`)
	step(r)
	var w Work
	p := Analyze(r, &w)
	want := map[string]Stage{
		"llm_request":      {Total: 20e6, Drag: 20e6, TTFT: 10e6, TTFTDrag: 10e6},
		"cb.execute":       {Total: 12e6, Drag: 2e6, TTFT: 10e6, TTFTDrag: 0},
		"cb.model_forward": {Total: 68e6, Drag: 8e6, TTFT: 65e6, TTFTDrag: 5e6},
	}
	if len(p.Stages) != len(want) {
		t.Errorf("%d stages on the path, want %d", len(p.Stages), len(want))
	}
	for _, s := range p.Stages {
		w := want[r.Dict.Str(s.Key)]
		w.Key, w.Owner = s.Key, s.Owner
		if s != w {
			t.Errorf("%s: %+v, want %+v", r.Dict.Str(s.Key), s, w)
		}
	}
	if p.TTFT != model.Some(85e6) {
		t.Errorf("ttft %v", p.TTFT)
	}
}

func TestFirstToken(t *testing.T) { // R4.27, of an llm_request from 0 to 100 ms
	const q, f, p = "gen_ai.latency.time_in_queue=", "gen_ai.latency.time_to_first_token=", "gen_ai.latency.time_in_model_prefill="
	for _, test := range []struct {
		words                 string
		queue, engine, decode int64 // ms
		ttft                  model.Opt
	}{
		{q + "0.02 " + f + "0.05", 20, 30, 50, model.Some(50e6)},
		{q + "0.02 " + f + "0.05 " + p + "0.04", 10, 40, 50, model.Some(50e6)},
		{f + "0.05", 0, 50, 50, model.Some(50e6)},
		{q + "0.02", 0, 100, 0, model.Opt{}},
		{f + "0.5 " + p + "0.45", 50, 50, 0, model.Some(100e6)},
		{f + "0.05 " + p + "0.06", 0, 50, 50, model.Some(50e6)},
		{q + "0.08 " + f + "0.05", 50, 0, 50, model.Some(50e6)},
		{q + "0.02 " + f + "-1", 0, 0, 100, model.Some(0)},
		{f + "9.1e9 " + p + "-9.1e9", 100, 0, 0, model.Some(100e6)},
		{f + "soon", 0, 100, 0, model.Opt{}},
	} {
		r := modeltest.Request(t, "llm_request engine 0ms 100ms "+test.words)
		var w Work
		got := Analyze(r, &w)
		var want [model.NumBounds]time.Duration
		want[model.BoundQueue], want[model.BoundEngine], want[model.BoundDecode] = time.Duration(test.queue)*1e6, time.Duration(test.engine)*1e6, time.Duration(test.decode)*1e6
		if got.Bounds != want || got.TTFT != test.ttft {
			t.Errorf("%s: %v, ttft %v", test.words, got.Bounds, got.TTFT)
		}
	}
}

func TestClip(t *testing.T) { // R6.1
	r := modeltest.Request(t, `
llm_request       engine 10ms 50ms
  cb.schedule     sched  5ms 60ms    id=wide
    x.inside      sched  20ms 30ms   id=inside
    x.before      sched  6ms 10ms    id=outside
      x.below     sched  6ms 20ms    id=unseen
  cb.execute      sched  40ms 38ms   id=negative
  cb.execute      sched  41ms 41ms   id=moment
`)
	step(r)
	var w Work
	for range 2 { // twice: the second time finds what it left
		Analyze(r, &w)
		for _, s := range r.Spans {
			want := model.Flags(0)
			switch r.Dict.SpanIDText(s.ID) {
			case "wide":
				want = model.FlagClipped
				if before, after := s.Lo.Sub(s.Start), s.End.Sub(s.Hi); before != 5*time.Millisecond || after != 10*time.Millisecond {
					t.Errorf("cut %v and %v", before, after)
				}
			case "outside":
				want = model.FlagOutside
			}
			if got := s.Flags & (model.FlagClipped | model.FlagOutside); got != want {
				t.Errorf("%s: flags %v, want %v", r.Dict.SpanIDText(s.ID), got.Names(), want.Names())
			}
		}
		if r.Counts.Clipped != 1 || r.Counts.Outside != 1 {
			t.Errorf("counts %+v", r.Counts)
		}
	}
}

func TestFitted(t *testing.T) { // R6.6: what was moved for the walk is where it was moved to, and its bounds with it
	r := modeltest.Request(t, `
cb.lookup.rpc     sched  0ms 50ms
  cb.lookup       server 5ms 55ms
    cb.classify   server 6ms 20ms
`)
	step(r)
	look := r.Root.Kids[0]
	look.Fit, look.Kids[0].Fit = -5*time.Millisecond, -5*time.Millisecond
	r.WindowEnd = r.Root.End
	var w Work
	got := show(r, Analyze(r, &w))
	if want := "cb.lookup self 0-1 match\ncb.classify self 1-15 match\ncb.lookup self 15-50 poll\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if look.Start != modeltest.Epoch+5e6 || look.Has(model.FlagClipped) {
		t.Errorf("the lookup starts at %d, flags %v", look.Start-modeltest.Epoch, look.Flags.Names())
	}
}

func TestNoWindow(t *testing.T) {
	var w Work
	if p := Analyze(&model.Request{Dict: model.NewDict()}, &w); len(p.Segments) != 0 {
		t.Errorf("a request without a root has a path: %v", p.Segments)
	}
	r := modeltest.Request(t, "cb.request sched 5ms -\n  cb.execute worker 5ms 5ms")
	step(r)
	if p := Analyze(r, &w); len(p.Segments) != 0 || len(p.Stages) != 0 || p.TTFT.OK {
		t.Errorf("a window without length has a path: %+v", p)
	}
}

// large requests are shapes that make naive walks slow.
var large = map[string]func(n int) *model.Request{
	"children one after the other": func(n int) *model.Request {
		return wide(n, func(i int) (int, int) { return 2 * i, 2*i + 1 })
	},
	"children at once": func(n int) *model.Request {
		return wide(n, func(i int) (int, int) { return i, 3*n - i })
	},
	"children that each outlast the start of the next": func(n int) *model.Request {
		return wide(n, func(i int) (int, int) { return 2 * i, 2*i + 5 })
	},
	"children anywhere": func(n int) *model.Request {
		rng := rand.New(rand.NewPCG(1, 2))
		return wide(n, func(int) (int, int) { at := rng.IntN(3 * n); return at, at + rng.IntN(1000) })
	},
	"a chain": func(n int) *model.Request {
		r := newRequest("cb.lookup", 0, 3*n)
		for i, up := 1, r.Root; i < n; i++ {
			up = add(r, up, "cb.lookup", i, 3*n-i)
		}
		return r
	},
	"a comb: a chain with company at each level": func(n int) *model.Request {
		r := newRequest("cb.request", 0, 3*n)
		for i, up := 1, r.Root; i < n/2; i++ {
			add(r, up, "cb.scatter", i, 3*n/2)
			up = add(r, up, "cb.execute", i, 3*n-i)
		}
		return r
	},
}

func wide(n int, at func(i int) (int, int)) *model.Request {
	r := newRequest("cb.request", 0, 3*n+1)
	for i := range n - 1 {
		start, end := at(i)
		add(r, r.Root, "cb.execute", start, end)
	}
	slices.SortStableFunc(r.Root.Kids, func(a, b *model.Span) int { return int(a.Start - b.Start) })
	slices.SortStableFunc(r.Spans, func(a, b *model.Span) int { return int(a.Start - b.Start) })
	return r
}

func newRequest(root string, start, end int) *model.Request {
	r := &model.Request{Dict: model.NewDict()}
	r.Root = add(r, nil, root, start, end)
	r.WindowStart, r.WindowEnd, r.OwnStart, r.OwnEnd = r.Root.Start, r.Root.End, r.Root.Start, r.Root.End
	return r
}

func add(r *model.Request, up *model.Span, name string, start, end int) *model.Span {
	stage := model.StageOf(name)
	s := &model.Span{ID: model.HexID(uint64(len(r.Spans) + 1)), Parent: up, StageKey: stage.ID(), Stage: stage, Kin: stage,
		Start: modeltest.Epoch + model.Time(start), End: modeltest.Epoch + model.Time(end)}
	s.RawStart, s.RawEnd = s.Start, s.End
	if up != nil {
		up.Kids = append(up.Kids, s)
	}
	r.Spans = append(r.Spans, s)
	return s
}

func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	const n = 100_000
	for name, build := range large {
		t.Run(name, func(t *testing.T) {
			r := build(n)
			step(r)
			var w Work
			start := time.Now()
			p := Analyze(r, &w)
			took := time.Since(start)
			t.Logf("%d spans in %v", len(r.Spans), took)
			if took > 5*time.Second { // about 0.1 s; a quadratic walk would need minutes
				t.Errorf("took %v", took)
			}
			factsOf(t, r, p)
		})
	}
	t.Run("drag of the comb", func(t *testing.T) {
		r := large["a comb: a chain with company at each level"](1000)
		step(r)
		var w Work
		p := Analyze(r, &w)
		// The chain cb.execute i lies in [i, 3000-i), i < 500, the scatters end at 1500: what the chain holds before 1500 is never alone, but
		// for the first ns, which the root has to itself.
		if got := p.Stages[1]; got.Key != model.StageExecute.ID() || got.Total != 2998 || got.Drag != 1499 {
			t.Errorf("cb.execute: %+v", got)
		}
	})
}

func TestNoAllocations(t *testing.T) {
	r := typical(t)
	var w Work
	Analyze(r, &w)
	if n := testing.AllocsPerRun(100, func() { Analyze(r, &w) }); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}

// typical is a CacheBlend request of 20 spans as all processes together record it.
func typical(t testing.TB) *model.Request {
	r := modeltest.Request(t, `
llm_request                  engine  0ms 900ms gen_ai.latency.time_to_first_token=0.3 gen_ai.latency.time_in_queue=0.01
  cb.request                 sched   5ms 890ms
    cb.schedule              sched   10ms 110ms
      cb_admission_check     sched   11ms 12ms
      cb.lookup.rpc          sched   15ms 105ms
        cb.lookup            server  16ms 104ms
          cb.fingerprint_match server 17ms 19ms
          cb.prefix_lookup   server  19ms 20ms
          cb.sparse_prefetch server  21ms 102ms l2_keys=4
            cb.l2_load       server  22ms 72ms
          cb.classify        server  102ms 103ms
      cb.build_meta          sched   106ms 107ms
    cb.execute               worker0 120ms 300ms
      cb.start_load_kv       worker0 121ms 150ms
        cb.retrieve          server  122ms 149ms
          cb.scatter         server  130ms 148ms
      cb.model_forward       worker0 151ms 299ms
        cb.check             worker0 152ms 160ms
        cb.partial           worker0 161ms 290ms
    cb.store_final           server  880ms 950ms
`)
	step(r)
	return r
}

func BenchmarkAnalyze(b *testing.B) {
	b.Run("typical", func(b *testing.B) { benchmark(b, typical(b)) })
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range large {
			if !yield(name) {
				return
			}
		}
	}) {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			r := large[name](1_000_000)
			step(r)
			benchmark(b, r)
		})
	}
}

func benchmark(b *testing.B, r *model.Request) {
	var w Work
	Analyze(r, &w)
	b.ReportAllocs()
	for b.Loop() {
		Analyze(r, &w)
	}
	b.ReportMetric(float64(len(r.Spans))*float64(b.N)/b.Elapsed().Seconds(), "spans/s")
}
