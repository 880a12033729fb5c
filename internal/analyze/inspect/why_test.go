package inspect

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

func (w *Why) text() string {
	sum := func(total model.Opt, parts []Part) string {
		if len(parts) == 0 {
			return "?"
		}
		text, n := fmt.Sprint(total.V), int64(0)
		for i, p := range parts {
			text += fmt.Sprintf(" %s %d %s", []string{"=", "+"}[min(i, 1)], p.Tokens, p.Name)
			n += p.Tokens
		}
		if n != total.V {
			text += fmt.Sprintf(" WHICH IS %d", n)
		}
		return text
	}
	return sum(w.Requested, w.Asked) + "; " + sum(w.Found, w.Given)
}

// The cache's decision as a sum; numbers by hand.
func TestWhy(t *testing.T) {
	const split = "requested_tokens=2048 prefix_hit_tokens=512 segmented_prefix_hit_tokens=256 non_prefix_hit_tokens=256"
	for _, c := range []struct{ name, text, want string }{
		// CONTRACT-lmcache 9.2 D: one chunk was dropped, and 128 of its tokens are missing.
		{"dropped", "cb.request server 0ms 90ms " + split + " hit_tokens=1024\n cb.lookup server 1ms 9ms\n cb.retrieve server 10ms 20ms worker_id=0\n  cb.scatter server 11ms 19ms scattered_tokens=896 dropped=1 worker_id=0",
			"2048 = 512 prefix + 256 segmented prefix + 256 non-prefix + 1024 not found; 1024 = 896 written + 128 dropped + 0 not loaded"},
		{"dropped and more not loaded", "cb.request server 0ms 90ms " + split + " hit_tokens=1024\n cb.lookup server 1ms 9ms\n cb.retrieve server 10ms 20ms worker_id=0\n  cb.scatter server 11ms 19ms scattered_tokens=300 dropped=1 worker_id=0",
			"2048 = 512 prefix + 256 segmented prefix + 256 non-prefix + 1024 not found; 1024 = 300 written + 256 dropped + 468 not loaded"},
		{"all written", "cb.request server 0ms 90ms " + split + " hit_tokens=1024\n cb.lookup server 1ms 9ms\n cb.retrieve server 10ms 20ms worker_id=0\n  cb.scatter server 11ms 19ms scattered_tokens=1024 dropped=0 worker_id=0",
			"2048 = 512 prefix + 256 segmented prefix + 256 non-prefix + 1024 not found; 1024 = 1024 written + 0 dropped + 0 not loaded"},
		// Overlap was taken out of the total: 64 tokens count in two kinds.
		{"counted twice", "cb.request server 0ms 90ms " + split + " hit_tokens=960\n cb.lookup server 1ms 9ms",
			"2048 = 512 prefix + 256 segmented prefix + 256 non-prefix + -64 counted twice + 1088 not found; ?"},
		{"parts are missing", "cb.request server 0ms 90ms " + split + " hit_tokens=1100\n cb.lookup server 1ms 9ms",
			"2048 = 512 prefix + 256 segmented prefix + 256 non-prefix + 76 found, nobody says how + 948 not found; ?"},
		{"tiers", "request server 0ms 90ms requested_tokens=1024 hit_tokens=768 l1_hit_tokens=512 l2_hit_tokens=256\n mp.lookup_prefetch server 1ms 9ms\n mp.retrieve server 10ms 20ms num_tokens=768 device=cuda:0",
			"1024 = 512 in L1 + 256 in L2 + 256 not found; 768 = 768 written + 0 dropped + 0 not loaded"},
		{"a total alone", "cb.request server 0ms 90ms requested_tokens=1024 hit_tokens=768\n cb.lookup server 1ms 9ms", "1024 = 768 found + 256 not found; ?"},
		{"a miss", "cb.request server 0ms 90ms requested_tokens=1024 hit_tokens=0 prefix_hit_tokens=0 non_prefix_hit_tokens=0\n cb.lookup server 1ms 9ms",
			"1024 = 0 prefix + 0 segmented prefix + 0 non-prefix + 1024 not found; 0 = 0 written + 0 dropped + 0 not loaded"},
		{"more than was asked for", "cb.request server 0ms 90ms requested_tokens=1024 hit_tokens=1280 prefix_hit_tokens=1280 non_prefix_hit_tokens=0\n cb.lookup server 1ms 9ms",
			"1024 = 1280 prefix + 0 segmented prefix + 0 non-prefix + -256 not asked for; ?"},
		{"everything", "cb.request server 0ms 90ms requested_tokens=1024 hit_tokens=1024 prefix_hit_tokens=1024 non_prefix_hit_tokens=0\n cb.lookup server 1ms 9ms\n cb.retrieve server 10ms 20ms worker_id=0\n  cb.scatter server 11ms 19ms scattered_tokens=1024 worker_id=0",
			"1024 = 1024 prefix + 0 segmented prefix + 0 non-prefix + 0 not found; 1024 = 1024 written + 0 dropped + 0 not loaded"},
		{"asked for nothing", "cb.request server 0ms 90ms requested_tokens=0 hit_tokens=0\n cb.lookup server 1ms 9ms", "0 = 0 found + 0 not found; 0 = 0 written + 0 dropped + 0 not loaded"},
		{"found, not said of what", "cb.request server 0ms 90ms hit_tokens=512\n cb.lookup server 1ms 9ms requested_tokens=1024 hit_tokens=768\n cb.retrieve server 10ms 20ms worker_id=0\n  cb.scatter server 11ms 19ms scattered_tokens=512 worker_id=0",
			"1024 = 768 found + 256 not found; 768 = 512 written + 0 dropped + 256 not loaded"},
		// Two passes wrote 1,536 tokens for 1,024: what counts is what is there.
		{"written twice", "cb.request sched 0ms 900ms requested_tokens=1024 hit_tokens=1024 prefix_hit_tokens=1024 non_prefix_hit_tokens=0\n cb.lookup server 1ms 9ms\n" +
			" cb.start_load_kv w0 10ms 40ms worker_id=0\n  cb.retrieve server 11ms 39ms worker_id=0\n   cb.scatter server 12ms 38ms scattered_tokens=512 worker_id=0\n" +
			" cb.start_load_kv w0 50ms 90ms worker_id=0\n  cb.retrieve server 51ms 89ms worker_id=0\n   cb.scatter server 52ms 88ms scattered_tokens=1024 worker_id=0",
			"1024 = 1024 prefix + 0 segmented prefix + 0 non-prefix + 0 not found; 1024 = 1024 written + 0 dropped + 0 not loaded"},
		// Looked up again after the load: the last attempt counts, which loaded a half.
		{"looked up again", "cb.request sched 0ms 900ms requested_tokens=1024 hit_tokens=512 prefix_hit_tokens=256 non_prefix_hit_tokens=256\n cb.lookup server 1ms 9ms\n" +
			" cb.start_load_kv w0 10ms 40ms worker_id=0\n  cb.retrieve server 11ms 39ms worker_id=0\n   cb.scatter server 12ms 38ms scattered_tokens=512 worker_id=0\n cb.lookup server 45ms 48ms\n" +
			" cb.start_load_kv w0 50ms 90ms worker_id=0\n  cb.retrieve server 51ms 89ms worker_id=0\n   cb.scatter server 52ms 88ms scattered_tokens=256 worker_id=0",
			"1024 = 256 prefix + 0 segmented prefix + 256 non-prefix + 512 not found; 512 = 256 written + 0 dropped + 256 not loaded"},
		{"a first pass without work", "cb.request sched 0ms 900ms requested_tokens=1024 hit_tokens=512 prefix_hit_tokens=512 non_prefix_hit_tokens=0\n cb.lookup server 1ms 9ms\n" +
			" cb.start_load_kv w0 10ms 12ms worker_id=0\n cb.start_load_kv w0 50ms 90ms worker_id=0\n  cb.retrieve server 51ms 89ms worker_id=0\n   cb.scatter server 52ms 88ms scattered_tokens=512 worker_id=0",
			"1024 = 512 prefix + 0 segmented prefix + 0 non-prefix + 512 not found; 512 = 512 written + 0 dropped + 0 not loaded"},
		{"more dropped than is missing", "cb.request server 0ms 90ms requested_tokens=1024 hit_tokens=512\n cb.lookup server 1ms 9ms\n cb.retrieve server 10ms 20ms worker_id=0\n  cb.scatter server 11ms 19ms scattered_tokens=500 dropped=3 worker_id=0",
			"1024 = 512 found + 512 not found; 512 = 500 written + 12 dropped + 0 not loaded"},
		{"numbers as no server writes them", "cb.request server 0ms 90ms requested_tokens=-5 hit_tokens=-7 prefix_hit_tokens=-9 non_prefix_hit_tokens=1\n cb.lookup server 1ms 9ms\n cb.retrieve server 10ms 20ms worker_id=0\n  cb.scatter server 11ms 19ms scattered_tokens=-20 dropped=-1 worker_id=0",
			"-5 = -9 prefix + 0 segmented prefix + 1 non-prefix + 1 found, nobody says how + 2 not found; -7 = -7 written + 0 dropped + 0 not loaded"},
		{"nothing was said", "cb.request server 0ms 90ms\n cb.lookup server 1ms 9ms", "?; ?"},
	} {
		if got := analysedWhy(t, c.text).text(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func analysedWhy(t *testing.T, text string) *Why {
	t.Helper()
	return Build(analysed(modeltest.Linked(t, text))).Why
}

// The steps in the order of the tree, with what they say and how well their times are known.
func TestWhySteps(t *testing.T) {
	r := modeltest.Linked(t, `
cb.request              sched   0ms 100ms requested_tokens=1024 hit_tokens=512 prefix_hit_tokens=512 non_prefix_hit_tokens=0
  cb.schedule           sched   1ms 60ms
    cb.lookup.rpc       sched   2ms 50ms n_polls=4
      cb.lookup         server  3ms 45ms fingerprint_hits=2 no_gpu_context=False
        cb.sparse_prefetch server 4ms 40ms l2_keys=2 found_keys=2
          cb.l2_load    server  5ms 40ms chunks=2 bytes=1000000
  cb.execute            worker0 61ms 99ms
    cb.start_load_kv    worker0 62ms 70ms worker_id=0
      cb.retrieve       server  63ms 69ms worker_id=0 num_chunks=2 success=True
        cb.scatter      server  64ms 68ms scattered_tokens=512 dropped=0 worker_id=0
    cb.model_forward    worker0 71ms 98ms`)
	for i := range r.Aligned {
		r.Aligned[i].Known = true
		if r.Aligned[i].Clock == r.Dict.Process("server") {
			r.Aligned[i].Uncertainty = 1_500_000
		}
	}
	var got []string
	for _, s := range Build(analysed(r)).Why.Steps {
		line := strings.Repeat("  ", s.Depth) + s.Name
		if s.StartNS.OK {
			line += fmt.Sprintf(" @%g", float64(s.StartNS.V)/1e6)
		}
		line += fmt.Sprintf(" %g", float64(s.NS.V)/1e6)
		if s.UncertaintyNS.OK {
			line += fmt.Sprintf(" ±%g", float64(s.UncertaintyNS.V)/1e6)
		}
		for _, x := range s.Says {
			line += fmt.Sprintf(" %s=%v", x.Key, x.Value)
		}
		got = append(got, line)
	}
	want := `cb.lookup.rpc @2 48 n_polls=4
  submit @2 1 ±1.5
  cb.lookup @3 42 fingerprint_hits=2
    cb.sparse_prefetch @4 36 found_keys=2 l2_keys=2
      cb.l2_load @5 35 chunks=2 bytes=1000000
  poll_wait 10 ±1.5
cb.start_load_kv @62 8 attempt=1 worker=0 tokens=512
  cb.retrieve @63 6 num_chunks=2 success=true
    cb.scatter @64 4 scattered_tokens=512 dropped=0`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
}

// What went wrong is said, what did not is not; a value that is not the one or the other is shown as it is.
func TestWhySaysWhatWentWrong(t *testing.T) {
	for text, want := range map[string]string{
		"no_gpu_context=True":  "[{no_gpu_context true}]",
		"no_gpu_context=False": "[]",
		"no_gpu_context=maybe": "[{no_gpu_context maybe}]",
	} {
		w := analysedWhy(t, "cb.request server 0ms 90ms\n cb.lookup server 1ms 9ms "+text)
		if got := fmt.Sprint(w.Steps[0].Says); got != want {
			t.Errorf("%s: says %s, want %s", text, got, want)
		}
	}
	w := analysedWhy(t, "cb.request server 0ms 90ms\n cb.lookup server 1ms 9ms\n  cb.coordinator_match server 2ms 5ms matches=3 timed_out=True\n  cb.coordinator_match server 6ms 7ms matches=3 timed_out=False")
	if got := fmt.Sprint(w.Steps[1].Says, w.Steps[2].Says); got != "[{matches 3} {timed_out true}] [{matches 3}]" {
		t.Errorf("says %s", got)
	}
}

// A tree that is a long chain is walked as far as it is shown.
func TestWhyOfAChain(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "%sapp.step sched 0ms 9ms\n", strings.Repeat(" ", i))
	}
	if n := len(analysedWhy(t, b.String()).Steps); n != 0 {
		t.Errorf("%d steps", n)
	}
}

// Whatever a request says of its tokens, what is printed adds up, each part once, and none is below 0 but those that say why.
func TestWhyAddsUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 3))
	asked, given, odd := 0, 0, 0
	for range 3000 {
		some := func(key string) string {
			if v := []string{"", "", "0", "1", "256", "512", "1024", "2048", "None"}[rng.IntN(9)]; v != "" {
				return " " + key + "=" + v
			}
			return ""
		}
		text := "cb.request sched 0ms 900ms" + some("requested_tokens") + some("hit_tokens") + some("prefix_hit_tokens") + some("segmented_prefix_hit_tokens") + some("non_prefix_hit_tokens") +
			"\n cb.lookup server 1ms 9ms" + some("requested_tokens") + some("hit_tokens") + "\n"
		if rng.IntN(2) == 0 {
			text = "request server 0ms 900ms" + some("requested_tokens") + some("hit_tokens") + some("l1_hit_tokens") + some("l2_hit_tokens") + "\n mp.lookup_prefetch server 1ms 9ms\n"
		}
		for i := range rng.IntN(4) {
			text += fmt.Sprintf(" cb.start_load_kv w0 %dms %dms worker_id=0\n", 10+100*i, 90+100*i)
			if rng.IntN(3) > 0 {
				text += fmt.Sprintf("  cb.retrieve server %dms %dms worker_id=0\n   cb.scatter server %dms %dms worker_id=0%s%s\n", 11+100*i, 89+100*i, 12+100*i, 88+100*i, some("scattered_tokens"), some("dropped"))
			}
		}
		w := analysedWhy(t, text)
		for _, sum := range []struct {
			what  string
			total model.Opt
			parts []Part
			n     *int
		}{{"asked", w.Requested, w.Asked, &asked}, {"given", w.Found, w.Given, &given}} {
			left, seen := sum.total.V, map[string]bool{}
			for _, p := range sum.parts {
				left -= p.Tokens
				if seen[p.Name] {
					t.Errorf("%s: %s twice\n%s", sum.what, p.Name, text)
				}
				seen[p.Name] = true
				if p.Tokens < 0 {
					odd++
					if p.Name != "counted twice" && p.Name != "not asked for" {
						t.Errorf("%s: %d %s\n%s", sum.what, p.Tokens, p.Name, text)
					}
				}
			}
			if len(sum.parts) == 0 {
				continue
			}
			*sum.n++
			if !sum.total.OK || left != 0 {
				t.Errorf("%s: %d left of %v\n%s", sum.what, left, sum.total, text)
			}
		}
	}
	if asked < 500 || given < 500 || odd < 100 {
		t.Errorf("%d and %d sums, %d odd parts: the requests are lopsided", asked, given, odd)
	}
}
