package budget

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/saved"
	"github.com/cbtrace/cbtrace/internal/model"

	"github.com/cespare/xxhash/v2"
)

// fullReport is a saved report whose request table is full, of requests with a lookup and twenty stages.
func fullReport(b *testing.B, seed uint64) []byte {
	b.Helper()
	dict := model.NewDict()
	agg := report.New(dict, report.Options{})
	rnd := rand.New(rand.NewPCG(seed, 1))
	for i := range 30_000 {
		r := &model.Row{Flags: model.RowRealRoot | model.RowRootClosed | model.RowComplete | model.RowVocabulary | model.RowHasLookup, Start: model.Time(1_700_000_000e9 + int64(i)*1e7)}
		r.ID = "chatcmpl-" + string(rune('a'+i%26)) + "-" + string(rune('a'+i/26%26)) + "-" + string(rune('a'+i/676%26)) + string(rune('a'+i/17_576))
		r.Hash = xxhash.Sum64String(r.ID)
		for s := model.StageCBRequest; s < model.StageCBRequest+20; s++ {
			ns := int64(10 * math.Exp(0.4*rnd.NormFloat64()) * ms)
			stage(r, s, ns, ns)
			r.Window += ns
		}
		r.TTFT, r.RootDuration = model.Some(r.Window/2), model.Some(r.Window)
		r.PromptTokens, r.Hits = model.Some(1000+rnd.Int64N(1000)), model.RowHits{Requested: model.Some(1000), Hit: model.Some(rnd.Int64N(1000)), Written: model.Some(500), Class: model.HitPartial}
		r.Lookups = []model.RowLookup{{RPC: model.Some(10 * ms), Submit: model.Some(ms), L2Load: model.Some(4 * ms), ServerOther: model.Some(2 * ms), PollWait: model.Some(3 * ms)}}
		agg.Add(r)
	}
	var out bytes.Buffer
	if err := (&saved.Report{Dict: dict, Aggregate: agg, Facts: &report.Capture{Survey: report.SurveyWhole}}).Write(&out); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

// Twenty rules on two full saved reports, reading included: at most 60 s (issue 7).
func BenchmarkTwentyRules(b *testing.B) {
	files := [][]byte{fullReport(b, 1), fullReport(b, 2)}
	budget, err := Parse("b", []byte(`version: 1
budgets:
  - {stage: "cb.*", metric: p95, baseline: {max_ratio: 1.05}}
  - {metric: request.p50, baseline: {max_ratio: 1.05}}
  - {metric: request.p99, max: 1s}
  - {metric: ttft.over(200ms), max: 0.5}
  - {metric: request.mean, max: 1s}
  - {metric: hit_rate, min: 0.3}
  - {metric: effective_reuse, min: 0.3}
  - {metric: lookup.poll_wait.share, max: 0.5}
  - {metric: request.p95, max: 1s, where: '{ request.hit_rate > 0.5 }'}
`), none)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var sides []*Subject
		for _, f := range files {
			r, err := saved.Read(bytes.NewReader(f), model.NewDict())
			if err != nil {
				b.Fatal(err)
			}
			sides = append(sides, Saved("report", r))
		}
		d, err := budget.Evaluate(&Input{Current: sides[0], Baselines: sides[1:], Nearest: none})
		if err != nil || len(d.Results) < 20 || d.Verdict != Pass {
			b.Fatalf("%v, %v", err, d)
		}
	}
	b.ReportMetric(float64(len(files[0]))/1e6, "MB/report")
}
