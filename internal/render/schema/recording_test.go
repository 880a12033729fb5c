package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/recording"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render/schema"
	"github.com/cbtrace/cbtrace/internal/render/schema/schematest"
)

// The fields of lct info, in their order: none is renamed or removed within v1 (DESIGN 10).
func TestRecordingsKeepTheirPromise(t *testing.T) {
	want := map[string]string{
		"Document": "schema files totals warnings",
		"File": "file level format_version trace_schema_version duration_s records skipped truncated by_qualname sm_config_digest level_meta instances batches entries " +
			"store_bytes entries_with_tokens lifecycle rates unique_keys unique_keys_exact unique_keys_error lmcache_version lost_batches",
		"Instance": "instance_id incarnations restarts", "Lifecycle": "start stop", "Totals": "files records by_qualname batches store_bytes",
	}
	s, err := schema.Command("lct-info")
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	all := append(schema.Properties{{Name: "recording.Document", Schema: s}}, s.Defs...)
	for _, d := range all {
		var names []string
		for _, p := range d.Schema.Properties {
			names = append(names, p.Name)
		}
		if have := strings.Join(names, " "); have != want[strings.TrimPrefix(d.Name, "recording.")] {
			t.Errorf("%s has %s", d.Name, have)
		}
	}
	if len(all) != len(want) {
		t.Errorf("%d types, want %d", len(all), len(want))
	}
}

func TestRecordingsAreWhatTheirSchemaSays(t *testing.T) {
	s, err := schema.Command("lct-info")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	full := &model.Recording{Input: model.InputStats{File: "a.lct", Records: 1}, Level: "events", FormatVersion: 1, SchemaVersion: model.Some(1), ConfigDigest: "d",
		Meta: map[string]any{"instance_id": "i", "n": int64(1), "list": []any{"a", nil}}, Duration: model.SomeFloat(1), ByQualname: map[string]int64{"events.batch": 1},
		UniqueKeys: model.Some(5), KeysError: model.SomeFloat(0.004),
		Events: &model.RecordedEvents{Batches: map[string]int64{"store/l1/dram/local": 1}, Entries: map[string]int64{"store": 1}, LostBatches: 1, Starts: 1,
			Instances: []model.RecordedInstance{{ID: "i", Incarnations: []int64{1}}}}}
	empty := &model.Recording{Input: model.InputStats{File: "b.lct"}, Level: "mq", FormatVersion: 1, ByQualname: map[string]int64{}}
	for _, of := range [][]*model.Recording{{full, empty}, {empty}, nil} {
		doc, err := json.Marshal(recording.Build(of))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range schematest.Validate(text, doc) {
			t.Errorf("%d recordings: %v", len(of), err)
		}
	}
	doc, err := json.Marshal(recording.Build([]*model.Recording{full}))
	if err != nil {
		t.Fatal(err)
	}
	if broken := strings.Replace(string(doc), `"records":1`, `"records":"1"`, 1); len(schematest.Validate(text, []byte(broken))) == 0 {
		t.Error("a text passes for a number")
	}
}
