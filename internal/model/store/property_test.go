package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A recipe is a record that can be written into the batch of any dictionary, in which names then have other numbers.
type recipe struct {
	trace, id, parent string
	name, scope, res  string
	stage             model.Stage
	file              model.FileID
	pos               int64
	start, end        model.Time
	kind              model.SpanKind
	flags             model.RecordFlags
	attrs             [][2]string
}

func (c *recipe) write(d *model.Dict, b *model.Batch) {
	r := b.Begin()
	if strings.HasPrefix(c.trace, "text") {
		r.Trace = model.OpaqueTrace(d.InternString(c.trace))
	} else {
		r.Trace = traceOf(c.trace)
	}
	r.ID, r.Parent = spanOfWord(c.id), spanOfWord(c.parent)
	if strings.HasPrefix(c.id, "text") {
		r.ID = model.SpanID{N: uint64(d.InternString(c.id)), Kind: model.IDOpaque}
	}
	if c.flags&model.RecordLine != 0 {
		r.ID = model.LineID(c.file, c.pos)
	}
	r.Name, r.Scope, r.StageID = d.InternString(c.name), d.InternString(c.scope), c.stage.ID()
	r.Res = d.Resource(model.Resource{Instance: c.res, Service: "s"}, "f")
	r.File, r.Pos, r.Start, r.End, r.Kind, r.Flags = c.file, c.pos, c.start, c.end, c.kind, c.flags
	for _, a := range c.attrs {
		b.AddText(b.Wants([]byte(a[0])), []byte(a[1]))
	}
	b.End()
}

// recipes are random records in which every rule of identify has something to do.
func recipes(rng *rand.Rand, n int) []recipe {
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	requests := n/12 + 1
	id := func() string {
		i := rng.IntN(requests)
		return fmt.Sprintf([]string{"chat-%d", "%d_talk-0000aaaa", "job-%d-0011aabb", "job-%d-2233ccdd", "1_run-%d-0123abcd"}[i%5], i/5)
	}
	out := make([]recipe, n)
	for i := range out {
		if i > 0 && rng.IntN(20) == 0 { // copies
			out[i] = out[rng.IntN(i)]
			continue
		}
		k := rng.IntN(requests)
		r := recipe{
			trace: fmt.Sprint("t", k/2, ".", rng.IntN(2)), id: fmt.Sprint("s", rng.IntN(40)), parent: fmt.Sprint("s", rng.IntN(40)),
			name:  pick("cb.request", "cb.lookup", "request", "app.step", "GET", "cb.store_final.x", "llm_request", "timeout", fmt.Sprint("name-", i%50)),
			scope: pick("lmcache_mp.server", "lmcache_cacheblend", "app", "vllm"), res: fmt.Sprint("i-", rng.IntN(5)),
			file: model.FileID(rng.IntN(3)), pos: rng.Int64N(50), kind: model.SpanKind(rng.IntN(6)),
			start: model.Time(1e18 + rng.Int64N(1000)), end: model.Time(1e18 + rng.Int64N(2000)),
		}
		switch rng.IntN(12) {
		case 0:
			r.trace = "-"
		case 1:
			r.trace = fmt.Sprint("text", k%7)
		case 2:
			r.parent = "-"
		case 3:
			r.id = pick("-", "text1", "text2")
		case 4:
			r.start = 0
		case 5:
			r.end = 0
		case 6:
			r.flags |= model.RecordError
		case 7:
			r.trace, r.flags, r.scope, r.name, r.stage = "-", r.flags|model.RecordLine, "", "sched.gnnmt", model.StageSchedule
			if rng.IntN(3) == 0 {
				r.flags |= []model.RecordFlags{model.RecordUnanchored, model.RecordNoEnd, model.RecordPoint}[rng.IntN(3)]
			}
		}
		for range rng.IntN(3) {
			key := pick("session_id", "request_id", "req_id", "external_request_id", "cbtrace.request")
			value := id()
			switch rng.IntN(8) {
			case 0:
				value = ""
			case 1, 2:
				value = fmt.Sprint("user-", rng.IntN(5))
			case 3:
				value = fmt.Sprint("job-", rng.IntN(requests)/4)
			}
			if key == "cbtrace.request" && rng.IntN(10) > 0 {
				continue
			}
			r.attrs = append(r.attrs, [2]string{key, value})
		}
		if r.name == "llm_request" {
			ext := fmt.Sprintf("%s-%d", pick("chat", "job", "run"), rng.IntN(requests)/5)
			r.attrs = append(r.attrs, [2]string{"gen_ai.request.id", pick(ext, ext, "talk", ext+"-0011aabb")})
		}
		for range rng.IntN(4) {
			r.attrs = append(r.attrs, [2]string{pick("hit_tokens", "model", "success", "custom", "worker_id"), pick("1", "2.5", "True", "x", "None")})
		}
		if rng.IntN(12) == 0 {
			r.trace, r.name, r.scope, r.attrs, r.flags = fmt.Sprint("alone", k), "GET", "app", nil, 0
		}
		out[i] = r
	}
	return out
}

