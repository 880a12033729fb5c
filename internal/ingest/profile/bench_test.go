package profile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	goccy "github.com/goccy/go-json"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// goLine is what a reader with a struct would decode a line into: the keys that the lines of the benchmark have.
type goLine struct {
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
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		since := cpu()
		for b.Loop() {
			var rep decode.Report
			batch.Reset()
			d.Decode(decode.Block{Data: data, Line: 1}, plan, batch, &rep)
			if rep.Records != n || len(batch.Records) != n {
				b.Fatal(rep.Records, rep.Problems)
			}
		}
		reportCPU(b, len(data), since)
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
	})
	b.Run("goccy", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		since := cpu()
		for b.Loop() {
			rows := 0
			for rest := data; len(rest) > 0; {
				line, more, _ := bytes.Cut(rest, []byte{'\n'})
				var l goLine
				if err := goccy.Unmarshal(line, &l); err != nil || l.Name == "" && l.Event == "" {
					b.Fatal(err)
				}
				rest = more
				rows++
			}
			if rows != n {
				b.Fatal(rows)
			}
		}
		reportCPU(b, len(data), since)
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
	})
}
