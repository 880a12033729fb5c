package budget

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A mix is the class of a request by which traffic is compared: hit class and octave of the prompt's length (R8.4).
type mix uint16

// mixOf keeps the octave in the upper part; 0 there is a length that is not known.
func mixOf(d *report.Digest) mix {
	m := mix(0)
	if d.PromptTokens.OK && d.PromptTokens.V >= 0 {
		m = 1 + mix(bits.Len64(uint64(d.PromptTokens.V)))
	}
	return m<<4 | mix(d.HitClass)
}

// length is the class without what was found.
func (m mix) length() mix { return m &^ 15 }

// hit is the class without the prompt's length.
func (m mix) hit() mix { return m & 15 }

// A table is the request table of a subject as columns: the requests of one selection in order of (hash, id) (R9.2).
type table struct {
	id     []string
	start  []model.Time
	window []int64
	mix    []mix
	byTime []int32 // places of the rows in order of (start, id)
	rank   []int32 // the inverse: the place in time of each row

	columns map[metric]*column
	series  map[metric]*model.Series // single values, where figures do not give them
	scale   float64                  // how many requests a row stands for
}

// A column is a metric over a table: the rows that have it, and their parts in Σnum/Σden. For percentiles num is the value.
type column struct {
	row      []int32
	num, den []float64
}

// tableOf takes the columns of some metrics from the request table; keep selects its rows. Percentiles of one thing share a column. With single
// the values behind percentiles, maxima, means and totals are collected too, for a selection that has no figures of its own.
func tableOf(f *report.Figures, keep func(*report.Digest) bool, metrics []metric, single bool) *table {
	t := &table{columns: map[metric]*column{}, series: map[metric]*model.Series{}, scale: 1}
	if kept := f.Table.Len(); kept > 0 {
		t.scale = float64(f.Table.Total) / float64(kept)
	}
	type wanted struct {
		metric
		col    *column
		series *model.Series
	}
	var all []wanted
	for _, m := range metrics {
		key := m.key()
		if t.columns[key] != nil {
			continue
		}
		w := wanted{key, &column{}, &model.Series{}}
		t.columns[key], t.series[key] = w.col, w.series
		all = append(all, w)
	}
	for d := range f.Table.All {
		if !f.Counts(d.Flags) || keep != nil && !keep(d) {
			continue
		}
		at := int32(len(t.id))
		t.id, t.start = append(t.id, d.ID), append(t.start, d.Start)
		t.window, t.mix = append(t.window, d.Window), append(t.mix, mixOf(d))
		for _, w := range all {
			if num, den, ok := w.parts(d, &f.Decision); ok {
				w.col.row, w.col.num, w.col.den = append(w.col.row, at), append(w.col.num, num), append(w.col.den, den)
			}
			if single {
				w.values(d, w.series)
			}
		}
	}
	t.byTime, t.rank = make([]int32, len(t.id)), make([]int32, len(t.id))
	for i := range t.byTime {
		t.byTime[i] = int32(i)
	}
	slices.SortFunc(t.byTime, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.start[a], t.start[b]), strings.Compare(t.id[a], t.id[b]), cmp.Compare(a, b))
	})
	for i, at := range t.byTime {
		t.rank[at] = int32(i)
	}
	return t
}

// key is the metric as the key of a column: those that take something of the same numbers share one.
func (m metric) key() metric {
	m.p = 0
	switch {
	case m.stat == over, m.stat == share, m.of == ofStage && (m.stat == criticalShare || m.stat == critical || m.stat == count):
	case m.of == ofStage && m.stat != percentile:
		m.stat = mean
	case m.unit() == ns || m.stat == count && m.of != ofFinding && m.of != ofRequests:
		m.stat = percentile
	default:
		m.stat = rate
	}
	return m
}

// at is the column of a metric.
func (t *table) at(m metric) *column {
	if c := t.columns[m.key()]; c != nil {
		return c
	}
	return &column{}
}

// stageOf is what a stage did in a request; the zero value when it did nothing.
func (m metric) stageOf(d *report.Digest) (s report.DigestStage) {
	id := model.StageOf(m.stage)
	for i := range d.Stages {
		if d.Stages[i].Stage == id && d.Stages[i].Owner == m.owner {
			s = d.Stages[i]
		}
	}
	return s
}

