package analyze

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A hashRow is a record: a point, a lookup-hash line or, without flags, a span.
type hashRow struct {
	name, request, chunks string
	at                    model.Time
	flags                 model.RecordFlags
}

const hashSecond = model.Time(1e9)

// readHashRows is an input of a recording and of lookup-hash lines beside spans of a server.
func readHashRows(rows []hashRow, formats ...string) Read {
	return func(_ context.Context, d *model.Dict, newSink func() Sink) ([]model.InputStats, error) {
		var stats []model.InputStats
		for _, f := range formats {
			d.AddFile(f)
			stats = append(stats, model.InputStats{File: f, Format: f, Records: 1})
		}
		b := model.NewBatch(d, true)
		for i, row := range rows {
			r := b.Begin()
			r.Name, r.Flags, r.Start, r.Pos = b.Names.Intern([]byte(row.name)), row.flags, row.at, int64(i+1)
			r.ID, r.Res = model.LineID(0, r.Pos), d.Resource(model.Resource{Instance: "server"}, "")
			if row.flags == 0 {
				r.ID, r.Trace, r.Scope, r.End = model.HexID(uint64(i+1)), model.TraceID{Lo: uint64(i + 1)}, b.Names.Intern([]byte("lmcache_mp.server")), row.at+hashSecond
				b.AddText(model.AttrSessionID, []byte(row.request))
			} else if row.request != "" {
				b.AddText(model.AttrRequestID, []byte(row.request))
			}
			if row.chunks != "" {
				b.AddText(b.Wants([]byte(model.ChunkHashes)), []byte(row.chunks))
			}
			b.End()
		}
		sink := newSink()
		if err := sink.Add(b); err != nil {
			return nil, err
		}
		return stats, sink.Close()
	}
}

// R4.6: for inspect recorded calls join through the chunk hashes of the request's lookup-hash lines.
func TestCallsByHash(t *testing.T) {
	const line, point = model.RecordHashes, model.RecordPoint
	at := 1_700_000_000 * hashSecond
	rows := []hashRow{
		{"request", "r-1", "", at, 0},
		{"request", "r-2", "", at, 0},
		{model.LookupHashes, "r-1", "aa bb cc", at, line},
		{model.LookupHashes, "r-2", "aa dd", at, line},
		{"both", "", "bb aa", at + 1, point},             // all of them the request's
		{"some", "", "aa ee", at + 2, point},             // one of another request
		{"shared", "", "aa", at + 3, point},              // of both requests
		{"other", "", "dd", at + 4, point},               //
		{"early", "", "bb", at - hashSecond - 1, point},  // before any record of the request
		{"late", "", "bb", at + 2*hashSecond + 1, point}, // after the last
		{"stored", "", "cc", at + 2*hashSecond, point},   // just in time
		{"untimed", "", "bb", 0, point},                  //
		{"keyless", "", "", at, point},                   //
		{"owned", "r-2", "aa bb", at + 5, point},         // it names its request
		{"unanchored", "", "bb", at, point | model.RecordUnanchored},
	}
	for _, c := range []struct {
		name    string
		formats []string
		want    map[string]string
	}{
		{"with lookup hashes", []string{"lct-storage+gzip", "lookup-hashes"}, map[string]string{"r-1": "both shared stored", "r-2": "shared other"}},
		{"without", []string{"lct-storage", "otlp-json"}, map[string]string{"r-1": "", "r-2": ""}},
	} {
		capture, err := Open(context.Background(), readHashRows(rows, c.formats...), Options{Jobs: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer capture.Close()
		docs, err := capture.Inspect(context.Background(), []string{"r-1", "r-2"}, false)
		if err != nil || len(docs) != 2 {
			t.Fatalf("%s: %d documents, %v", c.name, len(docs), err)
		}
		for _, d := range docs {
			var names []string
			for _, s := range d.Spans {
				if s.Sources[0].Joined == "hash" {
					names = append(names, s.Name)
				}
				if s.Class == "point" && s.CriticalNS.V != 0 {
					t.Errorf("%s: point %s is on the path", c.name, s.Name)
				}
			}
			if have := strings.Join(names, " "); have != c.want[d.Request.ID] {
				t.Errorf("%s: %s has %q, want %q", c.name, d.Request.ID, have, c.want[d.Request.ID])
			}
		}
	}
}

// Of very many calls the first are kept, in whatever order they come.
func TestChunkSetIsBounded(t *testing.T) {
	d := model.NewDict()
	d.AddFile("a.lct")
	s := chunkSet{}
	const n = 3 * maxJoined
	for i := range n {
		at := (i*7919)%n + 1 // each once, out of order
		s.add(d, &model.Span{ID: model.LineID(0, int64(at)), RawStart: model.Time(at)})
		if len(s.calls) >= 2*maxJoined {
			t.Fatal("more are held than are let in")
		}
	}
	s.first(d)
	if len(s.calls) != maxJoined || s.calls[0].RawStart != 1 || s.calls[maxJoined-1].RawStart != maxJoined || !slices.IsSortedFunc(s.calls, func(a, b *model.Span) int { return byStart(d, a, b) }) {
		t.Errorf("%d calls from %d to %d", len(s.calls), s.calls[0].RawStart, s.calls[len(s.calls)-1].RawStart)
	}
	if s.calls[0].Sources != nil {
		t.Error(fmt.Sprint("sources ", s.calls[0].Sources))
	}
}
