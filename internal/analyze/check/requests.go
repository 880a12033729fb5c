package check

import (
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
)

// requests is what requests lack, in the order of what tells most.
func (b *builder) requests() {
	n := &b.tally.n
	if n[anyRequest] == 0 {
		return
	}
	engine := &finding.Registry[finding.NoLLMRequest]
	if slices.ContainsFunc(b.doc.Findings, func(f report.Finding) bool { return f.Code == engine.Code }) {
		b.add(Problem{Code: engine.Code, Severity: note, Count: 1, Unit: "capture", Message: engine.Meaning,
			WhatToDo: "Let vLLM export its spans to the same collector, and add its file to the capture. One that has the flag and exports nothing may be of a release that did not (vLLM 56696).",
			Switch:   "vLLM: vllm serve --otlp-traces-endpoint http://COLLECTOR:4317"})
	} else {
		b.seen(lacksEngine, anyRequest, Problem{Code: "some_without_llm_request", Severity: note,
			Message:  "The cache was asked for requests that have no llm_request, though others have one.",
			WhatToDo: "Nothing, where clients gave up: vLLM writes no span for those. Otherwise look for a sampler, or for an engine whose file is missing."})
	}
	b.seen(lacksTTFT, hasEngine, Problem{Code: "no_ttft", Severity: note,
		Message:  "llm_request spans do not say the time to first token, so latency is all there is of them.",
		WhatToDo: "Use a release of vLLM that writes gen_ai.latency.time_to_first_token; it needs no flag but the endpoint."})
	b.seen(lacksServer, anyRequest, Problem{Code: "no_server_spans", Severity: note,
		Message:  "The cache server was called and wrote no span, so hits, loads and the parts of lookups are unknown.",
		WhatToDo: "Let the cache server export its spans, and add its file to the capture.",
		Switch:   "LMCache: --enable-tracing --otlp-endpoint http://COLLECTOR:4317"})
	if n[hasServer] == 0 && n[lacksServer] == 0 {
		b.add(Problem{Code: "no_server_spans", Severity: note, Count: 1, Unit: "capture",
			Message:  "There is no span of a cache server, so nothing is known of hits, loads and lookups.",
			WhatToDo: "Let the cache server export its spans, and add its file to the capture.",
			Switch:   "LMCache: --enable-tracing --otlp-endpoint http://COLLECTOR:4317"})
	}
	b.seen(apart, bothSides, Problem{Code: "no_propagation", Severity: note,
		Message: "The cache server's spans are in traces of their own. cbtrace joins them by id; other tools show several traces of one request.",
		WhatToDo: "Set the variable for vLLM and for the cache server. vLLM must also have a span open where it calls the cache, which a plugin does; " +
			"cb.request of today's CacheBlend stays apart even so.",
		Switch: "vLLM and LMCache: LMCACHE_MP_TRACE_CONTEXT=1"})
	b.seen(lacksScheduler, hasBlend, Problem{Code: "no_scheduler", Severity: note,
		Message:  "CacheBlend was asked and the scheduler wrote nothing of it, so lookups cannot be parted into submit, load and waiting for the poll.",
		WhatToDo: "Let the scheduler write its profile, and put the lines beside the traces.",
		Switch:   "CacheBlend: CB_PROFILE in the environment of the scheduler"})
	b.seen(lacksWorker, hasBlend, Problem{Code: "no_worker", Severity: note,
		Message:  "CacheBlend loaded and the workers wrote nothing of it, so passes of start_load_kv and the forward pass are unknown.",
		WhatToDo: "Let the workers write their profile, and put the lines beside the traces.",
		Switch:   "CacheBlend: CB_PROFILE in the environment of the workers"})
	b.seen(atMost, hasLookup, Problem{Code: "l2_upper_bound", Severity: note,
		Message:  "Loads from L2 have no span of their own: their times are upper bounds, ended by the poll that came next.",
		WhatToDo: "Use a server that writes cb.l2_load; poll lines of CB_PROFILE narrow the bound."})
	b.seen(lacksNumbers, hasLookup, Problem{Code: "no_hit_numbers", Severity: note,
		Message:  "Lookups do not say how many tokens were asked for and found.",
		WhatToDo: "Use a release of LMCache that writes requested_tokens and hit_tokens (since April 2026)."})
	b.seen(lacksPhases, hasMove, Problem{Code: "no_transfer_phases", Severity: note,
		Message:  "Stores and retrieves do not say how long staging and kernels took.",
		WhatToDo: "Use a release of LMCache that writes transfer.* spans (since August 2026)."})
	b.seen(lacksRoot, hasServer, Problem{Code: "lost_root", Severity: note,
		Message:  "The server's request span is missing: it is exported when the request ends, or when the server stops.",
		WhatToDo: "Capture until requests are over and stop the server in order; it never comes where the end of a request got lost."})
	b.seen(orphans, anyRequest, Problem{Code: "orphans", Severity: note,
		Message:  "Spans name a parent that is not there, and were hung where they fit.",
		WhatToDo: "Look for a file, a process or a sampler that keeps spans away."})
	b.seen(shutdown, anyRequest, Problem{Code: "shutdown_spans", Severity: note,
		Message:  "Spans were ended because their process was stopped: how long they took is unknown.",
		WhatToDo: "Nothing: they are left out of times. Many of them mean that ends got lost before."})
	b.seen(ambiguous, anyRequest, Problem{Code: "ambiguous_ids", Severity: note,
		Message:  "External ids fit several requests, which are therefore kept apart from their llm_request.",
		WhatToDo: "Let clients send an id of their own with every request, retries included."})
	b.seen(stitched, anyRequest, Problem{Code: "ranks_mixed", Severity: note,
		Message:  "Ranks are missing, or several were made into one span: durations of their retrieves are mixed.",
		WhatToDo: "Nothing that a switch would mend: the server keeps one open span per request and event. Do not compare ranks."})
	b.seen(leaked, anyRequest, Problem{Code: "context_leak", Severity: note,
		Message:  "Traces hold unrelated requests, so requests without an id cannot be told apart in them.",
		WhatToDo: "Look at what sets the trace context: one of the process (TRACEPARENT), or a client that never renews it (vLLM 38672)."})
	b.recordings()
}

// recordings is what a recording needs beside it.
func (b *builder) recordings() {
	var calls []string
	hashes := false
	for i := range b.Inputs {
		switch format, _, _ := strings.Cut(b.Inputs[i].Format, "+"); format {
		case "lct-storage":
			calls = append(calls, b.Inputs[i].Here(b.Inputs[i].File))
		case "lookup-hashes":
			hashes = true
		}
	}
	if !hashes {
		b.add(Problem{Code: "no_lookup_hashes", Severity: note, Count: int64(len(calls)), Unit: "input", Exemplars: calls,
			Message:  "Recorded calls name chunks and not requests; only prefetches can be shown with theirs.",
			WhatToDo: "Let the server log the hashes of its lookups, and put the files beside the recording.",
			Switch:   "LMCache: --lookup-hash-log-dir DIR"})
	}
}
