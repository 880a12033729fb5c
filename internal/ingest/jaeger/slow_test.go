package jaeger

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// decodeAll decodes a block and returns each record in words.
func decodeAll(t testing.TB, data []byte, keepAll bool) ([]string, *decode.Report, int) {
	t.Helper()
	b := model.NewBatch(model.NewDict(), keepAll)
	rep := new(decode.Report)
	n := new(Decoder).Decode(decode.Block{Path: "x.json", Family: "x.json", Data: data, Line: 1}, b, rep)
	var out []string
	for i := range b.Records {
		out = append(out, describe(b, &b.Records[i]))
	}
	if int64(len(out)) != rep.Spans {
		t.Fatalf("%d records, but the report says %d spans", len(out), rep.Spans)
	}
	return out, rep, n
}

func describe(b *model.Batch, r *model.Record) string {
	var s strings.Builder
	d := b.Dict
	res := d.Res(r.Res)
	fmt.Fprintf(&s, "%s %s<%s %q kind=%d %d..%d scope=%q res=%q,%q,%q,%d", d.TraceIDText(r.Trace), d.SpanIDText(r.ID), d.SpanIDText(r.Parent), d.Str(r.Name), r.Kind,
		r.Start, r.End, d.Str(r.Scope), res.Instance, res.Service, res.Host, res.PID)
	if r.Flags&model.RecordError != 0 {
		s.WriteString(" ERROR")
	}
	attrs := b.AttrsOf(r)
	for i := range attrs {
		a := &attrs[i]
		fmt.Fprintf(&s, " %s=", d.KeyName(a.Key))
		switch a.Kind {
		case model.StrValue:
			fmt.Fprintf(&s, "%q", b.TextOf(a))
		case model.FloatValue:
			fmt.Fprint(&s, model.Value{Kind: model.FloatValue, Float: floatOf(a.Bits)}.Text())
		case model.BoolValue:
			fmt.Fprint(&s, a.Bits != 0)
		default:
			fmt.Fprint(&s, int64(a.Bits))
		}
	}
	return s.String()
}

// slowDecode reads an answer of the query API, or traces, with encoding/json and says of each span what describe says, without attributes.
// ok is false where the input is not what Jaeger writes and the reading of it is the decoder's own.
func slowDecode(data []byte) (out []string, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for {
		var doc map[string]any
		switch err := dec.Decode(&doc); {
		case err == io.EOF:
			return out, true
		case err != nil:
			return nil, false
		}
		list, isList := doc["data"].([]any)
		if !isList {
			if doc["spans"] == nil {
				return nil, false
			}
			list = []any{doc}
		}
		for _, t := range list {
			lines, ok := slowTrace(t)
			if !ok {
				return nil, false
			}
			out = append(out, lines...)
		}
	}
}

func slowTrace(t any) (out []string, ok bool) {
	trace, _ := t.(map[string]any)
	spans, _ := trace["spans"].([]any)
	processes, _ := trace["processes"].(map[string]any)
	if trace["spans"] == nil { // no trace, as the decoder says
		return nil, false
	}
	ids := map[string]bool{}
	for _, s := range spans {
		span, is := s.(map[string]any)
		id, ok := hexText(span["spanID"], 16)
		if !is || !ok || asProtobuf(span) {
			return nil, false
		}
		ids[id] = true
	}
	for _, s := range spans {
		line, ok := slowSpan(s.(map[string]any), processes, ids)
		if !ok {
			return nil, false
		}
		out = append(out, line)
	}
	return out, true
}

// asProtobuf reports whether an object has keys as protobuf writes them in JSON, which the decoder reads too: they are not for this reader.
func asProtobuf(object map[string]any) bool {
	for _, key := range []string{"traceId", "spanId", "parentSpanId", "processId"} {
		if _, ok := object[key]; ok {
			return true
		}
	}
	return false
}

