package clock

import "github.com/cbtrace/cbtrace/internal/model"

// A Checker counts the pairs of requests that disagree with what a table knows of their clocks. It belongs to one goroutine.
type Checker struct {
	table   *Table
	extract extractor
	known   [1 << 6]checked // by the last bits of the two clocks: few others are asked about in turn
}

// checked is what the table knows of the clocks of a client and a server.
type checked struct {
	client, server model.ProcID
	asked          bool
	est            *estimate // nil: nothing
	serverIsA      bool
}

// Checker returns one for the table.
func (t *Table) Checker() *Checker { return &Checker{table: t} }

// Disagreeing is how many pairs of a cleaned or linked request contradict the clocks as they were estimated (R5.3), or hold nothing where most
// of their kind do not (R5.2). The spans a shutdown ended are to be flagged.
func (c *Checker) Disagreeing(r *model.Request) int {
	n := 0
	for _, f := range c.extract.pairsOf(r) {
		if f.client.Has(model.FlagShutdown) || f.server.Has(model.FlagShutdown) {
			continue
		}
		if k := c.between(f.client.Clock, f.server.Clock); k.est != nil {
			if p := newPair(f, k.serverIsA); k.est.contradicts(&p) {
				n++
			}
		}
	}
	return n
}

func (c *Checker) between(client, server model.ProcID) *checked {
	k := &c.known[(client*7+server)%model.ProcID(len(c.known))]
	if !k.asked || k.client != client || k.server != server {
		e := c.table.between(client, server)
		*k = checked{client, server, true, e, e != nil && c.table.clock(server) == e.a}
	}
	return k
}

// contradicts reports whether the estimate breaks a bound of a pair by more than a tick.
func (e *estimate) contradicts(p *pair) bool {
	if !e.ends && p.bounded() {
		return p.low > p.high
	}
	if !e.known() {
		return false
	}
	var offset, at int64
	if p.hasLow {
		if offset, at = e.offset(p.lowAt), p.lowAt; offset+1 < p.low {
			return true
		}
	}
	if p.hasHigh {
		if !p.hasLow || p.highAt != at {
			offset = e.offset(p.highAt)
		}
		return offset-1 > p.high
	}
	return false
}
