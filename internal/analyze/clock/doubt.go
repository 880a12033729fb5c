package clock

import "github.com/cbtrace/cbtrace/internal/model"

// Doubts reports whether a table of a sample may tell less of a linked request than one of the whole would (R5.7): it does not know that a process went on
// after a span that may have ended with it (R4.30), or has too few pairs of two of its clocks, though the request shows that there are some (R5.4).
func (c *Checker) Doubts(r *model.Request) bool {
	for _, s := range r.Spans {
		if couldBeStopped(s) && c.table.stops.near(s.Proc, s.RawEnd) && s.Dur() > stoppedAfter {
			return true
		}
	}
	if c.table.opt.NoSkew {
		return false
	}
	for _, f := range c.extract.pairsOf(r) {
		if e := c.between(f.client.Clock, f.server.Clock).est; e != nil && e.pairs < fewestPairs {
			return true
		}
	}
	return false
}

// near reports whether a span that ended then did so within stoppedWithin of the last instant of its process: (1) of R4.30.
func (t *stops) near(proc model.ProcID, end model.Time) bool {
	return int(proc) < len(t.procs) && t.procs[proc] != nil && end >= t.procs[proc].last-stoppedWithin
}
