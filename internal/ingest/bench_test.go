package ingest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// BenchmarkRead reads a file of 64 MiB of JSON lines from the page cache, with one worker and with two.
func BenchmarkRead(b *testing.B) {
	var text bytes.Buffer
	for i := 0; text.Len() < 64<<20; i++ {
		fmt.Fprintf(&text, `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"vllm"}},{"key":"service.instance.id","value":{"stringValue":"i-%d"}}]},"scopeSpans":[{"scope":{"name":"lmcache_mp.blend"},"spans":[`, i%4)
		for s := range 100 {
			if s > 0 {
				text.WriteByte(',')
			}
			n := i*100 + s
			fmt.Fprintf(&text, `{"traceId":"%032x","spanId":"%016x","parentSpanId":"%016x","flags":256,"name":"cb.lookup","kind":1,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"session_id","value":{"stringValue":"chatcmpl-%08x"}},{"key":"requested_tokens","value":{"stringValue":"%d"}},{"key":"hit_tokens","value":{"stringValue":"%d"}},{"key":"cache_salt","value":{"stringValue":""}},{"key":"net.peer.name","value":{"stringValue":"lmcache-0.lmcache.svc.cluster.local"}}],"status":{}}`,
				n/20+1, n*7919+1, n/20*20*7919+1, 1_760_000_000_000_000_000+n*1000, 1_760_000_000_000_900_000+n*1000, n/20, n%8000, n%4000)
		}
		text.WriteString("]}]}]}\n")
	}
	file := filepath.Join(b.TempDir(), "traces.jsonl")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, jobs := range []int{1, 2} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			set := expand(b, file)
			b.SetBytes(int64(text.Len()))
			var spans int64
			for b.Loop() {
				var n int64
				stats, err := set.Read(context.Background(), model.NewDict(), Options{Jobs: jobs}, func() Sink { return new(countingSink) })
				if err != nil || stats[0].ErrorCount != 0 {
					b.Fatal(err, stats)
				}
				n = stats[0].Spans
				spans += n
			}
			b.ReportMetric(float64(spans)/b.Elapsed().Seconds(), "spans/s")
		})
	}
}

type countingSink struct{ n int }

func (c *countingSink) Add(b *model.Batch) error { c.n += len(b.Records); return nil }
func (c *countingSink) Close() error             { return nil }
