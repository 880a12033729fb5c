package recording

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Build makes the document of recordings, which come in the order of their paths.
func Build(recordings []*model.Recording) *Document {
	d := &Document{Schema: Schema, Files: []File{}, Totals: Totals{ByQualname: map[string]int64{}, Batches: map[string]int64{}}}
	for _, r := range recordings {
		d.Files = append(d.Files, fileOf(r))
		d.Totals.add(r)
	}
	d.Warnings = warnings(recordings)
	return d
}

// levelStorage is the level of recorded calls.
const levelStorage = "storage"

func fileOf(r *model.Recording) File {
	f := File{
		File: r.Input.File, Level: r.Level, FormatVersion: r.FormatVersion, SchemaVersion: r.SchemaVersion, LMCacheVersion: r.LMCacheVersion,
		DurationS: r.Duration, Records: r.Input.Records, Skipped: r.Input.Skipped, Truncated: r.Input.Truncated, ByQualname: r.ByQualname,
		ConfigDigest: r.ConfigDigest, LevelMeta: r.Meta, Instances: []Instance{}, Batches: map[string]int64{}, Entries: map[string]int64{},
		Rates: map[string]model.OptFloat{}, UniqueKeys: r.UniqueKeys, UniqueKeysExact: r.UniqueKeys.OK && !r.KeysError.OK, UniqueKeysError: r.KeysError,
	}
	if f.LevelMeta == nil {
		f.LevelMeta = map[string]any{}
	}
	if v, ok := f.LevelMeta["lmcache_version"].(string); ok && f.LMCacheVersion == "" {
		f.LMCacheVersion = v
	}
	for name, n := range r.ByQualname {
		f.Rates[name] = rate(n, r.Duration)
	}
	if e := r.Events; e != nil {
		f.Batches, f.Entries, f.Lifecycle = e.Batches, e.Entries, &Lifecycle{e.Starts, e.Stops}
		f.StoreBytes, f.EntriesWithTokens, f.LostBatches = model.Some(e.StoreBytes), model.Some(e.EntriesWithTokens), model.Some(e.LostBatches)
		for _, in := range e.Instances {
			f.Instances = append(f.Instances, Instance{in.ID, in.Incarnations, int64(len(in.Incarnations)) - 1})
		}
	}
	return f
}

// rate is n per second; unknown in no time.
func rate(n int64, seconds model.OptFloat) model.OptFloat {
	if !seconds.OK || seconds.V <= 0 {
		return model.OptFloat{}
	}
	return model.SomeFloat(float64(n) / seconds.V)
}

func (t *Totals) add(r *model.Recording) {
	t.Files++
	t.Records += r.Input.Records
	for name, n := range r.ByQualname {
		t.ByQualname[name] += n
	}
	if e := r.Events; e != nil {
		for name, n := range e.Batches {
			t.Batches[name] += n
		}
		t.StoreBytes = model.Some(t.StoreBytes.V + min(e.StoreBytes, math.MaxInt64-t.StoreBytes.V))
	}
}

// warnings are what to know before the numbers are used, each once.
func warnings(recordings []*model.Recording) []string {
	out := []string{}
	out = append(out, digests(recordings)...)
	var saltless, unstopped, stepped []string
	for _, r := range recordings {
		if r.Level == levelStorage && r.SchemaVersion.V < 2 && r.UniqueKeys.V > 0 {
			saltless = append(saltless, r.Input.File)
		}
		if r.Input.Steps > 0 {
			stepped = append(stepped, r.Input.File)
		}
		if e := r.Events; e != nil {
			if e.LostBatches > 0 {
				out = append(out, fmt.Sprintf("%s: %d batches of events are missing in their sequences: they were dropped before they were written", r.Input.File, e.LostBatches))
			}
			if e.Starts > e.Stops {
				unstopped = append(unstopped, r.Input.File)
			}
		}
	}
	if len(unstopped) > 0 {
		out = append(out, fmt.Sprintf("%s: a server started and did not stop: it crashed, was killed, or the recording was taken while it ran", files(unstopped)))
	}
	if len(stepped) > 0 {
		out = append(out, fmt.Sprintf("%s: the wall clock of the server was set while it recorded: times before and after do not go together", files(stepped)))
	}
	if len(saltless) > 0 {
		out = append(out, fmt.Sprintf("%s: keys of trace schemas before 2 hold no cache_salt: those that differ in it alone count as one", files(saltless)))
	}
	return out
}

// digests are the warnings about files of one instance that were written under different configurations.
func digests(recordings []*model.Recording) []string {
	type use struct{ digest, file string }
	of := map[string][]use{}
	for _, r := range recordings {
		if r.ConfigDigest == "" {
			continue
		}
		for _, id := range instances(r) {
			of[id] = append(of[id], use{r.ConfigDigest, r.Input.File})
		}
	}
	var out []string
	for _, id := range slices.Sorted(maps.Keys(of)) {
		uses := of[id]
		slices.SortStableFunc(uses, func(a, b use) int { return strings.Compare(a.digest, b.digest) })
		var first []string // of each digest
		for i, u := range uses {
			if i == 0 || u.digest != uses[i-1].digest {
				first = append(first, fmt.Sprintf("%s in %s", short(u.digest), u.file))
			}
		}
		if len(first) > 1 {
			out = append(out, fmt.Sprintf("instance %s: its files have %d different sm_config_digest: %s", id, len(first), several(first)))
		}
	}
	return out
}

// instances are the servers of a recording: the one that its header names, else those of its events.
func instances(r *model.Recording) []string {
	if id, ok := r.Meta["instance_id"].(string); ok && id != "" {
		return []string{id}
	}
	var ids []string
	if r.Events != nil {
		for _, in := range r.Events.Instances {
			ids = append(ids, in.ID)
		}
	}
	return ids
}

// short is the beginning of a digest.
func short(digest string) string {
	if len(digest) > 12 {
		return digest[:12] + "…"
	}
	return digest
}

// files names one file, or says how many there are and names the first.
func files(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%d files (%s)", len(names), several(names))
}

const named = 3 // of several

func several(names []string) string {
	if len(names) > named {
		return strings.Join(names[:named], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// A Count is a name and how often it occurs.
type Count struct {
	Name string
	N    int64
}

// Sorted are counts by number, the largest first, ties by name.
func Sorted(counts map[string]int64) []Count {
	out := make([]Count, 0, len(counts))
	for name, n := range counts {
		out = append(out, Count{name, n})
	}
	slices.SortFunc(out, func(a, b Count) int { return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Name, b.Name)) })
	return out
}
