package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The shapes of requests: indented trees of name, process, start and end in ms and attributes. polls= are the instants of poll lines, the last of which
// ends with the call. The server's spans have their true times here; its clock is 7 ms ahead. Each cb.lookup lies 1 ms inside its call on both
// sides, and no other pair is as narrow, so that the offset is known to be 7 ms exactly.
var formatShapes = []string{
	// 90 ms of lookup: 1 submit, 50 from L2, 4 other (1.5 + 0.8 in leaves, 1.2 + 0.5 before the last leaf), 35 waiting for the poll
	`llm_request engine 0 400 queue=0.105 ttft=0.3 prefill=0.195
  cb.request sched 2 300 requested_tokens=2048 hit_tokens=1024 prefix_hit_tokens=512 segmented_prefix_hit_tokens=0 non_prefix_hit_tokens=512
    cb.schedule sched 4 104
      cb_admission_check sched 4.1 4.2
      cb.lookup.rpc sched 5 95 polls=50,94.9
        cb.lookup server 6 94 requested_tokens=2048 hit_tokens=1024 prefix_hit_tokens=512 segmented_prefix_hit_tokens=0 non_prefix_hit_tokens=512
          cb.fingerprint_match server 6.5 8 matches=2 n_probes=64
          cb.prefix_lookup server 8.2 9
          cb.sparse_prefetch server 9.5 93.9 n_keys=4 l2_keys=4
            cb.l2_load server 10 60 bytes=134217728 chunks=4
      cb.build_meta sched 97 98
    cb.execute worker0 110 280
      shim.wrapper.prepare worker0 110 112
      cb.start_load_kv worker0 115 140
        cb.retrieve server 117 138 num_chunks=4 success=True
          cb.scatter server 118 136 scattered_tokens=1024 n_prefix=2 n_shifted=2
      cb.model_forward worker0 145 280
        cb.full_recomp worker0 146 150
        cb.check worker0 151 152
        cb.partial worker0 153 279`,
	// 20 ms without L2: 1 submit, 6 other (4.8 in leaves, 1.2 between), 13 waiting; nothing found, nothing loaded
	`llm_request engine 0 200 queue=0.035 ttft=0.15 prefill=0.115
  cb.request sched 2 150 requested_tokens=1024 hit_tokens=0 prefix_hit_tokens=0 segmented_prefix_hit_tokens=0 non_prefix_hit_tokens=0
    cb.schedule sched 4 34
      cb.lookup.rpc sched 5 25 polls=15,24.9
        cb.lookup server 6 24 requested_tokens=1024 hit_tokens=0 prefix_hit_tokens=0 segmented_prefix_hit_tokens=0 non_prefix_hit_tokens=0
          cb.fingerprint_match server 6.5 8 matches=0 n_probes=32
          cb.prefix_lookup server 8.2 9
          cb.classify server 9.5 12 found=0 stale=0
      cb.build_meta sched 27 28
    cb.execute worker0 40 140
      shim.wrapper.prepare worker0 40 42
      cb.model_forward worker0 45 140
        cb.full_recomp worker0 46 139`,
	// 60 ms, answered after 7 and asked for late: 1 submit, 6 other, 53 waiting; two passes, partial then full, and a store that outlives the window
	`llm_request engine 0 300 queue=0.085 ttft=0.25 prefill=0.165
  cb.request sched 2 250 requested_tokens=1280 hit_tokens=1024 prefix_hit_tokens=768 segmented_prefix_hit_tokens=256 non_prefix_hit_tokens=0
    cb.schedule sched 4 74
      cb.lookup.rpc sched 5 65 polls=10,64.9
        cb.lookup server 6 64 requested_tokens=1280 hit_tokens=1024 prefix_hit_tokens=768 segmented_prefix_hit_tokens=256 non_prefix_hit_tokens=0
          cb.fingerprint_match server 6.5 8 matches=1 n_probes=40
          cb.prefix_lookup server 8.2 9
          cb.classify server 9.5 12 found=1 stale=0
      cb.build_meta sched 67 68
    cb.execute worker0 90 240
      shim.wrapper.prepare worker0 90 92
      cb.start_load_kv worker0 95 105
        cb.retrieve server 97 103 num_chunks=1 success=True
          cb.scatter server 98 101 scattered_tokens=256 n_prefix=1 n_shifted=0
      cb.start_load_kv worker0 110 130
        cb.retrieve server 112 128 num_chunks=3 success=True
          cb.scatter server 113 126 scattered_tokens=768 n_prefix=3 n_shifted=0
      cb.model_forward worker0 135 240
        cb.full_recomp worker0 136 140
        cb.check worker0 141 142
        cb.partial worker0 143 239
    cb.store_final server 301 450 num_tokens=256`,
	// two ranks, one of which cannot load
	`llm_request engine 0 260 queue=0.045 ttft=0.2 prefill=0.155
  cb.request sched 2 200 requested_tokens=1024 hit_tokens=512 prefix_hit_tokens=512 segmented_prefix_hit_tokens=0 non_prefix_hit_tokens=0 world_size=2
    cb.schedule sched 4 34
      cb.lookup.rpc sched 5 25 polls=15,24.9
        cb.lookup server 6 24 requested_tokens=1024 hit_tokens=512 prefix_hit_tokens=512 segmented_prefix_hit_tokens=0 non_prefix_hit_tokens=0
          cb.fingerprint_match server 6.5 8 matches=0 n_probes=32
          cb.prefix_lookup server 8.2 9
          cb.classify server 9.5 12 found=0 stale=0
      cb.build_meta sched 27 28
    cb.execute worker0 50 180
      shim.wrapper.prepare worker0 50 52
      cb.start_load_kv worker0 55 80
        cb.retrieve server 57 78 num_chunks=2 success=True
          cb.scatter server 58 76 scattered_tokens=512 n_prefix=2 n_shifted=0
      cb.model_forward worker0 85 180
        cb.full_recomp worker0 86 90
        cb.check worker0 91 92
        cb.partial worker0 93 179
    cb.execute worker1 51 190
      shim.wrapper.prepare worker1 51 53
      cb.start_load_kv worker1 56 70
        cb.retrieve server 58 68 num_chunks=2 success=False
      cb.model_forward worker1 75 190
        cb.full_recomp worker1 76 80
        cb.check worker1 81 82
        cb.partial worker1 83 189`,
	// preempted after its pass: looked up and loaded again
	`llm_request engine 0 350 queue=0.045 ttft=0.3 prefill=0.255
  cb.request sched 2 300 requested_tokens=1024 hit_tokens=512 prefix_hit_tokens=512 segmented_prefix_hit_tokens=0 non_prefix_hit_tokens=0
    cb.schedule sched 4 34
      cb.lookup.rpc sched 5 25 polls=15,24.9
        cb.lookup server 6 24 requested_tokens=1024 hit_tokens=512 prefix_hit_tokens=512 segmented_prefix_hit_tokens=0 non_prefix_hit_tokens=0
          cb.fingerprint_match server 6.5 8 matches=0 n_probes=32
          cb.prefix_lookup server 8.2 9
          cb.classify server 9.5 12 found=0 stale=0
      cb.build_meta sched 27 28
    cb.execute worker0 50 95
      shim.wrapper.prepare worker0 50 52
      cb.start_load_kv worker0 55 88
        cb.retrieve server 57 86 num_chunks=2 success=True
          cb.scatter server 58 84 scattered_tokens=512 n_prefix=2 n_shifted=0
      cb.model_forward worker0 91 95
    cb.schedule sched 104 134
      cb.lookup.rpc sched 105 125 polls=115,124.9
        cb.lookup server 106 124 requested_tokens=1024 hit_tokens=512 prefix_hit_tokens=512 segmented_prefix_hit_tokens=0 non_prefix_hit_tokens=0
          cb.fingerprint_match server 106.5 108 matches=0 n_probes=32
          cb.prefix_lookup server 108.2 109
          cb.classify server 109.5 112 found=0 stale=0
      cb.build_meta sched 127 128
    cb.execute worker0 150 290
      shim.wrapper.prepare worker0 150 152
      cb.start_load_kv worker0 155 190
        cb.retrieve server 157 188 num_chunks=2 success=True
          cb.scatter server 158 186 scattered_tokens=512 n_prefix=2 n_shifted=0
      cb.model_forward worker0 195 290
        cb.full_recomp worker0 196 200
        cb.check worker0 201 202
        cb.partial worker0 203 289`,
}

