package report

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/model"
)

func TestSum(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var a, b sum
		want := new(big.Int)
		for i := range 20 {
			v := int64(rnd.Uint64())
			want.Add(want, big.NewInt(v))
			if i%2 == 0 {
				a.add(v)
			} else {
				b.add(v)
			}
		}
		a.merge(b)
		have := new(big.Int).Add(new(big.Int).Lsh(big.NewInt(a.hi), 64), new(big.Int).SetUint64(a.lo))
		if have.Cmp(want) != 0 {
			t.Fatalf("sum %v, want %v", have, want)
		}
		f, _ := new(big.Float).SetInt(want).Float64()
		if math.Abs(a.float()-f) > math.Abs(f)*1e-15 {
			t.Errorf("%v as a float: %v", want, a.float())
		}
		clamped := want
		if !want.IsInt64() {
			clamped = big.NewInt(math.MaxInt64)
			if want.Sign() < 0 {
				clamped = big.NewInt(math.MinInt64)
			}
		}
		if a.int64() != clamped.Int64() {
			t.Errorf("%v as an int64: %d", want, a.int64())
		}
	}
}

// R2.5: a ratio is round(x·2³²).
func TestFixed(t *testing.T) {
	for _, row := range []struct {
		x    float64
		want int64
		ok   bool
	}{{0, 0, true}, {1, 1 << 32, true}, {0.5, 1 << 31, true}, {1.0 / 3, 1431655765, true}, {-0.25, -1 << 30, true}, {math.NaN(), 0, false}, {math.Inf(1), 0, false}, {1e12, 0, false}} {
		if v, ok := fixed(row.x); v != row.want || ok != row.ok {
			t.Errorf("%v: %d %v, want %d %v", row.x, v, ok, row.want, row.ok)
		}
	}
}

// R8.7: whatever comes first, the names with the smallest hashes are kept and all others are one.
func TestCapped(t *testing.T) {
	const limit, names = 10, 40
	var all []string
	for i := range names {
		all = append(all, fmt.Sprint("name", i))
	}
	slices.SortFunc(all, func(a, b string) int {
		if xxhash.Sum64String(a) < xxhash.Sum64String(b) {
			return -1
		}
		return 1
	})
	want := map[string]int64{}
	for i, name := range all {
		n := int64(i + 1)
		if i >= limit {
			name = model.OtherName
		}
		want[name] += n
	}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		parts := []counters{newCapped[string, counter](limit, itself), newCapped[string, counter](limit, itself), newCapped[string, counter](limit, itself)}
		var adds []string
		for i, name := range all {
			for range i + 1 {
				adds = append(adds, name)
			}
		}
		rnd.Shuffle(len(adds), func(i, j int) { adds[i], adds[j] = adds[j], adds[i] })
		for _, name := range adds {
			*parts[rnd.IntN(3)].at(name)++
		}
		parts[0].merge(&parts[2])
		parts[0].merge(&parts[1])
		if have := countsOf(&parts[0]); !reflect.DeepEqual(have, want) {
			t.Fatalf("seed %d: %v\nwant %v", seed, have, want)
		}
	}
}

// R8.7: 65 536 names, those of the vocabulary among them.
func TestNamesAreBounded(t *testing.T) {
	dict := model.NewDict()
	a := New(dict, Options{})
	const more = 10
	for i := range maxNames + more {
		r := rowOf("r", 1, 1)
		r.Stages = []model.RowStage{{Stage: dict.InternString(fmt.Sprint("n", i)), Spans: 1}, {Stage: model.StageLookup.ID(), Owner: model.Server, Spans: 1}}
		a.Add(r)
	}
	d := a.Document(&Capture{})
	other := d.Stages[slices.IndexFunc(d.Stages, func(s Stage) bool { return s.Stage == model.OtherName })]
	check(t, "rows", len(d.Stages), maxNames+1+1)
	check(t, "others", []any{other.Spans, other.Requests, other.Owner}, []any{more, more, ""})
}

