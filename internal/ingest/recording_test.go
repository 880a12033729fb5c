package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/cbtrace/cbtrace/internal/model"
)

var recordingSamples = []struct {
	file             string
	format           string
	records, skipped int64
	truncated        bool
	unusable         string
}{
	{"lct-bad-record-in-middle.lct", "lct-storage", 2, 1, false, ""},
	{"lct-format-version-2.lct", "", 0, 0, false, "format_version 2, want 1"},
	{"lct-header-only.lct", "lct-storage", 0, 0, false, ""},
	{"lct-oldest-lmcache-version.lct", "lct-storage", 5, 0, false, ""},
	{"lct-schema1-no-salt.lct", "lct-storage", 5, 0, false, ""},
	{"lct-schema2.lct", "lct-storage", 5, 0, false, ""},
	{"lct-truncated-tail.lct", "lct-storage", 4, 1, true, ""},
}

// pointSink keeps the points it gets.
type pointSink struct{ names map[string]int }

func (s pointSink) Close() error { return nil }
func (s pointSink) Add(b *model.Batch) error {
	for i := range b.Records {
		r := &b.Records[i]
		name := b.Dict.Str(r.Name)
		for _, a := range b.AttrsOf(r) {
			name += " " + string(b.TextOf(&a))
		}
		s.names[name]++
	}
	return nil
}

// Recordings are read as points among other inputs, and counted alone.
func TestRecordings(t *testing.T) {
	folder := filepath.Join("..", "..", "testdata", "lct")
	set, err := Expand([]string{folder}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sink := pointSink{map[string]int{}}
	stats, err := set.Read(context.Background(), model.NewDict(), Options{Jobs: 1}, func() Sink { return sink })
	if err != nil {
		t.Fatal(err)
	}
	counted, err := set.Recordings(context.Background(), Options{Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for i := range stats {
		for _, want := range recordingSamples {
			if stats[i].File != want.file {
				continue
			}
			seen++
			for _, st := range []model.InputStats{stats[i], counted[i].Input} {
				if st.Records != want.records || st.Skipped != want.skipped || st.Truncated != want.truncated || st.Format != want.format && want.unusable == "" || !strings.Contains(st.Unusable, want.unusable) ||
					(want.unusable == "") != (st.Unusable == "") {
					t.Errorf("%s: %+v, want %+v", want.file, st, want)
				}
			}
			if n := counted[i].ByQualname["lmcache.v1.distributed.storage_manager.StorageManager.reserve_write"]; n != min(want.records, 1) {
				t.Errorf("%s: %d calls of reserve_write", want.file, n)
			}
		}
	}
	if seen != len(recordingSamples) {
		t.Errorf("%d of the samples were read", seen)
	}
	if n := sink.names["submit_prefetch_task req-2"]; n != 4 { // two damaged recordings end or go on without it
		t.Errorf("%d calls of request req-2 in %v", n, sink.names)
	}
}

func TestRecordingCompressed(t *testing.T) {
	plain, err := os.ReadFile(filepath.Join("..", "..", "testdata", "lct", "lct-schema2.lct"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(plain)
	z.Close()
	set, err := Expand([]string{Stdin}, &b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := set.Recordings(context.Background(), Options{})
	if err != nil || r[0].Input.Format != "lct-storage+gzip" || r[0].Input.Records != 5 {
		t.Errorf("%+v, %v", r[0].Input, err)
	}
}

func TestRecordingsRefuseOthers(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a.lct": "this is not a recording\n", "b.lct": "", "c.json": `{"resourceSpans":[]}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	set, err := Expand([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := set.Recordings(context.Background(), Options{})
	if err != nil || len(all) != 3 {
		t.Fatal(len(all), err)
	}
	for _, r := range all {
		if r.Input.Unusable == "" || r.Input.Format != "" {
			t.Errorf("%+v", r.Input)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := set.Recordings(ctx, Options{}); err == nil {
		t.Error("an interrupt is not told")
	}
}

// A recording whose wall clock was set says so, read among other inputs and alone.
func TestRecordingSteps(t *testing.T) {
	frame := func(pairs ...any) []byte { // a map in the order of LMCache's recorder, which writes the type first
		var b bytes.Buffer
		e := msgpack.NewEncoder(&b)
		if err := errors.Join(e.EncodeMapLen(len(pairs)/2), e.EncodeMulti(pairs...)); err != nil {
			t.Fatal(err)
		}
		return append(binary.BigEndian.AppendUint32(nil, uint32(b.Len())), b.Bytes()...)
	}
	data := frame("type", "header", "magic", []byte("LMCT"), "format_version", 1, "level", "storage", "trace_schema_version", 2,
		"t_mono_start", 1.0, "t_wall_start", 1.7e9, "sm_config_json", "", "sm_config_digest", "")
	for i := range 60 {
		wall := 1.7e9 + float64(i)
		if i >= 30 {
			wall += 2.5
		}
		data = append(data, frame("type", "record", "t_mono", float64(i), "t_wall", wall, "qualname", "x", "args", map[string]any{})...)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.lct"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := Expand([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := set.Read(context.Background(), model.NewDict(), Options{}, func() Sink { return pointSink{map[string]int{}} })
	if err != nil {
		t.Fatal(err)
	}
	counted, err := set.Recordings(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "the wall clock of its process was set by +2.5 s at about 2023-11-14T22:13:52Z"
	for _, st := range []model.InputStats{stats[0], counted[0].Input} {
		if st.Steps != 1 || !slices.Contains(st.Notes, want) {
			t.Errorf("%d steps, notes %q", st.Steps, st.Notes)
		}
	}
}
