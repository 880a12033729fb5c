package profile

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

func mathFloat(bits uint64) float64 { return math.Float64frombits(bits) }

func TestLines(t *testing.T) {
	for _, c := range []struct{ name, lines, records, skipped string }{
		{"a scheduler's", `{"name":"sched.gnnmt","ts":1764432001181727,"dur_us":50,"request_id":"r","pid":4242,"role":"scheduler"}`,
			"1 sched.gnnmt cb.schedule 1181727+50 pid=4242 request_id=r", ""},
		{"a worker's, seconds as text", `{"event":"slk.load","start_ts":1764432001.224255,"duration_ms":0.08,"req_id":"r","pid":4300,"role":"worker","rank":0}`,
			"1 slk.load cb.start_load_kv 1224255+80 pid=4300 req_id=r rank=0", ""},
		{"seconds to the nanosecond, never through a float", `{"name":"x","ts":1764432000.123456789,"dur_ns":1}`, "1 x 123456.789+0.001", ""},
		{"more digits than nanoseconds are rounded", `{"name":"x","ts":1764432000.12345678951,"dur_ms":0.0000015}`, "1 x 123456.79+0.002", ""},
		{"an exponent, as Python writes small floats", `{"name":"x","ts":1764432000000,"elapsed_s":5e-05}`, "1 x 0+50", ""},
		{"times as text", `{"name":"x","ts":"1764432000.5","dur_ms":"2"}`, "1 x 500000+2000", ""},
		{"start and end", `{"name":"x","t0":1764432000.5,"t1":1764432000.75}`, "1 x 500000+250000", ""},
		{"end and duration", `{"name":"x","end":1764432000.5,"dur_ms":100}`, "1 x 400000+100000", ""},
		{"a duration counts for more than an end", `{"name":"x","start":1764432000,"end":1764432002,"dur_ms":100}`, "1 x 0+100000", ""},
		{"a duration that says its unit counts for more than one that does not", `{"name":"x","ts":1764432000,"dur":7,"dur_ms":100}`, "1 x 0+100000", ""},
		{"a counter", `{"name":"_cb_stats_emit","ts":1764432000,"pid":1,"hits":3}`, "1 _cb_stats_emit 0 point pid=1", ""},
		{"an end alone is an instant", `{"name":"x","end_ts":1764432000}`, "1 x 0 point", ""},
		{"a negative duration stays one", `{"name":"x","ts":1764432000,"dur_us":-5}`, "1 x 0+-5", ""},
		{"null is absent", `{"name":"x","ts":1764432000,"dur_us":null,"request_id":null,"pid":null}`, "1 x 0 point", ""},
		{"keys twice: the last counts", `{"name":"x","ts":1764432000,"ts":1764432001,"dur_us":1,"dur_us":2}`, "1 x 1000000+2", ""},
		{"escapes and other alphabets", "{\"n\\u0061me\":\"sched\\u002egnnmt\",\"ts\":1764432000,\"dur_us\":1,\"rid\":\"r\\u00e9\"}", "1 sched.gnnmt cb.schedule 0+1 req_id=ré", ""},
		{"numbers as ids", `{"name":"x","ts":1764432000,"dur_us":1,"req":17}`, "1 x 0+1 req_id=17", ""},
		{"several ids", `{"name":"x","ts":1764432000,"dur_us":1,"request_id":"a","session_id":"b","external_request_id":"c"}`, "1 x 0+1 request_id=a session_id=b external_request_id=c", ""},
		{"layer hooks", `{"name":"flex.check.layer3","ts":1764432000,"dur_us":1,"imp_count":40,"recomp_ratio":0.15}`, "1 flex.check.layer3 cb.check 0+1 imp_count=40 recomp_ratio=0.15", ""},
		{"a name of the vocabulary", `{"name":"cb.lookup.rpc","ts":1764432000,"dur_us":1}`, "1 cb.lookup.rpc cb.lookup.rpc 0+1", ""},
		{"one that counts with a scope only", `{"name":"request","ts":1764432000,"dur_us":1}`, "1 request 0+1", ""},
		{"a pid as text", `{"name":"x","ts":1764432000,"dur_us":1,"pid":"77"}`, "1 x 0+1 pid=77", ""},
		{"proc is a pid where there is none", `{"name":"x","ts":1764432000,"dur_us":1,"proc":77}`, "1 x 0+1 pid=77", ""},
		{"pid counts for more than proc", `{"name":"x","ts":1764432000,"dur_us":1,"pid":5,"proc":77}`, "1 x 0+1 pid=5", ""},
		{"without a pid a role or a name tells processes apart", `{"name":"x","ts":1764432000,"dur_us":1,"proc":"w0"}` + "\n" + `{"name":"x","ts":1764432000,"dur_us":1,"role":"worker","proc":"w0"}`,
			"1 x 0+1 role=w0\n2 x 0+1 role=worker", ""},
		{"failures", `{"name":"a","ts":1764432000,"dur_us":1,"failed":true}
			{"name":"b","ts":1764432000,"dur_us":1,"success":false}
			{"name":"c","ts":1764432000,"dur_us":1,"ok":"False"}
			{"name":"d","ts":1764432000,"dur_us":1,"error":"timeout"}
			{"name":"e","ts":1764432000,"dur_us":1,"error":{"code":5}}
			{"name":"f","ts":1764432000,"dur_us":1,"failed":1}
			{"name":"g","ts":1764432000,"dur_us":1,"failed":false,"success":true,"ok":1,"error":""}
			{"name":"h","ts":1764432000,"dur_us":1,"error":null,"success":null}
			{"name":"i","ts":1764432000,"dur_us":1,"error":{ },"failed":"None"}
			{"name":"j","ts":1764432000,"dur_us":1,"success":true,"error":"late"}`,
			"1 a 0+1 error\n2 b 0+1 error\n3 c 0+1 error\n4 d 0+1 error\n5 e 0+1 error\n6 f 0+1 error\n7 g 0+1\n8 h 0+1\n9 i 0+1\n10 j 0+1 error", ""},
		{"how a retrieve ended is its attribute", `{"name":"cb.retrieve","ts":1764432000,"dur_us":1,"success":false}
			{"name":"cb.retrieve","ts":1764432000,"dur_us":1,"ok":true}`,
			"1 cb.retrieve cb.retrieve 0+1 success=false\n2 cb.retrieve cb.retrieve 0+1 success=true", ""},
		{"Windows line ends, blank lines, indentation", "{\"name\":\"a\",\"ts\":1764432000,\"dur_us\":1}\r\n\r\n  {\"name\":\"a\",\"ts\":1764432001,\"dur_us\":1}\r\n", "1 a 0+1\n3 a 1000000+1", ""},
		{"a mark of the byte order", "\xef\xbb\xbf{\"name\":\"a\",\"ts\":1764432000,\"dur_us\":1}\n", "1 a 0+1", ""},
		{"spread over lines", "{\n \"name\": \"a\",\n \"ts\": 1764432000,\n \"dur_us\": 1\n}\n{\"name\":\"b\",\"ts\":1764432000,\"dur_us\":1}", "1 a 0+1\n6 b 0+1", ""},
		{"a list of lines", "[{\"name\":\"a\",\"ts\":1764432000,\"dur_us\":1},\n{\"name\":\"b\",\"ts\":1764432001,\"dur_us\":2}, 7]", "1 a 0+1\n2 b 1000000+2", "2: want a JSON object"},
		{"no name, no time", `{"ts":1764432000,"dur_us":5,"request_id":"nobody"}
			{"name":"sched.gnnmt","request_id":"nobody","pid":4242}
			{"name":"","ts":1764432000}
			{"name":7,"ts":1764432000}
			{"name":"x","dur_us":5}
			{}`, "", `1: no name: want one of the keys name, span, event, op, qualname, stage
			2: no time: want a start or an end
			3: no name: want one of the keys name, span, event, op, qualname, stage
			4: no name: want one of the keys name, span, event, op, qualname, stage
			5: no time: want a start or an end
			6: no name: want one of the keys name, span, event, op, qualname, stage`},
		{"times that are none", `{"name":"x","ts":NaN,"dur_us":1}
			{"name":"x","ts":1764432000,"dur_us":NaN}
			{"name":"x","ts":1764432000,"dur_us":Infinity}
			{"name":"x","ts":1764432000,"dur_us":1e300}
			{"name":"x","ts":1764432000,"duration_s":99999999999}
			{"name":"x","ts":"noon","dur_us":1}
			{"name":"x","ts":true,"dur_us":1}
			{"name":"x","ts":[1764432000],"dur_us":1}
			{"name":"x","ts":-1764432000,"dur_us":1}
			{"name":"x","ts":0,"dur_us":1}
			{"name":"x","ts":1764432000,"dur_us":-1764432000000001}
			{"name":"x","ts":1764432000,"dur_us":1}`, "12 x 0+1", `1: ts: want a finite number
			2: dur_us: want a finite number
			3: dur_us: want a finite number
			4: dur_us: out of range
			5: duration_s: out of range
			6: ts: want a number
			7: ts: want a number
			8: ts: want a number
			9: ts: want an instant after 0
			10: ts: want an instant after 0
			11: dur_us: out of range`},
		{"other text between", "starting up\n{\"name\":\"a\",\"ts\":1764432000,\"dur_us\":1}\n42\nnull\n{\"name\":\"b\",\"ts\":1764432000,\"dur_us\":1}",
			"2 a 0+1\n5 b 0+1", "1: want a JSON object\n3: want a JSON object\n4: want a JSON object"},
		{"two writers on one line", `{"name":"a","ts":1764432000,"dur_us":1}{"name":"b","ts":1764432000,"dur_us":2}`, "1 a 0+1\n1 b 0+2", ""},
		{"one writer cuts into the line of another", `{"name":"a","ts":1764432000{"name":"b","ts":1764432000,"dur_us":2}` + "\n" + `,"dur_us":1}` + "\n" + `{"name":"c","ts":1764432000,"dur_us":3}`,
			"1 b 0+2\n3 c 0+3", "1: want ',' or '}', have '{'\n2: want a JSON object"},
		{"a line cut in the middle of the file", `{"name":"a","ts":1764432000,"du` + "\n" + `{"name":"b","ts":1764432000,"dur_us":2}`, "2 b 0+2", `1: want '"', have the end of the line`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := setup{}.read(t, c.lines)
			r.want(t, c.records, c.skipped)
			if r.out.Refused != "" || r.rep.Truncated {
				t.Errorf("refused %q, truncated %v", r.out.Refused, r.rep.Truncated)
			}
			// Spelled like lines before them, they say the same.
			again := setup{}.read(t, c.lines+"\n"+c.lines)
			slow := setup{slow: true}.read(t, c.lines+"\n"+c.lines)
			again.want(t, strings.Join(slow.records, "\n"), strings.Join(slow.skipped, "\n"))
		})
	}
}

