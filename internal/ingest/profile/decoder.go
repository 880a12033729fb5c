package profile

import (
	"bytes"
	"cmp"
	"errors"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A Decoder decodes blocks of lines for one goroutine: it holds caches of what repeats. The zero value is ready.
type Decoder struct {
	s jsonscan.Scanner
	reader
	learnt  learnt
	track   tracker
	batches uint64 // how often Decode was called: texts of the batch before are gone

	blk   *decode.Block
	rep   *decode.Report
	plan  *Plan
	facts Facts
	class []class // by keyID: what the instants of a key were so far

	dict   *model.Dict
	family string
	names  decode.Words[nameID]
	known  []knownName
	pids   [4]knownPID // the last ones
	byPID  map[int64]model.ResID
}

// A nameID is a name's place in Decoder.known, from 1.
type nameID uint32

// A knownName is what the lines of a name are called, and their stage.
type knownName struct {
	name    model.StrID
	stage   model.StrID
	success bool // the table has an attribute for how the stage's work ended
}

type knownPID struct {
	pid   int64
	res   model.ResID
	valid bool
}

const (
	maxKnownNames = 1 << 14
	maxKnownPIDs  = 1 << 12
)

// enough is how many records a batch holds before it is to be handed on: it stays in the processor's cache until then.
const enough = 1 << 10

// Decode reads a block of an input by its plan, until the batch holds enough, and returns how far it came: bytes and newlines. What could not be used is in
// the report, what the plan has to know is given to it.
func (d *Decoder) Decode(blk decode.Block, plan *Plan, b *model.Batch, rep *decode.Report) (n int, lines int64) {
	d.blk, d.rep, d.plan = &blk, rep, plan
	d.batches++
	d.bindTo(plan, b, blk.Family)
	d.facts.reset(plan.keys)
	d.class = append(d.class[:0], plan.class...)
	d.lines()
	plan.add(&d.facts)
	d.blk, d.rep, d.plan = nil, nil, nil
	return d.s.Pos(), d.s.Line()
}

// bindTo forgets what was cached for another dictionary, plan or family of files.
func (d *Decoder) bindTo(plan *Plan, b *model.Batch, family string) {
	if d.keys != plan.keys || d.batch == nil || d.batch.KeepAll != b.KeepAll || d.dict != b.Dict {
		d.learnt.forget()
	}
	if d.dict != b.Dict || d.keys != plan.keys {
		d.names, d.known = decode.Words[nameID]{}, d.known[:0]
		d.learnt.forget()
	}
	if d.dict != b.Dict || d.family != family {
		d.pids, d.byPID = [4]knownPID{}, map[int64]model.ResID{}
	}
	d.bind(plan.keys, plan.order, b)
	d.dict, d.family = b.Dict, family
}

// lines reads values until the end of the block, or until there are enough. Objects are lines, elements of arrays too; what else stands there is passed over to the end of its line.
func (d *Decoder) lines() {
	s := &d.s
	s.Reset(d.blk.Data)
	for len(d.batch.Records) < enough {
		if s.Byte() == '{' && d.quick() {
			continue
		}
		if !s.More() {
			return
		}
		start, line := s.Pos(), s.Line()
		switch s.Kind() {
		case jsonscan.Object:
			if d.read() {
				continue
			}
		case jsonscan.Array:
			if d.list(); s.Err() == nil {
				continue
			}
		default:
			to := nextLine(d.blk.Data, start)
			if start == 0 && hasBOM(d.blk.Data) {
				to = len(bom)
			} else {
				d.skip(line, start, errNoObject)
			}
			d.seek(to, start, line)
			continue
		}
		d.broken(start, line)
	}
}

// read reads an object as it may be written. false: it is broken.
func (d *Decoder) read() bool {
	s := &d.s
	start, line := s.Pos(), s.Line()
	d.begin()
	s.Object()
	d.object(s)
	if s.Err() != nil {
		d.batch.Drop()
		return false
	}
	d.learn(d.blk.Data[start:s.Pos()])
	d.emit(line, start)
	return true
}

// list reads an array of lines.
func (d *Decoder) list() {
	s := &d.s
	for s.Array(); s.Elem(); {
		if s.Kind() == jsonscan.Object {
			if !d.read() {
				return
			}
			continue
		}
		d.skip(s.Line(), s.Pos(), errNoObject)
		s.Skip()
	}
}

// begin opens a record.
func (d *Decoder) begin() {
	d.reader.begin()
	d.batch.Begin()
}

// broken reports a value whose rest cannot be read, and goes on behind it: on the next line that begins with an object, or before it at one that another
// writer began in the middle of this one. What was read already is looked through once more, but no further: a file of nothing but
// brackets takes no longer than others.
func (d *Decoder) broken(start int, line int64) {
	s, data := &d.s, d.blk.Data
	err, at := s.Err(), s.Pos()
	next := jsonscan.Resync(data[:min(at+1, len(data))], start) // what it swallowed
	switch {
	case next <= at && next < len(data):
	case at > start && at < len(data) && data[at] == '{':
		next = at
	default:
		next = jsonscan.Resync(data, max(start, at-1))
	}
	if errors.Is(err, jsonscan.ErrEnd) {
		err = decode.ErrTruncated
		d.rep.Truncated = d.rep.Truncated || next == len(data)
	}
	d.skip(line, start, err)
	d.seek(next, start, line)
}

// seek goes on at a position; start lies on a known line.
func (d *Decoder) seek(to, start int, line int64) {
	d.s.Seek(to)
	d.s.SetLine(line + decode.Newlines(d.blk.Data[start:to]))
}

func (d *Decoder) skip(line int64, pos int, err error) {
	d.rep.Skip(d.blk.Line+line, d.blk.Offset+int64(pos), err)
}

var errNoObject = errors.New("want a JSON object")

var bom = []byte("\xef\xbb\xbf")

func hasBOM(b []byte) bool { return bytes.HasPrefix(b, bom) }

func nextLine(data []byte, from int) int {
	if n := bytes.IndexByte(data[from:], '\n'); n >= 0 {
		return from + n + 1
	}
	return len(data)
}

// emit makes the open record of the line that was read; line is its number in the block, from 0.
func (d *Decoder) emit(line int64, pos int) {
	if err := d.fill(d.blk.Line + line); err != nil {
		d.batch.Drop()
		d.skip(line, pos, err)
		return
	}
	d.batch.End()
	d.rep.Records++
}

// emitUsual makes the open record of a line that has what most have, and reports whether the line is one.
func (d *Decoder) emitUsual(line int64) bool {
	l := &d.line
	r := &d.batch.Records[len(d.batch.Records)-1]
	if l.known == 0 || l.pid == 0 || l.outcome != unsaid || !d.usual(r, d.blk.Line+line) {
		return false
	}
	d.facts.use(l.nameKey)
	name := &d.known[l.known-1]
	r.Pos = d.blk.Line + line
	r.ID, r.File = model.LineID(d.blk.File, r.Pos), d.blk.File
	r.Name, r.StageID = name.name, name.stage
	r.Flags = model.RecordLine
	if p := &d.pids[0]; p.valid && p.pid == l.pid {
		r.Res = p.res
	} else {
		r.Res = d.resource(l.pid)
	}
	d.batch.End()
	d.rep.Records++
	return true
}

// fill fills in the open record.
func (d *Decoder) fill(line int64) error {
	l := &d.line
	if l.nameKey == 0 {
		return errNoName
	}
	if l.known == 0 {
		l.known = d.nameOf(l.name)
	}
	name := &d.known[l.known-1]
	d.facts.use(l.nameKey)
	r := &d.batch.Records[len(d.batch.Records)-1]
	if err := d.times(r, line); err != nil {
		return err
	}
	r.ID, r.File, r.Pos = model.LineID(d.blk.File, line), d.blk.File, line
	r.Name, r.StageID = name.name, name.stage
	r.Flags |= model.RecordLine
	r.Res = d.resource(l.pid)
	if l.pid == 0 && !d.batch.KeepAll { // what else tells apart the processes that write to one file
		role := l.role
		if len(role) == 0 {
			role = l.proc
		}
		if len(role) > 0 {
			d.batch.AddText(model.AttrRole, role)
		}
	}
	switch {
	case l.outcome == unsaid:
	case name.success:
		d.batch.AddBool(model.AttrSuccess, l.outcome == succeeded)
	case l.outcome == failed:
		r.Flags |= model.RecordError
	}
	return nil
}

// nameOf is what the lines of a name are: a place in known, from 1.
func (d *Decoder) nameOf(t []byte) nameID {
	if id, ok := d.names.Find(t); ok {
		return id
	}
	if len(d.known) >= maxKnownNames {
		d.names, d.known = decode.Words[nameID]{}, d.known[:0]
		d.learnt.forget()
	}
	text, stage := d.keys.rename(string(t))
	d.known = append(d.known, knownName{d.batch.Dict.InternString(text), stage.ID(), model.AttrSuccess.OfStage(stage)})
	id := nameID(len(d.known))
	d.names.Keep(t, id)
	return id
}

// resource is the process with a number, or all of the file's that have none.
func (d *Decoder) resource(pid int64) model.ResID {
	for i := range d.pids {
		if p := &d.pids[i]; p.valid && p.pid == pid {
			return p.res
		}
	}
	res, ok := d.byPID[pid]
	if !ok {
		if len(d.byPID) >= maxKnownPIDs {
			clear(d.byPID)
		}
		res = d.batch.Dict.Resource(model.Resource{PID: pid}, d.family)
		d.byPID[pid] = res
	}
	copy(d.pids[1:], d.pids[:])
	d.pids[0] = knownPID{pid, res, true}
	return res
}

// times fills in when a line's work began and ended. A duration counts for more than an end: it was measured as one.
func (d *Decoder) times(r *model.Record, line int64) error {
	l := &d.line
	if d.usual(r, line) {
		return nil
	}
	start, err := d.instant(&l.start, line)
	if err != nil {
		return err
	}
	end, err := d.instant(&l.end, line)
	if err != nil {
		return err
	}
	dur, hasDur, err := d.duration(&l.dur, line)
	if err != nil {
		return err
	}
	if start.kind != noInstant && end.kind != noInstant && start.kind != end.kind {
		end.kind = noInstant // on another clock
	}
	switch {
	case start.kind == noInstant && end.kind == noInstant:
		return errNoTime
	case start.kind == noInstant:
		if start = end; hasDur {
			start.ns -= dur
		}
	}
	if start.kind == unplaced || end.kind == unplaced { // nothing tells its unit: untimed
		r.Flags |= model.RecordUnanchored
		d.facts.unplaced++
		return nil
	}
	r.Start = model.Time(start.ns)
	switch {
	case hasDur:
		r.End = model.Time(start.ns + dur)
	case end.kind != noInstant && l.start.key != 0:
		r.End = model.Time(end.ns)
	default: // a point, a counter
		r.Flags |= model.RecordNoEnd
	}
	switch {
	case r.Start <= 0:
		return errNoTime
	case r.End <= 0 && r.Flags&model.RecordNoEnd == 0:
		return d.wrong(cmp.Or(l.dur.key, l.end.key), errRange)
	}
	if start.kind == unanchored {
		r.Flags |= model.RecordUnanchored
		d.facts.unanchored++
		return nil
	}
	d.facts.place(start.ns)
	return nil
}

// usual fills in the times of a line that has what most have: an absolute start and a duration of a known unit.
func (d *Decoder) usual(r *model.Record, line int64) bool {
	start, dur := &d.line.start, &d.line.dur
	if start.key == 0 || dur.key == 0 || d.line.end.key != 0 || start.fault|dur.fault != sound {
		return false
	}
	c, unit := d.class[start.key], d.plan.unit[dur.key]
	if c == classUnseen || c == classOther || unit == model.UnitUnsaid {
		return false
	}
	at, ok := start.dec.in(c)
	length, also := dur.dec.ns(unit)
	if !ok || !also || at+length <= 0 {
		return false
	}
	d.facts.note(start.key, c, line)
	d.facts.use(dur.key)
	d.facts.place(at)
	r.Start, r.End = model.Time(at), model.Time(at+length)
	return true
}

// An instant is when something was, as far as its line tells.
type instant struct {
	ns   int64
	kind instantKind
}

type instantKind uint8

const (
	noInstant  instantKind = iota
	absolute               // ns since the epoch
	unanchored             // ns since some other instant
	unplaced               // of a unit that nobody knows
)

// instant reads the instant of a key: by the unit that its magnitude tells, else by that of the plan.
func (d *Decoder) instant(m *moment, line int64) (t instant, err error) {
	if m.key == 0 {
		return t, nil
	}
	if c := d.class[m.key]; c > classUnseen && c < classOther && m.fault == sound {
		if n, ok := m.dec.in(c); ok {
			d.facts.note(m.key, c, line)
			return instant{n, absolute}, nil
		}
	}
	switch {
	case m.fault != sound:
		return t, d.wrong(m.key, faults[m.fault])
	case m.dec.neg || m.dec.mant == 0:
		return t, d.wrong(m.key, errNoInstant)
	}
	unit := d.plan.unit[m.key]
	if d.keys.list[m.key].Unit != model.UnitUnsaid { // --profile-map says it
		n, ok := m.dec.ns(unit)
		if !ok {
			return t, d.wrong(m.key, errRange)
		}
		d.facts.use(m.key)
		if n >= firstAbsolute {
			return instant{n, absolute}, nil
		}
		return instant{n, unanchored}, nil
	}
	c, n := m.dec.classify()
	d.facts.note(m.key, c, line)
	if d.class[m.key] == classUnseen {
		d.class[m.key] = c
	}
	if c != classOther {
		return instant{n, absolute}, nil
	}
	if unit == model.UnitUnsaid {
		return instant{0, unplaced}, nil
	}
	n, ok := m.dec.ns(unit)
	if !ok {
		return t, d.wrong(m.key, errRange)
	}
	return instant{n, unanchored}, nil
}

var errNoInstant = errors.New("want an instant after 0")

// duration reads a duration, by the unit of its key or of the plan.
func (d *Decoder) duration(m *moment, line int64) (ns int64, ok bool, err error) {
	if m.key == 0 {
		return 0, false, nil
	}
	if m.fault != sound {
		return 0, false, d.wrong(m.key, faults[m.fault])
	}
	unit := d.plan.unit[m.key]
	if unit == model.UnitUnsaid { // it did not occur among the first lines
		d.facts.noteBare(m.key, line)
		return 0, false, nil
	}
	ns, ok = m.dec.ns(unit)
	if !ok {
		return 0, false, d.wrong(m.key, errRange)
	}
	d.facts.use(m.key)
	return ns, true, nil
}
