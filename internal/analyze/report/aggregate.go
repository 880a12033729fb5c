// Package report adds up the rows of requests and makes the report of them (DESIGN 7.12, 8; OUTPUT report).
//
// One Aggregate per worker reads each row once and keeps sums, counts, series, top lists and the request table. Everything it keeps is a
// function of the multiset of rows: neither their order nor how they are spread over aggregates that are merged changes a byte (R2.5).
// Its size is bounded by names, groups and buckets (R8.7) and by the exact values of its series (R8.3).
package report

import (
	"math"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Per says what a value of a stage's percentiles is (R8.1).
type Per uint8

const (
	PerSpan    Per = iota // the duration of a span
	PerRequest            // the time that all spans of a stage cover in a request
)

func (p Per) String() string { return [...]string{"span", "request"}[p] }

// Options say what is added up. The zero value is the default of every flag.
type Options struct {
	Per          Per
	Method       Method
	All          bool       // requests without a vocabulary stage count like the others (R4.4)
	Since, Until model.Time // requests were selected by window start in [Since, Until); 0 is open
	SLOs         []SLO
	By           []By
	Bucket       time.Duration // the least length of a bucket; 0: the finest there is
}

// An Aggregate adds up the rows of one worker.
type Aggregate struct {
	dict *model.Dict
	opt  Options

	main *tally // requests with a stage of the vocabulary
	rest *tally // the others: which of the two is the report is decided after the last merge (R4.4)

	known bool // the capture holds requests for main, be they selected or not

	counts model.Counts // quality counts are those of all requests
	joins  map[model.JoinKey]int64
	table  Table

	spool *model.Spool // nil: all values of series stay in memory
	most  int          // values that may come before some are put away
	came  int          // values since
}

// New returns an empty aggregate. Aggregates that are to be merged share the Dict and have the same options.
func New(dict *model.Dict, opt Options) *Aggregate {
	a := &Aggregate{dict: dict, opt: opt, joins: map[model.JoinKey]int64{}, table: newTable(dict)}
	a.main, a.rest = newTally(dict, &a.opt), newTally(dict, &a.opt)
	return a
}

// Add counts a request. Nothing of the row is kept.
func (a *Aggregate) Add(r *model.Row) {
	if r.Flags.Known() {
		a.main.add(r)
	} else {
		a.rest.add(r)
	}
	addCounts(&a.counts, &r.Counts)
	for k, n := range r.Joins {
		a.joins[k] += n
	}
	a.table.add(r)
	a.came += len(r.Spans) + valuesBeside
}

// How many values of a row go to series beside those of its spans, about; and how many a series holds in memory for it to be worth putting them away, at most.
const (
	valuesBeside = 12
	someValues   = 1 << 12
)

// PutAway has the values of series lie in a spool for the most part (Relieve): about so many, and few of each series, stay in memory. Aggregates that are
// merged share the spool. Whoever makes something of the values asks Err then.
func (a *Aggregate) PutAway(p *model.Spool, values int) { a.spool, a.most = p, values }

// Relieve puts values away where many came. What cannot be written stays in memory, as what comes after it does: a report that takes more memory is
// better than none.
func (a *Aggregate) Relieve() {
	if a.spool == nil || a.came < a.most {
		return
	}
	a.came = 0
	worth := min(someValues, a.most/64)
	for _, t := range [...]*tally{a.main, a.rest} {
		for _, s := range t.many() {
			if s.Held() >= worth {
				if s.PutAway(a.spool) != nil {
					a.most = math.MaxInt
					return
				}
			}
		}
	}
}

// Away is how many bytes of values were put away, of all aggregates that share the spool.
func (a *Aggregate) Away() int64 { return a.spool.Size() }

// Err is why values that were put away could not be read back: then nothing that was made of the aggregate is right.
func (a *Aggregate) Err() error { return a.spool.Err() }

// Merge adds all that another aggregate holds, which must not be used again.
func (a *Aggregate) Merge(o *Aggregate) {
	a.opt.merge(&o.opt)
	a.main.merge(o.main)
	a.rest.merge(o.rest)
	a.known = a.known || o.known
	addCounts(&a.counts, &o.counts)
	for k, n := range o.joins {
		a.joins[k] += n
	}
	a.table.merge(&o.table)
}

// Table is the request table of what was added (R8.4).
func (a *Aggregate) Table() *Table { return &a.table }

// addCounts adds the counts of a request to those of many.
func addCounts(to, c *model.Counts) {
	from := countsList(c)
	for i, n := range countsList(to) {
		*n += *from[i]
	}
}

// countsList are all counts; a saved report holds them in this order.
func countsList(c *model.Counts) [14]*int64 {
	return [14]*int64{&c.Duplicated, &c.OpenCopies, &c.Conflicting, &c.Orphaned, &c.Adopted, &c.Clipped, &c.Outside, &c.Cycles, &c.Negative,
		&c.Untimed, &c.Open, &c.UnknownStages, &c.Coalesced, &c.Dual}
}
