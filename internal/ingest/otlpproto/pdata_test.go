package otlpproto

import (
	"encoding/base64"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/cbtrace/cbtrace/internal/model"
)

// slowDecode reads a message with pdata and returns each span in the words of describe, all attributes kept and shown.
func slowDecode(data []byte) ([]string, error) {
	traces, err := new(ptrace.ProtoUnmarshaler).UnmarshalTraces(data)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, rs := range traces.ResourceSpans().All() {
		var r model.Resource
		for k, v := range rs.Resource().Attributes().All() {
			switch k {
			case "service.instance.id":
				r.Instance = scalarText(v)
			case "service.name":
				r.Service = scalarText(v)
			case "host.name":
				r.Host = scalarText(v)
			case "process.pid":
				r.PID, _ = model.Typed(model.AttrPID, modelValue(v)).Whole()
			}
		}
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				out = append(out, describeSpan(r, ss.Scope().Name(), span))
			}
		}
	}
	return out, nil
}

func describeSpan(r model.Resource, scope string, span ptrace.Span) string {
	var s strings.Builder
	id := func(hex string) string {
		if strings.Trim(hex, "0") == "" {
			return ""
		}
		return hex
	}
	kind := span.Kind()
	if kind < 0 || kind > 5 {
		kind = 0
	}
	when := func(t pcommon.Timestamp) pcommon.Timestamp {
		if t > math.MaxInt64 {
			return 0
		}
		return t
	}
	fmt.Fprintf(&s, "%s %s<%s %q kind=%d %d..%d scope=%q res=%q,%q,%q,%d", id(span.TraceID().String()), id(span.SpanID().String()), id(span.ParentSpanID().String()), utf(span.Name()), kind,
		when(span.StartTimestamp()), when(span.EndTimestamp()), utf(scope), r.Instance, r.Service, r.Host, r.PID)
	if span.Status().Code() == ptrace.StatusCodeError {
		s.WriteString(" ERROR")
	}
	for k, v := range span.Attributes().All() {
		k = utf(k)
		if v.Type() == pcommon.ValueTypeEmpty || depthOf(v) > maxDepth {
			continue
		}
		key := model.AttrOf([]byte(k))
		if key == model.AttrNone {
			key = model.NumAttrs
		}
		switch x := model.Typed(key, modelValue(v)); x.Kind {
		case model.StrValue:
			fmt.Fprintf(&s, " %s=%q", k, x.Str)
		case model.FloatValue:
			fmt.Fprintf(&s, " %s=%v", k, x.Float)
		case model.BoolValue:
			fmt.Fprintf(&s, " %s=%v", k, x.Int != 0)
		case model.IntValue:
			fmt.Fprintf(&s, " %s=%v", k, x.Int)
		}
	}
	return s.String()
}

func utf(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func depthOf(v pcommon.Value) int {
	deepest := 0
	switch v.Type() {
	case pcommon.ValueTypeSlice:
		for _, item := range v.Slice().All() {
			deepest = max(deepest, depthOf(item))
		}
	case pcommon.ValueTypeMap:
		for _, item := range v.Map().All() {
			deepest = max(deepest, depthOf(item))
		}
	default:
		return 0
	}
	return deepest + 1
}

func modelValue(v pcommon.Value) model.Value {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return model.Value{Kind: model.StrValue, Str: utf(v.Str())}
	case pcommon.ValueTypeBool:
		x := model.Value{Kind: model.BoolValue}
		if v.Bool() {
			x.Int = 1
		}
		return x
	case pcommon.ValueTypeInt:
		return model.Value{Kind: model.IntValue, Int: v.Int()}
	case pcommon.ValueTypeDouble:
		return model.Value{Kind: model.FloatValue, Float: v.Double()}
	case pcommon.ValueTypeBytes:
		return model.Value{Kind: model.StrValue, Str: base64.StdEncoding.EncodeToString(v.Bytes().AsRaw())}
	}
	return model.Value{Kind: model.StrValue, Str: jsonText(v)}
}

func scalarText(v pcommon.Value) string {
	switch v.Type() {
	case pcommon.ValueTypeStr, pcommon.ValueTypeBool, pcommon.ValueTypeInt, pcommon.ValueTypeDouble:
		return modelValue(v).Text()
	}
	return ""
}

