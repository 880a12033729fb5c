package clock

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Which instance the process of profile lines is (R4.11).
//
// Lines name no instance: their process is a file, and a pid. What was seen both as a line and as a span (R4.10) votes for the span's instance, and the
// most votes count. Where nothing was seen both ways, an instance with that pid whose spans are in the same requests counts, by how many requests: the
// plugin may export no stage that it also profiles, and still there is one scheduler 4242. In containers pids are small, and the engine and every worker
// may be process 1; so the spans must be of the same owner and of no other rank. Where there are none, spans of unknown names do, if the pid is one
// that the first processes of a container do not have.

// votes count for one instance: pairs of R4.10, requests with spans of the same owner and pid, requests with spans of the same pid.
type votes struct{ pairs, requests, others int64 }

// firstTelling is the first pid that tells a process by itself: Linux hands out smaller ones only once, after a boot or in a new container.
const firstTelling = 300

// A ballot is the votes of all line processes.
type ballot map[model.LineProcess]map[model.ProcID]votes

func (b ballot) add(lines model.LineProcess, instance model.ProcID, n votes) {
	of := b[lines]
	if of == nil {
		of = map[model.ProcID]votes{}
		b[lines] = of
	}
	v := of[instance]
	of[instance] = votes{v.pairs + n.pairs, v.requests + n.requests, v.others + n.others}
}

func (b ballot) merge(o ballot) {
	for lines, of := range o {
		for instance, n := range of {
			b.add(lines, instance, n)
		}
	}
}

// addVotes takes in the votes of a cleaned request.
func (v *Survey) addVotes(r *model.Request) {
	for _, vote := range r.Votes {
		v.votes.add(vote.Lines, vote.Span, votes{pairs: 1})
	}
	v.voters = v.voters[:0]
	for _, s := range r.Spans {
		if !s.Line || s.Owner() == model.OwnerNone {
			continue
		}
		who := voter{r.LineProcess(s), s.Owner(), s.Worker()}
		if who.lines.PID != 0 && !slices.Contains(v.voters, who) {
			v.voters = append(v.voters, who)
		}
	}
	if len(v.voters) == 0 {
		return
	}
	v.voted = v.voted[:0]
	for _, s := range r.Spans {
		if s.Line {
			continue
		}
		res := r.Dict.Res(s.Res)
		if res.PID == 0 || res.Instance == "" {
			continue
		}
		rank := s.Worker()
		for _, who := range v.voters {
			if who.lines.PID != res.PID || who.lines.Proc == s.Proc || who.rank != "" && rank != "" && who.rank != rank {
				continue
			}
			n := votes{requests: 1}
			switch {
			case who.owner == s.Owner():
			case s.Owner() == model.OwnerNone && res.PID >= firstTelling:
				n = votes{others: 1}
			default:
				continue
			}
			if x := (voted{who.lines, s.Proc, n}); !slices.Contains(v.voted, x) {
				v.voted = append(v.voted, x)
				v.votes.add(x.lines, x.instance, n)
			}
		}
	}
}

// A voter is a line process, and as whose owner and rank it wrote in a request.
type voter struct {
	lines model.LineProcess
	owner model.Owner
	rank  string
}

// voted is how a request voted.
type voted struct {
	lines    model.LineProcess
	instance model.ProcID
	n        votes
}

// elect finds the instance of each line process, and which processes share a clock: the lines of one file, and the instances that they are.
func (t *Table) elect(b ballot) {
	t.instances = map[model.LineProcess]model.ProcID{}
	strength := map[model.ProcID]int64{}
	var groups [][]model.ProcID
	for lines, of := range b {
		best := slices.MinFunc(slices.Collect(maps.Keys(of)), func(x, y model.ProcID) int {
			return cmp.Or(cmp.Compare(of[y].pairs, of[x].pairs), cmp.Compare(of[y].requests, of[x].requests), cmp.Compare(of[y].others, of[x].others), t.byName(x, y))
		})
		t.instances[lines] = best
		strength[best] += of[best].pairs<<20 + of[best].requests + of[best].others
		groups = append(groups, []model.ProcID{lines.Proc, best})
	}
	for again := true; again; { // join groups that have a process in common
		again = false
		for i := 0; i < len(groups); i++ {
			for j := len(groups) - 1; j > i; j-- {
				if slices.ContainsFunc(groups[j], func(p model.ProcID) bool { return slices.Contains(groups[i], p) }) {
					groups[i] = append(groups[i], groups[j]...)
					groups = slices.Delete(groups, j, j+1)
					again = true
				}
			}
		}
	}
	t.shared = map[model.ProcID]model.ProcID{}
	for _, g := range groups {
		head := slices.MinFunc(g, func(x, y model.ProcID) int {
			return cmp.Or(cmp.Compare(strength[y], strength[x]), t.byName(x, y))
		})
		for _, p := range g {
			t.shared[p] = head
		}
	}
}

