package clock

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A relation is two spans of two processes of which something on one clock is known to have come before something on the other (R5.1).
type relation struct {
	client, server *model.Span
	kind           boundKind
}

type boundKind uint8

const (
	holds      boundKind = iota // the server's span lies inside the client's
	holdsStart                  // it only begins inside: such an end proves nothing
	precedes                    // the client's span ends before the server's starts
)

// An extractor finds the pairs of one request after the other. Its memory is reused.
type extractor struct {
	ids    model.SpanIndex
	stages [model.NumStages + 1]stageSpans // a server's cb.request apart, under serverCBRequest
	seen   []int                           // the stages that have spans in this request
	found  []relation
	text   []byte // scratch for ranks
}

// serverCBRequest is the slot of cb.request spans that a server wrote.
const serverCBRequest = int(model.NumStages)

// stageSpans are a request's spans of one stage; all of them are kept only where they pair by ordinal.
type stageSpans struct {
	n    int
	only *model.Span // the last of them
	all  []*model.Span
}

// lone is the only span of a stage, nil where there are others or none.
func (s *stageSpans) lone() *model.Span {
	if s.n == 1 {
		return s.only
	}
	return nil
}

// Instants outside this range are no wall clock, and their differences could overflow.
const latest = model.Time(1) << 62

// bounds reports whether the times of a span may bound a clock: both recorded, in order, and not made up; of lines also those on a clock without
// an epoch (R4.12).
func bounds(s *model.Span) bool {
	const off = model.FlagOpen | model.FlagNegative | model.FlagSynthetic
	return !s.Has(off) && s.Class == model.Work && s.RawStart > 0 && s.RawEnd < latest && (!s.Has(model.FlagUntimed) || s.Adrift() && s.RawEnd > 0)
}

// pairsOf finds the pairs of a request: spans that an id joins across processes; where none does, lines on a clock without an epoch with the span above
// them, and spans of stages that contain one another, where it is clear which two belong together; and cb.schedule with what follows it.
func (x *extractor) pairsOf(r *model.Request) []relation {
	spans := r.Spans
	x.found = x.found[:0]
	if oneClock(spans) {
		return nil
	}
	x.ids.Of(r)
	x.index(spans)
	ordinals := false
	var up *model.Span // spans of one parent often follow each other
	for _, s := range spans {
		if !s.Known() || !bounds(s) {
			continue
		}
		if up == nil || up.ID != s.ParentID || up.Trace != s.Trace {
			up = x.ids.Find(s.Trace, s.ParentID)
		}
		switch {
		case up != nil && !x.movesUnderStage(s, up):
			x.addJoined(up, s)
		case s.Adrift():
			x.addAbove(s)
		case s.Stage == model.StageRetrieve:
			ordinals = true
		default:
			x.addContained(s)
		}
	}
	if ordinals {
		x.addByOrdinal()
	}
	a, b := x.stages[model.StageSchedule].lone(), x.stages[model.StageExecute].lone()
	if a != nil && b != nil && a.Clock != b.Clock && bounds(a) && bounds(b) {
		x.add(a, b, precedes)
	}
	return x.found
}

// addJoined adds the pair of a span and its parent by id, of another process: not of a message, which nobody waits for, nor below a wrapper.
func (x *extractor) addJoined(up, s *model.Span) {
	if up.Clock != s.Clock && bounds(up) && (up.Known() || !x.wraps(up)) && up.Kind != model.KindProducer && s.Kind != model.KindConsumer {
		x.add(up, s, kindOf(up, s))
	}
}

// addContained adds the pair of a span that no id joins and the one of the stage that contains its own, where each is alone in its stage.
func (x *extractor) addContained(s *model.Span) {
	switch s.Stage {
	case model.StageLookup:
		x.addLone(model.StageLookupRPC, int(s.Stage))
	case model.StageRequest:
		x.addLone(model.StageLLMRequest, int(s.Stage))
	case model.StageCBRequest:
		x.addLone(model.StageLLMRequest, slotOf(s))
	}
}

func oneClock(spans []*model.Span) bool {
	for _, s := range spans {
		if s.Clock != spans[0].Clock {
			return false
		}
	}
	return true
}

func slotOf(s *model.Span) int {
	if s.Stage == model.StageCBRequest && s.ServerRoot() {
		return serverCBRequest
	}
	return int(s.Stage)
}

// index lists the spans of the stages, whatever their times are worth: two of a stage are two even where one is open.
func (x *extractor) index(spans []*model.Span) {
	for _, i := range x.seen {
		st := &x.stages[i]
		st.n, st.only = 0, nil
		if len(st.all) > 0 {
			clear(st.all)
			st.all = st.all[:0]
		}
	}
	x.seen = x.seen[:0]
	for _, s := range spans {
		if !s.Known() || s.Has(model.FlagSynthetic) {
			continue
		}
		i := slotOf(s)
		st := &x.stages[i]
		if st.n == 0 {
			x.seen = append(x.seen, i)
		}
		st.n++
		st.only = s
		if s.Stage == model.StageStartLoadKV || s.Stage == model.StageRetrieve {
			st.all = append(st.all, s)
		}
	}
}

func (x *extractor) add(client, server *model.Span, kind boundKind) {
	x.found = append(x.found, relation{client, server, kind})
}

