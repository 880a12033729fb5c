package report

import (
	"fmt"
	"math"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// worthRow is a request in which some tokens were computed and some loaded, with a forward pass of so many ns; the lookup took 2 ms and the load
// 3 ms of its path.
func worthRow(id string, computed, loaded, forward int64) *model.Row {
	r := rowOf(id, 1, 100*ms)
	r.Flags |= model.RowVocabulary
	r.Model = "m"
	r.PromptTokens = model.Some(computed + loaded)
	r.Hits = model.RowHits{Requested: model.Some(computed + loaded), Hit: model.Some(loaded), Written: model.Some(loaded)}
	stage := func(s model.Stage, critical int64) {
		r.Stages = append(r.Stages, model.RowStage{Stage: s.ID(), Owner: s.Info().Owner, Spans: 1, Counted: 1, Critical: critical})
	}
	stage(model.StageLookup, 2*ms)
	stage(model.StageScatter, 3*ms)
	stage(model.StageSchedule, 7*ms) // a queue, not the cache
	stage(model.StagePartial, forward)
	return r
}

// worthRows are n of them: a pass takes 5 ms, 20 µs for each token computed and 3 µs for each that was loaded.
func worthRows(n int) (rows []*model.Row) {
	for i := range n {
		computed, loaded := int64(100*(1+i)), int64(256*(i*7%n))
		rows = append(rows, worthRow(fmt.Sprintf("r%d", i), computed, loaded, 5*ms+20_000*computed+3_000*loaded))
	}
	return rows
}

// What was spent is measured; what was saved is what computing a token takes more than loading it, times the tokens loaded.
func TestCacheWorth(t *testing.T) {
	w := reportOf(Options{}, worthRows(20)...).CacheWorth
	if w == nil {
		t.Fatal("not told")
	}
	const loaded = 256 * 190 // 0 + 1 + … + 19, in some order
	check(t, "measured", []any{w.Requests, w.LoadedTokens, w.SpentNS}, []any{20, loaded, 5 * ms})
	check(t, "per token", math.Round(w.PerTokenNS.V), 17_000)
	for _, ns := range []int64{w.SavedNS, w.SavedLowNS, w.SavedHighNS} { // nothing scatters: the bounds are the estimate
		if off := ns - 17_000*loaded/20; off < -10 || off > 10 {
			t.Errorf("saved %d ns", ns)
		}
	}
}

// Passes that scatter widen the bounds, which hold the truth.
func TestCacheWorthScatters(t *testing.T) {
	rows := worthRows(40)
	for i, r := range rows {
		r.Stages[3].Critical += ms * int64(1-2*(i/2%2)) // ±1 ms
	}
	w := reportOf(Options{}, rows...).CacheWorth
	const truth = 17_000 * 256 * (39 * 40 / 2) / 40
	if w == nil || !(w.SavedLowNS < truth && truth < w.SavedHighNS) || w.SavedHighNS-w.SavedLowNS < ms/10 || w.SavedHighNS-w.SavedLowNS > 20*ms {
		t.Errorf("%+v, the truth is %d", w, int64(truth))
	}
}

// Each model has a speed of its own.
func TestCacheWorthOfModels(t *testing.T) {
	rows := worthRows(20)
	for i, r := range worthRows(20) {
		r.ID, r.Model = fmt.Sprintf("n%d", i), "n"
		r.Stages[3].Critical *= 2
		rows = append(rows, r)
	}
	w := reportOf(Options{}, rows...).CacheWorth
	if w == nil || w.Requests != 40 || math.Round(w.PerTokenNS.V) != (17_000+34_000)/2 {
		t.Errorf("%+v", w)
	}
}

// Nothing is said where the requests do not tell it.
func TestCacheWorthUnknown(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(i int, r *model.Row)
	}{
		{"19 with a known load", func(i int, r *model.Row) {
			if i == 4 {
				r.Hits.Written = model.Opt{}
			}
		}},
		{"the same of all loaded", func(i int, r *model.Row) {
			r.PromptTokens.V += 512 - r.Hits.Written.V
			r.Hits.Written.V, r.Hits.Hit.V = 512, 512
		}},
		{"as many loaded as computed", func(i int, r *model.Row) {
			computed := r.PromptTokens.V - r.Hits.Written.V
			r.PromptTokens.V, r.Hits.Written.V, r.Hits.Hit.V = 2*computed, computed, computed
		}},
		{"passes that have nothing to do with tokens", func(i int, r *model.Row) { r.Stages[3].Critical = int64(i*i*7%11) * ms }},
		{"no forward pass recorded", func(i int, r *model.Row) { r.Stages = r.Stages[:3] }},
		{"out of latency", func(i int, r *model.Row) { r.Flags |= model.RowEdge }},
		{"two models, too few of each", func(i int, r *model.Row) { r.Model = fmt.Sprint(i % 2) }},
	} {
		rows := worthRows(20)
		for i, r := range rows {
			c.change(i, r)
		}
		if w := reportOf(Options{}, rows...).CacheWorth; w != nil {
			t.Errorf("%s: %+v", c.name, *w)
		}
	}
	if w := reportOf(Options{}, worthRows(19)...).CacheWorth; w != nil {
		t.Errorf("of 19: %+v", *w)
	}
}

