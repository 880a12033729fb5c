package where

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// capture is a request whose root found 512 of 1024 tokens and whose second lookup asked for nothing.
const capture = `
cb.request          sched    0ms  90ms  requested_tokens=1024 hit_tokens=512 prefix_coverage_tokens=256 model=llama
  cb.schedule       sched    0ms  60ms
    cb.lookup.rpc   sched    5ms  50ms  n_polls=4
      cb.lookup     server0  6ms  49ms  requested_tokens=0 hit_tokens=0 no_gpu_context=False
        cb.l2_load  server0  7ms  40ms  bytes=67108864 ms=33 chunks=4
  cb.execute        worker  60ms  90ms  error worker_id=0
    my.span         worker  61ms  70ms
`

func requestAndRow(t *testing.T) (*model.Request, *model.Row) {
	t.Helper()
	r := modeltest.Request(t, capture)
	row := &model.Row{Identity: model.Identity{ID: "1_chat-7", External: "chat-7"}, Flags: model.RowRealRoot | model.RowRootClosed | model.RowEdge, Window: 90e6,
		RootDuration: model.Some(90e6), TTFT: model.Some(70e6), Decode: model.Some(41e6), CompletionTokens: model.Some(5), Model: "llama", Instance: "server0",
		TopStage: model.StageL2Load.ID(), Verdict: model.LoadRepeat, Findings: 1<<finding.LatePoll | 1<<finding.RetrieveFailed,
		Hits: model.RowHits{Requested: model.Some(1024), Hit: model.Some(512), Prefix: model.Some(256), Written: model.Some(256), L1Keys: model.Some(3), Class: model.HitPartial}}
	return r, row
}

func parsed(t *testing.T, src string) *Expr {
	t.Helper()
	e, err := Parse(src, nil)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return e
}

// R9.1: a request is selected when one span satisfies the whole expression.
func TestMatch(t *testing.T) {
	r, row := requestAndRow(t)
	for src, want := range map[string]bool{
		`{ }`:                                                   true,
		`{ span.hit_rate >= 0.5 }`:                              true,
		`{ span.hit_rate > 0.5 }`:                               false,
		`{ span.hit_rate = 0 }`:                                 true, // LMCache writes 0 when nothing was asked for
		`{ 0.5 <= span.hit_rate }`:                              true,
		`{ 0.5 < span.hit_rate }`:                               false,
		`{ span.prefix_hit_rate = 0.25 }`:                       true,
		`{ span.prefix_hit_tokens = 256 }`:                      true, // by its other name
		`{ .hit_tokens == 512 }`:                                true,
		`{ span.l1_hit_rate >= 0 }`:                             false, // nobody says
		`{ name = "cb.request" && span.hit_tokens = 512 }`:      true,
		`{ name = "cb.lookup" && span.hit_tokens = 512 }`:       false, // no span is both
		`{ name = "cb.lookup" || span.hit_tokens = 7 }`:         true,
		`{ span.hit_tokens < span.requested_tokens }`:           true,
		`{ span.hit_tokens > span.requested_tokens }`:           false,
		`{ stage = "my.span" }`:                                 true,
		`{ span.stage = "cb.l2_load" && duration = 33ms }`:      true,
		`{ duration > 89999us && duration < 0.0901s }`:          true,
		`{ duration > 1m30s }`:                                  false,
		`{ duration < -1ms }`:                                   false,
		`{ owner = "server" }`:                                  true,
		`{ owner = "engine" }`:                                  false,
		`{ process =~ "server[0-9]" }`:                          true,
		`{ process =~ "server" }`:                               false, // the whole text
		`{ name !~ "cb\\..*" }`:                                 true,
		"{ name =~ `cb\\.l2.*` }":                               true,
		`{ status = error }`:                                    true,
		`{ status = error && name = "cb.request" }`:             false,
		`{ status = ok && name = "cb.request" }`:                true,
		`{ class = "background" }`:                              false,
		`{ resource.service.instance.id = "worker" }`:           true,
		`{ resource.process.pid = nil }`:                        true,
		`{ span.bytes >= 64MiB }`:                               true,
		`{ span.bytes > 67.1MB }`:                               true,
		`{ span.bytes = 67108864 }`:                             true,
		`{ span.ms = 33 && span.ms >= 33ms && span.ms < 0.1s }`: true,
		`{ span.worker_id = 0 && span.worker_id = "0" }`:        true,
		`{ span.no_gpu_context = false }`:                       true,
		`{ span.no_gpu_context }`:                               false,
		`{ !span.no_gpu_context && name = "cb.lookup" }`:        true,
		`{ span.chunks = nil && name = "cb.l2_load" }`:          false,
		`{ span.chunks != nil }`:                                true,
		`{ span.chunks != 4 }`:                                  false, // of a span without chunks nothing is known
		`{ !(span.chunks = 4) }`:                                true,
		// of the request
		`{ request.duration = 90ms && request.root_duration = 90ms }`:                          true,
		`{ request.ttft > 69ms && request.ttft <= 70ms }`:                                      true,
		`{ request.queue > 0 }`:                                                                false,
		`{ request.queue = nil }`:                                                              true,
		`{ request.decode_per_token = 10250us }`:                                               true, // 41 ms / 4
		`{ request.id = "1_chat-7" && request.external_id = "chat-7" }`:                        true,
		`{ request.hit_class = "partial" && request.hit_rate = 0.5 }`:                          true,
		`{ request.effective_reuse = 0.25 && request.written_tokens = request.prefix_tokens }`: true,
		`{ request.finding = "late_poll" }`:                                                    true,
		`{ request.finding != "late_poll" }`:                                                   false,
		`{ request.finding != "orphan" }`:                                                      true,
		`{ request.finding =~ "retrieve_.*" }`:                                                 true,
		`{ request.finding !~ "double.*" }`:                                                    true,
		`{ request.finding = nil }`:                                                            false,
		`{ request.verdict = "repeat" && request.key = "id" }`:                                 true,
		`{ request.edge && !request.complete && request.failed && request.aborted = false }`:   true,
		`{ request.model = "llama" && request.instance = "server0" }`:                          true,
		`{ request.top_stage =~ "cb.l2_load|cb.lookup" && request.l1_keys = 3 }`:               true,
		// && binds before ||, ! before both
		`{ name = "x" && name = "y" || name = "cb.request" }`:   true,
		`{ name = "x" && (name = "y" || name = "cb.request") }`: false,
		`{ !name = "x" && name = "cb.request" }`:                true,
		`{ !(name = "cb.request" || duration < 90ms) }`:         false,
	} {
		if have := parsed(t, src).Match(r, row); have != want {
			t.Errorf("%s: %v", src, have)
		}
	}
}

