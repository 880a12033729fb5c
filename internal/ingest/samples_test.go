package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A gatherer describes the records that its sinks get.
type gatherer struct {
	dict  *model.Dict
	mu    sync.Mutex
	lines []string
	ids   map[string]int // traces
	svcs  map[string]int
	fails int
}

type gatherSink struct{ g *gatherer }

func (s gatherSink) Add(b *model.Batch) error {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	for i := range b.Records {
		r := &b.Records[i]
		s.g.lines = append(s.g.lines, describe(b, r))
		s.g.ids[s.g.dict.TraceIDText(r.Trace)]++
		if name := s.g.dict.Res(r.Res).Service; name != "" {
			s.g.svcs[name]++
		}
		if r.Flags&model.RecordError != 0 {
			s.g.fails++
		}
	}
	return nil
}

func (s gatherSink) Close() error { return nil }

func describe(b *model.Batch, r *model.Record) string {
	d := b.Dict
	res := d.Res(r.Res)
	text := fmt.Sprintf("%s:%d %s %s<%s %q %d %d..%d %q %q %q %q %d", d.File(r.File).Path, r.Pos, d.TraceIDText(r.Trace), d.SpanIDText(r.ID), d.SpanIDText(r.Parent), d.Str(r.Name), r.Kind, r.Start, r.End,
		d.Str(r.Scope), res.Service, res.Instance, d.Proc(res.Proc).Name, r.Flags)
	for _, a := range b.AttrsOf(r) {
		text += " " + d.KeyName(a.Key) + "="
		switch a.Kind {
		case model.StrValue:
			text += string(b.TextOf(&a))
		case model.FloatValue:
			text += fmt.Sprint(math.Float64frombits(a.Bits))
		default:
			text += fmt.Sprint(a.Bits)
		}
	}
	return text
}

// read reads inputs and returns their records, sorted, and what became of them.
func read(t testing.TB, set *Set, opt Options) (*gatherer, []model.InputStats) {
	t.Helper()
	d := model.NewDict()
	g := &gatherer{dict: d, ids: map[string]int{}, svcs: map[string]int{}}
	stats, err := set.Read(context.Background(), d, opt, func() Sink { return gatherSink{g} })
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(g.lines)
	return g, stats
}

