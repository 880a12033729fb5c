package analyze

import (
	"cmp"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/analyze/clock"
	"github.com/cbtrace/cbtrace/internal/analyze/critpath"
	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/split"
	"github.com/cbtrace/cbtrace/internal/model"
)

// An analyzer takes requests through cleaning, linking and the analyses, and leaves a row of each. One goroutine uses one.
// What it returns is good until the next request.
type analyzer struct {
	table *clock.Table
	opt   *Options

	builder  model.Builder
	path     critpath.Work
	checker  *clock.Checker
	splitter split.Splitter
	detector finding.Detector
	row      model.Row
	stageAt  []int32 // 1 + index into row.Stages, by slotOf
	covers   []cover // of row.Stages
	pieces   []piece

	unrelated func(model.TraceID) bool // nil where no trace is marked
	flagged   model.Flags              // of any span
	lmcache   bool                     // a span is of a scope lmcache*
	server    *model.Span              // the first that a server wrote
	joined    joinCounts               // what row.Joins holds, of spans joined to joinedTo
	joinedTo  kind

	req   *model.Request
	split *split.Split
	walk  *critpath.Path
}

// slotOf numbers (stage, owner). Only cb.request has two owners.
func slotOf(stage model.StrID, owner model.Owner) int {
	n := int(stage) << 1
	if owner == model.Server {
		n++
	}
	return n
}

type piece struct {
	at         int // row.Stages
	start, end model.Time
}

// A cover is how far the time that spans of a stage cover is added up: to end, from spans in order up to the one that starts at start.
type cover struct {
	start, end model.Time
	some       bool
}

func newAnalyzer(t *clock.Table, opt *Options) *analyzer {
	a := &analyzer{table: t, opt: opt, checker: t.Checker()}
	if t.HasUnrelated() {
		a.unrelated = t.Unrelated
	}
	return a
}

// hashOf is the hash that samples and ties between requests go by.
func hashOf(id string) uint64 { return xxhash.Sum64String(id) }

// analyse links one cleaned request and works everything out that is asked about it.
func (a *analyzer) analyse(r *model.Request) *model.Row {
	a.req = r
	hash := hashOf(r.ID)
	a.builder.Link(r, hash, a.table, model.LinkOptions{KeepShutdown: a.opt.KeepShutdown})
	a.walk = critpath.Analyze(r, &a.path)
	a.split = a.splitter.Split(r)
	set, _ := a.detector.Detect(r, finding.Inputs{Split: a.split, Deadline: a.opt.Deadline, SetOnly: true, Unrelated: a.unrelated})

	row := &a.row
	for i := range row.Stages {
		a.stageAt[slotOf(row.Stages[i].Stage, row.Stages[i].Owner)] = 0
	}
	spans, stages, workers, lookups, transfers, codes, blend, joins := row.Spans[:0], row.Stages[:0], row.Workers[:0], row.Lookups, row.Transfers, row.ErrorCodes, row.Blend, row.Joins
	*row = model.Row{}
	row.Spans, row.Stages, row.Workers, row.Lookups, row.Transfers, row.ErrorCodes, row.Blend, row.Joins = spans, stages, workers, lookups, transfers, codes, blend, joins
	row.Identity, row.Hash = r.Identity, hash
	row.Start, row.Window = r.WindowStart, int64(r.Window())
	row.Findings, row.Counts = set, r.Counts
	row.Disagreeing = int32(a.checker.Disagreeing(r))
	row.StageSpans, row.StageLines, row.StagePairs = r.StageSeen.Spans, r.StageSeen.Lines, r.StagePaired
	a.spans()
	a.stages()
	a.splitter.Fill(row)
	a.engine()
	a.flags()
	a.origin()
	return row
}

// findings are those of the request that was analysed last, with their sentences.
func (a *analyzer) findings() []finding.Found {
	_, found := a.detector.Detect(a.req, finding.Inputs{Split: a.split, Deadline: a.opt.Deadline, Unrelated: a.unrelated})
	return found
}

