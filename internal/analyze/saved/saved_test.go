package saved

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A version that was released is never written anew: what changed is the next version, with a fixture of its own.
var update = flag.Bool("update", false, "write the fixture of the version that is not released yet")

// sample is a report of 8 requests, of which one loaded twice, one failed and one has no stage of the vocabulary.
func sample(t testing.TB) *Report {
	t.Helper()
	slo, err := report.ParseSLO("ttft<=300ms")
	if err != nil {
		t.Fatal(err)
	}
	dict := model.NewDict()
	a := report.New(dict, report.Options{By: []report.By{report.ByInstance}, SLOs: []report.SLO{slo}})
	rnd := rand.New(rand.NewPCG(7, 7))
	for i := range 8 {
		r := usual(rnd, dict, i)
		r.ID, r.Model, r.Window = fmt.Sprint("request-", i), "llama", int64(i+1)*int64(100*time.Millisecond)
		r.Hash = xxhash.Sum64String(r.ID)
		r.TTFT = model.Some(r.Window / 2)
		switch i {
		case 3:
			r.Verdict, r.Wasted = model.LoadRepeat, model.Some(512)
			r.Findings = 1 << finding.DoubleRepeat
		case 5:
			r.Findings = 1<<finding.RetrieveFailed | 1<<finding.HitIdentityBroken
			r.ErrorCodes = []string{"L2_TIMEOUT"}
		case 7:
			r.Flags &^= model.RowVocabulary
			r.Stages = []model.RowStage{{Stage: dict.InternString("GET /v1/models"), Spans: 1, Counted: 1, Union: 9, Critical: 9}}
			r.Spans, r.TopStage = []model.RowSpan{{Stage: r.Stages[0].Stage, NS: 9}}, r.Stages[0].Stage
			r.Lookups, r.Hits = nil, model.RowHits{}
		}
		r.Joins = map[model.JoinKey]int64{{From: "worker", To: "engine", By: model.JoinID}: 3}
		a.Add(r)
	}
	return &Report{dict, a, &report.Capture{
		Inputs: []model.InputStats{{File: "day.jsonl", Format: "otlp-json+gzip", Bytes: 1234, Spans: 209, Skipped: 1, ErrorCount: 1, Errors: []string{"day.jsonl:7: cut off"}, Truncated: true}},
		Start:  1_700_000_000e9, End: 1_700_000_060e9, Survey: report.SurveyWhole, Unattributed: 2, LLM: true,
		Clock:       []report.Clock{{Process: "lmcache-0", Reference: "vllm", OffsetNS: model.Some(1500), UncertaintyNS: model.Some(20), DriftPPM: model.SomeFloat(0.25), Pairs: 40, Basis: "pairs"}},
		Disagreeing: []string{"lmcache-1"}, Analysis: report.Analysis{Key: "auto", Deadline: finding.DefaultDeadline},
	}}
}

