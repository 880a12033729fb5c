package clock

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Options change what a Table answers.
type Options struct {
	NoSkew bool // --no-skew: all offsets are zero everywhere
}

// A Table is a finished survey: all that the analysis of one request may know of the others (R2.2). It implements model.Clock and does not
// change; any number of goroutines may ask it.
type Table struct {
	dict      *model.Dict
	opt       Options
	estimates []*estimate            // by (name of moved, name of reference)
	byPair    map[procPair]*estimate // a and b either way round
	steps     [][]step               // by ProcID: the processes of which the offset to it is known
	procs     []*process
	stops     stops
	requests  Requests
	llm       llmStarts
	start     model.Time
	end       model.Time
	ranged    bool
	leaked    map[uint64]bool // by hash of the trace id

	instances map[model.LineProcess]model.ProcID // of profile lines (R4.11)
	shared    map[model.ProcID]model.ProcID      // by process: the one by whose name the clock goes that it shares

	anchors map[model.ProcID]model.ProcID // of clocks without an epoch (R4.12)

	trees []atomic.Pointer[map[model.ProcID]hop] // by ProcID, those that were asked for
}

var _ model.Clock = (*Table)(nil)

// A step leads from a process to one whose clock is known against it.
type step struct {
	to  model.ProcID
	est *estimate
}

// A hop is the first step of the best route from a process to the root of a tree, and the uncertainty of the whole route.
type hop struct {
	step
	total int64
}

// link fills steps, and makes room for trees.
func (t *Table) link() {
	for _, e := range t.estimates {
		if !e.known() {
			continue
		}
		for n := int(max(e.a, e.b)) + 1; len(t.steps) < n; {
			t.steps = append(t.steps, nil)
		}
		t.steps[e.a] = append(t.steps[e.a], step{e.b, e})
		t.steps[e.b] = append(t.steps[e.b], step{e.a, e})
	}
	t.trees = make([]atomic.Pointer[map[model.ProcID]hop], len(t.steps))
}

func (t *Table) adrift(clock model.ProcID) bool { return model.IsAdrift(t.dict.Proc(clock).Name) }

// anchor finds for each clock without an epoch the one with an epoch that it is known best against (R4.12).
func (t *Table) anchor() {
	for clock := range t.steps {
		if id := model.ProcID(clock); len(t.steps[clock]) > 0 && t.adrift(id) {
			width := int64(math.MaxInt64)
			for p, h := range t.tree(id) {
				if !t.adrift(p) && (h.total < width || h.total == width && t.byName(p, t.anchors[id]) < 0) {
					t.anchors[id], width = p, h.total
				}
			}
		}
	}
}

// Anchor reports whether a clock has no epoch and is known against one that has (R4.12), and names the one it is known best against.
func (t *Table) Anchor(clock model.ProcID) (to model.ProcID, ok bool) {
	to, ok = t.anchors[clock]
	return to, ok
}

// Routed reports whether the clock of a process is known against any other (R5.5).
func (t *Table) Routed(p model.ProcID) bool {
	p = t.clock(p)
	return int(p) < len(t.steps) && len(t.steps[p]) > 0
}

// Shift is what must be added to an instant of process from, near at on its own clock, to read it on the clock of process to, and how far
// that may be wrong: the sum along the route of least uncertainty (R5.5). Without a route it is 0 and ok is false.
func (t *Table) Shift(from, to model.ProcID, at model.Time) (shift, uncertainty time.Duration, ok bool) {
	if from, to = t.clock(from), t.clock(to); from == to {
		return 0, 0, true
	}
	if !t.Routed(from) || !t.Routed(to) {
		return 0, 0, false
	}
	tree := t.tree(to)
	now := int64(at)
	for p := from; p != to; {
		h, ok := tree[p]
		if !ok {
			return 0, 0, false
		}
		d, u := h.est.across(p, now)
		now += d
		uncertainty += time.Duration(u)
		p = h.to
	}
	return time.Duration(now - int64(at)), uncertainty, true
}

// across is what must be added to an instant of one of the two processes to read it on the clock of the other.
func (e *estimate) across(from model.ProcID, at int64) (shift, uncertainty int64) {
	if from == e.b {
		shift, uncertainty, _ = e.at(at)
		return shift, uncertainty
	}
	// The offset is known by instants of b's clock. Each turn brings the instant nearer by the drift, a factor of 1 000 at least. A clock without an
	// epoch may be decades off, so the first guess is not 0.
	shift = e.corridor.base
	for range 4 {
		before := shift
		if shift, uncertainty, _ = e.at(at - before); shift == before {
			break
		}
	}
	return -shift, uncertainty
}

