package render

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/recording"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Recordings is what LMCache recordings hold, as a page: of one everything, of several a line each and the totals; each says that every one of them
// is shown in full after those.
func Recordings(d *recording.Document, each bool) *Page {
	p := &Page{}
	if len(d.Files) == 1 {
		recordingPage(p, &d.Files[0])
		recordingWarnings(p, d)
		return p
	}
	t := &d.Totals
	text := fmt.Sprintf("%s, %s.", Plural(t.Files, "recording"), Plural(t.Records, "record"))
	if t.StoreBytes.V > 0 {
		text += fmt.Sprintf(" %s stored.", Bytes(t.StoreBytes.V))
	}
	p.Say(text)
	recordingWarnings(p, d)
	p.Title("Files")
	recordingFiles(p, d.Files)
	p.Title("Records of all")
	p.Table(callTable(t.ByQualname, nil))
	p.Title("Batches of events of all")
	p.Table(countTable("type/tier/backend/shared", "batches", t.Batches))
	if servers := serverTable(d.Files, true); !each {
		p.Title("Instances")
		p.Table(servers)
	}
	if each {
		for i := range d.Files {
			recordingPage(p, &d.Files[i])
		}
	}
	return p
}

func recordingWarnings(p *Page, d *recording.Document) {
	if len(d.Warnings) == 0 {
		return
	}
	p.Title("Warnings")
	for _, w := range d.Warnings {
		p.Item(Escape(w))
	}
}

// recordingFiles has a row per recording.
func recordingFiles(p *Page, files []recording.File) {
	t := &Table{Columns: []Column{{Name: "file", Shrink: true}, {Name: "level"}, {Name: "schema", Page: true, Drop: 2},
		{Name: "trace schema version", Kind: Tally, Hidden: true}, {Name: "duration", Kind: Time}, {Name: "records", Kind: Tally},
		{Name: "skipped", Kind: Tally, Drop: 1}, {Name: "", Key: "truncated", Drop: 3}, {Name: "keys", Page: true},
		{Name: "unique keys", Kind: Tally, Hidden: true}, {Name: "unique keys error", Kind: Share, Hidden: true}, {Name: "sm_config_digest", Drop: 4, Shrink: true}}}
	for i := range files {
		f := &files[i]
		end := ""
		if f.Truncated {
			end = "truncated"
		}
		t.Add(Word(f.File), Word(f.Level), Word(schemaVersion(f)), Known(f.SchemaVersion),
			Known(model.Opt{V: int64(math.Round(f.DurationS.V * 1e9)), OK: f.DurationS.OK}), Of(f.Records), Of(f.Skipped),
			Word(end).InCSV(strconv.FormatBool(f.Truncated)),
			Word(uniqueKeys(f)), Known(f.UniqueKeys), KnownFloat(f.UniqueKeysError), Word(orNone(f.ConfigDigest)).InCSV(f.ConfigDigest))
	}
	p.Table(t)
}

// recordingPage is all of one recording, in the order of `lmcache trace info`.
func recordingPage(p *Page, f *recording.File) {
	p.Title(Escape(f.File))
	t := &Table{Columns: []Column{{Name: "recording", Key: "field"}, {Name: "", Key: "value", Shrink: true}}}
	add := func(name, value string) { t.Add(Word(name), Word(value)) }
	other := func(name, value, key, inCSV string) { t.Add(Word(name).InCSV(key), Word(value).InCSV(inCSV)) }
	add("level", f.Level)
	add("format_version", strconv.FormatInt(f.FormatVersion, 10))
	other("trace_schema_version", schemaVersion(f), "trace_schema_version", plain(f.SchemaVersion))
	other("duration", duration(f.DurationS), "duration_s", plainFloat(f.DurationS))
	other("sm_config_digest", orNone(f.ConfigDigest), "sm_config_digest", f.ConfigDigest)
	for _, key := range sortedKeys(f.LevelMeta) {
		add("level_meta."+key, metaText(f.LevelMeta[key]))
	}
	if f.LMCacheVersion != "" && f.LevelMeta["lmcache_version"] == nil {
		add("lmcache_version", f.LMCacheVersion)
	}
	other("total_records", Count(f.Records), "records", plain(model.Some(f.Records)))
	if f.Skipped > 0 {
		other("skipped", Count(f.Skipped), "skipped", plain(model.Some(f.Skipped)))
	}
	if f.Truncated {
		other("truncated", "yes: what came before counts", "truncated", "true")
	}
	other("unique keys", uniqueKeys(f), "unique_keys", plain(f.UniqueKeys))
	p.Table(t)
	p.Table(callTable(f.ByQualname, f.Rates))
	if f.Lifecycle == nil {
		return
	}
	p.Table(serverTable([]recording.File{*f}, false))
	p.Table(countTable("type/tier/backend/shared", "batches", f.Batches))
	p.Table(countTable("entries of type", "entries", f.Entries))
	e := &Table{Columns: []Column{{Name: "events", Key: "field"}, {Name: "", Key: "value"}}}
	e.Add(Word("store_bytes"), Word(Count(f.StoreBytes.V)+" ("+Bytes(f.StoreBytes.V)+")").InCSV(plain(f.StoreBytes)))
	e.Add(Word("entries_with_tokens"), Word(Count(f.EntriesWithTokens.V)).InCSV(plain(f.EntriesWithTokens)))
	e.Add(Word("lifecycle"), Word(fmt.Sprintf("start=%d, stop=%d", f.Lifecycle.Start, f.Lifecycle.Stop)))
	if f.LostBatches.V > 0 {
		e.Add(Word("lost batches").InCSV("lost_batches"), Word(Count(f.LostBatches.V)).InCSV(plain(f.LostBatches)))
	}
	p.Table(e)
}

