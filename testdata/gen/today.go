package main

// A todayCase is one request of CacheBlend as it is: the server writes spans of its own, scheduler and worker write profile lines.
type todayCase struct {
	prompt                     int // tokens
	prefix, segmented, shifted int // chunks found
	l2                         int // of them on disk
	output                     int // tokens
	odd                        string
}

var todayCases = []todayCase{
	{2900, 5, 0, 2, 0, 90, ""},
	{4500, 6, 0, 4, 6, 120, ""},
	{5100, 8, 1, 3, 7, 140, "noop_then_full"},
	{3300, 0, 0, 0, 0, 70, ""},
	{6100, 10, 2, 5, 9, 200, ""},
	{2400, 4, 0, 1, 0, 50, ""},
	{3700, 5, 0, 3, 4, 95, ""},
	{4900, 7, 0, 4, 5, 130, "retrieve_failed"},
	{2600, 10, 0, 0, 0, 60, ""},
	{5500, 6, 2, 4, 8, 150, "double_unknown"},
	{3100, 3, 0, 2, 0, 80, ""},
	{7000, 9, 2, 8, 12, 230, ""},
	{4200, 5, 0, 2, 3, 110, "coordinator_timeout"},
	{2800, 2, 0, 2, 0, 65, ""},
	{3900, 7, 0, 1, 2, 100, ""},
	{5200, 0, 0, 5, 5, 135, ""},
	{2300, 6, 0, 0, 0, 45, ""},
	{4600, 4, 1, 3, 0, 125, ""},
	{6400, 8, 0, 6, 10, 190, "late_retrieve"},
	{3400, 4, 0, 2, 1, 85, ""},
	{4800, 7, 2, 2, 6, 128, ""},
	{2700, 3, 0, 3, 0, 58, ""},
	{5900, 6, 0, 5, 7, 165, ""},
	{3600, 5, 0, 1, 0, 92, ""},
}

// todayRequest makes a request of three traces, or four, and lines.
func (w *world) todayRequest(at int64, c todayCase) *request {
	r := w.request(ragModel)
	asked, hit := c.prompt/chunk*chunk, (c.prefix+c.segmented+c.shifted)*chunk
	trace, server := w.hex(16), w.hex(16)

	// The scheduler's loop: one call that submits, then one at every step until the answer is there.
	t := at + w.between(500*us, 5*ms)
	r.line(todayScheduler, "cb_admission_check", t+10*us, t+w.between(40*us, 80*us))
	submit := t + w.between(120*us, 250*us)
	r.line(todayScheduler, "gnnmt.cb_unified_submit", submit, submit+w.between(250*us, 400*us))
	r.line(todayScheduler, "sched.gnnmt", t, submit+w.between(500*us, 600*us))

	root := r.span(todayServer, blendScope, server, "cb.request", nil, submit+w.between(60*us, 110*us), 0)
	root.set("session_id", r.internal, "hit_tokens", hit, "requested_tokens", asked, "hit_rate", float64(hit)/float64(asked), "prefix_hits", c.prefix,
		"prefix_hit_tokens", c.prefix*chunk, "segmented_prefix_hit_tokens", c.segmented*chunk, "non_prefix_hit_tokens", c.shifted*chunk,
		"prefix_hit_rate", float64(c.prefix*chunk)/float64(asked), "segmented_prefix_hit_rate", float64(c.segmented*chunk)/float64(asked),
		"non_prefix_hit_rate", float64(c.shifted*chunk)/float64(asked))
	lookup := r.span(todayServer, blendScope, server, "cb.lookup", root, root.start+w.between(10*us, 30*us), 0)
	ready := lookup.start + w.between(30*us, 80*us)
	leg := func(name string, took int64, pairs ...any) *span {
		s := r.span(todayServer, blendScope, server, name, lookup, ready, ready+took)
		s.say(append([]any{"session_id", r.internal}, pairs...)...)
		ready = s.end + w.between(20*us, 60*us)
		return s
	}
	found := c.segmented + c.shifted
	leg("cb.fingerprint_match", w.between(300*us, 1200*us), "matches", found)
	var waiting []*span // spans whose end is stamped by the poll that gets the answer
	if c.odd == "coordinator_timeout" {
		waiting = append(waiting, leg("cb.coordinator_match", 20*ms, "matches", 0, "timed_out", true))
	}
	leg("cb.prefix_lookup", w.between(150*us, 450*us), "prefix_chunks", c.prefix)
	if c.l2 > 0 {
		took := int64(c.l2) * chunk * tokenBytes * 1000 / w.between(2500, 5500)
		waiting = append(waiting, leg("cb.sparse_prefetch", took, "n_chunks", c.l2, "world_size", 1, "n_keys", c.l2, "l2_keys", c.l2, "found_keys", c.l2))
	}
	every := w.between(4*ms, 9*ms)
	answer := submit + ((ready-submit)/every+1)*every
	for poll := submit + every; poll <= answer; poll += every {
		r.line(todayScheduler, "sched.gnnmt", poll-20*us, poll+w.between(380*us, 450*us))
		r.line(todayScheduler, "gnnmt.cb_unified_poll", poll, poll+w.between(280*us, 350*us))
	}
	lookup.end = answer + w.between(80*us, 180*us)
	for _, s := range waiting {
		s.end = lookup.end - w.between(15*us, 40*us)
	}
	lookup.say("session_id", r.internal, "num_tokens", c.prompt, "fingerprint_hits", found, "prefix_hits", c.prefix, "prefix_chunks", c.prefix, "storage_hits", found,
		"stale_chunks", 0, "no_gpu_context", false, "prefix_hit_tokens", c.prefix*chunk, "segmented_prefix_hit_tokens", c.segmented*chunk,
		"non_prefix_hit_tokens", c.shifted*chunk, "hit_tokens", hit, "requested_tokens", asked)
	meta := answer + w.between(600*us, 1200*us)
	r.line(todayScheduler, "sched.build_meta", meta, meta+w.between(100*us, 400*us))
	if c.odd == "late_retrieve" { // the blocks for what was found were not free
		meta += 130 * ms
	}
	scheduled := meta + w.between(600*us, 900*us)
	done := r.todayStep(scheduled, c, hit, server, root)
	first := done + w.between(2*ms, 5*ms)
	end := first + w.decode(c.output)
	r.engine(todayEngine, trace, timing{at, scheduled, first, end, c.prompt, hit, c.output})
	return r
}

