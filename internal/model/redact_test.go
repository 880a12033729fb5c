package model

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// R3.6: values of secret keys never enter a batch, whatever their type, unless asked for.
func TestBatchRedacts(t *testing.T) {
	d := NewDict()
	fill := func(show bool) *Batch {
		b := NewBatch(d, true)
		b.ShowSensitive = show
		b.Begin()
		for _, key := range []string{"authorization", "gen_ai.prompt.0.content", "kv_ack.detail", "plain"} {
			b.AddText(b.Wants([]byte(key)), []byte("Bearer x"))
		}
		b.AddInt(b.Wants([]byte("token_ids")), 12345)
		b.AddBool(b.Wants([]byte("cache_salt")), true)
		b.AddFloat(b.Wants([]byte("tracestate")), 0.5)
		b.End()
		return b
	}
	text := func(b *Batch) (out []string) {
		for i := range b.Attrs {
			out = append(out, b.Dict.KeyName(b.Attrs[i].Key)+"="+string(b.TextOf(&b.Attrs[i])))
		}
		return
	}
	want := []string{"authorization=<redacted 8 bytes>", "gen_ai.prompt.0.content=<redacted 8 bytes>", "kv_ack.detail=<redacted 8 bytes>", "plain=Bearer x",
		"token_ids=<redacted 5 bytes>", "cache_salt=<redacted 4 bytes>", "tracestate=<redacted 3 bytes>"}
	got := text(fill(false))
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
	if shown := text(fill(true)); shown[0] != "authorization=Bearer x" {
		t.Errorf("shown: %q", shown[0])
	}
	if a := fill(true).Attrs[4]; a.Kind != IntValue || a.Bits != 12345 {
		t.Errorf("shown integer: %+v", a)
	}
}

func redacted(text []byte) []byte { return redactText(text, nil, 1) }

// R3.6 within JSON that is the text of an attribute: values of secret keys go, whatever they are and however the text was written or cut.
func TestRedactText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"model": "m", "cache_salt": "tenant7"}`, `{"model": "m", "cache_salt": "<redacted 7 bytes>"}`},
		{`{"token_ids":[1,[2],300],"n":3}`, `{"token_ids":"<redacted 11 bytes>","n":3}`},
		{`{"headers":{"Authorization":"Bearer x, y"},"a":1}`, `{"headers":{"Authorization":"<redacted 11 bytes>"},"a":1}`},
		{`[{"a":{"traceparent":null}}]`, `[{"a":{"traceparent":"<redacted 4 bytes>"}}]`},
		{`{"gen_ai":{"prompt":{"0":"Who"},"usage":1}}`, `{"gen_ai":{"prompt":"<redacted 11 bytes>","usage":1}}`},
		{`{"kv_ack":[{"detail":"d"}]}`, `{"kv_ack":[{"detail":"<redacted 1 bytes>"}]}`},
		{`{"body":"{\"cache_salt\":\"t\\u0065n\"}","n":1}`, `{"body":"{\"cache_salt\":\"<redacted 3 bytes>\"}","n":1}`},
		{`{"cache\u005fsalt":"ten"}`, `{"cache\u005fsalt":"<redacted 3 bytes>"}`},
		{`{"a":1,"cache_salt":"ten`, `{"a":1,"cache_salt":"<redacted 4 bytes>"`},
		{`{"token_ids": [1, {"a": "]`, `{"token_ids": "<redacted 12 bytes>"`},
		{`{'cache_salt': 'ten', 'x': "it's"}`, `{'cache_salt': "<redacted 3 bytes>", 'x': "it's"}`},
		{`{"headers":[{"name":"authorization","value":"Bearer x"},{"name":"accept","value":"*"}]}`, `{"headers":[{"name":"authorization","value":"<redacted 8 bytes>"},{"name":"accept","value":"*"}]}`},
		{`[{"key":"x-api-key","value":{"stringValue":"a"}},{"key":"n","value":{"value":1}}]`, `[{"key":"x-api-key","value":"<redacted 19 bytes>"},{"key":"n","value":{"value":1}}]`},
		{`{"kv_ack":[{"name":"detail","value":"text"},{"value":"a"}]}`, `{"kv_ack":[{"name":"detail","value":"<redacted 4 bytes>"},{"value":"a"}]}`},
		{`{'k8s': {'secret': {'name': 'n'}}}`, `{'k8s': {'secret': "<redacted 13 bytes>"}}`},
		{`don't log {"cache_salt":"ten"} like 5" of it`, `don't log {"cache_salt":"<redacted 3 bytes>"} like 5" of it`},
	} {
		if got := string(redacted([]byte(c.text))); got != c.want {
			t.Errorf("%s\n gives %s\n want %s", c.text, got, c.want)
		}
	}
	for _, plain := range []string{``, `cache_salt: x`, `{"num_token_ids": 5, "authorization_mode": "none"}`, `{"a":"{\"b\":1}"}`, `{"a": {"b": [1, 2]}}`, `{"gen_ai": {}, "prompt_tokens": "12"}`, `{"prompt": 12, "completion": null, "usage": {"prompt": "12"}}`, `{'prompt': None, 'n': 1}`, `}}]]"':{`,
		`[{"name":"prompt_tokens","value":"1"}, {"name":"prompt","value":1}, {"value":"a"}]`, `{"name":"cookie","a":{"value":"x"}}`, `{"llm":{"tokenCount":{"prompt":"12"}}}`} {
		if got := string(redacted([]byte(plain))); got != plain {
			t.Errorf("%s becomes %s", plain, got)
		}
	}
	deep := `{"cache_salt":"tenant"}`
	for range deepest + 1 {
		b, _ := json.Marshal(map[string]string{"x": deep})
		deep = string(b)
	}
	if got := redacted([]byte(deep)); bytes.Contains(got, []byte("tenant")) {
		t.Errorf("of text within text: %s", got)
	}
}