// tree are the best routes to a process, worked out when first asked for: the sum of the widest uncertainties is the smallest, then the names
// of the next processes.
func (t *Table) tree(root model.ProcID) map[model.ProcID]hop {
	if tree := t.trees[root].Load(); tree != nil {
		return *tree
	}
	tree := t.growTree(root)
	t.trees[root].Store(&tree)
	return tree
}

// growTree is Dijkstra's algorithm. Steps that wait are kept in order; a process waits once for each way to it that was better than those before.
func (t *Table) growTree(root model.ProcID) map[model.ProcID]hop {
	type way struct {
		from model.ProcID
		hop
	}
	byTotal := func(x, y way) int {
		return cmp.Or(cmp.Compare(x.total, y.total), t.byName(x.from, y.from), t.byName(x.to, y.to))
	}
	tree, best := map[model.ProcID]hop{}, map[model.ProcID]int64{}
	var waiting []way
	p, total := root, int64(0)
	for {
		for _, s := range t.steps[p] {
			sum := total + s.est.width
			if old, ok := best[s.to]; s.to == root || ok && old < sum {
				continue
			}
			best[s.to] = sum
			w := way{s.to, hop{step{p, s.est}, sum}}
			i, _ := slices.BinarySearchFunc(waiting, w, func(x, y way) int { return -byTotal(x, y) })
			waiting = slices.Insert(waiting, i, w)
		}
		for len(waiting) > 0 {
			if _, done := tree[waiting[len(waiting)-1].from]; !done {
				break
			}
			waiting = waiting[:len(waiting)-1]
		}
		if len(waiting) == 0 {
			return tree
		}
		w := waiting[len(waiting)-1] // the least comes last
		waiting = waiting[:len(waiting)-1]
		tree[w.from] = w.hop
		p, total = w.from, w.total
	}
}

// Shutdown reports whether a cleaned span was ended because its process was stopped (R4.30): request is the XXH64 of its request's id,
// retrieved says that a retrieve of the request began inside it. Times are raw.
func (t *Table) Shutdown(s *model.Span, request uint64, retrieved bool) bool {
	return couldBeStopped(s) && t.stops.ended(s.Proc, s.StageKey, s.RawEnd, s.Dur(), request, retrieved)
}

// Range is the first start and the last end of the capture's timed spans, raw, without outliers (R8.8); ok is false when there are none.
func (t *Table) Range() (start, end model.Time, ok bool) { return t.start, t.end, t.ranged }

// Requests are those that were surveyed.
func (t *Table) Requests() Requests { return t.requests }

// LLMStarts are the raw starts of the first and the last llm_request (R7.11); ok is false when there are none.
func (t *Table) LLMStarts() (first, last model.Time, ok bool) {
	return t.llm.first, t.llm.last, t.llm.first != 0
}

// Model is the only model that spans of a process named, "" when there were none or several (R4.29).
func (t *Table) Model(p model.ProcID) string {
	if int(p) >= len(t.procs) || t.procs[p] == nil {
		return ""
	}
	return t.procs[p].models.name
}

// Instants are the first and the last raw instant of a process's timed spans; ok is false when there are none.
func (t *Table) Instants(p model.ProcID) (first, last model.Time, ok bool) {
	if int(p) >= len(t.procs) || t.procs[p] == nil || !t.procs[p].seen {
		return 0, 0, false
	}
	return t.procs[p].first, t.procs[p].last, true
}

// HasUnrelated reports whether any trace of the capture holds unrelated requests.
func (t *Table) HasUnrelated() bool { return len(t.leaked) > 0 }

// Unrelated reports whether a trace holds unrelated requests (R2.2).
func (t *Table) Unrelated(trace model.TraceID) bool {
	return len(t.leaked) > 0 && t.leaked[hashTrace(t.dict, trace)]
}

// A Row is one line of the clock section (R5.8): what is known of the clock of a process against that of a reference.
type Row struct {
	Process, Reference model.ProcID
	Offset             model.Opt // what must be added to an instant of the process, ns; unknown where the basis gives none
	Uncertainty        model.Opt // ns
	DriftPPM           float64   // how the offset grows, ns per ms, rounded to 0.001; means something where Offset is known
	Pairs              int64     // in the sample
	Disagreeing        int64     // of those
	Basis              Basis
}

