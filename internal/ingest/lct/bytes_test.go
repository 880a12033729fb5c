package lct

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

func unspaced(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The byte examples of CONTRACT-lmcache 2.9.
const (
	exampleHeader = `
00 00 00 9b 89 a4 74 79 70 65 a6 68 65 61 64 65 72 a5 6d 61 67 69 63 c4 04 4c 4d 43 54 ae 66 6f
72 6d 61 74 5f 76 65 72 73 69 6f 6e 01 a5 6c 65 76 65 6c a7 73 74 6f 72 61 67 65 b4 74 72 61 63
65 5f 73 63 68 65 6d 61 5f 76 65 72 73 69 6f 6e 01 ac 74 5f 6d 6f 6e 6f 5f 73 74 61 72 74 cb 40
59 20 00 00 00 00 00 ac 74 5f 77 61 6c 6c 5f 73 74 61 72 74 cb 41 d9 54 fc 40 10 00 00 ae 73 6d
5f 63 6f 6e 66 69 67 5f 6a 73 6f 6e a0 b0 73 6d 5f 63 6f 6e 66 69 67 5f 64 69 67 65 73 74 a0`
	exampleMeta = `
aa 6c 65 76 65 6c 5f 6d 65 74 61 83 ab 69 6e 73 74 61 6e 63 65 5f 69 64 a3 69 2d 31 ba 63 61 63 68 65
5f 65 76 65 6e 74 5f 73 63 68 65 6d 61 5f 76 65 72 73 69 6f 6e 01 af 6c 6d 63 61 63 68 65 5f 76 65 72 73 69 6f 6e a5 30 2e 34 2e 39`
	exampleFinishWrite = `
00 00 00 d6 85 a4 74 79 70 65 a6 72 65 63 6f 72 64 a6 74 5f 6d 6f 6e 6f cb 3f e0 00 00 00 00 00
00 a6 74 5f 77 61 6c 6c cb 41 d9 54 fc 40 30 00 00 a8 71 75 61 6c 6e 61 6d 65 d9 42 6c 6d 63 61
63 68 65 2e 76 31 2e 64 69 73 74 72 69 62 75 74 65 64 2e 73 74 6f 72 61 67 65 5f 6d 61 6e 61 67
65 72 2e 53 74 6f 72 61 67 65 4d 61 6e 61 67 65 72 2e 66 69 6e 69 73 68 5f 77 72 69 74 65 a4 61
72 67 73 81 a4 6b 65 79 73 91 82 a5 5f 5f 74 5f 5f a9 4f 62 6a 65 63 74 4b 65 79 a1 76 84 aa 63
68 75 6e 6b 5f 68 61 73 68 c4 04 00 00 00 07 aa 6d 6f 64 65 6c 5f 6e 61 6d 65 a1 6d a7 6b 76 5f
72 61 6e 6b ce 01 00 01 00 af 6f 62 6a 65 63 74 5f 67 72 6f 75 70 5f 69 64 00`
)

func TestExampleHeader(t *testing.T) {
	b := unspaced(t, exampleHeader)
	h, n, err := ReadHeader(b)
	if err != nil || n != 159 {
		t.Fatalf("%d bytes, %v; want 159", n, err)
	}
	if h.Level != Storage || h.FormatVersion != 1 || h.Schema != model.Some(1) || h.MonoStart != 100.5 || h.WallStart != 1_700_000_000.25 || h.ConfigDigest != "" || h.Meta != nil || h.Oldest() {
		t.Errorf("%+v", h)
	}
	if !bytes.Equal(b, framed(pack(headerOf(Storage)))) {
		t.Error("the tests write another header")
	}

	// The oldest differs in one key, and is as long: length tells nothing.
	old := bytes.Replace(b, []byte("\xb4trace_schema_version\x01"), []byte("\xaflmcache_version\xa50.4.3"), 1)
	h, n, err = ReadHeader(old)
	if err != nil || n != 159 || h.Schema.OK || h.LMCache != "0.4.3" || !h.Oldest() {
		t.Errorf("oldest: %d bytes, %v: %+v", n, err, h)
	}
}

func TestExampleEventsHeader(t *testing.T) {
	b := bytes.Replace(unspaced(t, exampleHeader)[prefix:], []byte("\xa7storage"), []byte("\xa6events"), 1)
	b[0] = 0x8a
	b = framed(append(b, unspaced(t, exampleMeta)...))
	if len(b) != 4+232 {
		t.Fatalf("the example has %d bytes", len(b))
	}
	h, _, err := ReadHeader(b)
	if err != nil || h.Level != Events || h.Instance() != "i-1" {
		t.Fatalf("%+v, %v", h, err)
	}
	want := map[string]any{"instance_id": "i-1", "cache_event_schema_version": json.Number("1"), "lmcache_version": "0.4.9"}
	if !maps.Equal(h.Meta, want) {
		t.Errorf("level_meta %#v, want %#v", h.Meta, want)
	}
	if !bytes.Equal(b, eventsHeader()) {
		t.Error("the tests write another header")
	}
}

func TestExampleRecord(t *testing.T) {
	frame := unspaced(t, exampleFinishWrite)
	r, rep := count(t, wholeFile, unspaced(t, exampleHeader), frame, frame)
	if rep.Records != 2 || rep.Skipped != 0 || rep.Truncated || r.Duration != model.SomeFloat(0.5) || r.UniqueKeys != model.Some(1) {
		t.Errorf("%+v, %+v", r, rep)
	}
	if want := map[string]int64{calls + "finish_write": 2}; !maps.Equal(r.ByQualname, want) {
		t.Errorf("by qualname %v, want %v", r.ByQualname, want)
	}
	b, _ := points(t, true, wholeFile, unspaced(t, exampleHeader), frame, frame)
	if len(b.Records) != 2 {
		t.Fatalf("%d points", len(b.Records))
	}
	p := &b.Records[1]
	if name := b.Dict.Str(p.Name); name != "finish_write" || p.Start != 1_700_000_000_750_000_000 || p.Pos != 159+218 || p.Flags != model.RecordPoint {
		t.Errorf("%s at %d, offset %d, flags %b", name, p.Start, p.Pos, p.Flags)
	}
	if id := b.Dict.SpanIDText(p.ID); id != "day.lct:377" {
		t.Errorf("id %s", id)
	}
	if attrs := shown(b, 1); attrs != "finish_write n_keys=1 chunk_hashes=00000007" {
		t.Errorf("attributes %s", attrs)
	}
}

func TestExampleEvents(t *testing.T) {
	start, stored := lifecycle(0, "start", 1_700_000_000), batch(1, 1, "store", "l1", "dram", false, chunk("0102", 4096, 1, 2, 3))
	if len(start) != 4+158 {
		t.Fatalf("the lifecycle record has %d bytes, the example 162", len(start))
	}
	r, rep := count(t, wholeFile, eventsHeader(), start, stored)
	if rep.Records != 2 || rep.Skipped != 0 || r.Events == nil {
		t.Fatalf("%+v, %+v", r, rep)
	}
	if e := r.Events; e.Starts != 1 || e.Stops != 0 || e.StoreBytes != 4096 || e.EntriesWithTokens != 1 || e.LostBatches != 0 ||
		!maps.Equal(e.Batches, map[string]int64{"store/l1/dram/local": 1}) || !maps.Equal(e.Entries, map[string]int64{"store": 1}) {
		t.Errorf("%+v", e)
	}
	if in := r.Events.Instances; len(in) != 1 || in[0].ID != "i-1" || len(in[0].Incarnations) != 1 || in[0].Incarnations[0] != 1_700_000_000 {
		t.Errorf("instances %+v", in)
	}
}

// Cutting 1–3 bytes of a length, or any part of a body, of the last frame keeps the records before it.
func TestExampleCut(t *testing.T) {
	header, frame := unspaced(t, exampleHeader), unspaced(t, exampleFinishWrite)
	for cut := 1; cut < len(frame); cut++ {
		_, rep := count(t, wholeFile, header, frame, frame[:cut])
		if rep.Records != 1 || rep.Skipped != 1 || !rep.Truncated {
			t.Fatalf("cut to %d bytes: %d records, %d skipped, truncated %v", cut, rep.Records, rep.Skipped, rep.Truncated)
		}
	}
	for cut := range header {
		if _, _, err := ReadHeader(header[:cut]); err == nil {
			t.Fatalf("a header cut to %d bytes is taken", cut)
		}
	}
}

func TestSamples(t *testing.T) {
	for _, c := range []struct {
		file             string
		records, skipped int64
		truncated        bool
		keys             int64
		schema           model.Opt
		duration         model.OptFloat
	}{
		{"lct-schema2.lct", 5, 0, false, 2, model.Some(2), model.SomeFloat(0.06)},
		{"lct-schema1-no-salt.lct", 5, 0, false, 2, model.Some(1), model.SomeFloat(0.06)},
		{"lct-oldest-lmcache-version.lct", 5, 0, false, 2, model.Opt{}, model.SomeFloat(0.06)},
		{"lct-header-only.lct", 0, 0, false, 0, model.Some(2), model.OptFloat{}},
		{"lct-truncated-tail.lct", 4, 1, true, 2, model.Some(2), model.SomeFloat(0.052)},
		{"lct-bad-record-in-middle.lct", 2, 1, false, 1, model.Some(2), model.SomeFloat(0.001)},
	} {
		file, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "lct", c.file))
		if err != nil {
			t.Fatal(err)
		}
		if h, ok, err := Sniff(file, true); !ok || err != nil || h.Level != Storage {
			t.Errorf("%s: sniffed %v, %v, level %q", c.file, ok, err, h.Level)
		}
		r, rep := count(t, wholeFile, file)
		if rep.Records != c.records || rep.Skipped != c.skipped || rep.Truncated != c.truncated || r.UniqueKeys != model.Some(c.keys) || r.SchemaVersion != c.schema || r.Duration != c.duration {
			t.Errorf("%s: %d records, %d skipped, truncated %v, %d keys, schema %v, %v s; want %+v", c.file, rep.Records, rep.Skipped, rep.Truncated, r.UniqueKeys.V, r.SchemaVersion, r.Duration.V, c)
		}
	}
}