// spans lists what counts per span (R8.1, R8.2) and per stage, and gathers what else all spans are asked for.
func (a *analyzer) spans() {
	row := &a.row
	a.flagged, a.lmcache, a.server, a.covers = 0, false, nil, a.covers[:0]
	ordered := true
	var joined joinCounts
	for _, s := range a.req.Spans {
		a.flagged |= s.Flags
		a.lmcache = a.lmcache || s.LMScope
		if s.Known() {
			row.Flags |= model.RowVocabulary
		}
		if s.Has(model.FlagSynthetic) {
			continue
		}
		if s != a.req.Root {
			joined.add(s)
		}
		owner := s.Owner()
		if owner == model.Server && a.server == nil {
			a.server = s
		}
		if s.IsPoint() {
			continue
		}
		at := a.stage(s.StageKey, owner, s.Class)
		st := &row.Stages[at]
		st.Spans++
		if s.Has(model.FlagShutdown | model.FlagNegative | model.FlagUntimed) {
			continue
		}
		st.Counted++
		st.Self += int64(s.Self)
		row.Spans = append(row.Spans, model.RowSpan{Stage: s.StageKey, Owner: owner, NS: int64(s.Dur())})
		c := &a.covers[at]
		if !c.some {
			*c = cover{s.Start, s.Start, true}
		}
		ordered = ordered && s.Start >= c.start
		c.start = s.Start
		if s.End > c.end {
			st.Union += int64(s.End - max(s.Start, c.end))
			c.end = s.End
		}
	}
	a.joins(&joined)
	if !ordered {
		a.unions()
	}
}

// unions is the time that the spans of each stage cover, where they are not in order of start.
func (a *analyzer) unions() {
	row := &a.row
	a.pieces = a.pieces[:0]
	for _, s := range a.req.Spans {
		if !s.Has(model.FlagSynthetic|model.FlagShutdown|model.FlagNegative|model.FlagUntimed) && !s.IsPoint() {
			a.pieces = append(a.pieces, piece{a.stage(s.StageKey, s.Owner(), s.Class), s.Start, s.End})
		}
	}
	for i := range row.Stages {
		row.Stages[i].Union = 0
	}
	slices.SortFunc(a.pieces, func(x, y piece) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.start, y.start)) })
	for i := 0; i < len(a.pieces); {
		at, end := a.pieces[i].at, a.pieces[i].start
		for ; i < len(a.pieces) && a.pieces[i].at == at; i++ {
			p := a.pieces[i]
			if p.end > end {
				row.Stages[at].Union += int64(p.end - max(p.start, end))
				end = p.end
			}
		}
	}
}

func (a *analyzer) stage(key model.StrID, owner model.Owner, class model.Class) int {
	n := slotOf(key, owner)
	if n >= len(a.stageAt) {
		a.stageAt = append(a.stageAt, make([]int32, n+1-len(a.stageAt)+256)...)
	}
	if a.stageAt[n] == 0 {
		a.row.Stages = append(a.row.Stages, model.RowStage{}) // filled in place: what is put together elsewhere is slow to copy
		st := &a.row.Stages[len(a.row.Stages)-1]
		st.Stage, st.Owner, st.Class = key, owner, class
		a.covers = append(a.covers, cover{})
		a.stageAt[n] = int32(len(a.row.Stages))
	}
	return int(a.stageAt[n]) - 1
}

// stages adds what each stage held of the path.
func (a *analyzer) stages() {
	row := &a.row
	for i := range a.walk.Stages {
		p := &a.walk.Stages[i]
		st := &row.Stages[a.stage(p.Key, p.Owner, model.Work)]
		st.Critical, st.Drag, st.TTFT, st.TTFTDrag = int64(p.Total), int64(p.Drag), int64(p.TTFT), int64(p.TTFTDrag)
	}
	row.TopStage = a.topStage()
	row.Flags |= a.topFlags(row.TopStage)
	for i, d := range a.walk.Bounds {
		row.Bounds[i] = int64(d)
	}
	for i, d := range a.walk.TTFTBounds {
		row.TTFTBound[i] = int64(d)
	}
	row.TTFTTotal = a.walk.TTFT
}

