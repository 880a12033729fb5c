package profile

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A line is what is known of one line while it is read. Of several keys of one role the one that comes first in the order of the keys counts.
type line struct {
	name            []byte
	nameKey         keyID
	known           nameID // place of the name in Decoder.known, from 1; 0: not looked for
	start, end, dur moment
	pid             int64 // 0: unsaid
	fromProc        bool  // pid is only what a key proc says
	role, proc      []byte
	outcome         outcome
	request, who    uint64 // hashes of the request's id and of what tells ranks and threads apart, for a Head only
}

// A moment is an instant or a duration as it is written. Key 0: there is none.
type moment struct {
	dec   decimal
	key   keyID
	fault fault
}

// A fault is why a value is no number.
type fault uint8

const (
	sound fault = iota
	notNumber
	notFinite
)

var faults = [...]error{sound: nil, notNumber: jsonscan.ErrNumber, notFinite: errNotFinite}

type outcome uint8

const (
	unsaid outcome = iota
	succeeded
	failed
)

// A reader takes the values of one line after the other. With a batch it adds attributes to the batch's open record.
type reader struct {
	keys  *Keys
	order []uint8 // by keyID
	line  line

	batch *model.Batch
	attrs []model.AttrKey // by keyID: under which a value is kept, AttrNone when it is not
	words decode.Words[model.AttrKey]

	moments *[]moment        // every instant and duration of the line, for a Head
	nest    jsonscan.Scanner // of an object or array
	text    []byte
	buf     [3][]byte // copies of name, role and proc
}

// begin forgets the line before.
func (r *reader) begin() { r.line = line{} }

// bind prepares for the lines of a batch.
func (r *reader) bind(keys *Keys, order []uint8, b *model.Batch) {
	same := r.keys == keys && r.batch != nil && b != nil && r.batch.Dict == b.Dict && r.batch.KeepAll == b.KeepAll
	r.keys, r.order, r.batch = keys, order, b
	if same {
		return
	}
	r.words = decode.Words[model.AttrKey]{}
	r.attrs = make([]model.AttrKey, len(keys.list))
	for id := 1; id < len(keys.list) && b != nil; id++ {
		k := &keys.list[id]
		switch k.Role {
		case model.ProfileStart, model.ProfileEnd, model.ProfileDuration:
		case model.ProfileRequest:
			r.attrs[id] = k.Attr
		case model.ProfileProcess:
			if r.attrs[id] = k.Attr; k.Attr == model.AttrNone || k.Attr == model.AttrRole {
				r.attrs[id] = model.AttrNone
				if b.KeepAll {
					r.attrs[id] = b.Wants([]byte(k.Key))
				}
			}
		case model.ProfileOther:
			r.attrs[id] = b.Wants([]byte(k.Key))
		default:
			if b.KeepAll {
				r.attrs[id] = b.Wants([]byte(k.Key))
			}
		}
	}
}

// attr is under which the value of a key that says nothing about a line is kept.
func (r *reader) attr(key []byte) model.AttrKey {
	if r.batch == nil {
		return model.AttrNone
	}
	k := model.AttrOf(key)
	if k != model.AttrNone || !r.batch.KeepAll {
		return k
	}
	k, ok := r.words.Find(key)
	if !ok {
		k = r.batch.Wants(key)
		r.words.Keep(key, k)
	}
	return k
}

// takeText takes a text. t is good during the call only, unless it is stable.
func (r *reader) takeText(id keyID, attr model.AttrKey, t []byte, stable bool) {
	l := &r.line
	switch role := r.keys.list[id].Role; role {
	case model.ProfileName:
		if len(t) > 0 {
			r.takeName(id, t, stable)
		}
		return
	case model.ProfileStart, model.ProfileEnd, model.ProfileDuration:
		if len(t) > 0 {
			r.takeMoment(role, momentOf(id, t))
		}
		return
	case model.ProfileRequest:
		if r.batch == nil {
			l.request = xxhash.Sum64(t)
			return
		}
	case model.ProfilePID:
		r.takePID(t, false)
	case model.ProfileProc:
		if !r.takePID(t, true) {
			l.proc = r.keep(1, t, stable)
		}
	case model.ProfileProcess:
		if r.batch == nil {
			l.who ^= xxhash.Sum64(t) * (2*uint64(id) + 1)
		}
		if r.keys.list[id].Attr == model.AttrRole {
			l.role = r.keep(2, t, stable)
		}
	case model.ProfileFailed:
		switch string(t) {
		case "false", "False", "None", "null", "0", "":
			l.settle(succeeded)
		default:
			l.settle(failed)
		}
	case model.ProfileOK:
		switch string(t) {
		case "false", "False", "0":
			l.settle(failed)
		case "true", "True", "1":
			l.settle(succeeded)
		}
	}
	if attr != model.AttrNone {
		r.batch.AddText(attr, t)
	}
}

// keep is a text that stays good for this line.
func (r *reader) keep(slot int, t []byte, stable bool) []byte {
	if stable {
		return t
	}
	r.buf[slot] = append(r.buf[slot][:0], t...)
	return r.buf[slot]
}

// takeName takes the name of a line. One of a key that counts less is an attribute.
func (r *reader) takeName(id keyID, t []byte, stable bool) {
	l := &r.line
	switch {
	case l.nameKey == 0:
	case r.order[id] <= r.order[l.nameKey]:
		if k := r.attrs[l.nameKey]; k != model.AttrNone && id != l.nameKey {
			r.batch.AddText(k, l.name)
		}
	default:
		if k := r.attrs[id]; k != model.AttrNone {
			r.batch.AddText(k, t)
		}
		return
	}
	l.name, l.nameKey, l.known = r.keep(0, t, stable), id, 0
}

