package main

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// A day is what the requests follow from.
type day struct {
	seed     uint64
	requests int
}

// begin is the first instant of the day, the length that of the day, both in ns.
const (
	begin  = 1_764_547_200_000_000_000
	length = 86_400_000_000_000
)

const (
	ms = 1_000_000
	us = 1_000
)

// Processes: engines with their scheduler and a worker each, and servers. A process writes to one file of the pair.
const (
	instances = 3
	ranks     = 1
	servers   = 2

	schedulerAt = 0
	workerAt    = schedulerAt + instances
	serverAt    = workerAt + instances*ranks
	processes   = serverAt + servers
)

// skew is what the clock of a process shows too much at an instant, ns.
func skew(process int, at int64) int64 {
	switch {
	case process >= serverAt:
		return int64(process-serverAt+1)*37*ms + (at-begin)/200_000 // 5 ppm
	case process >= workerAt:
		return -4*ms + int64(process)*100*us
	}
	return 0
}

// A span is one span before it is encoded; times are true, clocks are added when it is written.
type span struct {
	process    int
	trace      [16]byte
	id, parent [8]byte
	name       string
	scope      string
	kind       int32
	start, end int64
	attrs      []attr
	unread     bool // it has an attribute that nobody reads
}

type attr struct {
	key  string
	text string // written as text where it is not empty
	n    int64
	f    float64 // written where n is 0 and text empty and isFloat
	kind byte    // 's', 'i', 'f'
}

func text(k, v string) attr          { return attr{key: k, text: v, kind: 's'} }
func whole(k string, n int64) attr   { return attr{key: k, n: n, kind: 'i'} }
func float(k string, f float64) attr { return attr{key: k, f: f, kind: 'f'} }

// number is how LMCache servers write numbers: as text.
func number(k string, n int64) attr { return text(k, fmt.Sprint(n)) }

// A request is one request of the day.
type request struct {
	id        string
	spans     []span
	latency   int64
	requested int64
	hit       int64
	straggler bool // its server spans come a file later
}

