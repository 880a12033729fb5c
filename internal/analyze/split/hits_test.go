package split

import (
	"fmt"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

func (h *Hits) text() string {
	s := fmt.Sprintf("%v %s", h.Class, opts("requested", h.Requested, "hit", h.Hit, "prefix", h.Prefix, "segmented", h.Segmented, "non_prefix", h.NonPrefix,
		"l1", h.L1Tokens, "l2", h.L2Tokens, "l1_keys", h.L1Keys, "l2_keys", h.L2Keys, "written", h.Written, "short", h.Shortfall))
	if h.Broken {
		s += fmt.Sprintf(" broken:%d", h.Parts)
	}
	if r, ok := h.HitRate(); ok {
		s += fmt.Sprintf(" rate=%v", r)
	}
	if r, ok := h.EffectiveReuse(); ok {
		s += fmt.Sprintf(" reuse=%v", r)
	}
	if h.EarlyExit != "" {
		s += " exit=" + h.EarlyExit
	}
	return s
}

// R7.5, R7.6; CONTRACT-lmcache 9, 9.2 D.
func TestHits(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nobody said", "cb.request sched 0ms 100ms", "none "},
		{"standard path, half", "request server 0ms 9ms hit_tokens=512 requested_tokens=1024", "partial requested=1024 hit=512 rate=0.5"},
		{"l1 + l2", "request server 0ms 9ms hit_tokens=768 requested_tokens=1024 l1_hit_tokens=512 l2_hit_tokens=256 l1_hit_keys=4 l2_hit_keys=1",
			"partial requested=1024 hit=768 l1=512 l2=256 l1_keys=4 l2_keys=1 rate=0.75"},
		{"l1 + l2 broken", "request server 0ms 9ms hit_tokens=704 requested_tokens=1024 l1_hit_tokens=512 l2_hit_tokens=256",
			"partial requested=1024 hit=704 l1=512 l2=256 broken:768 rate=0.6875"},
		{"early exit", "request server 0ms 9ms hit_tokens=0 requested_tokens=0 l1_hit_tokens=0 l2_hit_tokens=0 early_exit_reason=no_group_layout_descs",
			"none requested=0 hit=0 l1=0 l2=0 written=0 short=0 exit=no_group_layout_descs"},
		{"a miss", "cb.request server 0ms 9ms hit_tokens=0 requested_tokens=1024", "miss requested=1024 hit=0 written=0 short=0 rate=0 reuse=0"},
		{"prefix + non_prefix", "cb.request server 0ms 9ms hit_tokens=512 requested_tokens=1024 prefix_hit_tokens=256 non_prefix_hit_tokens=256",
			"partial requested=1024 hit=512 prefix=256 non_prefix=256 rate=0.5"},
		{"all three", "cb.request server 0ms 9ms hit_tokens=1024 requested_tokens=2048 prefix_hit_tokens=512 segmented_prefix_hit_tokens=256 non_prefix_hit_tokens=256",
			"partial requested=2048 hit=1024 prefix=512 segmented=256 non_prefix=256 rate=0.5"},
		{"aliases", "cb.request server 0ms 9ms hit_tokens=512 requested_tokens=1024 prefix_coverage_tokens=256 n_non_prefix_tokens=256",
			"partial requested=1024 hit=512 prefix=256 non_prefix=256 rate=0.5"},
		{"an absent segmented part is 0", "cb.request sched 0ms 9ms hit_tokens=512 requested_tokens=1024 prefix_hit_tokens=256 non_prefix_hit_tokens=128",
			"partial requested=1024 hit=512 prefix=256 non_prefix=128 broken:384 rate=0.5"},
		{"not checked without a part", "cb.request sched 0ms 9ms hit_tokens=512 requested_tokens=1024 prefix_hit_tokens=256",
			"partial requested=1024 hit=512 prefix=256 rate=0.5"},
		{"full", "cb.request sched 0ms 9ms hit_tokens=1024 requested_tokens=1024", "full requested=1024 hit=1024 rate=1"},
		{"requested, but not what was found", "cb.request sched 0ms 9ms requested_tokens=1024", "none requested=1024"},
		// 9.2 D: 896 of 2048 written, 128 short.
		{"896 scattered", `
cb.request      server 0ms 30ms hit_tokens=1024 requested_tokens=2048 prefix_hit_tokens=512 segmented_prefix_hit_tokens=256 non_prefix_hit_tokens=256
  cb.retrieve   server 20ms 29ms worker_id=0
    cb.scatter  server 21ms 28ms worker_id=0 scattered_tokens=896 dropped=1`,
			"partial requested=2048 hit=1024 prefix=512 segmented=256 non_prefix=256 written=896 short=128 rate=0.5 reuse=0.4375"},
		{"960 after overlaps: kept, broken by 64", `
cb.request      server 0ms 30ms hit_tokens=960 requested_tokens=2048 prefix_hit_tokens=512 segmented_prefix_hit_tokens=256 non_prefix_hit_tokens=256`,
			"partial requested=2048 hit=960 prefix=512 segmented=256 non_prefix=256 broken:1024 rate=0.46875"},
		{"written is at most hit", `
cb.request      server 0ms 30ms hit_tokens=512 requested_tokens=1024
  cb.retrieve   server 20ms 29ms worker_id=0
    cb.scatter  server 21ms 28ms worker_id=0 scattered_tokens=768`,
			"partial requested=1024 hit=512 written=512 short=0 rate=0.5 reuse=0.5"},
		{"a retrieve that does not say", `
cb.request      server 0ms 30ms hit_tokens=512 requested_tokens=1024
  cb.retrieve   server 20ms 29ms worker_id=0`,
			"partial requested=1024 hit=512 rate=0.5"},
		{"the standard path says tokens", `
request         server 0ms 30ms hit_tokens=512 requested_tokens=1024
  mp.retrieve   server 20ms 29ms device=cuda:0 num_tokens=256`,
			"partial requested=1024 hit=512 written=256 short=256 rate=0.5 reuse=0.25"},
		{"0 tokens say nothing", `
request         server 0ms 30ms hit_tokens=512 requested_tokens=1024
  mp.retrieve   server 20ms 29ms device=cuda:0 num_tokens=0`,
			"partial requested=1024 hit=512 rate=0.5"},
		{"without a device there is no pass", `
request         server 0ms 30ms hit_tokens=512 requested_tokens=1024
  mp.retrieve   server 20ms 29ms num_tokens=512`,
			"partial requested=1024 hit=512 rate=0.5"},
		{"a root without numbers takes the last lookup's", `
cb.request      server 0ms 30ms
  cb.lookup     server 1ms 2ms hit_tokens=256 requested_tokens=1024
  cb.lookup     server 5ms 6ms hit_tokens=512 requested_tokens=1024
  cb.lookup     server 8ms 9ms`,
			"partial requested=1024 hit=512 rate=0.5"},
		{"a root's numbers come before a lookup's", `
cb.request      server 0ms 30ms hit_tokens=0 requested_tokens=1024
  cb.lookup     server 1ms 2ms hit_tokens=256 requested_tokens=1024`,
			"miss requested=1024 hit=0 written=0 short=0 rate=0 reuse=0"},
		{"CacheBlend comes before the standard path", `
request                server 0ms 30ms hit_tokens=0 requested_tokens=1024 l1_hit_tokens=0 l2_hit_tokens=0
  cb.lookup            server 1ms 2ms hit_tokens=256 requested_tokens=1024`,
			"partial requested=1024 hit=256 rate=0.25"},
		{"a prefetch speaks where its root does not", `
request                server 0ms 30ms
  mp.lookup_prefetch   server 1ms 2ms hit_tokens=256 requested_tokens=256 l1_hit_tokens=0 l2_hit_tokens=256`,
			"full requested=256 hit=256 l1=0 l2=256 rate=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sp Splitter
			out := sp.Split(modeltest.Request(t, c.text))
			if got := out.Hits.text(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// What a row says of lookups and loads (R8.2, missing_stage).
func TestRowFlags(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       model.RowFlags
	}{
		{"nothing", "cb.request sched 0ms 9ms", 0},
		{"numbers prove a lookup", "cb.request sched 0ms 9ms hit_tokens=0 requested_tokens=0", model.RowHasLookup},
		{"a lookup without numbers", "cb.lookup server 0ms 9ms", model.RowHasLookup},
		{"found and not loaded", "cb.request sched 0ms 9ms hit_tokens=1 requested_tokens=2", model.RowHasLookup | model.RowHitsNotLoaded},
		{"found and loaded", "cb.request sched 0ms 9ms hit_tokens=1 requested_tokens=2\n cb.scatter server 1ms 2ms", model.RowHasLookup | model.RowHitsLoaded},
	} {
		var sp Splitter
		sp.Split(modeltest.Request(t, c.text))
		row := model.Row{Flags: model.RowHitsLoaded | model.RowAborted}
		sp.Fill(&row)
		if row.Flags != c.want|model.RowAborted {
			t.Errorf("%s: flags %b, want %b", c.name, row.Flags, c.want|model.RowAborted)
		}
	}
}
