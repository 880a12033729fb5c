// Package where is the language that selects requests: `--where` and where: in budgets (R9.1, R9.5). An expression is one set of spans:
//
//	{ name = "cb.request" && span.hit_rate >= 0.5 }
//	{ request.ttft > 800ms || request.finding = "late_poll" }
//	{ stage = "cb.l2_load" && span.bytes > 64MiB && !(owner = "server") }
//
// A request is selected when at least one of its spans satisfies it. What is compared is
//
//	name, stage, owner, process, class, status, duration   of a span; status is error or ok
//	span.X        the attribute X of VOCABULARY 3, and the rates LMCache writes beside them: span.hit_rate, span.l1_hit_rate, …
//	resource.X    service.name, service.instance.id, host.name, process.pid
//	request.X     of the request: duration, ttft, model, hit_rate, finding, … (fields.go)
//
// with = != < <= > >= =~ !~ (regular expressions match the whole text), joined by && || ! and brackets. Times need a unit: 90ms, 1m30s; sizes
// may have one: 64MiB; attributes in seconds or milliseconds take a time or a bare number in their own unit. Texts stand in "…" or `…`.
// What a span does not say is nil: `span.x = nil` asks for that, every other comparison with it is false.
//
// Of a saved report only the request table is there: fields of the request and the hit numbers of its root (R9.5).
package where