// Its time is linear in the text, whatever that is.
func TestRedactTextOfAnything(t *testing.T) {
	for _, one := range []string{`[`, `{"a":`, `"a":1,`, `"value":1,`, `{`, `'`, `{"`, `\`, `{"x":"`} {
		text := strings.Repeat(one, 1<<18/len(one))
		start := time.Now()
		redacted([]byte(text + `{"a":1,`))
		redacted([]byte(`{"name":"` + strings.Repeat("a_", 1<<17) + `",` + text))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%d times %s took %s", 1<<18/len(one), one, took)
		}
	}
}

func FuzzRedactText(f *testing.F) {
	f.Add(`{"a":{"cache_salt":"tenant"},"b":[1,{"token_ids":[2]}]}`)
	f.Add(`{"body":"{\"cache_salt\":\"x\"}"}`)
	f.Fuzz(func(t *testing.T, text string) {
		shown := redacted([]byte(text))
		if again := redacted(shown); len(again) > len(shown)+64*strings.Count(text, ":") {
			t.Errorf("%q grows to %q", shown, again)
		}
		var doc any
		if json.Unmarshal([]byte(text), &doc) != nil {
			return
		}
		if err := json.Unmarshal(shown, &doc); err != nil {
			t.Fatalf("%q becomes %q: %v", text, shown, err)
		}
		var secrets func(v any, outer bool)
		secrets = func(v any, outer bool) {
			switch v := v.(type) {
			case map[string]any:
				for key, value := range v {
					if s, ok := value.(string); !ok || !strings.HasPrefix(s, "<redacted ") {
						if secrecy := SecrecyOf(key); secrecy == Secret || secrecy == SecretText && ok && outer {
							t.Errorf("%q shows %q of %q", shown, value, key)
						}
					}
					secrets(value, false)
				}
			case []any:
				for _, value := range v {
					secrets(value, false)
				}
			}
		}
		secrets(doc, true) // further in, a key around it may say that it counts
	})
}

// What a reader, or the cut that wrote a shard, has redacted keeps the size that was said; what only looks alike has not been.
func TestRedactedOnce(t *testing.T) {
	for text, want := range map[string]string{
		`{"cache_salt":"<redacted 6 bytes>"}`:               `{"cache_salt":"<redacted 6 bytes>"}`,
		`{"cache_salt":"<redacted 6 bytes> x"}`:             `{"cache_salt":"<redacted 20 bytes>"}`,
		`{"cache_salt":"<redacted pepper bytes>"}`:          `{"cache_salt":"<redacted 23 bytes>"}`,
		`{"cache_salt":"<redacted  bytes>"}`:                `{"cache_salt":"<redacted 17 bytes>"}`,
		`{"args":"{\"token_ids\":\"<redacted 9 bytes>\"}"}`: `{"args":"{\"token_ids\":\"<redacted 9 bytes>\"}"}`,
	} {
		got := redacted([]byte(text))
		if string(got) != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
		if again := redacted(bytes.Clone(got)); !bytes.Equal(again, got) {
			t.Errorf("%s twice is %s", text, again)
		}
	}
}

