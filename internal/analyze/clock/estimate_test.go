package clock

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A world is two processes that exchange calls: sched's clock is right, server's is behind it by offset + drift · (t − epoch).
type world struct {
	offset float64 // ns: what must be added to the server's clock at epoch
	drift  float64 // ns per ns
}

// server is what the server's clock shows at an instant, as ns after epoch.
func (w world) server(t int64) int64 {
	return int64(math.Round((float64(t) - w.offset) / (1 + w.drift)))
}

// correction is what must be added to an instant of the server's clock.
func (w world) correction(shown int64) float64 { return w.offset + w.drift*float64(shown) }

// A call is one lookup: the rpc begins at at, the server's span out later, lasts work and ends back before the rpc does.
type call struct{ at, out, work, back int64 }

func (w world) capture(t testing.TB, calls []call) *capture {
	c := newCapture(t)
	for i, x := range calls {
		c.call(i, x.at, x.at+x.out+x.work+x.back, w.server(x.at+x.out), w.server(x.at+x.out+x.work))
	}
	return c.clean()
}

// holdsTruth fails unless the correction is right within its uncertainty at instants over the whole time.
func (w world) holdsTruth(t *testing.T, c *capture, tab *Table, last int64) {
	t.Helper()
	for i := range int64(101) {
		at := last * i / 100
		shift, u, ok := tab.Shift(c.proc("server"), c.proc("sched"), epoch+model.Time(at))
		if off := math.Abs(float64(shift) - w.correction(at)); !ok || off > float64(u)+1 {
			t.Fatalf("at %d ns: off by %.0f, ± %d, ok %v", at, off, u, ok)
		}
		back, _, _ := tab.Shift(c.proc("sched"), c.proc("server"), epoch+model.Time(at)+model.Time(shift))
		if sum := back + shift; sum < -1 || sum > 1 {
			t.Fatalf("at %d ns: %d there, %d back", at, shift, back)
		}
	}
}

// calls are n calls spread over so many ns, with a floor of each way and exponential jitter above it.
func calls(rng *rand.Rand, n int, over, floor, jitter int64) []call {
	out := make([]call, n)
	for i := range out {
		wait := func() int64 { return floor + int64(rng.ExpFloat64()*float64(jitter)) }
		out[i] = call{over * int64(i) / int64(n), wait(), 2*ms + rng.Int64N(20*ms), wait()}
	}
	return out
}

// Issue 2: equal clocks are not corrected (R5.4).
func TestEqualClocks(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := world{}.capture(t, calls(rng, 300, 600*sec, 100*us, ms))
		row := c.clockOf(c.table(), "server", "sched")
		if row.Basis != BasisZero || row.Offset != model.Some(0) || row.DriftPPM != 0 || row.Disagreeing != 0 || row.Pairs != 300 {
			t.Errorf("seed %d: %+v", seed, row)
		}
		between(t, "uncertainty", row.Uncertainty.V, 100*us, 200*us)
	}
}

// Issue 2: 3 ms of skew over a floor of 1 ms is corrected.
func TestThreeMillisecondsOverOne(t *testing.T) {
	for _, offset := range []float64{3 * ms, -3 * ms} {
		w := world{offset: offset}
		c := w.capture(t, calls(rand.New(rand.NewPCG(2, 2)), 300, 600*sec, ms, ms))
		tab := c.table()
		row := c.clockOf(tab, "server", "sched")
		if row.Basis != BasisPairs {
			t.Errorf("%+v", row)
		}
		between(t, "offset", row.Offset.V, int64(offset)-100*us, int64(offset)+100*us)
		w.holdsTruth(t, c, tab, 600*sec)
	}
}

// Issue 2: a drift of 20 ppm over an hour is found to 1 ppm; far clocks too.
func TestDrift(t *testing.T) {
	for _, w := range []world{{0, 20e-6}, {-400 * ms, -20e-6}, {3600 * sec, 20e-6}, {-3e17, -20e-6}} {
		c := w.capture(t, calls(rand.New(rand.NewPCG(3, 3)), 1000, 3600*sec, 100*us, ms))
		tab := c.table()
		row := c.clockOf(tab, "server", "sched")
		if off := row.DriftPPM - w.drift*1e6; off < -1 || off > 1 || row.Basis != BasisPairs || row.Disagreeing != 0 {
			t.Errorf("%+v: %+v", w, row)
		}
		for _, p := range []int64{0, 1800 * sec, 3600 * sec} {
			shift, u, ok := tab.Shift(c.proc("server"), c.proc("sched"), epoch+model.Time(w.server(p)))
			if off := float64(shift) - float64(p-w.server(p)); !ok || math.Abs(off) > float64(u)+1 {
				t.Errorf("%+v at %d: off by %v ± %d", w, p, off, u)
			}
		}
	}
}

