package main

// A chatCase is one request of the standard path: how many chunks of 256 tokens it asked for, and how many lay in memory and on disk.
type chatCase struct {
	prompt int // tokens
	l1, l2 int // chunks found
	output int // tokens
	odd    string
}

var chatCases = []chatCase{
	{1900, 3, 0, 180, ""},
	{2600, 0, 6, 220, ""},
	{1500, 0, 0, 150, ""}, // nothing found
	{2048, 8, 0, 160, ""}, // all found
	{3400, 4, 5, 260, ""},
	{1200, 2, 0, 90, ""},
	{2300, 0, 0, 0, "no_gpu_context"},
	{2900, 2, 7, 240, ""},
	{1700, 6, 0, 130, ""},
	{4100, 3, 0, 310, ""},
	{2200, 0, 0, 170, ""},
	{2560, 4, 6, 200, ""}, // all found
	{1800, 1, 0, 140, ""},
	{3000, 5, 4, 230, "store_tail"},
	{1400, 0, 3, 110, ""},
	{2700, 7, 0, 210, ""},
	{2100, 0, 0, 165, "timeout"},
	{3600, 6, 6, 270, ""},
	{1600, 3, 0, 120, "aborted"},
	{2400, 0, 5, 190, ""},
	{1280, 5, 0, 100, ""}, // all found
	{3200, 2, 0, 250, ""},
	{2000, 4, 2, 155, "leaked"},
	{2800, 0, 8, 225, ""},
	{1300, 0, 0, 0, "empty_chunk_hashes"},
	{3800, 9, 0, 290, ""},
	{2500, 3, 4, 195, ""},
	{1100, 1, 0, 80, ""},
	{3100, 0, 0, 245, ""},
	{1750, 4, 0, 135, ""},
}

const (
	serverScope   = "lmcache_mp.server"
	transferScope = "lmcache_mp.transfer"
	timeoutScope  = "lmcache_mp.timeout"
)

// chatRequest makes a request of two traces: that of the engine and that of the cache server.
func (w *world) chatRequest(at int64, c chatCase) *request {
	r := w.request(chatModel)
	r.jaeger = len(w.chat)%4 == 1 // the eight that somebody downloaded
	asked, hit := c.prompt/chunk*chunk, (c.l1+c.l2)*chunk
	reason := ""
	if c.odd == "no_gpu_context" || c.odd == "empty_chunk_hashes" {
		reason, asked = c.odd, 0 // the lookup ended before it searched
	}
	trace, server := w.hex(16), w.hex(16)
	root := r.span(chatServer, serverScope, server, "request", nil, at+w.between(800*us, 4*ms), 0)
	rate := func(tokens int) float64 {
		if asked == 0 {
			return 0
		}
		return float64(tokens) / float64(asked)
	}
	root.set("session_id", r.internal, "hit_tokens", hit, "requested_tokens", asked, "hit_rate", rate(hit), "l1_hit_tokens", c.l1*chunk,
		"l2_hit_tokens", c.l2*chunk, "l1_hit_rate", rate(c.l1*chunk), "l2_hit_rate", rate(c.l2*chunk), "l1_hit_keys", c.l1, "l2_hit_keys", c.l2,
		"early_exit_reason", reason)
	lookup := r.span(chatServer, serverScope, server, "mp.lookup_prefetch", root, root.start+w.between(20*us, 60*us), 0)
	took := w.between(400*us, 1300*us)
	if c.l2 > 0 {
		took += int64(c.l2) * chunk * tokenBytes * 1000 / w.between(2000, 4800)
	}
	every := w.between(5*ms, 14*ms)
	lookup.end = lookup.start + (took/every+1)*every
	lookup.say("session_id", r.internal, "found_count", c.l1+c.l2, "requested_tokens", asked, "hit_tokens", hit, "l1_hit_tokens", c.l1*chunk,
		"l2_hit_tokens", c.l2*chunk, "l1_hit_keys", c.l1, "l2_hit_keys", c.l2, "early_exit_reason", reason, "model_name", r.model, "cache_salt", "")
	if asked > 0 {
		r.lookedUp(lookup.start, lookup.end, asked/chunk, c.l1+c.l2)
	}
	t := lookup.end + w.between(500*us, 1500*us)
	scheduled := t
	if c.odd == "timeout" {
		s := r.span(chatServer, timeoutScope, server, "timeout", root, t, t)
		s.set("session_id", r.internal)
		s.failed = "lookup timed out after 30.0 s"
	}
	if hit > 0 {
		t = r.move("mp.retrieve", server, root, t+w.between(300*us, 900*us), hit, 0)
		r.read(t, c.l1+c.l2)
	}
	t += w.between(200*us, 600*us)
	first := t + 8*ms + int64(c.prompt-hit)*w.between(15*us, 18*us)
	root.end = first + w.between(ms, 3*ms)
	store := first + w.between(2*ms, 9*ms)
	stored := max(0, asked-hit)
	if stored > 0 {
		busy := int64(0)
		if c.odd == "store_tail" {
			busy = 9 * sec
		}
		r.move("mp.store", server, root, store, stored, busy)
		r.stored(store, (asked-hit)/chunk)
	}
	if c.odd == "leaked" { // the end of the session got lost, so the root was never exported
		r.spans = r.spans[1:]
	}
	if c.odd != "aborted" { // vLLM writes no span for a request that its client gave up
		output := max(c.output, 60)
		r.engine(chatEngine, trace, timing{at, scheduled, first, first + w.decode(output), c.prompt, hit, output})
	}
	return r
}

// move makes a retrieve or a store with its phases and returns when it was done. For so long its device was busy with others.
func (r *request) move(name, trace string, root *span, t int64, tokens int, busy int64) int64 {
	w := r.w
	bytes := int64(tokens) * tokenBytes
	staging := bytes * 1000 / w.between(21_000, 26_000) // at 21 to 26 GB/s
	kernel := staging * w.between(60, 130) / 100
	idle := busy + w.between(200*us, 900*us)
	s := r.span(chatServer, serverScope, trace, name, root, t, t+staging+kernel+idle)
	count := map[string]string{"mp.retrieve": "retrieved_count", "mp.store": "stored_count"}[name]
	s.say("session_id", r.internal, "device", "cuda:0", "engine_id", 0, "model_name", r.model, count, tokens/chunk, "total_bytes", bytes, "num_tokens", tokens, "cache_salt", "")
	at := t + w.between(20*us, 90*us)
	for i, took := range []int64{kernel, staging} {
		p := r.span(chatServer, transferScope, trace, [...]string{"transfer.kernel_interval", "transfer.staging"}[i], s, at, at+took)
		p.set("session_id", r.internal, "device_index", 0, "num_steps", 2, "nbytes", int(bytes), "elapsed_seconds", float64(took)/1e9,
			"first_start_s", float64(at)/1e9, "last_end_s", float64(s.end-w.between(10*us, 90*us))/1e9)
		if i == 1 {
			p.set("throughput_GB_per_second", float64(bytes)/float64(took))
		}
		at = p.end
	}
	return s.end
}
