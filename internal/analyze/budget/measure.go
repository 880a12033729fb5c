package budget

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/analyze/stats"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A population is the requests that a rule is about: their figures, where there are any, and their columns.
type population struct {
	figures *report.Figures // nil: the table alone
	table   *table
}

// A measurement is a metric of a population.
type measurement struct {
	metric
	n      int64   // values, spans, lookups or requests that the value is of
	value  float64 // where known
	known  bool
	series *model.Series // of a percentile
	column *column       // of the table, for bounds over requests
	named  []string      // requests that show a finding, the longest, where figures name them
}

// tabled reports whether the request table has the metric: it holds stages of the vocabulary alone (R8.4).
func (m metric) tabled() bool { return m.of != ofStage || model.StageOf(m.stage) != model.StageNone }

// seed is that of the draws for a metric (R9.2).
func (m *measurement) seed(s Selection) uint64 {
	return xxhash.Sum64String(strings.Join([]string{m.name(), s.Model, s.Where}, "\x00"))
}

// measure takes a metric of a population.
func (p *population) measure(m metric) *measurement {
	out := &measurement{metric: m, column: p.table.at(m)}
	if !m.tabled() {
		out.column = &column{}
	}
	if p.figures == nil {
		p.fromTable(out)
	} else {
		p.fromFigures(out)
	}
	return out
}

func (m *measurement) set(v float64, ok bool) { m.value, m.known = v, ok }

// distribution takes what a statistic takes of single values.
func (m *measurement) distribution(s *model.Series) {
	m.n = s.N()
	known := m.n > 0
	switch m.stat {
	case percentile:
		m.series = s
		m.set(float64(s.Quantile(m.p)), known)
	case maximum:
		m.set(float64(s.Max()), known)
	case mean:
		m.set(float64(s.Mean()), known)
	case total:
		m.set(float64(s.Total()), known)
	case count:
		m.set(float64(m.n), true)
	case over:
		m.set(float64(above(s, int64(m.limit)))/float64(m.n), known)
	}
}

// above is how many values are larger than a limit.
func above(s *model.Series, limit int64) int64 {
	n := s.N()
	return n - int64(sort.Search(int(n), func(i int) bool { return s.Rank(int64(i)+1) > limit }))
}

func (p *population) fromFigures(m *measurement) {
	f := p.figures
	opt := func(v model.OptFloat) { m.set(v.V, v.OK) }
	switch m.of {
	case ofStage:
		row := report.Stage{}
		for _, s := range f.Stages {
			if s.Stage == m.stage && s.Owner == m.owner.String() {
				row = s
			}
		}
		switch m.stat {
		case criticalShare:
			m.n = f.Latency.N()
			m.set(row.CriticalShare.V, m.n > 0)
		case count:
			m.n = f.Requests.Total
			m.set(float64(row.Spans), true)
		default:
			m.distribution(f.StageTimes(m.stage, m.owner.String()))
		}
	case ofLookup:
		l := &f.Lookup
		parts := [...]*model.Series{l.RPC, l.Submit, l.L2Load, l.ServerOther, l.PollWait}
		if m.stat == percentile {
			m.distribution(parts[m.part])
			return
		}
		whole := parts[0].Total()
		m.n = parts[0].N()
		m.set(float64(parts[m.part].Total())/float64(whole), whole > 0)
	case ofHits:
		h := &f.Hits
		part := [...]model.Opt{h.HitTokens, h.L1Tokens, h.L2Tokens, h.PrefixTokens, h.SegmentedPrefixTokens, h.NonPrefixTokens}[m.part]
		if part.OK && h.RequestedTokens.V > 0 {
			m.n = int64(len(m.column.row))
			m.set(float64(part.V)/float64(h.RequestedTokens.V), true)
		}
	case ofReuse:
		m.n = int64(len(m.column.row))
		opt(f.Hits.EffectiveReuse)
	case ofFinding:
		m.n = f.Requests.Total
		n := int64(0)
		for i := range f.Findings {
			if f.Findings[i].Code == finding.Registry[m.code].Code {
				n, m.named = f.Findings[i].Count, f.Findings[i].Exemplars
			}
		}
		m.counted(float64(n))
	case ofRequests:
		m.n = f.Requests.Total
		m.set(float64(m.n), true)
	case ofFailed:
		m.n = f.Requests.Total
		m.counted(float64(f.Failed.Requests))
	default:
		m.distribution(map[family]*model.Series{ofRequest: f.Latency, ofRoot: f.Root, ofTTFT: f.TTFT, ofQueue: f.Queue, ofDecodePerToken: f.DecodePerToken}[m.of])
	}
}

