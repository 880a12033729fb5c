package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// profile is the CB_PROFILE lines of a process, in the order in which it wrote them. The scheduler counts in microseconds, the worker in seconds
// and milliseconds.
func (w *world) profile(p *process) []byte {
	type written struct {
		line
		id string
	}
	var all []written
	for _, r := range w.today {
		for _, l := range r.lines {
			if l.proc == p {
				all = append(all, written{l, r.internal})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b written) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.start, b.start)) })
	var b bytes.Buffer
	for n, l := range all {
		from, to := p.clock(l.start)/us, p.clock(l.end)/us
		if p == todayScheduler {
			b.Write(jsonLine(struct {
				Name string `json:"name"`
				TS   int64  `json:"ts"`
				Dur  int64  `json:"dur_us"`
				Req  string `json:"request_id"`
				PID  int    `json:"pid"`
				Role string `json:"role"`
			}{l.name, from, to - from, l.id, p.pid, "scheduler"}))
			if n%40 == 39 { // a counter of the process
				b.Write(jsonLine(struct {
					Name string `json:"name"`
					TS   int64  `json:"ts"`
					PID  int    `json:"pid"`
					Hits int    `json:"hits"`
				}{"_cb_stats_emit", to, p.pid, n}))
			}
			continue
		}
		b.Write(jsonLine(struct {
			Event    string      `json:"event"`
			Start    json.Number `json:"start_ts"`
			Duration json.Number `json:"duration_ms"`
			Req      string      `json:"req_id"`
			PID      int         `json:"pid"`
			Role     string      `json:"role"`
			Rank     int         `json:"rank"`
		}{l.name, json.Number(fmt.Sprintf("%d.%06d", from/1e6, from%1e6)), json.Number(fmt.Sprintf("%d.%03d", (to-from)/1e3, (to-from)%1e3)), l.id, p.pid, "worker", 0}))
	}
	return b.Bytes()
}
