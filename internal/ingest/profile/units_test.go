package profile

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Every key and name of VOCABULARY 4 does what the table says of it: one line each.
func TestEveryAlias(t *testing.T) {
	const name, start, dur = `"name":"sched.build_meta"`, `"ts":1764432000000250`, `"dur_us":40`
	line := func(members ...string) string { return "{" + strings.Join(members, ",") + "}" }
	whole := "1 sched.build_meta cb.build_meta 250+40"
	golden := map[string][2]string{}
	for _, k := range []string{"name", "span", "event", "op", "qualname", "stage"} {
		golden[k] = [2]string{line(`"`+k+`":"sched.build_meta"`, start, dur), whole}
	}
	for _, k := range []string{"ts", "timestamp", "t", "t0", "start", "start_ts", "start_time", "t_wall"} {
		golden[k] = [2]string{line(name, `"`+k+`":1764432000.00025`, dur), whole}
	}
	for _, k := range []string{"end", "end_ts", "t1", "end_time"} {
		golden[k] = [2]string{line(name, start, `"`+k+`":1764432000.00029`), whole}
	}
	for k, v := range map[string]string{"dur_ns": "40000", "dur_us": "40", "dur_ms": "0.04", "duration_ms": "0.04", "latency_ms": "0.04", "ms": "0.04", "elapsed_ms": "0.04",
		"elapsed_s": "0.00004", "duration_s": "4e-5"} {
		golden[k] = [2]string{line(name, start, `"`+k+`":`+v), whole}
	}
	for _, k := range []string{"dur", "duration", "elapsed"} { // by the end on the same line
		golden[k] = [2]string{line(name, start, `"end":1764432000000290`, `"`+k+`":0.04`), whole}
	}
	for k, as := range map[string]string{"request_id": "request_id", "req_id": "req_id", "rid": "req_id", "req": "req_id", "session_id": "session_id",
		"external_request_id": "external_request_id", "rank": "rank", "worker_id": "worker_id", "tp_rank": "tp_rank", "role": "role"} {
		golden[k] = [2]string{line(name, start, dur, `"`+k+`":"v"`), whole + " " + as + "=v"}
	}
	golden[model.ProfileStartNS] = [2]string{line(name, `"`+model.ProfileStartNS+`":1764432000000250000`, dur), whole}
	golden["pid"] = [2]string{line(name, start, dur, `"pid":7`), whole + " pid=7"}
	golden["proc"] = [2]string{line(name, start, dur, `"proc":7`), whole + " pid=7"}
	golden["tid"] = [2]string{line(name, start, dur, `"tid":7`), whole}
	for k, v := range map[string]string{"failed": "true", "error": `"no"`, "success": "false", "ok": "false"} {
		golden[k] = [2]string{line(name, start, dur, `"`+k+`":`+v), whole + " error"}
	}
	for _, k := range model.ProfileKeys {
		g, ok := golden[k.Key]
		if !ok {
			t.Errorf("%s: no line here has it", k.Key)
			continue
		}
		r := setup{}.read(t, g[0])
		if len(r.records) != 1 || r.records[0] != g[1] || r.out.Refused != "" {
			t.Errorf("%s: %s is %q (%s), want %q", k.Key, g[0], r.records, r.out.Refused, g[1])
		}
		delete(golden, k.Key)
	}
	for k := range golden {
		t.Errorf("%s: not in the table", k)
	}

	names := map[string]string{"sched.gnnmt": "cb.schedule", "gnnmt.cb_unified_submit": "cb.lookup.rpc", "gnnmt.cb_unified_poll": "cb.lookup.rpc", "sched.build_meta": "cb.build_meta",
		"cb_admission_check": "cb_admission_check", "slk.load": "cb.start_load_kv", "slk.anything.else": "cb.start_load_kv", "shim.wrapper.prepare": "shim.wrapper.prepare",
		"shim.wrapper.fwd": "cb.model_forward", "flex.full_recomp": "cb.full_recomp", "flex.check": "cb.check", "flex.partial": "cb.partial",
		"flex.full_recomp.layer0": "cb.full_recomp", "flex.check.layer3": "cb.check", "flex.partial.layer31.attn": "cb.partial",
		"slk.": "", "slk": "", "flex": "", "flex.other": "", "sched.gnnmt.inner": "", "shim.wrapper.fwd.attn": ""}
	for n, stage := range names {
		want := "1 " + n + " " + stage + " 250+40"
		if stage == "" {
			want = "1 " + n + " 250+40"
		}
		if r := (setup{}).read(t, line(`"name":"`+n+`"`, start, dur)); len(r.records) != 1 || r.records[0] != want {
			t.Errorf("%s: %q, want %q", n, r.records, want)
		}
	}
}

