package otlp

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

const (
	benchLines = 40
	benchSpans = 200 // of one line
)

// corpus is lines as the collector's file exporter writes its batches (pdata's marshaler is its encoder): three services, 6–11 attributes a
// span, an event on every tenth, an escaped text on every fiftieth.
func corpus(t testing.TB, lines int) []byte {
	names := []string{"cb.request", "cb.schedule", "cb.lookup.rpc", "cb.lookup", "cb.sparse_prefetch", "cb.l2_load", "cb.start_load_kv", "cb.retrieve", "cb.scatter", "shim.layer"}
	id := func(n, size int) []byte { // no byte of it repeats from span to span
		b := make([]byte, size)
		binary.BigEndian.PutUint64(b[size-8:], uint64(n)*0x9e3779b97f4a7c15)
		b[0] |= 1
		return b
	}
	var out bytes.Buffer
	for m := range lines {
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
				if n%20 != 0 {
					span.SetParentSpanID(pcommon.SpanID(id(n/20*20+1, 8)))
				}
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
				if n%5 == 0 {
					a.PutDouble("recomp_ratio", float64(n%997)/1000)
				} else {
					a.PutStr("success", "True")
				}
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
					a.PutStr("early_exit_reason", "say \"no\"\n")
				}
			}
		}
		data, err := new(ptrace.JSONMarshaler).MarshalTraces(traces)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data)
		out.WriteByte('\n')
	}
	return out.Bytes()
}

func report(b *testing.B, spans int64, mallocs uint64) {
	b.ReportMetric(float64(spans)/b.Elapsed().Seconds(), "spans/s")
	b.ReportMetric(float64(mallocs)/float64(spans), "allocs/span")
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// BenchmarkOTLPJSON reads the same lines with this decoder, with pdata's JSONUnmarshaler and with encoding/json.
func BenchmarkOTLPJSON(b *testing.B) {
	data := corpus(b, benchLines)
	const all = benchLines * benchSpans
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))

	b.Run("cbtrace", func(b *testing.B) {
		batch := model.NewBatch(model.NewDict(), false)
		var d Decoder
		var rep decode.Report
		run := func() {
			batch.Reset()
			rep = decode.Report{}
			d.Decode(decode.Block{Path: "a.jsonl", Family: "a.jsonl", Data: data, Line: 1}, batch, &rep)
		}
		run()
		if rep.Spans != all || rep.ErrorCount != 0 || len(batch.Records) != all {
			b.Fatalf("%d spans, %d records, %d errors: %v", rep.Spans, len(batch.Records), rep.ErrorCount, rep.Problems)
		}
		b.SetBytes(int64(len(data)))
		from, spans := mallocs(), int64(0)
		for b.Loop() {
			run()
			spans += all
		}
		report(b, spans, mallocs()-from)
	})
	b.Run("pdata", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		from, spans := mallocs(), int64(0)
		var u ptrace.JSONUnmarshaler
		for b.Loop() {
			for _, line := range lines {
				t, err := u.UnmarshalTraces(line)
				if err != nil {
					b.Fatal(err)
				}
				spans += int64(t.SpanCount())
			}
		}
		report(b, spans, mallocs()-from)
	})
	b.Run("encoding/json", func(b *testing.B) {
		type anyValue struct {
			StringValue *string
			IntValue    *json.Number
			DoubleValue *float64
			BoolValue   *bool
		}
		type keyValue struct {
			Key   string
			Value anyValue
		}
		type request struct {
			ResourceSpans []struct {
				Resource   struct{ Attributes []keyValue }
				ScopeSpans []struct {
					Scope struct{ Name string }
					Spans []struct {
						TraceID, SpanID, ParentSpanID, Name string
						Kind                                int
						StartTimeUnixNano, EndTimeUnixNano  string
						Attributes                          []keyValue
						Status                              struct{ Code int }
					}
				}
			}
		}
		b.SetBytes(int64(len(data)))
		from, spans := mallocs(), int64(0)
		for b.Loop() {
			for _, line := range lines {
				var r request
				if err := json.Unmarshal(line, &r); err != nil {
					b.Fatal(err)
				}
				for _, rs := range r.ResourceSpans {
					for _, ss := range rs.ScopeSpans {
						spans += int64(len(ss.Spans))
					}
				}
			}
		}
		report(b, spans, mallocs()-from)
	})
}