// addLone adds the pair of two stages where each has one span in the request.
func (x *extractor) addLone(client model.Stage, server int) {
	c, s := x.stages[client].lone(), x.stages[server].lone()
	if c != nil && s != nil && c.Clock != s.Clock && bounds(c) {
		x.add(c, s, kindOf(c, s))
	}
}

// addAbove adds the pair of a line on a clock without an epoch and the nearest span of an engine's process that it belongs under: the engine's work
// on a request nests, whatever clocks it is told by (R4.12).
func (x *extractor) addAbove(line *model.Span) {
	if x.stages[line.Stage].lone() != line {
		return
	}
	for parents := model.Stages[line.Stage].Parents; len(parents) > 0; parents = model.Stages[parents[0]].Parents {
		up := &x.stages[parents[0]]
		if up.n > 0 && !up.only.Line {
			if s := up.lone(); s != nil && s.Clock != line.Clock && bounds(s) {
				x.add(s, line, kindOf(s, line))
			}
			return
		}
	}
}

// kindOf is what a span proves about one that it contains: the server's own root, and llm_request over any span of the server, say nothing
// about the end.
func kindOf(client, server *model.Span) boundKind {
	if client.ServerRoot() || server.ServerRoot() || client.Stage == model.StageLLMRequest && server.Owner() == model.Server {
		return holdsStart
	}
	return holds
}

// movesUnderStage reports whether a span of the server hangs by id under a root or a wrapper although spans of its canonical parent stage are
// in the request: it will be adopted by one of those (R4.18), so its id joins nothing.
func (x *extractor) movesUnderStage(s, up *model.Span) bool {
	if s.Owner() != model.Server || up.Known() && !model.Stages[up.Stage].Root || !up.Known() && !x.wraps(up) {
		return false
	}
	parents := model.Stages[s.Stage].Parents
	if s.Stage == model.StageMPLookupPrefetch && x.has(model.StageRequest) && x.has(model.StageCBRequest) { // R4.19
		parents = underLookup
	}
	return !slices.Contains(parents, up.Stage) && slices.ContainsFunc(parents, x.has)
}

var underLookup = []model.Stage{model.StageLookup}

func (x *extractor) has(s model.Stage) bool {
	return x.stages[s].n > 0 || s == model.StageCBRequest && x.stages[serverCBRequest].n > 0
}

// wraps reports whether a span of an unknown name has nothing of the vocabulary above it: a gateway, an RPC wrapper (R4.23). Past a few levels
// of unknown names it is one too.
func (x *extractor) wraps(s *model.Span) bool {
	const levels = 16
	for range levels {
		if s == nil {
			return true
		}
		if s.Known() {
			return false
		}
		s = x.ids.Find(s.Trace, s.ParentID)
	}
	return true
}

// addByOrdinal pairs each cb.retrieve that no id joins with the pass of its worker: in order, where there are as many of both (a pass without
// work leaves no retrieve). Where a side does not name workers, only one of each.
func (x *extractor) addByOrdinal() {
	passes, retrieves := x.stages[model.StageStartLoadKV].all, x.stages[model.StageRetrieve].all
	if len(passes) == 0 {
		return
	}
	if len(passes) == 1 && len(retrieves) == 1 {
		if p, r := passes[0].Worker(), retrieves[0].Worker(); p == "" || r == "" || p == r {
			x.addPass(passes[0], retrieves[0])
		}
		return
	}
	slices.SortStableFunc(passes, byWorkerAndStart)
	slices.SortStableFunc(retrieves, byWorkerAndStart)
	for len(passes) > 0 && len(retrieves) > 0 {
		worker := min(passes[0].Worker(), retrieves[0].Worker())
		n, m := countOf(passes, worker), countOf(retrieves, worker)
		if n == m {
			for i := range n {
				x.addPass(passes[i], retrieves[i])
			}
		}
		passes, retrieves = passes[n:], retrieves[m:]
	}
}

// byWorkerAndStart keeps spans of one start in the order of the request, which is that of their ids.
func byWorkerAndStart(a, b *model.Span) int {
	return cmp.Or(cmp.Compare(a.Worker(), b.Worker()), cmp.Compare(a.RawStart, b.RawStart))
}

func countOf(sorted []*model.Span, worker string) int {
	n := 0
	for n < len(sorted) && sorted[n].Worker() == worker {
		n++
	}
	return n
}

func (x *extractor) addPass(pass, retrieve *model.Span) {
	up := x.ids.Find(retrieve.Trace, retrieve.ParentID)
	if up != nil && !x.movesUnderStage(retrieve, up) { // joined by id
		return
	}
	if pass.Clock != retrieve.Clock && bounds(pass) && bounds(retrieve) {
		x.add(pass, retrieve, holds)
	}
}

// rank decides which pairs are in the sample: XXH64 of (request id, start, span id) of the server's span (R5.6).
func (x *extractor) rank(d *model.Dict, requestID string, s *model.Span) uint64 {
	x.text = append(x.text[:0], requestID...)
	x.text = binary.LittleEndian.AppendUint64(x.text, uint64(s.RawStart))
	if s.ID.Kind == model.IDHex {
		x.text = binary.BigEndian.AppendUint64(x.text, s.ID.N)
	} else {
		x.text = append(x.text, d.SpanIDText(s.ID)...)
	}
	return xxhash.Sum64(x.text)
}
