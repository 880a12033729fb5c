package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

const ms = 1_000_000

// inLatency are the flags of a complete request.
const inLatency = model.RowRealRoot | model.RowRootClosed | model.RowComplete | model.RowVocabulary

// rowOf is a complete request with a root of its window.
func rowOf(id string, start model.Time, window int64) *model.Row {
	return &model.Row{Identity: model.Identity{ID: id}, Hash: xxhash.Sum64String(id), Flags: inLatency, Start: start, Window: window,
		RootDuration: model.Some(window)}
}

// randomRow makes a row that has something of everything.
func randomRow(rnd *rand.Rand, dict *model.Dict, i int) *model.Row {
	opt := func(n int64) model.Opt {
		if rnd.IntN(4) == 0 {
			return model.Opt{}
		}
		return model.Some(rnd.Int64N(n))
	}
	r := rowOf(fmt.Sprintf("request-%d", i), model.Time(1_700_000_000*second+rnd.Int64N(3*86400)*second+rnd.Int64N(second)), rnd.Int64N(5*second))
	if rnd.IntN(10) == 0 {
		r.Flags = model.RowFlags(rnd.IntN(1 << 11))
	}
	r.Findings = model.FindingSet(rnd.Uint64()&rnd.Uint64()&rnd.Uint64()) & (1<<finding.ClockDisagreement - 1)
	r.TTFT, r.Queue, r.Decode, r.PromptTokens, r.CompletionTokens = opt(second), opt(second), opt(second), opt(1<<14), opt(200)
	r.TTFTTotal = r.TTFT
	r.Model, r.Instance = fmt.Sprintf("m%d", rnd.IntN(3)), fmt.Sprintf("i%d", rnd.IntN(400))
	for w := range rnd.IntN(3) {
		r.Workers = append(r.Workers, fmt.Sprint(w))
	}
	for range 1 + rnd.IntN(6) {
		s := model.RowStage{Stage: model.StrID(1 + rnd.IntN(int(model.NumStages)-1)), Owner: model.Owner(1 + rnd.IntN(4)), Class: model.Class(rnd.IntN(4)), Spans: 1, Counted: 1}
		if rnd.IntN(3) == 0 {
			s.Stage, s.Owner = dict.InternString(fmt.Sprintf("name.%d", rnd.IntN(50))), model.OwnerNone
		}
		s.Union, s.Self, s.Critical, s.Drag, s.TTFT, s.TTFTDrag = rnd.Int64N(second), rnd.Int64N(second), rnd.Int64N(second), rnd.Int64N(second), rnd.Int64N(second), rnd.Int64N(second)
		r.Stages = append(r.Stages, s)
		r.Spans = append(r.Spans, model.RowSpan{Stage: s.Stage, Owner: s.Owner, NS: s.Union})
		r.TopStage = s.Stage
	}
	for b := range r.Bounds {
		r.Bounds[b], r.TTFTBound[b] = rnd.Int64N(second), rnd.Int64N(second)
	}
	for range rnd.IntN(3) {
		r.Lookups = append(r.Lookups, model.RowLookup{Basis: model.Basis(rnd.IntN(int(model.NumBases))), Uncertainty: opt(second), RPC: opt(second), Submit: opt(second), L2Load: opt(second),
			ServerOther: opt(second), PollWait: opt(second), Server: opt(second), Wait: opt(second), AtMost: rnd.IntN(2) == 0})
	}
	r.Hits = model.RowHits{Requested: opt(4096), Hit: model.Some(rnd.Int64N(4096)), Prefix: opt(4096), Segmented: opt(4096), NonPrefix: opt(4096), L1Tokens: opt(4096),
		L2Tokens: opt(4096), L1Keys: opt(16), L2Keys: opt(16), Written: opt(4096), Shortfall: opt(4096), Class: model.HitClass(rnd.IntN(int(model.NumHitClasses)))}
	if rnd.IntN(5) == 0 {
		r.Hits.EarlyExit = fmt.Sprintf("reason %d", rnd.IntN(300))
		r.ErrorCodes = []string{fmt.Sprintf("code %d", rnd.IntN(300))}
	}
	r.Verdict, r.Wasted = model.Verdict(rnd.IntN(int(model.NumVerdicts))), opt(1000)
	r.Blend = model.RowBlend{L2Bytes: opt(1 << 30), L2Chunks: opt(100), L2Union: opt(second), Matches: opt(100), Lookups: model.Some(1 + rnd.Int64N(3)), TableHits: opt(10),
		Probes: opt(10), L1Hits: opt(10), L2Misses: opt(10), ScatteredTokens: opt(4096), ScatterUnion: opt(second), SlotWrites: opt(4096), PrefixChunks: opt(9),
		ShiftedChunks: opt(9), DroppedChunks: opt(9), PartialBlocks: opt(9), ImpCount: opt(900), ImpEmpty: rnd.Int64N(2), HasImpEmpty: true,
		RecompRatios: []float64{rnd.Float64()}, Dispatches: []string{fmt.Sprint(rnd.IntN(3))}}
	if rnd.IntN(3) == 0 {
		r.Transfers = []model.RowTransfer{{Kernel: rnd.Int64N(second), Staging: rnd.Int64N(second), Idle: rnd.Int64N(second), Bytes: rnd.Int64N(1 << 30)}}
	}
	r.Joins = map[model.JoinKey]int64{{From: "worker", To: "server", By: model.Join(rnd.IntN(int(model.NumJoins)))}: rnd.Int64N(5)}
	r.Counts = model.Counts{Duplicated: rnd.Int64N(3), Adopted: rnd.Int64N(3)}
	s := rnd.IntN(int(model.NumStages))
	r.StageSpans[s], r.StageLines[s], r.StagePairs[s] = 3, 2, rnd.Int32N(3)
	r.Disagreeing = rnd.Int32N(2)
	return r
}

