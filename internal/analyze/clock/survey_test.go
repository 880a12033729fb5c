package clock

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/model"
)

// busy is a capture with something of everything that a survey keeps.
func busy(t testing.TB, n int) *capture {
	rng := rand.New(rand.NewPCG(11, 11))
	var rows strings.Builder
	rows.WriteString(`
	* K - cb.lookup.rpc {i}*1000+10 {i}*1000+60 process=sched
	* V K cb.lookup {i}*1000+15 {i}*1000+50 process=server model=m{i}
	* P - cb.start_load_kv {i}*1000+100 {i}*1000+160 process=w0 worker_id=0
	* R - cb.retrieve {i}*1000+101 {i}*1000+150 process=server worker_id=0 trace=1
	* X - app.step {i}*1000+101 {i}*1000+150 process=server scope=lmcache_mp.app trace=1
	* E - llm_request {i}*1000 {i}*1000+500 process=engine trace=2
	* Q - cb.request {i}*1000+1 {i}*1000+400 process=sched trace=3
	* T - cb.build_meta {i}*1000+5 {i}*1000+6 process=sched trace=@all
	odd K - cb.lookup.rpc 10 60 process=sched
	odd V K cb.lookup 75 110 process=server
	far Q - cb.request 300000000 300000001 process=sched`)
	for i := range 20 {
		fmt.Fprintf(&rows, "\n	l%d K - cb.lookup.rpc %d %d process=sched\n	l%d L K cb.lookup %d %d process=server", i, 100+i, 160+i, i, 110+i, 5_000_000+rng.IntN(9)-12*(i/19))
	}
	return captureOf(t, ms, n, rows.String())
}

func (c *capture) bytes(t testing.TB, v *Survey) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := v.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A survey is a function of the set of requests: shuffled, split in 1, 2 and 7 parts and merged it is the same to the byte, and so is what
// the table says.
func TestOrderOfRequests(t *testing.T) {
	c := busy(t, 300)
	v := c.survey()
	want, rows := c.bytes(t, v), fmt.Sprint(v.Finish(Options{}).Clocks())
	rng := rand.New(rand.NewPCG(12, 12))
	for _, parts := range []int{1, 2, 7} {
		rng.Shuffle(len(c.requests), func(i, j int) { c.requests[i], c.requests[j] = c.requests[j], c.requests[i] })
		vs := make([]*Survey, parts)
		for i := range vs {
			vs[i] = NewSurvey(c.dict)
		}
		for i, r := range c.requests {
			vs[i*i%parts].Add(r)
		}
		all := NewSurvey(c.dict)
		for _, part := range vs {
			all.Merge(part)
		}
		if got := c.bytes(t, all); !bytes.Equal(got, want) {
			t.Errorf("%d parts: %d bytes, want %d others", parts, len(got), len(want))
		}
		if got := fmt.Sprint(all.Finish(Options{}).Clocks()); got != rows {
			t.Errorf("%d parts: %s\nwant %s", parts, got, rows)
		}
	}
}

// Finishing and writing do not end a survey: it goes on as if they had not happened.
func TestFinishIsNoEnd(t *testing.T) {
	c := busy(t, 50)
	v, half := c.survey(), NewSurvey(c.dict)
	for i, r := range c.requests {
		half.Add(r)
		if i%10 == 0 {
			half.Finish(Options{})
			c.bytes(t, half)
		}
	}
	if !bytes.Equal(c.bytes(t, v), c.bytes(t, half)) {
		t.Error("other bytes")
	}
}

// R5.6: of more than 20 000 pairs those with the smallest ranks stay, whatever the order.
func TestSampleOfTwoProcesses(t *testing.T) {
	c := newCapture(t)
	const n = maxPairsOfTwo * 5 / 2
	for i := range n {
		at := int64(i) * ms
		c.call(i, at, at+10*ms, at+ms, at+9*ms)
	}
	whole := c.survey()
	want := c.bytes(t, whole)
	if row := c.clockOf(whole.Finish(Options{}), "server", "sched"); row.Pairs != maxPairsOfTwo {
		t.Errorf("%d pairs", row.Pairs)
	}
	var kept, ranks []uint64
	for _, p := range whole.samples[procPair{c.proc("sched"), c.proc("server")}].pairs {
		kept = append(kept, p.rank)
	}
	for _, r := range c.requests {
		ranks = append(ranks, whole.extract.rank(c.dict, r.ID, r.Spans[1]))
	}
	slices.Sort(ranks)
	if !slices.Equal(kept, ranks[:maxPairsOfTwo]) {
		t.Error("the sample is not the pairs of the smallest ranks")
	}
	slices.Reverse(c.requests)
	a, b := NewSurvey(c.dict), NewSurvey(c.dict)
	for i, r := range c.requests {
		if i < n/3 {
			a.Add(r)
		} else {
			b.Add(r)
		}
	}
	a.Merge(b)
	if !bytes.Equal(c.bytes(t, a), want) {
		t.Error("another order, another sample")
	}
}

