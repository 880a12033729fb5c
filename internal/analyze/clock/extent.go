package clock

import (
	"cmp"
	"slices"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// day is the gap past which instants are not of one time (R8.8).
const day = model.Time(24 * time.Hour)

// An extent is the instants of a capture: how many there were on each day of the epoch, the first and the last of them. Those of one day are
// always within a gap of one another, and 64 bits of ns hold some 200 000 days.
type extent struct {
	days map[int64]*group
	last *group // the day asked for last
	at   int64  // its number
	from model.Time
}

// A group is n instants from first to last.
type group struct {
	first, last model.Time
	n           int64
}

func (g *group) join(o group) {
	if g.n == 0 {
		*g = o
		return
	}
	*g = group{min(g.first, o.first), max(g.last, o.last), g.n + o.n}
}

func dayOf(t model.Time) int64 {
	d := int64(t / day)
	if t%day < 0 {
		d--
	}
	return d
}

func (e *extent) add(t model.Time) {
	if g := e.last; g != nil && uint64(t)-uint64(e.from) < uint64(day) {
		g.first, g.last = min(g.first, t), max(g.last, t)
		g.n++
		return
	}
	e.join(dayOf(t), group{t, t, 1})
}

func (e *extent) join(d int64, g group) {
	if e.last == nil || e.at != d {
		if e.days == nil {
			e.days = map[int64]*group{}
		}
		if e.days[d] == nil {
			e.days[d] = &group{}
		}
		e.last, e.at, e.from = e.days[d], d, model.Time(d)*day
	}
	e.last.join(g)
}

func (e *extent) merge(o *extent) {
	for d, g := range o.days {
		e.join(d, *g)
	}
}

// byDay are the days, ascending.
func (e *extent) byDay() []group {
	days := make([]group, 0, len(e.days))
	for _, g := range e.days {
		days = append(days, *g)
	}
	slices.SortFunc(days, func(x, y group) int { return cmp.Compare(x.first, y.first) })
	return days
}

// span is the range of the capture: its instants are cut into groups at gaps over a day, and the smallest groups are left out while they are at
// most a thousandth of all together (R8.8). Of groups of one size the later goes first.
func (e *extent) span() (first, last model.Time, ok bool) {
	var groups []group
	var all, out int64
	for _, g := range e.byDay() {
		all += g.n
		if n := len(groups); n > 0 && uint64(g.first)-uint64(groups[n-1].last) <= uint64(day) {
			groups[n-1].join(g)
			continue
		}
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(x, y group) int {
		return cmp.Or(cmp.Compare(x.n, y.n), cmp.Compare(y.first, x.first))
	})
	for i, g := range groups {
		if out += g.n; out > all/1000 {
			whole := g
			for _, g := range groups[i:] {
				whole.join(g)
			}
			return whole.first, whole.last, true
		}
	}
	return 0, 0, false
}