// dump is all requests and process records of a store, in order, without any number that depends on the order of arrival.
func dump(t *testing.T, d *model.Dict, s *Store) string {
	t.Helper()
	var b strings.Builder
	span := func(x *model.Span) {
		res := d.Res(x.Res)
		fmt.Fprint(&b, " ", d.TraceIDText(x.Trace), " ", d.SpanIDText(x.ID), "<", d.SpanIDText(x.ParentID), " ", d.Str(x.Name), " ", d.Str(x.StageKey), " ", x.Stage, " ", x.Kin, x.Class, x.Kind,
			x.Error, x.Line, x.MPScope, x.LMScope, x.Flags.Names(), d.Str(x.Scope), res.Instance, d.Proc(x.Proc).Name, x.RawStart, x.RawEnd, x.Start, x.End, x.Sources)
		for _, a := range x.Attrs {
			fmt.Fprint(&b, " ", d.KeyName(a.Key), "=", a.Value)
		}
		b.WriteByte('\n')
	}
	for i := range s.Partitions() {
		err := s.Read(context.Background(), i, func(r *model.Request) error {
			fmt.Fprintf(&b, "%+v\n", r.Identity)
			for _, x := range r.Spans {
				span(x)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var process []string
	whole := b.String()
	b.Reset()
	err := s.ReadProcess(context.Background(), func(x *model.Span) error {
		span(x)
		process = append(process, b.String())
		b.Reset()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(process)
	return whole + "process\n" + strings.Join(process, "")
}

// R2.4: the same requests in the same order for any order of records, any number of writers and partitions, in memory or on disk.
func TestSameWhateverTheWay(t *testing.T) {
	for seed := range uint64(2) {
		for _, mode := range []KeyMode{KeyAuto, KeyByID, KeyByTrace} {
			rng := rand.New(rand.NewPCG(seed, uint64(mode)))
			all := recipes(rng, 2000)
			var want string
			var sum Summary
			for n, way := range []struct {
				writers    int
				memory     int64
				partitions int
			}{{1, 0, 0}, {1, 1, 1}, {2, 64 << 10, 8}, {7, 1 << 30, 64}, {7, 64 << 10, 64}, {2, 1, 0}} {
				d := model.NewDict()
				for _, f := range []string{"a.json", "b.json", "c.jsonl"} {
					d.AddFile(f)
				}
				s := New(d, Config{Memory: way.memory, Partitions: way.partitions, TempDir: t.TempDir(), KeyMode: mode, Jobs: way.writers})
				done := make(chan error)
				for w := range way.writers {
					go func() {
						writer := s.Writer()
						b := model.NewBatch(d, true)
						var err error
						for i := w; i < len(all); i += way.writers {
							all[i].write(d, b)
							if len(b.Records) == 50 || i+way.writers >= len(all) {
								err = errors.Join(err, writer.Add(b))
								b.Reset()
							}
						}
						done <- errors.Join(err, writer.Close())
					}()
				}
				for range way.writers {
					if err := <-done; err != nil {
						t.Fatal(err)
					}
				}
				got, err := s.Identify(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				text := dump(t, d, s)
				if n == 0 {
					want, sum = text, got
					if !strings.Contains(want, "ID:") || sum.Records != int64(len(all)) || mode != KeyByTrace && min(sum.Unattributed, sum.ProcessRecords, sum.TraceKeyed, sum.Contested, sum.Joined, sum.Ambiguous, sum.Alone, sum.WeakHeld, sum.WeakLost) == 0 {
						t.Fatalf("a rule has nothing to do: %+v", sum)
					}
				}
				if text != want || got != sum {
					t.Fatalf("seed %d, mode %d, way %+v: another answer\n%+v\n%+v\n%s", seed, mode, way, got, sum, firstDifference(text, want))
				}
				if _, bytes, dir := s.Spilled(); (bytes > 0) != (way.memory > 0 && way.memory < 1<<20) || (dir != "") != (bytes > 0) {
					t.Errorf("way %+v: %d bytes written to %q", way, bytes, dir)
				}
				_, _, dir := s.Spilled()
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if dir != "" {
					if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
						t.Errorf("%s is still there: %v", dir, err)
					}
				}
				rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			}
		}
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(x), len(y))
}
