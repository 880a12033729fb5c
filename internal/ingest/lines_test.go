package ingest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/cbtrace/cbtrace/internal/ingest/profile"
	"github.com/cbtrace/cbtrace/internal/model"
)

// folder writes files into a folder of their own.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const lineEpoch = 1_764_432_000_000_000 // µs

// schedulerLines are lines of lookups, with durations in ms under a key that does not say so.
func schedulerLines(n int) string {
	var b strings.Builder
	for i := range n {
		at := lineEpoch + i*1_000_000
		for _, l := range []struct {
			name     string
			from, ms int
		}{{"sched.gnnmt", 0, 10}, {"gnnmt.cb_unified_submit", 4000, 1}, {"sched.gnnmt", 53000, 3}, {"gnnmt.cb_unified_poll", 54000, 1}} {
			fmt.Fprintf(&b, `{"name":%q,"ts":%d,"dur":%d,"request_id":"r%d","pid":4242}`+"\n", l.name, at+l.from, l.ms, i)
		}
	}
	return b.String()
}

func aSpan(us int64) string {
	return fmt.Sprintf(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0123456789abcdef0123456789abcdef","spanId":"00000000000000a1","name":"cb.lookup","startTimeUnixNano":"%d000","endTimeUnixNano":"%d500"}]}]}]}`, us, us)
}

// R4.12: the unit of a bare duration is decided before blocks decode in parallel, so that where they end changes nothing.
func TestProfileInBlocks(t *testing.T) {
	for name, text := range map[string]string{
		"nesting":       schedulerLines(40),
		"with problems": schedulerLines(9) + "noise\n" + `{"name":"x"}` + "\n" + schedulerLines(9) + `{"name":"half`,
		"refused":       schedulerLines(40) + `{"name":"sched.build_meta","ts":1764432000,"dur":1,"request_id":"r0"}` + "\n" + schedulerLines(40),
	} {
		path := filepath.Join(folder(t, map[string]string{"cb.jsonl": text}), "cb.jsonl")
		want, wantStats := read(t, expand(t, path), Options{KeepAll: true, Now: time.Unix(1_764_500_000, 0)})
		if wantStats[0].Format != "cb-profile" || name != "refused" && !strings.HasSuffix(wantStats[0].Notes[0], `duration "dur" (ms, by how its lines nest)`) {
			t.Errorf("%s: %+v", name, wantStats[0])
		}
		for _, size := range []int{1, 100, 700, 5000} {
			got, stats := read(t, small(t, path, size), Options{KeepAll: true, Jobs: 2, Now: time.Unix(1_764_500_000, 0)})
			if !slices.Equal(got.lines, want.lines) {
				t.Errorf("%s in blocks of %d bytes: %d records, want %d", name, size, len(got.lines), len(want.lines))
			}
			a, b := stats[0], wantStats[0]
			a.Names, b.Names = nil, nil // those of the first block
			if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) {
				t.Errorf("%s in blocks of %d bytes:\n got %+v\nwant %+v", name, size, a, b)
			}
		}
	}
}

// R4.12: a refused file has no records and says why, with both lines; the others go on.
func TestRefusedProfile(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.jsonl": `{"name":"sched.gnnmt","ts":1764432000000,"dur_us":5,"rid":"r"}` + "\n" + `{"name":"sched.gnnmt","ts":1764432000000000,"dur_us":5,"rid":"r"}` + "\n" + `{"name":"nothing"}`,
		"b.jsonl": `{"name":"sched.gnnmt","ts":1764432000000,"dur":5,"rid":"r"}`,
		"c.jsonl": `{"name":"sched.gnnmt","ts":1764432000000,"dur_us":5,"rid":"r"}`,
	})
	g, stats := read(t, expand(t, dir), Options{Now: time.Unix(1_764_500_000, 0)})
	for i, want := range []string{`"ts" is in ms on line 1 and in µs on line 2: use --profile-map`, `unit of "dur" unknown: use --profile-map`, ""} {
		st := stats[i]
		if st.Unusable != want || st.Format != "cb-profile" || (want == "") != (st.Records == 1) || (want == "") == g.dict.File(model.FileID(i)).Refused.Load() {
			t.Errorf("%+v, refused %v", st, g.dict.File(model.FileID(i)).Refused.Load())
		}
		if want != "" && (st.Skipped != 0 || st.Records != 0 || len(st.Errors) != 1 || !strings.HasSuffix(st.Errors[0], want)) {
			t.Errorf("%+v", st)
		}
	}
}

