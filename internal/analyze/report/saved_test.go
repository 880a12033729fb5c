package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/clock"
	"github.com/cbtrace/cbtrace/internal/model"
)

var testFacts = Capture{
	Start: 1_700_000_000 * second, End: 1_700_300_000 * second, Survey: SurveyGiven, SurveyHash: 7, Surveyed: clock.Requests{N: 21, Sum: 210}, LLM: true, Unattributed: 4,
	Clock:       []Clock{{Process: "w", Reference: "s", OffsetNS: model.Some(-5), UncertaintyNS: model.Some(2), DriftPPM: model.SomeFloat(1.5), Pairs: 9, Basis: "pairs"}},
	Disagreeing: []string{"w"}, Analysis: Analysis{Key: "auto", Deadline: 100 * time.Millisecond},
}

// factsOf are the facts of one shard of a capture of files "0", "1", … that has one survey table and 4 spans of no request, all in the first.
func factsOf(shards ...int) *Capture {
	f := testFacts
	f.Unattributed = 0
	for _, i := range shards {
		f.Inputs = append(f.Inputs, model.InputStats{File: fmt.Sprint(i), Format: "otlp-json", Bytes: int64(i), Spans: 3, ErrorCount: 1, Steps: int64(i), Errors: []string{"bad"}, Notes: []string{"note"}})
		if i == 0 {
			f.Unattributed = 4
		}
		f.Analysed.N += 3
		f.Analysed.Sum += 3 * uint64(i)
	}
	if f.Analysed == f.Surveyed {
		f.Survey = SurveyWhole
	}
	return &f
}

