package ingest

import (
	"bytes"
	"slices"

	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/ingest/profile"
)

// A kind is what a JSON value turns out to be, by its keys.
type kind struct {
	name  string // as OUTPUT inputs[].format; "" for what is not read
	says  string // what it is, in messages
	match func(v *shape) bool
	read  bool // there is a decoder
}

// kinds are tried from top to bottom; the first that matches a value is it.
var kinds = []kind{
	{"otlp-json", "OTLP JSON", isOTLP, true},
	{"jaeger-json", "Jaeger JSON", func(v *shape) bool {
		return v.any("data") && !isProfile(v) || v.all("traceID", "spans") || v.all("spans", "processes")
	}, true},
	{"jaeger-proto-json", "Jaeger's model as protobuf JSON", func(v *shape) bool { return v.any("spans") && v.only("spans", "processMap", "warnings") }, true},
	{"lookup-hashes", "lookup hashes", func(v *shape) bool { return v.any("chunk_hashes") }, false},
	{"jaeger-json", "documents of Jaeger's Elasticsearch store", func(v *shape) bool { return v.any("_source") || v.all("traceID", "spanID", "operationName") }, true},
	{"", "the answer of a Tempo search, which holds no spans", func(v *shape) bool { return v.any("traces") }, false},
	{"", "Tempo's simplified answer for language models", func(v *shape) bool { return v.any("trace.services", "trace.traceId") }, false},
	{"", "Zipkin JSON", func(v *shape) bool {
		return v.all("traceId", "id") && v.any("localEndpoint", "timestamp", "duration", "annotations", "name")
	}, false},
	{"", "the console dump of OpenTelemetry's Python SDK", func(v *shape) bool { return v.all("context", "start_time") }, false},
	{"", "the console dump of OpenTelemetry's Go SDK (stdouttrace)", func(v *shape) bool { return v.any("SpanContext") }, false},
	{"", "spans dumped by OpenTelemetry's JavaScript SDK", func(v *shape) bool { return v.any("spanContext", "_spanContext") }, false},
	{"", "OTLP spans without the resource around them", func(v *shape) bool { return v.all("traceId", "spanId") || v.all("trace_id", "span_id") }, false},
	{"", "CacheRoute traces (cbtrace cacheroute reads them)", func(v *shape) bool { return v.all("context", "stages") }, false},
	{"", "a Chrome trace", func(v *shape) bool { return v.any("traceEvents") || v.all("ph", "ts") }, false},
	{"", "a speedscope profile", func(v *shape) bool { return v.all("$schema", "profiles") }, false},
	{"cb-profile", "CB_PROFILE lines", isProfile, false},
}

func isOTLP(v *shape) bool {
	return v.any("resourceSpans", "resource_spans", "batches", "resourceMetrics", "resource_metrics", "resourceLogs", "resource_logs",
		"resourceProfiles", "resource_profiles", "trace.resourceSpans", "trace.resource_spans", "trace.batches",
		"result.resourceSpans", "result.resource_spans", "result.batches", "error.message")
}

// isProfile: a line has a name and a time (VOCABULARY 4).
func isProfile(v *shape) bool { return v.lines.Match(v.keys) }

// A shape is what the kind of a value is told by: the keys of an object (of those in "trace", "result" and "error" too, with a dot), of an
// array those of its first element.
type shape struct {
	keys  []string
	empty bool // no object, or one without keys
	lines *profile.Keys
}

const (
	shapeKeys   = 32 // keys that are looked at
	shapeKeyLen = 40
)

func (v *shape) any(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(v.keys, k) })
}

func (v *shape) all(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { return !slices.Contains(v.keys, k) })
}

func (v *shape) only(keys ...string) bool {
	return !slices.ContainsFunc(v.keys, func(k string) bool { return !slices.Contains(keys, k) })
}

// shapeOf reads the value at the scanner. What is cut or broken has the shape of what could be read.
func shapeOf(s *jsonscan.Scanner, lines *profile.Keys) shape {
	v := shape{lines: lines}
	if s.Kind() == jsonscan.Array {
		s.Array()
		for n := 0; s.Elem(); n++ {
			if n == 0 {
				v.read(s, "")
			} else {
				s.Skip()
			}
		}
	} else {
		v.read(s, "")
	}
	v.empty = len(v.keys) == 0
	return v
}

func (v *shape) read(s *jsonscan.Scanner, above string) {
	if !s.Object() {
		return
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if len(v.keys) < shapeKeys && len(key) <= shapeKeyLen {
			v.keys = append(v.keys, above+string(key))
		}
		switch name := string(key); {
		case above == "" && (name == "trace" || name == "result" || name == "error") && s.Kind() == jsonscan.Object:
			v.read(s, name+".")
		default:
			s.Skip()
		}
	}
}

// kindOf is the kind of a shape, nil for none that is known.
func kindOf(v *shape) *kind {
	for i := range kinds {
		if kinds[i].match(v) {
			return &kinds[i]
		}
	}
	return nil
}

// values is the kind of the JSON values in the first bytes of an input; without any that is known, the keys of the first.
func (src *source) values() (*kind, []string) {
	if !src.sniffed {
		src.sniffed = true
		src.kind, src.seen = sniffJSON(bytes.TrimPrefix(src.head, bom), src.keys)
	}
	return src.kind, src.seen
}

// sniffJSON tells the kind of the JSON values in the first bytes of an input. One that can be read counts for more than others before it:
// logs, or lines of another program, may stand in between.
func sniffJSON(head []byte, lines *profile.Keys) (first *kind, keys []string) {
	var s jsonscan.Scanner
	s.Reset(head)
	for s.More() {
		start := s.Pos()
		if k := s.Kind(); k == jsonscan.Object || k == jsonscan.Array {
			v := shapeOf(&s, lines)
			k := kindOf(&v)
			if k != nil && (first == nil || k.read) {
				first = k
			}
			if first != nil && first.read {
				return first, nil
			}
			if k == nil && keys == nil {
				keys = v.keys
			}
			if s.Err() == nil {
				continue
			}
		}
		s.Seek(jsonscan.Resync(head, start))
	}
	return first, keys
}