// request makes request i, the same one every time.
func (d *day) request(i int) *request {
	r := rand.New(rand.NewPCG(d.seed, uint64(i)))
	hex := func(n int) string { return fmt.Sprintf("%0*x", n, r.Uint64()>>(64-4*n)) }
	between := func(lo, hi int64) int64 { return lo + r.Int64N(hi-lo) }
	external := "chatcmpl-" + hex(16)
	q := &request{id: external + "-" + hex(8), straggler: r.IntN(100) == 0}
	engine := r.IntN(instances)
	server := serverAt + r.IntN(servers)
	rank := r.IntN(ranks)
	worker := workerAt + engine*ranks + rank
	scheduler := schedulerAt + engine

	var traces [3][16]byte
	for t := range traces {
		for b := range traces[t] {
			traces[t][b] = byte(r.Uint32())
		}
		traces[t][0] |= 1
	}
	pod := hex(8) + "-" + hex(4) + "-" + hex(4) + "-" + hex(4) + "-" + hex(12)
	add := func(process, trace int, parent int, scope, name string, kind int32, start, end int64, attrs ...attr) int {
		s := span{process: process, trace: traces[trace], name: name, scope: scope, kind: kind, start: start, end: end, attrs: attrs}
		for b := range s.id {
			s.id[b] = byte(r.Uint32())
		}
		s.id[0] |= 1
		if parent >= 0 {
			s.parent = q.spans[parent].id
		}
		if trace > 0 { // the front end's exporter does not add it
			s.attrs = append(s.attrs, text("k8s.pod.uid", pod)) // nobody reads it
			s.unread = true
		}
		q.spans = append(q.spans, s)
		return len(q.spans) - 1
	}
	const (
		scopeEngine = "vllm.llm_engine"
		scopeBlend  = "lmcache_cacheblend"
		scopeServer = "lmcache_mp.blend"
		model       = "meta-llama/Llama-3.1-8B-Instruct"
	)
	session, own := text("session_id", q.id), text("request_id", q.id)

	// Amounts.
	chunks := between(8, 48)
	q.requested = chunks * 256
	hits := int64(0)
	if r.IntN(4) > 0 {
		hits = between(1, chunks+1)
	}
	prefix := hits / 3
	rate := func(n int64) float64 { return float64(n) / float64(chunks) }
	q.hit = hits * 256

	// The times of the steps.
	t0 := begin + int64(float64(length)*(float64(i)+r.Float64())/float64(d.requests))
	queue := between(1*ms, 20*ms)
	match := between(400*us, 2*ms)
	l2 := int64(0)
	if hits > 0 {
		l2 = int64(8 * ms * math.Exp(r.NormFloat64()*0.6))
	}
	poll := between(200*us, 6*ms)
	load := hits * between(200*us, 400*us)
	forward := between(20*ms, 90*ms)
	decode := between(200*ms, 3000*ms)

	schedule := t0 + queue
	rpc := schedule + 150*us
	lookup := rpc + 120*us
	prefetch := lookup + 50*us + match
	classify := prefetch + 100*us + l2 + 80*us
	answered := classify + 160*us
	rpcEnd := answered + poll
	scheduled := rpcEnd + 400*us
	execute := scheduled + 250*us
	passEnd := execute + 300*us + load
	forwardEnd := passEnd + 100*us + forward
	executeEnd := forwardEnd + 200*us
	first := executeEnd + 300*us
	end := first + decode
	q.latency = end - t0

	add(scheduler, 0, -1, scopeEngine, "llm_request", 2, t0, end, text("gen_ai.request.id", external), text("gen_ai.request.model", model),
		whole("gen_ai.usage.prompt_tokens", q.requested+between(1, 255)), whole("gen_ai.usage.completion_tokens", decode/(20*ms)),
		float("gen_ai.latency.time_in_queue", float64(queue)/1e9), float("gen_ai.latency.time_to_first_token", float64(first-t0)/1e9),
		float("gen_ai.latency.e2e", float64(q.latency)/1e9), float("gen_ai.latency.time_in_model_prefill", float64(first-scheduled)/1e9),
		float("gen_ai.latency.time_in_model_decode", float64(decode)/1e9), float("gen_ai.latency.time_in_model_inference", float64(end-scheduled)/1e9), whole("gen_ai.request.max_tokens", 512), whole("gen_ai.request.n", 1),
		float("gen_ai.request.temperature", 0.7), float("gen_ai.request.top_p", 0.95))
	root := add(scheduler, 1, -1, scopeBlend, "cb.request", 1, schedule-100*us, first-50*us, own, text("model", model), whole("world_size", ranks),
		whole("n_prompt_tokens", q.requested+17), whole("hit_tokens", q.hit), whole("requested_tokens", q.requested), whole("prefix_hit_tokens", prefix*256),
		whole("non_prefix_hit_tokens", (hits-prefix)*256), float("hit_rate", rate(hits)))
	step := add(scheduler, 1, root, scopeBlend, "cb.schedule", 1, schedule, scheduled, own)
	add(scheduler, 1, step, scopeBlend, "cb.lookup.rpc", 3, rpc, rpcEnd, own, whole("n_polls", 1+(rpcEnd-rpc)/(5*ms)))
	add(scheduler, 1, step, scopeBlend, "cb.build_meta", 1, rpcEnd+50*us, scheduled-50*us, own)
	pass := add(worker, 1, root, scopeBlend, "cb.execute", 1, execute, executeEnd, own, whole("worker_id", int64(rank)))
	if hits > 0 {
		add(worker, 1, pass, scopeBlend, "cb.start_load_kv", 3, execute+50*us, passEnd, own, whole("worker_id", int64(rank)))
	}
	run := add(worker, 1, pass, scopeBlend, "cb.model_forward", 1, passEnd+100*us, forwardEnd, own)
	add(worker, 1, run, scopeBlend, "cb.check", 1, passEnd+200*us, passEnd+900*us, own, whole("imp_count", hits*38), float("recomp_ratio", 0.15))
	add(worker, 1, run, scopeBlend, "cb.partial", 1, passEnd+1000*us, forwardEnd-1*ms, own, text("dispatch", "flex"))

	envelope := add(server, 2, -1, scopeServer, "cb.request", 1, lookup-30*us, passEnd+400*us, session, whole("hit_tokens", q.hit), whole("requested_tokens", q.requested),
		float("hit_rate", rate(hits)), whole("prefix_hits", prefix), whole("prefix_hit_tokens", prefix*256), whole("segmented_prefix_hit_tokens", 0), whole("non_prefix_hit_tokens", (hits-prefix)*256),
		float("prefix_hit_rate", rate(prefix)), float("segmented_prefix_hit_rate", 0), float("non_prefix_hit_rate", rate(hits-prefix)))
	find := add(server, 2, envelope, scopeServer, "cb.lookup", 1, lookup, rpcEnd-60*us, session, number("num_tokens", q.requested+17), number("fingerprint_hits", hits),
		number("prefix_hits", prefix), number("prefix_chunks", prefix), number("storage_hits", hits), number("stale_chunks", 0), text("no_gpu_context", "False"), number("hit_tokens", q.hit),
		number("requested_tokens", q.requested), number("prefix_hit_tokens", prefix*256), number("segmented_prefix_hit_tokens", 0),
		number("non_prefix_hit_tokens", (hits-prefix)*256))
	add(server, 2, find, scopeServer, "cb.fingerprint_match", 1, lookup+20*us, lookup+20*us+match, session, number("matches", hits))
	fetch := add(server, 2, find, scopeServer, "cb.sparse_prefetch", 1, prefetch, rpcEnd-80*us, session, number("n_chunks", hits), number("world_size", ranks),
		number("n_keys", hits*ranks), number("l2_keys", hits*ranks), number("found_keys", hits*ranks))
	if hits > 0 {
		add(server, 2, fetch, scopeServer, "cb.l2_load", 1, prefetch+100*us, prefetch+100*us+l2, session, number("chunks", hits), number("bytes", hits*33554432))
	}
	add(server, 2, find, scopeServer, "cb.classify", 1, classify, classify+150*us, session, number("found", hits), number("stale", 0))
	if hits > 0 {
		got := add(server, 2, envelope, scopeServer, "cb.retrieve", 1, execute+100*us, passEnd-50*us, session, number("num_chunks", hits), text("model_name", model),
			number("worker_id", int64(rank)), text("success", "True"))
		add(server, 2, got, scopeServer, "cb.scatter", 1, execute+120*us, passEnd-80*us, session, number("scattered_tokens", q.hit), number("n_prefix", prefix),
			number("n_shifted", hits-prefix), number("dropped", 0), number("worker_id", int64(rank)), text("success", "True"))
	}
	return q
}
