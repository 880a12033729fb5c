package recording

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

func storage(file, digest string, schema model.Opt) *model.Recording {
	return &model.Recording{Input: model.InputStats{File: file, Records: 30, Skipped: 1, Truncated: true}, Level: "storage", FormatVersion: 1, SchemaVersion: schema, ConfigDigest: digest,
		Duration: model.SomeFloat(1.5), ByQualname: map[string]int64{"S.a": 24, "S.b": 6}, UniqueKeys: model.Some(7)}
}

func events(file, digest, instance string, starts, stops int64) *model.Recording {
	return &model.Recording{Input: model.InputStats{File: file, Records: 4}, Level: "events", FormatVersion: 1, SchemaVersion: model.Some(1), ConfigDigest: digest,
		Meta: map[string]any{"instance_id": instance, "lmcache_version": "0.4.9"}, Duration: model.SomeFloat(2), ByQualname: map[string]int64{"events.batch": 4}, UniqueKeys: model.Some(2),
		Events: &model.RecordedEvents{Batches: map[string]int64{"store/l1/dram/local": 3, "access/l1/-/local": 1}, Entries: map[string]int64{"store": 3, "access": 1}, StoreBytes: 300, EntriesWithTokens: 2,
			Starts: starts, Stops: stops, Instances: []model.RecordedInstance{{ID: instance, Incarnations: []int64{5, 9}}}}}
}

