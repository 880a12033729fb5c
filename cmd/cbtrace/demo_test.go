package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/render/schema/schematest"
)

var demo = filepath.Join("..", "..", "testdata", "demo")

// testdata/demo is what its generator writes, to the byte, and at most 1 MB.
func TestDemoIsGenerated(t *testing.T) {
	again := filepath.Join(t.TempDir(), "demo")
	if out, err := exec.Command("go", "run", "../../testdata/gen", "-o", again).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, have := tree(t, demo), tree(t, again)
	size := 0
	for name, b := range want {
		size += len(b)
		if !bytes.Equal(b, have[name]) {
			t.Errorf("%s: the generator writes something else (make demo-data)", name)
		}
	}
	if len(have) != len(want) || len(want) == 0 {
		t.Errorf("the generator writes %d files, there are %d", len(have), len(want))
	}
	if size > 1_000_000 {
		t.Errorf("%d bytes", size)
	}
}

// tree is the files below a folder.
func tree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The conditions by which LMCache's page on tracing sorts requests, each as `list --where` asks for it and as a plain look at the attributes of the
// request spans in the files sees it. Each holds for some of the demo's requests and not for all.
func TestDemoConditions(t *testing.T) {
	spans := requestSpans(t)
	for _, c := range []struct {
		name, where string
		holds       func(attributes) bool
	}{
		{"hit_rate < 0.5", `{ name = "request" && span.hit_rate < 0.5 }`, func(a attributes) bool { return a.number("hit_rate") < 0.5 }},
		{"hit_rate = 1", `{ name = "request" && span.hit_rate = 1 }`, func(a attributes) bool { return a.number("hit_rate") == 1 }},
		{"requested and nothing found", `{ name = "request" && span.requested_tokens > 0 && span.hit_tokens = 0 }`,
			func(a attributes) bool { return a.number("requested_tokens") > 0 && a.number("hit_tokens") == 0 }},
		{"l2_hit_rate > 0.5", `{ name = "request" && span.l2_hit_rate > 0.5 }`, func(a attributes) bool { return a.number("l2_hit_rate") > 0.5 }},
		{"l2_hit_keys > 0", `{ name = "request" && span.l2_hit_keys > 0 }`, func(a attributes) bool { return a.number("l2_hit_keys") > 0 }},
		{"early_exit_reason", `{ name = "request" && span.early_exit_reason != "" }`, func(a attributes) bool { return a["early_exit_reason"] != "" }},
	} {
		want := 0
		for _, a := range spans {
			if c.holds(a) {
				want++
			}
		}
		got := listed(t, "--where", c.where)
		if got != want || want == 0 || want == len(spans) {
			t.Errorf("%s: list has %d requests, the files %d of %d", c.name, got, want, len(spans))
		}
	}
	if all := listed(t); all != 80 {
		t.Errorf("%d requests in the demo", all)
	}
}

// Folded stacks add up to what the report says: by self time to that of all work and background, along the path to the windows.
func TestFoldedTotals(t *testing.T) {
	var report struct {
		Stages []struct {
			Class  string
			SelfNS int64 `json:"self_ns"`
		}
		CriticalPath struct {
			TotalNS int64 `json:"total_ns"`
		} `json:"critical_path"`
	}
	if err := json.Unmarshal(printed(t, "report", "--format", "json", demo), &report); err != nil {
		t.Fatal(err)
	}
	self := int64(0)
	for _, s := range report.Stages {
		if s.Class == "work" || s.Class == "background" {
			self += s.SelfNS
		}
	}
	for _, c := range []struct {
		weight string
		want   int64
	}{{"self", self}, {"critical", report.CriticalPath.TotalNS}} {
		for _, per := range []string{"capture", "request"} {
			sum := int64(0)
			for line := range strings.Lines(string(printed(t, "export", "--to", "folded", "--weight", c.weight, "--per", per, demo))) {
				n, err := strconv.ParseInt(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
			if sum != c.want || sum == 0 {
				t.Errorf("--weight %s --per %s: %d, the report has %d", c.weight, per, sum, c.want)
			}
		}
	}
}

// What commands print as JSON is what their schemas say: a schema says one thing, so what another prints is not.
func TestPrintedIsWhatSchemasSay(t *testing.T) {
	otlp := filepath.Join("..", "..", "testdata", "otlp")
	for _, row := range []struct {
		schema, not string
		args        []string
	}{
		{"list", "check", []string{"list", demo}},
		{"list", "inspect-all", []string{"list", otlp}},
		{"check", "list", []string{"check", demo}},
		{"check", "list", []string{"check", otlp}},
		{"inspect", "inspect-all", []string{"inspect", "chatcmpl-7c1e", otlp}},
		{"inspect-all", "inspect", []string{"inspect", "--slowest", "3", demo}},
		{"inspect-all", "inspect", []string{"inspect", "--all", "chatcmpl-7c1e", otlp}}, // one alone
		{"inspect-all", "explain-all", []string{"inspect", "--all", "chatcmpl-", otlp}},
		{"explain", "explain-all", []string{"explain", "late_poll"}},
		{"explain-all", "explain", []string{"explain", "double_start_load_kv"}},
		{"explain-all", "inspect-all", []string{"explain"}},
	} {
		doc := printed(t, append(row.args, "--format", "json")...)
		for _, err := range schematest.Validate(printed(t, "schema", row.schema), doc) {
			t.Errorf("%v: %v", row.args, err)
		}
		if len(schematest.Validate(printed(t, "schema", row.not), doc)) == 0 {
			t.Errorf("%v prints what the schema of %s says too", row.args, row.not)
		}
	}
}

// printed is what a run that ends well prints.
func printed(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, notes bytes.Buffer
	if status := run(args, strings.NewReader(""), &out, &notes); status != 0 {
		t.Fatalf("%v: %d, %s", args, status, &notes)
	}
	return out.Bytes()
}

// listed is how many requests of the demo list has.
func listed(t *testing.T, flags ...string) int {
	t.Helper()
	var doc struct{ Total int }
	if err := json.Unmarshal(printed(t, append(append([]string{"list", "--format", "json"}, flags...), demo)...), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Total
}

// attributes are those of a span, as text.
type attributes map[string]string

func (a attributes) number(key string) float64 {
	f, err := strconv.ParseFloat(a[key], 64)
	if err != nil {
		return -1
	}
	return f
}

// requestSpans are the attributes of the spans called request in the demo's OTLP and Jaeger files.
func requestSpans(t *testing.T) (out []attributes) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(demo, "otel", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			var batch struct {
				ResourceSpans []struct {
					ScopeSpans []struct {
						Spans []struct {
							Name       string
							Attributes []struct {
								Key   string
								Value map[string]any
							}
						}
					}
				}
			}
			if err := json.Unmarshal(line, &batch); err != nil {
				t.Fatal(err)
			}
			for _, r := range batch.ResourceSpans {
				for _, s := range r.ScopeSpans {
					for _, span := range s.Spans {
						if span.Name != "request" {
							continue
						}
						a := attributes{}
						for _, at := range span.Attributes {
							for _, v := range at.Value {
								a[at.Key] = plain(v)
							}
						}
						out = append(out, a)
					}
				}
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(demo, "jaeger", "chat.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Data []struct {
			Spans []struct {
				OperationName string
				Tags          []struct {
					Key   string
					Value any
				}
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, trace := range doc.Data {
		for _, span := range trace.Spans {
			if span.OperationName != "request" {
				continue
			}
			a := attributes{}
			for _, tag := range span.Tags {
				a[tag.Key] = plain(tag.Value)
			}
			out = append(out, a)
		}
	}
	return out
}

func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}
