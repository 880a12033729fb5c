package lct

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

func TestHeaderVersions(t *testing.T) {
	for _, c := range []struct {
		name    string
		header  object
		level   string
		schema  model.Opt
		lmcache string
	}{
		{"oldest", oldest(""), Storage, model.Opt{}, "0.4.3"},
		{"schema 1", headerOf(Storage), Storage, model.Some(1), ""},
		{"schema 2", headerOf(Storage).with("trace_schema_version", 2), Storage, model.Some(2), ""},
		{"events", headerOf(Events), Events, model.Some(1), ""},
		{"a later level", headerOf("mq"), "mq", model.Some(1), ""},
		{"unknown keys", headerOf(Storage).with("later", []any{1, object{"a", nil}}), Storage, model.Some(1), ""},
		{"other order", object{"magic", []byte(magic), "sm_config_json", strings.Repeat("x", 70_000), "format_version", 1, "level", Storage, "type", "header"}, Storage, model.Opt{}, ""},
	} {
		b := framed(pack(c.header))
		h, n, err := ReadHeader(append(b, "and more"...))
		if err != nil || n != len(b) || h.Level != c.level || h.Schema != c.schema || h.LMCache != c.lmcache {
			t.Errorf("%s: %+v, %d of %d bytes, %v", c.name, h, n, len(b), err)
		}
		if _, ok, err := Sniff(b[:min(len(b), 4096)], len(b) <= 4096); !ok || err != nil {
			t.Errorf("%s: sniffed %v, %v", c.name, ok, err)
		}
	}
}

func TestHeaderDamage(t *testing.T) {
	whole := framed(pack(headerOf(Storage)))
	for _, c := range []struct {
		name string
		file []byte
		is   error
		says string
	}{
		{"wrong magic", framed(pack(headerOf(Storage).with("magic", []byte("WRNG")))), decode.ErrUnknownFormat, "another magic than LMCT"},
		{"format_version 2", framed(pack(headerOf(Storage).with("format_version", 2))), decode.ErrVersion, "format_version 2, want 1"},
		{"no format_version", framed(pack(headerOf(Storage).without("format_version"))), decode.ErrVersion, "format_version 0, want 1"},
		{"a record first", call(1, calls+"finish_write", nil), decode.ErrUnknownFormat, "no header"},
		{"cut", whole[:100], decode.ErrTruncated, "header: ends in the middle"},
		{"a length of 0xffffffff", append([]byte("\xff\xff\xff\xff"), whole[prefix:]...), nil, "length 4294967295 is over the 16 MiB limit"},
		{"a map without an end", framed(append([]byte("\xdf\xff\xff\xff\xff"), pack(headerOf(Storage))[1:]...)), decode.ErrUnknownFormat, "no header"},
	} {
		_, ok, err := Sniff(c.file, true)
		if !ok || err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: sniffed %v, %v; want %q", c.name, ok, err, c.says)
		}
		if _, err := blocks(t, c.file, wholeFile); err == nil {
			t.Errorf("%s: cut into blocks", c.name)
		}
	}
	for _, other := range [][]byte{nil, []byte("{}"), []byte("\x00\x00\x00\x05\x0a\x03\x0a\x01\x00"), []byte("this is not a recording\n"), append([]byte{0, 0, 0, 20}, pack(object{"name", "x", "value", 7})...)} {
		if _, ok, _ := Sniff(other, true); ok {
			t.Errorf("%q looks like a recording", other)
		}
	}
	if _, ok, err := Sniff(whole[:100], false); !ok || err != nil { // the rest is still to come
		t.Errorf("the beginning of a header: %v, %v", ok, err)
	}
}

// R3.6; and what has no place in JSON.
func TestLevelMeta(t *testing.T) {
	deep := any(1)
	for range maxDepth + 1 {
		deep = []any{deep}
	}
	long := strings.Repeat("é", maxWord)
	for key, c := range map[string]struct {
		value any
		want  string // as JSON; "" for none
	}{
		"n": {7, `7`}, "f": {0.5, `0.5`}, "yes": {true, `true`}, "none": {nil, `null`}, "list": {[]any{1, "a"}, `[1,"a"]`}, "u": {uint64(1 << 63), `9223372036854775808`},
		"bytes": {[]byte("\xff\x01"), `"ff01"`}, "nan": {[]any{math.NaN()}, `[null]`}, "deep": {deep, ``}, "long": {long, `"` + long + `"`},
		"map":        {object{"x", -3, "cache_salt", "tenant7"}, `{"cache_salt":"<redacted 7 bytes>","x":-3}`},
		"cache_salt": {"tenant7", `"<redacted 7 bytes>"`}, "prompt": {"who", `"<redacted 3 bytes>"`}, "input": {7, `7`}, "xApiKey": {12, `"<redacted 2 bytes>"`},
		"messages": {[]any{object{"role", "user"}}, `"<redacted 17 bytes>"`}, // [{"role":"user"}]
		"tools":    {object{"content", "who<", "output", true, "prompt_tokens", 9}, `{"content":"<redacted 4 bytes>","output":true,"prompt_tokens":9}`},
		"config":   {`{"api_key":"sk-1","prompt":"who"}`, `"{\"api_key\":\"<redacted 4 bytes>\",\"prompt\":\"<redacted 3 bytes>\"}"`},
		"d":        {`{'password': 'p'}`, `"{'password': \"<redacted 1 bytes>\"}"`},
		"llm":      {object{"headers", object{"a", "b"}, "n", 1}, `{"headers":"<redacted 9 bytes>","n":1}`}, // llm.headers, {"a":"b"}
		"kv_ack":   {object{"detail", "text"}, `{"detail":"<redacted 4 bytes>"}`},
	} {
		h, _, err := ReadHeader(framed(pack(headerOf(Events).with("level_meta", object{key, c.value}))))
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		e := json.NewEncoder(&got)
		e.SetEscapeHTML(false)
		if err := e.Encode(h.Meta); err != nil {
			t.Fatal(err)
		}
		want := `{"` + key + `":` + c.want + "}\n"
		if c.want == "" {
			want = "{}\n"
		}
		if got.String() != want {
			t.Errorf("level_meta %swant %s", &got, want)
		}
	}
	if h, _, _ := ReadHeader(framed(pack(headerOf(Events).with("level_meta", "a text")))); h.Meta != nil {
		t.Errorf("level_meta %#v", h.Meta)
	}
	// A map of 65536 pairs that are not there takes no memory.
	body := append(pack(headerOf(Events).with("level_meta", 1)), 0)
	body = append(bytes.TrimSuffix(body, []byte{1, 0}), 0xde, 0xff, 0xff)
	if _, _, err := ReadHeader(framed(body)); err == nil {
		t.Error("a header with a map that does not end is taken")
	}
}
