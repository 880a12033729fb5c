package store

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A capture is records written as rows `trace id parent name start end [key=value …]`; "-" is none. A trace or an id is any word.
// scope=, file=, process= and res of a row are not attributes; line, point, error, unanchored and noend are flags.
type capture struct {
	dict *model.Dict
	res  map[string]model.ResID
}

func newCapture(files ...string) *capture {
	c := &capture{dict: model.NewDict(), res: map[string]model.ResID{}}
	if len(files) == 0 {
		files = []string{"a.json"}
	}
	for _, f := range files {
		c.dict.AddFile(f)
	}
	return c
}

func word(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

func traceOf(s string) model.TraceID {
	if s == "-" {
		return model.TraceID{}
	}
	return model.TraceID{Hi: word(s), Lo: word(s + "'")}
}

func spanOfWord(s string) model.SpanID {
	if s == "-" {
		return model.SpanID{}
	}
	n := uint64(0) // in the order of the words
	for i := range 8 {
		n <<= 8
		if i < len(s) {
			n |= uint64(s[i])
		}
	}
	return model.HexID(n)
}

// stages of the profile lines that tests write
var lineStages = map[string]model.Stage{"sched.gnnmt": model.StageSchedule, "gnnmt.cb_unified_poll": model.StageLookupRPC}

func (c *capture) batch(t testing.TB, rows string) *model.Batch {
	t.Helper()
	b := model.NewBatch(c.dict, true)
	for n, row := range strings.Split(strings.TrimSpace(rows), "\n") {
		f := strings.Fields(row)
		if len(f) < 6 {
			t.Fatalf("row %q", row)
		}
		num := func(s string) model.Time {
			v, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return model.Time(v)
		}
		r := b.Begin()
		r.Trace, r.ID, r.Parent = traceOf(f[0]), spanOfWord(f[1]), spanOfWord(f[2])
		r.Name, r.Start, r.End, r.Pos = c.dict.InternString(f[3]), num(f[4]), num(f[5]), int64(n+1)
		scope, process := "lmcache_cacheblend", "p"
		for _, a := range f[6:] {
			key, value, _ := strings.Cut(a, "=")
			switch key {
			case "scope":
				scope = value
			case "process":
				process = value
			case "file":
				r.File = model.FileID(num(value))
			case "line":
				r.Flags |= model.RecordLine
				r.StageID = lineStages[f[3]].ID()
				scope = ""
			case "point":
				r.Flags |= model.RecordPoint
			case "error":
				r.Flags |= model.RecordError
			case "unanchored":
				r.Flags |= model.RecordUnanchored
			case "noend":
				r.Flags |= model.RecordNoEnd
			default:
				b.AddText(b.Wants([]byte(key)), []byte(value))
			}
		}
		if r.Flags&model.RecordLine != 0 {
			r.ID = model.LineID(r.File, r.Pos)
		}
		r.Scope = c.dict.InternString(scope)
		res, ok := c.res[process]
		if !ok {
			res = c.dict.Resource(model.Resource{Instance: process}, "")
			c.res[process] = res
		}
		r.Res = res
		b.End()
	}
	return b
}

// requests takes in one batch, identifies and gives the requests in order.
func (c *capture) requests(t testing.TB, cfg Config, rows string) ([]string, Summary) {
	t.Helper()
	s := New(c.dict, cfg)
	defer s.Close()
	w := s.Writer()
	if err := w.Add(c.batch(t, rows)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sum, err := s.Identify(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range s.Partitions() {
		err := s.Read(context.Background(), i, func(r *model.Request) error {
			got = append(got, describe(r))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(got)
	return got, sum
}

// describe is a request in short: its identity, then its spans with why they are in it, names outside the vocabulary in brackets.
func describe(r *model.Request) string {
	var b strings.Builder
	b.WriteString(r.ID)
	if r.Key == model.KeyTrace {
		b.WriteString(" (trace)")
	}
	if r.External != "" {
		b.WriteString(" ext=" + r.External)
	}
	if r.Candidate {
		b.WriteString(" candidate")
	}
	if r.Ambiguous {
		b.WriteString(" ambiguous")
	}
	b.WriteString(":")
	for _, s := range r.Spans {
		name := r.Dict.Str(s.Name)
		if !s.Known() {
			name = "[" + name + "]"
		}
		fmt.Fprintf(&b, " %s/%s", name, s.Sources[0].Joined)
	}
	return b.String()
}
