package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/clock"
	"github.com/cbtrace/cbtrace/internal/model"
)

// What clocks and facts of processes were estimated from (OUTPUT report: survey).
const (
	SurveyWhole    = "whole"
	SurveySampled  = "sampled"
	SurveyGiven    = "given"
	SurveyPerShard = "per_shard"
)

// A Capture is what a report says that is not counted per request.
type Capture struct {
	Inputs       []model.InputStats
	Start, End   model.Time // the range (R8.8); both 0 when nothing is timed
	Survey       string
	SurveyHash   uint64         // XXH64 of the survey table, 0 for several: shards that were made with one table have one clock (R2.6)
	Surveyed     clock.Requests // those the table was made from
	Analysed     clock.Requests // those of this capture, selected or not
	Clock        []Clock
	Unattributed int64    // spans that belong to no request
	Disagreeing  []string // processes that were to be moved and whose pairs disagree (finding clock_disagreement)
	LLM          bool     // an llm_request was recorded, selected or not
	Analysis     Analysis
}

// An Analysis is how requests were made and selected: figures that were made in different ways cannot be added up.
type Analysis struct {
	Key                  string // auto, id, trace (R4.4)
	NoSkew, KeepShutdown bool
	Deadline             time.Duration
	Where                string // the requests that were selected; "": all
}

// Merge adds the facts of another part of a capture. With one survey table they stay as they are in all parts, and once all requests are there
// that it was made from it is a survey of the whole; otherwise clocks were estimated per shard, and of each process there may be several
// (R2.6). Nothing depends on the order in which parts are merged.
func (c *Capture) Merge(o *Capture) {
	c.Analysed.N, c.Analysed.Sum = c.Analysed.N+o.Analysed.N, c.Analysed.Sum+o.Analysed.Sum
	switch {
	case c.SurveyHash == 0 || c.SurveyHash != o.SurveyHash:
		c.Survey, c.SurveyHash, c.Surveyed = SurveyPerShard, 0, clock.Requests{}
	case c.Survey == SurveySampled || o.Survey == SurveySampled:
		c.Survey = SurveySampled
	case c.Analysed == c.Surveyed:
		c.Survey = SurveyWhole
	default:
		c.Survey = SurveyGiven
	}
	c.Inputs = slices.Concat(c.Inputs, o.Inputs)
	slices.SortFunc(c.Inputs, compareInputs)
	switch {
	case o.Start == 0 && o.End == 0:
	case c.Start == 0 && c.End == 0:
		c.Start, c.End = o.Start, o.End
	default:
		c.Start, c.End = min(c.Start, o.Start), max(c.End, o.End)
	}
	c.Clock = slices.Concat(c.Clock, o.Clock)
	slices.SortFunc(c.Clock, compareClocks)
	c.Clock = slices.Compact(c.Clock)
	compared := map[string]bool{}
	for i := range c.Clock {
		if k := &c.Clock[i]; k.Reference != "" {
			compared[k.Process], compared[k.Reference] = true, true
		}
	}
	c.Clock = slices.DeleteFunc(c.Clock, func(k Clock) bool { return k.Reference == "" && compared[k.Process] }) // a pair of them was in another part
	c.Disagreeing = slices.Concat(c.Disagreeing, o.Disagreeing)
	slices.Sort(c.Disagreeing)
	c.Disagreeing = slices.Compact(c.Disagreeing)
	c.Unattributed += o.Unattributed
	c.LLM = c.LLM || o.LLM
}

func compareClocks(a, b Clock) int {
	return cmp.Or(strings.Compare(a.Process, b.Process), strings.Compare(a.Reference, b.Reference), strings.Compare(a.Basis, b.Basis),
		compareOpts(a.OffsetNS, b.OffsetNS), compareOpts(a.UncertaintyNS, b.UncertaintyNS), cmp.Compare(a.Pairs, b.Pairs),
		cmp.Compare(a.Disagreeing, b.Disagreeing), cmp.Compare(a.DriftPPM.V, b.DriftPPM.V))
}

// compareOpts orders unknown numbers first.
func compareOpts(a, b model.Opt) int {
	switch {
	case a.OK == b.OK:
		return cmp.Compare(a.V, b.V)
	case a.OK:
		return 1
	}
	return -1
}

// compareInputs orders by path; the same file in two shards by what became of it.
func compareInputs(a, b model.InputStats) int {
	return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Format, b.Format), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Spans, b.Spans),
		cmp.Compare(a.Records, b.Records), cmp.Compare(a.Skipped, b.Skipped), cmp.Compare(a.ErrorCount, b.ErrorCount), cmp.Compare(a.Gaps, b.Gaps), cmp.Compare(a.Steps, b.Steps),
		strings.Compare(a.Unusable, b.Unusable), cmp.Compare(stateOf(&a), stateOf(&b)), slices.Compare(a.Errors, b.Errors), slices.Compare(a.Notes, b.Notes))
}

// merge makes the options those of a merge: the hull of the selected intervals, and of what only says how the report is shown what all
// parts have in common.
func (o *Options) merge(p *Options) {
	if o.Method != p.Method {
		o.Method = Nearest
	}
	if o.Bucket != p.Bucket {
		o.Bucket = 0
	}
	o.All = o.All && p.All
	o.Since, o.Until = earlier(o.Since, p.Since), later(o.Until, p.Until)
}

// earlier and later are the wider bound; 0 is open.
func earlier(a, b model.Time) model.Time {
	if a == 0 || b == 0 {
		return 0
	}
	return min(a, b)
}

func later(a, b model.Time) model.Time {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// A Difference is an option in which two reports differ so that their figures cannot be added up or held against each other one by one.
type Difference struct{ Option, A, B string }

// Differences are the options in which this report and another one differ; both need not have the same Dict.
func (a *Aggregate) Differences(c *Capture, b *Aggregate, d *Capture) []Difference {
	slos := func(o *Options) string {
		var all []string
		for _, s := range o.SLOs {
			all = append(all, s.Expr)
		}
		return strings.Join(all, ", ")
	}
	bys := func(o *Options) string {
		var all []string
		for _, by := range o.By {
			all = append(all, by.String())
		}
		return strings.Join(all, ", ")
	}
	return append(differing([]Difference{
		{"--per", a.opt.Per.String(), b.opt.Per.String()},
		{"--by", bys(&a.opt), bys(&b.opt)},
		{"--slo", slos(&a.opt), slos(&b.opt)},
	}), c.Analysis.Differences(d.Analysis)...)
}

// Differences are those between two ways to analyse.
func (a Analysis) Differences(b Analysis) []Difference {
	onOff := func(on bool) string {
		if on {
			return "on"
		}
		return "off"
	}
	return differing([]Difference{
		{"--key", a.Key, b.Key},
		{"--no-skew", onOff(a.NoSkew), onOff(b.NoSkew)},
		{"--keep-shutdown", onOff(a.KeepShutdown), onOff(b.KeepShutdown)},
		{"--deadline", a.Deadline.String(), b.Deadline.String()},
		{"--where", a.Where, b.Where},
	})
}

// differing keeps the options that differ.
func differing(all []Difference) (out []Difference) {
	for _, x := range all {
		if x.A != x.B {
			out = append(out, x)
		}
	}
	return out
}