// A synthetic span was not recorded: nothing is asked of it, and a request of nothing else has no span.
func TestSyntheticSpans(t *testing.T) {
	r, row := requestAndRow(t)
	for _, s := range r.Spans {
		s.Flags |= model.FlagSynthetic
	}
	for _, src := range []string{`{ }`, `{ duration > 0 }`, `{ request.duration > 0 }`} {
		if parsed(t, src).Match(r, row) {
			t.Errorf("%s holds", src)
		}
	}
}

// An open or untimed span has no duration.
func TestDurationOfOpenSpans(t *testing.T) {
	r := modeltest.Request(t, "cb.request sched 0ms 90ms\n  cb.schedule sched 5ms -\n")
	for src, want := range map[string]bool{`{ name = "cb.schedule" && duration = nil }`: true, `{ duration < 90ms }`: false} {
		if parsed(t, src).Match(r, &model.Row{}) != want {
			t.Errorf("%s", src)
		}
	}
}

// digestOf is what a report keeps of a row.
func digestOf(dict *model.Dict, r *model.Row) *report.Digest {
	a := report.New(dict, report.Options{})
	a.Add(r)
	for d := range a.Table().All {
		return d
	}
	return nil
}

// R9.5: a digest answers what is asked of the request and of its root's hits; anything else is an error that names it.
func TestMatchDigest(t *testing.T) {
	r, row := requestAndRow(t)
	d := digestOf(r.Dict, row)
	for src, want := range map[string]string{
		`{ }`:                      "yes",
		`{ span.hit_rate >= 0.5 }`: "yes",
		`{ span.hit_rate > 0.5 }`:  "no",
		`{ span.hit_tokens = 0 }`:  "no", // that was the lookup's
		`{ span.prefix_hit_tokens = 256 && span.l1_hit_keys = 3 && span.l2_hit_keys = nil && span.prefix_hit_rate < 0.3 }`:        "yes",
		`{ request.ttft = 70ms && request.finding = "late_poll" && request.model = "llama" && request.top_stage = "cb.l2_load" }`: "yes",
		`{ request.hit_rate < 0.3 || request.edge && request.instance !~ "x" && request.written_tokens = 256 }`:                   "yes",
		`{ request.decode_per_token > 10ms && request.external_id = "chat-7" && request.failed }`:                                 "yes",
		`{ request.finding !~ "late.*" }`:                       "no",
		`{ span.scattered_tokens > 5 }`:                         "column 3: span.scattered_tokens: a saved report keeps",
		`{ request.edge && (span.hit_rate > 0 || name = "x") }`: "column 41: name: a saved report keeps",
		`{ span.stage = "x" && duration > 1s }`:                 "column 3: stage: a saved report keeps",
		`{ resource.host.name = "x" }`:                          "column 3: resource.host.name: a saved report keeps",
	} {
		e := parsed(t, src)
		have := "no"
		switch ok, err := e.MatchDigest(r.Dict, d); {
		case err != nil:
			if have = err.Error(); e.Saved() == nil || e.Saved().Error() != have || ok {
				t.Errorf("%s: %v, then %v", src, e.Saved(), err)
			}
		case ok:
			have = "yes"
		}
		if !strings.HasPrefix(have, want) || len(want) < 4 && e.Saved() != nil {
			t.Errorf("%s: %s, want %s", src, have, want)
		}
	}
	zero := report.Digest{Requested: model.Some(0), Hit: model.Some(0)}
	for src, want := range map[string]bool{`{ span.hit_rate = 0 }`: true, `{ request.hit_rate = nil }`: true, `{ request.external_id = nil }`: true} {
		if ok, err := parsed(t, src).MatchDigest(r.Dict, &zero); ok != want || err != nil {
			t.Errorf("%s of nothing asked for: %v %v", src, ok, err)
		}
	}
}

