package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
)

// OTLP JSON as the collector's file exporter writes it: a line for every batch.

type otlpAttr struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

type otlpSpan struct {
	TraceID           string     `json:"traceId"`
	SpanID            string     `json:"spanId"`
	ParentSpanID      string     `json:"parentSpanId"`
	Flags             int        `json:"flags"`
	Name              string     `json:"name"`
	Kind              int        `json:"kind"`
	StartTimeUnixNano string     `json:"startTimeUnixNano"`
	EndTimeUnixNano   string     `json:"endTimeUnixNano"`
	Attributes        []otlpAttr `json:"attributes,omitempty"`
	Status            otlpStatus `json:"status"`
}

type otlpStatus struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code,omitempty"`
}

type otlpScope struct {
	Scope struct {
		Name string `json:"name"`
	} `json:"scope"`
	Spans []otlpSpan `json:"spans"`
}

type otlpResource struct {
	Resource struct {
		Attributes []otlpAttr `json:"attributes"`
	} `json:"resource"`
	ScopeSpans []*otlpScope `json:"scopeSpans"`
}

func otlpValue(v any) map[string]any {
	switch v := v.(type) {
	case int:
		return map[string]any{"intValue": strconv.Itoa(v)}
	case float64:
		return map[string]any{"doubleValue": v}
	case bool:
		return map[string]any{"boolValue": v}
	}
	return map[string]any{"stringValue": v}
}

func otlpAttrs(attrs []attr) (out []otlpAttr) {
	for _, a := range attrs {
		out = append(out, otlpAttr{a.key, otlpValue(a.value)})
	}
	return out
}

// resource is what a process says of itself.
func (p *process) resource() (out []attr) {
	for _, a := range []attr{{"service.name", p.service}, {"service.instance.id", p.instance}, {"host.name", p.host}} {
		if a.value != "" {
			out = append(out, a)
		}
	}
	if p.pid != 0 {
		out = append(out, attr{"process.pid", p.pid})
	}
	return out
}

// flushed is when the batch leaves the process that a span is in: every process sends what it has every two seconds.
func flushed(s *span) int64 {
	return (max(s.start, s.end) + s.proc.phase()) / (2 * sec) * (2 * sec)
}

// phase sets the batches of processes apart.
func (p *process) phase() int64 { return (int64(p.pid)*37 + int64(len(p.instance))*113) % 2000 * ms }

// otlp is what the collector wrote: one file that it rotated, and the one after.
func (w *world) otlp() map[string][]byte {
	var all []*span
	for _, r := range slices.Concat(w.unified, w.today, w.chat) {
		if !r.jaeger {
			all = append(all, r.spans...)
		}
	}
	key := func(s *span) string { return s.proc.instance + "\x00" + s.scope }
	slices.SortStableFunc(all, func(a, b *span) int {
		return cmp.Or(cmp.Compare(flushed(a), flushed(b)), cmp.Compare(key(a), key(b)), cmp.Compare(a.end, b.end))
	})
	var files [2]bytes.Buffer
	for i := 0; i < len(all); {
		first := all[i]
		res := &otlpResource{}
		res.Resource.Attributes = otlpAttrs(first.proc.resource())
		for ; i < len(all) && flushed(all[i]) == flushed(first) && all[i].proc == first.proc; i++ {
			s := all[i]
			if n := len(res.ScopeSpans); n == 0 || res.ScopeSpans[n-1].Scope.Name != s.scope {
				scope := &otlpScope{}
				scope.Scope.Name = s.scope
				res.ScopeSpans = append(res.ScopeSpans, scope)
			}
			scope := res.ScopeSpans[len(res.ScopeSpans)-1]
			out := otlpSpan{s.trace, s.id, s.parent, 256, s.name, s.kind, strconv.FormatInt(s.proc.clock(s.start), 10), strconv.FormatInt(s.proc.clock(s.end), 10), otlpAttrs(s.attrs), otlpStatus{}}
			if s.failed != "" {
				out.Status = otlpStatus{s.failed, 2}
			}
			scope.Spans = append(scope.Spans, out)
		}
		file := &files[0]
		if flushed(first) >= epoch+60*sec {
			file = &files[1]
		}
		file.Write(jsonLine(map[string]any{"resourceSpans": []*otlpResource{res}}))
	}
	return map[string][]byte{"otel/traces-2025-11-29T16-01-00.000.jsonl": files[0].Bytes(), "otel/traces.jsonl": files[1].Bytes()}
}

// jsonLine is a value as a line of JSON.
func jsonLine(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // of values made here
	}
	return b.Bytes()
}
