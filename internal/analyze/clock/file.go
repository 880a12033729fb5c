package clock

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/model"
)

// What callers branch on when a survey cannot be read.
var (
	ErrNotSurvey = errors.New("not a survey table")
	ErrVersion   = errors.New("a survey table of another version")
	ErrDamaged   = errors.New("a damaged survey table")
)

// A survey file is the magic, the version (1 byte), the content and the XXH64 of all before it. Numbers are varints unless said otherwise,
// fixed ones little-endian; texts have their length in front. Content, with lists in an order that depends on texts and numbers alone:
//
//	processes, stages   names, ascending; referred to by their place
//	per process         see appendProcess
//	series              stage, model.Series
//	requests            number, sum of the hashes of their ids (8 bytes each)
//	llm_request         first, last
//	days                first, last − first, instants
//	traces              see appendNotes
//	votes               see appendVotes
//	profile files       see appendPlans
//	samples             bound (8 bytes), then per process pair: a, b, bound (8 bytes), pairs (see appendPair)
const (
	magic   = "cbtrace survey\n"
	version = 2
	maxFile = 1 << 30 // bytes; what a survey holds is bounded far below
)

// Write writes the survey: the same bytes for the same content, however it came together.
func (v *Survey) Write(w io.Writer) error {
	v.settleAll()
	e := v.newEncoder()
	e.b = append(e.b, magic...)
	e.b = append(e.b, version)
	e.names(e.procNames)
	e.names(e.stageNames)
	for _, name := range e.procNames {
		e.appendProcess(v.procs, v.dict.Process(name))
	}
	series := v.allSeries()
	e.uvarint(uint64(len(series)))
	for _, stage := range e.inOrder(series) {
		e.uvarint(e.stages[stage])
		e.b = series[stage].Append(e.b)
	}
	e.fixed(v.requests.N)
	e.fixed(v.requests.Sum)
	e.varint(int64(v.llm.first))
	e.varint(int64(v.llm.last))
	days := v.extent.byDay()
	e.uvarint(uint64(len(days)))
	for _, g := range days {
		e.varint(int64(g.first))
		e.uvarint(uint64(g.last - g.first))
		e.uvarint(uint64(g.n))
	}
	e.appendNotes(&v.notes)
	e.appendVotes(v.votes)
	e.appendPlans(v.plans)
	e.fixed(v.bound)
	filled := e.pairsInOrder(v.samples)
	e.uvarint(uint64(len(filled)))
	for _, pp := range filled {
		s := v.samples[pp]
		s.order()
		e.uvarint(e.procs[pp.a])
		e.uvarint(e.procs[pp.b])
		e.fixed(min(s.bound, v.bound)) // a larger one only says in which order the pairs came
		e.uvarint(uint64(len(s.pairs)))
		for i := range s.pairs {
			e.appendPair(&s.pairs[i])
		}
	}
	e.fixed(xxhash.Sum64(e.b))
	_, err := w.Write(e.b)
	return err
}

// An encoder appends to b. Processes and stages are known by their place among the names in use.
type encoder struct {
	b                     []byte
	procNames, stageNames []string
	procs                 map[model.ProcID]uint64
	stages                map[model.StrID]uint64
}

func (v *Survey) newEncoder() *encoder {
	e := &encoder{procs: map[model.ProcID]uint64{}, stages: map[model.StrID]uint64{}}
	for id, p := range v.procs {
		if p == nil {
			continue
		}
		e.procs[model.ProcID(id)] = 0
		for _, s := range p.server.near {
			e.stages[s.stage] = 0
		}
	}
	for stage := range v.allSeries() {
		e.stages[stage] = 0
	}
	for lines, of := range v.votes {
		e.procs[lines.Proc] = 0
		for instance := range of {
			e.procs[instance] = 0
		}
	}
	for pp, s := range v.samples {
		if len(s.pairs) == 0 {
			continue
		}
		e.procs[pp.a], e.procs[pp.b] = 0, 0
		for i := range s.pairs {
			if x := s.pairs[i].suspect; x != nil {
				e.procs[x.proc], e.stages[x.stage] = 0, 0
			}
		}
	}
	e.procNames = number(e.procs, func(id model.ProcID) string { return v.dict.Proc(id).Name })
	e.stageNames = number(e.stages, v.dict.Str)
	return e
}

// number gives each key the place of its name among all, and returns the names in order.
func number[K comparable](keys map[K]uint64, name func(K) string) []string {
	names := make([]string, 0, len(keys))
	for k := range keys {
		names = append(names, name(k))
	}
	slices.Sort(names)
	for k := range keys {
		i, _ := slices.BinarySearch(names, name(k))
		keys[k] = uint64(i)
	}
	return names
}

func (e *encoder) uvarint(n uint64) { e.b = binary.AppendUvarint(e.b, n) }
func (e *encoder) varint(n int64)   { e.b = binary.AppendVarint(e.b, n) }
func (e *encoder) fixed(n uint64)   { e.b = binary.LittleEndian.AppendUint64(e.b, n) }