func jsonText(v pcommon.Value) string {
	quote := func(s string) string {
		var q strings.Builder
		for _, r := range utf(s) {
			switch {
			case r == '"' || r == '\\':
				q.WriteByte('\\')
				q.WriteRune(r)
			case r < 0x20:
				fmt.Fprintf(&q, "\\u%04x", r)
			default:
				q.WriteRune(r)
			}
		}
		return `"` + q.String() + `"`
	}
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		return "null"
	case pcommon.ValueTypeDouble:
		if f := v.Double(); math.IsNaN(f) {
			return `"NaN"`
		} else if math.IsInf(f, 0) {
			return quote(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64)+"inity", "+"))
		}
		return modelValue(v).Text()
	case pcommon.ValueTypeSlice:
		var items []string
		for _, item := range v.Slice().All() {
			items = append(items, jsonText(item))
		}
		return "[" + strings.Join(items, ",") + "]"
	case pcommon.ValueTypeMap:
		var items []string
		for k, item := range v.Map().All() {
			items = append(items, quote(k)+":"+jsonText(item))
		}
		return "{" + strings.Join(items, ",") + "}"
	case pcommon.ValueTypeStr, pcommon.ValueTypeBytes:
		return quote(modelValue(v).Text())
	}
	return modelValue(v).Text()
}

// comparable reports whether pdata's reading of data is the standard: not for what we read and it does not (Tempo's answer, field 1000),
// nor for what only we refuse (groups, field numbers and integers past their range).
func comparable(data []byte, problems string) bool {
	for _, e := range []error{errGroup, errTag, errVarint} {
		if strings.Contains(problems, e.Error()) {
			return false
		}
	}
	old := false
	each := func(p []byte, visit func(f field, p []byte)) {
		for i := 0; i < len(p); {
			f, err := next(p, i)
			if err != nil {
				return
			}
			if f.typ == wireLen {
				visit(f, p[f.lo:f.hi])
			}
			i = f.hi
		}
	}
	each(data, func(f field, p []byte) {
		if f.num == fieldResourceSpans {
			old = old || isTrace(p)
			each(p, func(f field, _ []byte) { old = old || f.num == fieldOldScopes })
		}
	})
	return !old
}

func compare(t *testing.T, data []byte) {
	t.Helper()
	got, rep := decodeShown(t, data)
	want, err := slowDecode(data)
	if err != nil || !comparable(data, texts(rep)) {
		return
	}
	if len(got) != len(want) {
		t.Fatalf("%d spans, pdata has %d; %s", len(got), len(want), texts(rep))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("span %d\ngot  %s\nwant %s", i, got[i], want[i])
		}
	}
	if rep.Skipped != 0 {
		t.Fatalf("skipped %d, pdata none: %s", rep.Skipped, texts(rep))
	}
	if records, cut, ok := Walk(data); records != len(want) || cut || !ok {
		t.Fatalf("Walk: %d records, cut %v, ok %v; pdata has %d spans", records, cut, ok, len(want))
	}
}

func testFiles(t testing.TB) map[string][]byte {
	files, err := filepath.Glob("testdata/*.pb")
	if err != nil || len(files) < 7 {
		t.Fatalf("%v, %v", files, err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(f)] = data
	}
	return all
}

// Every file, as it is and as pdata writes it again (descending order), reads as pdata reads it.
func TestAgainstPdata(t *testing.T) {
	for name, data := range testFiles(t) {
		t.Run(name, func(t *testing.T) {
			compare(t, data)
			want, _ := slowDecode(data)
			if len(want) == 0 && name != "proto-scope-field-1000.pb" {
				t.Fatal("pdata reads no span")
			}
			traces, _ := new(ptrace.ProtoUnmarshaler).UnmarshalTraces(data)
			again, err := new(ptrace.ProtoMarshaler).MarshalTraces(traces)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, again)
		})
	}
}

func FuzzOTLPProto(f *testing.F) {
	for _, data := range testFiles(f) {
		if len(data) < 4096 {
			f.Add(data)
		}
	}
	f.Add(request(resourceOf(pair("service.name", strValue("a"))), "s", fullSpan(pair("n_polls", intValue(4)), pair("list", arrayValue(listValue(pair("k", floatValue(0.5))))))))
	f.Add(msg{length(1, request(nil, "s", fullSpan())), number(3, 1), text(4, "why")}.bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		compare(t, data)
	})
}