// R4.12: times far from the capture's spans are on a clock without an epoch.
func TestProfileNearSpans(t *testing.T) {
	const day = 86_400_000_000
	for _, c := range []struct {
		name string
		span int64 // µs; 0: none
		now  int64 // s
		want int64 // divisor
	}{
		{"with the spans", lineEpoch, 0, 0},
		{"23 hours from them", lineEpoch - 23*day/24, 0, 0},
		{"25 hours from them", lineEpoch - 25*day/24, 0, 1},
		{"no spans, of this week", 0, 1_764_500_000, 0},
		{"no spans, of the future", 0, 1_764_300_000, 1},
	} {
		files := map[string]string{"p/cb.jsonl": `{"name":"sched.gnnmt","ts":1764432000000000,"dur_us":5,"rid":"r"}`}
		if c.span != 0 {
			files["spans.json"] = aSpan(c.span)
		}
		g, stats := read(t, expand(t, folder(t, files)), Options{Now: time.Unix(c.now, 0)})
		if got := g.dict.File(0).Divisor.Load(); got != c.want || stats[0].Unusable != "" || stats[0].Records != 1 {
			t.Errorf("%s: divisor %d, want %d; %+v", c.name, got, c.want, stats[0])
		}
		if (c.want != 0) != (len(stats[0].Notes) == 2) {
			t.Errorf("%s: notes %q", c.name, stats[0].Notes)
		}
	}
}

func TestKindsOfLines(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(schedulerLines(3))); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	const line = `{"name":"sched.gnnmt","ts":1764432000000000,"dur_us":5,"rid":"r"}` + "\n"
	for _, c := range []struct {
		name, text, format string
		records            int64
	}{
		{"lines", line, "cb-profile", 1},
		{"after a log in text", "INFO starting\n" + line, "cb-profile", 1},
		{"after a log in JSON", `{"message":"starting"}` + "\n" + line, "cb-profile", 1},
		{"with a mark of the byte order", "\xef\xbb\xbf" + line, "cb-profile", 1},
		{"a key that Jaeger's answers have", `{"event":"sched.gnnmt","ts":1764432000000000,"dur_us":5,"data":[1]}`, "cb-profile", 1},
		{"compressed", zipped.String(), "cb-profile+gzip", 12},
		{"a list", "[" + strings.ReplaceAll(strings.TrimSpace(line+line), "\n", ",\n") + "]", "cb-profile", 2},
		{"lookup hashes", `{"timestamp":1764432001.03348,"request_id":"r","model_name":"m","chunk_size":256,"seq_len":600,"dtypes":[],"shapes":[],"chunk_hashes":["0x2b"]}`, "lookup-hashes", 1},
		{"spans count for more", line + aSpan(lineEpoch), "otlp-json", 0},
		{"a Chrome trace has the same keys", `{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1}`, "", 0},
		{"a name alone", `{"name":"a","value":1}`, "", 0},
	} {
		_, stats := read(t, expand(t, folder(t, map[string]string{"in": c.text})), Options{Now: time.Unix(1_764_500_000, 0)})
		if stats[0].Format != c.format || stats[0].Records != c.records || (c.format == "") != (stats[0].Unusable != "") {
			t.Errorf("%s: %+v", c.name, stats[0])
		}
	}
}

// --profile-map: keys that are not assumed make lines too.
func TestProfileKeys(t *testing.T) {
	keys, err := profile.ReadMap(strings.NewReader("version: 1\nkeys:\n  what: name\n  at: {role: start, unit: us}\n  took: {role: duration, unit: ms}\nnames:\n  ask: sched.gnnmt\n"), "m")
	if err != nil {
		t.Fatal(err)
	}
	set := expand(t, folder(t, map[string]string{"in": `{"what":"ask","at":1764432000000000,"took":5}`}))
	if _, stats := read(t, set, Options{}); stats[0].Format != "" {
		t.Errorf("without a map: %+v", stats[0])
	}
	g, stats := read(t, set, Options{ProfileKeys: keys})
	if stats[0].Format != "cb-profile" || len(g.lines) != 1 || !strings.Contains(g.lines[0], `"sched.gnnmt" 0 1764432000000000000..1764432000005000000`) {
		t.Errorf("%+v: %q", stats[0], g.lines)
	}
}