func (e *encoder) text(s string) {
	e.uvarint(uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) names(names []string) {
	e.uvarint(uint64(len(names)))
	for _, s := range names {
		e.text(s)
	}
}

func (e *encoder) inOrder(series map[model.StrID]*model.Series) []model.StrID {
	ids := make([]model.StrID, 0, len(series))
	for id := range series {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(x, y model.StrID) int { return cmp.Compare(e.stages[x], e.stages[y]) })
	return ids
}

func (e *encoder) pairsInOrder(samples map[procPair]*sample) []procPair {
	pps := make([]procPair, 0, len(samples))
	for pp, s := range samples {
		if len(s.pairs) > 0 { // whether there were some of a larger rank depends on the order in which they came
			pps = append(pps, pp)
		}
	}
	slices.SortFunc(pps, func(x, y procPair) int {
		return cmp.Or(cmp.Compare(e.procs[x.a], e.procs[y.a]), cmp.Compare(e.procs[x.b], e.procs[y.b]))
	})
	return pps
}

// Flags of a process.
const (
	procSeen = 1 << iota
	procServer
	procSeveralModels
)

func when(set bool, flag byte) byte {
	if set {
		return flag
	}
	return 0
}

// appendProcess writes flags, model, first and last instant when seen, and of a server its last instant and the spans that end near it.
func (e *encoder) appendProcess(procs []*process, id model.ProcID) {
	p := &process{}
	if int(id) < len(procs) && procs[id] != nil {
		p = procs[id]
	}
	e.b = append(e.b, when(p.seen, procSeen)|when(p.server.any, procServer)|when(p.models.several, procSeveralModels))
	e.text(p.models.name)
	if p.seen {
		e.varint(int64(p.first))
		e.varint(int64(p.last))
	}
	if !p.server.any {
		return
	}
	e.varint(int64(p.server.last))
	near := slices.SortedFunc(slices.Values(p.server.near), func(x, y nearSpan) int {
		return cmp.Or(cmp.Compare(e.stages[x.stage], e.stages[y.stage]), compareNear(x, y))
	})
	e.uvarint(uint64(len(near)))
	for _, s := range near {
		e.uvarint(e.stages[s.stage])
		e.uvarint(uint64(p.server.last - s.end))
		e.uvarint(uint64(s.dur))
		e.fixed(s.request)
		e.uvarint(uint64(s.n))
	}
}

// Flags of a pair.
const (
	pairLow = 1 << iota
	pairHigh
	pairServerIsA
	pairSuspect
	pairRetrieved
	pairFlags = 1<<iota - 1
)

// appendPair writes flags, rank (8 bytes), the bounds there are (instant, value; the second instant from the first) and the suspect.
func (e *encoder) appendPair(p *pair) {
	e.b = append(e.b, when(p.hasLow, pairLow)|when(p.hasHigh, pairHigh)|when(p.serverIsA, pairServerIsA)|
		when(p.suspect != nil, pairSuspect)|when(p.suspect != nil && p.suspect.retrieved, pairRetrieved))
	e.fixed(p.rank)
	from := int64(0)
	if p.hasLow {
		e.varint(p.lowAt)
		e.varint(p.low)
		from = p.lowAt
	}
	if p.hasHigh {
		e.varint(p.highAt - from)
		e.varint(p.high)
	}
	if x := p.suspect; x != nil {
		e.uvarint(e.procs[x.proc])
		e.uvarint(e.stages[x.stage])
		e.varint(int64(x.end))
		e.uvarint(uint64(x.dur))
		e.fixed(x.request)
	}
}

// Read reads a survey that Write wrote; its names go into d. What is damaged is refused: ErrNotSurvey, ErrVersion, ErrDamaged.
func Read(r io.Reader, d *model.Dict) (*Survey, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	head := len(magic) + 1
	switch {
	case len(b) < head || string(b[:len(magic)]) != magic:
		return nil, ErrNotSurvey
	case b[len(magic)] != version:
		return nil, fmt.Errorf("%w: it is %d, this program reads %d", ErrVersion, b[len(magic)], version)
	case len(b) > maxFile:
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrDamaged, maxFile)
	case len(b) < head+8 || binary.LittleEndian.Uint64(b[len(b)-8:]) != xxhash.Sum64(b[:len(b)-8]):
		return nil, fmt.Errorf("%w: its checksum does not fit", ErrDamaged)
	}
	dec := &decoder{b: b[head : len(b)-8]}
	v := dec.survey(d)
	if dec.bad || len(dec.b) > 0 {
		return nil, ErrDamaged
	}
	v.settleAll()
	return v, nil
}

// A decoder reads from the front of b. After something that cannot be it is bad, and what it gives is zero.
type decoder struct {
	b      []byte
	bad    bool
	procs  []model.ProcID
	stages []model.StrID
}

func (d *decoder) require(ok bool) {
	if !ok {
		d.bad, d.b = true, nil
	}
}

func (d *decoder) uvarint() uint64 {
	n, k := binary.Uvarint(d.b)
	d.require(k > 0)
	d.b = d.b[max(min(k, len(d.b)), 0):]
	return n
}

