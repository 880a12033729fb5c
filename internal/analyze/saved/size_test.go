package saved

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// usual is a request of an ordinary deployment: ids of vLLM, 17 stages, durations of several octaves, all numbers known.
func usual(rnd *rand.Rand, dict *model.Dict, i int) *model.Row {
	id := fmt.Sprintf("%d_chatcmpl-%016x%016x-%08x", 0, rnd.Uint64(), rnd.Uint64(), rnd.Uint32())
	ns := func(median time.Duration) int64 { return int64(float64(median) * math.Exp(rnd.NormFloat64())) }
	r := &model.Row{Identity: model.Identity{ID: id, External: id[2 : len(id)-9]}, Hash: xxhash.Sum64String(id),
		Flags: model.RowRealRoot | model.RowRootClosed | model.RowComplete | model.RowVocabulary | model.RowLLM | model.RowHasLookup | model.RowHitsLoaded,
		Start: model.Time(1_700_000_000e9 + int64(i)*int64(86400e9/1_000_000) + rnd.Int64N(1e6)), Window: ns(time.Second)}
	r.RootDuration, r.TTFT, r.Queue = model.Some(r.Window), model.Some(r.Window/4+rnd.Int64N(1e6)), model.Some(ns(10*time.Millisecond))
	r.Prefill, r.Decode = model.Some(ns(100*time.Millisecond)), model.Some(ns(600*time.Millisecond))
	r.PromptTokens, r.CompletionTokens, r.TTFTTotal = model.Some(rnd.Int64N(16000)), model.Some(rnd.Int64N(500)), r.TTFT
	r.Model, r.Instance = "meta-llama/Llama-3.1-8B-Instruct", fmt.Sprint("lmcache-", rnd.IntN(8))
	for s := model.StageLLMRequest; s < model.StageStoreFinal; s++ {
		d := ns(20 * time.Millisecond)
		r.Stages = append(r.Stages, model.RowStage{Stage: s.ID(), Owner: s.Info().Owner, Spans: 1, Counted: 1, Union: d, Self: d / 2, Critical: d * rnd.Int64N(2), Drag: d / 4})
		r.Spans = append(r.Spans, model.RowSpan{Stage: s.ID(), Owner: s.Info().Owner, NS: d})
	}
	r.TopStage = model.StageModelForward.ID()
	l := model.RowLookup{Submit: model.Some(ns(time.Millisecond)), L2Load: model.Some(ns(20 * time.Millisecond)), ServerOther: model.Some(ns(3 * time.Millisecond)), PollWait: model.Some(ns(5 * time.Millisecond))}
	l.RPC = model.Some(l.Submit.V + l.L2Load.V + l.ServerOther.V + l.PollWait.V)
	r.Lookups = []model.RowLookup{l}
	asked, prefix, segmented := rnd.Int64N(16000), rnd.Int64N(2000), rnd.Int64N(1000)
	r.Hits = model.RowHits{Requested: model.Some(asked), Hit: model.Some(prefix + segmented), Prefix: model.Some(prefix), Segmented: model.Some(segmented), NonPrefix: model.Some(0),
		Written: model.Some(prefix), Shortfall: model.Some(segmented), Class: model.HitPartial}
	r.Blend = model.RowBlend{RecompRatios: []float64{rnd.Float64()}, Matches: model.Some(rnd.Int64N(50)), Lookups: model.Some(1)}
	return r
}

// R8.4: ≤ 15 MB, here for a day of a million requests with all that is kept full.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	if testing.Short() {
		t.Skip("a day of requests")
	}
	dict := model.NewDict()
	a := report.New(dict, report.Options{By: []report.By{report.ByInstance, report.ByPromptTokens, report.ByHitClass}})
	rnd := rand.New(rand.NewPCG(1, 2))
	const n = 60_000
	for i := range n {
		a.Add(usual(rnd, dict, i*1_000_000/n))
	}
	var b bytes.Buffer
	begin := time.Now()
	if err := (&Report{dict, a, &report.Capture{Survey: report.SurveyWhole}}).Write(&b); err != nil {
		t.Fatal(err)
	}
	wrote := time.Since(begin)
	begin = time.Now()
	r, err := Read(bytes.NewReader(b.Bytes()), model.NewDict())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, written in %v, read in %v", b.Len(), wrote, time.Since(begin))
	if b.Len() > 15_000_000 || r.Table().Len() != 30_000 || r.Table().Total != n {
		t.Errorf("%d bytes, %d of %d requests", b.Len(), r.Table().Len(), r.Table().Total)
	}
}
