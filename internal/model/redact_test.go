package model

import "testing"

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

// R3.6 by name: as they stand, in any case, below a secret key, and behind the dot of a convention (HTTP headers as attributes).
func TestIsSecret(t *testing.T) {
	for key, want := range map[string]bool{
		"token_ids": true, "Authorization": true, "CACHE_SALT": true, "gen_ai.prompt": true, "gen_ai.prompt.0.content": true,
		"gen_ai.input.messages": true, "gen_ai.input.messages.0.content": true,
		"http.request.header.authorization": true, "kv_transfer_params.cache_salt": true, "http.request.header.traceparent": true,
		"": false, "num_token_ids": false, "token_ids_count": false, "x.gen_ai.prompt": false, "gen_ai.usage.prompt_tokens": false,
		"authorization_mode": false, "kv_ack": false,
	} {
		if got := IsSecret(key); got != want {
			t.Errorf("IsSecret(%q) = %v", key, got)
		}
	}
}