// callTable has a row per qualname, most frequent first. Of calls of the storage manager the package is left out, and the class where all rows have it.
func callTable(counts map[string]int64, rates map[string]model.OptFloat) *Table {
	rows := recording.Sorted(counts)
	name, cut := "qualname", 0
	if !slices.ContainsFunc(rows, func(r recording.Count) bool { return !strings.Contains(r.Name, manager) }) {
		name, cut = "call of "+strings.TrimSuffix(manager, "."), len(manager)
	}
	t := &Table{Columns: []Column{{Name: name, Key: "qualname", Shrink: true}, {Name: "records", Kind: Tally}}}
	if rates != nil {
		t.Columns = append(t.Columns, Column{Name: "per s", Kind: Ratio})
	}
	for _, r := range rows {
		at := strings.LastIndex(r.Name, manager)
		cells := []Cell{Word(r.Name[max(at+cut, 0):]).InCSV(r.Name), Of(r.N)}
		if rates != nil {
			cells = append(cells, KnownFloat(rates[r.Name]))
		}
		t.Add(cells...)
	}
	return t
}

const manager = "StorageManager."

func countTable(name, what string, counts map[string]int64) *Table {
	t := &Table{Columns: []Column{{Name: name, Shrink: true}, {Name: what, Kind: Tally}}}
	for _, r := range recording.Sorted(counts) {
		t.Add(Word(r.Name), Of(r.N))
	}
	return t
}

// serverTable has a row per instance and file.
func serverTable(files []recording.File, named bool) *Table {
	t := &Table{Columns: []Column{{Name: "instance"}, {Name: "restarts", Kind: Tally}, {Name: "incarnations", Drop: 1, Shrink: true}}}
	if named {
		t.Columns = slices.Insert(t.Columns, 1, Column{Name: "file", Shrink: true})
	}
	for i := range files {
		for _, in := range files[i].Instances {
			var runs []string
			for _, n := range in.Incarnations {
				runs = append(runs, strconv.FormatInt(n, 10))
			}
			cells := []Cell{Word(in.ID), Of(in.Restarts), Word(strings.Join(runs, ", "))}
			if named {
				cells = slices.Insert(cells, 1, Word(files[i].File))
			}
			t.Add(cells...)
		}
	}
	return t
}

// plain and plainFloat are numbers as CSV has them.
func plain(n model.Opt) string {
	c := Known(n)
	return c.raw(Tally)
}

func plainFloat(n model.OptFloat) string {
	c := KnownFloat(n)
	return c.raw(Ratio)
}

func schemaVersion(f *recording.File) string {
	if !f.SchemaVersion.OK {
		return Unknown
	}
	return strconv.FormatInt(f.SchemaVersion.V, 10)
}

// duration has milliseconds, as upstream prints it.
func duration(s model.OptFloat) string {
	if !s.OK {
		return Unknown
	}
	return strconv.FormatFloat(s.V, 'f', 3, 64) + " s"
}

func uniqueKeys(f *recording.File) string {
	switch n := f.UniqueKeys; {
	case !n.OK:
		return Unknown
	case f.UniqueKeysError.OK:
		return fmt.Sprintf("%s ± %s", Count(n.V), percent(f.UniqueKeysError.V, 1)+" %")
	default:
		return Count(n.V)
	}
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// metaText is a value of level_meta: texts as they are, others as JSON.
func metaText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return Unknown
	}
	return strings.TrimSpace(b.String())
}