const (
	formatCopies = 4 // of each shape
	formatEpoch  = int64(1_764_432_000_000_000_000)
)

// A formatSpan is a span of the capture, its times ns on the true clock.
type formatSpan struct {
	request      int
	id, parent   string
	up           *formatSpan
	name, proc   string
	start, end   int64
	attrs        [][2]string
	polls        []int64
	internal, ex string
}

type formatCapture []*formatSpan

// formatsCapture makes the capture of the shapes; odd: with times that are no whole µs.
func formatsCapture(t *testing.T, odd bool) (c formatCapture) {
	t.Helper()
	for n := range formatCopies * len(formatShapes) {
		at := formatEpoch + int64(n)*2_000_000_000 + 250_000_000
		type level struct {
			indent int
			span   *formatSpan
		}
		var open []level
		external := fmt.Sprintf("chatcmpl-%04d", n)
		for line := range strings.Lines(formatShapes[n%len(formatShapes)]) {
			trimmed := strings.TrimLeft(line, " ")
			indent, words := len(line)-len(trimmed), strings.Fields(trimmed)
			instant := func(text string, salt int64) int64 {
				f, err := strconv.ParseFloat(text, 64)
				if err != nil {
					t.Fatal(err)
				}
				ns := at + int64(math.Round(f*1000))*1000
				if odd {
					ns += (int64(len(c))*137 + salt) % 1000
				}
				return ns
			}
			s := &formatSpan{request: n, id: fmt.Sprintf("%016x", len(c)+1), name: words[0], proc: words[1], start: instant(words[2], 11), end: instant(words[3], 523), ex: external, internal: fmt.Sprintf("%s-%08x", external, n+1)}
			for _, w := range words[4:] {
				key, value, _ := strings.Cut(w, "=")
				if key == "polls" {
					for p := range strings.SplitSeq(value, ",") {
						s.polls = append(s.polls, instant(p, 0))
					}
					key, value = "n_polls", strconv.Itoa(len(s.polls))
				}
				s.attrs = append(s.attrs, [2]string{key, value})
			}
			for len(open) > 0 && open[len(open)-1].indent >= indent {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				s.up = open[len(open)-1].span
				s.parent = s.up.id
			}
			open = append(open, level{indent, s})
			switch {
			case s.proc == "server":
				s.attrs = append(s.attrs, [2]string{"session_id", s.internal})
				if w := s.up.worker(); w != "" && (s.name == "cb.retrieve" || s.name == "cb.scatter") {
					s.attrs = append(s.attrs, [2]string{"worker_id", w})
				}
				s.start, s.end = s.start+7_000_000, s.end+7_000_000
			case s.proc == "engine":
				s.attrs = append(s.attrs, [2]string{"gen_ai.request.id", external})
			default:
				s.attrs = append(s.attrs, [2]string{"request_id", s.internal})
			}
			c = append(c, s)
		}
	}
	return c
}