// Whatever a row says, its digest says.
func TestRowAndDigestAgree(t *testing.T) {
	r, row := requestAndRow(t)
	d := digestOf(r.Dict, row)
	a, b := rowRequest(r.Dict, row), digestRequest(r.Dict, d)
	b.hits.Class, b.hits.Shortfall, b.hits.EarlyExit = a.hits.Class, a.hits.Shortfall, a.hits.EarlyExit
	if a != b {
		t.Errorf("%+v\n%+v", a, b)
	}
}

func TestErrors(t *testing.T) {
	nearest := func(word string, among []string) string {
		return map[string]string{"span.hit_rat": "span.hit_rate", "sever": "server", "late_pol": "late_poll"}[word]
	}
	for src, want := range map[string]string{
		``:                                 "column 1: want { at the beginning, as in { span.hit_rate >= 0.5 }, have the end",
		`span.hit_rate >= 0.5`:             "column 1: want { at the beginning, as in { span.hit_rate >= 0.5 }, have span.hit_rate",
		`{`:                                "column 2: want a field or a value, have the end",
		`{ name = "x"`:                     "column 13: want &&, || or }, have the end",
		`{ name = "x" } && { }`:            "column 16: want nothing behind }: one set of spans is all there can be, have &&",
		`{ name = "x" & name = "y" }`:      "column 14: want &&, have &",
		`{ name = 'x' }`:                   `column 10: texts stand in "…"`,
		`{ name = "x }`:                    `column 10: a text without its closing "`,
		`{ name = "\q" }`:                  "column 10: \"\\q\" is no text",
		`{ name # }`:                       "column 8: '#' means nothing here",
		`{ ö = 1 }`:                        "column 3: 'ö' means nothing here",
		`{ "ü" = name && nam = 1 }`:        "column 17: no field nam",
		`{ hit_rate > 0.5 }`:               "column 3: no field hit_rate; did you mean span.hit_rate?",
		`{ ttft > 1s }`:                    "column 3: no field ttft; did you mean request.ttft?",
		`{ span.hit_rat > 0.5 }`:           "column 3: no field span.hit_rat; did you mean span.hit_rate?",
		`{ span.nothing = 1 }`:             "column 3: no field span.nothing",
		`{ duration > 100 }`:               "column 14: duration is a time: want one with its unit such as 100ms, have 100",
		`{ duration > 100MiB }`:            "column 14: duration is a time",
		`{ duration > "1s" }`:              `column 14: duration is a number, have "1s"`,
		`{ duration > 100mss }`:            `column 17: unknown unit "mss": want ns, us`,
		`{ duration > 1s5 }`:               "column 16: want one number, have 1s5",
		`{ span.bytes > 1MB5KB }`:          `column 19: want &&, || or }, have 5KB`,
		`{ span.bytes > 5ms }`:             "column 16: span.bytes is a size: want one such as 64MiB, have 5ms",
		`{ span.hit_tokens > 5ms }`:        "column 21: span.hit_tokens is a number without a unit, have 5ms",
		`{ span.hit_tokens > duration }`:   "column 21: span.hit_tokens and duration do not measure the same",
		`{ name > "x" }`:                   "column 10: name is a text: want = or !=",
		`{ name }`:                         "column 8: want a comparison such as >= behind name, have }",
		`{ 5 }`:                            "column 5: want a comparison such as >= behind 5, have }",
		`{ 5 = 6 }`:                        "column 7: want a field on one side, have 6 and 5",
		`{ name = true }`:                  "column 10: name is a text, have true",
		`{ span.success = 1 }`:             "column 18: span.success is true or false, have 1",
		`{ span.success > true }`:          "column 18: span.success is true or false: want = or !=",
		`{ name > nil }`:                   "column 10: want = nil or != nil",
		`{ name =~ x.y }`:                  "column 11: no field x.y",
		`{ name =~ stage }`:                `column 11: want a regular expression as a text`,
		`{ name =~ "(" }`:                  "column 11: missing closing ): `(`",
		`{ name =~ ")|(" }`:                "column 11: unexpected ): `)|(`",
		`{ "x" =~ name }`:                  "column 3: want a field on one side",
		`{ duration =~ "x" }`:              "column 3: duration is a number: regular expressions match texts",
		`{ owner = "sever" }`:              `column 11: owner is never "sever"; did you mean "server"?`,
		`{ owner = "nobody" }`:             `column 11: owner is never "nobody": want one of engine, scheduler, worker, server`,
		`{ status = 2 }`:                   `column 12: status is never 2: want one of error, ok`,
		`{ request.finding = "late_pol" }`: `column 21: request.finding is never "late_pol"; did you mean "late_poll"?`,
		`{ request.finding = "nothing" }`:  `column 21: request.finding is never "nothing"`,
		`{ request.finding = name }`:       "column 21: request.finding is a text, have name",
		`{ (name = "x" }`:                  "column 15: want &&, || or ), have }",
		`{ name = "x" || }`:                "column 17: want a field or a value, have }",
		`{ !! }`:                           "column 6: want a field or a value, have }",
		`{ name = "x" name = "y" }`:        "column 14: want &&, || or }, have name",
		"{ " + strings.Repeat("(", 101):    "column 103: brackets and ! are more than 100 deep",
		strings.Repeat(" ", 16<<10+1):      "column 1: longer than 16384 bytes",
	} {
		e, err := Parse(src, nearest)
		if wrong, ok := errors.AsType[*Error](err); !ok || e != nil || !strings.HasPrefix(wrong.Error(), want) {
			t.Errorf("%.60s: %v, want %s", src, err, want)
		}
	}
}

