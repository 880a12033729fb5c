package main

// A unifiedCase is one request of the new CacheBlend: what it asked for and what the cache held, in chunks of 256 tokens.
type unifiedCase struct {
	prompt                     int // tokens
	prefix, segmented, shifted int // chunks found
	l2                         int // of them on disk
	output                     int // tokens
	odd                        string
}

var unifiedCases = []unifiedCase{
	{3210, 4, 0, 3, 0, 120, ""},
	{6020, 8, 2, 6, 9, 210, ""},
	{2048, 3, 0, 2, 5, 64, "showcase"},
	{4400, 0, 0, 0, 0, 96, ""}, // nothing found
	{5300, 6, 2, 4, 6, 150, "partial_then_full"},
	{2600, 10, 0, 0, 0, 1, ""}, // a yes or no,
	{7900, 12, 4, 8, 14, 260, ""},
	{3900, 5, 0, 2, 2, 80, "stale"},
	{3100, 4, 0, 4, 0, 130, "repeat"},
	{5120, 20, 0, 0, 4, 70, ""}, // all found
	{8800, 2, 0, 5, 5, 300, "late_poll"},
	{4096, 7, 1, 3, 3, 110, "broken"},
	{2900, 1, 0, 1, 0, 1, ""},
	{6300, 9, 3, 5, 8, 180, "many"},
	{3500, 5, 0, 3, 0, 90, ""},
	{4700, 6, 0, 5, 11, 140, "dropped"},
	{2300, 8, 0, 0, 0, 60, ""},
	{5600, 7, 2, 3, 6, 160, "preempted"},
	{3300, 3, 0, 2, 0, 1, ""},
	{7200, 10, 2, 9, 16, 240, ""},
	{2700, 4, 0, 1, 1, 55, ""},
	{4100, 0, 0, 6, 3, 100, ""}, // shifted chunks alone
	{3800, 6, 1, 2, 0, 85, "orphan"},
	{5000, 7, 0, 4, 7, 145, ""},
	{2500, 2, 0, 2, 0, 1, ""},
	{6800, 11, 3, 4, 10, 205, ""},
}

func (c *unifiedCase) hit() int { return (c.prefix + c.segmented + c.shifted) * chunk }

const (
	cbScope    = "lmcache_cacheblend"
	blendScope = "lmcache_mp.blend"
)

// unifiedRequest makes a request whose spans are one trace over all processes.
func (w *world) unifiedRequest(at int64, c unifiedCase) *request {
	r := w.request(ragModel)
	if c.odd == "showcase" {
		r.named("chatcmpl-90a5c0de4f2b7d16")
	}
	trace := w.hex(16)
	top := r.span(ragEngine, "vllm.tracing.otel", trace, "llm_request", nil, at, at)
	root := r.span(ragScheduler, cbScope, trace, "cb.request", top, at+w.between(300*us, 900*us), at)
	root.set("request_id", r.internal, "model", r.model, "world_size", 2, "n_prompt_tokens", c.prompt)
	asked := c.prompt / chunk * chunk
	hit := c.hit()
	if c.odd == "broken" {
		hit -= 64 // less than its parts: chunks that overlap
	}
	root.set("requested_tokens", asked, "hit_tokens", hit, "hit_rate", float64(hit)/float64(asked), "prefix_hits", c.prefix,
		"prefix_hit_tokens", c.prefix*chunk, "segmented_prefix_hit_tokens", c.segmented*chunk, "non_prefix_hit_tokens", c.shifted*chunk)

	t := root.start + w.between(200*us, 6*ms)
	attempts := 1
	if c.odd == "preempted" {
		attempts = 2
	}
	scheduled := int64(0)
	for range attempts {
		t = r.schedule(trace, root, t, c)
		if scheduled == 0 {
			scheduled = t
		}
		done := t
		for rank, worker := range ragWorkers {
			done = max(done, r.execute(worker, rank, trace, root, t+int64(rank)*w.between(30*us, 200*us), c))
		}
		t = done + w.between(2*ms, 5*ms)
	}
	root.end = t - w.between(500*us, 1500*us)
	r.span(ragServer, blendScope, trace, "cb.fingerprints.registered", root, root.end-ms, root.end-ms).
		say("session_id", r.internal, "num_chunks", c.prompt/chunk, "num_tokens", asked)
	first := t
	end := first + w.decode(c.output)
	r.spans = r.spans[1:] // the span of the engine, which all others needed first, as the engine writes it
	engine := r.engine(ragEngine, trace, timing{at, scheduled, first, end, c.prompt, hit, c.output})
	engine.id = top.id
	return r
}