// R5.6: and of all process pairs together.
func TestSampleOfAll(t *testing.T) {
	c := busy(t, 300)
	v, w := c.survey(), NewSurvey(c.dict)
	v.prunePairs(100)
	for _, r := range slices.Backward(c.requests) {
		w.Add(r)
		w.prunePairs(100)
	}
	var ranks []uint64
	for _, s := range c.survey().samples {
		for _, p := range s.pairs {
			ranks = append(ranks, p.rank)
		}
	}
	slices.Sort(ranks)
	if v.bound != ranks[99] || v.nPairs != 100 {
		t.Errorf("%d pairs up to %x, want 100 up to %x", v.nPairs, v.bound, ranks[99])
	}
	if !bytes.Equal(c.bytes(t, v), c.bytes(t, w)) {
		t.Error("another order, another sample")
	}
}

// What was left out on the way to the bound of all pairs leaves no trace in the file: a sample of two processes may have been full before, or begun and emptied.
func TestBoundOfAllInFile(t *testing.T) {
	c := busy(t, 300)
	v, w := c.survey(), c.survey()
	v.prunePairs(5)
	w.prunePairs(5)
	for _, s := range v.samples {
		s.bound = v.bound + 1
	}
	emptied := 0
	for pp, s := range v.samples {
		if len(s.pairs) == 0 {
			delete(v.samples, pp)
			emptied++
		}
	}
	if emptied == 0 {
		w.sample(procPair{0, 1})
	}
	if !bytes.Equal(c.bytes(t, v), c.bytes(t, w)) {
		t.Error("another way, another file")
	}
}

// A survey that was written and read, with another Dict, is the same survey and makes the same table.
func TestFile(t *testing.T) {
	c := busy(t, 100)
	v := c.survey()
	want := c.bytes(t, v)
	d := model.NewDict()
	for _, name := range []string{"zz", "server", "w0"} { // other ids
		d.Process(name)
		d.InternString(name)
	}
	back, err := Read(bytes.NewReader(want), d)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.bytes(t, back); !bytes.Equal(got, want) {
		t.Error("other bytes")
	}
	text := func(d *model.Dict, tab *Table) string {
		var out strings.Builder
		for _, r := range tab.Clocks() {
			fmt.Fprintln(&out, d.Proc(r.Process).Name, d.Proc(r.Reference).Name, r.Offset, r.Uncertainty, r.DriftPPM, r.Pairs, r.Disagreeing, r.Basis)
		}
		start, end, _ := tab.Range()
		first, last, _ := tab.LLMStarts()
		p, q, _ := tab.Instants(d.Process("server"))
		fmt.Fprintln(&out, start, end, first, last, p, q, tab.Model(d.Process("server")), tab.Unrelated(model.OpaqueTrace(d.InternString("@all"))), len(tab.Disagreeing()), tab.Requests())
		return out.String()
	}
	if got, want := text(d, back.Finish(Options{})), text(c.dict, v.Finish(Options{})); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	n, _ := ended(c, v.Finish(Options{}))
	if n == 0 {
		t.Fatal("nothing was ended by a shutdown")
	}
	if again, err := Read(bytes.NewReader(want), c.dict); err != nil {
		t.Error(err)
	} else if m, _ := ended(c, again.Finish(Options{})); m != n {
		t.Errorf("%d ended, want %d", m, n)
	}
}

// Two surveys that were read and merged are the survey of both.
func TestFilesMerge(t *testing.T) {
	c := busy(t, 100)
	a, b := NewSurvey(c.dict), NewSurvey(c.dict)
	for i, r := range c.requests {
		[]*Survey{a, b}[i%2].Add(r)
	}
	x, errX := Read(bytes.NewReader(c.bytes(t, a)), c.dict)
	y, errY := Read(bytes.NewReader(c.bytes(t, b)), c.dict)
	if errX != nil || errY != nil {
		t.Fatal(errX, errY)
	}
	x.Merge(y)
	if !bytes.Equal(c.bytes(t, x), c.bytes(t, c.survey())) {
		t.Error("other bytes")
	}
	var want Requests
	for _, r := range c.requests {
		want.Add(xxhash.Sum64String(r.ID))
	}
	if got := x.Finish(Options{}).Requests(); got != want || got.N != uint64(len(c.requests)) {
		t.Errorf("requests %v, want %v", got, want)
	}
}