// R7.12 by brute force: at every whole second, how many windows hold it.
func TestInstants(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var m, other instants
		base := rnd.Int64N(1<<40) - 1<<39
		open := map[int64]int64{}
		for range 1 + rnd.IntN(30) {
			start := model.Time(base + rnd.Int64N(900*second))
			end := start + model.Time(rnd.Int64N(400*second))
			if rnd.IntN(2) == 0 {
				m.add(start, end)
			} else {
				other.add(start, end)
			}
			for s := floorDiv(int64(start), second); s <= floorDiv(int64(end), second); s++ {
				if int64(start) <= s*second && s*second < int64(end) {
					open[s]++
				}
			}
		}
		m.merge(&other)
		const width = 60
		var starts []int64
		for s := floorDiv(floorDiv(base, second), width) - 1; len(starts) < 30; s++ {
			if rnd.IntN(4) > 0 {
				starts = append(starts, s*width)
			}
		}
		want, wantPer := int64(0), make([]int64, len(starts))
		for s, n := range open {
			want = max(want, n)
			if i := slices.Index(starts, floorDiv(s, width)*width); i >= 0 {
				wantPer[i] = max(wantPer[i], n)
			}
		}
		have, per := m.most(starts, width)
		if have != model.Some(want) || !slices.Equal(per, wantPer) {
			t.Fatalf("%v %v, want %v %v", have, per, want, wantPer)
		}
	}
}

// Requests that are spread over more time than a capture can cover cost no memory without bound: what is not known is said.
func TestInstantsAreBounded(t *testing.T) {
	var a, b instants
	for i := range int64(maxBlocks) {
		for _, m := range []*instants{&a, &b} {
			m.add(model.Time((i*blockSeconds+1)*second), model.Time((i*blockSeconds+2)*second))
		}
	}
	if most, _ := a.most(nil, 1); most != model.Some(1) {
		t.Fatalf("%v", most)
	}
	b.add(model.Time(maxBlocks*blockSeconds*second), model.Time(maxBlocks*blockSeconds*second+second))
	if most, _ := b.most(nil, 1); most.OK || len(b.blocks) > 0 {
		t.Errorf("%v with %d blocks", most, len(b.blocks))
	}
	a.merge(&b)
	if most, _ := a.most(nil, 1); most.OK {
		t.Errorf("merged: %v", most)
	}
}

// R8.7: the finest length with at most 512 buckets that hold a request.
func TestBuckets(t *testing.T) {
	minute := func(n int64) *model.Row { return rowOf(fmt.Sprint("m", n), model.Time(n*60*second), 7) }
	report := func(opt Options, minutes ...int64) *Document {
		var rows []*model.Row
		for _, n := range minutes {
			rows = append(rows, minute(n))
		}
		return reportOfCapture(opt, &Capture{Start: 1, End: model.Time(1 << 60)}, rows...)
	}
	upTo := func(n int64) (all []int64) {
		for i := range n {
			all = append(all, i+1_000_000)
		}
		return all
	}
	d := report(Options{}, upTo(512)...)
	check(t, "512 minutes", []any{len(d.Buckets), d.Buckets[0].DurationNS}, []any{512, int64(time.Minute)})
	check(t, "aligned", d.Buckets[0].StartUnixNS, 1_000_000*int64(time.Minute))
	d = report(Options{}, upTo(513)...)
	check(t, "513 minutes", []any{len(d.Buckets), d.Buckets[0].DurationNS, d.Buckets[0].Requests}, []any{257, 2 * int64(time.Minute), 2})
	d = report(Options{}, upTo(1025)...)
	check(t, "1025 minutes", []any{len(d.Buckets), d.Buckets[0].DurationNS}, []any{103, 10 * int64(time.Minute)})
	d = report(Options{Bucket: time.Hour}, upTo(90)...)
	check(t, "hours", []any{len(d.Buckets), d.Buckets[0].Requests, d.Buckets[1].Requests}, []any{3, 20, 60}) // minute 1 000 000 is 40 past the hour
	d = report(Options{Bucket: time.Minute}, upTo(513)...)
	check(t, "not finer than stored", d.Buckets[0].DurationNS, 2*int64(time.Minute))
	for _, w := range []time.Duration{time.Minute, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
		24 * time.Hour, 48 * time.Hour, 96 * time.Hour, 8 * 24 * time.Hour} {
		if _, ok := BucketLevel(w); !ok {
			t.Errorf("no bucket of %s", w)
		}
	}
	for _, w := range []time.Duration{0, time.Second, 5 * time.Minute, 72 * time.Hour, -time.Hour} {
		if _, ok := BucketLevel(w); ok {
			t.Errorf("a bucket of %s", w)
		}
	}
	for level := range maxLevel {
		if bucketWidth(level+1)%bucketWidth(level) != 0 {
			t.Errorf("a bucket of %d s is not made of those of %d s", bucketWidth(level+1), bucketWidth(level))
		}
	}
}

