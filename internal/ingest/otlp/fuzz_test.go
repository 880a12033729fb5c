package otlp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// slowDecode reads a value with pdata and tells each span in a line: what both readers hold of it.
func slowDecode(data []byte) ([]string, error) {
	traces, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(data)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, rs := range traces.ResourceSpans().All() {
		res := map[string]string{}
		for k, v := range rs.Resource().Attributes().All() {
			if v.Type() == pcommon.ValueTypeStr {
				res[utf(k)] = utf(v.Str())
			}
		}
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				attrs := map[string]model.Value{}
				for k, v := range span.Attributes().All() {
					if x, ok := modelValue(v); ok {
						attrs[utf(k)] = x
					}
				}
				out = append(out, line(id(span.TraceID().String()), id(span.SpanID().String()), id(span.ParentSpanID().String()), utf(span.Name()), int(span.Kind()), instant(span.StartTimestamp()), instant(span.EndTimestamp()),
					utf(ss.Scope().Name()), res["service.name"], res["service.instance.id"], span.Status().Code() == ptrace.StatusCodeError, attrs))
			}
		}
	}
	return out, nil
}

func line(trace, id, parent, name string, kind int, start, end int64, scope, service, instance string, failed bool, attrs map[string]model.Value) string {
	if kind < 0 || kind > 5 {
		kind = 0
	}
	var pairs []string
	for k, v := range attrs {
		if key := model.AttrOf([]byte(k)); key != model.AttrNone {
			v = model.Typed(key, v)
		}
		if v.Kind != model.NoValue {
			pairs = append(pairs, fmt.Sprintf("%q=%d:%q", k, v.Kind, v.Text()))
		}
	}
	slices.Sort(pairs)
	return fmt.Sprintf("%s %s<%s %q %d %d..%d %q %q %q %v %v", trace, id, parent, name, kind, start, end, scope, service, instance, failed, pairs)
}

func utf(s string) string { return string([]rune(s)) }

func id(hex string) string {
	if strings.Trim(hex, "0") == "" {
		return ""
	}
	return hex
}

func instant(t pcommon.Timestamp) int64 {
	if t > math.MaxInt64 {
		return 0
	}
	return int64(t)
}

// modelValue is a scalar; lists and bytes are compared by the table tests.
func modelValue(v pcommon.Value) (x model.Value, ok bool) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		x = model.Value{Kind: model.StrValue, Str: utf(v.Str())}
	case pcommon.ValueTypeBool:
		if x.Kind = model.BoolValue; v.Bool() {
			x.Int = 1
		}
	case pcommon.ValueTypeInt:
		x = model.Value{Kind: model.IntValue, Int: v.Int()}
	case pcommon.ValueTypeDouble:
		x = model.Value{Kind: model.FloatValue, Float: v.Double()}
	default:
		return x, false
	}
	return x, true
}

// fastDecode is the same of this decoder.
func fastDecode(data []byte) (out []string, rep decode.Report) {
	b := model.NewBatch(model.NewDict(), true)
	b.ShowSensitive = true
	var d Decoder
	d.Decode(decode.Block{Data: data, Line: 1}, b, &rep)
	for i := range b.Records {
		r := &b.Records[i]
		attrs := map[string]model.Value{}
		for _, a := range b.AttrsOf(r) {
			v := model.Value{Kind: a.Kind, Int: int64(a.Bits), Str: string(b.TextOf(&a))}
			if a.Kind == model.FloatValue {
				v.Float = math.Float64frombits(a.Bits)
			}
			attrs[b.Dict.KeyName(a.Key)] = v
		}
		res := b.Dict.Res(r.Res)
		out = append(out, line(b.Dict.TraceIDText(r.Trace), b.Dict.SpanIDText(r.ID), b.Dict.SpanIDText(r.Parent), b.Dict.Str(r.Name), int(r.Kind), int64(r.Start), int64(r.End), b.Dict.Str(r.Scope),
			res.Service, res.Instance, r.Flags&model.RecordError != 0, attrs))
	}
	return out, rep
}

// lenient marks what this decoder reads on purpose and pdata does not, or in another way: keys of older versions and of answers, null for
// an element or a number, lists and bytes as text, {low,high}, and keys that are written in another way than plainly.
var lenient = regexp.MustCompile(`"(batches|trace|result|error|instrumentation\w*|deprecated\w*|low|arrayValue|array_value|kvlistValue|kvlist_value|bytesValue|bytes_value)"|null|NaN|nfinity`)

// comparable reports whether both readers are to see the same in data: one sound value, each key of an object once.
func comparable(data []byte) bool {
	if !json.Valid(data) || lenient.Match(data) {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var unique func(depth int) bool
	unique = func(depth int) bool {
		t, err := d.Token()
		if err != nil || depth > 100 {
			return false
		}
		open, ok := t.(json.Delim)
		if !ok {
			return true
		}
		seen := map[string]bool{}
		for d.More() {
			if open == '{' {
				key, err := d.Token()
				text, _ := key.(string)
				if plain := strings.ReplaceAll(strings.ToLower(text), "_", ""); err != nil || seen[plain] {
					return false
				} else {
					seen[plain] = true
				}
			}
			if !unique(depth + 1) {
				return false
			}
		}
		_, err = d.Token()
		return err == nil
	}
	return unique(0)
}

func FuzzOTLPJSON(f *testing.F) {
	f.Add([]byte(collector))
	f.Add([]byte(export(`{`+ids+`,"name":"a","startTimeUnixNano":1.75e18,"kind":"SPAN_KIND_SERVER","status":{"code":2}}`, `{"trace_id":"ASNFZ4mrze8BI0VniavN7w==","attributes":[{"value":{"intValue":7},"key":"bytes"}]}`)))
	f.Add([]byte(`{"trace":{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]},"status":"PARTIAL"}` + "\n[1]\n{\"error\":{\"message\":\"x\"}}"))
	files, _ := filepath.Glob(filepath.Join("..", "testdata", "*", "*.json*"))
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil && len(data) < 1<<14 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, rep := fastDecode(data)
		if int64(len(got)) != rep.Spans || rep.Spans < 0 || rep.Skipped > rep.ErrorCount {
			t.Fatalf("%d records, %d spans, %d skipped, %d errors", len(got), rep.Spans, rep.Skipped, rep.ErrorCount)
		}
		alike(t, reading(new(Decoder), true), reading(&Decoder{general: true}, true), data)
		want, err := slowDecode(data)
		if err != nil || len(want) == 0 || !comparable(data) {
			return
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got\n%s\nwant\n%s\nproblems: %s", strings.Join(got, "\n"), strings.Join(want, "\n"), problems(&rep))
		}
	})
}

// The collector's spelling, which the exact tier reads, against pdata.
func TestPdataAgrees(t *testing.T) {
	for n, data := range bytes.Split(bytes.TrimSpace(corpus(t, 3)), []byte("\n")) {
		got, rep := fastDecode(data)
		want, err := slowDecode(data)
		if err != nil || rep.ErrorCount != 0 || !slices.Equal(got, want) {
			t.Fatalf("line %d differs: %v, %s", n+1, err, problems(&rep))
		}
		if !comparable(data) {
			t.Fatal("the fuzz target would not compare this")
		}
	}
}