// counted sets a number of requests, or its share of all.
func (m *measurement) counted(n float64) {
	if m.stat == count {
		m.set(n, true)
	} else {
		m.set(n/float64(m.n), m.n > 0)
	}
}

// fromTable is for selections of a saved report: it has one value of a stage per request, the time that its spans cover, and counts and totals
// are scaled up where the table is a sample.
func (p *population) fromTable(m *measurement) {
	c, t := m.column, p.table
	x, y := 0.0, 0.0
	for i := range c.row {
		x, y = x+c.num[i], y+c.den[i]
	}
	m.n = int64(len(c.row))
	known := m.n > 0 && y > 0
	switch {
	case m.of == ofRequests, m.of == ofStage && m.stat == count:
		m.n = int64(len(t.id))
		m.set(math.Round(x*t.scale), true)
	case m.of == ofFinding && m.stat == count:
		m.set(math.Round(x*t.scale), true)
	case m.of == ofStage && m.stat == mean:
		m.n = int64(y)
		m.set(math.Floor(x/y), known)
	case m.of == ofStage && m.stat == total:
		m.n = int64(y)
		m.set(math.Round(x*t.scale), known)
	case m.unit() != ratio:
		m.distribution(t.series[m.metric.key()])
		if m.stat == total || m.stat == count {
			m.value = math.Round(m.value * t.scale)
		}
	case m.of == ofHits && m.part > 0 && x == 0: // nobody said anything of that part, or all said 0: the table does not tell
		m.n = 0
	default:
		m.set(x/y, known)
	}
}

// bounds are the one-sided 95 % bounds of a mean, share or rate: those of the table's requests, by draws (R9.2). Where the table is a sample,
// or holds other requests than the value is of, they are moved with the value.
func (m *measurement) bounds(seed uint64) (low, high float64) {
	low, high = stats.RatioBounds(m.column.num, m.column.den, seed)
	x, y := 0.0, 0.0
	for i := range m.column.num {
		x, y = x+m.column.num[i], y+m.column.den[i]
	}
	if d := m.value - x/y; y > 0 && math.Abs(d) >= 1 || m.unit() == ratio && math.Abs(d) > 1e-9 {
		low, high = low+d, high+d
	}
	if m.unit() == ns {
		low, high = math.Round(low), math.Round(high)
	}
	return low, high
}

// exemplars are the three requests that say most about a broken rule: the ones with the worst values, or with the largest part in a sum; ties
// by window, then by id. One that lies in two shards (R2.6) is named once.
func (p *population) exemplars(m *measurement, b bound) []string {
	if m.named != nil {
		out := []string{}
		for _, id := range m.named {
			if len(out) < exemplars && !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
		return out
	}
	t, c := p.table, m.column
	if m.stat == over {
		c = t.at(metric{of: m.of, stat: percentile})
	}
	score := func(i int) (float64, bool) {
		num, den := c.num[i], c.den[i]
		switch {
		case m.of == ofFinding, m.of == ofFailed:
			return float64(t.window[c.row[i]]), num > 0
		case m.of == ofRequests:
			return float64(t.window[c.row[i]]), true
		case m.of == ofHits || m.of == ofReuse:
			if b.least() {
				num = den - num
			}
			return num, true
		case m.of == ofStage && m.key().stat == mean:
			num /= den
		}
		if b.least() {
			num = -num
		}
		return num, true
	}
	type row struct {
		score float64
		at    int32
	}
	var best []row
	compare := func(a, b row) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(t.window[b.at], t.window[a.at]), strings.Compare(t.id[a.at], t.id[b.at]))
	}
	for i := range c.row {
		s, ok := score(i)
		r := row{s, c.row[i]}
		if !ok || len(best) == exemplars && compare(r, best[exemplars-1]) > 0 {
			continue
		}
		if at := slices.IndexFunc(best, func(a row) bool { return t.id[a.at] == t.id[r.at] }); at >= 0 {
			if compare(r, best[at]) >= 0 {
				continue
			}
			best = slices.Delete(best, at, at+1)
		}
		at, _ := slices.BinarySearchFunc(best, r, compare)
		if best = slices.Insert(best, at, r); len(best) > exemplars {
			best = best[:exemplars]
		}
	}
	out := []string{}
	for _, r := range best {
		out = append(out, t.id[r.at])
	}
	return out
}

// exemplars is how many requests a result names (R9.6).
const exemplars = 3
