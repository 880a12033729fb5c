package main

import (
	"bytes"
	"context"
	be "encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/cbtrace/cbtrace/internal/analyze"
	"github.com/cbtrace/cbtrace/internal/analyze/list"
	"github.com/cbtrace/cbtrace/internal/ingest"
)

// picked is what inspect finds and shows of an id with a survey table, of inputs that are searched or read as a whole.
func picked(t *testing.T, dir, id string, table []byte, search bool) (found []analyze.Found, docs []byte, pick *ingest.Pick) {
	t.Helper()
	ctx := context.Background()
	set, err := ingest.Expand([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	opt := ingest.Options{KeepAll: true, PickFrom: 1}
	if search {
		if pick, err = set.Pick(ctx, id, false, opt); err != nil {
			t.Fatal(err)
		}
		opt.Pick = pick
	}
	c, err := analyze.Open(ctx, reader(set, opt), analyze.Options{Surveys: []io.Reader{bytes.NewReader(table)}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if found, _, err = c.Find(ctx, id); err != nil {
		t.Fatal(err)
	}
	pages, err := c.Inspect(ctx, idsOf(found), false)
	if err != nil {
		t.Fatal(err)
	}
	docs, err = json.Marshal(pages)
	if err != nil {
		t.Fatal(err)
	}
	return found, docs, pick
}

// R5.7: inspect shows the same of a large capture that is searched for an id as of one that is read as a whole, where both have one survey table:
// by internal and external ids, children of one external id, traces, beginnings, ids that nothing has; in JSON lines and in protobuf messages.
func TestPickedIsWhole(t *testing.T) {
	lines := mixedCapture(t)
	for _, dir := range []string{lines, protobufOf(t, lines)} {
		ctx := context.Background()
		set, err := ingest.Expand([]string{dir}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var table bytes.Buffer
		c, err := analyze.Open(ctx, reader(set, ingest.Options{KeepAll: true}), analyze.Options{SurveyOut: &table})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all, err := c.Search(ctx, analyze.Search{})
		if err != nil || len(all.Found) < 40 {
			t.Fatal(len(all.Found), err)
		}
		ids := []string{"chat-0", "no such id", "nothing-has-this", strings.Repeat("0123456789abcdef", 2), "00000000000003f0"}
		for _, f := range all.Found {
			ids = append(ids, f.ID)
			if f.External != "" {
				ids = append(ids, f.External)
			}
		}
		pages, err := c.Inspect(ctx, idsOf(all.Found), false)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pages {
			ids = append(ids, p.Request.Traces...)
		}
		searched := 0
		for n, id := range ids {
			if n > 12 && n%6 != 0 { // each takes two readings
				continue
			}
			want, whole, _ := picked(t, dir, id, table.Bytes(), false)
			got, docs, pick := picked(t, dir, id, table.Bytes(), true)
			if !reflect.DeepEqual(got, want) || !bytes.Equal(docs, whole) {
				t.Errorf("%s: found %v, want %v\n%s\nwant\n%s", id, got, want, docs, whole)
			}
			if pick != nil {
				searched++
			}
		}
		if searched < 30 {
			t.Errorf("%d ids were searched for", searched)
		}
	}
}

// R5.7: list shows of an id that it is searched for what it shows of the whole.
func TestListedIsWhole(t *testing.T) {
	dir, ctx := mixedCapture(t), context.Background()
	set, err := ingest.Expand([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	opt := ingest.Options{PickFrom: 1}
	var table bytes.Buffer
	c, err := analyze.Open(ctx, reader(set, opt), analyze.Options{SurveyOut: &table})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	all, err := c.List(ctx, list.Order{}, 0, true)
	if err != nil || len(all.Requests) < 40 {
		t.Fatal(all, err)
	}
	searched := 0
	for n := range all.Requests {
		if n%5 != 0 { // each takes a reading
			continue
		}
		want := &all.Requests[n]
		var f filter
		if err := f.Set(`{ request.id = "` + want.ID + `" }`); err != nil {
			t.Fatal(err)
		}
		opt := opt
		if opt.Pick, err = set.Pick(ctx, f.id(), false, opt); err != nil {
			t.Fatal(err)
		}
		if opt.Pick != nil {
			searched++
		}
		c, err := analyze.Open(ctx, reader(set, opt), analyze.Options{Surveys: []io.Reader{bytes.NewReader(table.Bytes())}, Where: f.expr})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.List(ctx, list.Order{}, 0, true)
		if err != nil || len(got.Requests) != 1 || !reflect.DeepEqual(&got.Requests[0], want) {
			t.Errorf("%s: %v %+v\nwant %+v", want.ID, err, got.Requests, want)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if searched < 5 {
		t.Errorf("%d were searched for", searched)
	}
}

// protobufOf is a capture with its OTLP JSON as protobuf messages with their lengths.
func protobufOf(t *testing.T, dir string) string {
	t.Helper()
	out := t.TempDir()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		to := filepath.Join(out, rel)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if bytes.Contains(data, []byte("resourceSpans")) {
			var messages []byte
			for line := range bytes.Lines(data) {
				traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
				if err != nil {
					return err
				}
				m, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(traces)
				if err != nil {
					return err
				}
				messages = append(be.BigEndian.AppendUint32(messages, uint32(len(m))), m...)
			}
			data = messages
		}
		return os.WriteFile(to, data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// R5.7: a server that lived between two instants of the sample. What was written beside a request tells that it went on after it; whether its last request
// ended with it only the whole capture can tell, so all of it is read.
func TestShortLivesInTheSample(t *testing.T) {
	if testing.Short() {
		t.Skip("70 MB")
	}
	const first, second = int64(1_764_432_000_000_000_000), int64(time.Second)
	var b bytes.Buffer
	n := 0
	serve := func(server, id string, start, length int64) {
		n++
		span := func(k int, name string, from, to int64) string {
			return fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","name":"%s","startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"session_id","value":{"stringValue":"%s"}}]}`,
				1<<40+n, 1<<40+4*n+k, name, start+from, start+to, id)
		}
		fmt.Fprintf(&b, `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.instance.id","value":{"stringValue":"%s"}}]},"scopeSpans":[{"scope":{"name":"lmcache_mp.blend"},"spans":[%s,%s]}]}]}`+"\n",
			server, span(0, "cb.request", 0, length), span(1, "cb.retrieve", second/1000, 9*second/1000))
	}
	var some bytes.Buffer
	requests(&some, 54_000) // one in 50 ms
	at := first
	for line := range bytes.Lines(some.Bytes()) {
		b.Write(line)
		if at += second / 20; at%second == 0 {
			serve("lmc-new", fmt.Sprintf("new-%06d", n), at, second/25)
		}
		if since := at - first - 1075*second; since >= 0 && since < 100*second && since%(5*second) == 0 {
			length := second / 25
			if k := since / (5 * second); k == 3 || k == 19 { // the last one of 20 too
				length = 61 * second
			}
			serve("lmc-old", fmt.Sprintf("old-%02d", since/(5*second)), at, length)
		}
	}
	path := filepath.Join(t.TempDir(), "day.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id, note string
		window   int64
	}{
		{"old-03", "clocks from a sample of ", 61 * second},
		{"old-19", "the sample does not tell enough of the clocks or processes of old-19: reading everything", 9 * second / 1000}, // ended with its server (R4.30)
	} {
		cmd, sampled, notes, _ := command(t, "inspect", c.id, "--format", "json", path)
		if err := cmd.Run(); err != nil || !strings.Contains(notes.String(), c.note) || c.id == "old-03" && strings.Contains(notes.String(), "everything\n") {
			t.Errorf("%s: %v\n%s", c.id, err, notes)
		}
		cmd, whole, _, _ := command(t, "inspect", c.id, "--survey", "full", "--format", "json", path)
		if err := cmd.Run(); err != nil || !bytes.Equal(sampled.Bytes(), whole.Bytes()) {
			t.Errorf("%s: %v\n%s\nof the whole\n%s", c.id, err, sampled, whole)
		}
		var d struct {
			Window struct {
				Duration int64 `json:"duration_ns"`
			}
		}
		if err := json.Unmarshal(sampled.Bytes(), &d); err != nil || d.Window.Duration != c.window {
			t.Errorf("%s: %v, %d ns", c.id, err, d.Window.Duration)
		}
	}
}