func TestHalfALastLine(t *testing.T) {
	const whole = `{"name":"a","ts":1764432000,"dur_us":1,"request_id":"r"}`
	for cut := 1; cut < len(whole); cut++ {
		r := setup{}.read(t, whole+"\n"+whole+"\n"+whole[:cut])
		r.want(t, "1 a 0+1 request_id=r\n2 a 0+1 request_id=r", "3: ends in the middle of a record")
		if !r.rep.Truncated {
			t.Errorf("cut after %d bytes: not truncated", cut)
		}
	}
}

// With all attributes kept a line keeps what is not understood; secrets are hidden (R3.6).
func TestAllAttributes(t *testing.T) {
	const line = `{"name":"a","stage":"b","ts":1764432000,"dur_us":1,"pid":5,"tid":6,"role":"worker","rank":1,"success":true,"note":"n","x":1.5,"y":[1, {"z": null}],` +
		`"token_ids":[1,2,3],"args":{"token_ids":[7,7],"traceparent":"00-ab","k":{"v":true}},"cache_salt":"salt"}`
	want := `1 a 0+1 pid=5 stage=b pid=5 tid=6 role=worker rank=1 success=true note=n x=1.5 y=[1,{"z":null}] token_ids=<redacted 7 bytes> ` +
		`args={"token_ids":"<redacted 5 bytes>","traceparent":"<redacted 5 bytes>","k":{"v":true}} cache_salt=<redacted 4 bytes>`
	setup{keepAll: true}.read(t, line).want(t, want, "")
	setup{keepAll: true}.read(t, `{"stage":"b","name":"a","ts":1764432000}`).want(t, "1 a 0 point stage=b", "")
	setup{}.read(t, line).want(t, "1 a 0+1 pid=5 rank=1", "")
}