func momentOf(id keyID, t []byte) moment {
	d, err := parseDecimal(t)
	switch err {
	case nil:
		return moment{dec: d, key: id}
	case errNotFinite:
		return moment{key: id, fault: notFinite}
	}
	return moment{key: id, fault: notNumber}
}

func (r *reader) takeMoment(role model.ProfileRole, m moment) {
	at := &r.line.dur
	switch role {
	case model.ProfileStart:
		at = &r.line.start
	case model.ProfileEnd:
		at = &r.line.end
	}
	if at.key == 0 || r.order[m.key] <= r.order[at.key] {
		*at = m
	}
	if r.moments != nil {
		*r.moments = append(*r.moments, m)
	}
}

// takePID takes a process number, and reports whether it is one. What a key pid says wins over a key proc.
func (r *reader) takePID(t []byte, fromProc bool) bool {
	n, err := jsonscan.ParseInt(t)
	if err != nil || n <= 0 {
		return false
	}
	if l := &r.line; l.pid == 0 || !fromProc || l.fromProc {
		l.pid, l.fromProc = n, fromProc
	}
	return true
}

// settle takes in whether a line says that its work failed; of several that it did.
func (l *line) settle(o outcome) { l.outcome = max(l.outcome, o) }

// takeNumber takes a number as it is written.
func (r *reader) takeNumber(id keyID, attr model.AttrKey, t []byte) {
	switch role := r.keys.list[id].Role; role {
	case model.ProfileName:
		return
	case model.ProfileStart, model.ProfileEnd, model.ProfileDuration:
		r.takeMoment(role, momentOf(id, t))
		return
	case model.ProfileRequest:
		if r.batch == nil {
			r.line.request = xxhash.Sum64(t)
			return
		}
	case model.ProfilePID:
		r.takePID(t, false)
	case model.ProfileProc:
		r.takePID(t, true)
	case model.ProfileProcess:
		if r.batch == nil {
			r.line.who ^= xxhash.Sum64(t) * (2*uint64(id) + 1)
		}
	case model.ProfileFailed, model.ProfileOK:
		if d, err := parseDecimal(t); err == nil {
			r.takeTruth(role, d.mant != 0)
		}
	}
	if attr != model.AttrNone {
		r.addNumber(attr, t)
	}
}

func (r *reader) addNumber(attr model.AttrKey, t []byte) {
	if n, err := jsonscan.ParseInt(t); err == nil && !bytes.ContainsAny(t, ".eE") {
		r.batch.AddInt(attr, n)
	} else if f, err := strconv.ParseFloat(string(t), 64); err == nil {
		r.batch.AddFloat(attr, f)
	}
}

func (r *reader) takeTruth(role model.ProfileRole, v bool) {
	if v == (role == model.ProfileFailed) {
		r.line.settle(failed)
	} else {
		r.line.settle(succeeded)
	}
}

func (r *reader) takeBool(id keyID, attr model.AttrKey, v bool) {
	switch role := r.keys.list[id].Role; role {
	case model.ProfileFailed, model.ProfileOK:
		r.takeTruth(role, v)
	case model.ProfileStart, model.ProfileEnd, model.ProfileDuration:
		r.takeMoment(role, moment{key: id, fault: notNumber})
	}
	if attr != model.AttrNone {
		r.batch.AddBool(attr, v)
	}
}

// takeNest takes an object or array, which is kept as compact JSON.
func (r *reader) takeNest(id keyID, attr model.AttrKey, raw []byte) {
	switch role := r.keys.list[id].Role; role {
	case model.ProfileFailed:
		if !empty(raw) {
			r.line.settle(failed)
		}
	case model.ProfileStart, model.ProfileEnd, model.ProfileDuration:
		r.takeMoment(role, moment{key: id, fault: notNumber})
	}
	if attr == model.AttrNone {
		return
	}
	r.nest.Reset(raw)
	r.text = r.nest.AppendCompact(r.text[:0])
	if r.nest.Err() == nil {
		r.batch.AddJSON(attr, r.text)
	}
}

// empty reports whether a container holds nothing.
func empty(raw []byte) bool { return len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0 }

// object reads the members of the object that the scanner is in.
func (r *reader) object(s *jsonscan.Scanner) {
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		id := r.keys.find(key)
		attr := r.attrs[id]
		if id == 0 {
			attr = r.attr(key)
		}
		switch s.Kind() {
		case jsonscan.String:
			if t, ok := s.Text(); ok {
				r.takeText(id, attr, t, false)
			}
		case jsonscan.Number:
			r.takeNumber(id, attr, s.Raw())
		case jsonscan.Bool:
			if v, ok := s.Bool(); ok {
				r.takeBool(id, attr, v)
			}
		case jsonscan.Object, jsonscan.Array:
			if raw := s.Raw(); raw != nil {
				r.takeNest(id, attr, raw)
			}
		default: // null
			s.Skip()
		}
	}
}

// What a line can lack.
var (
	errNoName = errors.New("no name: want one of the keys name, span, event, op, qualname, stage")
	errNoTime = errors.New("no time: want a start or an end")
)

// wrong is the error of the value of a key.
func (r *reader) wrong(id keyID, err error) error {
	return fmt.Errorf("%s: %w", r.keys.list[id].Key, err)
}
