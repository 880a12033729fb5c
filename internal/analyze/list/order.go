package list

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A Key is what requests are ordered by: what one would look at first comes first.
type Key uint8

const (
	ByStart    Key = iota // the earliest first
	ByDuration            // the longest first
	ByTTFT                // the longest first
	ByHitRate             // the lowest first
	ByFindings            // the most errors first, then warnings, then notes
	ByID
	NumKeys
)

func (k Key) String() string {
	return [...]string{"start", "duration", "ttft", "hit_rate", "findings", "id"}[k]
}

// An Order is how requests are listed. Requests without the number that is asked for come last, reversed or not. Ties go by (start, id).
type Order struct {
	Key     Key
	Reverse bool
}

// Compare orders two requests; 0 only for two of one id, start and external id.
func (o Order) Compare(a, b *Request) int {
	c := 0
	switch o.Key {
	case ByStart:
		c = o.numbers(model.Opt{V: int64(a.Start), OK: a.Start != 0}, model.Opt{V: int64(b.Start), OK: b.Start != 0}, 1)
	case ByDuration:
		c = o.numbers(model.Opt{V: a.Window, OK: a.Start != 0}, model.Opt{V: b.Window, OK: b.Start != 0}, -1)
	case ByTTFT:
		c = o.numbers(a.TTFT, b.TTFT, -1)
	case ByHitRate:
		c = o.rates(a.hitRate(), b.hitRate())
	case ByFindings:
		c = o.numbers(model.Some(weight(a.Findings)), model.Some(weight(b.Findings)), -1)
	case ByID:
		c = o.turn(strings.Compare(a.ID, b.ID))
	}
	return cmp.Or(c, cmp.Compare(a.Start, b.Start), strings.Compare(a.ID, b.ID), strings.Compare(a.External, b.External))
}

func (o Order) turn(c int) int {
	if o.Reverse {
		return -c
	}
	return c
}

// numbers orders known numbers, the smallest first with a sign of 1, the largest with -1; unknown ones last.
func (o Order) numbers(a, b model.Opt, sign int) int {
	if !a.OK || !b.OK {
		return unknownLast(a.OK, b.OK)
	}
	return o.turn(sign * cmp.Compare(a.V, b.V))
}

func (o Order) rates(a, b model.OptFloat) int {
	if !a.OK || !b.OK {
		return unknownLast(a.OK, b.OK)
	}
	return o.turn(cmp.Compare(a.V, b.V))
}

func unknownLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// weight counts findings so that one error is more than any number of warnings, and one warning more than any number of notes.
func weight(set model.FindingSet) (n int64) {
	if set == 0 {
		return 0
	}
	per := [...]int64{finding.Error: 1 << 16, finding.Warning: 1 << 8, finding.Note: 1}
	for i := range finding.Registry {
		if set.Has(i) {
			n += per[finding.Registry[i].Severity]
		}
	}
	return n
}

// A Top gathers the first requests of an order. Its memory is that of Limit requests, or of all it is given where that is 0.
type Top struct {
	Order Order
	Limit int
	Total int64 // requests offered
	rows  []Request
}

// Add offers a request. Of one that stays the ids are cloned.
func (t *Top) Add(q *Request) {
	t.Total++
	if t.Limit <= 0 {
		t.rows = append(t.rows, q.Clone())
		return
	}
	h := (*last)(t)
	switch {
	case len(t.rows) < t.Limit:
		heap.Push(h, q.Clone())
	case t.Order.Compare(q, &t.rows[0]) < 0:
		t.rows[0] = q.Clone()
		heap.Fix(h, 0)
	}
}

// Merge adds what another Top gathered, which must not be used again.
func (t *Top) Merge(o *Top) {
	total := t.Total + o.Total
	for i := range o.rows {
		t.Add(&o.rows[i])
	}
	t.Total = total
}

// Requests are those gathered, in order.
func (t *Top) Requests() []Request {
	slices.SortFunc(t.rows, func(a, b Request) int { return t.Order.Compare(&a, &b) })
	return t.rows
}

// last is a heap of which the request that comes last is the first.
type last Top

func (h *last) Len() int           { return len(h.rows) }
func (h *last) Less(i, j int) bool { return h.Order.Compare(&h.rows[i], &h.rows[j]) > 0 }
func (h *last) Swap(i, j int)      { h.rows[i], h.rows[j] = h.rows[j], h.rows[i] }
func (h *last) Push(x any)         { h.rows = append(h.rows, x.(Request)) }
func (h *last) Pop() any {
	x := h.rows[len(h.rows)-1]
	h.rows = h.rows[:len(h.rows)-1]
	return x
}

// Document is what was gathered as it is printed.
func (t *Top) Document(d *model.Dict) *Document {
	requests := t.Requests()
	doc := &Document{Schema: Schema, Requests: make([]Row, len(requests)), Total: t.Total, Shown: int64(len(requests))}
	for i := range requests {
		doc.Requests[i] = requests[i].Row(d)
	}
	return doc
}