// schedule makes one attempt's scheduling with its lookup and returns when it was done.
func (r *request) schedule(trace string, root *span, t int64, c unifiedCase) int64 {
	w := r.w
	schedule := r.span(ragScheduler, cbScope, trace, "cb.schedule", root, t, t)
	rpc := r.span(ragScheduler, cbScope, trace, "cb.lookup.rpc", schedule, t+w.between(150*us, 500*us), t)
	rpc.kind = 3
	every := w.between(6*ms, 18*ms) // a step of the scheduler's loop
	switch c.odd {
	case "showcase":
		every = 45 * ms
	case "late_poll":
		every = 7 * ms
	}
	lookup := r.span(ragServer, blendScope, trace, "cb.lookup", rpc, rpc.start+w.between(200*us, 500*us), t)
	lookup.kind = 2
	found, stale := c.segmented+c.shifted, 0
	if c.odd == "stale" {
		stale = 2
	}
	at := lookup.start + w.between(30*us, 90*us)
	leg := func(name string, took int64) *span {
		s := r.span(ragServer, blendScope, trace, name, lookup, at, at+took)
		s.say("session_id", r.internal)
		at = s.end + w.between(20*us, 60*us)
		return s
	}
	leg("cb.fingerprint_match", w.between(300*us, 1200*us)).say("matches", found+stale, "n_probes", c.prompt/16, "table_hits", found+stale)
	leg("cb.prefix_lookup", w.between(150*us, 450*us)).say("prefix_chunks", c.prefix)
	var prefetch *span
	if c.l2 > 0 {
		prefetch = leg("cb.sparse_prefetch", 0)
		bytes := int64(c.l2) * chunk * tokenBytes
		took := bytes * 1000 / w.between(2800, 6200) // at 2.8 to 6.2 GB/s
		if c.odd == "showcase" {
			took = 50 * ms
		}
		load := r.span(ragServer, blendScope, trace, "cb.l2_load", prefetch, at, at+took)
		load.say("session_id", r.internal, "chunks", c.l2, "bytes", bytes, "ms", float64(took/us)/1000)
		at = load.end + w.between(50*us, 150*us)
	}
	leg("cb.classify", w.between(100*us, 400*us)).say("found", found, "stale", stale, "per_rank_ok", true)

	// Polls come at every step; the first that finds the work done gets the answer, and stamps the ends of what waited for it.
	polls := (at-rpc.start)/every + 1
	asked := rpc.start + polls*every
	if c.odd == "late_poll" { // the loop was busy with something else before it came back
		asked += 5 * every / 2
	}
	lookup.end = asked + w.between(150*us, 300*us)
	if prefetch != nil {
		prefetch.end = lookup.end - w.between(40*us, 90*us)
		prefetch.say("n_chunks", c.l2, "world_size", 2, "n_keys", 2*c.l2, "l2_keys", 2*c.l2, "found_keys", 2*c.l2, "l1_hits", 0, "l2_misses", 0)
	}
	rpc.end = lookup.end + w.between(150*us, 400*us)
	if c.odd == "showcase" {
		rpc.end = rpc.start + 90*ms
		lookup.end = rpc.end - 300*us
		prefetch.end = lookup.end - 60*us
	}
	rpc.set("request_id", r.internal, "n_polls", int(polls))
	lookup.say("session_id", r.internal, "num_tokens", c.prompt, "fingerprint_hits", found, "storage_hits", found, "stale_chunks", stale,
		"prefix_hits", c.prefix, "prefix_chunks", c.prefix, "no_gpu_context", false)
	build := r.span(ragScheduler, cbScope, trace, "cb.build_meta", schedule, rpc.end+w.between(200*us, 600*us), t)
	build.end = build.start + w.between(100*us, 500*us)
	build.set("request_id", r.internal)
	schedule.end = build.end + w.between(50*us, 200*us)
	schedule.set("request_id", r.internal)
	return schedule.end + w.between(300*us, 900*us)
}

