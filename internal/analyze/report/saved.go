package report

import (
	"errors"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Append writes an aggregate and the facts of its capture behind b: all that a saved report holds (R8.3, R8.4). The same rows and facts give
// the same bytes, in whatever order they were added and merged, in one run or from saved reports. Series are cut to model.SavedSeriesLimit
// values there; the aggregate stays as it is.
func (a *Aggregate) Append(b []byte, facts *Capture) ([]byte, error) {
	c := &codec{buf: b, dict: a.dict, of: own}
	c.saved(a, facts)
	return c.buf, errors.Join(c.err, a.Err())
}

// Decode reads what Append wrote, and nothing behind it. Names become those of dict: aggregates that share one can be merged. Anything may
// be given: the error is ErrCorrupt or ErrUnknown where it is no report.
func Decode(b []byte, dict *model.Dict) (*Aggregate, *Capture, error) {
	c := &codec{buf: b, reading: true, dict: dict}
	a, facts := New(dict, Options{}), &Capture{}
	c.saved(a, facts)
	if len(c.buf) > 0 {
		c.fail()
	}
	if c.err != nil {
		return nil, nil, c.err
	}
	return a, facts, nil
}

func (c *codec) saved(a *Aggregate, facts *Capture) {
	c.numbering()
	c.options(a)
	if c.reading {
		a.main, a.rest = newTally(a.dict, &a.opt), newTally(a.dict, &a.opt)
	}
	c.facts(facts)
	c.aggregate(a)
}

// noLimit is for lists that are as long as there are bytes.
const noLimit = 1 << 40

func (c *codec) facts(f *Capture) {
	inputs := slices.SortedFunc(slices.Values(f.Inputs), compareInputs)
	list(c, &inputs, noLimit, 12, func(s *model.InputStats) { // but for Names, which only an error shows
		c.text(&s.File)
		c.text(&s.Format)
		c.ints(&s.Bytes, &s.Spans, &s.Records, &s.Skipped, &s.ErrorCount, &s.Gaps, &s.Steps)
		c.texts(&s.Errors, noLimit)
		c.texts(&s.Notes, noLimit)
		c.state(s)
		c.text(&s.Unusable)
	})
	clocks := slices.SortedFunc(slices.Values(f.Clock), compareClocks)
	list(c, &clocks, noLimit, 8, func(k *Clock) {
		c.text(&k.Process)
		c.text(&k.Reference)
		c.opt(&k.OffsetNS)
		c.opt(&k.UncertaintyNS)
		c.float(&k.DriftPPM)
		c.ints(&k.Pairs, &k.Disagreeing)
		c.text(&k.Basis)
	})
	if c.reading {
		f.Inputs, f.Clock = inputs, clocks
	}
	c.time(&f.Start)
	c.time(&f.End)
	c.text(&f.Survey)
	for _, n := range [...]*uint64{&f.SurveyHash, &f.Surveyed.N, &f.Surveyed.Sum, &f.Analysed.N, &f.Analysed.Sum} {
		c.uint(n)
	}
	c.int(&f.Unattributed)
	c.texts(&f.Disagreeing, noLimit)
	c.bool(&f.LLM)
	c.text(&f.Analysis.Key)
	c.bool(&f.Analysis.NoSkew)
	c.bool(&f.Analysis.KeepShutdown)
	c.int((*int64)(&f.Analysis.Deadline))
	c.text(&f.Analysis.Where)
}

// stateOf is whether an input ends too early and, of one that is of no use, what tells whether something was lost with it (InputStats.Foreign).
// How an input was found that is of use is not kept: the same requests are saved as the same bytes.
func stateOf(s *model.InputStats) (state uint8) {
	for i, is := range [...]bool{s.Truncated, s.Named && s.Unusable != "", s.Unread} {
		if is {
			state |= 1 << i
		}
	}
	return state
}

func (c *codec) state(s *model.InputStats) {
	state := stateOf(s)
	c.byte(&state, 1<<3) // of older files below 2
	s.Truncated, s.Named, s.Unread = state&1 != 0, state&2 != 0, state&4 != 0
}
