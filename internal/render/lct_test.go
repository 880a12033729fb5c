package render

import (
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"github.com/cbtrace/cbtrace/internal/analyze/recording"
	"github.com/cbtrace/cbtrace/internal/model"
)

const lctCalls = "lmcache.v1.distributed.storage_manager.StorageManager."

func lctStorage() recording.File {
	return recording.File{File: "gpu-node-07/lmcache-trace-4711-20251129-160000.lct", Level: "storage", FormatVersion: 1, SchemaVersion: opt(1), DurationS: share(226.691), Records: 1318,
		ByQualname: map[string]int64{lctCalls + "finish_write": 349, lctCalls + "read_prefetched_results.__enter__": 969}, ConfigDigest: strings.Repeat("c", 64),
		Rates: map[string]model.OptFloat{lctCalls + "finish_write": share(1.5395), lctCalls + "read_prefetched_results.__enter__": share(4.2745)}, UniqueKeys: opt(684), UniqueKeysExact: true}
}

func lctEvents() recording.File {
	return recording.File{File: "events.lct", Level: "events", FormatVersion: 1, SchemaVersion: opt(1), DurationS: share(3.16412), Records: 48, Skipped: 2, Truncated: true,
		ByQualname: map[string]int64{"events.batch": 46, "events.lifecycle": 2}, LevelMeta: map[string]any{"instance_id": "i-1\x1b[2J", "cache_event_schema_version": int64(1)},
		Instances: []recording.Instance{{ID: "i-1", Incarnations: []int64{1_700_000_000, 1_700_000_500}, Restarts: 1}}, Batches: map[string]int64{"store/l1/dram/local": 40, "access/l1/-/local": 6},
		Entries: map[string]int64{"store": 163, "access": 6}, StoreBytes: opt(5_469_372_416), EntriesWithTokens: opt(163), Lifecycle: &recording.Lifecycle{Start: 2, Stop: 1}, LostBatches: opt(3),
		UniqueKeys: opt(5_000_000), UniqueKeysError: share(0.0040625)}
}

// holds checks that a page has the wanted lines, in their order, and fits.
func holds(t *testing.T, name, page string, width int, want ...string) {
	t.Helper()
	rest := page
	for _, line := range want {
		at := strings.Index(rest, line)
		if at < 0 {
			t.Errorf("%s, %d columns: no %q after what comes before it in\n%s", name, width, line, page)
			return
		}
		rest = rest[at+len(line):]
	}
	for line := range strings.Lines(page) {
		if n := displaywidth.String(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
			t.Errorf("%s: a line of %d in %d columns: %s", name, n, width, line)
		}
	}
	if strings.Contains(page, "\x1b") {
		t.Errorf("%s: a control character reaches the terminal", name)
	}
}

// One recording: the order of `lmcache trace info` (CONTRACT-lmcache 2.7).
func TestRecording(t *testing.T) {
	one := func(f recording.File, warnings ...string) *recording.Document {
		return &recording.Document{Files: []recording.File{f}, Warnings: warnings}
	}
	for _, width := range []int{0, 80, 160} {
		holds(t, "storage", text(t, Recordings(one(lctStorage(), "a warning"), false), width), width,
			"gpu-node-07/lmcache-trace-4711-20251129-160000.lct\n", "level                 storage\n", "format_version        1\n", "trace_schema_version  1\n", "duration              226.691 s\n",
			"sm_config_digest      cccc", "total_records         1,318\n", "unique keys           684\n",
			"call of StorageManager             records  per s\n", "read_prefetched_results.__enter__      969   4.27\n", "finish_write                           349   1.54\n", "Warnings\n", "  a warning\n")
		holds(t, "events", text(t, Recordings(one(lctEvents()), false), width), width,
			"level ", "duration                               3.164 s\n", "sm_config_digest                       (none)\n", "level_meta.cache_event_schema_version  1\n", `level_meta.instance_id                 i-1\x1b[2J`,
			"total_records                          48\n", "skipped                                2\n", "truncated ", "unique keys                            5,000,000 ± 0.4 %\n",
			"events.batch           46", "i-1              1  1700000000, 1700000500\n", "store/l1/dram/local            40\n", "access/l1/-/local               6\n", "store                163\n",
			"store_bytes          5,469,372,416 (5.47 GB)\n", "entries_with_tokens  163\n", "lifecycle            start=2, stop=1\n", "lost batches         3\n")
	}
	oldest := lctStorage()
	oldest.SchemaVersion, oldest.LMCacheVersion, oldest.DurationS = model.Opt{}, "0.4.3", model.OptFloat{}
	holds(t, "oldest", text(t, Recordings(one(oldest), false), 0), 0, "trace_schema_version  –\n", "duration              –\n", "lmcache_version       0.4.3\n")
}

// Several: a line each, and the totals.
func TestRecordings(t *testing.T) {
	mq := recording.File{File: "mq.lct", Level: "mq", FormatVersion: 1}
	d := &recording.Document{Files: []recording.File{lctEvents(), lctStorage(), mq}, Totals: recording.Totals{Files: 3, Records: 1366, StoreBytes: opt(5_469_372_416),
		ByQualname: map[string]int64{lctCalls + "finish_write": 349, "events.batch": 46}, Batches: map[string]int64{"store/l1/dram/local": 40}}, Warnings: []string{}}
	for _, width := range []int{0, 80, 160} {
		page := text(t, Recordings(d, false), width)
		holds(t, "fleet", page, width, "3 recordings, 1,366 records. 5.47 GB stored.\n", "file ", "level ", "records", "keys", "events.lct", "5,000,000 ± 0.4 %", "684", "mq.lct", "–",
			"Records of all\n", "qualname", "finish_write", "349", "events.batch", "46", "Batches of events of all\n", "store/l1/dram/local", "40", "Instances\n", "i-1", "events.lct")
		if strings.Contains(page, "total_records") || strings.Contains(page, "Warnings") {
			t.Errorf("%d columns: more than was asked for\n%s", width, page)
		}
		each := text(t, Recordings(d, true), width)
		holds(t, "each", each, width, "3 recordings", "events.lct\n", "total_records ", "lifecycle ", "total_records ", "1,318\n", "mq.lct\n", "total_records ", "0\n")
	}
}
