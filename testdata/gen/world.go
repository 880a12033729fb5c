package main

import (
	"encoding/hex"
	"fmt"
	"math/bits"
)

// Times are ns since the epoch of Unix on the true clock; a process shows them on its own (process.clock).
const (
	us    int64 = 1_000
	ms    int64 = 1_000_000
	sec   int64 = 1_000_000_000
	epoch       = 1_764_432_000 * sec // 2025-11-29T16:00:00Z
)

const (
	chunk      = 256     // tokens
	tokenBytes = 131_072 // of keys and values
)

// A random is splitmix64: the same numbers everywhere.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// A world is the deployment while it runs.
type world struct {
	rng                  random
	unified, today, chat []*request
}

// between is a random number from lo to hi, hi left out.
func (w *world) between(lo, hi int64) int64 {
	n, _ := bits.Mul64(w.rng.next(), uint64(hi-lo))
	return lo + int64(n)
}

func (w *world) hex(bytes int) string {
	b := make([]byte, bytes)
	for i := range b {
		b[i] = byte(w.rng.next() >> 56)
	}
	return hex.EncodeToString(b)
}

// A process is one clock, and what it says of itself.
type process struct {
	service, instance, host string
	pid                     int
	offset                  int64 // of its clock at the epoch, ns
	drift                   int64 // ns per second
	float                   bool  // its times are seconds as floats: LMCache
}

// clock is an instant as the process writes it.
func (p *process) clock(t int64) int64 {
	t += p.offset + (t-epoch)/1000*p.drift/(sec/1000)
	if p.float {
		t = int64(float64(t) / 1e9 * 1e9)
	}
	return t
}

var (
	ragEngine    = &process{service: "vllm-rag", instance: "vllm-rag-api-0", host: "gpu-node-7", pid: 4100}
	ragScheduler = &process{service: "vllm-rag", instance: "vllm-rag-scheduler-0", host: "gpu-node-7", pid: 4242}
	ragWorkers   = [2]*process{
		{service: "vllm-rag", instance: "vllm-rag-worker-0", host: "gpu-node-7", pid: 4300},
		{service: "vllm-rag", instance: "vllm-rag-worker-1", host: "gpu-node-7", pid: 4301},
	}
	ragServer = &process{service: "lmcache", instance: "lmcache-rag-0", float: true}

	todayEngine    = &process{service: "vllm-rag", instance: "vllm-rag-api-1", host: "gpu-node-8", pid: 5100}
	todayScheduler = &process{host: "gpu-node-8", pid: 5242} // profile lines
	todayWorker    = &process{host: "gpu-node-8", pid: 5300} // profile lines
	todayServer    = &process{service: "unknown_service", instance: "lmcache-rag-1", float: true, offset: -31 * ms, drift: 12 * us}

	chatEngine = &process{service: "vllm-chat", instance: "vllm-chat-api-0", host: "gpu-node-9", pid: 6100}
	chatServer = &process{service: "lmcache", instance: "lmcache-chat-0", float: true}
)

const (
	ragModel  = "meta-llama/Llama-3.1-8B-Instruct"
	chatModel = "Qwen/Qwen3-8B"
)

// An attr is an attribute: a string, int, float64 or bool under a key.
type attr struct {
	key   string
	value any
}

// A span is one span of a request.
type span struct {
	proc              *process
	scope, name       string
	trace, id, parent string
	kind              int // OTLP's
	start, end        int64
	attrs             []attr
	failed            string // status ERROR with this message
}

// set adds attributes: pairs of keys and values.
func (s *span) set(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		s.attrs = append(s.attrs, attr{pairs[i].(string), pairs[i+1]})
	}
}

// say adds attributes as LMCache writes those of its child spans: as text, the way Python prints them.
func (s *span) say(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		v := pairs[i+1]
		if b, ok := v.(bool); ok {
			v = map[bool]string{true: "True", false: "False"}[b]
		}
		s.attrs = append(s.attrs, attr{pairs[i].(string), fmt.Sprint(v)})
	}
}

// A line is one line of CB_PROFILE.
type line struct {
	proc       *process
	name       string
	start, end int64
}

// A request is all that is recorded of one.
type request struct {
	w                  *world
	external, internal string
	model              string
	spans              []*span
	lines              []line
	jaeger             bool // its spans are in Jaeger's file

	chunks []string // hashes of the chunks that its lookup asked for
	calls  []call   // of the server's storage manager
}

func (w *world) request(model string) *request {
	r := &request{w: w, model: model, external: "chatcmpl-" + w.hex(8)}
	r.named(r.external)
	return r
}

// named gives the request another id.
func (r *request) named(external string) {
	r.external, r.internal = external, external+"-"+r.w.hex(4)
}

// span adds a span of a trace; parent is nil for one without.
func (r *request) span(p *process, scope, trace, name string, parent *span, start, end int64) *span {
	s := &span{proc: p, scope: scope, trace: trace, name: name, id: r.w.hex(8), kind: 1, start: start, end: end}
	if parent != nil {
		s.parent = parent.id
	}
	r.spans = append(r.spans, s)
	return s
}

func (r *request) line(p *process, name string, start, end int64) {
	r.lines = append(r.lines, line{p, name, start, end})
}

// decode is how long the tokens after the first take, and what is done when the last is there.
func (w *world) decode(tokens int) int64 {
	return int64(tokens-1)*w.between(7*ms, 9*ms) + w.between(150*us, 500*us)
}

// A timing is what llm_request says of the phases of a request.
type timing struct {
	arrived, scheduled, first, end int64
	prompt, cached, output         int
}

// engine adds the span that vLLM writes when a request is done.
func (r *request) engine(p *process, trace string, t timing) *span {
	s := r.span(p, "vllm.tracing.otel", trace, "llm_request", nil, t.arrived, t.end)
	s.kind = 2
	seconds := func(ns int64) float64 { return float64(ns) / 1e9 }
	s.set("gen_ai.request.id", r.external, "gen_ai.request.model", r.model, "gen_ai.request.max_tokens", 512, "gen_ai.request.n", 1,
		"gen_ai.usage.prompt_tokens", t.prompt, "gen_ai.usage.completion_tokens", t.output, "gen_ai.usage.cached_tokens", t.cached,
		"gen_ai.latency.time_in_queue", seconds(t.scheduled-t.arrived), "gen_ai.latency.time_to_first_token", seconds(t.first-t.arrived),
		"gen_ai.latency.time_in_model_prefill", seconds(t.first-t.scheduled), "gen_ai.latency.time_in_model_decode", seconds(t.end-t.first),
		"gen_ai.latency.e2e", seconds(t.end-t.arrived))
	return s
}