// latency is the number of a request in a family of latencies.
func (m metric) latency(d *report.Digest) model.Opt {
	if !d.Flags.InLatency() {
		return model.Opt{}
	}
	switch m.of {
	case ofRoot:
		return d.RootDuration
	case ofTTFT:
		return d.TTFT
	case ofQueue:
		return d.Queue
	case ofDecodePerToken:
		return d.DecodePerToken()
	}
	return model.Some(d.Window)
}

// lookup is what a lookup says of a part, of the bases that give parts (R8.2).
func (m metric) lookup(l *report.DigestLookup, part int) model.Opt {
	if l.Basis != model.Measured && l.Basis != model.InferredUpper {
		return model.Opt{}
	}
	return [...]model.Opt{l.RPC, l.Submit, l.L2Load, l.ServerOther, l.PollWait}[part]
}

// lookups adds up a part over the lookups of a request, which is what percentiles per request are of.
func (m metric) lookups(d *report.Digest, part int) (sum float64, ok bool) {
	for i := range d.Lookups {
		if v := m.lookup(&d.Lookups[i], part); v.OK {
			sum, ok = sum+float64(v.V), true
		}
	}
	return sum, ok
}

// parts are those of a request in the metric of a column: a value and 1, or its parts of Σnum/Σden. ok is false for a request that does not
// count in it.
func (m metric) parts(d *report.Digest, dec *report.Decision) (num, den float64, ok bool) {
	one := func(yes bool) (float64, float64, bool) {
		if yes {
			return 1, 1, true
		}
		return 0, 1, true
	}
	switch m.of {
	case ofStage:
		s := m.stageOf(d)
		switch m.stat {
		case criticalShare:
			return float64(s.Critical), float64(d.Window), d.Flags.InLatency()
		case critical:
			return float64(s.Critical), 1, d.Flags.InLatency()
		case count:
			return float64(s.Spans), 1, s.Spans > 0
		case mean:
			return float64(s.Total), float64(s.Counted), s.Counted > 0 && d.Flags&model.RowEdge == 0
		}
		return float64(s.Union), 1, s.Counted > 0 && d.Flags&model.RowEdge == 0
	case ofLookup:
		num, ok = m.lookups(d, m.part)
		if den = 1; m.stat == share {
			den, _ = m.lookups(d, 0)
		}
		return num, den, ok
	case ofHits:
		part := [...]model.Opt{d.Hit, d.L1Tokens, d.L2Tokens, d.Prefix, d.Segmented, d.NonPrefix}[m.part]
		return float64(part.V), float64(d.Requested.V), d.Requested.OK
	case ofReuse:
		return float64(d.Written.V), float64(d.Requested.V), d.Requested.OK && d.Written.OK
	case ofFinding:
		return one(d.Findings.Has(m.code) || m.code == finding.MissingStage && dec.MissingStage && d.Flags&model.RowHitsNotLoaded != 0) // R2.3
	case ofFailed:
		return one(d.Findings.Has(finding.RetrieveFailed) || d.Findings.Has(finding.RequestError) || d.Flags&model.RowAborted != 0) // R7.11
	case ofRequests:
		return 1, 1, true
	}
	v := m.latency(d)
	if m.stat == over && v.OK {
		return one(v.V > int64(m.limit))
	}
	return float64(v.V), 1, v.OK
}

// values adds the single values of a request to those that percentiles are of. Of a stage it is the time that its spans cover: what each took
// is not in the table.
func (m metric) values(d *report.Digest, to *model.Series) {
	if m.of == ofLookup {
		for i := range d.Lookups {
			if v := m.lookup(&d.Lookups[i], m.part); v.OK {
				to.Add(v.V)
			}
		}
		return
	}
	if m.of == ofStage && m.stat == mean {
		m.stat = percentile
	}
	if m.key().stat != percentile {
		return
	}
	if v, _, ok := m.parts(d, nil); ok {
		to.Add(int64(v))
	}
}