// pollLines are the lines of some lookups of 90 ms each: two polls in two calls, the scheduler's clock and durations written by start and dur.
func pollLines(n int, keys string, start, dur func(ns int64) string) string {
	var b strings.Builder
	for i := range n {
		at := int64(i) * 1_000_000_000
		for _, l := range []struct {
			name     string
			from, to int64
		}{{"sched.gnnmt", 0, 10e6}, {"gnnmt.cb_unified_submit", 4e6, 5e6}, {"sched.gnnmt", 53e6, 56e6}, {"gnnmt.cb_unified_poll", 54e6, 55e6}, {"sched.gnnmt", 93e6, 97e6},
			{"gnnmt.cb_unified_poll", 94e6, 95e6}} {
			fmt.Fprintf(&b, keys+"\n", l.name, start(at+l.from), dur(l.to-l.from), i)
		}
	}
	return b.String()
}

func in(unit float64, digits int) func(ns int64) string {
	return func(ns int64) string { return fmt.Sprintf("%.*f", digits, float64(ns)/unit) }
}

func absoluteUS(ns int64) string { return fmt.Sprint((epoch + ns) / 1000) }

// R4.12: one unit a file and key; bare durations by the ends or by nesting; instants without an epoch by nesting.
func TestUnits(t *testing.T) {
	const bare = `{"name":"%s","ts":%s,"dur":%s,"request_id":"r%d","pid":1}`
	const mono = `{"name":"%s","t0":%s,"dur_us":%s,"request_id":"r%d","pid":1}`
	for _, c := range []struct {
		name, lines, first, refused, note string
		records                           int
	}{
		{name: "magnitudes tell", lines: `{"name":"a","ts":1764432000.5,"start_time":17,"dur_us":1}`, records: 1, first: "1 a 500000+1",
			note: `taken for name "name"; start "ts" (s, by magnitude); duration "dur_us" (µs)`},
		{name: "each key has its own unit", lines: `{"name":"a","ts":1764432000.5,"end":1764432000600}`, records: 1, first: "1 a 500000+100000",
			note: `taken for name "name"; start "ts" (s, by magnitude); end "end" (ms, by magnitude)`},
		{name: "two units under one key", lines: `{"name":"a","ts":1764432000500,"dur_us":1}` + "\n" + `{"name":"a","ts":1764432000600}` + "\n" + `{"name":"a","ts":1764432000600000,"dur_us":1}`,
			records: 3, first: "1 a 500000+1", refused: `"ts" is in ms on line 1 and in µs on line 3: use --profile-map`},
		{name: "seconds and nanoseconds", lines: `{"name":"a","ts":1764432000500000000,"dur_us":1}` + "\n" + `{"name":"a","ts":1764432000.5}`,
			records: 2, first: "1 a 500000+1", refused: `"ts" is in ns on line 1 and in s on line 2: use --profile-map`},
		{name: "an absolute time and one that is none", lines: `{"name":"a","ts":17.5,"dur_us":1}` + "\n" + `{"name":"a","ts":1764432000.5}`,
			records: 2, first: "1 a 0+0 unanchored", refused: `"ts" is no absolute time on line 1 and in s on line 2: use --profile-map`},
		{name: "of one line, the absolute time", lines: `{"name":"a","ts":17.5,"t_wall":1764432000.5,"dur_us":1}`, records: 1, first: "1 a 500000+1"},

		{name: "a bare duration by its end", lines: `{"name":"a","ts":1764432000.5,"end":1764432000.6,"dur":100}`, records: 1, first: "1 a 500000+100000",
			note: `taken for name "name"; start "ts" (s, by magnitude); end "end" (s, by magnitude); duration "dur" (ms, by the ends of its lines)`},
		{name: "most ends agree", lines: strings.Repeat(`{"name":"a","ts":1764432000.5,"end":1764432000.6,"elapsed":0.1}`+"\n", 19) + `{"name":"a","ts":1764432000.5,"end":1764432000.6,"elapsed":7}`,
			records: 20, first: "1 a 500000+100000"},
		{name: "too few do", lines: strings.Repeat(`{"name":"a","ts":1764432000.5,"end":1764432000.6,"elapsed":0.1}`+"\n", 18) + `{"name":"a","ts":1764432000.5,"end":1764432000.6,"elapsed":7}`,
			refused: `unit of "elapsed" unknown: use --profile-map`},
		{name: "nothing tells", lines: `{"name":"a","ts":1764432000.5,"dur":100}`, refused: `unit of "dur" unknown: use --profile-map`},
		{name: "lines that do not nest tell nothing", refused: `unit of "dur" unknown: use --profile-map`,
			lines: `{"name":"a","ts":1764432000.5,"dur":1,"rid":"r"}` + "\n" + `{"name":"b","ts":1764432001.5,"dur":1,"rid":"r"}`},
		{name: "lines of two requests do not nest", refused: `unit of "dur" unknown: use --profile-map`,
			lines: `{"name":"a","ts":1764432000.5,"dur":100,"rid":"r"}` + "\n" + `{"name":"b","ts":1764432000.55,"dur":1,"rid":"s"}`},
		{name: "nesting: seconds", lines: pollLines(5, bare, absoluteUS, in(1e9, 4)), records: 30, first: "1 sched.gnnmt cb.schedule 0+10000 pid=1 request_id=r0",
			note: `taken for name "name"; start "ts" (µs, by magnitude); duration "dur" (s, by how its lines nest)`},
		{name: "nesting: ms", lines: pollLines(5, bare, absoluteUS, in(1e6, 1)), records: 30, first: "1 sched.gnnmt cb.schedule 0+10000 pid=1 request_id=r0"},
		{name: "nesting: µs", lines: pollLines(5, bare, absoluteUS, in(1e3, 0)), records: 30, first: "1 sched.gnnmt cb.schedule 0+10000 pid=1 request_id=r0"},
		{name: "nesting: ns", lines: pollLines(5, bare, absoluteUS, in(1, 0)), records: 30, first: "1 sched.gnnmt cb.schedule 0+10000 pid=1 request_id=r0"},

		{name: "without an epoch: seconds", lines: pollLines(5, mono, in(1e9, 6), in(1e3, 0)), records: 29, first: "2 gnnmt.cb_unified_submit cb.lookup.rpc 4000+1000 unanchored pid=1 request_id=r0",
			note: `taken for name "name"; start "t0" (s, by how its lines nest); duration "dur_us" (µs)`},
		{name: "without an epoch: ns", lines: pollLines(5, mono, func(ns int64) string { return fmt.Sprint(50_000_000_000_000 + ns) }, in(1e3, 0)), records: 30,
			first: "1 sched.gnnmt cb.schedule 50000000000+10000 unanchored pid=1 request_id=r0"},
		{name: "without an epoch, and nothing nests", lines: `{"name":"a","t0":17.5,"dur_us":1}`, records: 1, first: "1 a 0+0 unanchored",
			note: `taken for name "name"; start "t0" (unit unknown); duration "dur_us" (µs)`},
		{name: "a bare duration on such a clock", lines: pollLines(5, `{"name":"%s","t0":%s,"dur":%s,"request_id":"r%d","pid":1}`, in(1e9, 6), in(1e9, 6)),
			refused: `unit of "dur" unknown: use --profile-map`},
		{name: "a bare key that comes late", lines: strings.Repeat(`{"name":"a","ts":1764432000.5,"dur_ms":1}`+"\n", headLines) + `{"name":"a","ts":1764432000.5,"dur":1}`,
			records: headLines + 1, first: "1 a 500000+1000", refused: `unit of "dur" unknown: use --profile-map`},
		{name: "a key that comes late", lines: strings.Repeat(`{"name":"a","ts":1764432000.5,"dur_ms":1}`+"\n", headLines) + `{"name":"a","t_wall":1764432000500,"dur_ms":1}`,
			records: headLines + 1, first: "1 a 500000+1000", note: `taken for name "name"; start "ts" (s, by magnitude), "t_wall" (ms, by magnitude); duration "dur_ms" (ms)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := setup{}.read(t, c.lines)
			if r.out.Refused != c.refused {
				t.Errorf("refused %q, want %q", r.out.Refused, c.refused)
			}
			if len(r.records) != c.records || c.records > 0 && r.records[0] != c.first {
				t.Errorf("%d records, the first %q; want %d, %q; skipped %q", len(r.records), append(r.records, "")[0], c.records, c.first, r.skipped)
			}
			if c.note != "" && (len(r.out.Notes) == 0 || r.out.Notes[0] != c.note) {
				t.Errorf("notes %q, want %q", r.out.Notes, c.note)
			}
			if c.refused == "" && len(r.out.Notes) == 0 {
				t.Error("no choice was reported")
			}
		})
	}
}

// R4.12: absolute only within a day of the capture's spans; without spans between 2015 and a day from now.
func TestAnchored(t *testing.T) {
	const hour = 3_600_000_000_000
	spans := func(first, last int64) func(from, to int64) bool {
		return func(from, to int64) bool { return first <= to && last >= from }
	}
	at := func(ns int64) string { return fmt.Sprintf(`{"name":"a","ts":%d,"dur_us":1}`, ns) }
	for _, c := range []struct {
		name, lines string
		near        func(from, to int64) bool
		want        bool
	}{
		{"among the spans", at(epoch), spans(epoch-hour, epoch+hour), true},
		{"a day before", at(epoch), spans(epoch+24*hour, epoch+30*hour), true},
		{"more than a day before", at(epoch), spans(epoch+24*hour+1, epoch+30*hour), false},
		{"a day after", at(epoch), spans(epoch-30*hour, epoch-24*hour), true},
		{"more than a day after", at(epoch), spans(epoch-30*hour, epoch-24*hour-1), false},
		{"the last line is near", at(epoch-900*hour) + "\n" + at(epoch), spans(epoch, epoch), true},
		{"no spans: this year", at(epoch), nil, true},
		{"no spans: tomorrow", at(now.UnixNano() + 23*hour), nil, true},
		{"no spans: the day after", at(now.UnixNano() + 25*hour), nil, false},
		{"no spans: 2015", at(1_420_070_400_000_000_000), nil, true},
		{"no spans: 2014", at(1_420_070_399_999_999_999), nil, false},
	} {
		r := setup{near: c.near}.read(t, c.lines)
		if r.out.Unanchored == c.want || r.out.Refused != "" {
			t.Errorf("%s: unanchored %v, refused %q; notes %q", c.name, r.out.Unanchored, r.out.Refused, r.out.Notes)
		}
	}
	// A clock that counts ns since the machine started 17 days ago looks like µs of 2016.
	const boot = 1_468_800_000_000_000
	text := pollLines(5, `{"name":"%s","ts":%s,"dur_us":%s,"request_id":"r%d","pid":1}`, func(ns int64) string { return fmt.Sprint(boot + ns) }, in(1e3, 0))
	if out := (setup{near: spans(epoch, epoch)}).read(t, text).out; !out.Unanchored || out.Divisor != 1000 {
		t.Errorf("%+v, want starts to be divided by 1000", out)
	}
	if out := (setup{near: spans(epoch, epoch)}).read(t, at(1_200_000_000_000_000_000)).out; !out.Unanchored || out.Divisor != 1 {
		t.Errorf("%+v, want starts as they are", out)
	}
}

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		text string
		unit model.ProfileUnit
		want int64
		ok   bool
	}{
		{"1764432000.123456", model.Seconds, 1_764_432_000_123_456_000, true},
		{"1764432000.1234567894", model.Seconds, 1_764_432_000_123_456_789, true},
		{"1764432000.1234567895", model.Seconds, 1_764_432_000_123_456_790, true},
		{"1764432000.22425556182861328125", model.Seconds, 1_764_432_000_224_255_562, true},
		{"1.764432e9", model.Seconds, 1_764_432_000_000_000_000, true},
		{"1764432E+6", model.Microseconds, 1_764_432_000_000_000, true},
		{"0.0005", model.Microseconds, 1, true},
		{"0.00049", model.Microseconds, 0, true},
		{"-1.5", model.Nanoseconds, -2, true},
		{"1e-400", model.Seconds, 0, true},
		{"0e999", model.Seconds, 0, true},
		{"1e999", model.Seconds, 0, false},
		{"4611686018427387903", model.Nanoseconds, maxNS - 1, true},
		{"4611686018427387904", model.Nanoseconds, 0, false},
		{"99999999999999999999", model.Nanoseconds, 0, false},
		{"00000000000000000000000000001", model.Seconds, 1_000_000_000, true},
		{"123456789012345678901234567890e-20", model.Nanoseconds, 1_234_567_890, true},
	} {
		d, err := parseDecimal([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if n, ok := d.ns(c.unit); n != c.want || ok != c.ok {
			t.Errorf("%s %s is %d ns, %v; want %d, %v", c.text, c.unit, n, ok, c.want, c.ok)
		}
		if f := d.float(); c.ok && c.want > 1000 && math.Abs(f*math.Pow10(int(c.unit))/float64(c.want)-1) > 1e-9 {
			t.Errorf("%s is about %v", c.text, f)
		}
	}
	for _, text := range []string{"", "-", ".", "1.", ".5", "1e", "1e+", "1x", "0x10", "1.2.3", "--1", "+1", "1e5.5", "NaN", "-Infinity", "1,5"} {
		if d, err := parseDecimal([]byte(text)); err == nil {
			t.Errorf("%q is %+v, want an error", text, d)
		}
	}
}
