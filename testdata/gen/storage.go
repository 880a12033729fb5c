package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"
)

// What lies beside the spans of the chat server: a recording of its storage manager and the hashes of its lookups.

// A call is one of the server's storage manager, which its recorder wrote down.
type call struct {
	at   int64
	name string
	args object
}

// lookedUp makes up the chunks of a lookup and records its prefetch.
func (r *request) lookedUp(from, to int64, asked, found int) {
	for range asked {
		r.chunks = append(r.chunks, r.w.hex(16))
	}
	r.call(from+90*us, "submit_prefetch_task", object{"keys", r.keys(0, asked), "layout_desc", layout, "extra_count", 0, "external_request_id", r.internal})
}

// read records that the first n chunks were read, which took until an instant.
func (r *request) read(until int64, n int) {
	r.call(until-2*ms, "read_prefetched_results.__enter__", object{"keys", r.keys(0, n)})
	r.call(until-300*us, "read_prefetched_results.__exit__", object{"keys", r.keys(0, n)})
	r.call(until-200*us, "finish_read_prefetched", object{"keys", r.keys(0, n), "extra_count", 0})
}

// stored records that the last n chunks were written.
func (r *request) stored(from int64, n int) {
	last := len(r.chunks)
	r.call(from-400*us, "reserve_write", object{"keys", r.keys(last-n, last), "layout_desc", layout, "mode", "new"})
	r.call(from+6*ms, "finish_write", object{"keys", r.keys(last-n, last)})
}

func (r *request) call(at int64, name string, args object) {
	r.calls = append(r.calls, call{at, "lmcache.v1.distributed.storage_manager.StorageManager." + name, args})
}

var layout = object{"__t__", "MemoryLayoutDesc", "v", object{"shapes", []any{[]any{2, 36, 256, 8, 128}}, "dtypes", []any{"torch.bfloat16"}}}

func (r *request) keys(lo, hi int) (out []any) {
	for _, h := range r.chunks[lo:hi] {
		hash, err := hex.DecodeString(h)
		if err != nil {
			panic(err) // made by hex
		}
		out = append(out, object{"__t__", "ObjectKey", "v", object{"chunk_hash", hash, "model_name", r.model, "kv_rank", 0x01000100, "object_group_id", 0}})
	}
	return out
}

// An object is a map whose keys keep their order: key, value, key, value …
type object []any

// EncodeMsgpack writes it as a map.
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

// framed is a message behind its length.
func framed(o object) []byte {
	var b bytes.Buffer
	e := msgpack.NewEncoder(&b)
	e.UseCompactInts(true)
	if err := e.Encode(o); err != nil {
		panic(err) // of values made here
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(b.Len())), b.Bytes()...)
}

const recorded = 12 // requests in the recording, which was on for a minute

// recording is the .lct file of the chat server.
func (w *world) recording() []byte {
	config := `{"chunk_size": 256, "l1_size_gb": 64, "l2": "fs"}`
	sum := sha256.Sum256([]byte(config))
	out := framed(object{"type", "header", "magic", []byte("LMCT"), "format_version", 1, "level", "storage", "trace_schema_version", 1, "t_mono_start", 4711.5,
		"t_wall_start", float64(epoch) / 1e9, "sm_config_json", config, "sm_config_digest", hex.EncodeToString(sum[:])})
	var all []call
	for _, r := range w.chat[:recorded] {
		all = append(all, r.calls...)
	}
	slices.SortStableFunc(all, func(a, b call) int { return cmp.Compare(a.at, b.at) })
	for _, c := range all {
		out = append(out, framed(object{"type", "record", "t_mono", float64(c.at-epoch) / 1e9, "t_wall", float64(c.at) / 1e9, "qualname", c.name, "args", c.args})...)
	}
	return out
}

// hashes is the file of lookup hashes of the same requests.
func (w *world) hashes() []byte {
	var b bytes.Buffer
	for _, r := range w.chat[:recorded] {
		if len(r.chunks) == 0 {
			continue
		}
		row := struct {
			Timestamp json.Number `json:"timestamp"`
			RequestID string      `json:"request_id"`
			Model     string      `json:"model_name"`
			ChunkSize int         `json:"chunk_size"`
			SeqLen    int         `json:"seq_len"`
			Dtypes    []string    `json:"dtypes"`
			Shapes    [][]int     `json:"shapes"`
			Hashes    []string    `json:"chunk_hashes"`
		}{json.Number(strconv.FormatFloat(float64(r.calls[0].at)/1e9, 'f', 6, 64)), r.internal, r.model, chunk, len(r.chunks) * chunk, []string{"torch.bfloat16"}, [][]int{{2, 36, 256, 8, 128}}, nil}
		for _, h := range r.chunks {
			row.Hashes = append(row.Hashes, "0x"+h)
		}
		b.Write(jsonLine(row))
	}
	return b.Bytes()
}