func saveOf(t testing.TB, a *Aggregate, facts *Capture) []byte {
	t.Helper()
	b, err := a.Append(nil, facts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func loaded(t testing.TB, b []byte, dict *model.Dict) (*Aggregate, *Capture) {
	t.Helper()
	a, facts, err := Decode(b, dict)
	if err != nil {
		t.Fatal(err)
	}
	return a, facts
}

func documentOf(t testing.TB, a *Aggregate, facts *Capture) string {
	t.Helper()
	b, err := json.MarshalIndent(a.Document(facts), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func differ(t *testing.T, what, have, want string) {
	t.Helper()
	if have == want {
		return
	}
	at := 0
	for at < min(len(have), len(want)) && have[at] == want[at] {
		at++
	}
	from := max(0, at-80)
	t.Fatalf("%s: %.240s\nwant %.240s", what, have[from:], want[from:])
}

// R8.3: a saved report is the report: read back it prints the same, and is saved as the same bytes again.
func TestSavedIsTheReport(t *testing.T) {
	for _, opt := range []Options{testOptions, {All: true, Method: Linear, Per: PerRequest, Bucket: time.Hour, Since: 1_700_000_000 * second, Until: 1_700_200_000 * second}} {
		dict := model.NewDict()
		a := New(dict, opt)
		for i := range 1000 {
			a.Add(randomRow(rand.New(rand.NewPCG(uint64(i), 1)), dict, i))
		}
		facts := factsOf(0, 1)
		before := documentOf(t, a, facts)
		b := saveOf(t, a, facts)
		differ(t, "after saving", documentOf(t, a, facts), before)
		other := model.NewDict()
		other.InternString("so that the numbers of names are others")
		read, factsRead := loaded(t, b, other)
		differ(t, "read back", documentOf(t, read, factsRead), before)
		if again := saveOf(t, read, factsRead); !bytes.Equal(again, b) {
			t.Fatalf("saved again it has %d bytes, and not those %d", len(again), len(b))
		}
		var mine, theirs []string
		for d := range a.Table().All {
			mine = append(mine, fmt.Sprintf("%+v %s %s %s", stripped(d), dict.Str(d.Model), dict.Str(d.Instance), dict.Str(d.TopStage)))
		}
		for d := range read.Table().All {
			theirs = append(theirs, fmt.Sprintf("%+v %s %s %s", stripped(d), other.Str(d.Model), other.Str(d.Instance), other.Str(d.TopStage)))
		}
		if !slices.Equal(mine, theirs) {
			t.Fatal("another request table")
		}
	}
}

// stripped is a digest without the numbers of its names.
func stripped(d *Digest) Digest {
	s := *d
	for _, id := range s.names() {
		*id = 0
	}
	return s
}

// shardedRows is how many rows TestMergeOfSaved adds: more than a saved report keeps one by one of anything.
const shardedRows = MaxDigests + 5000

// bigRow has few figures, so that many can be made, and names of which more are used than a saved report keeps apart.
func bigRow(dict *model.Dict, i int) *model.Row {
	rnd := rand.New(rand.NewPCG(uint64(i), 3))
	r := rowOf(fmt.Sprintf("r%d", i), model.Time(1_700_000_000*second+int64(i)*10*second), 1+rnd.Int64N(second))
	r.TTFT, r.Model, r.Instance = model.Some(r.Window/2), "m", fmt.Sprint("i", rnd.IntN(300))
	for range 8 {
		name := dict.InternString(fmt.Sprintf("name.%d", rnd.IntN(60_000)))
		r.Stages = append(r.Stages, model.RowStage{Stage: name, Spans: 1, Counted: 1, Union: r.Window, Critical: int64(i)})
		r.Spans = append(r.Spans, model.RowSpan{Stage: name, NS: r.Window})
	}
	return r
}

// R2.6, R8.3: what shards were saved as merges, in any order, to what one run over all of them is saved as; so it does where series became
// histograms, requests fell out of the table and names out of the names that are kept.
func TestMergeOfSaved(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	for _, c := range []struct {
		name   string
		rows   int
		row    func(*model.Dict, int) *model.Row
		opt    Options
		shards []int
	}{
		{"all kinds", 1500, func(d *model.Dict, i int) *model.Row { return randomRow(rand.New(rand.NewPCG(uint64(i), 1)), d, i) }, testOptions, []int{2, 3, 7}},
		{"large", shardedRows, bigRow, Options{By: []By{ByInstance}}, []int{3}},
	} {
		dict := model.NewDict()
		whole := New(dict, c.opt)
		for i := range c.rows {
			whole.Add(c.row(dict, i))
		}
		for _, n := range c.shards {
			var all []int
			parts := make([]*Aggregate, n)
			for k := range parts {
				all = append(all, k)
				parts[k] = New(dict, c.opt)
			}
			for i := range c.rows {
				parts[i%7%n].Add(c.row(dict, i)) // of different sizes
			}
			want := saveOf(t, whole, factsOf(all...))
			saved := make([][]byte, n)
			for k, p := range parts {
				saved[k] = saveOf(t, p, factsOf(k))
			}
			rand.New(rand.NewPCG(uint64(n), 1)).Shuffle(n, func(i, j int) { saved[i], saved[j] = saved[j], saved[i] })
			fresh := model.NewDict()
			merged, facts := loaded(t, saved[0], fresh)
			for k, b := range saved[1:] {
				if k == 2 { // merged, saved and merged again
					merged, facts = loaded(t, saveOf(t, merged, facts), fresh)
				}
				next, nextFacts := loaded(t, b, fresh)
				if d := merged.Differences(facts, next, nextFacts); d != nil {
					t.Fatalf("%s: options differ: %v", c.name, d)
				}
				merged.Merge(next)
				facts.Merge(nextFacts)
			}
			if have := saveOf(t, merged, facts); !bytes.Equal(have, want) {
				read, readFacts := loaded(t, want, model.NewDict())
				differ(t, fmt.Sprintf("%s, %d shards", c.name, n), documentOf(t, merged, facts), documentOf(t, read, readFacts))
				t.Fatalf("%s, %d shards: %d bytes, want %d", c.name, n, len(have), len(want))
			}
			if n := merged.Table().Repeated(merged.Counting()); n != 0 {
				t.Errorf("%s: %d requests in two shards", c.name, n)
			}
		}
		if c.name == "large" { // that it was large enough to be cut
			read, _ := loaded(t, saveOf(t, whole, factsOf(0)), model.NewDict())
			names := &read.main.stages.names
			check(t, "cut", []any{read.main.latency.Exact(), read.Table().Len(), names.limit < maxNames, len(names.entries), names.other != nil, len(whole.main.stages.names.entries) > names.limit},
				[]any{false, MaxDigests, true, names.limit, true, true})
		}
	}
}

// R3.4: of an input that is of no use a saved report tells whether something was lost with it. How one was found that is of use changes nothing,
// and a file from before this was kept has 0 or 1 where the state is now: what was of no known format counts there as nothing lost.
func TestSavedInputs(t *testing.T) {
	const denied, unknown = "permission denied", "an unknown format"
	facts := factsOf()
	facts.Inputs = []model.InputStats{
		{File: "a", Format: "otlp-json", Named: true, Truncated: true, Spans: 1},
		{File: "b", Unusable: denied, Unread: true},
		{File: "c", Unusable: unknown, Named: true},
		{File: "d", Unusable: unknown},
		{File: "e", Unusable: denied, Unread: true, Named: true},
		{File: "f", Format: "jaeger-json", Unusable: unknown, Truncated: true},
	}
	dict := model.NewDict()
	b := saveOf(t, New(dict, Options{}), facts)
	_, read := loaded(t, b, model.NewDict())
	have := ""
	for i := range read.Inputs {
		s := &read.Inputs[i]
		have += fmt.Sprintf("%s %d %v, ", s.File, stateOf(s), s.Foreign())
	}
	check(t, "read back", have, "a 1 false, b 4 false, c 2 false, d 0 true, e 6 false, f 1 false, ")
	have = ""
	for _, in := range inputsOf(read) {
		have += fmt.Sprintf("%s %v %v, ", in.File, in.Lost, in.Foreign)
	}
	check(t, "as a page tells of it", have, "a false false, b true false, c true false, d false true, e true false, f true false, ")

	facts.Inputs[0].Named = false
	if again := saveOf(t, New(dict, Options{}), facts); !bytes.Equal(again, b) {
		t.Error("how an input was found changes the file")
	}
	at := bytes.Index(b, []byte("\x04\x11"+denied)) // as 17 bytes of text behind the state
	if at < 0 {
		t.Fatal("no state before what is of no use")
	}
	old := bytes.Clone(b)
	old[at] = 0
	_, read = loaded(t, old, model.NewDict())
	check(t, "an older file", []any{read.Inputs[1].Unusable, read.Inputs[1].Foreign(), read.Inputs[2].Foreign()}, []any{denied, true, false})
	old[at] = 8
	if _, _, err := Decode(old, dict); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a state that is none: %v", err)
	}
}

// R2.6: a request that lies in two shards is there twice, whichever comes first.
func TestRequestInTwoShards(t *testing.T) {
	dict := model.NewDict()
	part := func(model string, windows ...int64) []byte {
		a := New(dict, Options{})
		for i, w := range windows {
			r := rowOf(fmt.Sprint("r", i), 5*second, w)
			r.Model, r.TopStage = model, dict.InternString("stage of "+model)
			a.Add(r)
		}
		return saveOf(t, a, factsOf())
	}
	shards := [][]byte{part("a", 10, 20, 30), part("b", 10, 20), part("c", 10)}
	var want []byte
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		d := model.NewDict()
		a, facts := loaded(t, shards[order[0]], d)
		for _, i := range order[1:] {
			b, f := loaded(t, shards[i], d)
			a.Merge(b)
			facts.Merge(f)
		}
		check(t, "in two shards", []any{a.Table().Repeated(a.Counting()), a.Table().Total, a.Document(facts).Requests.Total}, []any{2, 6, 6})
		have := saveOf(t, a, facts)
		if want == nil {
			want = have
		} else if !bytes.Equal(have, want) {
			t.Errorf("merged in order %v it is saved as other bytes", order)
		}
	}
}

// Facts of shards with one survey table are those of the capture; with several each shard keeps its own (R2.6).
func TestMergeFacts(t *testing.T) {
	a, b := factsOf(1, 4, 5, 9), factsOf(0)
	b.Start, b.LLM = 9, false
	a.Merge(b)
	check(t, "one table", []any{a.Survey, a.SurveyHash, len(a.Clock), len(a.Disagreeing), a.Start, a.Unattributed, a.LLM, a.Inputs[0].File},
		[]any{SurveyGiven, 7, 1, 1, 9, 4, true, "0"})
	c := factsOf(2)
	c.SurveyHash, c.Clock, c.Disagreeing, c.Start, c.End = 8, []Clock{{Process: "w", Reference: "s", OffsetNS: model.Some(-6), Basis: "pairs"}}, []string{"x"}, 0, 0
	a.Merge(c)
	check(t, "two tables", []any{a.Survey, a.SurveyHash, len(a.Clock), a.Disagreeing, a.Start}, []any{SurveyPerShard, 0, 2, []string{"w", "x"}, 9})
	a.Merge(factsOf(3))
	check(t, "for good", a.Survey, SurveyPerShard)
	part, rest := factsOf(5, 10, 15, 20), factsOf(4, 7, 9) // together the 21 requests of the table
	part.Merge(rest)
	check(t, "all that was surveyed", []any{part.Survey, part.SurveyHash}, []any{SurveyWhole, 7})
	part.Merge(factsOf(1))
	check(t, "and more", part.Survey, SurveyGiven)
}

func TestDifferences(t *testing.T) {
	dict := model.NewDict()
	slo, _ := ParseSLO("ttft<=1s")
	a, f := New(dict, Options{Method: Linear, All: true, Since: 5}), factsOf()
	b, g := New(dict, Options{Per: PerRequest, By: []By{ByModel}, SLOs: []SLO{slo}, Bucket: time.Hour}), factsOf()
	g.Analysis = Analysis{Key: "id", NoSkew: true, KeepShutdown: true, Deadline: time.Second, Where: "{ duration > 1s }"}
	check(t, "all", fmt.Sprint(a.Differences(f, b, g)), "[{--per span request} {--by  model} {--slo  ttft<=1s} {--key auto id} {--no-skew off on} {--keep-shutdown off on} "+
		"{--deadline 100ms 1s} {--where  { duration > 1s }}]")
	check(t, "none", a.Differences(f, a, f) == nil, true)
	a.opt.merge(&b.opt) // what only says how a report is shown, and the interval
	check(t, "merged", []any{a.opt.Method, a.opt.All, a.opt.Since, a.opt.Bucket}, []any{Nearest, false, 0, time.Duration(0)})
}

// A file says by name what its numbers mean: stages that changed places stay what they were, and one that is not known is a newer program's.
func TestNumbersOfAnotherProgram(t *testing.T) {
	dict := model.NewDict()
	a := New(dict, Options{})
	r := rowOf("id", 5*second, 100)
	r.Findings = 1
	for _, s := range []model.Stage{model.StageLookup, model.StageScatter} {
		r.Stages = append(r.Stages, model.RowStage{Stage: s.ID(), Owner: model.Server, Spans: 1, Counted: 1, Union: int64(s), Critical: int64(s)})
	}
	a.Add(r)
	b := saveOf(t, a, factsOf())
	swap := func(b []byte, pairs ...string) []byte {
		b = bytes.Clone(b)
		for i := 0; i < len(pairs); i += 2 {
			if bytes.Count(b, []byte(pairs[i])) != 1 {
				t.Fatalf("%q is there %d times", pairs[i], bytes.Count(b, []byte(pairs[i])))
			}
			b = bytes.Replace(b, []byte(pairs[i]), []byte(pairs[i+1]), 1)
		}
		return b
	}
	// The names of all numbers come first, each behind its length.
	other, _ := loaded(t, swap(b, "\x09cb.lookup\x14", "\x00", "\x0acb.scatter", "\x09cb.lookup", "\x00cb.fing", "\x0acb.scatter\x14cb.fing", "\x06orphan\x11negative_duration", "\x11negative_duration\x06orphan"), dict)
	for d := range other.Table().All {
		check(t, "digest", []any{d.Stages[0].Stage, d.Stages[0].Union, d.Findings}, []any{model.StageScatter, int64(model.StageLookup), 2})
	}
	for _, s := range other.main.stages.all() {
		want := map[string]int64{"cb.lookup": int64(model.StageScatter), "cb.scatter": int64(model.StageLookup)}[s.name]
		check(t, s.name, s.critical.int64(), want)
	}
	_, _, err := Decode(swap(b, "\x0acb.scatter", "\x0acb.scattes"), dict)
	if !errors.Is(err, ErrUnknown) || err.Error() != `was written by a newer cbtrace: it knows of "cb.scattes"` {
		t.Errorf("a stage that is not known: %v", err)
	}
}

// Whatever is read ends in an error or a report that can be printed and saved.
func TestDamage(t *testing.T) {
	dict := model.NewDict()
	a := New(dict, testOptions)
	for i := range 30 {
		a.Add(randomRow(rand.New(rand.NewPCG(uint64(i), 1)), dict, i))
	}
	b := saveOf(t, a, factsOf(0))
	for cut := 0; cut < len(b); cut += 1 + cut/200 {
		if _, _, err := Decode(b[:cut], model.NewDict()); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnknown) {
			t.Fatalf("%d of %d bytes: %v", cut, len(b), err)
		}
	}
	if _, _, err := Decode(append(bytes.Clone(b), 0), dict); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a byte behind the end: %v", err)
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		bad := bytes.Clone(b)
		for range 1 + rnd.IntN(3) {
			bad[rnd.IntN(len(bad))] = byte(rnd.Uint32())
		}
		survives(t, bad)
	}
}

// survives reads any bytes; what can be read can be printed and saved, and is then saved as the same bytes for good.
func survives(t testing.TB, b []byte) {
	a, facts, err := Decode(b, model.NewDict())
	if err != nil {
		return
	}
	a.Document(facts)
	first, err := a.Append(nil, facts)
	if err != nil {
		t.Fatal(err)
	}
	again, factsAgain := loaded(t, first, model.NewDict())
	if second := saveOf(t, again, factsAgain); !bytes.Equal(first, second) {
		t.Fatalf("saved as %d bytes, then as other %d", len(first), len(second))
	}
}

func FuzzDecode(f *testing.F) {
	for _, n := range []int{0, 1, 3} {
		dict := model.NewDict()
		a := New(dict, testOptions)
		for i := range n {
			a.Add(randomRow(rand.New(rand.NewPCG(uint64(i), 1)), dict, i))
		}
		f.Add(saveOf(f, a, factsOf(0)))
	}
	f.Fuzz(func(t *testing.T, b []byte) { survives(t, b) })
}