var testOptions = Options{
	By:   []By{ByModel, ByInstance, ByHitClass, ByWorker, ByPromptTokens},
	SLOs: []SLO{{Expr: "ttft<=500ms", Metric: "ttft", Bound: 500 * ms}},
}

func encode(t *testing.T, a *Aggregate) []byte {
	t.Helper()
	b, err := json.MarshalIndent(a.Document(&Capture{Start: 1_700_000_000 * second, End: 1_700_300_000 * second, Survey: "whole"}), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// R2.4, R2.5: neither the order of rows nor how they are spread over workers changes a byte. The dict of each run is filled in another
// order, so that nothing may depend on StrIDs.
func TestOrderAndWorkersChangeNothing(t *testing.T) {
	const n = 3000
	var want []byte
	var wantTable []string
	for _, workers := range []int{1, 2, 7} {
		for seed := range uint64(2) {
			rnd := rand.New(rand.NewPCG(seed, 9))
			dict := model.NewDict()
			for _, i := range rnd.Perm(50) {
				dict.InternString(fmt.Sprintf("name.%d", i))
			}
			all := make([]*Aggregate, workers)
			for w := range all {
				all[w] = New(dict, testOptions)
			}
			for _, i := range rnd.Perm(n) {
				all[rnd.IntN(workers)].Add(randomRow(rand.New(rand.NewPCG(uint64(i), 1)), dict, i))
			}
			rnd.Shuffle(workers, func(i, j int) { all[i], all[j] = all[j], all[i] })
			for _, a := range all[1:] {
				all[0].Merge(a)
			}
			have, table := encode(t, all[0]), []string{}
			for d := range all[0].Table().All {
				table = append(table, d.ID)
			}
			if want == nil {
				want, wantTable = have, table
				continue
			}
			if !bytes.Equal(have, want) {
				at := 0
				for have[at] == want[at] {
					at++
				}
				t.Fatalf("%d workers, seed %d: %.200s\nwant %.200s", workers, seed, have[max(0, at-80):], want[max(0, at-80):])
			}
			if fmt.Sprint(table) != fmt.Sprint(wantTable) {
				t.Fatalf("%d workers, seed %d: another request table", workers, seed)
			}
		}
	}
}