func slowSpan(span, processes map[string]any, ids map[string]bool) (string, bool) {
	trace, ok1 := hexText(span["traceID"], 32)
	id, ok2 := hexText(span["spanID"], 16)
	name, ok3 := span["operationName"].(string)
	start, ok4 := number(span["startTime"])
	duration, ok5 := number(span["duration"])
	if !(ok1 && ok2 && ok3 && ok4 && ok5) || trace == "" {
		return "", false
	}
	var child, follows string
	refs, _ := span["references"].([]any)
	for _, r := range refs {
		ref, _ := r.(map[string]any)
		if asProtobuf(ref) {
			return "", false
		}
		to, ok1 := hexText(ref["traceID"], 32)
		at, ok2 := hexText(ref["spanID"], 16)
		if !ok1 || !ok2 {
			return "", false
		}
		if to == "" { // a reference that names no trace is within its span's
			to = trace
		}
		if to != trace || at == "" {
			continue
		}
		if ref["refType"] == "FOLLOWS_FROM" {
			if follows == "" {
				follows = at
			}
		} else if child == "" {
			child = at
		}
	}
	if child == "" {
		if old, _ := hexText(span["parentSpanID"], 16); old != "" {
			child = old
		} else if ids[follows] {
			child = follows
		}
	}
	kind, failed, scope, library := 0, false, "", ""
	tags, _ := span["tags"].([]any)
	for _, t := range tags {
		tag, _ := t.(map[string]any)
		text, _ := tag["value"].(string)
		switch tag["key"] {
		case "span.kind":
			kind = map[string]int{"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}[text]
		case "error":
			failed = failed || tag["value"] == true || text == "true" || text == "True"
		case "otel.status_code":
			failed = failed || text == "ERROR"
		case "otel.scope.name":
			scope = text
		case "otel.library.name":
			library = text
		}
	}
	if scope == "" {
		scope = library
	}
	var service, instance, host, hostname, pid string
	pid = "0"
	process, inline := span["process"].(map[string]any)
	if !inline {
		p, _ := span["processID"].(string)
		process, _ = processes[p].(map[string]any)
	}
	if process != nil {
		service, _ = process["serviceName"].(string)
	}
	tags, _ = process["tags"].([]any)
	for _, t := range tags {
		tag, _ := t.(map[string]any)
		text := ""
		if v := tag["value"]; v != nil { // a tag without one says nothing
			text = fmt.Sprint(v)
		}
		switch tag["key"] {
		case "service.instance.id":
			instance = text
		case "host.name":
			host = text
		case "hostname":
			hostname = text
		case "process.pid":
			pid = text
		}
	}
	if host == "" {
		host = hostname
	}
	line := fmt.Sprintf("%s %s<%s %q kind=%d %d..%d scope=%q res=%q,%q,%q,%s", trace, id, child, name, kind, start*1000, (start+duration)*1000, scope, instance, service, host, pid)
	if failed {
		line += " ERROR"
	}
	return line, true
}

// number is a whole number of µs that a capture may hold.
func number(v any) (int64, bool) {
	text, _ := v.(json.Number)
	n, ok := new(big.Int).SetString(string(text), 10)
	if !ok || !n.IsInt64() || n.Int64() < 0 || n.Int64() > 1<<52 {
		return 0, false
	}
	return n.Int64(), true
}

// hexText is an id of hex digits as outputs show it, "" for none.
func hexText(v any, digits int) (string, bool) {
	text, isText := v.(string)
	if v != nil && !isText || len(text) > digits || strings.Trim(text, "0123456789abcdefABCDEF") != "" {
		return "", false
	}
	if strings.Trim(text, "0") == "" {
		return "", true
	}
	return strings.Repeat("0", digits-len(text)) + strings.ToLower(text), true
}

// bare is a line of describe without its attributes.
func bare(line string) string {
	head, tail, _ := strings.Cut(line, " res=")
	quotes := 0
	for i := range tail { // the resource is three quoted texts and a number
		switch {
		case tail[i] == '"' && (i == 0 || tail[i-1] != '\\'):
			quotes++
		case tail[i] == ' ' && quotes == 6:
			if strings.HasPrefix(tail[i:], " ERROR") {
				i += len(" ERROR")
			}
			return head + " res=" + tail[:i]
		}
	}
	return line
}

func base64ID(b ...byte) string { return base64.StdEncoding.EncodeToString(b) }
