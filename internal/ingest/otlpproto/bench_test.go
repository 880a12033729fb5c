package otlpproto

import (
	"encoding/binary"
	"fmt"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

const (
	benchMessages = 40
	benchSpans    = 200 // of one message
)

// corpus is messages as a collector's batches look: three services, 6–11 attributes a span, an event on every tenth, written by pdata
// in descending field order.
func corpus(t testing.TB) (messages [][]byte, size int64) {
	names := []string{"cb.request", "cb.schedule", "cb.lookup.rpc", "cb.lookup", "cb.sparse_prefetch", "cb.l2_load", "cb.start_load_kv", "cb.retrieve", "cb.scatter", "shim.layer"}
	id := func(n, size int) []byte { // no byte of it repeats from span to span
		b := make([]byte, size)
		binary.BigEndian.PutUint64(b[size-8:], uint64(n)*0x9e3779b97f4a7c15)
		b[0] |= 1
		return b
	}
	for m := range benchMessages {
		traces := ptrace.NewTraces()
		for service := range 3 {
			rs := traces.ResourceSpans().AppendEmpty()
			res := rs.Resource().Attributes()
			res.PutStr("service.name", []string{"vllm-scheduler", "vllm-worker", "lmcache-server"}[service])
			res.PutStr("service.instance.id", fmt.Sprintf("instance-%d-%d", service, m%4))
			res.PutStr("host.name", "gpu-node-07")
			res.PutInt("process.pid", int64(4000+service))
			ss := rs.ScopeSpans().AppendEmpty()
			ss.Scope().SetName("lmcache_mp.server")
			for s := service; s < benchSpans; s += 3 {
				n := m*benchSpans + s
				span := ss.Spans().AppendEmpty()
				span.SetTraceID(pcommon.TraceID(id(n/20+1, 16)))
				span.SetSpanID(pcommon.SpanID(id(n+1, 8)))
				span.SetParentSpanID(pcommon.SpanID(id(n/20*20+1, 8)))
				span.SetName(names[n%len(names)])
				span.SetKind(ptrace.SpanKind(n % 6))
				span.SetStartTimestamp(pcommon.Timestamp(1_760_000_000_000_000_000 + n*1_000_003))
				span.SetEndTimestamp(pcommon.Timestamp(1_760_000_000_090_000_000 + n*1_000_003))
				span.SetFlags(256)
				a := span.Attributes()
				a.PutStr("request_id", fmt.Sprintf("cmpl-%08x-0", n/20))
				a.PutStr("worker_id", "3")
				a.PutInt("requested_tokens", int64(n%8000))
				a.PutStr("hit_tokens", fmt.Sprint(n%4000))
				a.PutStr("success", "True")
				a.PutStr("net.peer.name", "lmcache-0.lmcache.svc.cluster.local")
				for extra := range n % 6 {
					a.PutInt(fmt.Sprintf("custom.attribute.%d", extra), int64(n))
				}
				if n%10 == 0 {
					e := span.Events().AppendEmpty()
					e.SetName("retry")
					e.Attributes().PutInt("attempt", 1)
				}
				if n%50 == 0 {
					span.Status().SetCode(ptrace.StatusCodeError)
				}
			}
		}
		data, err := new(ptrace.ProtoMarshaler).MarshalTraces(traces)
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, data)
		size += int64(len(data))
	}
	return messages, size
}

func BenchmarkOTLPProto(b *testing.B) {
	messages, size := corpus(b)
	want := messages[0]
	if got, _ := decodeShown(b, want); len(got) != benchSpans {
		b.Fatalf("%d spans", len(got))
	} else if slow, err := slowDecode(want); err != nil || slow[7] != got[7] {
		b.Fatalf("%v\n%s\n%s", err, slow[7], got[7])
	}
	spans := func(b *testing.B) {
		b.ReportMetric(float64(benchMessages*benchSpans)*float64(b.N)/b.Elapsed().Seconds(), "spans/s")
	}
	b.Run("ours", func(b *testing.B) {
		batch, d := model.NewBatch(model.NewDict(), false), new(Decoder)
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			var rep decode.Report
			for _, m := range messages {
				batch.Reset()
				if d.Decode(decode.Block{Data: m, Family: "x"}, batch, &rep); len(batch.Records) != benchSpans {
					b.Fatal(len(batch.Records), rep.ErrorCount)
				}
			}
		}
		spans(b)
	})
	b.Run("pdata", func(b *testing.B) {
		var u ptrace.ProtoUnmarshaler
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			for _, m := range messages {
				if t, err := u.UnmarshalTraces(m); err != nil || t.SpanCount() != benchSpans {
					b.Fatal(err)
				}
			}
		}
		spans(b)
	})
}

// In a steady state nothing is allocated per span: at most 0.05, for caches that turn over.
func TestAllocations(t *testing.T) {
	messages, _ := corpus(t)
	batch, d := model.NewBatch(model.NewDict(), false), new(Decoder)
	var rep decode.Report
	all := func() {
		for _, m := range messages {
			batch.Reset()
			d.Decode(decode.Block{Data: m, Family: "x"}, batch, &rep)
		}
	}
	all()
	if n := testing.AllocsPerRun(3, all) / (benchMessages * benchSpans); n > 0.05 {
		t.Errorf("%v allocations per span", n)
	}
	if rep.ErrorCount != 0 {
		t.Error(texts(&rep))
	}
}
