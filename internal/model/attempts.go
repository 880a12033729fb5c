package model

import (
	"cmp"
	"slices"
	"sort"
)

// An Attempt is one try at loading: a lookup and the passes that belong to it (R7.9). A request that was preempted has several.
type Attempt struct {
	Start Time // start of the lookup it begins with
	Ended Time // end of the last pass before that lookup, when what led to it could begin (R4.15); Start for the first attempt
}

// AttemptScratch is memory that Attempts uses again. The zero value works.
type AttemptScratch struct {
	attempts []Attempt
	lookups  []Time
	passes   []interval
	spans    []*Span
}

type interval struct{ start, end Time }

// LoadPasses appends the load passes of the request to buf: each cb.start_load_kv; where none was recorded each cb.retrieve, and each
// mp.retrieve that names a device (R7.9). Untimed spans are none: nothing says which attempt they belong to.
func (r *Request) LoadPasses(buf []*Span) []*Span {
	n := len(buf)
	for _, s := range r.Spans {
		if s.Stage == StageStartLoadKV && !s.Has(FlagUntimed) {
			buf = append(buf, s)
		}
	}
	if len(buf) > n {
		return buf
	}
	for _, s := range r.Spans {
		if s.Has(FlagUntimed) {
			continue
		}
		if s.Stage == StageRetrieve || s.Stage == StageMPRetrieve && s.Attr(AttrDevice).Kind != NoValue {
			buf = append(buf, s)
		}
	}
	return buf
}

// Attempts finds the attempts of the request, in order of Start, from the times of its spans as they stand (Start and End).
// The first begins with the first lookup, a further one at each lookup that starts when a pass of the attempt before it has ended (R7.9).
// The lookups are those of one stage: cb.lookup.rpc, without any cb.lookup, without any mp.lookup_prefetch. Without a lookup there is no
// attempt. The result is good until the scratch is used again; it costs O(n log n).
func (r *Request) Attempts(scratch *AttemptScratch) []Attempt {
	scratch.attempts, scratch.lookups, scratch.passes = scratch.attempts[:0], scratch.lookups[:0], scratch.passes[:0]
	stage := StageNone
	for _, s := range r.Spans {
		if !Stages[s.Stage].Lookup || s.Has(FlagUntimed) || stage != StageNone && s.Stage > stage {
			continue
		}
		if s.Stage != stage { // stages count up in the order of preference
			stage, scratch.lookups = s.Stage, scratch.lookups[:0]
		}
		scratch.lookups = append(scratch.lookups, s.Start)
	}
	if stage == StageNone {
		return nil
	}
	slices.Sort(scratch.lookups)
	first := scratch.lookups[0]
	scratch.attempts = append(scratch.attempts, Attempt{first, first})
	if len(scratch.lookups) == 1 {
		return scratch.attempts
	}

	scratch.spans = r.LoadPasses(scratch.spans[:0])
	for _, s := range scratch.spans {
		scratch.passes = append(scratch.passes, interval{s.Start, s.End})
	}
	clear(scratch.spans)
	slices.SortFunc(scratch.passes, func(a, b interval) int {
		if c := cmp.Compare(a.end, b.end); c != 0 {
			return c
		}
		return cmp.Compare(a.start, b.start)
	})
	// ended holds passes that have ended and may belong to the attempt at hand: ends rise, starts fall. A pass that starts before a
	// later-ending one is never asked for; one that starts before the attempt belongs to an earlier one, and attempts only move on.
	ended := scratch.passes[:0]
	next := 0
	for _, at := range scratch.lookups[1:] {
		for ; next < len(scratch.passes) && scratch.passes[next].end <= at; next++ {
			p := scratch.passes[next]
			for len(ended) > 0 && ended[len(ended)-1].start <= p.start {
				ended = ended[:len(ended)-1]
			}
			ended = append(ended, p)
		}
		begun := scratch.attempts[len(scratch.attempts)-1].Start
		for len(ended) > 0 && ended[len(ended)-1].start < begun {
			ended = ended[:len(ended)-1]
		}
		if len(ended) > 0 {
			scratch.attempts = append(scratch.attempts, Attempt{at, ended[len(ended)-1].end})
		}
	}
	return scratch.attempts
}

// AttemptOf is the number, from 1, of the attempt that an instant belongs to: the last that has begun by then, else the first.
func AttemptOf(attempts []Attempt, t Time) int {
	return max(1, sort.Search(len(attempts), func(i int) bool { return attempts[i].Start > t }))
}

// ScheduleAttemptOf is AttemptOf for what leads to a lookup: an attempt begins when the last pass before it ended (R4.15).
func ScheduleAttemptOf(attempts []Attempt, t Time) int {
	return max(1, sort.Search(len(attempts), func(i int) bool { return attempts[i].Ended > t }))
}
