package lct

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// corpus is a block of about 4 MiB with calls of so many keys, and how many records it has.
func corpus(keys int) (decode.Block, int64) {
	file, n := framed(pack(headerOf(Storage))), int64(0)
	names := [...]string{"reserve_write", "finish_write", "submit_prefetch_task", "read_prefetched_results.__enter__", "read_prefetched_results.__exit__", "finish_read_prefetched"}
	for ; len(file) < 4<<20; n++ {
		var list []any
		for k := range keys {
			hash := binary.BigEndian.AppendUint64(make([]byte, 24), (uint64(n)*uint64(keys)+uint64(k))*0x9e3779b97f4a7c15)
			list = append(list, object{"__t__", "ObjectKey", "v", object{"chunk_hash", hash, "model_name", "meta-llama/Llama-3.1-8B", "kv_rank", 0x01000100, "object_group_id", 0}})
		}
		file = append(file, call(float64(n)*0.001, calls+names[n%6], object{"keys", list, "external_request_id", fmt.Sprintf("cmpl-%08x-0", n/6)})...)
	}
	return decode.Block{Data: file}, n
}

func benchKeys(b *testing.B, run func(blk decode.Block) int64) {
	for _, keys := range []int{1, 8, 40} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			blk, n := corpus(keys)
			if have := run(blk); have != n {
				b.Fatalf("%d records, want %d", have, n)
			}
			b.SetBytes(int64(len(blk.Data)))
			b.ReportAllocs()
			for b.Loop() {
				run(blk)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// BenchmarkDecode makes points, as report does.
func BenchmarkDecode(b *testing.B) {
	var d Decoder
	batch := model.NewBatch(model.NewDict(), false)
	benchKeys(b, func(blk decode.Block) int64 {
		var rep decode.Report
		batch.Reset()
		d.Decode(blk, batch, &rep)
		return rep.Records
	})
}

// BenchmarkCount counts, as lct info does, with all keys.
func BenchmarkCount(b *testing.B) {
	var c Counter
	benchKeys(b, func(blk decode.Block) int64 {
		var rep decode.Report
		if err := c.Add(blk, &rep); err != nil {
			b.Fatal(err)
		}
		return rep.Records
	})
}

// BenchmarkEvents counts batches whose entries hold the tokens of a chunk.
func BenchmarkEvents(b *testing.B) {
	file, n, tokens := eventsHeader(), int64(0), []any{}
	for i := range 256 {
		tokens = append(tokens, 1000+i*37)
	}
	for ; len(file) < 4<<20; n++ {
		file = append(file, batch(float64(n), int(n)+1, "store", "l1", "dram", false, chunk(fmt.Sprintf("%064x", n), 1<<25, tokens...))...)
	}
	var c Counter
	blk := decode.Block{Data: file}
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		var rep decode.Report
		if err := c.Add(blk, &rep); err != nil || rep.Records != n {
			b.Fatal(err, rep.Records)
		}
	}
}

// BenchmarkMsgpack decodes the same records into structs with package msgpack.
func BenchmarkMsgpack(b *testing.B) {
	type tagged struct {
		Tag string `msgpack:"__t__"`
		V   struct {
			Chunk []byte `msgpack:"chunk_hash"`
			Model string `msgpack:"model_name"`
			Rank  int64  `msgpack:"kv_rank"`
			Group int64  `msgpack:"object_group_id"`
		} `msgpack:"v"`
	}
	type record struct {
		Type     string  `msgpack:"type"`
		Mono     float64 `msgpack:"t_mono"`
		Wall     float64 `msgpack:"t_wall"`
		Qualname string  `msgpack:"qualname"`
		Args     struct {
			Keys    []tagged `msgpack:"keys"`
			Request string   `msgpack:"external_request_id"`
		} `msgpack:"args"`
	}
	benchKeys(b, func(blk decode.Block) (n int64) {
		data := blk.Data[prefix+binary.BigEndian.Uint32(blk.Data):]
		for len(data) > 0 {
			size := prefix + int(binary.BigEndian.Uint32(data))
			var r record
			if err := msgpack.Unmarshal(data[prefix:size], &r); err != nil {
				b.Fatal(err)
			}
			n++
			data = data[size:]
		}
		return n
	})
}

// Records take no memory of their own.
func TestAllocations(t *testing.T) {
	for _, keys := range []int{1, 8, 40} {
		blk, n := corpus(keys)
		var d Decoder
		batch := model.NewBatch(model.NewDict(), false)
		if per := testing.AllocsPerRun(3, func() {
			var rep decode.Report
			batch.Reset()
			d.Decode(blk, batch, &rep)
		}); per > 20 {
			t.Errorf("%d keys: %v allocations for %d points", keys, per, n)
		}
		var c Counter
		if per := testing.AllocsPerRun(3, func() {
			var rep decode.Report
			if err := c.Add(blk, &rep); err != nil {
				t.Fatal(err)
			}
		}); per > 20 {
			t.Errorf("%d keys: %v allocations for %d records counted", keys, per, n)
		}
	}
}