// topStage is the stage that says most about why the request took its time: up to the first token, where that is known, the one that held the
// most, since decoding would win almost every window and has its cause outside of the cache. Otherwise the one that held the most of the window
// below the root, whose own time is only what nothing else explains; the root where nothing below it held any.
func (a *analyzer) topStage() model.StrID {
	first := a.walk.TTFT.OK && a.walk.TTFT.V > 0
	root := a.req.Root.StageKey
	var top model.StrID
	best, below := int64(-1), false
	for i := range a.walk.Stages {
		p := &a.walk.Stages[i]
		held, under := int64(p.Total), p.Key != root && p.Total > 0
		if first {
			held, under = int64(p.TTFT), false
		}
		better := held > best || held == best && a.req.Dict.Str(p.Key) < a.req.Dict.Str(top)
		if under != below {
			better = under
		}
		if better {
			top, best, below = p.Key, held, under
		}
	}
	return top
}

// topFlags say what limited most of what the top stage held, where that is the root, and whether it held half of the time by which it was chosen.
func (a *analyzer) topFlags(top model.StrID) (f model.RowFlags) {
	start, end := a.req.WindowStart, a.req.WindowEnd
	if a.walk.TTFT.OK && a.walk.TTFT.V > 0 {
		end = start + model.Time(a.walk.TTFT.V)
	}
	var held model.Time
	for i := range a.walk.Stages {
		if p := &a.walk.Stages[i]; p.Key == top && a.walk.TTFT.OK && a.walk.TTFT.V > 0 {
			held += model.Time(p.TTFT)
		} else if p.Key == top {
			held += model.Time(p.Total)
		}
	}
	if held > 0 && 2*held >= end-start {
		f |= model.RowTopHalf
	}
	if top != a.req.Root.StageKey || held == 0 {
		return f
	}
	var by [model.NumBounds]model.Time
	for i := range a.walk.Segments {
		if s := &a.walk.Segments[i]; s.Span.StageKey == top && s.Lo < end {
			by[s.Bound] += min(s.Hi, end) - s.Lo
		}
	}
	most := model.Bound(0)
	for b := range by {
		if by[b] > by[most] {
			most = model.Bound(b)
		}
	}
	switch most {
	case model.BoundQueue:
		f |= model.RowTopQueue
	case model.BoundEngine:
		f |= model.RowTopEngine
	case model.BoundDecode:
		f |= model.RowTopDecode
	}
	return f
}

// engine reads what an llm_request says of its own phases (R4.27); the root's own counts, else the first that says anything.
func (a *analyzer) engine() {
	row := &a.row
	for _, s := range a.req.Spans {
		if s.Stage != model.StageLLMRequest {
			continue
		}
		row.Flags |= model.RowLLM
		if a.req.Root.Stage == model.StageLLMRequest && s != a.req.Root {
			continue
		}
		seconds := func(k model.AttrKey) model.Opt {
			d, ok := s.Seconds(k)
			return model.Opt{V: int64(d), OK: ok}
		}
		count := func(k model.AttrKey) model.Opt {
			n, ok := s.Int(k)
			return model.Opt{V: n, OK: ok}
		}
		row.TTFT, row.Queue = seconds(model.AttrTimeToFirstToken), seconds(model.AttrTimeInQueue)
		row.Prefill, row.Decode = seconds(model.AttrTimeInPrefill), seconds(model.AttrTimeInDecode)
		row.PromptTokens, row.CompletionTokens = count(model.AttrPromptTokens), count(model.AttrCompletionTokens)
	}
}

// flags decides in which statistics the request counts (R7.11, R7.13, R8.2).
func (a *analyzer) flags() {
	r, row := a.req, &a.row
	root := r.Root
	row.RootDuration = model.Opt{}
	if r.RealRoot() {
		row.Flags |= model.RowRealRoot
		row.RootDuration = model.Some(int64(root.Dur()))
	}
	if !root.Has(model.FlagOpen) {
		row.Flags |= model.RowRootClosed
	}
	if root.Has(model.FlagShutdown) {
		row.Flags |= model.RowRootShutdown
	}
	open, orphan, shutdown := a.flagged&model.FlagOpen != 0, a.flagged&model.FlagOrphan != 0, a.flagged&model.FlagShutdown != 0
	lo, hi, _ := a.table.Range()
	margin := edgeMargin(lo, hi)
	if (!r.RealRoot() || orphan || open) && (r.WindowStart < lo+margin || r.WindowEnd > hi-margin) {
		row.Flags |= model.RowEdge
	}
	if r.RealRoot() && !open && !orphan && !shutdown && row.Flags&model.RowEdge == 0 && !row.Findings.Has(finding.MissingStage) {
		row.Flags |= model.RowComplete
	}
	if first, last, ok := a.table.LLMStarts(); ok && a.lmcache && r.Key == model.KeyID && row.Flags&model.RowLLM == 0 && !r.Candidate &&
		first <= r.WindowStart && r.WindowStart <= last {
		row.Flags |= model.RowAborted
	}
}

