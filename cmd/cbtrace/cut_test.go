package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// mixedCapture writes what cut has to keep together and apart: requests over several processes with clocks of their own, ids that normalise to one
// external id (n > 1), spans without a key, traces of two requests, traces without any, spans of no request, profile lines with and
// without a request, on clocks with and without an epoch, processes without an instance.
func mixedCapture(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out := map[string]*bytes.Buffer{}
	file := func(name string) *bytes.Buffer {
		if out[name] == nil {
			out[name] = new(bytes.Buffer)
		}
		return out[name]
	}
	const epoch = int64(1_764_432_000_000_000_000)
	spans := 0
	span := func(name, resource, scope, trace, stage, parent string, at, from, to int64, attrs ...string) string {
		spans++
		id := fmt.Sprintf("%016x", spans)
		var list []string
		for i := 0; i < len(attrs); i += 2 {
			list = append(list, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, attrs[i], attrs[i+1]))
		}
		fmt.Fprintf(file(name), `{"resourceSpans":[{"resource":{"attributes":[%s]},"scopeSpans":[{"scope":{"name":%q},"spans":[{"traceId":%q,"spanId":%q,"parentSpanId":%q,"name":%q,`+
			`"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[%s]}]}]}]}`+"\n", resource, scope, trace, id, parent, stage, at+from*1e6, at+to*1e6, strings.Join(list, ","))
		return id
	}
	instance := func(name string) string {
		return fmt.Sprintf(`{"key":"service.instance.id","value":{"stringValue":%q}},{"key":"process.pid","value":{"intValue":"4242"}}`, name)
	}
	plain := `{"key":"service.name","value":{"stringValue":"lmcache"}}`
	request := func(i int, id, external string) {
		at, trace := epoch+int64(i)*300e6, fmt.Sprintf("%032x", 1000+i)
		server := at + 7e6 // its clock is ahead
		if external != "" {
			span("engine.jsonl", instance("engine"), "vllm", fmt.Sprintf("%032x", 5000+i), "llm_request", "", at, -2, 120, "gen_ai.request.id", external, "gen_ai.latency.time_to_first_token", "0.05")
		}
		root := span("sched.jsonl", instance("sched"), "lmcache_cacheblend", trace, "cb.request", "", at, 0, 100, "request_id", id, "requested_tokens", "1024", "hit_tokens", fmt.Sprint(256*(i%5)))
		schedule := span("sched.jsonl", instance("sched"), "lmcache_cacheblend", trace, "cb.schedule", root, at, 1, 40)
		rpc := span("sched.jsonl", instance("sched"), "lmcache_cacheblend", trace, "cb.lookup.rpc", schedule, at, 2, 30+int64(i%3), "request_id", id)
		lookup := span("node1/server.jsonl", plain, "lmcache_mp.server", trace, "cb.lookup", rpc, server, 3, 29, "session_id", id)
		span("node1/server.jsonl", plain, "lmcache_mp.server", trace, "cb.l2_load", lookup, server, 5, 20)
		span("node1/server.jsonl", plain, "other", trace, "gateway.hop", schedule, at, 2, 3) // no key: the nearest ancestor's
		fmt.Fprintf(file("worker.jsonl"), `{"event":"slk.load","ts":%d.%09d,"dur_ms":4.5,"request_id":%q,"pid":77,"role":"worker","rank":%d}`+"\n", (at+50e6)/1e9, (at+50e6)%1e9, id, i%2)
		since := int64(i)*300 + 60 // ms, on a clock that began with the process
		fmt.Fprintf(file("mono.jsonl"), `{"event":"shim.wrapper.fwd","ts":%d.%03d,"dur_ms":20,"request_id":%q,"pid":4243}`+"\n", 500+since/1000, since%1000, id)
		fmt.Fprintf(file("mono.jsonl"), `{"event":"flex.check","ts":%d.%03d,"dur_ms":5,"request_id":%q,"pid":4243}`+"\n", 500+(since+4)/1000, (since+4)%1000, id)
		span("worker-spans.jsonl", instance("worker"), "vllm", trace, "cb.model_forward", root, at, 60, 80, "request_id", id)
		fmt.Fprintf(file("ticks.jsonl"), `{"event":"cb_admission_check","ts":%d.5,"request_id":%q,"pid":4242}`+"\n", 7+i, id) // of a unit that nobody knows
	}
	for i := range 30 {
		request(i, fmt.Sprintf("chat-%02d", i), "")
	}
	for i := range 8 {
		external := fmt.Sprintf("cmpl-%d", i)
		request(40+2*i, fmt.Sprintf("0_%s-%08x", external, i+1), external)
		request(41+2*i, fmt.Sprintf("1_%s-%08x", external, i+100), "")
		request(60+i, fmt.Sprintf("job-%d-%08x", i, i), fmt.Sprintf("job-%d", i)) // one that fits alone
	}
	for i := range 10 { // a trace of two requests with a span of neither, and traces without any key
		trace := fmt.Sprintf("%032x", 7000+i)
		a := span("sched.jsonl", instance("sched"), "lmcache_cacheblend", trace, "cb.schedule", "", epoch+int64(i)*300e6, 1, 40, "request_id", fmt.Sprintf("chat-%02d", i))
		span("sched.jsonl", instance("sched"), "lmcache_cacheblend", trace, "cb.build_meta", "", epoch+int64(i)*300e6, 41, 45, "request_id", fmt.Sprintf("chat-%02d", i+10))
		span("sched.jsonl", instance("sched"), "other", trace, "no.key", a, epoch+int64(i)*300e6, 2, 3)
		span("web.jsonl", plain, "web", fmt.Sprintf("%032x", 8000+i), "GET /v1/models", "", epoch+int64(i)*400e6, 0, 5)
		span("web.jsonl", plain, "web", fmt.Sprintf("%032x", 8000+i), "mp.store", "", epoch+int64(i)*400e6, 0, 5)
		span("node1/server.jsonl", plain, "lmcache_mp.server", fmt.Sprintf("%032x", 9000+i), "cb.lookup", "", epoch+int64(i)*400e6, 0, 5, "session_id", "")
		fmt.Fprintf(file("worker.jsonl"), `{"event":"engine.step","ts":%d,"dur_ms":4.5,"pid":77}`+"\n"+`{"event":"kv.used","ts":%d,"value":%d}`+"\n", epoch/1e9+int64(i), epoch/1e9+int64(i), i)
	}
	for name, b := range out {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// addRecording puts a recording beside the spans.
func addRecording(t *testing.T, dir string) {
	t.Helper()
	lct := read(t, filepath.Join("..", "..", "testdata", "lct", "lct-schema2.lct"))
	if err := os.WriteFile(filepath.Join(dir, "day.lct"), lct, 0o666); err != nil {
		t.Fatal(err)
	}
}

// output runs the program in this process; it must end with status 0.
func output(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	t.Setenv("CBTRACE_INPUT", "")
	var out, errs bytes.Buffer
	if status := run(args, strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("%s: status %d: %s", strings.Join(args, " "), status, errs.String())
	}
	return out.String(), errs.String()
}

// read is a file's content.
func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// R2.6: reports of shards that were made with one survey table merge, to the byte, to the report of one run over the shards, which is that of the
// capture but for its inputs.
func TestCutAndMerge(t *testing.T) {
	capture := mixedCapture(t)
	before, _ := output(t, "report", "-q", "--format", "json", "--no-skew", capture)
	addRecording(t, capture) // which joins no request of a capture that was cut
	for _, n := range []int{2, 3, 7} {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		_, said := output(t, "cut", "--shards", fmt.Sprint(n), at("cut"), capture)
		if !strings.Contains(said, fmt.Sprintf("into %d shards", n)) {
			t.Errorf("it says %q", said)
		}
		shards, err := filepath.Glob(at("cut/*"))
		if err != nil || len(shards) != n {
			t.Fatalf("shards %q, %v", shards, err)
		}
		output(t, append([]string{"report", "-q", "--survey-out", at("survey"), "--save", at("whole.cbr")}, shards...)...)
		merge := []string{"merge", "--save", at("merged.cbr")}
		for k := range n {
			saved := at(fmt.Sprint(n-k, ".cbr"))
			output(t, "report", "-q", "--survey", at("survey"), "--save", saved, at(fmt.Sprint("cut/shard-", k)))
			merge = append(merge, saved)
		}
		if _, said := output(t, merge...); said != "" {
			t.Errorf("%d shards: merge says %q", n, said)
		}
		if !bytes.Equal(read(t, at("merged.cbr")), read(t, at("whole.cbr"))) {
			merged, _ := output(t, "report", "-q", "--format", "json", at("merged.cbr"))
			whole, _ := output(t, "report", "-q", "--format", "json", at("whole.cbr"))
			t.Errorf("%d shards merge to another report:\n%s", n, difference(merged, whole))
		}
		after, _ := output(t, append([]string{"report", "-q", "--format", "json", "--no-skew"}, shards...)...)
		if d := difference(after, before, "inputs", "quality"); d != "" {
			t.Errorf("%d shards are another capture:\n%s", n, d)
		}
		if lct, err := filepath.Glob(at("cut/shard-*/day.lct")); err != nil || len(lct) != 1 || !bytes.Equal(read(t, lct[0]), read(t, filepath.Join(capture, "day.lct"))) {
			t.Errorf("the recording is in %q", lct)
		}
	}
}

// difference names the fields in which two reports differ, some left out.
func difference(a, b string, but ...string) string {
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return "no JSON"
	}
	out := ""
	for k := range x {
		if !slices.Contains(but, k) && !reflect.DeepEqual(x[k], y[k]) {
			out += fmt.Sprintf("%s: %.300v\nwant %.300v\n", k, x[k], y[k])
		}
	}
	return out
}