func (d *decoder) varint() int64 {
	n, k := binary.Varint(d.b)
	d.require(k > 0)
	d.b = d.b[max(min(k, len(d.b)), 0):]
	return n
}

// number is an integer that is not negative.
func (d *decoder) number() int64 {
	n := d.uvarint()
	d.require(n <= math.MaxInt64)
	return int64(n & math.MaxInt64)
}

func (d *decoder) bytes(n int) []byte {
	d.require(n >= 0 && n <= len(d.b))
	if d.bad {
		return make([]byte, min(max(n, 0), 16))
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) fixed() uint64 { return binary.LittleEndian.Uint64(d.bytes(8)) }

// count is the length of a list whose items take at least so many bytes each.
func (d *decoder) count(least int) int {
	n := d.uvarint()
	d.require(n <= uint64(len(d.b)/least))
	if d.bad {
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.count(1)
	return string(d.bytes(n))
}

// names reads texts in ascending order.
func (d *decoder) names(each func(string)) {
	prev := ""
	for i := range d.count(1) {
		s := d.text()
		d.require(i == 0 || s > prev)
		if d.bad {
			return
		}
		each(s)
		prev = s
	}
}

func place[T any](d *decoder, of []T) T {
	n := d.uvarint()
	d.require(n < uint64(len(of)))
	if d.bad {
		var none T
		return none
	}
	return of[n]
}

func (d *decoder) survey(dict *model.Dict) *Survey {
	v := NewSurvey(dict)
	d.names(func(s string) { d.procs = append(d.procs, dict.Process(s)) })
	d.names(func(s string) { d.stages = append(d.stages, dict.InternString(s)) })
	for _, id := range d.procs {
		d.process(v, v.process(id))
	}
	for range d.count(2) {
		stage := place(d, d.stages)
		var s model.Series
		rest, err := s.Decode(d.b)
		d.require(err == nil)
		if d.bad {
			return v
		}
		d.b = rest
		v.series(stage).Merge(&s)
	}
	v.requests = Requests{d.fixed(), d.fixed()}
	v.llm.first, v.llm.last = model.Time(d.varint()), model.Time(d.varint())
	for range d.count(3) {
		g := group{first: model.Time(d.varint())}
		g.last = g.first + model.Time(d.number())
		g.n = d.number()
		d.require(g.n > 0 && g.last >= g.first && dayOf(g.first) == dayOf(g.last))
		if d.bad {
			return v
		}
		v.extent.join(dayOf(g.first), g)
	}
	d.notes(v)
	d.votes(v)
	d.plans(v)
	v.bound = d.fixed()
	for range d.count(11) {
		a, b := place(d, d.procs), place(d, d.procs)
		s := &sample{bound: d.fixed()}
		for range d.count(11) {
			s.pairs = append(s.pairs, d.pair())
			if d.bad {
				return v
			}
		}
		pp, swapped := v.order(a, b)
		d.require(!swapped && a != b && v.samples[pp] == nil)
		if d.bad {
			return v
		}
		v.samples[pp] = s
	}
	return v
}

func (d *decoder) process(v *Survey, p *process) {
	flags := d.bytes(1)[0]
	p.models = modelNames{d.text(), flags&procSeveralModels != 0}
	d.require(!p.models.several || p.models.name == "")
	if p.seen = flags&procSeen != 0; p.seen {
		p.first, p.last = model.Time(d.varint()), model.Time(d.varint())
	}
	if p.server.any = flags&procServer != 0; !p.server.any {
		return
	}
	p.server.last = model.Time(d.varint())
	for range d.count(12) {
		s := nearSpan{stage: place(d, d.stages), end: p.server.last - model.Time(d.number()), dur: time.Duration(d.number()), request: d.fixed(), n: d.number()}
		d.require(s.n > 0)
		if d.bad {
			return
		}
		v.addNear(&p.server, s)
	}
}

func (d *decoder) pair() pair {
	flags := d.bytes(1)[0]
	p := pair{rank: d.fixed(), hasLow: flags&pairLow != 0, hasHigh: flags&pairHigh != 0, serverIsA: flags&pairServerIsA != 0}
	d.require(flags <= pairFlags && (p.hasLow || p.hasHigh))
	inside := func(at, v int64) bool {
		return at > 0 && at < int64(latest) && v > -int64(latest) && v < int64(latest)
	}
	if p.hasLow {
		p.lowAt, p.low = d.varint(), d.varint()
		d.require(inside(p.lowAt, p.low))
	}
	if p.hasHigh {
		p.highAt, p.high = p.lowAt+d.varint(), d.varint()
		d.require(inside(p.highAt, p.high))
	}
	if flags&pairSuspect != 0 {
		p.suspect = &suspect{proc: place(d, d.procs), stage: place(d, d.stages), end: model.Time(d.varint()), dur: time.Duration(d.number()),
			request: d.fixed(), retrieved: flags&pairRetrieved != 0}
	}
	return p
}
