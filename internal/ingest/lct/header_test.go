package lct

import (
	"bytes"
	"errors"
	"reflect"
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
	h, _, err := ReadHeader(framed(pack(headerOf(Events).with("level_meta", object{"n", 7, "f", 0.5, "yes", true, "none", nil, "list", []any{1, "a"}, "map", object{"x", -3, "cache_salt", "tenant7"},
		"cache_salt", "tenant7", "prompt", "who", "input", 7, "xApiKey", 12, "tools", object{"content", "who", "output", true, "prompt_tokens", 9}, "bytes", []byte("\xff\x01"), "deep", deep, "u", uint64(1 << 63)}))))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"n": int64(7), "f": 0.5, "yes": true, "none": nil, "list": []any{int64(1), "a"}, "map": map[string]any{"x": int64(-3), "cache_salt": "<redacted>"},
		"cache_salt": "<redacted 8 bytes>", "prompt": "<redacted 4 bytes>", "input": int64(7), "xApiKey": "<redacted 1 bytes>",
		"tools": map[string]any{"content": "<redacted>", "output": true, "prompt_tokens": int64(9)}, "bytes": "ff01", "u": uint64(1 << 63)}
	if !reflect.DeepEqual(h.Meta, want) {
		t.Errorf("level_meta %#v\nwant %#v", h.Meta, want)
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
