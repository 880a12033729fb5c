package main

// Jaeger's JSON as its page downloads traces: microseconds, processes by number, parents as references.

type jaegerTag struct {
	Key   string `json:"key"`
	Type  string `json:"type"`
	Value any    `json:"value"`
}

type jaegerReference struct {
	RefType string `json:"refType"`
	TraceID string `json:"traceID"`
	SpanID  string `json:"spanID"`
}

type jaegerSpan struct {
	TraceID       string            `json:"traceID"`
	SpanID        string            `json:"spanID"`
	OperationName string            `json:"operationName"`
	References    []jaegerReference `json:"references"`
	StartTime     int64             `json:"startTime"`
	Duration      int64             `json:"duration"`
	Tags          []jaegerTag       `json:"tags"`
	Logs          []struct{}        `json:"logs"`
	ProcessID     string            `json:"processID"`
	Warnings      []string          `json:"warnings"`
}

type jaegerProcess struct {
	ServiceName string      `json:"serviceName"`
	Tags        []jaegerTag `json:"tags"`
}

type jaegerTrace struct {
	TraceID   string                   `json:"traceID"`
	Spans     []jaegerSpan             `json:"spans"`
	Processes map[string]jaegerProcess `json:"processes"`
	Warnings  []string                 `json:"warnings"`
}

func jaegerTags(attrs []attr) []jaegerTag {
	tags := []jaegerTag{}
	for _, a := range attrs {
		kind := "string"
		switch a.value.(type) {
		case int:
			kind = "int64"
		case float64:
			kind = "float64"
		case bool:
			kind = "bool"
		}
		tags = append(tags, jaegerTag{a.key, kind, a.value})
	}
	return tags
}

// jaeger is the file that somebody downloaded from Jaeger's page. Each of its traces is of one process.
func (w *world) jaeger() []byte {
	traces := []*jaegerTrace{}
	for _, r := range w.chat {
		if !r.jaeger {
			continue
		}
		for _, s := range r.spans {
			var t *jaegerTrace
			for _, have := range traces {
				if have.TraceID == s.trace {
					t = have
				}
			}
			if t == nil {
				res := s.proc.resource()
				t = &jaegerTrace{TraceID: s.trace, Processes: map[string]jaegerProcess{"p1": {s.proc.service, jaegerTags(res[1:])}}}
				traces = append(traces, t)
			}
			start, end := s.proc.clock(s.start)/us, s.proc.clock(s.end)/us
			out := jaegerSpan{TraceID: s.trace, SpanID: s.id, OperationName: s.name, References: []jaegerReference{}, StartTime: start, Duration: end - start, Logs: []struct{}{}, ProcessID: "p1"}
			if s.parent != "" {
				out.References = append(out.References, jaegerReference{"CHILD_OF", s.trace, s.parent})
			}
			kind := [...]string{1: "internal", 2: "server", 3: "client"}[s.kind]
			out.Tags = append(jaegerTags(s.attrs), jaegerTags([]attr{{"otel.scope.name", s.scope}, {"span.kind", kind}})...)
			t.Spans = append(t.Spans, out)
		}
	}
	return jsonLine(map[string]any{"data": traces, "total": 0, "limit": 0, "offset": 0, "errors": nil})
}