// Clocks are the rows of all processes that pairs of spans join, in order of (process, reference), with the offset at the middle of the
// capture (R5.8).
func (t *Table) Clocks() []Row {
	rows := make([]Row, 0, len(t.estimates))
	for _, e := range t.estimates {
		rows = append(rows, t.row(e, e.moved, e.reference))
	}
	return rows
}

// Against are the rows of some processes against one of them, in order of their names: directly known, or over a route, or not.
func (t *Table) Against(reference model.ProcID, processes []model.ProcID) []Row {
	rows := make([]Row, 0, len(processes))
	for _, p := range processes {
		if p != reference {
			rows = append(rows, t.against(p, reference))
		}
	}
	slices.SortFunc(rows, func(x, y Row) int { return t.byName(x.Process, y.Process) })
	return rows
}

func (t *Table) against(process, reference model.ProcID) Row {
	row := t.route(t.clock(process), t.clock(reference))
	row.Process, row.Reference = process, reference
	return row
}

// route is the row of two clocks.
func (t *Table) route(p, reference model.ProcID) Row {
	if p == reference { // shared
		row := Row{Offset: model.Some(0)}
		if !t.opt.NoSkew {
			row.Uncertainty, row.Basis = model.Some(0), BasisZero
		}
		return row
	}
	direct := t.between(p, reference)
	first, routed := hop{}, false
	if t.Routed(p) && t.Routed(reference) {
		first, routed = t.tree(reference)[p]
	}
	switch {
	case routed && first.to == reference:
		return t.row(first.est, p, reference)
	case !routed && direct != nil:
		return t.row(direct, p, reference)
	case !routed:
		return Row{Process: p, Reference: reference}
	}
	row := Row{Process: p, Reference: reference, Basis: BasisRoute, Pairs: math.MaxInt64}
	shift, uncertainty, _ := t.Shift(p, reference, t.middle())
	if t.adrift(p) {
		shift, uncertainty, _ = t.Shift(reference, p, t.middle())
		shift = -shift
	}
	row.Offset, row.Uncertainty = model.Some(int64(shift)), model.Some(int64(uncertainty))
	for at := p; at != reference; {
		h := t.tree(reference)[at]
		part := t.row(h.est, at, h.to)
		row.DriftPPM += part.DriftPPM
		row.Pairs = min(row.Pairs, part.Pairs) // a route is as good as its weakest step
		row.Disagreeing += part.Disagreeing
		at = h.to
	}
	row.DriftPPM = thousandths(row.DriftPPM)
	return row
}

// between is the estimate of the clocks of two processes, nil where no pair joins them.
func (t *Table) between(p, q model.ProcID) *estimate {
	return t.byPair[procPair{t.clock(p), t.clock(q)}]
}

// row is an estimate as a line, read from one of its processes to the other.
func (t *Table) row(e *estimate, process, reference model.ProcID) Row {
	row := Row{Process: process, Reference: reference, Pairs: e.pairs, Disagreeing: e.disagreeing}
	if t.opt.NoSkew {
		row.Offset = model.Some(0)
		return row
	}
	if !e.known() {
		return row
	}
	row.Basis = e.basis
	at := int64(t.middle())
	shift, uncertainty := e.across(process, at)
	if t.adrift(process) { // the middle is not one of its instants
		shift, uncertainty = e.across(reference, at)
		shift = -shift
		if process == e.b {
			at -= shift
		}
	}
	row.Offset, row.Uncertainty = model.Some(shift), model.Some(uncertainty)
	_, _, drift := e.at(at)
	if process == e.a {
		drift = -drift
	}
	row.DriftPPM = thousandths(drift * 1e6)
	return row
}

func thousandths(x float64) float64 { return math.Round(x*1000)/1000 + 0 } // + 0: no −0

// middle is the middle of the capture.
func (t *Table) middle() model.Time {
	return t.start + model.Time((uint64(t.end)-uint64(t.start))/2)
}

// Disagreeing are the processes that were to be moved to the clock of another against which more than one pair in twenty disagrees, or most
// intervals are empty (finding clock_disagreement), in order of their names.
func (t *Table) Disagreeing() []model.ProcID {
	var out []model.ProcID
	for _, e := range t.estimates {
		if e.pairs >= fewestPairs && e.disagrees() && (len(out) == 0 || out[len(out)-1] != e.moved) {
			out = append(out, e.moved)
		}
	}
	return out
}
