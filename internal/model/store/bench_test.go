package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A workload is batches of whole requests as a reader hands them over: 17 spans a request in three traces, 4 attributes a span on average, all with a
// session but the llm_request, which has an external id. keyless leaves the session out below the roots.
func workload(requests, perBatch int, keyless bool) (*model.Dict, []*model.Batch, int) {
	d := model.NewDict()
	file := d.AddFile("traces.jsonl")
	var res [4]model.ResID
	for i := range res {
		res[i] = d.Resource(model.Resource{Instance: fmt.Sprint("instance-", i), Service: "lmcache", Host: "node-7", PID: int64(4000 + i)}, "")
	}
	server, engine, plugin := d.InternString("lmcache_mp.blend"), d.InternString("vllm.tracing.otel"), d.InternString("lmcache_cacheblend")
	rows := []struct {
		stage  model.Stage
		parent int // index of its row
		trace  int
		proc   int
		scope  model.StrID
	}{
		{model.StageLLMRequest, -1, 0, 0, engine},
		{model.StageCBRequest, -1, 1, 1, plugin}, {model.StageSchedule, 1, 1, 1, plugin}, {model.StageLookupRPC, 2, 1, 1, plugin},
		{model.StageLookup, 3, 1, 2, server}, {model.StageFingerprintMatch, 4, 1, 2, server}, {model.StagePrefixLookup, 4, 1, 2, server},
		{model.StageSparsePrefetch, 4, 1, 2, server}, {model.StageL2Load, 7, 1, 2, server}, {model.StageClassify, 4, 1, 2, server},
		{model.StageExecute, 1, 1, 3, plugin}, {model.StageStartLoadKV, 10, 1, 3, plugin},
		{model.StageRetrieve, -1, 2, 2, server}, {model.StageScatter, 12, 2, 2, server},
		{model.StageModelForward, 10, 1, 3, plugin}, {model.StagePartial, 14, 1, 3, plugin}, {model.StageStoreFinal, 1, 1, 2, server},
	}
	var batches []*model.Batch
	n := 0
	for i := range requests {
		if i%perBatch == 0 {
			batches = append(batches, model.NewBatch(d, false))
		}
		b := batches[len(batches)-1]
		external := fmt.Sprintf("chatcmpl-%016x", word(fmt.Sprint("request ", i)))
		internal := fmt.Appendf(nil, "%s-%08x", external, uint32(word(external)))
		at := model.Time(1764432000e9) + model.Time(i)*7_000_000
		for k, row := range rows {
			r := b.Begin()
			r.Trace = model.TraceID{Hi: word(fmt.Sprint(i, row.trace)), Lo: word(fmt.Sprint(row.trace, i))}
			r.ID = model.HexID(word(fmt.Sprint(i, "span", k)))
			if row.parent >= 0 {
				r.Parent = model.HexID(word(fmt.Sprint(i, "span", row.parent)))
			}
			r.Name, r.Scope, r.Res, r.File, r.Pos, r.Kind = row.stage.ID(), row.scope, res[row.proc], file, int64(i), 1
			r.Start = at + model.Time(k)*1_234_567
			r.End = r.Start + 50_123_456
			if row.stage == model.StageLLMRequest {
				b.AddText(model.AttrGenAIRequestID, []byte(external))
				b.AddInt(model.AttrPromptTokens, 4096)
				b.AddFloat(model.AttrTimeToFirstToken, 0.123456)
			} else if !keyless || row.parent < 0 {
				b.AddText(model.AttrSessionID, internal)
			}
			switch row.stage {
			case model.StageCBRequest, model.StageLookup:
				b.AddInt(model.AttrRequestedTokens, 4096)
				b.AddInt(model.AttrHitTokens, 2048)
				b.AddInt(model.AttrPrefixHitTokens, 1024)
				b.AddInt(model.AttrNonPrefixHitTokens, 1024)
				b.AddText(model.AttrModel, []byte("meta-llama/Llama-3.1-8B-Instruct"))
			case model.StageRetrieve, model.StageScatter:
				b.AddInt(model.AttrNumChunks, 8)
				b.AddText(model.AttrWorkerID, []byte("0"))
				b.AddText(model.AttrSuccess, []byte("True"))
			case model.StageSparsePrefetch, model.StageL2Load:
				b.AddInt(model.AttrL2Keys, 16)
				b.AddInt(model.AttrBytes, 1<<25)
			}
			b.End()
			n++
		}
	}
	return d, batches, n
}

