package profile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	goccy "github.com/goccy/go-json"

	"github.com/cbtrace/cbtrace/internal/model"
)

// fewKeys is the struct of a reader that knows which keys these lines have.
type fewKeys struct {
	Name      string  `json:"name"`
	Event     string  `json:"event"`
	TS        int64   `json:"ts"`
	StartTS   float64 `json:"start_ts"`
	DurUS     int64   `json:"dur_us"`
	DurMS     float64 `json:"duration_ms"`
	RequestID string  `json:"request_id"`
	ReqID     string  `json:"req_id"`
	PID       int64   `json:"pid"`
	Role      string  `json:"role"`
	Rank      *int64  `json:"rank"`
}

// allKeys is the struct of a reader that, as we do, takes every key of the table.
type allKeys struct {
	Name      string           `json:"name"`
	Span      string           `json:"span"`
	Event     string           `json:"event"`
	Op        string           `json:"op"`
	Qualname  string           `json:"qualname"`
	Stage     string           `json:"stage"`
	TS        goccy.Number     `json:"ts"`
	Timestamp goccy.Number     `json:"timestamp"`
	T         goccy.Number     `json:"t"`
	T0        goccy.Number     `json:"t0"`
	Start     goccy.Number     `json:"start"`
	StartTS   goccy.Number     `json:"start_ts"`
	StartTime goccy.Number     `json:"start_time"`
	TWall     goccy.Number     `json:"t_wall"`
	End       goccy.Number     `json:"end"`
	EndTS     goccy.Number     `json:"end_ts"`
	T1        goccy.Number     `json:"t1"`
	EndTime   goccy.Number     `json:"end_time"`
	Dur       goccy.Number     `json:"dur"`
	Duration  goccy.Number     `json:"duration"`
	Elapsed   goccy.Number     `json:"elapsed"`
	DurMS     goccy.Number     `json:"dur_ms"`
	DurationM goccy.Number     `json:"duration_ms"`
	LatencyMS goccy.Number     `json:"latency_ms"`
	MS        goccy.Number     `json:"ms"`
	ElapsedMS goccy.Number     `json:"elapsed_ms"`
	DurUS     goccy.Number     `json:"dur_us"`
	DurNS     goccy.Number     `json:"dur_ns"`
	ElapsedS  goccy.Number     `json:"elapsed_s"`
	DurationS goccy.Number     `json:"duration_s"`
	RequestID string           `json:"request_id"`
	ReqID     string           `json:"req_id"`
	RID       string           `json:"rid"`
	Req       string           `json:"req"`
	SessionID string           `json:"session_id"`
	External  string           `json:"external_request_id"`
	PID       *int64           `json:"pid"`
	TID       *int64           `json:"tid"`
	Rank      *int64           `json:"rank"`
	WorkerID  *int64           `json:"worker_id"`
	TPRank    *int64           `json:"tp_rank"`
	Role      string           `json:"role"`
	Proc      goccy.RawMessage `json:"proc"`
	Failed    goccy.RawMessage `json:"failed"`
	Success   goccy.RawMessage `json:"success"`
	OK        goccy.RawMessage `json:"ok"`
	Error     goccy.RawMessage `json:"error"`
}

// benchLines are lines as two processes write them, a scheduler's and a worker's.
func benchLines(n int) []byte {
	sched := []string{"sched.gnnmt", "cb_admission_check", "gnnmt.cb_unified_submit", "gnnmt.cb_unified_poll", "sched.build_meta"}
	worker := []string{"shim.wrapper.prepare", "slk.load", "slk.wait", "shim.wrapper.fwd", "flex.full_recomp", "flex.check", "flex.partial"}
	var b strings.Builder
	for i := range n {
		at, id := 1_764_432_001_181_727+int64(i)*791, fmt.Sprintf("chatcmpl-%016x-%08x", uint64(i/12+1)*0x9e3779b97f4a7c15, uint32(i/12+1)*0x85ebca6b)
		if i%12 < 5 {
			fmt.Fprintf(&b, `{"name":%q,"ts":%d,"dur_us":%d,"request_id":%q,"pid":4242,"role":"scheduler"}`, sched[i%12], at, 50+i%7000, id)
		} else {
			fmt.Fprintf(&b, `{"event":%q,"start_ts":%d.%06d,"duration_ms":%d.%03d,"req_id":%q,"pid":4300,"role":"worker","rank":0}`, worker[i%12-5], at/1e6, at%1e6, i%20, i%1000, id)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

func BenchmarkLines(b *testing.B) {
	const n = 20_000
	data := benchLines(n)
	b.Run("cbtrace", func(b *testing.B) {
		batch := model.NewBatch(model.NewDict(), false)
		h := NewHead(DefaultKeys())
		h.Add(data)
		plan := h.Plan()
		var d Decoder
		decodeBlock(&d, plan, batch, data)
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if rep := decodeBlock(&d, plan, batch, data); rep.Records != n {
				b.Fatal(rep.Records, rep.Problems)
			}
		}
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
	})
	b.Run("goccy", func(b *testing.B) { benchGoccy[allKeys](b, data, n) })
	b.Run("goccy-few-keys", func(b *testing.B) { benchGoccy[fewKeys](b, data, n) })
}

func benchGoccy[T any](b *testing.B, data []byte, n int) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		rows := 0
		for rest := data; len(rest) > 0; rows++ {
			line, more, _ := bytes.Cut(rest, []byte{'\n'})
			var l T
			if err := goccy.Unmarshal(line, &l); err != nil {
				b.Fatal(err)
			}
			rest = more
		}
		if rows != n {
			b.Fatal(rows)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}