// Issue 2: 1 000 pairs with jitter of about 1 ms above a floor of 0.1 ms each way.
func TestJitter(t *testing.T) {
	for seed := range uint64(10) {
		w := world{offset: 137 * ms, drift: 7e-6}
		c := w.capture(t, calls(rand.New(rand.NewPCG(seed, 4)), 1000, 3600*sec, 100*us, ms))
		tab := c.table()
		between(t, "uncertainty", c.clockOf(tab, "server", "sched").Uncertainty.V, 1, 200*us-1)
		w.holdsTruth(t, c, tab, 3600*sec)
	}
}

// Issue 2: a day of 20 000 pairs at 20 ppm of which 1 % are bad: at least 99.9 % of the good ones agree.
func TestDayWithBadPairs(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 5))
		w := world{offset: -90 * ms, drift: 20e-6}
		const n, length = 20_000, 86_400 * int64(sec)
		all := calls(rng, n, length, 100*us, ms)
		c := newCapture(t)
		bad := int64(0)
		for i, x := range all {
			late := int64(0)
			if rng.IntN(100) == 0 {
				late = 60*ms + rng.Int64N(200*ms)
				bad++
			}
			c.call(i, x.at, x.at+x.out+x.work+x.back, w.server(x.at+x.out)+late, w.server(x.at+x.out+x.work)+late)
		}
		tab := c.clean().table()
		row := c.clockOf(tab, "server", "sched")
		if row.Pairs != n {
			t.Fatalf("%d pairs", row.Pairs)
		}
		between(t, "disagreeing pairs", row.Disagreeing, bad, bad+(n-bad)/1000)
		if len(tab.Disagreeing()) != 0 { // 1 % is no finding
			t.Error("1 % of bad pairs are a finding")
		}
		if off := row.DriftPPM - 20; off < -0.01 || off > 0.01 {
			t.Errorf("drift %v", row.DriftPPM)
		}
		w.holdsTruth(t, c, tab, length)
	}
}

// A clock that steps by 5 ms halfway: one half of the pairs agrees, and the rest is a finding.
func TestStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	c := newCapture(t)
	for i, x := range calls(rng, 1000, 3600*sec, 100*us, 100*us) {
		w := world{offset: 2 * ms}
		if i >= 400 {
			w.offset = 7 * ms
		}
		c.call(i, x.at, x.at+x.out+x.work+x.back, w.server(x.at+x.out), w.server(x.at+x.out+x.work))
	}
	tab := c.clean().table()
	row := c.clockOf(tab, "server", "sched")
	if got := tab.Disagreeing(); len(got) != 1 || got[0] != c.proc("server") || row.Disagreeing < 50 {
		t.Errorf("%v disagree, row %+v", got, row)
	}
}

