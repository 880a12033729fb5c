package lct

import (
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// CONTRACT-lmcache 2.4, 2.5: where keys stand in the arguments of all versions, and what makes two of them the same.
func TestKeys(t *testing.T) {
	keys := func(n int) []any {
		var out []any
		for i := range n {
			out = append(out, key(string(rune('a'+i)), "object_group_id", 0))
		}
		return out
	}
	layout := object{"__t__", "MemoryLayoutDesc", "v", object{"shapes", []any{[]any{2, 32, 256}}, "dtypes", []any{"torch.float16"}}}
	deep := any(key("a"))
	for range nested + 5 {
		deep = []any{deep}
	}
	for _, c := range []struct {
		name   string
		args   object
		unique int64
		places int64
	}{
		{"none", object{}, 0, 0},
		{"old prefetch", object{"keys", keys(3), "layout_desc", layout, "extra_count", 0, "external_request_id", "r"}, 3, 3},
		{"prefetch by a spec", object{"spec", object{"__t__", "PrefetchRequestSpec", "v", object{"keys", keys(2), "policy", object{"__t__", "TrimPolicy", "v", "PREFIX"},
			"attn_desc", object{"__t__", "AttnWindowDesc", "v", object{"num_chunks_in_sw", []any{-1}, "world_size", 1}}, "group_layout_descs", object{"0", layout}}},
			"external_request_id", "r"}, 2, 2},
		{"an unknown tag", object{"spec", object{"__t__", "PrefetchTaskSpec", "v", object{"key_groups", []any{keys(2), keys(1)}}}, "skip_l2", true}, 2, 3},
		{"in a tuple and a set", object{"keys", object{"__t__", "tuple", "v", []any{key("a"), object{"__t__", "set", "v", keys(2)}}}}, 2, 3},
		{"mixed windows: three object groups", object{"keys", []any{key("a", "object_group_id", 0), key("a", "object_group_id", 1), key("a", "object_group_id", 2)}}, 3, 3},
		{"absent is 0 and empty", object{"keys", []any{key("a"), key("a", "object_group_id", 0), key("a", "object_group_id", 0, "cache_salt", "")}}, 1, 3},
		{"salts", object{"keys", []any{key("a"), key("a", "cache_salt", "x"), key("a", "cache_salt", "y")}}, 3, 3},
		{"hashes of 1 and of 3 bytes, any rank", object{"keys", []any{
			object{"__t__", "ObjectKey", "v", object{"chunk_hash", []byte{1}, "model_name", "m", "kv_rank", 42}},
			object{"__t__", "ObjectKey", "v", object{"chunk_hash", []byte{1, 0, 0}, "model_name", "m", "kv_rank", 42}}}}, 2, 2},
		{"models and ranks", object{"keys", []any{
			object{"__t__", "ObjectKey", "v", object{"chunk_hash", []byte{1}, "model_name", "m", "kv_rank", 1}},
			object{"__t__", "ObjectKey", "v", object{"chunk_hash", []byte{1}, "model_name", "n", "kv_rank", 1}},
			object{"__t__", "ObjectKey", "v", object{"chunk_hash", []byte{1}, "model_name", "m", "kv_rank", 2}}}}, 3, 3},
		{"another order", object{"keys", []any{key("a"), object{"v", object{"kv_rank", 0x01000100, "model_name", "m", "chunk_hash", []byte("a")}, "__t__", "ObjectKey"}}}, 1, 2},
		{"tags are part of a key", object{"keys", []any{key("a"), key("a", "tags", []any{"t"}), key("a", "tags", []any{"u"}), key("a", "tags", []any{"t"})}}, 3, 4},
		{"a payload that is no map", object{"keys", []any{object{"__t__", "ObjectKey", "v", 7}}}, 0, 0},
		{"deeper than is looked", object{"keys", deep}, 0, 0},
	} {
		frames := [][]byte{framed(pack(headerOf(Storage))), call(0, calls+"x", c.args), call(1, calls+"x", c.args)}
		r, _ := count(t, wholeFile, frames...)
		if r.UniqueKeys != model.Some(c.unique) || r.KeysError.OK {
			t.Errorf("%s: %v keys, want %d exactly", c.name, r.UniqueKeys, c.unique)
		}
		found := map[string]bool{}
		_, args := slowRecords(join(frames...))
		slowKeys(args[0], 0, found)
		if int64(len(found)) != c.unique {
			t.Errorf("%s: the slow way finds %d keys, want %d", c.name, len(found), c.unique)
		}
		b, _ := points(t, true, wholeFile, frames...)
		for _, a := range b.AttrsOf(&b.Records[0]) {
			if b.Dict.KeyName(a.Key) == "n_keys" && int64(a.Bits) != c.places {
				t.Errorf("%s: n_keys %d, want %d", c.name, a.Bits, c.places)
			}
		}
	}
}

// A chunk has one identity in calls and in events.
func TestKeysOfEvents(t *testing.T) {
	var h keyHasher
	var fromCall, fromEvent uint64
	f := keyFinder{found: func(k *objKey) { fromCall = h.sum(k) }}
	f.walk(pack(key("\x01\x02", "object_group_id", 3, "cache_salt", "s")), 0, 0)
	var k objKey
	for _, digits := range []string{"0102", "0x0102"} {
		eventKey(pack(object{"chunk_hash_hex", digits, "model_name", "m", "kv_rank", 0x01000100, "object_group_id", 3, "cache_salt", "s"}), &k, nil)
		if fromEvent = h.sum(&k); fromEvent != fromCall || fromCall == 0 {
			t.Errorf("%s: %x in an event, %x in a call", digits, fromEvent, fromCall)
		}
	}
}

// A field of an unusual kind tells keys apart too, in calls and in events (found by FuzzLCT).
func TestOddKeys(t *testing.T) {
	odd := func(salt any) object {
		return object{"chunk_hash_hex", "0102", "model_name", "m", "kv_rank", 1, "object_group_id", 0, "cache_salt", salt}
	}
	r, _ := count(t, wholeFile, eventsHeader(), batch(1, 1, "store", "l1", "dram", false, chunk("01", 1).with("key", odd("")), chunk("01", 1).with("key", odd(0)), chunk("01", 1).with("key", odd("")), chunk("01", 1).with("key", nil)))
	if r.UniqueKeys != model.Some(2) {
		t.Errorf("%v keys of events, want 2", r.UniqueKeys)
	}
	r, _ = count(t, wholeFile, framed(pack(headerOf(Storage))), call(1, calls+"x", object{"keys", []any{key("a", "cache_salt", ""), key("a", "cache_salt", 0), key("b", "cache_salt", 0), key("b", "cache_salt", ""), key("a", "cache_salt", 0)}}))
	if r.UniqueKeys != model.Some(4) {
		t.Errorf("%v keys of calls, want 4", r.UniqueKeys)
	}
}