// worker is the rank whose work a span, or what it was asked by, is.
func (s *formatSpan) worker() string {
	for ; s != nil; s = s.up {
		if rank, ok := strings.CutPrefix(s.proc, "worker"); ok {
			return rank
		}
	}
	return ""
}

// attributes are those of a span under the names that exporters give them.
func (s *formatSpan) attributes() (out [][2]string) {
	for _, a := range s.attrs {
		switch a[0] {
		case "queue":
			a[0] = "gen_ai.latency.time_in_queue"
		case "ttft":
			a[0] = "gen_ai.latency.time_to_first_token"
		case "prefill":
			a[0] = "gen_ai.latency.time_in_model_prefill"
		}
		out = append(out, a)
	}
	if rank, ok := strings.CutPrefix(s.proc, "worker"); ok {
		out = append(out, [2]string{"worker_id", rank})
	}
	return out
}

func (s *formatSpan) scope() string {
	switch s.proc {
	case "server":
		return "lmcache_mp.blend"
	case "engine":
		return "vllm.tracing"
	}
	return "lmcache_cacheblend"
}

// resource is what the process of a span says of itself.
func (s *formatSpan) resource() [][2]string {
	switch s.proc {
	case "server", "engine":
		return [][2]string{{"service.name", s.proc}, {"service.instance.id", s.proc + "-0"}}
	}
	return [][2]string{{"service.name", "vllm"}, {"host.name", "node-7"}, {"process.pid", strconv.Itoa(s.pid())}}
}

var formatPIDs = map[string]int{"sched": 4242, "worker0": 4300, "worker1": 4301}

func (s *formatSpan) pid() int { return formatPIDs[s.proc] }

func (s *formatSpan) trace() string { return fmt.Sprintf("%032x", s.request+1) }

// otlp writes the spans of the capture as the collector does; without clients only those of the engine and of the server, which has no parents to name then.
func (c formatCapture) otlp(t *testing.T, clients bool) string {
	t.Helper()
	dir, files := t.TempDir(), map[string]*bytes.Buffer{}
	for _, s := range c {
		parent := s.parent
		if !clients && s.proc == "server" && s.up.proc != "server" {
			parent = ""
		}
		if !clients && s.pid() != 0 {
			continue
		}
		var res, attrs []string
		for _, a := range s.resource() {
			res = append(res, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, a[0], a[1]))
		}
		for _, a := range s.attributes() {
			attrs = append(attrs, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, a[0], a[1]))
		}
		if files[s.proc] == nil {
			files[s.proc] = new(bytes.Buffer)
		}
		fmt.Fprintf(files[s.proc], `{"resourceSpans":[{"resource":{"attributes":[%s]},"scopeSpans":[{"scope":{"name":%q},"spans":[{"traceId":%q,"spanId":%q,"parentSpanId":%q,"name":%q,`+
			`"kind":1,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[%s]}]}]}]}`+"\n", strings.Join(res, ","), s.scope(), s.trace(), s.id, parent, s.name, s.start, s.end, strings.Join(attrs, ","))
	}
	for proc, b := range files {
		write(t, filepath.Join(dir, proc+".jsonl"), b.Bytes())
	}
	return dir
}