func expand(t testing.TB, args ...string) *Set {
	t.Helper()
	set, err := Expand(args, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A sample is a file and what is right about it.
type sample struct {
	file, format string
	spans        int64
	traces, svcs int // -1: not told
	errors       int
	skipped      int64
	says         string // in Unusable, Errors or Notes
	unusable     bool
}

var samples = []sample{
	{"framings/gzip-multi-member.jsonl.gz", "otlp-json+gzip", 7, 2, 3, 1, 0, "", false},
	{"framings/jaeger-v3-error.json", "otlp-json", 0, 0, 0, 0, 1, "404 No traces found", true},
	{"framings/json-array.json", "otlp-json", 7, 2, 3, 1, 0, "", false},
	{"framings/json-lines-crlf-blank-bom.jsonl", "otlp-json", 7, 2, 3, 1, 0, "", false},
	{"framings/json-lines-no-final-newline.jsonl", "otlp-json", 7, 2, 3, 1, 0, "", false},
	{"framings/json-lines-truncated.jsonl", "otlp-json", 5, 2, 2, 0, 1, "json-lines-truncated.jsonl:3: ends in the middle of a record", false},
	{"framings/json-lines.jsonl", "otlp-json", 7, 2, 3, 1, 0, "", false},
	{"framings/mixed-signals.jsonl", "otlp-json", 7, 2, 3, 1, 0, "values of another signal, profiles: 1", false},
	{"framings/no-extension-gzip", "otlp-json+gzip", 3, 2, 1, 0, 0, "", false},
	{"framings/proto-be32.bin", "otlp-proto+framed", 7, 2, 3, 1, 0, "", false},
	{"framings/proto-scope-field-1000.pb", "otlp-proto", 7, 2, 3, 1, 0, "", false},
	{"framings/proto-single.pb", "otlp-proto", 7, 2, 3, 1, 0, "", false},
	{"framings/proto-varint-delimited.bin", "otlp-proto+framed", 7, 2, 3, 1, 0, "", false},
	{"framings/tempo-v1-base64.json", "otlp-json", 7, 2, 3, 1, 0, "", false},
	{"framings/tempo-v1.json", "otlp-json", 7, 2, 3, 1, 0, "", false},
	{"framings/tempo-v2-base64-partial.json", "otlp-json", 7, 2, 3, 1, 0, "PARTIAL): trace exceeds max size", false},
	{"framings/zstd-legacy-json.bin", "otlp-json+zstd+framed", 7, 2, 3, 1, 0, "", false},
	{"framings/zstd-native-json.jsonl.zst", "otlp-json+zstd", 7, 2, 3, 1, 0, "", false},
	{"framings/zstd-native-proto.zst", "otlp-proto+framed+zstd", 7, 2, 3, 1, 0, "", false},

	{"bugs/01-child-line-before-parent.jsonl", "otlp-json", 2, 1, 2, 0, 0, "", false},
	{"bugs/02-python-console-spans.json", "", 0, 0, 0, 0, 0, "the console dump of OpenTelemetry's Python SDK", true},
	{"bugs/03a-empty.json", "", 0, 0, 0, 0, 0, "empty", true},
	{"bugs/03b-null.json", "", 0, 0, 0, 0, 0, "JSON, but null at its top", true},
	{"bugs/03c-number.json", "", 0, 0, 0, 0, 0, "JSON, but a number at its top", true},
	{"bugs/03d-string.json", "", 0, 0, 0, 0, 0, "JSON, but a string at its top", true},
	{"bugs/03e-empty-object.json", "", 0, 0, 0, 0, 0, "JSON without anything in it", true},
	{"bugs/03f-array-of-null.json", "", 0, 0, 0, 0, 0, "JSON without anything in it", true},
	{"bugs/03g-empty-resourcespans.json", "otlp-json", 0, 0, 0, 0, 0, "exports without spans: 1", false},
	{"bugs/04-ids-base64-of-hex.json", "otlp-json", 2, 1, -1, 0, 0, "", false},
	{"bugs/05-ids-base64-batches.json", "otlp-json", 2, 1, -1, 1, 0, "", false},
	{"bugs/07-numbers-and-strings.json", "otlp-json", 3, 1, 1, 0, 0, "", false},
	{"bugs/09-instrumentation-library-spans.json", "otlp-json", 2, 1, -1, 1, 0, "", false},
	{"bugs/11-end-before-start.jsonl", "otlp-json", 3, 1, -1, 0, 0, "", false},
	{"bugs/12-unfinished-and-timeless.json", "otlp-json", 3, 1, 1, 0, 0, "", false},
	{"bugs/13-exact-duplicate-across-lines.jsonl", "otlp-json", 3, 1, -1, 0, 0, "", false},
	{"bugs/21-missing-parent.jsonl", "otlp-json", 2, 1, -1, 0, 0, "", false},
	{"bugs/24-percentiles.jsonl", "otlp-json", 100, -1, -1, 0, 0, "", false},
	{"bugs/26-overlapping-siblings-export.json", "otlp-json", 5, 1, -1, 0, 0, "", false},
	{"bugs/27-invalid-utf8.json", "otlp-json", 1, 1, -1, 0, 0, "", false},
	{"bugs/28-one-megabyte-line.jsonl.gz", "otlp-json+gzip", 3002, 2, -1, 0, 0, "", false},
	{"bugs/30-zipkin-shared-ids.json", "", 0, 0, 0, 0, 0, "Zipkin JSON", true},
	{"bugs/33-double-start-load-kv.json", "otlp-json", 5, 1, -1, 0, 0, "", false},
	{"bugs/34-grafana-download.json", "otlp-json", 2, 1, 1, 0, 0, "", false},

	{"otlp/duckdb-otlp-deep-nesting.jsonl", "otlp-json", 1, 1, 0, 0, 0, "", false},
	{"otlp/duckdb-otlp-malformed.jsonl", "otlp-json", 1, 1, 1, 0, 3, "duckdb-otlp-malformed.jsonl:2: no JSON value", false},
	{"otlp/duckdb-otlp-nulls.jsonl", "otlp-json", 3, 3, 0, 0, 0, "", false},
	{"otlp/jaeger-links.json", "otlp-json", 1, 1, 1, 0, 0, "", false},
	{"otlp/jaegerui-otlp-duplicate-span.json", "otlp-json", 2, 1, 1, 0, 0, "", false},
	{"otlp/jaegerui-otlp-lines.json.txt", "otlp-json", 4, 1, 1, 0, 0, "", false},
	{"otlp/otel-proto-example.json", "otlp-json", 1, 1, 1, 0, 0, "", false},
	{"otlp/oteldemo-fileexporter-mixed-signals.jsonl", "otlp-json", 547, 141, 8, -1, 0, "values of another signal, metrics: 40", false},
	{"otlp/otlp2parquet-base64-enumnames.jsonl", "otlp-json", 19, 19, 8, -1, 0, "", false},
	{"otlp/otlp2parquet-invalid-kind.json", "otlp-json", 1, 1, 1, 0, 0, "", false},
	{"otlp/perses-authenticate-error-otlp.json", "otlp-json", 3, 1, 2, -1, 0, "", false},
	{"otlp/perses-incomplete-otlp.json", "otlp-json", 2, 1, 1, 0, 0, "", false},
	{"otlp/robotframework-snakecase-pabot.jsonl", "otlp-json", 18, 1, 1, -1, 0, "", false},
	{"otlp/terragrunt-go-stdouttrace.jsonl", "", 0, 0, 0, 0, 0, "stdouttrace", true},
	{"otlp-proto/duckdb-otlp-traces.pb", "otlp-proto", 1, 1, 1, 0, 0, "", false},
	{"otlp-proto/otlp2parquet-traces.pb", "otlp-proto", 19, 19, 8, -1, 0, "", false},
	{"tempo/kiali-bookinfo-batches-base64.json", "otlp-json", 8, 1, 5, 0, 0, "", false},
	{"tempo/kiali-search-response.json", "", 0, 0, 0, 0, 0, "a Tempo search", true},
	{"jaeger-v3/api-v3-gettrace.json", "otlp-json", 1, 1, 0, 1, 0, "", false},

	{"collector/sdk_traces.json", "otlp-json", 6, -1, -1, -1, 0, "", false},
	{"collector/sdk_traces.json.zst", "otlp-json+zstd+framed", 6, -1, -1, -1, 0, "", false},
	{"collector/sdk_traces.proto", "otlp-proto+framed", 6, -1, -1, -1, 0, "", false},
	{"collector/sdk_traces.proto.zst", "otlp-proto+zstd+framed", 6, -1, -1, -1, 0, "", false},
	{"collector/traces.json.zst", "otlp-json+zstd+framed", 240, -1, 3, -1, 0, "", false},
	{"collector/traces.proto.zst", "otlp-proto+zstd+framed", 240, -1, 3, -1, 0, "", false},
}

// Every sample is read, or refused with a sentence that says why. $CBTRACE_SAMPLES names a folder with the whole collection, of which
// testdata holds what is small.
func TestSamples(t *testing.T) {
	for _, s := range samples {
		t.Run(s.file, func(t *testing.T) {
			path := filepath.Join("testdata", s.file)
			if _, err := os.Stat(path); err != nil {
				if path = filepath.Join(os.Getenv("CBTRACE_SAMPLES"), s.file); os.Getenv("CBTRACE_SAMPLES") == "" {
					t.Skip("$CBTRACE_SAMPLES is not set")
				}
			}
			g, stats := read(t, expand(t, path), Options{})
			st := stats[0]
			if st.Format != s.format || st.Spans != s.spans || st.Skipped != s.skipped || int64(len(g.lines)) != st.Spans {
				t.Errorf("%s, %d spans, %d skipped, %d records; want %s, %d, %d", st.Format, st.Spans, st.Skipped, len(g.lines), s.format, s.spans, s.skipped)
			}
			if s.traces >= 0 && len(g.ids) != s.traces || s.svcs >= 0 && len(g.svcs) != s.svcs || s.errors >= 0 && g.fails != s.errors {
				t.Errorf("%d traces, services %v, %d errors; want %d, %d, %d", len(g.ids), slices.Sorted(maps.Keys(g.svcs)), g.fails, s.traces, s.svcs, s.errors)
			}
			all := st.Unusable + "\n" + strings.Join(st.Errors, "\n") + "\n" + strings.Join(st.Notes, "\n")
			if !strings.Contains(all, s.says) || (st.Unusable != "") != s.unusable {
				t.Errorf("says %q, unusable %v; want %q, %v", all, st.Unusable != "", s.says, s.unusable)
			}
			if st.Spans == 0 && strings.TrimSpace(all) == "" {
				t.Error("no spans and no word about it")
			}
			if info, err := os.Stat(path); err != nil || st.Bytes != info.Size() {
				t.Errorf("%d bytes of %d", st.Bytes, info.Size())
			}
		})
	}
}

// The manifest's counts of the collection, where it is there.
func TestCounts(t *testing.T) {
	folder := os.Getenv("CBTRACE_SAMPLES")
	if folder == "" {
		t.Skip("$CBTRACE_SAMPLES is not set")
	}
	data, err := os.ReadFile(filepath.Join(folder, "counts.json"))
	if err != nil {
		t.Fatal(err)
	}
	var counts map[string]struct {
		Spans, Traces, Services *int
	}
	if err := json.Unmarshal(data, &counts); err != nil {
		t.Fatal(err)
	}
	for name, want := range counts {
		dir, _, _ := strings.Cut(name, "/")
		if !slices.Contains([]string{"otlp", "otlp-proto", "tempo", "jaeger-v3"}, dir) || want.Spans == nil || strings.Contains(name, "stdouttrace") {
			continue
		}
		g, _ := read(t, expand(t, filepath.Join(folder, name)), Options{})
		if len(g.lines) != *want.Spans || len(g.ids) != *want.Traces || len(g.svcs) != *want.Services {
			t.Errorf("%s: %d spans, %d traces, %d services; want %d, %d, %d", name, len(g.lines), len(g.ids), len(g.svcs), *want.Spans, *want.Traces, *want.Services)
		}
	}
}

// bugs/05, 07, 12, 27, 34: what is right about the values, worked out by hand.
func TestSampleValues(t *testing.T) {
	for file, wants := range map[string][]string{
		"bugs/04-ids-base64-of-hex.json":  {"0123456789abcdef0123456789abcdef 00000000000000b2<00000000000000a1"},
		"bugs/05-ids-base64-batches.json": {"0123456789abcdef0123456789abcdef 00000000000000a1<", "0123456789abcdef0123456789abcdef fbffbffffeffbfff<00000000000000a1"},
		"bugs/07-numbers-and-strings.json": {`00000000000000a1< "n1" 2 1750000000000000001..1750000000000000004`, "big=9007199254740993 num=9007199254740993 neg=18446744073709551615 d=1 ds=NaN b=0",
			`"n2" 3 1750000000000000002..1750000000000000003`, `"n3" 4 1750000001000000000..1750000001000000100`},
		"bugs/12-unfinished-and-timeless.json": {`"unfinished" 0 1750000000010000000..0`, `"timeless" 0 0..0`},
		"bugs/27-invalid-utf8.json":            {"\ufffd"},
		"bugs/34-grafana-download.json":        {`00000000000000000123456789abcdef 00000000000000b2<00000000000000a1 "child" 3 1750000000010000000..1750000000020000000`},
	} {
		g, _ := read(t, expand(t, filepath.Join("testdata", file)), Options{KeepAll: true})
		for _, want := range wants {
			if !slices.ContainsFunc(g.lines, func(l string) bool { return strings.Contains(l, want) }) {
				t.Errorf("%s: no record has %q:\n%s", file, want, strings.Join(g.lines, "\n"))
			}
		}
	}
}
