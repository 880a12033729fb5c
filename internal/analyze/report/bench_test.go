package report

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// usualRow is a request with the 17 spans of a unified capture.
func usualRow(rnd *rand.Rand, i int) *model.Row {
	r := rowOf(fmt.Sprintf("chatcmpl-%016x-%08x", rnd.Uint64(), i), model.Time(1_700_000_000*second+int64(i)*25*ms), rnd.Int64N(2*second))
	r.Flags |= model.RowLLM | model.RowHasLookup | model.RowHitsLoaded
	r.External = r.ID[:25]
	r.TTFT, r.Queue, r.Prefill, r.Decode = model.Some(r.Window/3), model.Some(r.Window/9), model.Some(r.Window/5), model.Some(r.Window/2)
	r.PromptTokens, r.CompletionTokens, r.TTFTTotal = model.Some(2048), model.Some(128), r.TTFT
	r.Model, r.Instance, r.Workers = "llama", "lmcache-0", []string{"0", "1"}
	for s := model.StageCBRequest; len(r.Stages) < 15; s++ {
		d := rnd.Int64N(100 * ms)
		r.Stages = append(r.Stages, model.RowStage{Stage: s.ID(), Owner: s.Info().Owner, Spans: 1, Counted: 1, Union: d, Self: d / 2, Critical: d / 3, Drag: d / 4, TTFT: d / 5})
		r.Spans = append(r.Spans, model.RowSpan{Stage: s.ID(), Owner: s.Info().Owner, NS: d})
	}
	r.Spans = append(r.Spans, r.Spans[:2]...)
	for b := range r.Bounds {
		r.Bounds[b], r.TTFTBound[b] = r.Window/12, r.Window/40
	}
	r.Lookups = []model.RowLookup{{RPC: model.Some(90 * ms), Submit: model.Some(1 * ms), L2Load: model.Some(50 * ms), ServerOther: model.Some(9 * ms), PollWait: model.Some(30 * ms)}}
	r.Hits = model.RowHits{Requested: model.Some(2048), Hit: model.Some(1024), Prefix: model.Some(512), Segmented: model.Some(256), NonPrefix: model.Some(256),
		Written: model.Some(1024), Shortfall: model.Some(0), Class: model.HitPartial}
	r.Joins = map[model.JoinKey]int64{{From: "worker", To: "engine", By: model.JoinID}: 4, {From: "server", To: "engine", By: model.JoinID}: 9}
	return r
}

// The bar is 3 M spans/s on a core, without an allocation per span.
func BenchmarkAdd(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	rows := make([]*model.Row, 100_000)
	for i := range rows {
		rows[i] = usualRow(rnd, i)
	}
	a := New(model.NewDict(), Options{})
	spans := 0
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		r := rows[i%len(rows)]
		a.Add(r)
		spans += len(r.Spans)
		i++
	}
	if a.main.requests != int64(i) {
		b.Fatal("requests were lost")
	}
	b.ReportMetric(float64(spans)/b.Elapsed().Seconds(), "spans/s")
}

func BenchmarkMerge(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	dict := model.NewDict()
	from := New(dict, Options{})
	for i := range 100_000 {
		from.Add(usualRow(rnd, i))
	}
	b.ReportAllocs()
	for b.Loop() {
		New(dict, Options{}).Merge(from)
	}
}
