package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// One capture, written as OTLP JSON, as Jaeger JSON, and with its scheduler and workers as CB_PROFILE lines beside the OTLP spans of engine and server,
// gives one report, as far as the formats can say the same (issue 4). Twice: with times in whole µs, which every format can say, to the ns; and with
// odd ns, within what the formats cut off.
func TestFormatsAgree(t *testing.T) {
	for _, odd := range []bool{false, true} {
		c := formatsCapture(t, odd)
		times := "odd ns"
		if !odd {
			times = "whole µs"
			handWorked(t, reportOf(t, c.otlp(t, true)))
		}
		for _, format := range []struct {
			name   string
			dir    string
			exempt []exemption
			as     func(report any)
		}{
			{"Jaeger", c.jaeger(t), exemptJaeger, func(any) {}},
			{"lines", c.lines(t, true), slices.Concat(exemptLines, exemptOwn), nameProcesses},
			{"lines of the plugin alone", c.lines(t, false), slices.Concat(exemptLines, exemptPlugin), func(report any) { nameProcesses(report); fold(report) }},
		} {
			t.Run(format.name+", "+times, func(t *testing.T) {
				d := differ{t: t, odd: odd, exempt: format.exempt, used: map[string]bool{}}
				one, other := reportOf(t, c.otlp(t, true)), reportOf(t, format.dir)
				format.as(one)
				format.as(other)
				d.value("", one, other)
				for _, e := range format.exempt {
					if !odd && !e.odd && !d.used[e.path] {
						t.Errorf("%s is the same in both: no exemption is needed", e.path)
					}
				}
			})
		}
	}
}

// An exemption is a part of the report that two formats cannot say alike, and why; * stands for one name. All else is compared, field by field: requests,
// latency, time to first token, stages, critical path, lookups, hits, double loads, failures, load, findings, the slowest, quality and buckets.
type exemption struct {
	path, why string
	odd       bool // only where times are no whole µs
}

// Errors of durations in ns, where formats cut to µs: a start and an end are off by less than 1 µs each, and a span that is cut to its neighbours
// takes their errors over.
const (
	cutOne = 4_000
	cutSum = 2_000 * 2 * 64 // of sums: at most 2 µs at both ends of all spans of a stage or bound, of which no more than 64 meet another stage
)

var (
	exemptJaeger = []exemption{
		{"inputs", "files, formats and bytes are what differs", false},
		{"quality/clipped", "a child that sticks out of its parent by less than 1 µs does so no more, or does", true},
		{"quality/outside", "as clipped", true},
		{"clock/*/drift_ppm", "of ends that are cut", true},
	}
	exemptLines = []exemption{
		{"inputs", "files, formats and bytes are what differs", false},
		{"quality/spans_read", "lines are records", false},
		{"quality/records_read", "lines are records", false},
		{"quality/coalesced", "several lines are one call (R4.9)", false},
		{"quality/adopted", "lines name no parent", false},
		{"quality/joins/*", "from profile, not from scheduler and worker", false},
		{"quality/clipped", "as in Jaeger JSON", true},
		{"quality/outside", "as in Jaeger JSON", true},
		{"clock/*/drift_ppm", "as in Jaeger JSON", true},
		{"clock/*/pairs", "without ids a pair counts only where it is the only one of its stages in the request (R5.1)", false},
		{"clock/node-7:4301 node-7:4242", "a request on rank 1 is on rank 0 too: no cb.execute is the only one", false},
		{"lookup/uncertainty_ns", "of the routes between clocks, which go by pairs", false},
	}
	exemptOwn = []exemption{
		{"clock/node-7:4300 node-7:4242/*", "most of its pairs are of requests with one cb.execute that were looked up once: too few for a corridor", false},
	}
	exemptPlugin = []exemption{
		{"clock/node-7:4242 engine-0", "no line for cb.request, so nothing bounds the scheduler's clock by the engine's", false},
		{"clock/node-7:4300 node-7:4242", "no line for cb.execute, so nothing bounds the workers' clocks by the scheduler's", false},
		{"stages/cb.execute worker/*", "the plugin has no line for it; what is put in its place is no span (R4.15)", false},
	}
)

// nameProcesses gives the processes of lines, which have no host, the names that their spans give them. Rows of a process without any pair say nothing.
func nameProcesses(report any) {
	clocks, _ := report.(map[string]any)["clock"].([]any)
	clocks = slices.DeleteFunc(clocks, func(c any) bool { return c.(map[string]any)["pairs"] == 0.0 })
	report.(map[string]any)["clock"] = clocks
	for _, c := range clocks {
		for _, key := range []string{"process", "reference"} {
			c := c.(map[string]any)
			for proc, pid := range formatPIDs {
				if c[key] == "/profile/cb_profile-"+proc+".jsonl" {
					c[key] = fmt.Sprintf("node-7/%d", pid)
				}
			}
		}
	}
}