// clock is the process by whose name the clock of a process goes: its own, but of one that shares its clock.
func (t *Table) clock(p model.ProcID) model.ProcID {
	if head, ok := t.shared[p]; ok {
		return head
	}
	return p
}

// Process is the process of a span: of a profile line the instance that its process turned out to be (R4.11).
func (t *Table) Process(r *model.Request, s *model.Span) model.ProcID {
	if !s.Line || len(t.instances) == 0 {
		return s.Proc
	}
	if p, ok := t.instances[r.LineProcess(s)]; ok {
		return p
	}
	return s.Proc
}

// clocks are the pairs of the survey by clock: pairs of processes that share one are those of its head.
func (t *Table) clocks(v *Survey) map[procPair]*sample {
	if len(t.shared) == 0 {
		return v.samples
	}
	out := make(map[procPair]*sample, len(v.samples))
	for pp, s := range v.samples {
		a, b := t.clock(pp.a), t.clock(pp.b)
		if a == b {
			continue
		}
		to, swapped := v.order(a, b)
		moved := &sample{pairs: slices.Clone(s.pairs), bound: s.bound}
		if swapped {
			for i := range moved.pairs {
				moved.pairs[i].swap()
			}
		}
		if out[to] == nil {
			out[to] = moved
			continue
		}
		out[to].merge(moved)
	}
	return out
}

// swap turns what a pair says of b's clock into the same of a's: instants are those of the span that starts on it.
func (p *pair) swap() {
	starts := p.low
	if p.serverIsA {
		starts = p.high
	}
	at := p.at() + starts
	p.low, p.high = -p.high, -p.low
	p.hasLow, p.hasHigh = p.hasHigh, p.hasLow
	p.serverIsA = !p.serverIsA
	p.lowAt, p.highAt = 0, 0
	if p.hasLow {
		p.lowAt = at
	}
	if p.hasHigh {
		p.highAt = at
	}
}

// appendVotes writes the votes: process of the lines, pid, instance and the three counts, in order of the first three.
func (e *encoder) appendVotes(b ballot) {
	type row struct {
		lines    uint64
		pid      int64
		instance uint64
		n        votes
	}
	var rows []row
	for lines, of := range b {
		for instance, n := range of {
			rows = append(rows, row{e.procs[lines.Proc], lines.PID, e.procs[instance], n})
		}
	}
	slices.SortFunc(rows, func(x, y row) int {
		return cmp.Or(cmp.Compare(x.lines, y.lines), cmp.Compare(x.pid, y.pid), cmp.Compare(x.instance, y.instance))
	})
	e.uvarint(uint64(len(rows)))
	for _, r := range rows {
		e.uvarint(r.lines)
		e.b = binary.AppendVarint(e.b, r.pid)
		e.uvarint(r.instance)
		e.uvarint(uint64(r.n.pairs))
		e.uvarint(uint64(r.n.requests))
		e.uvarint(uint64(r.n.others))
	}
}

func (d *decoder) votes(v *Survey) {
	for range d.count(6) {
		lines := model.LineProcess{Proc: place(d, d.procs), PID: d.varint()}
		instance := place(d, d.procs)
		n := votes{d.number(), d.number(), d.number()}
		d.require(n != votes{} && n.pairs < maxVotes && n.requests < maxVotes && n.others < maxVotes)
		if d.bad {
			return
		}
		v.votes.add(lines, instance, n)
	}
}

// maxVotes bounds what a file may say.
const maxVotes = 1 << 36
