package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// longest is how many exemplars a finding and rows the list of the slowest have (R7.14).
const longest = 20

// An exemplar is a request in a list of the longest.
type exemplar struct {
	by     int64 // what the list is ordered by, largest first
	id     string
	window int64
	ttft   model.Opt
	stage  string         // the one with the most critical time
	flags  model.RowFlags // of that stage: RowTop
}

// compare orders by amount and id. A request that lies in two shards has two exemplars of one id; what follows tells those apart.
func (a *exemplar) compare(b *exemplar) int {
	if c := cmp.Or(cmp.Compare(b.by, a.by), strings.Compare(a.id, b.id)); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(b.window, a.window), cmp.Compare(b.ttft.V, a.ttft.V), strings.Compare(a.stage, b.stage), cmp.Compare(a.flags, b.flags))
}

// A top is the longest requests, ties by id: a function of the set of requests, whatever the order in which they come.
type top []exemplar

// add offers a request whose place in the list is by an amount; d holds the names of its stages.
func (t *top) add(by int64, r *model.Row, d *model.Dict) {
	if len(*t) == longest {
		if last := &(*t)[longest-1]; by < last.by || by == last.by && r.ID > last.id {
			return
		}
	}
	t.insert(exemplar{by, strings.Clone(r.ID), r.Window, r.TTFT, d.Str(r.TopStage), r.Flags & model.RowTop})
}

func (t *top) insert(e exemplar) {
	at, _ := slices.BinarySearchFunc(*t, &e, func(a exemplar, b *exemplar) int { return a.compare(b) })
	if at == longest {
		return
	}
	if len(*t) == longest {
		*t = (*t)[:longest-1]
	}
	*t = slices.Insert(*t, at, e)
}

func (t *top) merge(o top) {
	for _, e := range o {
		t.insert(e)
	}
}

// ids are the requests, longest first; never nil.
func (t top) ids() []string {
	out := make([]string, 0, len(t))
	for i := range t {
		out = append(out, t[i].id)
	}
	return out
}