func TestReadRefuses(t *testing.T) {
	c := busy(t, 5)
	whole := c.bytes(t, c.survey())
	read := func(b []byte) error {
		_, err := Read(bytes.NewReader(b), model.NewDict())
		return err
	}
	if err := read(nil); !errors.Is(err, ErrNotSurvey) {
		t.Errorf("empty: %v", err)
	}
	if err := read([]byte("{}")); !errors.Is(err, ErrNotSurvey) {
		t.Errorf("JSON: %v", err)
	}
	newer := slices.Clone(whole)
	newer[len(magic)] = version + 1
	if err := read(newer); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "it is 3, this program reads 2") {
		t.Errorf("newer: %v", err)
	}
	for n := len(magic) + 1; n < len(whole); n += 7 {
		if err := read(whole[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
		flipped := slices.Clone(whole)
		flipped[n] ^= 0x20
		if err := read(flipped); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d: %v", n, err)
		}
	}
	if err := read(append(slices.Clone(whole), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("longer: %v", err)
	}
}

// sealed is content with a head and a checksum that fit.
func sealed(content []byte) []byte {
	b := append([]byte(magic), version)
	b = append(b, content...)
	e := encoder{b: b}
	e.fixed(xxhash.Sum64(b))
	return e.b
}

// FuzzRead: content of any kind behind a right checksum ends in a survey that can be used, or in an error.
func FuzzRead(f *testing.F) {
	c := busy(f, 3)
	whole := c.bytes(f, c.survey())
	f.Add(whole[len(magic)+1 : len(whole)-8])
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, content []byte) {
		d := model.NewDict()
		v, err := Read(bytes.NewReader(sealed(content)), d)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := v.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(b.Bytes()), d)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		var twice bytes.Buffer
		if err := again.Write(&twice); err != nil || !bytes.Equal(twice.Bytes(), b.Bytes()) {
			t.Fatalf("other bytes, %v", err)
		}
		tab := v.Finish(Options{})
		for _, row := range tab.Clocks() {
			tab.Shift(row.Process, row.Reference, epoch)
			tab.Against(row.Reference, []model.ProcID{row.Process})
		}
		tab.Disagreeing()
	})
}

func BenchmarkAdd(b *testing.B) {
	c := busy(b, 2000)
	spans := 0
	for _, r := range c.requests {
		spans += len(r.Spans)
	}
	b.ReportAllocs()
	v := NewSurvey(c.dict)
	n := 0
	for b.Loop() {
		v.Add(c.requests[n%len(c.requests)])
		n++
	}
	b.ReportMetric(float64(b.N*spans/len(c.requests))/b.Elapsed().Seconds(), "spans/s")
}

func BenchmarkShift(b *testing.B) {
	c := captureOf(b, ms, 10, chained)
	tab := c.table()
	from, to := c.proc("c"), c.proc("a")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		tab.Shift(from, to, epoch+model.Time(i)*ms)
	}
}

func BenchmarkFinish(b *testing.B) {
	c := newCapture(b)
	for i := range maxPairsOfTwo {
		at, late := int64(i)*4320*ms, int64(0)
		if i%100 == 0 {
			late = 100 * ms
		}
		c.call(i, at, at+10*ms, at+ms+late, at+9*ms+late)
	}
	v := c.survey()
	for b.Loop() {
		v.Finish(Options{})
	}
}

// Of several pairs of the last rank that has a place those stay that come first by all that they say, whatever the order.
func TestPairsOfOneRank(t *testing.T) {
	pairs := make([]pair, maxPairsOfTwo+100)
	for i := range pairs {
		pairs[i] = pair{rank: uint64(i), lowAt: int64(i), hasLow: true}
		if i > maxPairsOfTwo-50 {
			pairs[i].rank = maxPairsOfTwo - 50
		}
	}
	rng := rand.New(rand.NewPCG(9, 9))
	for range 3 {
		rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		s := sample{bound: math.MaxUint64}
		for _, p := range pairs {
			s.add(p)
		}
		s.prune()
		s.order()
		if len(s.pairs) != maxPairsOfTwo || s.pairs[maxPairsOfTwo-1].lowAt != maxPairsOfTwo-1 || s.bound != maxPairsOfTwo-50 {
			t.Errorf("%d pairs up to %+v, bound %d", len(s.pairs), s.pairs[len(s.pairs)-1], s.bound)
		}
	}
}