// todayStep makes the worker's step and the server's side of its loads, and returns when it was done.
func (r *request) todayStep(t int64, c todayCase, hit int, server string, root *span) int64 {
	w := r.w
	prepared := t + w.between(80*us, 200*us)
	r.line(todayWorker, "shim.wrapper.prepare", t, prepared)
	at := prepared + w.between(10*us, 50*us)
	root.end = at // the first way out of a load ends the server's request; without one the end of the session does
	passes := []int{hit}
	switch {
	case hit == 0:
		passes = nil
	case c.odd == "noop_then_full": // at first there were blocks for none of it
		passes = []int{0, hit}
	case c.odd == "double_unknown":
		passes = []int{hit, hit}
	}
	written := 0
	for n, tokens := range passes {
		if n > 0 {
			at += w.between(2*ms, 5*ms)
		}
		back := at + w.between(250*us, 500*us)
		if tokens > 0 {
			trace, parent := server, root
			if n > 0 { // the server's request is over: a trace of its own
				trace, parent = w.hex(16), nil
			}
			retrieve := r.span(todayServer, blendScope, trace, "cb.retrieve", parent, at+w.between(120*us, 350*us), 0)
			retrieve.say("session_id", r.internal, "num_chunks", tokens/chunk, "model_name", r.model, "worker_id", 0, "success", c.odd != "retrieve_failed")
			if c.odd == "retrieve_failed" {
				retrieve.end = retrieve.start + w.between(3*ms, 6*ms)
			} else {
				scatter := r.span(todayServer, blendScope, trace, "cb.scatter", retrieve, retrieve.start+w.between(80*us, 200*us), 0)
				scatter.end = scatter.start + int64(tokens)*w.between(4200, 5600)
				scatter.say("session_id", r.internal)
				if c.odd != "double_unknown" { // a server that does not count what it writes
					scatter.say("scattered_tokens", tokens)
				}
				scatter.say("n_prefix", c.prefix+c.segmented, "n_shifted", c.shifted, "dropped", 0, "worker_id", 0, "success", true)
				retrieve.end = scatter.end + w.between(60*us, 150*us)
				written = tokens
			}
			back = retrieve.end + w.between(100*us, 300*us)
		}
		r.line(todayWorker, "slk.load", at, at+(back-at)/4)
		r.line(todayWorker, "slk.wait", at+(back-at)/4+5*us, back)
		at = back
		if n == 0 {
			root.end = back - w.between(20*us, 80*us)
		}
	}
	chosen := int64(written * 15 / 100)
	full, check := w.between(2*ms, 6*ms), w.between(300*us, 900*us)
	part := 6*ms + (int64(c.prompt-written)+chosen)*w.between(17*us, 20*us)
	at += w.between(50*us, 200*us)
	r.line(todayWorker, "shim.wrapper.fwd", at, at+full+check+part+w.between(20*us, 90*us))
	r.line(todayWorker, "flex.full_recomp", at, at+full)
	r.line(todayWorker, "flex.check", at+full, at+full+check)
	r.line(todayWorker, "flex.partial", at+full+check, at+full+check+part)
	if root.end == prepared {
		root.end = at
	}
	return at + full + check + part + w.between(150*us, 400*us)
}
