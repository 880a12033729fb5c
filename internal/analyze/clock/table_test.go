package clock

import (
	"slices"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// apart are lookups of a scheduler and a server of equal clocks, in seconds 10, 11 … of a minute.
const apart = `
	first Q - cb.request 0 100 process=sched
	last Q - cb.request 60000 60100 process=sched
	* Q - cb.request {i}*1000+10000 {i}*1000+10390 process=sched
	* K Q cb.lookup.rpc {i}*1000+10010 {i}*1000+10060 process=sched
	* V K cb.lookup {i}*1000+10011 {i}*1000+10051 process=server
	* M V cb.fingerprint_match {i}*1000+10011 {i}*1000+10051 process=server`

// R5.4: equal clocks fit, so they are equal; the uncertainty is the distance to the farther edge, −1 … 9 ms.
func TestZeroFits(t *testing.T) {
	c := captureOf(t, ms, 6, apart)
	tab := c.table()
	row := c.clockOf(tab, "server", "sched")
	if row.Basis != BasisZero || row.Offset != model.Some(0) || row.Pairs != 6 {
		t.Errorf("%+v", row)
	}
	between(t, "uncertainty", row.Uncertainty.V, 8990*us, 9010*us)
	shift, u, ok := tab.Shift(c.proc("server"), c.proc("sched"), epoch+1000*sec)
	if shift != 0 || !ok {
		t.Errorf("shift %v, ok %v", shift, ok)
	}
	between(t, "uncertainty long after", int64(u), 8990*us, 9010*us)
}

// ahead is a server whose clock is 385 ms ahead, as known by pairs of ± 5 ms.
const ahead = `
	* K - cb.lookup.rpc {i}*1000+10010 {i}*1000+10060 process=sched
	* V K cb.lookup {i}*1000+10400 {i}*1000+10440 process=server`

// R5.4: fewer than 5 pairs say nothing.
func TestFewestPairs(t *testing.T) {
	four := captureOf(t, ms, 4, ahead)
	tab := four.table()
	if row := four.clockOf(tab, "server", "sched"); row.Basis != BasisNone || row.Offset.OK || row.Uncertainty.OK || row.Pairs != 4 {
		t.Errorf("four pairs: %+v", row)
	}
	if shift, _, ok := tab.Shift(four.proc("server"), four.proc("sched"), epoch); shift != 0 || ok || tab.Routed(four.proc("server")) {
		t.Errorf("four pairs shift by %v, ok %v", shift, ok)
	}
	five := captureOf(t, ms, 5, ahead)
	tab = five.table()
	for i := range model.Time(5) {
		shift, u, ok := tab.Shift(five.proc("server"), five.proc("sched"), epoch+(10_400+1000*i)*ms)
		if !ok {
			t.Fatal("five pairs are not enough")
		}
		between(t, "five pairs", int64(shift), -385*ms-100*us, -385*ms+100*us)
		between(t, "five pairs, uncertainty", int64(u), 4900*us, 5100*us)
	}
}

// grouped are pairs that allow −1 … 1 ms, and one of another opinion.
const grouped = `
	first Q - cb.request 0 100 process=sched
	last Q - cb.request 60000 60100 process=sched
	* K - cb.lookup.rpc 20000+{i} 20050+{i} process=sched
	* V K cb.lookup 20001+{i} 20049+{i} process=server
	odd K - cb.lookup.rpc 20010 20060 process=sched
	odd V K cb.lookup 20031 20079 process=server`

// Finding clock_disagreement: over 5 % of the pairs. One of 20 is not, one of 19 is.
func TestOnePairDisagrees(t *testing.T) {
	for n, want := range map[int]int{19: 0, 18: 1} {
		c := captureOf(t, ms, n, grouped)
		tab := c.table()
		row := c.clockOf(tab, "server", "sched")
		if row.Disagreeing != 1 || row.Offset != model.Some(0) || row.Basis != BasisZero || row.Pairs != int64(n+1) {
			t.Errorf("one of %d: %+v", n+1, row)
		}
		if got := tab.Disagreeing(); len(got) != want || want == 1 && got[0] != c.proc("server") {
			t.Errorf("one of %d: %v disagree", n+1, got)
		}
		check := tab.Checker()
		for _, r := range c.requests {
			if got := check.Disagreeing(r); (got == 1) != (r.ID == "odd") || got > 1 {
				t.Errorf("one of %d: %d pairs of %s disagree", n+1, got, r.ID)
			}
		}
	}
}

// R5.2 beside a clock that is known: the loads are a finding, the server stays where the lookups put it, and the worker is reached over
// its requests.
func TestLoadsDoNotMoveAClock(t *testing.T) {
	c := captureOf(t, ms, 20, apart+`
	* P Q cb.start_load_kv {i}*1000+10100 {i}*1000+10105 process=w0 worker_id=0
	* R P cb.retrieve {i}*1000+10101 {i}*1000+10150 process=server worker_id=0`)
	tab := c.table()
	if got := tab.Disagreeing(); len(got) != 1 || got[0] != c.proc("server") {
		t.Errorf("%v disagree", got)
	}
	if got := tab.Checker().Disagreeing(c.byID["r3"]); got != 1 {
		t.Errorf("%d pairs of a request disagree, want its load", got)
	}
	for _, pair := range [][2]string{{"server", "sched"}, {"w0", "sched"}, {"server", "w0"}} {
		if shift, _, ok := tab.Shift(c.proc(pair[0]), c.proc(pair[1]), epoch+20*sec); shift != 0 || !ok {
			t.Errorf("%v: %v, ok %v", pair, shift, ok)
		}
	}
}

// R5.1: a pass without work leaves no retrieve; its second pass is not the first's.
func TestNoopThenFull(t *testing.T) {
	c := captureOf(t, ms, 200, apart+`
	* A Q cb.start_load_kv {i}*1000+10100 {i}*1000+10102 process=w0 worker_id=0
	* B Q cb.start_load_kv {i}*1000+10200 {i}*1000+10260 process=w0 worker_id=0
	* R - cb.retrieve {i}*1000+10201 {i}*1000+10255 process=server trace=1 worker_id=0`)
	tab := c.table()
	if got := tab.Disagreeing(); len(got) != 0 {
		t.Errorf("%v disagree", got)
	}
	for _, row := range tab.Clocks() {
		if row.Offset != model.Some(0) || row.Disagreeing != 0 || row.Basis != BasisZero {
			t.Errorf("%s: %+v", c.dict.Proc(row.Process).Name, row)
		}
	}
	if n := len(tab.Clocks()); n != 2 {
		t.Errorf("%d rows, want sched with server and with w0", n)
	}
}

// R5.5: an engine that no pair joins keeps raw times; the others are known among themselves.
func TestEngineWithoutARoute(t *testing.T) {
	c := captureOf(t, ms, 6, `
	* E - llm_request {i}*1000+10000 {i}*1000+10500 process=engine
	* K - cb.lookup.rpc {i}*1000+10010 {i}*1000+10060 process=sched trace=1
	* V K cb.lookup {i}*1000+10411 {i}*1000+10459 process=server trace=1`)
	tab := c.table()
	if tab.Routed(c.proc("engine")) || !tab.Routed(c.proc("sched")) || !tab.Routed(c.proc("server")) {
		t.Error("routes")
	}
	if _, _, ok := tab.Shift(c.proc("server"), c.proc("engine"), epoch); ok {
		t.Error("the server is known against the engine")
	}
	rows := tab.Against(c.proc("engine"), []model.ProcID{c.proc("server"), c.proc("engine"), c.proc("sched")})
	if len(rows) != 2 || rows[0].Process != c.proc("sched") || rows[0].Basis != BasisNone || rows[1].Offset.OK {
		t.Errorf("%+v", rows)
	}
}

// chained are five processes: b is 10 ms behind a, c 20 ms behind b, both known to ± 1 ms; c is 29 ms behind a, known to ± 9 ms only, so that
// the way over b is better. e is d's neighbour and no route leads there.
const chained = `
	* A - cb.request {i}*1000+1000 {i}*1000+1100 process=a
	* B A cb.schedule {i}*1000+991 {i}*1000+1089 process=b
	* C A cb.execute {i}*1000+980 {i}*1000+1062 process=c
	* D B cb.build_meta {i}*1000+972 {i}*1000+1068 process=c
	* F - cb.request 0 100 process=d trace=1
	* G F cb.execute 1 99 process=e trace=1`

func TestRoutes(t *testing.T) {
	c := captureOf(t, ms, 10, chained)
	tab := c.table()
	p := c.proc
	at := epoch + 5*sec
	shift, u, ok := tab.Shift(p("c"), p("a"), at)
	if !ok {
		t.Fatal("no route")
	}
	between(t, "c to a", int64(shift), 29900*us, 30100*us)
	between(t, "c to a, both uncertainties", int64(u), 1900*us, 2200*us)
	back, _, _ := tab.Shift(p("a"), p("c"), at+30*ms)
	between(t, "a to c", int64(back), -30100*us, -29900*us)
	if _, _, ok := tab.Shift(p("a"), p("e"), at); ok {
		t.Error("a route where there is none")
	}
	if shift, u, ok := tab.Shift(p("e"), p("e"), at); shift != 0 || u != 0 || !ok {
		t.Error("a process against itself")
	}
	if _, _, ok := tab.Shift(model.ProcID(1000), p("a"), at); ok || tab.Routed(1000) || tab.Model(1000) != "" {
		t.Error("an unknown process is known")
	}
	got := tab.Against(p("a"), []model.ProcID{p("e"), p("c"), p("b"), p("a")})
	if len(got) != 3 || got[0].Process != p("b") || got[0].Basis != BasisPairs || got[1].Basis != BasisRoute || got[2].Basis != BasisNone {
		t.Fatalf("%+v", got)
	}
	between(t, "c over b", got[1].Offset.V, 29900*us, 30100*us)
	if got[1].Pairs != 10 {
		t.Errorf("pairs of a route: %d", got[1].Pairs)
	}
	var names []string
	for _, r := range tab.Clocks() {
		names = append(names, c.dict.Proc(r.Process).Name+"/"+c.dict.Proc(r.Reference).Name)
	}
	if want := []string{"b/a", "c/a", "c/b", "e/d"}; !slices.Equal(names, want) {
		t.Errorf("rows %v, want %v", names, want)
	}
}

// --no-skew: all offsets are zero everywhere.
func TestNoSkew(t *testing.T) {
	c := captureOf(t, ms, 5, ahead)
	tab := c.survey().Finish(Options{NoSkew: true})
	if shift, _, ok := tab.Shift(c.proc("server"), c.proc("sched"), epoch); shift != 0 || ok {
		t.Errorf("shift %v, ok %v", shift, ok)
	}
	if row := c.clockOf(tab, "server", "sched"); row.Offset != model.Some(0) || row.Basis != BasisNone || row.Pairs != 5 {
		t.Errorf("%+v", row)
	}
}

// Many goroutines may ask one table.
func TestTableIsShared(t *testing.T) {
	c := captureOf(t, ms, 5, ahead)
	tab := c.table()
	got := make(chan time.Duration)
	for range 8 {
		go func() {
			d, _, _ := tab.Shift(c.proc("server"), c.proc("sched"), epoch+12*sec)
			got <- d
		}()
	}
	first := <-got
	for range 7 {
		if d := <-got; d != first || d == 0 {
			t.Errorf("%v and %v", first, d)
		}
	}
}

// R4.29: the only model that a process named.
func TestModel(t *testing.T) {
	c := captureOf(t, ms, 1, `
	a Q - cb.request 0 100 process=one model=llama
	b R - mp.retrieve 0 100 process=one model_name=llama
	a L Q cb.lookup 0 100 process=two model=llama
	b L - cb.lookup 0 100 process=two model=qwen
	c L - cb.lookup 0 100 process=none`)
	tab := c.table()
	for p, want := range map[string]string{"one": "llama", "two": "", "none": ""} {
		if got := tab.Model(c.proc(p)); got != want {
			t.Errorf("model of %s: %q, want %q", p, got, want)
		}
	}
}

// R2.2, R7.11: first and last instants of processes and of llm_requests.
func TestFacts(t *testing.T) {
	c := captureOf(t, ms, 1, `
	a E - llm_request 500 900 process=engine
	b E - llm_request 300 1200 process=engine
	b Q E cb.request 310 1100 process=sched
	c Q - cb.request 100 200 process=sched
	c U - app.step 0 0 process=sched untimed`)
	v := c.survey()
	v.AddProcessSpans([]*model.Span{{Proc: c.proc("sched"), Class: model.Work, Stage: model.StageBuildMeta, RawStart: epoch + 50*ms, RawEnd: epoch + 60*ms}})
	tab := v.Finish(Options{})
	if first, last, ok := tab.LLMStarts(); !ok || first != epoch+300*ms || last != epoch+500*ms {
		t.Errorf("llm_request from %d to %d", first-epoch, last-epoch)
	}
	if first, last, ok := tab.Instants(c.proc("sched")); !ok || first != epoch+50*ms || last != epoch+1100*ms {
		t.Errorf("sched from %d to %d", first-epoch, last-epoch)
	}
	if start, end, ok := tab.Range(); !ok || start != epoch+50*ms || end != epoch+1200*ms {
		t.Errorf("range %d to %d", start-epoch, end-epoch)
	}
	none := NewSurvey(c.dict).Finish(Options{})
	if _, _, ok := none.Range(); ok {
		t.Error("an empty capture has a range")
	}
	if _, _, ok := none.LLMStarts(); ok {
		t.Error("an empty capture has an llm_request")
	}
	if len(none.Clocks()) != 0 || len(none.Disagreeing()) != 0 {
		t.Error("an empty capture has clocks")
	}
}
