package budget

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Schema names the document and its version.
const Schema = "cbtrace.gate/v1"

// The verdicts of a rule and of a run.
const (
	Pass         = "pass"
	Warn         = "warn"
	Fail         = "fail"
	Insufficient = "insufficient"
)

// A Document is what `gate --format json` prints (OUTPUT).
type Document struct {
	Schema    string         `json:"schema" enum:"cbtrace.gate/v1" doc:"name and version of this document"`
	Verdict   string         `json:"verdict" enum:"pass|warn|fail|insufficient" doc:"of the run: fail over insufficient over warn over pass"`
	Alpha     float64        `json:"alpha" doc:"of all baseline rules of level error together"`
	Results   []Result       `json:"results" doc:"in the order of the budget file; of a pattern one per stage, by name"`
	Budget    string         `json:"budget" doc:"the budget file"`
	Requests  int64          `json:"requests" doc:"that were held against it"`
	Baselines []BaselineInfo `json:"baselines" doc:"what was compared with"`
	Notes     []string       `json:"notes" doc:"what the reader should know of the comparison"`
}

// A BaselineInfo is a saved report that was compared with.
type BaselineInfo struct {
	File     string `json:"file"`
	Requests int64  `json:"requests"`
}

// A Result is a rule that was decided. Values, limits and bounds are in the unit of the metric.
type Result struct {
	Rule      string         `json:"rule" doc:"the rule in one line"`
	Metric    string         `json:"metric" doc:"what was measured; of a pattern that of one stage"`
	Level     string         `json:"level" enum:"error|warn"`
	Verdict   string         `json:"verdict" enum:"pass|warn|fail|insufficient" doc:"what the evidence says; a level of warn keeps it out of the exit status"`
	Value     model.OptFloat `json:"value" doc:"of a max_rate rule the rate"`
	Bound     model.OptFloat `json:"bound" doc:"the limit; of a baseline rule baseline × ratio"`
	N         int64          `json:"n" doc:"values, spans, lookups or requests that the value is of"`
	Low       model.OptFloat `json:"low" doc:"one-sided 95 % lower bound, where one decides"`
	High      model.OptFloat `json:"high" doc:"one-sided 95 % upper bound"`
	Baseline  model.OptFloat `json:"baseline" doc:"the same metric of the baseline, of several their mean"`
	Ratio     model.OptFloat `json:"ratio" doc:"value / baseline"`
	Delta     model.OptFloat `json:"delta" doc:"value − baseline"`
	P         model.OptFloat `json:"p" doc:"one-sided p-value of being worse than the baseline"`
	Exemplars []string       `json:"exemplars" doc:"requests that show it most, at most three"`
	Message   string         `json:"message"`

	Unit         string         `json:"unit" enum:"ns|count|ratio"`
	Line         int            `json:"line" doc:"of the rule in the budget file"`
	DeltaLow     model.OptFloat `json:"delta_low" doc:"one-sided 95 % lower bound of the delta, from the draws"`
	DeltaHigh    model.OptFloat `json:"delta_high" doc:"one-sided 95 % upper bound of the delta"`
	Holm         model.OptFloat `json:"holm" doc:"what p had to be at most among all baseline rules"`
	MixExplained model.OptFloat `json:"mix_explained" doc:"part of the delta that a change in the mix of hit class and prompt length explains, where it differs"`

	steps []string
}

// Steps are how the rule was decided, sentence by sentence (--explain).
func (r *Result) Steps() []string { return r.steps }

// Counts reports whether the result decides the run: rules of level warn do not (R9.4).
func (r *Result) Counts() bool { return r.Level == LevelError.String() }

func (r *Result) step(text string) { r.steps = append(r.steps, text) }

// Worst are the results that did not pass, worst first: those that decide the run before those of level warn, broken ones before those without
// evidence, and those that only warn last; within them by how far the value is from its limit.
func (d *Document) Worst() []*Result {
	var out []*Result
	for i := range d.Results {
		if d.Results[i].Verdict != Pass {
			out = append(out, &d.Results[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *Result) int {
		return cmp.Or(cmp.Compare(a.place(), b.place()), cmp.Compare(b.excess(), a.excess()))
	})
	return out
}

func (r *Result) place() int {
	p := slices.Index([]string{Fail, Insufficient, Warn, Pass}, r.Verdict)
	if !r.Counts() {
		p += 4
	}
	return p
}

// excess is how far the value is from the limit, as a share of it.
func (r *Result) excess() float64 {
	switch {
	case !r.Value.OK || !r.Bound.OK || r.Value.V == r.Bound.V:
		return 0
	case r.Bound.V == 0:
		return math.Inf(1)
	}
	return math.Abs(r.Value.V-r.Bound.V) / math.Abs(r.Bound.V)
}

// Find is the results that a text names: the rule of a number, from 1 in the order of the results, else those with the text in rule or metric.
func (d *Document) Find(text string) (out []*Result) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(d.Results) {
		return []*Result{&d.Results[n-1]}
	}
	for i := range d.Results {
		if r := &d.Results[i]; strings.Contains(r.Rule, text) || strings.Contains(r.Metric, text) {
			out = append(out, r)
		}
	}
	return out
}
