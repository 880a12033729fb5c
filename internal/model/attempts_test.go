package model

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func timedSpan(stage Stage, start, end Time, attrs ...Attr) *Span {
	return &Span{Stage: stage, RawStart: start, RawEnd: end, Start: start, End: end, Attrs: attrs}
}

func TestAttempts(t *testing.T) {
	device := Attr{AttrDevice, Value{Kind: StrValue, Str: "cuda:0"}}
	untimed := timedSpan(StageLookup, 0, 0)
	untimed.Flags = FlagUntimed
	for _, c := range []struct {
		name  string
		spans []*Span
		want  []Attempt
	}{
		{"no lookup", []*Span{timedSpan(StageStartLoadKV, 10, 20)}, nil},
		{"one lookup, two passes", []*Span{timedSpan(StageLookup, 5, 9), timedSpan(StageStartLoadKV, 10, 20), timedSpan(StageStartLoadKV, 30, 40)}, []Attempt{{5, 5}}},
		{"a lookup after a pass", []*Span{timedSpan(StageLookup, 5, 9), timedSpan(StageStartLoadKV, 110, 190), timedSpan(StageLookup, 191, 200)}, []Attempt{{5, 5}, {191, 190}}},
		{"a lookup at the end of a pass", []*Span{timedSpan(StageLookup, 5, 9), timedSpan(StageStartLoadKV, 110, 190), timedSpan(StageLookup, 190, 200)}, []Attempt{{5, 5}, {190, 190}}},
		{"a lookup inside a pass", []*Span{timedSpan(StageLookup, 5, 9), timedSpan(StageStartLoadKV, 110, 190), timedSpan(StageLookup, 189, 200)}, []Attempt{{5, 5}}},
		{"a lookup without a pass between", []*Span{timedSpan(StageLookup, 5, 9), timedSpan(StageLookup, 20, 30), timedSpan(StageStartLoadKV, 110, 190)}, []Attempt{{5, 5}}},
		{"the third begins after the last of two passes", []*Span{timedSpan(StageLookup, 5, 9), timedSpan(StageStartLoadKV, 10, 20), timedSpan(StageLookup, 25, 30), timedSpan(StageStartLoadKV, 31, 60),
			timedSpan(StageStartLoadKV, 32, 50), timedSpan(StageLookup, 70, 80)}, []Attempt{{5, 5}, {25, 20}, {70, 60}}},
		{"a pass counts for the attempt it starts in", []*Span{timedSpan(StageLookup, 5, 9), timedSpan(StageStartLoadKV, 10, 20), timedSpan(StageStartLoadKV, 11, 40), timedSpan(StageLookup, 25, 30),
			timedSpan(StageLookup, 50, 60)}, []Attempt{{5, 5}, {25, 20}}},
		{"the rpc goes before the server's lookup", []*Span{timedSpan(StageLookupRPC, 4, 9), timedSpan(StageLookup, 5, 8), timedSpan(StageStartLoadKV, 10, 20), timedSpan(StageLookup, 30, 35)}, []Attempt{{4, 4}}},
		{"whatever came first", []*Span{timedSpan(StageLookup, 5, 8), timedSpan(StageLookupRPC, 4, 9), timedSpan(StageStartLoadKV, 10, 20), timedSpan(StageLookup, 30, 35)}, []Attempt{{4, 4}}},
		{"retrieves where no worker was recorded", []*Span{timedSpan(StageLookup, 5, 9), timedSpan(StageRetrieve, 10, 20), timedSpan(StageLookup, 30, 35)}, []Attempt{{5, 5}, {30, 20}}},
		{"a retrieve beside a worker's pass is none", []*Span{timedSpan(StageLookup, 5, 9), timedSpan(StageRetrieve, 10, 20), timedSpan(StageLookup, 30, 35), timedSpan(StageStartLoadKV, 40, 50)}, []Attempt{{5, 5}}},
		{"an mp.retrieve with a device", []*Span{timedSpan(StageMPLookupPrefetch, 5, 9), timedSpan(StageMPRetrieve, 10, 20, device), timedSpan(StageMPLookupPrefetch, 30, 35)}, []Attempt{{5, 5}, {30, 20}}},
		{"an mp.retrieve without", []*Span{timedSpan(StageMPLookupPrefetch, 5, 9), timedSpan(StageMPRetrieve, 10, 20), timedSpan(StageMPLookupPrefetch, 30, 35)}, []Attempt{{5, 5}}},
		{"untimed", []*Span{untimed, timedSpan(StageLookup, 5, 9)}, []Attempt{{5, 5}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Request{Spans: c.spans}
			if got := r.Attempts(new(AttemptScratch)); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// attemptsSlow is R7.9 word by word.
func attemptsSlow(lookups []Time, passes []interval) []Attempt {
	slices.Sort(lookups)
	found := []Attempt{{lookups[0], lookups[0]}}
	for _, at := range lookups[1:] {
		last, any := Time(0), false
		for _, p := range passes {
			if p.start >= found[len(found)-1].Start && p.end <= at {
				last, any = max(last, p.end), true
			}
		}
		if any {
			found = append(found, Attempt{at, last})
		}
	}
	return found
}

func TestAttemptsAgainstSlow(t *testing.T) {
	var scratch AttemptScratch
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		r := &Request{}
		var lookups []Time
		var passes []interval
		for range 1 + rng.IntN(6) {
			s := Time(10 + rng.IntN(40))
			lookups = append(lookups, s)
			r.Spans = append(r.Spans, timedSpan(StageLookup, s, s+3))
		}
		for range rng.IntN(8) {
			s := Time(10 + rng.IntN(40))
			p := interval{s, s + Time(rng.IntN(12)-2)} // some end before they start
			passes = append(passes, p)
			r.Spans = append(r.Spans, timedSpan(StageStartLoadKV, p.start, p.end))
		}
		if got, want := r.Attempts(&scratch), attemptsSlow(lookups, passes); !slices.Equal(got, want) {
			t.Fatalf("lookups %v passes %v: got %v, want %v", lookups, passes, got, want)
		}
	}
}

func TestAttemptOf(t *testing.T) {
	attempts := []Attempt{{10, 10}, {30, 20}}
	for _, c := range []struct {
		t              Time
		want, schedule int
	}{{5, 1, 1}, {10, 1, 1}, {19, 1, 1}, {20, 1, 2}, {29, 1, 2}, {30, 2, 2}, {99, 2, 2}} {
		if got := AttemptOf(attempts, c.t); got != c.want {
			t.Errorf("AttemptOf(%d) = %d, want %d", c.t, got, c.want)
		}
		if got := ScheduleAttemptOf(attempts, c.t); got != c.schedule {
			t.Errorf("ScheduleAttemptOf(%d) = %d, want %d", c.t, got, c.schedule)
		}
	}
	if got := AttemptOf(nil, 7); got != 1 {
		t.Errorf("without attempts: %d, want 1", got)
	}
}
