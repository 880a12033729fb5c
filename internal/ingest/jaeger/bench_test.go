package jaeger

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	goccy "github.com/goccy/go-json"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

const (
	benchTraces = 200
	benchSpans  = 20 // of one trace
)

// What a reader with structs would decode into: the keys that count and no others.
type (
	goAnswer struct {
		Data []goTrace `json:"data"`
	}
	goTrace struct {
		TraceID   string               `json:"traceID"`
		Spans     []goSpan             `json:"spans"`
		Processes map[string]goProcess `json:"processes"`
		Warnings  []string             `json:"warnings"`
	}
	goSpan struct {
		TraceID    string   `json:"traceID"`
		SpanID     string   `json:"spanID"`
		Name       string   `json:"operationName"`
		References []goRef  `json:"references"`
		Start      int64    `json:"startTime"`
		Duration   int64    `json:"duration"`
		Tags       []goTag  `json:"tags"`
		ProcessID  string   `json:"processID"`
		Warnings   []string `json:"warnings"`
	}
	goRef struct {
		Type    string `json:"refType"`
		TraceID string `json:"traceID"`
		SpanID  string `json:"spanID"`
	}
	goTag struct {
		Key   string `json:"key"`
		Type  string `json:"type"`
		Value any    `json:"value"`
	}
	goProcess struct {
		Service string  `json:"serviceName"`
		Tags    []goTag `json:"tags"`
	}
)

// corpus is one answer as Jaeger writes them: references, eight tags and now and then a log a span, three processes a trace.
func corpus(traces int) []byte {
	names := []string{"cb.request", "cb.schedule", "cb.lookup.rpc", "cb.lookup", "cb.sparse_prefetch", "cb.l2_load", "cb.start_load_kv", "cb.retrieve", "cb.scatter", "shim.layer"}
	tag := func(key, typ, value string) string {
		return fmt.Sprintf(`{"key":%q,"type":%q,"value":%s}`, key, typ, value)
	}
	var b strings.Builder
	b.WriteString(`{"data":[`)
	for t := range traces {
		if t > 0 {
			b.WriteByte(',')
		}
		id := fmt.Sprintf("%032x", uint64(t+1)*0x9e3779b97f4a7c15)
		fmt.Fprintf(&b, `{"traceID":%q,"spans":[`, id)
		for s := range benchSpans {
			if s > 0 {
				b.WriteByte(',')
			}
			n := t*benchSpans + s
			refs := ""
			if s > 0 {
				refs = fmt.Sprintf(`{"refType":"CHILD_OF","traceID":%q,"spanID":"%016x"}`, id, uint64(t*benchSpans+1)*0xbf58476d1ce4e5b9)
			}
			logs := ""
			if s%10 == 0 {
				logs = `{"timestamp":1760000000000123,"fields":[{"key":"event","type":"string","value":"retry"},{"key":"attempt","type":"int64","value":1}]}`
			}
			fmt.Fprintf(&b, `{"traceID":%q,"spanID":"%016x","operationName":%q,"references":[%s],"startTime":%d,"duration":%d,"tags":[%s],"logs":[%s],"processID":"p%d","warnings":null}`,
				id, uint64(n+1)*0xbf58476d1ce4e5b9, names[n%len(names)], refs, 1_760_000_000_000_000+n, 90_000+n, strings.Join([]string{
					tag("hit_tokens", "string", fmt.Sprintf(`"%d"`, n%4000)), tag("net.peer.name", "string", `"lmcache-0.lmcache.svc.cluster.local"`),
					tag("otel.scope.name", "string", `"lmcache_mp.server"`), tag("request_id", "string", fmt.Sprintf(`"cmpl-%08x-0"`, t)),
					tag("requested_tokens", "int64", fmt.Sprint(n%8000)), tag("span.kind", "string", `"internal"`), tag("success", "bool", "true"), tag("worker_id", "int64", "3"),
				}, ","), logs, s%3+1)
		}
		b.WriteString(`],"processes":{`)
		for p := range 3 {
			if p > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"p%d":{"serviceName":"service-%d","tags":[%s,%s]}`, p+1, p, tag("host.name", "string", `"gpu-node-07"`), tag("service.instance.id", "string", fmt.Sprintf(`"instance-%d"`, p)))
		}
		b.WriteString(`},"warnings":null}`)
	}
	b.WriteString(`],"total":0,"limit":0,"offset":0,"errors":null}`)
	return []byte(b.String())
}

func BenchmarkJaegerJSON(b *testing.B) {
	data := corpus(benchTraces)
	const spans = benchTraces * benchSpans
	want, ok := slowDecode(data)
	got, rep, _ := decodeAll(b, data, false)
	if !ok || len(want) != spans || len(got) != spans || bare(got[77]) != want[77] || rep.ErrorCount != 0 {
		b.Fatalf("%v %d %d %s\n%s\n%s", ok, len(want), len(got), texts(rep), got[77], want[77])
	}
	rate := func(b *testing.B) { b.ReportMetric(spans*float64(b.N)/b.Elapsed().Seconds(), "spans/s") }
	b.Run("ours", func(b *testing.B) {
		batch, d := model.NewBatch(model.NewDict(), false), new(Decoder)
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var rep decode.Report
			batch.Reset()
			if n := d.Decode(decode.Block{Data: data, Family: "x", Line: 1}, batch, &rep); n != len(data) || len(batch.Records) != spans {
				b.Fatal(n, len(batch.Records))
			}
		}
		rate(b)
	})
	check := func(b *testing.B, unmarshal func([]byte, any) error) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var a goAnswer
			if err := unmarshal(data, &a); err != nil || len(a.Data) != benchTraces || len(a.Data[3].Spans) != benchSpans {
				b.Fatal(err)
			}
		}
		rate(b)
	}
	b.Run("goccy", func(b *testing.B) { check(b, goccy.Unmarshal) })
	b.Run("encoding-json", func(b *testing.B) { check(b, json.Unmarshal) })
}

// In a steady state nothing is allocated per span.
func TestAllocations(t *testing.T) {
	data := corpus(50)
	batch, d := model.NewBatch(model.NewDict(), false), new(Decoder)
	var rep decode.Report
	run := func() {
		batch.Reset()
		d.Decode(decode.Block{Data: data, Family: "x", Line: 1}, batch, &rep)
	}
	run()
	if n := testing.AllocsPerRun(3, run) / (50 * benchSpans); n > 0.05 {
		t.Errorf("%v allocations per span", n)
	}
	if rep.ErrorCount != 0 || rep.Spans == 0 {
		t.Errorf("%d spans, %s", rep.Spans, texts(&rep))
	}
}
