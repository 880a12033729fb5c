package profile

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// R2.2, R4.12: what the whole of a file told is told again by the survey table, so that a part of it that tells nothing, or something else, is read alike.
func TestGivenPlan(t *testing.T) {
	const bare = `{"name":"%s","ts":%s,"dur":%s,"request_id":"r%d","pid":1}`
	const mono = `{"name":"%s","t0":%s,"dur_us":%s,"request_id":"r%d","pid":1}`
	ms := in(1e6, 0)
	lone := fmt.Sprintf(bare, "sched.build_meta", absoluteUS(0), "5", 1) // nothing tells what 5 is
	tick := fmt.Sprintf(mono, "sched.build_meta", "17.5", "5", 1)        // nor what 17.5 is
	known := func(u model.ProfileUnit, keys ...string) *model.ProfilePlan {
		plan := &model.ProfilePlan{Anchor: model.AnchorEpoch}
		for _, k := range keys {
			plan.Units = append(plan.Units, model.ProfileKeyUnit{Key: k, Unit: u})
		}
		return plan
	}
	for _, c := range []struct {
		name, lines, first, refused, note string
		given, plan                       *model.ProfilePlan
	}{
		{name: "the whole", lines: pollLines(5, bare, absoluteUS, ms) + lone, first: "1 sched.gnnmt cb.schedule 0+10000 pid=1 request_id=r0", plan: known(model.Milliseconds, "dur"),
			note: "by how its lines nest"},
		{name: "a part that tells nothing", lines: lone, refused: `unit of "dur" unknown: use --profile-map`},
		{name: "and the plan of the whole", lines: lone, given: known(model.Milliseconds, "dur"), first: "1 sched.build_meta cb.build_meta 0+5000 pid=1 request_id=r1",
			plan: known(model.Milliseconds, "dur"), note: `duration "dur" (ms, by the survey table)`},
		{name: "a part that tells something else", lines: pollLines(5, bare, absoluteUS, ms), given: known(model.Microseconds, "dur"),
			first: "1 sched.gnnmt cb.schedule 0+10 pid=1 request_id=r0", plan: known(model.Microseconds, "dur")},
		{name: "a plan that does not know the key", lines: lone, given: known(model.Milliseconds, "elapsed"), refused: `unit of "dur" unknown: use --profile-map`},
		{name: "a key that says its unit", lines: strings.Replace(lone, `"dur"`, `"dur_us"`, 1), given: known(model.Seconds, "dur_us"), first: "1 sched.build_meta cb.build_meta 0+5 pid=1 request_id=r1",
			plan: known(0)},
		{name: "a start of no known unit", lines: tick, first: "1 sched.build_meta cb.build_meta 0+0 unanchored pid=1 request_id=r1", plan: &model.ProfilePlan{}},
		{name: "and the plan of the whole", lines: tick, given: known(model.Seconds, "t0"), note: `start "t0" (s, by the survey table)`,
			plan: &model.ProfilePlan{Units: []model.ProfileKeyUnit{{Key: "t0", Unit: model.Seconds}}}},
	} {
		r := setup{given: c.given}.read(t, c.lines)
		if r.out.Refused != c.refused || c.refused == "" && c.first != "" && (len(r.records) == 0 || r.records[0] != c.first) {
			t.Errorf("%s: refused %q, records %.200q; want %q, %q", c.name, r.out.Refused, r.records, c.refused, c.first)
		}
		if !reflect.DeepEqual(r.out.Plan, c.plan) && c.refused == "" {
			t.Errorf("%s: decided %+v, want %+v", c.name, r.out.Plan, c.plan)
		}
		if c.note != "" && !strings.HasSuffix(r.out.Notes[0], c.note+")") && !strings.Contains(r.out.Notes[0], c.note) {
			t.Errorf("%s: notes %q, want %q", c.name, r.out.Notes, c.note)
		}
	}
}

// Whether absolute times are on a wall clock hangs on the spans of the capture, of which a shard may have others, or none.
func TestGivenAnchor(t *testing.T) {
	line := `{"name":"sched.build_meta","ts":1764432000000000,"dur_us":5,"request_id":"r1"}`
	never, always := func(_, _ int64) bool { return false }, func(_, _ int64) bool { return true }
	adrift := &model.ProfilePlan{Anchor: model.AnchorNone, Divisor: 1000}
	for _, c := range []struct {
		name       string
		near       func(from, to int64) bool
		given      *model.ProfilePlan
		unanchored bool
		divisor    int64
	}{
		{"spans are near", always, nil, false, 1},
		{"none is", never, nil, true, 1},
		{"none is here, in the whole there were", never, &model.ProfilePlan{Anchor: model.AnchorEpoch}, false, 1},
		{"spans are near here, in the whole these were others", always, adrift, true, 1000},
		{"no spans here", nil, adrift, true, 1000},
		{"the whole had no such times", never, &model.ProfilePlan{}, true, 1},
	} {
		r := setup{near: c.near, given: c.given}.read(t, line)
		if r.out.Unanchored != c.unanchored || r.out.Divisor != c.divisor || (r.out.Plan.Anchor == model.AnchorNone) != c.unanchored {
			t.Errorf("%s: %+v, want %v, %d", c.name, r.out, c.unanchored, c.divisor)
		}
	}
}