// passes are the tokens that each pass of start_load_kv writes.
func (c *unifiedCase) passes() []int {
	hit := c.hit()
	switch {
	case hit == 0:
		return nil
	case c.odd == "partial_then_full": // the first pass saw a part of the blocks
		return []int{hit / 3 / chunk * chunk, hit - hit/3/chunk*chunk}
	case c.odd == "repeat":
		return []int{hit, hit}
	case c.odd == "many":
		return []int{2 * chunk, 3 * chunk, hit - 5*chunk}
	case c.odd == "dropped":
		return []int{hit - chunk}
	}
	return []int{hit}
}

// execute makes the step of one rank and returns when it was done.
func (r *request) execute(worker *process, rank int, trace string, root *span, t int64, c unifiedCase) int64 {
	w := r.w
	step := r.span(worker, cbScope, trace, "cb.execute", root, t, t)
	step.set("request_id", r.internal)
	prepare := r.span(worker, cbScope, trace, "shim.wrapper.prepare", step, t+w.between(20*us, 60*us), t)
	prepare.end = prepare.start + w.between(100*us, 300*us)
	at := prepare.end + w.between(20*us, 80*us)
	written := 0
	passes := c.passes()
	for n, tokens := range passes {
		if n > 0 {
			at += w.between(1500*us, 4*ms)
		}
		load := r.span(worker, cbScope, trace, "cb.start_load_kv", step, at, at)
		load.set("request_id", r.internal, "worker_id", rank)
		load.kind = 3
		retrieve := r.span(ragServer, blendScope, trace, "cb.retrieve", load, at+w.between(150*us, 400*us), at)
		retrieve.kind = 2
		retrieve.say("session_id", r.internal, "num_chunks", tokens/chunk, "model_name", r.model, "worker_id", rank, "success", true)
		scatter := r.span(ragServer, blendScope, trace, "cb.scatter", retrieve, retrieve.start+w.between(100*us, 250*us), at)
		scatter.end = scatter.start + int64(tokens)*w.between(4200, 5600)
		dropped := 0
		if c.odd == "dropped" {
			dropped = 1
		}
		plain := min(tokens, max(0, (c.prefix+c.segmented)*chunk-written)) // chunks at their own place come first
		scatter.say("session_id", r.internal, "scattered_tokens", tokens, "slot_writes", tokens, "n_prefix_tokens", plain, "n_shifted_tokens", tokens-plain,
			"n_prefix", plain/chunk, "n_shifted", (tokens-plain)/chunk, "dropped", dropped, "partial_blocks", 0, "worker_id", rank, "success", true)
		written += tokens
		retrieve.end = scatter.end + w.between(60*us, 160*us)
		load.end = retrieve.end + w.between(100*us, 300*us)
		at = load.end
	}
	rest := int64(max(0, c.prompt-written))
	forward := r.span(worker, cbScope, trace, "cb.model_forward", step, at+w.between(50*us, 200*us), at)
	if c.odd == "orphan" && rank == 1 {
		forward.parent = w.hex(8) // of a span that was never exported
	}
	forward.set("request_id", r.internal)
	at = forward.start
	part := func(name string, took int64, pairs ...any) {
		s := r.span(worker, cbScope, trace, name, forward, at, at+took)
		s.set(append([]any{"request_id", r.internal}, pairs...)...)
		at = s.end
	}
	if written == 0 {
		part("cb.partial", 9*ms+rest*w.between(17*us, 20*us))
	} else {
		part("cb.full_recomp", w.between(2*ms, 6*ms))
		chosen := written * 15 / 100
		part("cb.check", w.between(300*us, 900*us), "imp_count", chosen, "recomp_ratio", 0.15, "dispatch", "flex", "imp_empty", false)
		part("cb.partial", 6*ms+(rest+int64(chosen))*w.between(17*us, 20*us))
	}
	forward.end = at + w.between(20*us, 90*us)
	step.end = forward.end + w.between(50*us, 200*us)
	return step.end
}
