package analyze

import (
	"context"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Each analyses every selected request and gives it, linked and with its row, to the function of its worker. start is called once per worker,
// before any work; what the function is given is good until it returns.
func (c *Capture) Each(ctx context.Context, start func(worker int) func(*model.Request, *model.Row) error) error {
	return c.rows(ctx, func(w int) func(*analyzer, *model.Row) error {
		fn := start(w)
		return func(a *analyzer, row *model.Row) error { return fn(a.req, row) }
	})
}

// Stream analyses every selected request and gives what of makes of it to emit, one at a time and in the order of the hash of its id: the
// same sequence for any number of workers and partitions. ok says whether there is anything to emit. Held at once is what comes of one
// partition per worker. start is called once per worker, before any work; an error of emit ends the run and is returned.
func Stream[T any](ctx context.Context, c *Capture, start func(worker int) (of func(*model.Request, *model.Row) (made T, ok bool)), emit func(T) error) error {
	turns := make([]chan struct{}, c.store.Partitions()+1) // turns[i] is closed once the partitions before i are emitted
	for i := range turns {
		turns[i] = make(chan struct{})
	}
	close(turns[0])
	c.begin()
	return c.eachPartition(ctx, func(worker int) func(context.Context, int) error {
		of := start(worker)
		var made []T
		read := c.selected(nil, func(a *analyzer, row *model.Row) error {
			if t, ok := of(a.req, row); ok {
				made = append(made, t)
			}
			return nil
		})
		return func(ctx context.Context, i int) error {
			made = made[:0]
			if err := c.store.Read(ctx, i, read); err != nil {
				return err
			}
			select {
			case <-turns[i]:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			for n := range made {
				if err := emit(made[n]); err != nil {
					return err
				}
			}
			clear(made)
			close(turns[i+1])
			return nil
		}
	})
}
