package lct

import (
	"iter"
	"time"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// An Instant is the moment of one record on both clocks of the process that wrote it.
type Instant struct {
	Mono time.Duration // since the recording began, on the monotonic clock
	Wall model.Time
}

// Step is how far the wall clock was set between two instants of one recording: what it advanced more than the monotonic clock did, below 0 when it
// was set back. Both are written as float seconds: without a step it is within ±0.5 µs, plus what a clock that is slewed drifts (up to 500 ppm of the
// time between). Threads write records out of order, so a step shows between neighbours of Mono, not of the file.
func (a Instant) Step(b Instant) time.Duration { return b.Wall.Sub(a.Wall) - (b.Mono - a.Mono) }

// Instants are the moments of the records of a block, in its order. Those without both times are left out.
func Instants(blk decode.Block) iter.Seq[Instant] {
	return func(yield func(Instant) bool) {
		var rep decode.Report
		w, _, err := newWalker(&blk, &rep)
		if err != nil {
			return
		}
		for r := (record{}); ; {
			if _, ok := w.next(&r); !ok {
				return
			}
			wall := wallTime(r.wall)
			if wall == 0 || !(r.mono >= 0 && r.mono < 9.2e9) {
				continue
			}
			if !yield(Instant{Mono: time.Duration(r.mono * 1e9), Wall: wall}) {
				return
			}
		}
	}
}