// One text for what says the same, which is read as the same again.
func TestString(t *testing.T) {
	for src, want := range map[string]string{
		`{}`:                     `{ }`,
		`{name=="x"}`:            `{ name = "x" }`,
		`{ 0.5 <= .hit_rate }`:   `{ span.hit_rate >= 0.5 }`,
		"{ span.name = `a\"b` }": `{ name = "a\"b" }`,
		`{ ((name = "a")) && ((name = "b" || !(!status = error))) }`:                           `{ name = "a" && (name = "b" || !!(status = "error")) }`,
		`{ name = "a" || name = "b" && !(span.success || request.edge) }`:                      `{ name = "a" || name = "b" && !(span.success || request.edge) }`,
		`{ span.worker_id = 0 && duration > 1m30s && span.x != nil }`:                          ``,
		`{ span.worker_id = 0 && duration > 1m30s && span.ms != nil && request.edge = false }`: `{ span.worker_id = "0" && duration > 1m30s && span.ms != nil && request.edge = false }`,
	} {
		e, err := Parse(src, nil)
		if want == "" {
			if err == nil {
				t.Errorf("%s is read", src)
			}
			continue
		}
		if err != nil || e.String() != want {
			t.Errorf("%s: %v %v, want %s", src, e, err, want)
			continue
		}
		if again := parsed(t, e.String()); again.String() != want {
			t.Errorf("%s: then %s", want, again)
		}
	}
}

