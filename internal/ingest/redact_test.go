package ingest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// everyFormat is a span with a value as its attributes of some keys, in every format that can hold such a value: as it is written in JSON, and the same as set
// by set.
func everyFormat(t *testing.T, keys []string, written string, set func(pcommon.Value)) map[string]string {
	t.Helper()
	traces := ptrace.NewTraces()
	span := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetName("a")
	var members, tags []string
	for _, key := range keys {
		set(span.Attributes().PutEmpty(key))
		members = append(members, fmt.Sprintf(`"%s": %s`, key, written))
		tags = append(tags, fmt.Sprintf(`{"key": "%s", "value": %s}`, key, written))
	}
	otlpJSON, err := new(ptrace.JSONMarshaler).MarshalTraces(traces)
	if err != nil {
		t.Fatal(err)
	}
	otlpProto, err := new(ptrace.ProtoMarshaler).MarshalTraces(traces)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"profile lines": `{"name":"a","ts":1764432000,"dur_us":1,` + strings.Join(members, ",") + "}\n",
		"Jaeger JSON":   `{"data":[{"traceID":"1","spans":[{"traceID":"1","spanID":"1","operationName":"a","tags":[` + strings.Join(tags, ",") + "]}]}]}\n",
		"OTLP JSON":     string(otlpJSON) + "\n",
		"OTLP protobuf": string(otlpProto),
	}
}

// attributesOf are the attributes of the only span of an input: " key=value…".
func attributesOf(t *testing.T, text string, show bool) string {
	t.Helper()
	g, st := readText(t, text, Options{KeepAll: true, ShowSensitive: show})
	if len(g.lines) != 1 || st.Skipped != 0 {
		t.Fatalf("%d records of %q, %d skipped", len(g.lines), text, st.Skipped)
	}
	_, attrs, _ := strings.Cut(g.lines[0], "=")
	key := g.lines[0][:len(g.lines[0])-len(attrs)]
	return key[strings.LastIndexByte(key, ' '):] + attrs
}

// A secret has one size, whatever the format (R3.6): that of the text of a string, of any other value that of the compact JSON that --show-sensitive shows.
// It is the same within a value, and there a key that the table has a number for is no way around it.
func TestSecretsOfAllFormats(t *testing.T) {
	for _, c := range []struct {
		name, written string
		otlp          any
		shown         string // compact JSON; "" where formats differ in how they write a number
		bytes         int
	}{
		{"white space", `[1, 2,` + "\t" + `3]`, []any{1, 2, 3}, `[1,2,3]`, 7},
		{"quotes", `"a\"b\""`, `a"b"`, `"a\"b\""`, 4},
		{"only quotes", `"\"\""`, `""`, `"\"\""`, 2},
		{"a backslash at the end", `"a\\"`, `a\`, `"a\\"`, 2},
		{"escapes", `"\u00e9\n\/\ud83d\ude00"`, "é\n/😀", `"é\u000a/😀"`, 8}, // 2 + 1 + 1 + 4
		{"no text", `""`, "", `""`, 0},
		{"strings of a list", `["\u00e9", "\t\""]`, []any{"é", "\t\""}, `["é","\u0009\""]`, 17},                           // [ 1, "é" 4, comma 1, "\u0009\"" 10, ] 1
		{"an object", `{"k": ["v\u0001", null]}`, map[string]any{"k": []any{"v\x01", nil}}, `{"k":["v\u0001",null]}`, 22}, // {"k":[ 6, "v\u0001" 9, comma 1, null 4, ]} 2
		{"a secret in a secret", `{"token_ids": [ ]}`, map[string]any{"token_ids": []any{}}, `{"token_ids":[]}`, 16},
		{"no items", `{ }`, map[string]any{}, `{}`, 2},
		{"a number", `-12`, -12, `-12`, 3},
		{"a fraction", `7.25`, 7.25, `7.25`, 4},
		{"no number", `NaN`, math.NaN(), "", 3},
		{"less than any", `-Infinity`, math.Inf(-1), "", 9},
		{"a truth", `false`, false, `false`, 5},
		{"null", `null`, nil, `null`, 4},
		{"bytes", `"AQI="`, []byte{1, 2}, `"AQI="`, 4},
		{"redacted before", `"<redacted 6 bytes>"`, "<redacted 6 bytes>", `"<redacted 6 bytes>"`, 6},
	} {
		raw := func(v pcommon.Value) {
			if err := v.FromRaw(c.otlp); err != nil {
				t.Fatal(err)
			}
		}
		redacted := fmt.Sprintf("<redacted %d bytes>", c.bytes)
		switch c.name {
		case "null": // is no attribute
		case "less than any": // is counted as -Inf
		case "redacted before": // is text like any other
		default:
			for format, text := range everyFormat(t, []string{"token_ids"}, c.written, raw) {
				if got := attributesOf(t, text, false); got != " token_ids="+redacted {
					t.Errorf("%s, %s:%s", c.name, format, got)
				}
			}
		}
		for _, key := range []string{"token_ids", "http.request.header.Authorization", "gen_ai.prompt.0.content"} {
			nested := func(v pcommon.Value) {
				m := v.SetEmptyMap()
				raw(m.PutEmptySlice("list").AppendEmpty().SetEmptyMap().PutEmpty(key))
				m.PutInt("n", 1)
			}
			for format, text := range everyFormat(t, []string{"args", "hit_tokens"}, `{"list": [{"`+key+`": `+c.written+`}], "n": 1}`, nested) {
				for show, value := range map[bool]string{false: `"` + redacted + `"`, true: c.shown} {
					want := `{"list":[{"` + key + `":` + value + `}],"n":1}`
					if got := attributesOf(t, text, show); value != "" && got != " args="+want+" hit_tokens="+want {
						t.Errorf("%s, %s:\ngot  %s\nwant %s", c.name, format, got, want)
					}
				}
			}
		}
	}
}

// Control characters in keys and values of an attribute, and whatever else JSON wants escaped, leave it JSON.
func TestNestedKeysAreJSON(t *testing.T) {
	const object = `{"x\u0001y": "\u0002\u007f", "\"\\\u0000\n": [ ], "caf\u00e9\u2028": {"\u001f": "\u00a0"}}`
	set := func(v pcommon.Value) {
		m := v.SetEmptyMap()
		m.PutStr("x\x01y", "\x02\x7f")
		m.PutEmptySlice("\"\\\x00\n")
		m.PutEmptyMap("café\u2028").PutStr("\x1f", "\u00a0")
	}
	const want = `{"x\u0001y":"\u0002` + "\x7f" + `","\"\\\u0000\u000a":[],"café` + "\u2028" + `":{"\u001f":"` + "\u00a0" + `"}}`
	if !json.Valid([]byte(want)) {
		t.Fatal("no JSON")
	}
	for format, text := range everyFormat(t, []string{"args"}, object, set) {
		if got := attributesOf(t, text, false); got != " args="+want {
			t.Errorf("%s:\ngot  %q\nwant %q", format, got, want)
		}
	}
}