// The same records go into the same shards however much memory and how many workers there are, and shards can be cut again.
func TestCutIsStable(t *testing.T) {
	capture := mixedCapture(t)
	dir := t.TempDir()
	output(t, "cut", "--shards", "3", filepath.Join(dir, "a"), capture)
	output(t, "cut", "--shards", "3", "--memory", "64KiB", "--jobs", "1", "--quiet", filepath.Join(dir, "b"), capture)
	a, b := linesBelow(t, filepath.Join(dir, "a")), linesBelow(t, filepath.Join(dir, "b"))
	if !reflect.DeepEqual(a, b) {
		t.Error("with little memory the shards are others")
	}
	output(t, "cut", "--shards", "3", "--quiet", filepath.Join(dir, "again"), filepath.Join(dir, "a", "shard-0"), filepath.Join(dir, "a", "shard-1"), filepath.Join(dir, "a", "shard-2"))
	before, _ := output(t, "report", "-q", "--format", "json", "--no-skew", filepath.Join(dir, "a"))
	after, _ := output(t, "report", "-q", "--format", "json", "--no-skew", filepath.Join(dir, "again"))
	if d := difference(after, before, "inputs"); d != "" {
		t.Errorf("cut again it is another capture:\n%s", d)
	}
}

// linesBelow are the lines of the files below a folder, sorted.
func linesBelow(t *testing.T, dir string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(dir, path)
			for _, line := range strings.Split(string(read(t, path)), "\n") {
				for _, s := range strings.SplitAfter(line, `}]}`) { // spans share lines as they come
					out[name] = append(out[name], strings.TrimPrefix(s, ","))
				}
			}
			slices.Sort(out[name])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