// Blocks of one input decode in any order and number: the same records.
func TestBlocks(t *testing.T) {
	text := string(benchLines(300))
	whole := setup{}.read(t, text)
	if len(whole.records) != 300 || whole.records[299] == whole.records[298] {
		t.Fatalf("%d records", len(whole.records))
	}
	for _, cut := range []int{1, 100, 5000} {
		setup{cut: cut}.read(t, text).want(t, strings.Join(whole.records, "\n"), "")
	}
	setup{slow: true}.read(t, text).want(t, strings.Join(whole.records, "\n"), "")
}

// Steady work allocates nothing per line.
func TestNoAllocations(t *testing.T) {
	const n = 1000
	data := benchLines(n)
	h := NewHead(nil)
	h.Add(data)
	plan, batch, d := h.Plan(), model.NewBatch(model.NewDict(), false), &Decoder{}
	run := func() { decodeBlock(d, plan, batch, data) }
	run()
	if got := testing.AllocsPerRun(20, run); got > n/100 {
		t.Errorf("%v allocations for %d lines", got, n)
	}
}

// Nothing but broken objects takes time in proportion to their number.
func TestBrokenObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and much arithmetic: make race leaves it out")
	}
	for _, text := range []string{strings.Repeat("{", 1<<20), strings.Repeat(`{"a":[`, 1<<14), strings.Repeat("{\n", 1<<15), strings.Repeat(`{"name":"a","ts":1{`, 1<<14),
		strings.Repeat(`{"a":`+"\n", 1<<14), strings.Repeat(`[`, 1<<18), strings.Repeat(`{"a":"`+"\n", 1<<14)} {
		began := time.Now()
		r := setup{}.read(t, text)
		if len(r.records) != 0 || r.rep.Skipped == 0 {
			t.Errorf("%.20s…: %d records, %d skipped", text, len(r.records), r.rep.Skipped)
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("%.20s… took %v", text, d)
		}
	}
}
