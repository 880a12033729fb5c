package budget

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/stats"
	"github.com/cbtrace/cbtrace/internal/model"
)

// paths makes requests whose path is a lookup and a forward pass; loads are what the forward pass takes more, in ms.
func paths(n int, seed uint64, more float64) *Subject {
	rnd := rand.New(rand.NewPCG(seed, 1))
	return run(n, func(i int, r *model.Row) {
		lookup, forward := int64((20+2*rnd.NormFloat64())*ms), int64((50+5*rnd.NormFloat64()+more)*ms)
		stage(r, model.StageLookupRPC, lookup, lookup)
		stage(r, model.StagePartial, forward, forward)
		stage(r, model.StageCBRequest, lookup+forward+10*ms, 10*ms)
		r.Window = lookup + forward + 10*ms
		r.Hits = model.RowHits{Requested: model.Some(100), Hit: model.Some(60)}
		if i%10 == 0 {
			r.Findings = 1 << finding.LatePoll
		}
	})
}

func compare(t *testing.T, a, b *Subject) *Diff {
	t.Helper()
	d, err := Compare(a, b, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCompare(t *testing.T) {
	a := paths(400, 1, 0)
	same := compare(t, a, a)
	check(t, "itself", []any{same.Changed, len(same.Appeared), len(same.Vanished), same.Mix.ExplainedNS.OK}, []any{false, 0, 0, false})
	for _, m := range same.Metrics {
		if m.Delta.V != 0 || m.Verdict == Better || m.Verdict == Worse {
			t.Errorf("%+v", m)
		}
	}
	check(t, "another seed", compare(t, a, paths(400, 2, 0)).Changed, false)

	d := compare(t, a, paths(400, 2, 10))
	check(t, "changed", []any{d.Changed, d.Leading}, []any{true, "request"})
	first := d.Metrics[0]
	check(t, "first", []any{first.Metric, first.Verdict}, []any{"cb.partial.critical", Worse})
	if math.Abs(float64(first.ContributionNS.V)-10*ms) > 1*ms || first.Low.V > first.Delta.V || first.High.V < first.Delta.V {
		t.Errorf("%+v", first)
	}
	sum := int64(0)
	for _, m := range d.Metrics {
		sum += m.ContributionNS.V
	}
	mean := d.Find("request.mean")
	if math.Abs(float64(sum)-mean.Delta.V) > 3 || mean.Verdict != Worse {
		t.Errorf("the stages sum to %d of %v", sum, mean)
	}
	check(t, "p95 of it", d.Find("cb.partial.p95").Verdict, Worse)
	check(t, "the lookup", d.Find("cb.lookup.rpc.p95").Verdict, NoSign)
	check(t, "p99.9 is not asked", d.Find("request.p99.9"), (*DiffMetric)(nil))
	check(t, "findings", d.Findings, []DiffFinding{{"late_poll", 40, 40}, {"no_llm_request", 1, 1}})
	d = compare(t, paths(400, 2, 10), a)
	check(t, "the other way round", []any{d.Metrics[0].Metric, d.Metrics[0].Verdict, d.Metrics[0].ContributionNS.V < 0}, []any{"cb.partial.critical", Better, true})
	if p := d.Find("request.p50").WholeP; !p.OK || p.V > 1e-9 {
		t.Errorf("whole distribution: %v", p)
	}
}

// However many metrics there are, one that is always larger survives Holm's procedure.
func TestDrawsFor(t *testing.T) {
	for _, n := range []int{1, 75, 125, 250, 251, 600, 5000} {
		p := make([]float64, n)
		for i := range p {
			p[i] = 1
		}
		p[0] = 2 / float64(drawsFor(n, DefaultAlpha)+1)
		if !stats.Holm(p, DefaultAlpha)[0].Rejected {
			t.Errorf("%d metrics: the least p is %v", n, p[0])
		}
	}
	if n := drawsFor(125, DefaultAlpha); n != stats.BlockDraws {
		t.Errorf("%d draws for 125 metrics", n)
	}
}

// Engines may say the time to first token of requests whose path to it nobody recorded.
func TestCompareWithoutPathToFirstToken(t *testing.T) {
	s := run(10, func(i int, r *model.Row) { r.TTFT = model.Some(10 * ms) })
	if d := compare(t, s, s); d.Leading != "ttft" || d.Changed {
		t.Errorf("led by %s, changed %v", d.Leading, d.Changed)
	}
}

func TestCompareStagesHitsAndMix(t *testing.T) {
	traffic := func(full int, more ...model.Stage) *Subject {
		return run(300, func(i int, r *model.Row) {
			r.Hits = model.RowHits{Requested: model.Some(100), Hit: model.Some(0), Class: model.HitMiss}
			r.Window = 100 * ms
			if i*37%100 < full {
				r.Hits.Hit, r.Hits.Class, r.Window = model.Some(100), model.HitFull, 20*ms
			}
			for _, s := range more {
				stage(r, s, ms, 0)
			}
		})
	}
	d := compare(t, traffic(60, model.StageScatter), traffic(40, model.StageL2Load, model.StageFingerprintsRegistered))
	check(t, "appeared", d.Appeared, []string{"cb.fingerprints.registered", "cb.l2_load"})
	check(t, "vanished", d.Vanished, []string{"cb.scatter"})
	check(t, "fewer hits are worse", []any{d.Find("hit_rate").Verdict, d.Find("request.mean").Verdict}, []any{Worse, Worse})
	check(t, "the mix explains all of it", d.Mix.ExplainedNS, model.Some(16*ms))
	check(t, "no splits", d.Find("hit_rate.l1"), (*DiffMetric)(nil))
	few := compare(t, run(4, func(i int, r *model.Row) {}), run(400, func(i int, r *model.Row) {}))
	check(t, "four requests", []any{few.Find("request.p50").Verdict, few.Find("request.p50").P.OK, few.Changed}, []any{Insufficient, false, false})
}
