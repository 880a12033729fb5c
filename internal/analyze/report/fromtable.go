package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

// fromTable fills in what single requests tell: which of them failed, which took longest in a stage, what the cache was worth. All requests
// count, or those with a stage of the vocabulary. Of more requests than the table holds it is a uniform sample that tells (R8.4).
func (d *Document) fromTable(t *Table, all bool) {
	type stageOf struct {
		stage model.Stage
		owner model.Owner
	}
	took, ids := map[stageOf]int64{}, map[stageOf]string{}
	var failed []*Digest
	var w worthSums
	for i := range t.kept.rows { // in no order: nothing below depends on it
		q := t.kept.rows[i].digest()
		if !all && q.Flags&model.RowVocabulary == 0 {
			continue
		}
		if q.failed() {
			failed = append(failed, q)
		}
		w.add(q)
		for i := range q.Stages {
			s := &q.Stages[i]
			key := stageOf{s.Stage, s.Owner}
			if before, ok := took[key]; s.Counted > 0 && (!ok || s.Total > before || s.Total == before && q.ID < ids[key]) {
				took[key], ids[key] = s.Total, q.ID
			}
		}
	}
	for i := range d.Stages {
		s := &d.Stages[i]
		if s.MaxNS.V > 0 { // points take no time anywhere
			s.Longest = ids[stageOf{model.StageOf(s.Stage), ownerOf(s.Owner)}]
		}
	}
	slices.SortFunc(failed, func(a, b *Digest) int { return cmp.Or(cmp.Compare(b.Window, a.Window), strings.Compare(a.ID, b.ID)) })
	for _, q := range failed[:min(len(failed), longest)] {
		d.Failed.Exemplars, d.Failed.Why = append(d.Failed.Exemplars, q.ID), append(d.Failed.Why, q.why())
	}
	d.CacheWorth = w.worth(t.kept.dict.Str)
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