// What selects one id only can be searched for (R5.7).
func TestID(t *testing.T) {
	for src, want := range map[string]string{
		`{ request.id = "chat-7" }`:                                            "chat-7",
		`{ "chat-7" == request.external_id }`:                                  "chat-7",
		`{ name = "cb.request" && (request.ttft > 1s && request.id = "a#2") }`: "a#2",
		`{ request.id = "a" && request.external_id = "b" }`:                    "a", // either will do
		`{ }`:                     "",
		`{ request.id != "a" }`:   "",
		`{ !(request.id = "a") }`: "",
		`{ request.id =~ "a" }`:   "",
		`{ request.id = "a" || request.id = "b" }`: "",
		`{ request.id = nil }`:                     "",
		`{ request.id = request.external_id }`:     "",
		`{ request.model = "a" }`:                  "",
		`{ request.id = "a" || name = "b" }`:       "",
		`{ (request.id = "a" || name = "b") && !(request.external_id = "c") && request.id = "d" }`: "d",
	} {
		if got := parsed(t, src).ID(); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
	for src, want := range map[string]string{`{ request.id = "a" }`: FieldID, `{ name = "b" && request.external_id = "a" }`: FieldExternalID, `{ name = "b" }`: ""} {
		if got := parsed(t, src).IDField(); got != want {
			t.Errorf("%s: field %q, want %q", src, got, want)
		}
	}
}

// Every attribute of the vocabulary is a field, and those of several names are one.
func TestFields(t *testing.T) {
	all := Fields()
	for k := model.AttrNone + 1; k < model.NumAttrs; k++ {
		if !slices.Contains(all, "span."+model.Attrs[k].Name) {
			t.Errorf("no field for %s", model.Attrs[k].Name)
		}
	}
	for _, name := range all {
		f := fields[name]
		if f.of == nil && f.kind != texts || strings.HasPrefix(name, "request.") && f.saved == nil {
			t.Errorf("%s cannot be asked", name)
		}
	}
}

func FuzzWhere(f *testing.F) {
	for _, src := range []string{`{ }`, `{ span.hit_rate >= 0.5 }`, `{ name = "cb.request" && !(duration > 1m30s || span.bytes = 64MiB) }`, "{ process =~ `a.*` || request.finding != \"orphan\" }",
		`{ -1.5e3 < span.ms && span.success && request.edge = false && name != nil }`, `{ "\xff" = name }`} {
		f.Add(src)
	}
	r := modeltest.Request(f, capture)
	row := &model.Row{Findings: 1}
	d := digestOf(r.Dict, row)
	f.Fuzz(func(t *testing.T, src string) {
		e, err := Parse(src, nil)
		if err != nil {
			if wrong, ok := errors.AsType[*Error](err); !ok || wrong.Column < 1 || wrong.Column > len(src)+1 {
				t.Fatalf("%q: %v", src, err)
			}
			return
		}
		text := e.String()
		again, err := Parse(text, nil)
		if err != nil || again.String() != text {
			t.Fatalf("%q is %q, then %v %v", src, text, again, err)
		}
		if e.Match(r, row) != again.Match(r, row) {
			t.Fatalf("%q and %q select others", src, text)
		}
		x, err1 := e.MatchDigest(r.Dict, d)
		y, err2 := again.MatchDigest(r.Dict, d)
		if x != y || (err1 == nil) != (err2 == nil) {
			t.Fatalf("%q and %q select others of a saved report", src, text)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	r := modeltest.Request(b, capture)
	row := &model.Row{}
	e, err := Parse(`{ name = "cb.request" && span.hit_rate > 0.9 || stage = "cb.scatter" && span.dropped > 0 }`, nil)
	if err != nil {
		b.Fatal(err)
	}
	if e.Match(r, row) {
		b.Fatal("selected")
	}
	b.ReportAllocs()
	for b.Loop() {
		e.Match(r, row)
	}
	b.ReportMetric(float64(len(r.Spans)*b.N)/b.Elapsed().Seconds(), "spans/s")
}