// Buckets hold what OUTPUT says, and their own load over the part of them that the capture covers.
func TestBucketRows(t *testing.T) {
	base := model.Time(1_700_000_040) * second // a whole minute
	row := func(id string, at, window, requested, hit int64) *model.Row {
		r := rowOf(id, base+model.Time(at*second), window*second)
		r.TTFT, r.PromptTokens = model.Some(window*second/2), model.Some(30)
		r.Hits = model.RowHits{Requested: model.Some(requested), Hit: model.Some(hit)}
		return r
	}
	rows := []*model.Row{row("a", 30, 2, 100, 50), row("b", 31, 40, 100, 100), row("c", 61, 9, 0, 0)}
	d := reportOfCapture(Options{}, &Capture{Start: base + 30*second, End: base + 80*second}, rows...)
	check(t, "n", len(d.Buckets), 2)
	b := d.Buckets[0]
	check(t, "first", []any{b.StartUnixNS, b.Requests, b.P50NS.V, b.P95NS.V, b.TTFTP50NS.V, b.TTFTP95NS.V, b.HitRate.V},
		[]any{int64(base), 2, 2 * second, 40 * second, 1 * second, 20 * second, 0.75})
	check(t, "its load", []any{b.Load.RequestsPerS.V, b.Load.TokensPerS.V, b.Load.Concurrency.Mean.V, b.Load.Concurrency.Max.V}, []any{2.0 / 30, 2, 42.0 / 30, 2})
	b = d.Buckets[1]
	check(t, "second", []any{b.Requests, b.HitRate.OK, b.Load.RequestsPerS.V, b.Load.Concurrency.Max.V}, []any{1, false, 0.05, 2}) // b is still open when c begins
}

func TestGroups(t *testing.T) {
	row := func(id, m string, prompt model.Opt, workers ...string) *model.Row {
		r := rowOf(id, 1, 10)
		r.Model, r.PromptTokens, r.Workers = m, prompt, workers
		return r
	}
	rows := []*model.Row{
		row("a", "x", model.Some(1024), "0", "1"), row("b", "y", model.Some(2047), "0"), row("c", "y", model.Some(2048)), row("d", "unknown", model.Opt{}, "1"),
		row("e", "unknown", model.Some(0)), row("f", "unknown", model.Some(1)),
	}
	values := func(by By) string {
		var out []string
		for _, g := range reportOf(Options{By: []By{by}}, rows...).Groups {
			out = append(out, fmt.Sprintf("%s %d", g.Value, g.Requests))
			check(t, "by", g.By, by.String())
			check(t, "latency", g.Latency.N, g.Requests)
		}
		return strings.Join(out, ", ")
	}
	check(t, "models", values(ByModel), "y 2, x 1, unknown 3")
	check(t, "workers", values(ByWorker), "0 2, 1 2, unknown 3")
	check(t, "prompts", values(ByPromptTokens), "0 1, 1 1, 1024-2047 2, 2048-4095 1, unknown 1")
	check(t, "classes", values(ByHitClass), "none 6")
	for _, name := range []string{"model", "instance", "hit_class", "worker", "prompt_tokens"} {
		if by, err := ParseBy(name); err != nil || by.String() != name {
			t.Errorf("%s: %v %v", name, by, err)
		}
	}
	if _, err := ParseBy("tenant"); err == nil || err.Error() != `cannot group by "tenant": want model, instance, hit_class, worker, prompt_tokens` {
		t.Errorf("%v", err)
	}
}

// R8.7: 256 values, the rest is one.
func TestGroupsAreBounded(t *testing.T) {
	var rows []*model.Row
	for i := range 300 {
		r := rowOf(fmt.Sprint("r", i), 1, 10)
		r.Instance = fmt.Sprint("i", i)
		rows = append(rows, r)
	}
	g := reportOf(Options{By: []By{ByInstance}}, rows...).Groups
	check(t, "groups", []any{len(g), g[256].Value, g[256].Requests, g[256].Latency.N}, []any{257, model.OtherName, 44, 44})
}