func fill(b testing.TB, s *Store, batches []*model.Batch) {
	w := s.Writer()
	for _, batch := range batches {
		if err := w.Add(batch); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

func perSpan(b *testing.B, spans int) {
	b.ReportMetric(float64(spans)*float64(b.N)/b.Elapsed().Seconds(), "spans/s")
}

func BenchmarkAdd(b *testing.B) {
	d, batches, n := workload(20000, 20, false)
	temp := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		s := New(d, Config{TempDir: temp, Partitions: 64}) // so that chunks fill up
		fill(b, s, batches)
		b.ReportMetric(float64(s.resident.Load())/float64(n), "bytes/span")
		s.Close()
	}
	perSpan(b, n)
}

func BenchmarkIdentify(b *testing.B) {
	for _, keyless := range []bool{false, true} {
		b.Run(fmt.Sprint("keyless=", keyless), func(b *testing.B) {
			d, batches, n := workload(20000, 20, keyless)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				s := New(d, Config{TempDir: b.TempDir()})
				fill(b, s, batches)
				b.StartTimer()
				if _, err := s.Identify(context.Background()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				s.Close()
				b.StartTimer()
			}
			perSpan(b, n)
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for name, memory := range map[string]int64{"memory": 0, "disk": 256 << 10} {
		b.Run(name, func(b *testing.B) {
			d, batches, n := workload(20000, 20, false)
			s := New(d, Config{TempDir: b.TempDir(), Memory: memory, Partitions: 64})
			defer s.Close()
			fill(b, s, batches)
			if _, err := s.Identify(context.Background()); err != nil {
				b.Fatal(err)
			}
			r := s.Reader()
			b.ReportAllocs()
			for b.Loop() {
				got := 0
				for i := range s.Partitions() {
					if err := r.Read(context.Background(), i, func(r *model.Request) error { got += len(r.Spans); return nil }); err != nil {
						b.Fatal(err)
					}
				}
				if got != n {
					b.Fatalf("%d spans, want %d", got, n)
				}
			}
			perSpan(b, n)
		})
	}
}

// What the issues ask of speed does not depend on the machine: no allocation per span, and at most 100 bytes a span.
func TestAllocations(t *testing.T) {
	d, batches, n := workload(2000, 20, false)
	s := New(d, Config{TempDir: t.TempDir(), Partitions: 8})
	defer s.Close()
	w := s.Writer()
	add := func() {
		for _, b := range batches {
			if err := w.Add(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	add() // buffers grow once
	if got := testing.AllocsPerRun(3, add) / float64(n); got > 0.01 {
		t.Errorf("%.3f allocations to take in a span", got)
	}
	w.Close()

	s = New(d, Config{TempDir: t.TempDir(), Partitions: 8})
	defer s.Close()
	fill(t, s, batches)
	if perSpan := float64(s.resident.Load()) / float64(n); perSpan > 75 {
		t.Errorf("%.1f bytes a span", perSpan)
	}
	if _, err := s.Identify(context.Background()); err != nil {
		t.Fatal(err)
	}
	r := s.Reader()
	read := func() {
		for i := range s.Partitions() {
			if err := r.Read(context.Background(), i, func(*model.Request) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	read()
	if got := testing.AllocsPerRun(3, read) / float64(n); got > 0.01 {
		t.Errorf("%.3f allocations to give out a span", got)
	}
}