// A request that found nothing loaded nothing, whatever its load says.
func TestForwardOfAMiss(t *testing.T) {
	d := Digest{Flags: inLatency, PromptTokens: model.Some(100), Hit: model.Some(0), Stages: []DigestStage{{Stage: model.StageModelForward, Spans: 1, Critical: 9}}}
	if p, spent, ok := forwardOf(&d); !ok || p != (forwardPass{100, 0, 9}) || spent != 0 {
		t.Errorf("%v %d %v", p, spent, ok)
	}
}

// The request in which a stage took longest is named, ties by id; points take no time.
func TestLongest(t *testing.T) {
	row := func(id string, store ...int64) *model.Row {
		r := rowOf(id, 1, 10*ms)
		r.Flags |= model.RowVocabulary
		r.Stages = []model.RowStage{
			{Stage: model.StageMPStore.ID(), Owner: model.Server, Class: model.Background, Spans: int32(len(store)), Counted: int32(len(store))},
			{Stage: model.StageTimeout.ID(), Owner: model.Server, Class: model.Point, Spans: 1, Counted: 1},
		}
		for _, ns := range store {
			r.Spans = append(r.Spans, model.RowSpan{Stage: model.StageMPStore.ID(), Owner: model.Server, NS: ns})
		}
		return r
	}
	d := reportOf(Options{}, row("a", 5*ms), row("c", 4*ms, 3*ms), row("b", 7*ms))
	got := map[string]string{}
	for _, s := range d.Stages {
		got[s.Stage] = s.Longest
	}
	check(t, "longest", got, map[string]string{"mp.store": "b", "timeout": ""})
}

// Background work stands out where it took longer than 95 % of the requests and ten times what it usually takes.
func TestOutlasting(t *testing.T) {
	stage := func(name, class string, p50, max int64) Stage {
		return Stage{Stage: name, Class: class, Series: Series{P50NS: model.Some(p50), MaxNS: model.Some(max)}}
	}
	for _, c := range []struct {
		name   string
		stages []Stage
		want   string
	}{
		{"longest of two", []Stage{stage("a", "background", 1, 101), stage("b", "background", 1, 102)}, "b"},
		{"not longer than requests", []Stage{stage("a", "background", 1, 100)}, ""},
		{"usual", []Stage{stage("a", "background", 11, 110)}, ""},
		{"ten times what is usual and more", []Stage{stage("a", "background", 11, 111)}, "a"},
		{"work, for which somebody waits", []Stage{stage("a", "work", 1, 1000)}, ""},
	} {
		d := Document{Latency: Series{P95NS: model.Some(100)}, Stages: c.stages}
		got := ""
		if s := d.Outlasting(); s != nil {
			got = s.Stage
		}
		check(t, c.name, got, c.want)
	}
	check(t, "nothing to compare with", (&Document{Stages: []Stage{stage("a", "background", 1, 1000)}}).Outlasting() == nil, true)
}

// A process that one part of a capture compares with nothing and another part does is compared.
func TestMergeOfLoneClocks(t *testing.T) {
	pair := Clock{Process: "b", Reference: "a", Basis: "none", Pairs: 3}
	c := &Capture{Clock: []Clock{{Process: "a", Basis: "none"}, {Process: "lone", Basis: "none"}}}
	c.Merge(&Capture{Clock: []Clock{pair}})
	check(t, "clocks", c.Clock, []Clock{pair, {Process: "lone", Basis: "none"}})
	for _, k := range []struct {
		clock Clock
		want  bool
	}{{Clock{Basis: "none", Pairs: 5}, true}, {Clock{Basis: "none", Pairs: 4}, false}, {Clock{Basis: "zero", Pairs: 5}, false}, {Clock{Basis: "none", Pairs: 5, OffsetNS: model.Some(0)}, false}} {
		check(t, fmt.Sprint(k.clock), k.clock.OneSided(), k.want)
	}
}