// edgeMargin is how near the ends of a capture's range a window is at its edge: min(1 %, 60 s) (R7.13).
func edgeMargin(lo, hi model.Time) model.Time { return min((hi-lo)/100, 60e9) }

// origin names the model, the instance and the ranks of the request (R4.29), and the prompt's tokens where no llm_request told them.
func (a *analyzer) origin() {
	r, row := a.req, &a.row
	server := a.server
	var models [3]string // by preference
	prompt := model.Opt{}
	for i := range r.Notes {
		v := r.Notes[i].Value()
		switch r.Notes[i].Key {
		case model.AttrModel:
			models[0] = cmp.Or(models[0], v.Text())
		case model.AttrModelName:
			models[1] = cmp.Or(models[1], v.Text())
		case model.AttrGenAIRequestModel:
			models[2] = cmp.Or(models[2], v.Text())
		case model.AttrNPromptTokens:
			if n, ok := v.Whole(); ok {
				prompt = model.Some(max(prompt.V, n))
			}
		case model.AttrWorkerID, model.AttrRank, model.AttrTPRank:
			if w := r.Notes[i].Span.Worker(); !slices.Contains(row.Workers, w) && len(row.Workers) < maxWorkers {
				row.Workers = append(row.Workers, w)
			}
		}
	}
	slices.Sort(row.Workers)
	if !row.PromptTokens.OK {
		row.PromptTokens = prompt
	}
	if server == nil {
		if r.RealRoot() {
			server = r.Root
		} else if len(r.Spans) > 0 {
			server = r.Spans[0]
		}
	}
	row.Model = cmp.Or(models[:]...)
	if server != nil {
		row.Instance = r.Dict.Proc(server.Proc).Name
		row.Model = cmp.Or(row.Model, a.table.Model(server.Proc))
	}
	row.Model = cmp.Or(row.Model, "unknown")
}

// maxWorkers bounds the ranks that a row lists.
const maxWorkers = 256

// joinCounts counts records by the kind of their span and why they are in the request.
type joinCounts [numKinds][model.NumJoins]int64

func (c *joinCounts) add(s *model.Span) {
	k := kindOf(s)
	for i := range s.Sources {
		c[k][s.Sources[i].Joined]++
	}
}

// joins says how spans of one kind came to the kind of the root (OUTPUT quality.joins). The map holds those of the request before: one request is
// much like another, and what is the same stays.
func (a *analyzer) joins(counts *joinCounts) {
	row := &a.row
	if row.Joins == nil {
		row.Joins = map[model.JoinKey]int64{}
	}
	if to := kindOf(a.req.Root); to != a.joinedTo {
		clear(row.Joins)
		a.joined, a.joinedTo = joinCounts{}, to
	}
	for k := range counts {
		if counts[k] == a.joined[k] {
			continue
		}
		for by, n := range counts[k] {
			if n == a.joined[k][by] {
				continue
			}
			if key := (model.JoinKey{From: kindNames[k], To: kindNames[a.joinedTo], By: model.Join(by)}); n > 0 {
				row.Joins[key] = n
			} else {
				delete(row.Joins, key)
			}
		}
	}
	a.joined = *counts
}

// A kind is a kind of process or file that a span comes from: an Owner, or one of these.
type kind uint8

const (
	kindProfile = kind(model.Server) + 1 + iota
	kindLCT
	numKinds
)

var kindNames = [numKinds]string{model.OwnerNone: "other", model.Engine: "engine", model.Scheduler: "scheduler", model.Worker: "worker", model.Server: "server", kindProfile: "profile", kindLCT: "lct"}

func kindOf(s *model.Span) kind {
	switch {
	case s.Line:
		return kindProfile
	case s.IsPoint():
		return kindLCT
	}
	return kind(s.Owner())
}
