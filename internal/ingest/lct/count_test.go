package lct

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// The vector of upstream's tests (CONTRACT-lmcache 9, LCT).
func TestEventsVector(t *testing.T) {
	r, _ := count(t, wholeFile, eventsHeader(),
		lifecycle(0, "start", 1_700_000_000),
		batch(1, 1, "store", "l2", "fs", false, chunk("01", 100, 5, 6)),
		batch(2, 2, "store", "l2", "fs", false, chunk("02", 50)),
		batch(3, 3, "delete", "l1", "dram", false, chunk("01", 0)),
		lifecycle(4, "stop", 1_700_000_000))
	e := r.Events
	if want := map[string]int64{"store/l2/fs/local": 2, "delete/l1/dram/local": 1}; !maps.Equal(e.Batches, want) {
		t.Errorf("batches %v, want %v", e.Batches, want)
	}
	if e.StoreBytes != 150 || e.EntriesWithTokens != 1 || e.Starts != 1 || e.Stops != 1 || e.LostBatches != 0 {
		t.Errorf("%+v", e)
	}
	if r.UniqueKeys != model.Some(2) {
		t.Errorf("%v keys, want 2", r.UniqueKeys)
	}
}

func TestEvents(t *testing.T) {
	other := object{"instance_id", "i-2", "incarnation", 7, "seq", 3, "event_type", "access", "tier", "l1", "backend", "", "entries", []any{chunk("01", 0)}, "shared", true}
	frames := [][]byte{eventsHeader(),
		lifecycle(0, "start", 1_700_000_000),
		batch(1, 1, "store", "l1", "dram", false, chunk("01", 100)),
		batch(2, 4, "store", "l1", "dram", false, chunk("02", 50)), // 2 and 3 are lost
		batch(2, 4, "store", "l1", "dram", false, chunk("02", 50)), // a duplicate
		batch(3, 5, "config", "l2", "fs", false),
		lifecycle(4, "start", 1_700_000_500),
		batch(5, 1, "store", "l1", "dram", false, chunk("03", 25)),
		call(6, batchName, other), call(7, batchName, other.with("seq", 2)), // out of order
		call(8, lifecycleName, object{"phase", "stop"}), // the oldest say no more
		call(9, "events.later", object{"n", 1}),
	}
	for _, size := range []int{1, 700, wholeFile} {
		r, rep := count(t, size, frames...)
		if rep.Records != 11 || rep.Skipped != 0 {
			t.Errorf("%+v", rep)
		}
		want := &model.RecordedEvents{
			Batches: map[string]int64{"store/l1/dram/local": 4, "config/l2/fs/local": 1, "access/l1/-/shared": 2},
			Entries: map[string]int64{"store": 4, "access": 2}, StoreBytes: 225, Starts: 2, Stops: 1, LostBatches: 2,
			Instances: []model.RecordedInstance{{ID: "i-1", Incarnations: []int64{1_700_000_000, 1_700_000_500}}, {ID: "i-2", Incarnations: []int64{7}}},
		}
		if !reflect.DeepEqual(r.Events, want) {
			t.Errorf("blocks of %d: %+v\nwant %+v", size, r.Events, want)
		}
		if r.Duration != model.SomeFloat(9) || r.UniqueKeys != model.Some(3) {
			t.Errorf("%v s, %v keys", r.Duration, r.UniqueKeys)
		}
		if _, rep := points(t, false, size, frames...); rep.Sequences.Lost() != 2 || rep.Records != 11 { // R3.5: capture_incomplete
			t.Errorf("blocks of %d: %d lost in %d points, want 2 in 11", size, rep.Sequences.Lost(), rep.Records)
		}
	}
}

// Records of levels that are not known are counted; nothing is made of them.
func TestUnknownLevel(t *testing.T) {
	frames := [][]byte{framed(pack(headerOf("mq"))), call(0.5, "mq.send", object{"n", 1, "external_request_id", "r-1"}), call(0.2, "mq.recv", object{}), call(0.3, "request", object{})}
	r, rep := count(t, wholeFile, frames...)
	if rep.Records != 3 || r.Level != "mq" || r.Events != nil || r.UniqueKeys.OK || r.Duration != model.SomeFloat(0.5) {
		t.Errorf("%+v, %+v", r, rep)
	}
	b, _ := points(t, false, wholeFile, frames...)
	var names []string
	for i := range b.Records {
		names = append(names, b.Dict.Str(b.Records[i].Name))
	}
	if want := "[mq.send mq.recv lct:request]"; fmt.Sprint(names) != want { // a record is no span, whatever it is called
		t.Errorf("points %v, want %s", names, want)
	}
}

// Memory does not grow with different names.
func TestNamesAreBounded(t *testing.T) {
	frames := [][]byte{framed(pack(headerOf("mq")))}
	for i := range maxNames + 10 {
		frames = append(frames, call(1, fmt.Sprintf("call-%d", i), object{}))
	}
	frames = append(frames, call(1, strings.Repeat("x", maxWord+1), object{}))
	r, _ := count(t, wholeFile, frames...)
	if len(r.ByQualname) != maxNames+1 || r.ByQualname[model.OtherName] != 11 {
		t.Errorf("%d names, %d others", len(r.ByQualname), r.ByQualname[model.OtherName])
	}
}

func TestTimes(t *testing.T) {
	huge := framed(pack(object{"type", "record", "t_mono", 1e300, "t_wall", 1e300, "qualname", "q", "args", object{}}))
	inf := framed(pack(object{"type", "record", "t_mono", math.Inf(1), "t_wall", math.NaN(), "qualname", "q", "args", object{}}))
	r, rep := count(t, wholeFile, framed(pack(headerOf(Storage))), call(2, "q", object{}), inf)
	if rep.Records != 2 || r.Duration != model.SomeFloat(2) { // what is no number does not count
		t.Errorf("%v s, %+v", r.Duration, rep)
	}
	b, _ := points(t, false, wholeFile, framed(pack(headerOf(Storage))), huge, inf, call(0.123456, "q", object{}))
	if b.Records[0].Start != 0 || b.Records[1].Start != 0 {
		t.Errorf("untimed records start at %d and %d", b.Records[0].Start, b.Records[1].Start)
	}
	if at := b.Records[2].Start - 1_700_000_000_373_456_000; at < -120 || at > 120 { // a float64 of today's epoch steps by 238 ns
		t.Errorf("off by %d ns", at)
	}
}
