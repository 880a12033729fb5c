package split

import (
	"reflect"
	"runtime/debug"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// R7.7.
func TestBlend(t *testing.T) {
	some := model.Some
	for _, c := range []struct {
		name, text string
		want       model.RowBlend
	}{
		{"nothing said", "cb.request sched 0ms 9ms\n cb.l2_load server 1ms 2ms", model.RowBlend{}},
		{"loads side by side", `
cb.sparse_prefetch server 0ms 100ms l1_hits=3 l2_misses=1
  cb.l2_load server 0ms 30ms bytes=3000000 chunks=2
  cb.l2_load server 20ms 60ms bytes=1000000 chunks=1
  cb.l2_load server 60ms 90ms chunks=1
  cb.l2_load server 60ms 99ms bytes=7 chunks=7 +shutdown`,
			model.RowBlend{L2Bytes: some(4_000_000), L2Chunks: some(4), L2Union: some(60 * ms), L1Hits: some(3), L2Misses: some(1)}},
		{"both matchers of one lookup, and one without a lookup", `
cb.request server 0ms 90ms
  cb.lookup server 0ms 10ms
    cb.fingerprint_match server 1ms 2ms matches=3 n_probes=100 table_hits=4
    cb.coordinator_match server 1ms 5ms matches=2
  cb.lookup server 20ms 30ms
    cb.fingerprint_match server 21ms 22ms
  cb.fingerprint_match server 40ms 50ms matches=0`,
			model.RowBlend{Matches: some(5), Lookups: some(2), Probes: some(100), TableHits: some(4)}},
		{"of ranks the one that wrote most, all its passes", `
cb.request server 0ms 90ms
  cb.scatter server 0ms 10ms worker_id=0 scattered_tokens=512 n_prefix=2 n_shifted=0 dropped=1
  cb.scatter server 2ms 12ms worker_id=1 scattered_tokens=256 n_prefix=1 n_shifted=0 slot_writes=256
  cb.scatter server 20ms 40ms worker_id=1 scattered_tokens=512 n_prefix=1 n_shifted=1 partial_blocks=1`,
			model.RowBlend{ScatteredTokens: some(768), SlotWrites: some(256), PrefixChunks: some(2), ShiftedChunks: some(1), PartialBlocks: some(1), ScatterUnion: some(30 * ms)}},
		{"of equal ranks the smaller", `
cb.request server 0ms 90ms
  cb.scatter server 0ms 10ms worker_id=1 scattered_tokens=512 dropped=0
  cb.scatter server 2ms 12ms worker_id=0 scattered_tokens=512 dropped=1`,
			model.RowBlend{ScatteredTokens: some(512), DroppedChunks: some(1), ScatterUnion: some(10 * ms)}},
		{"recompute of one rank, from cb.check first", `
cb.request server 0ms 90ms
  cb.check worker0 0ms 10ms worker_id=0 imp_count=40 recomp_ratio=0.15 imp_empty=False
  cb.check worker0 20ms 30ms worker_id=0 imp_count=10 recomp_ratio=0.25 imp_empty=True
  cb.check worker1 0ms 10ms worker_id=1 imp_count=40 recomp_ratio=0.15 imp_empty=False
  cb.partial worker0 10ms 20ms worker_id=0 imp_count=40 dispatch=flex`,
			model.RowBlend{ImpCount: some(50), RecompRatios: []float64{0.15, 0.25}, Dispatches: []string{"flex"}, ImpEmpty: 1, HasImpEmpty: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sp Splitter
			sp.Split(modeltest.Request(t, c.text))
			var row model.Row
			sp.Fill(&row)
			got := row.Blend
			if len(got.RecompRatios) == 0 {
				got.RecompRatios = nil
			}
			if len(got.Dispatches) == 0 {
				got.Dispatches = nil
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// R7.8; CONTRACT-lmcache 9 and 9.2 B.
func TestTransfers(t *testing.T) {
	var sp Splitter
	out := sp.Split(modeltest.Request(t, `
request server 0ms 60ms
  mp.store server 10ms 50ms
    transfer.kernel_interval server 11ms 21ms elapsed_seconds=0.010 first_start_s=1700000000.011 last_end_s=1700000000.044
    transfer.staging         server 21ms 41ms elapsed_seconds=0.020 first_start_s=1700000000.012 last_end_s=1700000000.045 nbytes=2000000000
  mp.retrieve server 1ms 7ms
    transfer.kernel  server 1ms 3ms nbytes=2097152
    transfer.staging server 3ms 7ms nbytes=2097152
  mp.retrieve server 2ms 5ms
  mp.store server 20ms 40s +shutdown
    transfer.staging server 21ms 41ms elapsed_seconds=0.020`))
	if len(out.Transfers) != 2 {
		t.Fatalf("%d transfers, want 2", len(out.Transfers))
	}
	store := out.Transfers[1] // by start
	if want := (model.RowTransfer{Kernel: 10 * ms, Staging: 20 * ms, Idle: 10 * ms, Bytes: 2e9}); store.RowTransfer != want {
		t.Errorf("the store: %+v, want %+v", store.RowTransfer, want)
	}
	if rate, _ := store.StagingRate(); rate != 100 {
		t.Errorf("staging %v GB/s, want 100", rate)
	}
	near := func(o model.Opt, want int64) bool { return o.OK && max(o.V-want, want-o.V) < 1000 }
	if !near(store.First, 1700000000_011*ms) || !near(store.Last, 1700000000_045*ms) {
		t.Errorf("from %v to %v", store.First, store.Last)
	}
	got := out.Transfers[0] // bars that do not say their length are as long as they are drawn
	if want := (model.RowTransfer{Kernel: 2 * ms, Staging: 4 * ms, Idle: 0, Bytes: 2097152}); got.RowTransfer != want {
		t.Errorf("the retrieve: %+v, want %+v", got.RowTransfer, want)
	}
	if rate, _ := got.StagingRate(); rate != 0.524288 {
		t.Errorf("staging %v GB/s, want 0.524288", rate)
	}
	if got.First.OK {
		t.Error("nobody said when it began")
	}
	if _, ok := (&Transfer{}).StagingRate(); ok {
		t.Error("a rate without staging")
	}
}

// R7.11.
func TestFailures(t *testing.T) {
	var sp Splitter
	out := sp.Split(modeltest.Request(t, `
cb.request server 0ms 60ms error
  cb.retrieve server 1ms 7ms success=False
  cb.scatter  server 1ms 7ms success=False
  cb.retrieve server 1ms 7ms success=True
  mp.retrieve server 1ms 7ms success=False`))
	if n, m := len(out.Failures.RetrieveFailed), len(out.Failures.RequestError); n != 2 || m != 1 {
		t.Errorf("%d failed retrieves and %d errors, want 2 and 1", n, m)
	}
	var row model.Row
	sp.Fill(&row)
	if want := []string{"retrieve_failed", "request_error"}; !reflect.DeepEqual(row.ErrorCodes, want) {
		t.Errorf("codes %v", row.ErrorCodes)
	}
}

// What rows hold survives the next request.
func TestFillKeeps(t *testing.T) {
	var sp Splitter
	r := modeltest.Request(t, "request server 0ms 9ms early_exit_reason=no_gpu_context\n cb.check worker 1ms 2ms dispatch=unified")
	memory := []byte("no_gpu_contextunified")
	for _, s := range r.Spans {
		for i := range s.Attrs {
			v := &s.Attrs[i].Value
			*v = model.Value{Kind: model.StrValue, Str: string(memory)}
			if s.Attrs[i].Key == model.AttrEarlyExitReason {
				v.Str = v.Str[:14]
			} else {
				v.Str = v.Str[14:]
			}
		}
	}
	sp.Split(r)
	var row model.Row
	sp.Fill(&row)
	if row.Hits.EarlyExit != "no_gpu_context" || len(row.Blend.Dispatches) != 1 || row.Blend.Dispatches[0] != "unified" {
		t.Errorf("exit %q, dispatches %q", row.Hits.EarlyExit, row.Blend.Dispatches)
	}
	kept := sp.names.keep(row.Hits.EarlyExit)
	if sp.names.keep("no_gpu_"+"context") != kept {
		t.Error("the pool does not know its own text")
	}
	for i := range 2 * poolLimit {
		sp.names.keep(string(rune('a'+i%26)) + string(rune(0x100+i)))
	}
	if len(sp.names.m) > poolLimit {
		t.Errorf("%d texts, at most %d", len(sp.names.m), poolLimit)
	}
}

const ordinary = `
cb.request                 sched   0ms 900ms hit_tokens=1024 requested_tokens=2048 prefix_hit_tokens=1024 non_prefix_hit_tokens=0
  cb.schedule              sched   1ms 100ms
    cb.lookup.rpc          sched   2ms 92ms n_polls=5
      cb.lookup            server  3ms 60ms
        cb.fingerprint_match server 4ms 5ms matches=4
        cb.sparse_prefetch server  6ms 55ms l2_keys=4
          cb.l2_load       server  7ms 30ms bytes=1000 chunks=4
          cb.l2_load       server  8ms 50ms bytes=1000 chunks=4
        cb.classify        server  56ms 57ms
  cb.execute               worker0 110ms 890ms
    cb.start_load_kv       worker0 111ms 200ms worker_id=0
      cb.retrieve          server  112ms 190ms worker_id=0 success=True
        cb.scatter         server  113ms 189ms worker_id=0 scattered_tokens=1024 n_prefix=4 n_shifted=0 dropped=0
    cb.model_forward       worker0 210ms 880ms
      cb.check             worker0 300ms 310ms imp_count=40 recomp_ratio=0.15
  mp.store                 server  850ms 990ms
    transfer.staging       server  860ms 900ms elapsed_seconds=0.040 nbytes=1000`

func TestNoAllocations(t *testing.T) {
	r := modeltest.Request(t, ordinary)
	var sp Splitter
	var row model.Row
	if n := testing.AllocsPerRun(200, func() { sp.Split(r); sp.Fill(&row) }); n > 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func BenchmarkSplit(b *testing.B) {
	r := modeltest.Request(b, ordinary)
	var sp Splitter
	var row model.Row
	b.ReportAllocs()
	for b.Loop() {
		sp.Split(r)
		sp.Fill(&row)
	}
	b.ReportMetric(float64(len(r.Spans))*float64(b.N)/b.Elapsed().Seconds(), "spans/s")
}

// A request as large as a hostile capture makes it: wide, deep, with an attempt per load. It must end soon; quadratic work would take hours.
func TestHugeRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	const n = 50_000
	r := modeltest.Request(t, "cb.request server 0ms 1ms hit_tokens=256 requested_tokens=512")
	root := r.Root
	add := func(up *model.Span, stage model.Stage, start, end model.Time) *model.Span {
		s := &model.Span{ID: model.HexID(uint64(len(r.Spans) + 7)), Stage: stage, Kin: stage, StageKey: stage.ID(), Class: stage.Info().Class, Parent: up, MPScope: true,
			Trace: model.TraceID{Hi: uint64(len(r.Spans) % 3)}, RawStart: start, RawEnd: end, Start: start, End: end}
		up.Kids = append(up.Kids, s)
		r.Spans = append(r.Spans, s)
		return s
	}
	at := root.Start
	for i := range model.Time(n) { // wide, an attempt each
		add(root, model.StageLookup, at+10*i, at+10*i+3)
		add(add(root, model.StageRetrieve, at+10*i+4, at+10*i+9), model.StageScatter, at+10*i+5, at+10*i+8)
		add(root, model.StageCBRequest, at+10*i, at+10*i+9)
	}
	deep := root
	for i := range model.Time(n) { // deep
		deep = add(deep, [...]model.Stage{model.StageLookup, model.StageSparsePrefetch}[i%2], at+i, at+20*n-i)
	}
	var sp Splitter
	out := sp.Split(r)
	if out.Loads.Attempts != n || len(out.Loads.Passes) != n || len(out.Lookups) != n+n/2 {
		t.Errorf("%d attempts, %d passes, %d lookups", out.Loads.Attempts, len(out.Loads.Passes), len(out.Lookups))
	}
	rpc := &model.Span{Stage: model.StageLookupRPC, Kin: model.StageLookupRPC, ID: model.HexID(3), Parent: root, RawStart: at, RawEnd: at + 20*n, Start: at, End: at + 20*n, Kids: root.Kids}
	root.Kids = []*model.Span{rpc}
	r.Spans = append(r.Spans, rpc)
	if out = sp.Split(r); len(out.Lookups) != 1 || out.Lookups[0].RPC.V != 20*n {
		t.Errorf("%d lookups", len(out.Lookups))
	}
}