// R5.3: the parts of the fit, by hand.
func TestTheilSen(t *testing.T) {
	if got := theilSen([]mark{{0, 0}, {1, 2}, {2, 4}, {3, 100}, {4, 8}}); got != 2 { // six of ten slopes are 2
		t.Errorf("slope %v", got)
	}
	if got := theilSen([]mark{{5, 1}, {5, 2}}); got != 0 {
		t.Errorf("slope of one instant %v", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median %v", got)
	}
}

func pairsOf(bounds ...[3]int64) []*pair {
	var out []*pair
	for _, b := range bounds {
		out = append(out, &pair{lowAt: b[0], highAt: b[0], low: b[1], high: b[2], hasLow: true, hasHigh: true})
	}
	return out
}

func TestFullestInterval(t *testing.T) {
	for _, c := range []struct {
		name   string
		bounds [][3]int64
		drift  float64
		middle float64
		n      int
	}{
		{"three of four", [][3]int64{{0, 0, 10}, {0, 4, 12}, {0, 6, 20}, {0, 30, 40}}, 0, 8, 3},
		{"touching counts", [][3]int64{{0, 0, 5}, {0, 5, 10}}, 0, 5, 2},
		{"of two the smaller", [][3]int64{{0, 20, 30}, {0, 0, 10}}, 0, 5, 1},
		{"an empty one counts for nothing", [][3]int64{{0, 10, 0}, {0, 20, 30}}, 0, 25, 1},
		{"a drift taken off", [][3]int64{{0, 0, 10}, {100, 100, 110}, {200, 200, 210}}, 1, 5, 3},
		{"nothing", [][3]int64{{0, 10, 0}}, 0, 0, 0},
	} {
		f := fitter{pairs: pairsOf(c.bounds...)}
		if middle, n := f.fullestOf(f.pairs, c.drift); middle != c.middle || n != c.n {
			t.Errorf("%s: %v held by %d, want %v by %d", c.name, middle, n, c.middle, c.n)
		}
	}
}

// R5.3: slices of equal time; one with fewer than 5 pairs is joined to the next, the last to the one before it.
func TestSlices(t *testing.T) {
	sizes := func(at ...int64) (out []int) {
		f := fitter{}
		for _, x := range at {
			f.pairs = append(f.pairs, pairsOf([3]int64{x, 0, 1})...)
		}
		for _, cut := range f.slices() {
			out = append(out, len(cut))
		}
		return out
	}
	many := func(n int, at int64) []int64 {
		out := make([]int64, n)
		for i := range out {
			out[i] = at
		}
		return out
	}
	join := func(parts ...[]int64) (out []int64) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	for _, c := range []struct {
		at   []int64
		want string
	}{
		{many(3, 7), "[3]"},
		{many(9, 7), "[9]"},
		{join(many(5, 0), many(5, 63)), "[5 5]"},
		{join(many(4, 0), many(6, 30), many(5, 63)), "[10 5]"},
		{join(many(5, 0), many(6, 30), many(4, 63)), "[5 10]"},
		{join(many(2, 0), many(2, 30), many(4, 63)), "[8]"},
	} {
		if got := fmt.Sprint(sizes(c.at...)); got != c.want {
			t.Errorf("%v: %s, want %s", c.at, got, c.want)
		}
	}
	var even []int64
	for i := range int64(6400) {
		even = append(even, i)
	}
	if got := sizes(even...); len(got) != 64 || got[0] != 100 {
		t.Errorf("6400 even pairs: %v", got)
	}
}

// R5.3: one-sided bounds only narrow a corridor; alone they give no offset.
func TestOneSidedBounds(t *testing.T) {
	const rows = `
		* S - cb.schedule {i}*1000 {i}*1000+50 process=sched
		* X - cb.execute {i}*1000+51 {i}*1000+90 process=w0 trace=1`
	c := captureOf(t, ms, 20, rows)
	tab := c.table()
	if row := c.clockOf(tab, "w0", "sched"); row.Basis != BasisNone || row.Offset.OK || row.Pairs != 20 || tab.Routed(c.proc("w0")) {
		t.Errorf("starts alone: %+v", row)
	}
	c = captureOf(t, ms, 20, `
		* Q - cb.request {i}*1000 {i}*1000+100 process=sched
		* X Q cb.execute {i}*1000+51 {i}*1000+90 process=w0`+rows[:len(rows)-len(`
		* X - cb.execute {i}*1000+51 {i}*1000+90 process=w0 trace=1`)])
	row := c.clockOf(c.table(), "w0", "sched")
	// cb.request allows −51 … 10 ms, the end of cb.schedule nothing below −1 ms.
	if row.Basis != BasisZero || row.Pairs != 40 {
		t.Errorf("narrowed: %+v", row)
	}
	between(t, "uncertainty", row.Uncertainty.V, 10*ms, 10*ms+100*us)
}

// R5.2: where most intervals are empty only starts count: from one side no offset, from both a corridor.
func TestLoadsThatOutlastTheirCall(t *testing.T) {
	c := captureOf(t, ms, 20, `
		* P - cb.start_load_kv {i}*1000 {i}*1000+5 process=w0 worker_id=0
		* R P cb.retrieve {i}*1000+1 {i}*1000+50 process=server worker_id=0`)
	tab := c.table()
	row := c.clockOf(tab, "server", "w0")
	if row.Basis != BasisNone || row.Offset.OK || row.Disagreeing != 20 || tab.Routed(c.proc("server")) {
		t.Errorf("one side: %+v", row)
	}
	if got := tab.Disagreeing(); len(got) != 1 || got[0] != c.proc("server") {
		t.Errorf("%v disagree", got)
	}
	// 30 ms of skew; besides, the server asks the worker something, and that begins 2 ms after it.
	c = captureOf(t, ms, 20, `
		* P - cb.start_load_kv {i}*1000 {i}*1000+5 process=w0 worker_id=0
		* R P cb.retrieve {i}*1000+31 {i}*1000+80 process=server worker_id=0
		* A - request {i}*1000+230 {i}*1000+240 process=server
		* B A cb.execute {i}*1000+202 {i}*1000+290 process=w0`)
	row = c.clockOf(c.table(), "server", "w0")
	if row.Basis != BasisStarts || row.Disagreeing != 20 || row.Pairs != 40 {
		t.Errorf("both sides: %+v", row)
	}
	between(t, "offset", row.Offset.V, -29_600*us, -29_400*us) // between −31 and −28 ms
}

// R5.2: half of the intervals may be empty, one more may not.
func TestHalfOfThemEmpty(t *testing.T) {
	for bad, want := range map[int]Basis{10: BasisZero, 11: BasisNone} {
		c := newCapture(t)
		for i := range 10 + bad {
			at, end := int64(i)*sec, int64(i)*sec+4*ms
			if i >= 10 { // it outlasts its call
				end += 46 * ms
			}
			c.call(i, at, at+5*ms, at+ms, end)
		}
		tab := c.clean().table()
		if row := c.clockOf(tab, "server", "sched"); row.Basis != want || row.Disagreeing != int64(bad) || row.Pairs != int64(10+bad) || len(tab.Disagreeing()) != 1 {
			t.Errorf("%d of %d: %+v", bad, 10+bad, row)
		}
	}
}
