// Command gen writes testdata/demo: what a small deployment of vLLM and LMCache would leave behind in two minutes.
//
//	go run ./testdata/gen -o testdata/demo
//
// 80 requests in three parts, so that every kind of input and of cache is there once:
//
//	rag, the new way    26 requests of CacheBlend on two ranks; engine, scheduler, workers and server write spans into one trace per request
//	rag, as it is today 24 requests of CacheBlend; the server's spans under a root of its own, scheduler and worker as CB_PROFILE lines; the
//	                    server's clock is 31 ms behind and drifts
//	chat                30 requests of the standard path, request with mp.* and transfer.*; eight of them as a file from Jaeger's page
//
// Beside them lie a recording of the chat server's storage (.lct) and the hashes of its lookups. What is odd about single requests is said
// where they are made: every kind of double load, early exits, a broken sum of hits, a failed retrieve, a preemption and more.
//
// The same bytes come out on every machine: nothing depends on time, maps or the standard library's random numbers.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	out := flag.String("o", "testdata/demo", "the folder to write, which is emptied first")
	flag.Parse()
	if err := write(*out, files()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(dir string, files map[string][]byte) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o666); err != nil {
			return err
		}
	}
	return nil
}

// files are the files of the demo by path.
func files() map[string][]byte {
	w := &world{rng: random(2025)}
	for i := range requests {
		at := epoch + int64(i)*1500*ms + w.between(0, 2500*ms)
		switch kind := i % requests; {
		case turn(kind, 3, 1) && len(w.unified) < len(unifiedCases):
			w.unified = append(w.unified, w.unifiedRequest(at, unifiedCases[len(w.unified)]))
		case turn(kind, 3, 2) && len(w.today) < len(todayCases):
			w.today = append(w.today, w.todayRequest(at, todayCases[len(w.today)]))
		default:
			w.chat = append(w.chat, w.chatRequest(at, chatCases[len(w.chat)]))
		}
	}
	out := map[string][]byte{
		"jaeger/chat.json":                                  w.jaeger(),
		"profile/cb_profile-scheduler.jsonl":                w.profile(todayScheduler),
		"profile/cb_profile-worker0.jsonl":                  w.profile(todayWorker),
		"lct/lmcache-chat.lct":                              w.recording(),
		"hashes/lookup_hashes_20251129_160000_000000.jsonl": w.hashes(),
	}
	maps.Copy(out, w.otlp())
	return out
}

const requests = 80

// turn reports whether i is the r-th of every n.
func turn(i, n, r int) bool { return i%n == r }
