package report

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

func digestOf(dict *model.Dict, r *model.Row) (d Digest) {
	d.fill(dict, r)
	return d
}

func TestDigestRoundTrip(t *testing.T) {
	dict := model.NewDict()
	for i := range 500 {
		r := randomRow(rand.New(rand.NewPCG(uint64(i), 5)), dict, i)
		r.External = r.ID[:i%len(r.ID)]
		if i%2 == 0 {
			r.Weight = float64(i) / 3
		}
		want := digestOf(dict, r)
		have := Digest{Hash: want.Hash, ID: want.ID}
		packed := want.pack(nil)
		if err := have.unpack(packed, &own); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(have, want) {
			t.Fatalf("read back %+v\nwrote %+v", have, want)
		}
		for cut := range packed {
			if err := new(Digest).unpack(packed[:cut], &own); err == nil {
				t.Fatalf("%d of %d bytes were taken for a digest", cut, len(packed))
			}
		}
	}
}

// R8.4: what a digest holds of a row; stages outside the vocabulary and those that were only made up are left out.
func TestDigestOfRow(t *testing.T) {
	dict := model.NewDict()
	r := rowOf("id", 12, 34)
	r.Model, r.Instance, r.Verdict, r.Findings = "llama", "lmcache-0", model.LoadMany, 5
	r.TopStage = model.StageLookup.ID()
	r.Stages = []model.RowStage{
		{Stage: model.StageLookup.ID(), Owner: model.Server, Spans: 2, Union: 7, Critical: 3}, {Stage: dict.InternString("mine"), Spans: 1},
		{Stage: model.StageCBRequest.ID(), Owner: model.Server, Spans: 1}, {Stage: model.StageExecute.ID(), Owner: model.Worker},
	}
	r.Spans = []model.RowSpan{{Stage: model.StageLookup.ID(), Owner: model.Server, NS: 4}, {Stage: model.StageLookup.ID(), Owner: model.Server, NS: 5}}
	d := digestOf(dict, r)
	check(t, "stages", d.Stages, []DigestStage{{Stage: model.StageCBRequest, Owner: model.Server, Spans: 1}, {Stage: model.StageLookup, Owner: model.Server, Spans: 2, Counted: 2, Total: 9, Union: 7, Critical: 3}})
	check(t, "rest", []any{d.ID, d.Start, d.Window, dict.Str(d.Model), dict.Str(d.Instance), dict.Str(d.TopStage), d.Verdict, d.Findings, d.Flags},
		[]any{"id", 12, 34, "llama", "lmcache-0", "cb.lookup", model.LoadMany, 5, inLatency})
}

// R8.4: at most 400 bytes a row on average, id and hash included.
func TestDigestSize(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	dict := model.NewDict()
	const n = 1000
	total := 0
	for i := range n {
		d := digestOf(dict, usualRow(rnd, i))
		total += 8 + len(d.ID) + len(d.pack(nil))
	}
	if mean := total / n; mean > 400 {
		t.Errorf("%d bytes a row", mean)
	} else {
		t.Logf("%d bytes a row", mean)
	}
}

// R8.4: above the limit those with the smallest hashes stay, however they come.
func TestTable(t *testing.T) {
	dict := model.NewDict()
	const n = MaxDigests + 500
	rows := make([]*model.Row, n)
	for i := range rows {
		rows[i] = rowOf(fmt.Sprint("r", i), 1, int64(i))
	}
	hashes := make([]uint64, n)
	for i, r := range rows {
		hashes[i] = r.Hash
	}
	slices.Sort(hashes)
	a, b := newTable(dict), newTable(dict)
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		if i%3 == 0 {
			a.add(rows[i])
		} else {
			b.add(rows[i])
		}
	}
	a.merge(&b)
	check(t, "sizes", []any{a.Total, a.Len()}, []any{n, MaxDigests})
	i := 0
	for d := range a.All {
		if d.Hash != hashes[i] || d.ID != fmt.Sprint("r", d.Window) {
			t.Fatalf("row %d is %+v, want hash %x", i, d, hashes[i])
		}
		i++
	}
}

// A digest comes from a file one day: any bytes are a digest or an error, and what is read is what was written.
func FuzzDigest(f *testing.F) {
	dict := model.NewDict()
	for i := range 20 {
		d := digestOf(dict, randomRow(rand.New(rand.NewPCG(uint64(i), 5)), dict, i))
		f.Add(d.pack(nil))
	}
	f.Add([]byte{0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var d, again Digest
		if d.unpack(b, &own) != nil {
			return
		}
		if err := again.unpack(d.pack(nil), &own); err != nil {
			t.Fatal(err)
		}
		if d.Weight == d.Weight && !reflect.DeepEqual(d, again) {
			t.Fatalf("%+v\n%+v", d, again)
		}
	})
}
