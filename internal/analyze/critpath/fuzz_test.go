package critpath

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// A fakeClock shifts every process by something else and knows each to 20 units; some spans it calls ended by a shutdown.
type fakeClock struct{ unit time.Duration }

func (c fakeClock) Shift(from, to model.ProcID, _ model.Time) (shift, uncertainty time.Duration, ok bool) {
	return time.Duration(to) - 7*time.Duration(from)*c.unit, 20 * c.unit, true
}
func (fakeClock) Anchor(model.ProcID) (model.ProcID, bool)             { return 0, false }
func (fakeClock) Routed(p model.ProcID) bool                           { return p%2 == 0 }
func (fakeClock) Process(_ *model.Request, s *model.Span) model.ProcID { return s.Proc }
func (fakeClock) Shutdown(s *model.Span, _ uint64, _ bool) bool        { return s.ID.N%5 == 0 }

// garbage makes a cleaned and linked request of bytes, eight for each span.
func garbage(data []byte) *model.Request {
	r := &model.Request{Dict: model.NewDict()}
	unit := time.Nanosecond
	if len(data)%2 == 1 {
		unit = 10 * time.Second // so that some could be ended by a shutdown
	}
	for len(data) >= 8 {
		b := data[:8]
		data = data[8:]
		key := model.Stage(b[0] % (uint8(model.NumStages) + 4)).ID()
		if key >= model.NumStages.ID() {
			key = r.Dict.InternString([]string{"x.a", "cb.lookup.x", "mp.store.flush", "x.b"}[key-model.NumStages.ID()])
		} else if key == 0 {
			key = r.Dict.InternString("GET /")
		}
		s := &model.Span{Name: key, StageKey: key, Stage: r.Dict.Stage(key), Kin: r.Dict.Kin(key), LMScope: true, MPScope: b[1]&1 != 0,
			Trace: model.TraceID{Hi: 1, Lo: uint64(b[1] >> 1 & 1)}, ID: model.HexID(uint64(b[2])), ParentID: model.HexID(uint64(b[3])),
			Kind:     model.SpanKind(b[1] >> 2 & 7),
			RawStart: modeltest.Epoch + model.Time(binary.LittleEndian.Uint16(b[4:]))*model.Time(unit)}
		s.RawEnd = s.RawStart + model.Time(int16(binary.LittleEndian.Uint16(b[6:])))*model.Time(unit)
		s.Class = s.Kin.Info().Class
		s.Res = r.Dict.Resource(model.Resource{Instance: string('a' + rune(b[1]>>5&3))}, "")
		s.Proc = r.Dict.Res(s.Res).Proc
		switch {
		case b[1] == 0xff:
			s.RawStart, s.RawEnd, s.Flags = 0, 0, model.FlagUntimed
		case b[1] == 0x7f:
			s.RawEnd, s.Flags = 0, model.FlagOpen
		}
		s.Start, s.End = s.RawStart, s.RawEnd
		number := func(k model.AttrKey, v int8) {
			s.Attrs = append(s.Attrs, model.Attr{Key: k, Value: model.Value{Kind: model.IntValue, Int: int64(v)}})
		}
		number(model.AttrTimeToFirstToken, int8(b[3]))
		number(model.AttrTimeInPrefill, int8(b[2]))
		number(model.AttrL2Keys, int8(b[4]))
		r.Spans = append(r.Spans, s)
	}
	slices.SortStableFunc(r.Spans, func(a, b *model.Span) int {
		if u, v := a.Has(model.FlagUntimed), b.Has(model.FlagUntimed); u != v {
			return map[bool]int{true: 1, false: -1}[u]
		}
		return cmp.Or(cmp.Compare(a.RawStart, b.RawStart), r.Dict.CompareSpanIDs(a.ID, b.ID))
	})
	if len(r.Spans) == 0 {
		return nil
	}
	var b model.Builder
	r = b.Clean(r)[0]
	b.Link(r, 1, fakeClock{unit}, model.LinkOptions{})
	return r
}

// hold checks what is true of any request: an exact partition, totals that agree with it, self times within durations.
func hold(t *testing.T, r *model.Request, w *Work) {
	t.Helper()
	p := Analyze(r, w)
	factsOf(t, r, p)
	window := max(0, r.Window())
	var stages, drag, early, kinds, bounds, earlyBounds time.Duration
	for _, s := range p.Stages {
		if s.Drag < 0 || s.Drag > s.Total || s.TTFT > s.Total || s.TTFTDrag < 0 || s.TTFTDrag > s.TTFT {
			t.Errorf("%s: %+v", r.Dict.Str(s.Key), s)
		}
		stages, drag, early = stages+s.Total, drag+s.Drag, early+s.TTFT
	}
	for _, d := range p.Kinds {
		kinds += d
	}
	for b := range p.Bounds {
		bounds, earlyBounds = bounds+p.Bounds[b], earlyBounds+p.TTFTBounds[b]
	}
	if stages != window || kinds != window || bounds != window {
		t.Errorf("window %v, by stage %v, by kind %v, by bound %v", window, stages, kinds, bounds)
	}
	if early != time.Duration(p.TTFT.V) || earlyBounds != early || p.TTFT.V < 0 || p.TTFT.V > int64(window) {
		t.Errorf("ttft %v, by stage %v, by bound %v", p.TTFT, early, earlyBounds)
	}
	for _, s := range r.Spans {
		if s.Self < 0 || s.Self > max(0, s.Dur()) {
			t.Errorf("self time %v of %v", s.Self, s.Dur())
		}
		if s.Critical > 0 && s != r.Root && (!s.Blocking || s.Critical > s.Dur()) {
			t.Errorf("%s is on the path for %v of %v, blocking: %v", r.Dict.Str(s.StageKey), s.Critical, s.Dur(), s.Blocking)
		}
	}
}

func FuzzPath(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 40 {
		data := make([]byte, rng.IntN(400))
		for i := range data {
			data[i] = byte(rng.UintN(256))
			if i%8 == 2 || i%8 == 3 {
				data[i] %= byte(2 + n) // parents that are there
			}
		}
		f.Add(data)
	}
	var w Work
	f.Fuzz(func(t *testing.T, data []byte) {
		if r := garbage(data[:min(len(data), 4096)]); r != nil {
			hold(t, r, &w)
		}
	})
}

// TestGarbage is a longer run over spans without sense, with few ids so that many are parents of others.
func TestGarbage(t *testing.T) {
	var w Work
	for seed := range 3000 {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		data := make([]byte, 8*(1+rng.IntN(40))+rng.IntN(2))
		ids := 1 + rng.UintN(60)
		for i := range data {
			data[i] = byte(rng.UintN(256))
			if i%8 == 2 || i%8 == 3 {
				data[i] = byte(rng.UintN(ids))
			}
		}
		hold(t, garbage(data), &w)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
