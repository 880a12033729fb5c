package report

import (
	"math"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Method says what a percentile is (R8.1).
type Method uint8

const (
	Nearest Method = iota // nearest rank: a value that happened
	Linear                // interpolated between ranks: numpy's type 7
)

func (m Method) String() string { return [...]string{"nearest", "linear"}[m] }

// A series is a model.Series that becomes a part of a document.
type series struct {
	model.Series
	made *Series // of values that are not kept in memory; nil: nothing
}

func (s *series) add(v int64) { s.Add(v) }

func (s *series) addOpt(v model.Opt) {
	if v.OK {
		s.Add(v.V)
	}
}

func (s *series) merge(o *series) { s.Merge(&o.Series) }

// total is the sum of the values; totalOpt is unknown where there are none.
func (s *series) total() (t sum) {
	t.add(s.Total())
	return t
}

func (s *series) totalOpt() model.Opt { return model.Opt{V: s.Total(), OK: s.N() > 0} }

// prepare does what takes time, so that what follows does not: it sorts the values, or makes the document of those that are not to stay in memory.
func (s *series) prepare(m Method) {
	if !s.Away() {
		s.Quantile(500)
		return
	}
	s.made = nil
	made := s.document(m)
	s.made = &made
	s.Release()
}

// known is what was made of just these values.
func (s *series) known(m Method) (d *Series, ok bool) {
	return s.made, s.made != nil && s.made.N == s.N() && s.made.Method == m.String()
}

// quantile is the percentile at p thousandths, in ns.
func (s *series) quantile(p int64, m Method) model.Opt {
	if d, ok := s.known(m); ok {
		switch p {
		case 500:
			return d.P50NS
		case 950:
			return d.P95NS
		}
	}
	switch {
	case s.N() == 0:
		return model.Opt{}
	case m == Linear:
		return model.Some(int64(math.Round(s.Linear(p))))
	}
	return model.Some(s.Quantile(p))
}

func (s *series) document(m Method) Series {
	if d, ok := s.known(m); ok {
		return *d
	}
	some := s.N() > 0
	return Series{
		N: s.N(), MeanNS: model.Opt{V: s.Mean(), OK: some}, P50NS: s.quantile(500, m), P90NS: s.quantile(900, m), P95NS: s.quantile(950, m),
		P99NS: s.quantile(990, m), P999NS: s.quantile(999, m), MaxNS: model.Opt{V: s.Max(), OK: some}, TotalNS: s.totalOpt(),
		Method: m.String(), Exact: s.Exact(),
	}
}

// ratios is the distribution of values in units of 2⁻³².
func (s *series) ratios(m Method) Ratios {
	at := func(p int64) model.OptFloat {
		switch {
		case s.N() == 0:
			return model.OptFloat{}
		case m == Linear:
			return model.SomeFloat(s.Linear(p) / one)
		}
		return model.SomeFloat(float64(s.Quantile(p)) / one)
	}
	defer s.Release()
	return Ratios{N: s.N(), Mean: mean(s.total(), s.N()), P50: at(500), P90: at(900), P95: at(950), P99: at(990), Max: at(1000)}
}
