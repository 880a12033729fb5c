package ingest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// counts is a sink that counts spans by service and remembers the lines of the last span of each trace.
type counts struct {
	mu       *sync.Mutex
	services map[string]int
	lines    map[model.TraceID]int64
	dict     *model.Dict
}

func (c counts) Add(b *model.Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range b.Records {
		r := &b.Records[i]
		c.services[c.dict.Res(r.Res).Service]++
		c.lines[r.Trace] = max(c.lines[r.Trace], r.Pos)
	}
	return nil
}

func (c counts) Close() error { return nil }

func readCounts(t *testing.T, file string, size, jobs int) (counts, model.InputStats) {
	t.Helper()
	set, err := Expand([]string{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	set.block = size
	c := counts{new(sync.Mutex), map[string]int{}, map[model.TraceID]int64{}, model.NewDict()}
	stats, err := set.Read(context.Background(), c.dict, Options{Jobs: jobs}, func() Sink { return c })
	if err != nil {
		t.Fatal(err)
	}
	return c, stats[0]
}

// A Jaeger export is one document. One that is larger than a block is cut between its traces: the same spans, lines and services,
// with what stands before and after the list read once.
func TestJaegerDocumentInBlocks(t *testing.T) {
	const traces, size = 300, 64 << 10
	for _, c := range []struct{ name, before, between, after string }{
		{"answer", `{"data":[`, ",", `],"total":0,"errors":null}`},
		{"pretty", "{\n \"total\": 0,\n \"data\": [\n", ",\n", "\n ],\n \"errors\": null\n}\n"},
		{"list", "[", ",\n ", "]"},
		{"lines", "", "\n", "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var doc strings.Builder
			doc.WriteString(c.before)
			for i := range traces {
				if i > 0 {
					doc.WriteString(c.between)
				}
				fmt.Fprintf(&doc, `{"traceID":"%x","spans":[`, i+1)
				for s := range 10 {
					if s > 0 {
						doc.WriteByte(',')
					}
					fmt.Fprintf(&doc, `{"traceID":"%x","spanID":"%x","operationName":"cb.lookup","references":[],"startTime":%d,"duration":5,"tags":[{"key":"pad","type":"string","value":"%0200d"}],"logs":[],"processID":"p%d","warnings":null}`,
						i+1, s+1, 1_760_000_000_000_000+i, s, s%2+1)
				}
				fmt.Fprintf(&doc, `],"processes":{"p1":{"serviceName":"even"},"p2":{"serviceName":"odd-%d"}},"warnings":null}`, i%3)
			}
			doc.WriteString(c.after)
			if doc.Len() < 2*size {
				t.Fatalf("only %d bytes", doc.Len())
			}
			file := filepath.Join(t.TempDir(), "export.json")
			if err := os.WriteFile(file, []byte(doc.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, jobs := range []int{1, 3} {
				got, stats := readCounts(t, file, size, jobs)
				if stats.Format != "jaeger-json" || stats.Spans != 10*traces || stats.ErrorCount != 0 || stats.Unusable != "" || len(stats.Notes) != 0 {
					t.Errorf("%+v", stats)
				}
				for service, n := range map[string]int{"even": 5 * traces, "odd-0": 5 * traces / 3, "odd-1": 5 * traces / 3, "odd-2": 5 * traces / 3} {
					if got.services[service] != n {
						t.Errorf("service %s: %d spans, want %d", service, got.services[service], n)
					}
				}
				// The line of each trace, counted from its place.
				first := int64(1 + strings.Count(c.before, "\n"))
				for _, i := range []int{0, 1, traces / 2, traces - 1} {
					if line, want := got.lines[model.TraceID{Lo: uint64(i + 1)}], first+int64(i*strings.Count(c.between, "\n")); line != want {
						t.Errorf("trace %d: line %d, want %d", i, line, want)
					}
				}
			}
		})
	}
}

// Values of both kinds in one input, each read by its decoder; the kind of the whole is that of the first.
func TestJaegerBesideOTLP(t *testing.T) {
	const (
		otlp   = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"otlp"}}]},"scopeSpans":[{"spans":[{"traceId":"000000000000000000000000000000ff","spanId":"0000000000000001","name":"x"}]}]}]}`
		jaeger = `{"data":[{"traceID":"1","spans":[{"traceID":"1","spanID":"1","operationName":"x","processID":"p1"}],"processes":{"p1":{"serviceName":"jaeger"}}}]}`
		odd    = `{"total":0,"data":[{"spans":[{"traceID":"2","spanID":"1","operationName":"x","process":{"serviceName":"jaeger"}}]}]}` // the list is not first
		zipkin = `[{"traceId":"1","id":"1","name":"x","timestamp":1}]`
	)
	file := filepath.Join(t.TempDir(), "mixed.json")
	if err := os.WriteFile(file, []byte(strings.Join([]string{jaeger, otlp, zipkin, odd, otlp, `{"data":[]}`, jaeger}, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	got, stats := readCounts(t, file, 0, 1)
	if stats.Format != "jaeger-json" || stats.Spans != 5 || got.services["otlp"] != 2 || got.services["jaeger"] != 3 {
		t.Errorf("%+v %v", stats, got.services)
	}
	if len(stats.Errors) != 1 || !strings.Contains(stats.Errors[0], "mixed.json:3: ") || !strings.Contains(stats.Errors[0], "Zipkin") {
		t.Errorf("errors %q", stats.Errors)
	}
	if len(stats.Notes) != 1 || stats.Notes[0] != "answers without spans: 1" {
		t.Errorf("notes %q", stats.Notes)
	}
}
