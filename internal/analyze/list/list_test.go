package list

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

func set(numbers ...int) (s model.FindingSet) {
	for _, n := range numbers {
		s |= 1 << n
	}
	return s
}

func TestOrder(t *testing.T) {
	requests := map[string]*Request{
		// 50 % of the tokens, one warning and two notes
		"a": {ID: "a", Start: 30, Window: 500, TTFT: model.Some(90), Requested: model.Some(1024), Hit: model.Some(512), Findings: set(finding.LatePoll, finding.Orphan, finding.StoreTail)},
		// nothing asked for, an error
		"b": {ID: "b", Start: 10, Window: 700, Requested: model.Some(0), Hit: model.Some(0), Findings: set(finding.RetrieveFailed)},
		// all tokens, no findings, as early as b
		"c": {ID: "c", Start: 10, Window: 500, TTFT: model.Some(100), Requested: model.Some(256), Hit: model.Some(256)},
		// untimed
		"d": {ID: "d"},
	}
	for _, c := range []struct {
		order Order
		want  string
	}{
		{Order{Key: ByStart}, "b c a d"},
		{Order{ByStart, true}, "a b c d"}, // ties and unknown ones stay where they are
		{Order{Key: ByDuration}, "b c a d"},
		{Order{ByDuration, true}, "c a b d"},
		{Order{Key: ByTTFT}, "c a d b"},
		{Order{Key: ByHitRate}, "a c d b"},
		{Order{ByHitRate, true}, "c a d b"},
		{Order{Key: ByFindings}, "b a d c"},
		{Order{Key: ByID}, "a b c d"},
		{Order{ByID, true}, "d c b a"},
	} {
		for _, ids := range [][]string{{"a", "b", "c", "d"}, {"d", "c", "a", "b"}} {
			top := Top{Order: c.order}
			for _, id := range ids {
				top.Add(requests[id])
			}
			var got []string
			for _, q := range top.Requests() {
				got = append(got, q.ID)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v: %v, want %s", c.order, got, c.want)
			}
		}
	}
}

// One error is more than all warnings and notes there are, one warning more than all notes.
func TestWeight(t *testing.T) {
	var warnings, notes model.FindingSet
	errors := model.FindingSet(0)
	for n := range finding.Registry {
		switch finding.Registry[n].Severity {
		case finding.Error:
			errors |= 1 << n
		case finding.Warning:
			warnings |= 1 << n
		case finding.Note:
			notes |= 1 << n
		}
	}
	if one := set(finding.RetrieveFailed); weight(one) <= weight(warnings|notes) || weight(errors) <= weight(one) || weight(set(finding.LatePoll)) <= weight(notes) {
		t.Errorf("error %d, warnings and notes %d, warning %d, notes %d", weight(one), weight(warnings|notes), weight(set(finding.LatePoll)), weight(notes))
	}
}

// The first n of an order are the same whether they are sorted whole, kept in a heap, or merged from several.
func TestTopIsTheSortedBeginning(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		order := Order{Key(rng.IntN(int(NumKeys))), seed%2 == 0}
		var all []Request
		for i := range 1 + rng.IntN(60) {
			q := Request{ID: fmt.Sprint("r", i), Start: model.Time(rng.IntN(9)), Window: int64(rng.IntN(5)), Findings: model.FindingSet(rng.IntN(16))}
			if rng.IntN(3) > 0 {
				q.TTFT, q.Requested, q.Hit = model.Some(int64(rng.IntN(4))), model.Some(int64(rng.IntN(3))), model.Some(int64(rng.IntN(3)))
			}
			all = append(all, q)
		}
		limit := 1 + rng.IntN(len(all)+3)
		parts := make([]Top, 3)
		for i := range parts {
			parts[i] = Top{Order: order, Limit: limit}
		}
		for i := range all {
			parts[rng.IntN(3)].Add(&all[i])
		}
		parts[0].Merge(&parts[1])
		parts[0].Merge(&parts[2])
		got := parts[0].Requests()
		slices.SortFunc(all, func(a, b Request) int { return order.Compare(&a, &b) })
		if !slices.Equal(got, all[:min(limit, len(all))]) || parts[0].Total != int64(len(all)) {
			t.Fatalf("seed %d, %v, first %d of %d (%d):\n%v\nwant\n%v", seed, order, limit, len(all), parts[0].Total, got, all[:min(limit, len(all))])
		}
	}
}

// A row of the analysis and the digest that a saved report keeps of it are the same row here.
func TestRow(t *testing.T) {
	d := model.NewDict()
	r := &model.Row{
		Identity: model.Identity{ID: "chatcmpl-1-0011aabb", External: "chatcmpl-1"}, Start: 1_764_432_000e9, Window: 420e6, TTFT: model.Some(150e6),
		Hits: model.RowHits{Requested: model.Some(2048), Hit: model.Some(512), Class: model.HitPartial}, Model: "llama", Instance: "server-0",
		TopStage: model.StageL2Load.ID(), Verdict: model.LoadRepeat, Flags: model.RowVocabulary,
		Findings: set(finding.StoreTail, finding.LatePoll, finding.DoubleRepeat, finding.RequestError),
	}
	want := Row{
		ID: "chatcmpl-1-0011aabb", ExternalID: "chatcmpl-1", StartUnixNS: model.Some(1_764_432_000e9), DurationNS: model.Some(420e6), TTFTNS: model.Some(150e6),
		HitRate: model.SomeFloat(0.25), HitClass: "partial", Model: "llama", Instance: "server-0", TopStage: "cb.l2_load", Verdict: "repeat",
		Findings: []string{"request_error", "double_start_load_kv.repeat", "late_poll", "store_tail"},
	}
	q := OfRow(d, r)
	saved := report.New(d, report.Options{})
	saved.Add(r)
	var p Request
	for digest := range saved.Table().All {
		p = OfDigest(digest)
	}
	if got := q.Row(d); !reflect.DeepEqual(got, want) || q != p || !q.Flags.Known() {
		t.Errorf("%+v\nwant\n%+v\nof the digest\n%+v", got, want, p.Row(d))
	}
	empty := Request{ID: "x"}
	if got := empty.Row(d); got.StartUnixNS.OK || got.DurationNS.OK || got.HitRate.OK || got.Findings == nil || empty.Flags.Known() {
		t.Errorf("untimed: %+v", got)
	}
}
