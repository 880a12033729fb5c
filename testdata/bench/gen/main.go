// Command gen writes a day of traces: exports of a vLLM with CacheBlend and of its LMCache servers, as a collector would have written them, and what is
// true of them. The same flags give the same bytes.
//
//	gen -requests 60000 -formats jsonl,pb,zst,frames -dir DIR
//
// Every request lies in three traces (engine; scheduler and worker; server) and two files (vllm-NNN, lmcache-NNN). One in a hundred has server spans that
// come a file later. About an eighth of the bytes of JSON are attributes that nobody reads. Servers and workers have clocks of their own.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// perFile is how many requests a pair of files holds.
const perFile = 12_500

func main() {
	requests := flag.Int("requests", 60_000, "how many")
	formats := flag.String("formats", "jsonl", "of jsonl, pb, zst, frames: JSON lines; messages with their length; both compressed, as a stream of lines and message by message")
	dir := flag.String("dir", "", "where to, a folder for each format")
	seed := flag.Uint64("seed", 1, "another one, another day")
	flag.Parse()
	if *dir == "" || *requests < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(*dir, strings.Split(*formats, ","), *requests, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write writes the files of a day, several at once, and truth.json.
func write(dir string, formats []string, requests int, seed uint64) error {
	for _, f := range formats {
		if err := os.MkdirAll(filepath.Join(dir, f), 0o755); err != nil {
			return err
		}
	}
	files := (requests + perFile - 1) / perFile
	d := day{seed: seed, requests: requests}
	var next atomic.Int64
	var mu sync.Mutex
	var first error
	var all truth
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= files {
					return
				}
				t, err := d.file(dir, formats, n, n == files-1)
				mu.Lock()
				all.add(&t)
				if first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if first != nil {
		return first
	}
	all.Middle = d.request(requests / 2).id
	text, err := json.MarshalIndent(&all, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "truth.json"), append(text, '\n'), 0o644)
}

// A truth is what a report must say.
type truth struct {
	Requests        int64            `json:"requests"`
	Spans           int64            `json:"spans"`
	StageSpans      map[string]int64 `json:"stage_spans"`
	StageNS         map[string]int64 `json:"stage_ns"` // sums of durations
	LatencyNS       int64            `json:"latency_ns"`
	RequestedTokens int64            `json:"requested_tokens"`
	HitTokens       int64            `json:"hit_tokens"`
	Stragglers      int64            `json:"stragglers"`
	Bytes           map[string]int64 `json:"bytes"`  // by format
	Unread          float64          `json:"unread"` // share of the bytes of JSON in attributes that nobody reads
	Middle          string           `json:"middle"` // the id of a request in the middle

	unread, plain int64
}

func (t *truth) add(o *truth) {
	t.Requests += o.Requests
	t.Spans += o.Spans
	t.LatencyNS += o.LatencyNS
	t.RequestedTokens += o.RequestedTokens
	t.HitTokens += o.HitTokens
	t.Stragglers += o.Stragglers
	t.unread += o.unread
	t.plain += o.plain
	t.StageSpans, t.StageNS, t.Bytes = addMap(t.StageSpans, o.StageSpans), addMap(t.StageNS, o.StageNS), addMap(t.Bytes, o.Bytes)
	if t.plain > 0 {
		t.Unread = float64(t.unread) / float64(t.plain)
	}
}

func addMap(to, from map[string]int64) map[string]int64 {
	if to == nil {
		to = map[string]int64{}
	}
	for k, n := range from {
		to[k] += n
	}
	return to
}