// jaeger writes the capture as Jaeger's page does: starts and durations in µs, cut.
func (c formatCapture) jaeger(t *testing.T) string {
	t.Helper()
	type object = map[string]any
	tags := func(attrs [][2]string) (out []object) {
		for _, a := range attrs {
			out = append(out, object{"key": a[0], "type": "string", "value": a[1]})
		}
		return out
	}
	traces := map[string]object{}
	var data []object
	for _, s := range c {
		trace := traces[s.trace()]
		if trace == nil {
			trace = object{"traceID": s.trace(), "processes": object{}, "spans": []object{}}
			traces[s.trace()] = trace
			data = append(data, trace)
		}
		res := s.resource()
		trace["processes"].(object)[s.proc] = object{"serviceName": res[0][1], "tags": tags(res[1:])}
		span := object{"traceID": s.trace(), "spanID": s.id, "operationName": s.name, "processID": s.proc, "startTime": s.start / 1000, "duration": (s.end - s.start) / 1000,
			"tags": append(tags(s.attributes()), object{"key": "otel.scope.name", "type": "string", "value": s.scope()})}
		if s.parent != "" {
			span["references"] = []object{{"refType": "CHILD_OF", "traceID": s.trace(), "spanID": s.parent}}
		}
		trace["spans"] = append(trace["spans"].([]object), span)
	}
	b, err := json.Marshal(object{"data": data})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "traces.json"), b)
	return dir
}

// lines writes the capture with its scheduler and workers as profile lines: the scheduler's in whole µs, the workers' in seconds with six decimals and in ms
// with three. all: also those that the plugin does not have, cb.request and cb.execute, by their own names.
func (c formatCapture) lines(t *testing.T, all bool) string {
	t.Helper()
	dir, files := c.otlp(t, false), map[string]*bytes.Buffer{}
	for _, s := range c {
		if s.pid() == 0 {
			continue
		}
		if files[s.proc] == nil {
			files[s.proc] = new(bytes.Buffer)
		}
		line := func(name string, start, end int64, attrs ...[2]string) {
			from, dur := start/1000, (end-start)/1000
			when := fmt.Sprintf(`"ts":%d,"dur_us":%d,"role":"scheduler"`, from, dur)
			if rank := s.worker(); rank != "" {
				when = fmt.Sprintf(`"start_ts":%d.%06d,"duration_ms":%d.%03d,"role":"worker","rank":%s`, from/1e6, from%1e6, dur/1e3, dur%1e3, rank)
			}
			for _, a := range attrs {
				when += fmt.Sprintf(`,%q:%q`, a[0], a[1])
			}
			fmt.Fprintf(files[s.proc], `{"name":%q,%s,"request_id":%q,"pid":%d}`+"\n", name, when, s.internal, s.pid())
		}
		switch s.name {
		case "cb.schedule": // one around the submit, one at each step until its work is done
			submit := s.start
			for _, o := range c {
				if o.up == s && o.name == "cb.lookup.rpc" {
					submit = o.start
				}
			}
			line("sched.gnnmt", s.start, submit+200_000)
			line("sched.gnnmt", s.end-500_000, s.end)
		case "cb.lookup.rpc":
			line("gnnmt.cb_unified_submit", s.start, s.start+150_000)
			for i, p := range s.polls {
				end := p + 60_000
				if i == len(s.polls)-1 {
					end = s.end
				}
				line("gnnmt.cb_unified_poll", p, end)
			}
		case "cb.start_load_kv":
			line("slk.load", s.start, s.start+2_000_000)
			line("slk.wait", s.start+2_000_000, s.end)
		case "cb.request", "cb.execute":
			if all {
				line(s.name, s.start, s.end, s.attrs...)
			}
		default:
			line(map[string]string{"cb.build_meta": "sched.build_meta", "cb_admission_check": "cb_admission_check", "shim.wrapper.prepare": "shim.wrapper.prepare",
				"cb.model_forward": "shim.wrapper.fwd", "cb.full_recomp": "flex.full_recomp", "cb.check": "flex.check", "cb.partial": "flex.partial"}[s.name], s.start, s.end)
		}
	}
	for proc, b := range files {
		write(t, filepath.Join(dir, "profile", "cb_profile-"+proc+".jsonl"), b.Bytes())
	}
	return dir
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}
