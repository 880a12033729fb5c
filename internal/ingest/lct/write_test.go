package lct

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// How tests write recordings: msgpack as LMCache's recorder packs it.

// An object is a map whose keys keep their order.
type object []any // key, value, key, value …

func (o object) EncodeMsgpack(e *msgpack.Encoder) error {
	if err := e.EncodeMapLen(len(o) / 2); err != nil {
		return err
	}
	for _, v := range o {
		if err := e.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// without is the object without a key.
func (o object) without(key string) object {
	var out object
	for i := 0; i < len(o); i += 2 {
		if o[i] != key {
			out = append(out, o[i], o[i+1])
		}
	}
	return out
}

// with is the object with another value under a key.
func (o object) with(key string, value any) object {
	out := append(object(nil), o...)
	for i := 0; i < len(out); i += 2 {
		if out[i] == key {
			out[i+1] = value
			return out
		}
	}
	return append(out, key, value)
}

func pack(v any) []byte {
	var b bytes.Buffer
	e := msgpack.NewEncoder(&b)
	e.UseCompactInts(true)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// framed puts a length before a body.
func framed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

const calls = "lmcache.v1.distributed.storage_manager.StorageManager."

// headerOf is a header of a level as version 1 writes it.
func headerOf(level string) object {
	return object{"type", "header", "magic", []byte(magic), "format_version", 1, "level", level, "trace_schema_version", 1,
		"t_mono_start", 100.5, "t_wall_start", 1_700_000_000.25, "sm_config_json", "", "sm_config_digest", ""}
}

// oldest is a header as the first releases wrote it.
func oldest(digest string) object {
	return headerOf(Storage).without("trace_schema_version").with("sm_config_digest", digest).with("lmcache_version", "0.4.3")
}

func call(t float64, name string, args object) []byte {
	return framed(pack(object{"type", "record", "t_mono", t, "t_wall", 1_700_000_000.25 + t, "qualname", name, "args", args}))
}

func key(chunk string, more ...any) object {
	return object{"__t__", "ObjectKey", "v", append(object{"chunk_hash", []byte(chunk), "model_name", "m", "kv_rank", 0x01000100}, more...)}
}

func join(frames ...[]byte) []byte { return bytes.Join(frames, nil) }

// operations are n calls, the longest time not in the last.
func operations(n int) (frames [][]byte) {
	names := [...]string{"reserve_write", "finish_write", "submit_prefetch_task", "read_prefetched_results.__enter__", "finish_write"}
	for k := range n {
		t := 0.25 * float64(k)
		if k == n-1 {
			t = 0.25
		}
		frames = append(frames, call(t, calls+names[k%len(names)], object{"keys", []any{key(string(rune('a' + k)))}}))
	}
	return frames
}

func batch(t float64, seq int, kind, tier, backend string, shared bool, entries ...any) []byte {
	return call(t, batchName, object{"instance_id", "i-1", "incarnation", 1_700_000_000, "seq", seq, "event_type", kind, "tier", tier, "backend", backend,
		"entries", entries, "shared", shared, "ts", 1_700_000_000.25 + t, "capacity_bytes", 0, "capacity_revision", 0})
}

func chunk(hex string, size int, tokens ...any) object {
	return object{"key", object{"chunk_hash_hex", hex, "model_name", "m", "kv_rank", 1, "object_group_id", 0, "cache_salt", ""},
		"size_bytes", size, "token_ids", tokens, "token_offset", -1}
}

// eventsHeader is the header of the contract's example of level events.
func eventsHeader() []byte {
	return framed(pack(headerOf(Events).with("level_meta", object{"instance_id", "i-1", "cache_event_schema_version", 1, "lmcache_version", "0.4.9"})))
}

func lifecycle(t float64, phase string, incarnation int) []byte {
	return call(t, lifecycleName, object{"phase", phase, "instance_id", "i-1", "incarnation", incarnation, "ip", "10.0.0.7", "http_port", 8080, "mq_port", 5555})
}

// fillFrom reads a file that lies in memory.
func fillFrom(file []byte) Fill {
	return func(buf []byte, want int) ([]byte, bool) {
		n := min(max(want-len(buf), 0), len(file))
		buf = append(buf, file[:n]...)
		file = file[n:]
		return buf, len(file) == 0
	}
}

// blocks cuts a file into blocks of about size bytes.
func blocks(t testing.TB, file []byte, size int) (out []decode.Block, err error) {
	t.Helper()
	c := NewCutter(fillFrom(file), size)
	for range len(file) + 2 {
		data, offset, err := c.Next(nil)
		if err != nil {
			if err.Error() == "EOF" {
				err = nil
			}
			return out, err
		}
		out = append(out, decode.Block{Path: "day.lct", Data: data, Offset: offset})
	}
	t.Fatal("more blocks than bytes")
	return nil, nil
}

const wholeFile = 1 << 30

// count is what a recording holds, cut into blocks of about size bytes.
func count(t testing.TB, size int, frames ...[]byte) (*model.Recording, *decode.Report) {
	t.Helper()
	all, err := blocks(t, join(frames...), size)
	if err != nil {
		t.Fatal(err)
	}
	var c Counter
	var rep decode.Report
	for _, b := range all {
		if err := c.Add(b, &rep); err != nil {
			t.Fatal(err)
		}
	}
	return c.Recording(&rep), &rep
}

// points are the records of a recording as a batch holds them.
func points(t testing.TB, keepAll bool, size int, frames ...[]byte) (*model.Batch, *decode.Report) {
	t.Helper()
	all, err := blocks(t, join(frames...), size)
	if err != nil {
		t.Fatal(err)
	}
	var d Decoder
	var rep decode.Report
	dict := model.NewDict()
	dict.AddFile("day.lct")
	b := model.NewBatch(dict, keepAll)
	for _, blk := range all {
		d.Decode(blk, b, &rep)
	}
	return b, &rep
}
