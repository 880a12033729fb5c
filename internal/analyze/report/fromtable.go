package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

// told is what single requests tell: of which models they are, which of them failed, which took longest in a stage, what the cache was worth.
// Of more requests than the table holds it is a uniform sample that tells (R8.4).
type told struct {
	models  map[model.StrID]int64 // their weights, in fixed point, so that the order does not matter (R2.5)
	failed  []failedOne
	longest [int(model.NumStages) * numOwners]longestIn
	worth   worthSums
}

// A failedOne is a request that failed, and why.
type failedOne struct {
	window  int64
	id, why string
}

// longestIn is the request that took longest in a stage; without an id there is none.
type longestIn struct {
	total int64
	id    string
}

func (l *longestIn) see(total int64, id string) {
	if l.id == "" || total > l.total || total == l.total && id < l.id {
		l.total, l.id = total, id
	}
}

// toldAtOnce is how many digests are unpacked at a time.
const toldAtOnce = 2048

// tell goes through the requests of a table, parts of them side by side, with other work that is numbered below n. Of requests that do
// not count nothing is told.
func (t *Table) tell(which Counting, n int, do func(i int)) *told {
	t.prune()
	var out told
	var mu sync.Mutex
	parts := slices.Collect(slices.Chunk(t.rows, toldAtOnce))
	model.InParallel(len(parts)+n, func(i int) {
		if i >= len(parts) {
			do(i - len(parts))
			return
		}
		var part told
		var d Digest
		for j := range parts[i] {
			parts[i][j].unpack(&d)
			if which.Counts(d.Flags) {
				part.add(&d)
			}
		}
		mu.Lock()
		out.merge(&part)
		mu.Unlock()
	})
	return &out
}

func (t *told) add(d *Digest) {
	weight := int64(1 << 20)
	if d.Weight > 0 {
		weight = int64(math.Round(min(d.Weight, 1<<20) * (1 << 20)))
	}
	if t.models == nil {
		t.models = map[model.StrID]int64{}
	}
	t.models[d.Model] += weight
	if d.failed() {
		t.failed = append(t.failed, failedOne{d.Window, d.ID, d.why()})
	}
	t.worth.add(d)
	for i := range d.Stages {
		if s := &d.Stages[i]; s.Counted > 0 {
			t.longest[int(s.Stage)*numOwners+int(s.Owner)].see(s.Total, d.ID)
		}
	}
}

func (t *told) merge(o *told) {
	if t.models == nil {
		t.models = map[model.StrID]int64{}
	}
	for id, weight := range o.models {
		t.models[id] += weight
	}
	t.failed = append(t.failed, o.failed...)
	for i := range o.longest {
		if l := &o.longest[i]; l.id != "" {
			t.longest[i].see(l.total, l.id)
		}
	}
	t.worth.merge(o.worth)
}

// shares are those of the models in the requests.
func (t *told) shares(dict *model.Dict) map[string]float64 {
	whole, out := int64(0), map[string]float64{}
	for _, weight := range t.models {
		whole += weight
	}
	for id, weight := range t.models {
		out[dict.Str(id)] = float64(weight) / float64(whole)
	}
	return out
}

// told fills in what single requests told.
func (d *Document) told(t *told, dict *model.Dict) {
	d.Models = t.shares(dict)
	for i := range d.Stages {
		s := &d.Stages[i]
		if s.MaxNS.V > 0 { // points take no time anywhere
			s.Longest = t.longest[int(model.StageOf(s.Stage))*numOwners+int(ownerOf(s.Owner))].id
		}
	}
	slices.SortFunc(t.failed, func(a, b failedOne) int {
		return cmp.Or(cmp.Compare(b.window, a.window), strings.Compare(a.id, b.id), strings.Compare(a.why, b.why))
	})
	for _, q := range t.failed[:min(len(t.failed), longest)] {
		d.Failed.Exemplars, d.Failed.Why = append(d.Failed.Exemplars, q.id), append(d.Failed.Why, q.why)
	}
	d.CacheWorth = t.worth.worth(dict.Str)
}

// ownerOf is the owner of a name.
func ownerOf(name string) model.Owner {
	for o := model.OwnerNone; int(o) < numOwners; o++ {
		if o.String() == name {
			return o
		}
	}
	return model.OwnerNone
}

// failed is R7.11.
func (d *Digest) failed() bool {
	return d.Findings.Has(finding.RetrieveFailed) || d.Findings.Has(finding.RequestError) || d.Flags&model.RowAborted != 0
}

// why says how a request failed that did, by what is gravest.
func (d *Digest) why() string {
	switch {
	case d.Findings.Has(finding.RetrieveFailed):
		return finding.Registry[finding.RetrieveFailed].Code
	case d.Findings.Has(finding.RequestError):
		return finding.Registry[finding.RequestError].Code
	}
	return "aborted"
}

// Outlasting is the background stage whose longest span took longest, where that is longer than 95 % of the requests took in all and ten times
// its own median: nobody waited for it, but it held something up or got stuck. nil where there is none.
func (d *Document) Outlasting() (worst *Stage) {
	if !d.Latency.P95NS.OK {
		return nil
	}
	for i := range d.Stages {
		s := &d.Stages[i]
		if s.Class == model.Background.String() && s.MaxNS.V > d.Latency.P95NS.V && s.MaxNS.V > outlastingTimes*s.P50NS.V && (worst == nil || s.MaxNS.V > worst.MaxNS.V) {
			worst = s
		}
	}
	return worst
}

const outlastingTimes = 10