func TestBuild(t *testing.T) {
	big := storage("c.lct", "", model.Some(2))
	big.UniqueKeys, big.KeysError = model.Some(5_000_000), model.SomeFloat(0.0040625)
	d := Build([]*model.Recording{storage("a.lct", "d1", model.Some(2)), events("b.lct", "", "i-1", 1, 1), big,
		{Input: model.InputStats{File: "d.lct"}, Level: "mq", FormatVersion: 1, ByQualname: map[string]int64{}}})
	if len(d.Files) != 4 || d.Schema != "cbtrace.lct-info/v1" || len(d.Warnings) != 0 {
		t.Fatalf("%+v", d)
	}
	a, b, c, m := &d.Files[0], &d.Files[1], &d.Files[2], &d.Files[3]
	if a.Records != 30 || a.Skipped != 1 || !a.Truncated || a.Rates["S.a"] != model.SomeFloat(16) || a.Rates["S.b"] != model.SomeFloat(4) || !a.UniqueKeysExact || a.StoreBytes.OK || a.Lifecycle != nil || a.LostBatches.OK {
		t.Errorf("%+v", a)
	}
	if b.StoreBytes != model.Some(300) || b.EntriesWithTokens != model.Some(2) || *b.Lifecycle != (Lifecycle{1, 1}) || b.LostBatches != model.Some(0) || b.LMCacheVersion != "0.4.9" ||
		!reflect.DeepEqual(b.Instances, []Instance{{"i-1", []int64{5, 9}, 1}}) {
		t.Errorf("%+v", b)
	}
	if c.UniqueKeysExact || c.UniqueKeysError != model.SomeFloat(0.0040625) {
		t.Errorf("%+v", c)
	}
	if m.DurationS.OK || len(m.Rates) != 0 || m.UniqueKeys.OK || m.UniqueKeysExact || m.SchemaVersion.OK {
		t.Errorf("%+v", m)
	}
	tot := d.Totals
	if tot.Files != 4 || tot.Records != 64 || tot.StoreBytes != model.Some(300) || !maps.Equal(tot.ByQualname, map[string]int64{"S.a": 48, "S.b": 12, "events.batch": 4}) || tot.Batches["store/l1/dram/local"] != 3 {
		t.Errorf("%+v", tot)
	}
	// What is empty is there all the same (OUTPUT), and what is unknown is null.
	j, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"trace_schema_version":null`, `"duration_s":null`, `"level_meta":{}`, `"instances":[]`, `"batches":{}`, `"rates":{}`, `"lifecycle":null`, `"unique_keys":null`, `"by_qualname":{}`} {
		if !strings.Contains(string(j), want) {
			t.Errorf("no %s in %s", want, j)
		}
	}
}

func TestRateWithoutTime(t *testing.T) {
	r := storage("a.lct", "", model.Some(2))
	r.Duration = model.SomeFloat(0)
	if f := Build([]*model.Recording{r}).Files[0]; f.Rates["S.a"].OK {
		t.Errorf("%v per second in no time", f.Rates["S.a"].V)
	}
}

func TestTotalsDoNotWrap(t *testing.T) {
	a, b := events("a.lct", "", "i", 1, 1), events("b.lct", "", "i", 1, 1)
	a.Events.StoreBytes = math.MaxInt64 - 100
	if n := Build([]*model.Recording{a, b}).Totals.StoreBytes.V; n != math.MaxInt64 {
		t.Errorf("%d", n)
	}
}

func TestWarnings(t *testing.T) {
	x, y := strings.Repeat("a", 64), strings.Repeat("b", 64)
	lost := events("a.lct", "", "i-1", 1, 1)
	lost.Events.LostBatches = 3
	old := storage("a.lct", "", model.Opt{})
	keyless := storage("a.lct", "", model.Some(1))
	keyless.UniqueKeys = model.Some(0)
	unnamed := events("b.lct", y, "i-1", 1, 1)
	unnamed.Meta = nil // its events say which instance it is
	stepped := storage("a.lct", "", model.Some(2))
	stepped.Input.Steps = 1
	for _, c := range []struct {
		name string
		of   []*model.Recording
		want []string // beginnings
	}{
		{"none", nil, nil},
		{"the same digest", []*model.Recording{events("a.lct", x, "i-1", 1, 1), events("b.lct", x, "i-1", 1, 1)}, nil},
		{"digests of two instances", []*model.Recording{events("a.lct", x, "i-1", 1, 1), events("b.lct", y, "i-2", 1, 1)}, nil},
		{"an unknown digest", []*model.Recording{events("a.lct", x, "i-1", 1, 1), events("b.lct", "", "i-1", 1, 1)}, nil},
		{"two digests of an instance", []*model.Recording{events("a.lct", x, "i-1", 1, 1), events("b.lct", y, "i-1", 1, 1), events("c.lct", x, "i-1", 1, 1)},
			[]string{"instance i-1: its files have 2 different sm_config_digest: aaaaaaaaaaaa… in a.lct, bbbbbbbbbbbb… in b.lct"}},
		{"the instance in the events alone", []*model.Recording{events("a.lct", x, "i-1", 1, 1), unnamed}, []string{"instance i-1: its files have 2 different sm_config_digest"}},
		{"storage files name no instance", []*model.Recording{storage("a.lct", x, model.Some(2)), storage("b.lct", y, model.Some(2))}, nil},
		{"no stop", []*model.Recording{events("a.lct", "", "i-1", 1, 0), events("b.lct", "", "i-1", 2, 1)}, []string{"2 files (a.lct, b.lct): a server started and did not stop"}},
		{"lost batches", []*model.Recording{lost}, []string{"a.lct: 3 batches of events are missing"}},
		{"schema 1", []*model.Recording{storage("a.lct", "", model.Some(1))}, []string{"a.lct: keys of trace schemas before 2 hold no cache_salt"}},
		{"the oldest", []*model.Recording{old}, []string{"a.lct: keys of trace schemas before 2 hold no cache_salt"}},
		{"a clock that was set", []*model.Recording{stepped}, []string{"a.lct: the wall clock of the server was set while it recorded"}},
		{"schema 1 without keys", []*model.Recording{keyless}, nil},
		{"schema 2", []*model.Recording{storage("a.lct", "", model.Some(2))}, nil},
	} {
		have := Build(c.of).Warnings
		if len(have) != len(c.want) || !slices.EqualFunc(have, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", c.name, have, c.want)
		}
	}
}

func TestSorted(t *testing.T) {
	if have := Sorted(map[string]int64{"b": 2, "a": 2, "c": 5}); !slices.Equal(have, []Count{{"c", 5}, {"a", 2}, {"b", 2}}) {
		t.Errorf("%v", have)
	}
}
