package lct

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// FuzzLCT reads recordings with two bodies of records and what follows them, whole and in blocks, as counts and as points: all ends, takes memory by what
// is there, and agrees with the slow reader.
func FuzzLCT(f *testing.F) {
	headers := [][]byte{framed(pack(headerOf(Storage))), eventsHeader(), framed(pack(headerOf("mq"))), framed(pack(oldest("c")))}
	body := func(frame []byte) []byte { return frame[prefix:] }
	samples, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "lct", "*.lct"))
	if err != nil || len(samples) == 0 {
		f.Fatal("no samples", err)
	}
	for _, name := range samples {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		_, n, _ := ReadHeader(b)
		f.Add(byte(0), body(operations(1)[0]), body(operations(2)[1]), b[n:], uint16(300))
	}
	odd := call(1, calls+"x", object{"a", object{"v", object{"chunk_hash", "x", "more", 1}, "__t__", "ObjectKey"}, "token_ids", "1 2 3", "f", 0.5, "n", nil, "t", true})
	f.Add(byte(0), body(odd), []byte{}, join(operations(5)...), uint16(1))
	f.Add(byte(1), body(batch(1, 1, "store", "l1", "dram", false, chunk("0102", 10, 1, 2))), body(batch(1, 7, "access", "l1", "", true, chunk("zz", 10))), lifecycle(0, "start", 5), uint16(100))
	f.Add(byte(2), body(odd), body(lifecycle(0, "stop", 5)), []byte("\xff\xff\xff\xff"), uint16(100))
	f.Add(byte(3), []byte("0000000000"), body(odd), join(operations(3)...)[20:], uint16(50))
	f.Fuzz(func(t *testing.T, level byte, first, second, rest []byte, size uint16) {
		file := join(headers[int(level)%len(headers)], framed(first), framed(second), rest)
		h, n, err := ReadHeader(file)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		whole, rep := count(t, wholeFile, file)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20+100*uint64(len(file)) {
			t.Errorf("%d bytes taken for a file of %d", took, len(file))
		}
		cut, cutRep := count(t, int(size), file)
		same(t, whole, cut, rep, cutRep)
		b, points := points(t, true, int(size), file)
		if points.Records != rep.Records || points.Skipped != rep.Skipped || points.Truncated != rep.Truncated || int64(len(b.Records)) != rep.Records || points.Sequences.Lost() != rep.Sequences.Lost() {
			t.Errorf("%d points, %+v; counted %+v", len(b.Records), points, rep)
		}
		for i := range b.Records {
			if p := b.Records[i].Pos; p < int64(n) || p >= int64(len(file)) {
				t.Errorf("a record at %d of %d", p, len(file))
			}
		}
		if !h.Oldest() {
			slow(t, h.Level, file, whole)
		}
	})
}

// FuzzHeader reads damaged headers: what is taken is what the magic and the version say, and nothing is taken by a length.
func FuzzHeader(f *testing.F) {
	f.Add(framed(pack(headerOf(Storage))), []byte{})
	f.Add(eventsHeader(), lifecycle(0, "start", 5))
	f.Add(framed(pack(oldest("c"))), []byte("x"))
	f.Add(framed(pack(headerOf(Events).with("level_meta", object{"a", []any{1, object{"b", 0.5}}, "c", []byte("\xff")}))), []byte{})
	f.Add(framed(pack(headerOf(Events).with("level_meta", object{"prompt", "who", "a", `{"api_key":"sk-1"}`}))), []byte{})
	f.Fuzz(func(t *testing.T, header, rest []byte) {
		file := join(header, rest)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h, n, err := ReadHeader(file)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20+300*uint64(len(file)) {
			t.Errorf("%d bytes taken for a header of %d", took, len(file))
		}
		if err == nil && (n < prefix || n > len(file) || h.FormatVersion != version) {
			t.Errorf("%d of %d bytes, version %d", n, len(file), h.FormatVersion)
		}
		if _, cut := blocks(t, file, 1); (cut == nil) != (err == nil) {
			t.Errorf("cut into blocks: %v; read: %v", cut, err)
		}
		if _, err := json.Marshal(h.Meta); err != nil {
			t.Errorf("level_meta: %v", err)
		}
		Sniff(file, true)
	})
}

func same(t *testing.T, a, b *model.Recording, ra, rb *decode.Report) {
	t.Helper()
	if ra.Records != rb.Records || ra.Skipped != rb.Skipped || ra.Truncated != rb.Truncated || a.UniqueKeys != b.UniqueKeys || a.Duration != b.Duration || !maps.Equal(a.ByQualname, b.ByQualname) {
		t.Errorf("whole %+v %+v\nin blocks %+v %+v", a, ra, b, rb)
	}
	if len(ra.Problems) > 0 && ra.Problems[0] != rb.Problems[0] {
		t.Errorf("whole %v, in blocks %v", ra.Problems[0], rb.Problems[0])
	}
}

// slow compares with what the obvious reader finds.
func slow(t *testing.T, level string, file []byte, have *model.Recording) {
	t.Helper()
	names, args := slowRecords(file)
	by := map[string]int64{}
	keys, batches := map[string]bool{}, int64(0)
	for i, name := range names {
		if len(name) > maxWord {
			name = model.OtherName
		}
		by[name]++
		switch {
		case level == Storage:
			slowKeys(args[i], 0, keys)
		case level == Events && name == batchName:
			batches++
			for _, p := range args[i] {
				if p.key == any("entries") {
					slowEntries(p.value, keys)
				}
			}
		}
	}
	if !maps.Equal(by, have.ByQualname) {
		t.Errorf("by qualname %v, want %v", have.ByQualname, by)
	}
	if have.UniqueKeys.OK && have.UniqueKeys.V != int64(len(keys)) {
		t.Errorf("%d keys, want %d", have.UniqueKeys.V, len(keys))
	}
	if have.Events != nil {
		n := int64(0)
		for _, b := range have.Events.Batches {
			n += b
		}
		if n != batches {
			t.Errorf("%d batches, want %d", n, batches)
		}
	}
}

func slowEntries(v any, keys map[string]bool) {
	list, _ := v.([]any)
	for _, e := range list {
		if m, ok := e.(slowMap); ok {
			var last slowMap
			for _, p := range m { // of a key that repeats the last one that is a map
				if k, ok := p.value.(slowMap); ok && p.key == any("key") {
					last = k
				}
			}
			if last != nil {
				keys[slowEventKey(last)] = true
			}
		}
	}
}