// fold adds what the spans cb.request have to llm_request, and their bound, engine, to the queue: a plugin without a line for cb.request leaves that time to
// its caller, which may then be the stage with the most time.
func fold(report any) {
	r := report.(map[string]any)
	path := r["critical_path"].(map[string]any)
	ttft := path["ttft"].(map[string]any)
	merge := func(in map[string]any, list, key, from, to string) {
		var kept []any
		var target map[string]any
		for _, e := range in[list].([]any) {
			if e := e.(map[string]any); e[key] == to {
				target = e
			}
		}
		for _, e := range in[list].([]any) {
			e := e.(map[string]any)
			if e[key] != from {
				kept = append(kept, e)
				continue
			}
			for _, field := range []string{"ns", "drag_ns", "critical_ns", "self_ns", "share", "critical_share"} {
				if n, ok := e[field].(float64); ok {
					target[field] = target[field].(float64) + n
				}
			}
		}
		for _, e := range kept { // shares are of floats that add up in another order
			e := e.(map[string]any)
			for _, field := range []string{"share", "critical_share"} {
				if n, ok := e[field].(float64); ok {
					e[field] = math.Round(n*1e9) / 1e9
				}
			}
		}
		in[list] = kept
	}
	for _, one := range r["slowest"].([]any) {
		delete(one.(map[string]any), "top_stage")
	}
	merge(r, "stages", "stage", "cb.request", "llm_request")
	for _, in := range []map[string]any{path, ttft} {
		merge(in, "by_stage", "stage", "cb.request", "llm_request")
		merge(in, "by_bound", "bound", "engine", "queue")
	}
}

// handWorked holds the report against what the shapes add up to, four of each (ms).
func handWorked(t *testing.T, report any) {
	t.Helper()
	const ms = 1e6
	for path, want := range map[string]float64{
		"requests.total":                         20,
		"requests.complete":                      20,
		"latency.max_ns":                         400 * ms,
		"latency.total_ns":                       4 * (400 + 200 + 300 + 260 + 350) * ms,
		"ttft.total_ns":                          4 * (300 + 150 + 250 + 200 + 300) * ms,
		"lookup.n":                               24,
		"lookup.totals.rpc_ns":                   4 * (90 + 20 + 60 + 20 + 2*20) * ms,
		"lookup.totals.submit_ns":                4 * 6 * ms,
		"lookup.totals.l2_load_ns":               4 * 50 * ms,
		"lookup.totals.server_other_ns":          4 * (4 + 5*6) * ms,
		"lookup.totals.poll_wait_ns":             4 * (35 + 13 + 53 + 13 + 2*13) * ms,
		"lookup.basis.measured":                  24,
		"hits.requested_tokens":                  4 * (2048 + 1024 + 1280 + 1024 + 1024),
		"hits.hit_tokens":                        4 * (1024 + 1024 + 512 + 512),
		"hits.written_tokens":                    4 * (1024 + 1024 + 512 + 512),
		"hits.classes.miss":                      4,
		"hits.classes.partial":                   16,
		"double_start_load_kv.partial_then_full": 4,
		"double_start_load_kv.requests":          4,
		"failed.retrieve":                        4,
		"critical_path.total_ns":                 4 * (400 + 200 + 300 + 260 + 350) * ms,
	} {
		have := report
		for key := range strings.SplitSeq(path, ".") {
			m, _ := have.(map[string]any)
			have = m[key]
		}
		if have != want {
			t.Errorf("%s: want %v, have %v", path, want, have)
		}
	}
}

func reportOf(t *testing.T, dir string) (v any) {
	t.Helper()
	if err := json.Unmarshal(printed(t, "report", "--format", "json", dir), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// A differ compares two documents, but for what is exempt.
type differ struct {
	t      *testing.T
	odd    bool
	exempt []exemption
	used   map[string]bool
}

// value compares what lies at a path. Elements of lists are called by what they are of: their order may hang on the last µs.
func (d *differ) value(at string, want, have any) {
	a, aMany := members(want)
	b, bMany := members(have)
	if aMany && bMany {
		for key := range b {
			if _, ok := a[key]; !ok {
				d.value(path.Join(at, key), nil, b[key])
			}
		}
		for key := range a {
			d.value(path.Join(at, key), a[key], b[key])
		}
		return
	}
	if d.same(at, want, have) {
		return
	}
	for _, e := range d.exempt {
		if e.odd && !d.odd {
			continue
		}
		for part := at; part != "."; part = path.Dir(part) {
			if ok, _ := path.Match(e.path, part); ok {
				d.used[e.path] = true
				return
			}
		}
	}
	d.t.Errorf("%s: want %v, have %v", at, want, have)
}

// members are the fields of an object, or the elements of a list by name.
func members(v any) (map[string]any, bool) {
	if m, ok := v.(map[string]any); ok {
		return m, true
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := map[string]any{}
	for i, e := range list {
		var words []string
		m, _ := e.(map[string]any)
		for _, key := range []string{"stage", "bound", "code", "id", "owner", "process", "reference", "from", "to", "by"} {
			if s, ok := m[key].(string); ok {
				words = append(words, strings.ReplaceAll(s, "/", ":"))
			}
		}
		if len(words) == 0 {
			words = []string{strconv.Itoa(i)}
		}
		out[strings.Join(words, " ")] = e
	}
	return out, true
}

func (d *differ) same(at string, want, have any) bool {
	x, ok := want.(float64)
	y, both := have.(float64)
	if !ok || !both || !d.odd {
		return fmt.Sprint(want) == fmt.Sprint(have)
	}
	switch name := path.Base(at); {
	case slices.Contains([]string{"ns", "total_ns", "self_ns", "critical_ns", "drag_ns"}, name), strings.HasPrefix(at, "lookup/totals/"):
		return math.Abs(x-y) <= cutSum
	case strings.HasSuffix(name, "_ns"):
		return math.Abs(x-y) <= cutOne
	case strings.HasSuffix(name, "share"), strings.HasSuffix(name, "_s"), strings.HasSuffix(name, "_gbps"), strings.HasSuffix(name, "mean"): // of durations
		return math.Abs(x-y) <= 1e-4*max(1, math.Abs(x))
	}
	return x == y
}