func bytesOf(t testing.TB, r *Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func textOf(t testing.TB, r *Report) string {
	t.Helper()
	b, err := json.Marshal(r.Document())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func read(t testing.TB, b []byte, dict *model.Dict) *Report {
	t.Helper()
	r, err := Read(bytes.NewReader(b), dict)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// R8.3: what is read back prints the report that was saved, is saved as the same bytes, and comes through a reader that gives byte by byte.
func TestRoundTrip(t *testing.T) {
	r := sample(t)
	b := bytesOf(t, r)
	back, err := Read(iotest.OneByteReader(bytes.NewReader(b)), model.NewDict())
	if err != nil {
		t.Fatal(err)
	}
	if have, want := textOf(t, back), textOf(t, r); have != want {
		t.Errorf("read back it says %s\nwant %s", have, want)
	}
	if !bytes.Equal(bytesOf(t, back), b) {
		t.Error("saved again it has other bytes")
	}
	if !Is(b) || Is(b[:5]) || Is([]byte(`{"resourceSpans":[]}`)) {
		t.Error("known by something else than its magic")
	}
}

// The file of version 1, which every later program reads. As long as that is the version, what is written is what it holds: a change of the
// content is another version, and another fixture beside this one.
func TestVersion1(t *testing.T) {
	if *update {
		if err := os.WriteFile("testdata/v1.cbr", bytesOf(t, sample(t)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile("testdata/v1.cbr")
	if err != nil {
		t.Fatal(err)
	}
	r := read(t, b, model.NewDict())
	d := r.Document()
	var ids []string
	for g := range r.Table().All {
		ids = append(ids, g.ID)
	}
	slices.Sort(ids)
	have := []any{d.Requests.Total, d.Requests.Other, d.Latency.P50NS.V, d.TTFT.MaxNS.V, d.SLO[0].Met, d.SLO[0].Of, d.DoubleStartLoadKV.Exemplars, d.DoubleStartLoadKV.WastedTokens,
		d.Failed.ByReason, d.Findings[0].Code, d.Findings[0].Exemplars, d.Clock[0].OffsetNS.V, d.Inputs[0].Errors, d.Quality.Joins[0].N, r.Table().Total, ids[0], ids[7], r.Facts.Disagreeing}
	want := []any{7, 1, 400_000_000, 350_000_000, 6, 7, "[request-3]", 512, "map[L2_TIMEOUT:1]", "retrieve_failed", "[request-5]", 1500, "[day.jsonl:7: cut off]", 24, 8, "request-0", "request-7", "[lmcache-1]"}
	if have, want := fmt.Sprintln(have...), fmt.Sprintln(want...); have != want {
		t.Errorf("it says %s\nwant %s", have, want)
	}
	if version == 1 {
		was, err := decompress(b[len(magic)+1 : len(b)-sumSize])
		if err != nil {
			t.Fatal(err)
		}
		now := sample(t)
		if is, err := now.Aggregate.Append(nil, now.Facts); err != nil || !bytes.Equal(is, was) {
			t.Errorf("the content is written in another way, err %v", err)
		}
	}
}

// sealed is a file with any version and content.
func sealed(version byte, frame []byte) []byte {
	b := append(append([]byte(magic), version), frame...)
	return binary.LittleEndian.AppendUint64(b, xxhash.Sum64(b))
}

func compressed(t testing.TB, content []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(content, nil)
}

func TestBadFiles(t *testing.T) {
	good := bytesOf(t, sample(t))
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 0x55
		return b
	}
	frame := good[len(magic)+1 : len(good)-sumSize]
	content, err := decompress(frame)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Replace(content, []byte("\x06orphan"), []byte("\x06orphEn"), 1)
	for _, c := range []struct {
		name string
		b    []byte
		want error
		says string
	}{
		{"empty", nil, ErrNotSaved, "not a saved report"},
		{"JSON", []byte(`{"resourceSpans":[]}`), ErrNotSaved, ""},
		{"cut to 5 bytes", good[:5], ErrNotSaved, ""},
		{"the magic alone", good[:len(magic)], ErrDamaged, "cut short"},
		{"magic and version", good[:len(magic)+1], ErrDamaged, "cut short"},
		{"cut in the middle", good[:len(good)/2], ErrDamaged, "checksum"},
		{"last byte cut", good[:len(good)-1], ErrDamaged, "checksum"},
		{"one byte more", append(bytes.Clone(good), 0), ErrDamaged, "checksum"},
		{"a byte changed in the middle", flip(len(good) / 2), ErrDamaged, "checksum"},
		{"a byte changed near the end", flip(len(good) - 3), ErrDamaged, "checksum"},
		{"newer", sealed(version+1, frame), ErrVersion, fmt.Sprintf("version %d, this one reads up to %d", version+1, version)},
		{"newer and changed", flip(len(magic)), ErrVersion, ""},
		{"version 0", sealed(0, frame), ErrDamaged, "version 0"},
		{"not zstd", sealed(version, []byte("nothing")), ErrDamaged, ""},
		{"no content", sealed(version, compressed(t, nil)), ErrDamaged, "no report"},
		{"content cut", sealed(version, compressed(t, content[:len(content)-1])), ErrDamaged, "no report"},
		{"content and more", sealed(version, compressed(t, append(bytes.Clone(content), 1))), ErrDamaged, "no report"},
		{"frame cut", sealed(version, frame[:len(frame)/2]), ErrDamaged, ""},
		{"a finding of a newer program", sealed(version, compressed(t, newer)), ErrVersion, `"orphEn"`},
		{"200 MB of nothing", sealed(version, compressed(t, make([]byte, 200<<20))), ErrDamaged, ""},
	} {
		r, err := Read(bytes.NewReader(c.b), model.NewDict())
		if r != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.want, c.says)
		}
	}
	if _, err := Read(iotest.ErrReader(io.ErrClosedPipe), model.NewDict()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// R2.6: reports made in different ways do not add up; what they are is left alone.
func TestMergeRefuses(t *testing.T) {
	a := sample(t)
	b := read(t, bytesOf(t, a), a.Dict)
	b.Facts.Analysis.NoSkew = true
	before := textOf(t, a)
	err := a.Merge(b)
	if merge, ok := errors.AsType[*MergeError](err); !ok || len(merge.Differences) != 1 || err.Error() != "made with other options: --no-skew off and on" {
		t.Errorf("%v", err)
	}
	if textOf(t, a) != before {
		t.Error("something was added")
	}
	b.Facts.Analysis = a.Facts.Analysis
	b.Facts.Analysis.Where = "{ duration > 1s }"
	if err := a.Merge(b); err == nil || err.Error() != "made with other options: --where none and { duration > 1s }" {
		t.Errorf("%v", err)
	}
	b.Facts.Analysis = a.Facts.Analysis
	if err := a.Merge(b); err != nil || a.Document().Requests.Total != 14 || a.Table().Repeated(a.Aggregate.Counting()) != 7 || a.Facts.Survey != report.SurveyPerShard {
		t.Errorf("%v: %d requests, %d in two shards, survey %s", err, a.Document().Requests.Total, a.Table().Repeated(a.Aggregate.Counting()), a.Facts.Survey)
	}
}

// Any bytes are a report that can be printed, or an error; so is any content in a whole file.
func FuzzSaved(f *testing.F) {
	good := bytesOf(f, sample(f))
	content, err := decompress(good[len(magic)+1 : len(good)-sumSize])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(content)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, file := range [][]byte{b, sealed(version, b), sealed(version, compressed(t, b))} {
			r, err := Read(bytes.NewReader(file), model.NewDict())
			if err != nil {
				if !errors.Is(err, ErrNotSaved) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrDamaged) {
					t.Fatal(err)
				}
				continue
			}
			r.Document()
			if again := read(t, bytesOf(t, r), model.NewDict()); textOf(t, again) != textOf(t, r) {
				t.Fatal("saved and read again it says something else")
			}
		}
	})
}