// R3.6: whatever type the table has for a key, JSON in its text shows no secret; an attribute that was redacted keeps the size that was said.
func TestRedactedAttributes(t *testing.T) {
	for _, c := range []struct{ key, text, want string }{
		{"hit_tokens", `{"token_ids":[1,2,3]}`, `{"token_ids":"<redacted 7 bytes>"}`},    // a number
		{"success", `{"authorization":"abc"}`, `{"authorization":"<redacted 3 bytes>"}`}, // a truth
		{"model", `{"authorization":"abc"}`, `{"authorization":"<redacted 3 bytes>"}`},
		{"hit_tokens", "many", "many"},
		{"kv_ack", `{"detail":"abc","n":1}`, `{"detail":"<redacted 3 bytes>","n":1}`}, // kv_ack.detail
		{"gen_ai", `{"n":1,"input":{"messages":[1]}}`, `{"n":1,"input":"<redacted 16 bytes>"}`},
		{"gen_ai", `{"input":"{\"messages\":\"abcd\"}"}`, `{"input":"<redacted 19 bytes>"}`},
		{"kv_ack", `{"x":"{\"kv_ack\":{\"detail\":\"abcd\"}}"}`, `{"x":"{\"kv_ack\":{\"detail\":\"<redacted 4 bytes>\"}}"}`},
		{"other", `{"prompt":"abc"}`, `{"prompt":"<redacted 3 bytes>"}`},
		{"http.request.body", `{"messages":[{"role":"user","content":"abc"}],"max_tokens":5}`, `{"messages":"<redacted 33 bytes>","max_tokens":5}`},
		{"other", `{"headers":{"x-api-key":"abc"},"apiKey":12}`, `{"headers":{"x-api-key":"<redacted 3 bytes>"},"apiKey":"<redacted 2 bytes>"}`},
		{"error", `{'token_ids': (101, 20231), 'n': 1}`, `{'token_ids': "<redacted 12 bytes>", 'n': 1}`},
		{"error", `{'token_ids': array('l', [1, 2]), 'n': 1}`, `{'token_ids': "<redacted 18 bytes>", 'n': 1}`},
		{"error", `{'authorization': SecretStr(a='x', b='y')}`, `{'authorization': "<redacted 23 bytes>"}`},
		{"error", `{b'authorization': b'abc', u'n': 1}`, `{b'authorization': "<redacted 6 bytes>", u'n': 1}`},
		{"error", `call({"authorization": abc})`, `call({"authorization": "<redacted 3 bytes>"})`},
		{"authorization", "<redacted 6 bytes>", "<redacted 6 bytes>"},
		{"authorization", "<redacted six bytes>", "<redacted 20 bytes>"},
	} {
		b := NewBatch(NewDict(), true)
		b.Begin()
		b.AddText(b.Wants([]byte(c.key)), []byte(c.text))
		b.End()
		if got := string(b.TextOf(&b.Attrs[0])); got != c.want {
			t.Errorf("%s %s is %s, want %s", c.key, c.text, got, c.want)
		}
	}
}

func BenchmarkRedact(b *testing.B) {
	one := `{"model":"m","max_tokens":5,"headers":{"user-agent":"curl","x-request-id":"abc","authorization":"Bearer x"},"sampling_params":{"temperature":0.5,"n":1}}`
	text := []byte("[" + strings.Repeat(one+",", 100) + "{}]")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		redacted(text)
	}
}

// Escapes of a JSON text count as what they stand for, two of a pair as one character.
func TestUnquote(t *testing.T) {
	for in, want := range map[string]string{`a\u00e9b`: "aéb", `\ud83d\ude00!`: "😀!", `\ud83dx`: "\ufffdx", `\ud83d\u0041`: "\ufffdA", `\b\f\n\/\"`: "\b\f\n/\"", `\u12`: `\u12`} {
		if got := string(unquote([]byte(in))); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
