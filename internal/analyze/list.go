package analyze

import (
	"context"

	"github.com/cbtrace/cbtrace/internal/analyze/list"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Between is the interval of window starts that two instants select, resolved against the last instant of a capture (R3.2): all from since
// on and before until. given is false where neither was set.
func Between(from, to When, last model.Time) (since, until model.Time, given bool) {
	since, left := from.resolve(last)
	until, right := to.resolve(last)
	if !left {
		since = -1 << 63
	}
	if !right {
		until = 1<<63 - 1
	}
	return since, until, left || right
}

// List is the requests of the capture in an order, at most limit of them where that is not 0. As in a report those without a stage of the
// vocabulary are left out, unless all is asked for or the capture holds nothing else (R4.4).
func (c *Capture) List(ctx context.Context, order list.Order, limit int, all bool) (*list.Document, error) {
	workers := make([]struct{ known, other list.Top }, c.opt.jobs())
	err := c.rows(ctx, func(w int) func(*analyzer, *model.Row) error {
		p := &workers[w]
		p.known, p.other = list.Top{Order: order, Limit: limit}, list.Top{Order: order, Limit: limit}
		return func(_ *analyzer, row *model.Row) error {
			q := list.OfRow(c.Dict, row)
			switch {
			case all || q.Flags.Known():
				p.known.Add(&q)
			case c.Counting(all).All(): // once there are others it cannot matter
				p.other.Add(&q)
			}
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	sum := workers[0]
	for i := range workers[1:] {
		sum.known.Merge(&workers[i+1].known)
		sum.other.Merge(&workers[i+1].other)
	}
	if c.Counting(all).All() {
		sum.known.Merge(&sum.other)
	}
	return sum.known.Document(c.Dict), nil
}

// StreamList gives the requests that List lists to emit one at a time, in the order of Stream and in bounded memory, and says how many there
// were. An error of emit ends the run and is returned.
func (c *Capture) StreamList(ctx context.Context, all bool, emit func(*list.Row) error) (n int64, err error) {
	stream := func(all bool) error {
		return Stream(ctx, c, func(int) func(*model.Request, *model.Row) (list.Request, bool) {
			return func(_ *model.Request, row *model.Row) (list.Request, bool) {
				q := list.OfRow(c.Dict, row)
				if !all && !q.Flags.Known() {
					return q, false
				}
				return q.Clone(), true
			}
		}, func(q list.Request) error {
			n++
			row := q.Row(c.Dict)
			return emit(&row)
		})
	}
	if err := stream(all); err != nil || !c.Counting(all).Alone() {
		return n, err
	}
	return n, stream(true)
}
