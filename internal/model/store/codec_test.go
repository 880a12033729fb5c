package store

import (
	"math/rand/v2"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// The two ways to read the fixed part of a content agree on what was written, and on nothing that was not do they read past its bytes.
func TestFixedIsHeadAndBody(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	number := func() uint64 { return r.Uint64() >> (r.Uint64() & 63) }
	id := func() model.SpanID {
		return [...]model.SpanID{{}, model.HexID(number() | 1), model.LineID(3, int64(number()>>24)), {N: number() >> 32, Kind: model.IDOpaque}}[r.IntN(4)]
	}
	batch := model.NewBatch(model.NewDict(), false)
	for range 2000 {
		rec := model.Record{ID: id(), Parent: id(), Start: model.Time(number() >> 1), Name: model.StrID(number() >> 33), Scope: model.StrID(number() >> 33),
			Res: model.ResID(number() >> 33), Pos: int64(number() >> 1), Kind: model.SpanKind(r.IntN(6)), Flags: model.RecordFlags(r.IntN(32)), StageID: model.StrID(r.IntN(2) * 7)}
		rec.End = model.Time(number() >> 1)
		b := appendContent(nil, batch, &rec, 0)
		content := append(b, make([]byte, window)...)
		fast, slow := cursor{b: content}, cursor{b: content}
		var h head
		var f body
		fast.fixed(&h, &f)
		wantHead := slow.head()
		want := slow.body(wantHead.shape)
		if h != wantHead || f != want || len(fast.b) != len(slow.b) || fast.bad || slow.bad {
			t.Fatalf("%x: %+v %+v, want %+v %+v", b, h, f, wantHead, want)
		}
	}
	for range 20000 {
		damaged := make([]byte, window)
		for i := range damaged {
			damaged[i] = byte(r.Uint32()) | 0x80*byte(r.IntN(2))
		}
		c := cursor{b: damaged}
		var h head
		var b body
		if c.fixed(&h, &b); c.bad != (c.b == nil) {
			t.Fatal("neither read nor refused")
		}
	}
}
