package lct

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// shown is a point with its attributes.
func shown(b *model.Batch, i int) string {
	r := &b.Records[i]
	s := b.Dict.Str(r.Name)
	for _, a := range b.AttrsOf(r) {
		v := any(string(b.TextOf(&a)))
		if a.Kind != model.StrValue {
			v = int64(a.Bits)
		}
		s += fmt.Sprintf(" %s=%v", b.Dict.KeyName(a.Key), v)
	}
	return s
}

func TestPoints(t *testing.T) {
	frames := [][]byte{framed(pack(headerOf(Storage))),
		call(1, calls+"submit_prefetch_task", object{"keys", []any{key("a"), key("b")}, "extra_count", 0, "external_request_id", "cmpl-1-0-0a1b2c3d"}),
		call(2, "lmcache.later.StorageManager.read_prefetched_results.__enter__", object{"keys", []any{key("a")}}), // the package may move
		call(3, calls+"finish_read_prefetched", object{"keys", []any{key("a"), key("a", "object_group_id", 1), key("b")}, "shares", 2}),
		call(4, calls+"submit_prefetch_task", object{"spec", nil, "external_request_id", "", "skip_l2", true, "weight", 0.5}),
	}
	b, rep := points(t, false, wholeFile, frames...)
	if rep.Records != 4 || len(b.Records) != 4 || rep.Spans != 0 {
		t.Fatalf("%+v", rep)
	}
	for i, want := range []string{"submit_prefetch_task external_request_id=cmpl-1-0-0a1b2c3d", "read_prefetched_results.__enter__", "finish_read_prefetched",
		"submit_prefetch_task external_request_id="} {
		if have := shown(b, i); have != want {
			t.Errorf("point %d: %s\nwant %s", i, have, want)
		}
	}
	b, _ = points(t, true, wholeFile, frames...) // for inspect
	for i, want := range []string{"submit_prefetch_task extra_count=0 external_request_id=cmpl-1-0-0a1b2c3d n_keys=2 chunk_hashes=61 62", "read_prefetched_results.__enter__ n_keys=1 chunk_hashes=61",
		"finish_read_prefetched shares=2 n_keys=3 chunk_hashes=61 62", "submit_prefetch_task external_request_id= skip_l2=1 weight=4602678819172646912"} {
		if have := shown(b, i); have != want {
			t.Errorf("kept whole, point %d: %s\nwant %s", i, have, want)
		}
	}
	if p := b.Dict.Proc(b.Dict.Res(b.Records[0].Res).Proc); p.Name != "/" {
		t.Errorf("process %q", p.Name) // R4.11: no service, no folder: the tests give no family
	}
	b, _ = points(t, true, wholeFile, eventsHeader(), lifecycle(0, "start", 1))
	if p := b.Dict.Proc(b.Dict.Res(b.Records[0].Res).Proc); p.Name != "i-1" {
		t.Errorf("process %q, want the instance", p.Name)
	}
}

func TestEmptyRecording(t *testing.T) {
	_, rep := points(t, false, wholeFile, framed(pack(headerOf(Storage))))
	if rep.Signals[Empty] != 1 || rep.Skipped != 0 {
		t.Errorf("%+v", rep)
	}
}

// R3.6: no token id, salt or trace header of a recording reaches a batch, a count or an error, damaged or not.
func TestPrivacy(t *testing.T) {
	tokens := []any{918273645, 918273646, 918273647}
	secret := func(text string) bool {
		return strings.Contains(text, "91827364") || strings.Contains(text, "tenant7") || strings.Contains(text, "Who are you")
	}
	good := batch(1, 1, "store", "l1", "dram", false, chunk("01", 7, tokens...).with("cache_salt", "tenant7"))
	lookup := call(2, calls+"lookup", object{"token_ids", "918273645 918273646", "cache_salt", "tenant7", "keys", []any{key("a", "cache_salt", "tenant7")}, "gen_ai.prompt.0.content", "Who are you?",
		"tokens", tokens})
	body := append([]byte(nil), good[prefix:]...)
	for i := len(body) - 40; i < len(body); i++ {
		body[i] = 0xc1
	}
	for _, level := range []string{Storage, Events, "mq"} {
		frames := [][]byte{framed(pack(headerOf(level))), good, lookup, framed(body), framed([]byte("\x81\xa4type\xa9918273645")), good[:len(good)-5]}
		b, rep := points(t, true, wholeFile, frames...)
		if len(b.Records) != 2 || rep.Skipped != 3 {
			t.Fatalf("%s: %d points, %+v", level, len(b.Records), rep)
		}
		for i := range b.Records {
			if s := shown(b, i); secret(s) {
				t.Errorf("%s: point %s", level, s)
			}
		}
		if secret(string(b.Text)) {
			t.Errorf("%s: text %q", level, b.Text)
		}
		r, counted := count(t, wholeFile, frames...)
		if secret(fmt.Sprintf("%+v %+v", r, r.Events)) {
			t.Errorf("%s: counts %+v %+v", level, r, r.Events)
		}
		for _, p := range append(rep.Problems, counted.Problems...) {
			if secret(p.Text) {
				t.Errorf("%s: problem %s", level, p.Text)
			}
		}
	}
	if b, _ := points(t, true, wholeFile, framed(pack(headerOf(Storage))), lookup); !strings.Contains(shown(b, 0), "token_ids=<redacted 19 bytes>") {
		t.Errorf("point %s", shown(b, 0))
	}
}

// The recording tells the time by two clocks: where one was set shows (R5).
func TestStepOfTheWallClock(t *testing.T) {
	records := framed(pack(headerOf(Storage)))
	for i := range 40 {
		wall := 1_700_000_000.25 + float64(i)
		if i >= 20 {
			wall -= 1.5
		}
		records = join(records, framed(pack(object{"type", "record", "t_mono", float64(i), "t_wall", wall, "qualname", "c", "args", object{}})))
	}
	_, rep := points(t, false, wholeFile, records)
	steps := rep.Steps.List()
	if len(steps) != 1 || steps[0].By < -1_500_001_000 || steps[0].By > -1_499_999_000 {
		t.Errorf("steps %v, want one of −1.5 s", steps)
	}
}
