package profile

import (
	"bytes"

	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Lines of one writer are spelled alike: the same keys in the same order with the same white space. What stood before each value of the lines so
// far is kept as a tree of texts; a line is read by comparing it with those texts, without looking for keys. Where it differs from all of them, or
// a value is not plain, it is read the general way, which adds its texts to the tree.
type learnt struct {
	root  *spot
	spots int
	never bool // for tests
}

// A spot is a text that stood before a value, from the end of the value before it on.
type spot struct {
	text string
	key  keyID
	attr model.AttrKey
	last bool    // it closes the line: no value follows
	next []*spot // what came after the value, the last one first
}

const (
	maxSpots   = 512 // of all lines
	maxFollows = 8   // texts after one value
)

func (t *learnt) forget() { *t = learnt{root: &spot{}, never: t.never} }

// follow finds the text that stands at the scanner among those that followed a value, and passes over it.
func (p *spot) follow(s *jsonscan.Scanner) *spot {
	for i, n := range p.next {
		if s.Exact(n.text) {
			if i > 0 {
				p.next[i], p.next[i-1] = p.next[i-1], n
			}
			return n
		}
	}
	return nil
}

// quick reads the line at the scanner if it is spelled like one before it. false: nothing was read.
func (d *Decoder) quick() bool {
	s := &d.s
	at := d.learnt.root
	if at == nil || len(at.next) == 0 {
		return false
	}
	mark, start, line := s.Mark(), s.Pos(), s.Line()
	d.begin()
	for {
		if at = at.follow(s); at == nil {
			break
		}
		if at.last {
			d.emit(line, start)
			if s.Exact("\n") {
				s.SetLine(line + 1)
			}
			return true
		}
		if !d.value(at) {
			break
		}
	}
	d.batch.Drop()
	s.Return(mark)
	return false
}

// value reads a plain value: a text of ASCII without escapes, a number without an exponent, true, false or null.
func (d *Decoder) value(p *spot) bool {
	s := &d.s
	switch c := s.Byte(); {
	case c == '"':
		s.Exact(`"`)
		t, ok := s.Plain()
		if !ok {
			return false
		}
		d.takeText(p.key, p.attr, t, true)
		return true
	case c == '-' || c-'0' <= 9:
		return d.number(p)
	case c == 't':
		if !s.Exact("true") {
			return false
		}
		d.takeBool(p.key, p.attr, true)
		return true
	case c == 'f':
		if !s.Exact("false") {
			return false
		}
		d.takeBool(p.key, p.attr, false)
		return true
	case c == 'n':
		return s.Exact("null")
	}
	return false
}

// number reads a number whose digits fit into a decimal.
func (d *Decoder) number(p *spot) bool {
	s := &d.s
	from := s.Pos()
	m := moment{key: p.key}
	m.dec.neg = s.Exact("-")
	whole := s.Pos()
	n, ok := s.Digits()
	if !ok {
		return false
	}
	m.dec.mant = n
	if s.Exact(".") {
		digits := s.Pos() - whole - 1
		point := s.Pos()
		f, ok := s.Digits()
		places := s.Pos() - point
		if !ok || digits+places > 18 {
			return false
		}
		m.dec.mant, m.dec.exp = n*powers[places]+f, -int32(places)
	}
	switch c := s.Byte(); c {
	case ',', '}', ' ':
	default:
		return false
	}
	role := d.keys.list[p.key].Role
	switch role {
	case model.ProfileStart, model.ProfileEnd, model.ProfileDuration:
		d.takeMoment(role, m)
	case model.ProfileOther:
		if p.attr != model.AttrNone {
			d.takeNumber(p.key, p.attr, d.blk.Data[from:s.Pos()])
		}
	default:
		d.takeNumber(p.key, p.attr, d.blk.Data[from:s.Pos()])
	}
	return true
}

// learn adds the texts of a line that was read the general way. raw is its object.
func (d *Decoder) learn(raw []byte) {
	t := &d.learnt
	if t.root == nil {
		t.forget()
	}
	if t.never || t.spots >= maxSpots || bytes.IndexByte(raw, '\n') >= 0 {
		return
	}
	var s jsonscan.Scanner
	s.Reset(raw)
	at, from := t.root, 0
	s.Object()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		k := s.Kind() // moves to the value
		if k == jsonscan.Object || k == jsonscan.Array {
			return
		}
		id := d.keys.find(key)
		attr := d.attrs[id]
		if id == 0 {
			attr = d.attr(key)
		}
		if at = t.add(at, raw[from:s.Pos()], spot{key: id, attr: attr}); at == nil {
			return
		}
		s.Skip()
		from = s.Pos()
	}
	t.add(at, raw[from:], spot{last: true})
}

// add adds a text after a value, unless it is there.
func (t *learnt) add(at *spot, text []byte, p spot) *spot {
	for _, n := range at.next {
		if n.text == string(text) && n.last == p.last {
			return n
		}
	}
	if len(at.next) >= maxFollows || t.spots >= maxSpots {
		return nil
	}
	t.spots++
	p.text = string(text)
	n := &p
	at.next = append(at.next, n)
	return n
}
