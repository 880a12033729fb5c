package store

import (
	"math/rand/v2"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// The fixed part of a content is what was written, with a shape of the table as with one that is spelled out, and of what was not written nothing beyond
// the slack is read.
func TestFixed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	number := func() uint64 { return r.Uint64() >> (r.Uint64() & 63) }
	id := func() model.SpanID {
		return [...]model.SpanID{{}, model.HexID(number() | 1), model.LineID(3, int64(number()>>24)), {N: number() >> 44, Kind: model.IDOpaque}}[r.IntN(4)]
	}
	const most = 1 << 20
	batch := model.NewBatch(model.NewDict(), false)
	var table shapes
	for range 2000 {
		rec := model.Record{ID: id(), Parent: id(), Start: model.Time(number() >> 1), End: model.Time(number() >> 1), File: 3, Name: model.StrID(number() % most), Scope: model.StrID(number() % most),
			Res: model.ResID(number() % most), Pos: int64(number() >> 1), Kind: model.SpanKind(r.IntN(6)), Flags: model.RecordFlags(r.IntN(32)), StageID: model.StrID(r.IntN(2) * 7)}
		want := shape{kind: rec.Kind, flags: rec.Flags, forms: formsOf(&rec), name: rec.Name, stage: rec.StageID, scope: rec.Scope, res: rec.Res}
		in, _ := table.intern(&want, nil)
		l := limits{strs: most, ress: most, files: 4, shapes: table.list()}
		for _, sh := range []*shape{in, &want} {
			b := appendContent(nil, sh, batch, &rec, noAttr)
			var f fixed
			c := cursor{b: slack(b)}
			if l.fixed(&c, &f); c.bad || len(c.b) != 0 {
				t.Fatalf("%x: bad %v, %d bytes left", b, c.bad, len(c.b))
			}
			if want.forms&shapeIDMask == formPlace {
				f.id = model.LineID(rec.File, f.pos)
			}
			got := rec
			got.ID, got.Parent, got.Start, got.End, got.Pos, got.Name, got.Scope, got.Res, got.Kind, got.Flags, got.StageID = f.id, f.parent, f.start, f.end, f.pos, f.name, f.scope, f.res, f.kind, f.flags, f.stage
			if got != rec {
				t.Fatalf("%x: %+v, want %+v", b, got, rec)
			}
		}
	}
	l := limits{strs: 5, ress: 2, files: 1, shapes: table.list()}
	for range 20000 {
		damaged := make([]byte, r.IntN(window), 2*window)
		for i := range damaged {
			damaged[i] = byte(r.Uint32()) | 0x80*byte(r.IntN(2))
		}
		if len(damaged) > 0 && r.IntN(4) == 0 {
			damaged[0] = 0
		}
		c := cursor{b: damaged}
		var f fixed
		if l.fixed(&c, &f); c.bad != (c.b == nil) {
			t.Fatal("neither read nor refused")
		}
	}
}

// More shapes than a table takes are spelled out, and read as those that it has.
func TestShapesOverTheLimit(t *testing.T) {
	var table shapes
	heads := make([]attrHead, maxShapeHeads/2)
	for i, want := range []uint32{1, 2, 0} {
		if s, _ := table.intern(&shape{name: model.StrID(i), attributes: heads}, nil); s.number != want || len(s.attributes) != len(heads) {
			t.Errorf("shape %d has number %d and %d attributes, want %d and %d", i, s.number, len(s.attributes), want, len(heads))
		}
	}
	if s, _ := table.intern(&shape{name: 1, attributes: heads}, nil); s.number != 2 {
		t.Errorf("a shape of the table has number %d, want 2", s.number)
	}
}
