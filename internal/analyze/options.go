package analyze

import (
	"context"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Sink takes the records of one goroutine that decodes. A batch is good during the call.
type Sink interface {
	Add(*model.Batch) error
	Close() error
}

// A Read reads a capture once: it registers the inputs with d, sends every record to a sink, and says what became of each input, in the order
// of paths. Package ingest has one; which attributes are kept and how many goroutines decode is its caller's choice.
type Read func(ctx context.Context, d *model.Dict, newSink func() Sink) ([]model.InputStats, error)

// A When is an instant on the command line: absolute, or relative to the last instant of the capture (R3.2). The zero value is none.
type When struct {
	At       model.Time
	Ago      time.Duration // before the capture's last instant, when Relative
	Relative bool
	Set      bool
}

func (w When) resolve(last model.Time) (model.Time, bool) {
	if w.Relative {
		return last - model.Time(w.Ago), w.Set
	}
	return w.At, w.Set
}
