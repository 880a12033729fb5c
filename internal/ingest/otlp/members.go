package otlp

import (
	"encoding/binary"

	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// members reads what follows the end time of a span, whose closing quote is at b[at], by the spellings that followed p (that of its start) before. It reports
// whether the span ends there; otherwise the members that are left are the caller's.
//
// Between two values the scanner is where a span was entered: it moves only for what it is asked to read.
func (d *Decoder) members(p spellingID, at int) (whole bool) {
	b, l := d.blk.Data, &d.spellings
	from := at
	for {
		n := l.after(&l.list[p], b, at)
		if n == 0 {
			if n = d.learn(p, at); n == 0 {
				if at = d.otherwise(&l.list[p], from, at); at == 0 {
					return false
				}
				p = behindAttribute
				continue
			}
		}
		s := &l.list[n]
		from = at
		if at += len(s.text); s.role == roleSpanEnd {
			d.s.Pass(at, -1)
			return true
		}
		if at = d.exactValue(s, at); at == 0 {
			return false
		}
		p = n
	}
}

// exactValue reads what is left of a value at b[at] and adds it to the span. It returns where the value ends, before the closing quote if it has one; 0 after
// an error.
func (d *Decoder) exactValue(p *spelling, at int) int {
	s, b := &d.s, d.blk.Data
	switch p.role {
	case roleText, roleDropped:
		return d.exactText(p, at)
	case roleNumber:
		n, size := digits(b, at)
		if size == 0 || b[at+size] != '"' {
			return d.exactText(p, at)
		}
		d.b.AddInt(p.key, int64(n))
		return at + size
	case roleInt:
		if n, size := digits(b, at); size > 0 && b[at+size] == '"' {
			d.b.AddInt(p.key, int64(n))
			return at + size
		}
		s.Pass(at-1, 0)
		d.intValue(s, p.key)
		return d.passed(1)
	}
	if p.key == model.AttrNone { // whatever it is, as long as it is no text and has no brackets
		for at < len(b) && b[at] > ' ' && b[at]|0x20 != '{' && b[at]|0x20 != '}' && b[at] != '"' {
			at++
		}
		return at
	}
	s.Pass(at, 0)
	if p.role == roleFloat {
		if f, err := s.Float(); err == nil {
			d.b.AddFloat(p.key, f)
		}
	} else if v, ok := s.Bool(); ok {
		d.b.AddBool(p.key, v)
	}
	return d.passed(0)
}

// passed is how far the scanner came in a value, without its closing quote; 0 after an error.
func (d *Decoder) passed(quote int) int {
	if d.s.Err() != nil {
		return 0
	}
	return d.s.Pos() - quote
}

// digits reads up to 15 decimal digits at b[at] and says how many there are; 0: none, or more, or the block ends.
func digits(b []byte, at int) (n uint64, size int) {
	if at+16 >= len(b) {
		return 0, 0
	}
	n, size = jsonscan.LeadingDigits(binary.LittleEndian.Uint64(b[at:]))
	if size == 8 {
		low, more := jsonscan.LeadingDigits(binary.LittleEndian.Uint64(b[at+8:]))
		switch {
		case more == 8:
			return 0, 0
		case more > 0:
			n = n*tens[more] + low
		}
		size += more
	}
	return n, size
}

var tens = [8]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7}

// exactText reads what is left of a text at b[at].
func (d *Decoder) exactText(p *spelling, at int) int {
	b, last := d.blk.Data, &d.spellings.values[p.slot]
	if end := at + last.to - last.from; last.key == p.key && end < len(b) && b[end] == '"' && string(b[at:end]) == string(b[last.from:last.to]) {
		if p.key != model.AttrNone {
			d.b.Attrs = append(d.b.Attrs, d.b.Attrs[last.attr])
		}
		return end
	}
	if end := jsonscan.PlainEnd(b, at); end >= 0 {
		had := len(d.b.Attrs)
		d.b.AddText(p.key, b[at:end])
		if p.key == model.AttrNone || len(d.b.Attrs) == had+1 {
			*last = lastValue{from: at, to: end, key: p.key, attr: had}
		}
		return end
	}
	s := &d.s // escapes, bytes outside ASCII, the end of the block
	s.Pass(at-1, 0)
	if p.key == model.AttrNone {
		s.Skip()
	} else if text, ok := s.Text(); ok {
		d.b.AddText(p.key, text)
	}
	return d.passed(1)
}

// learn finds out what stands at b[at] behind the value of p, where it is none of what followed it lately, and remembers it. 0: it is spelled in another way.
func (d *Decoder) learn(p spellingID, at int) spellingID {
	b, l, from := d.blk.Data, &d.spellings, at
	closing, list := `"}}`, `,`
	switch l.list[p].role {
	case roleNone, roleStart:
		closing, list = `"`, `,"attributes":[`
	case roleFloat, roleBool:
		closing = `}}`
	case roleAttribute:
		closing = ``
	}
	if !begins(b, at, closing) {
		return 0
	}
	at += len(closing)
	if at := at + len(list); begins(b, at-len(list), list) && begins(b, at, `{"key":"`) {
		return d.learnAttribute(p, from, at+len(`{"key":"`))
	}
	if list == `,` {
		if !begins(b, at, `]`) {
			return 0
		}
		at++
	}
	if status := `,"status":{}`; begins(b, at, status) {
		at += len(status)
	}
	if !begins(b, at, `}`) {
		return 0
	}
	return l.learn(p, b[from:at+1], spelling{role: roleSpanEnd})
}

// learnAttribute is learn for an attribute whose key begins at b[at].
func (d *Decoder) learnAttribute(p spellingID, from, at int) spellingID {
	b := d.blk.Data
	end := jsonscan.PlainEnd(b, at)
	if end < 0 {
		return 0
	}
	s := spelling{key: d.key(b[at:end]), slot: slotOf(b[at:end])}
	if at = end; !begins(b, at, `","value":{"`) {
		return 0
	}
	at += len(`","value":`)
	s.value = uint16(at - from)
	for _, t := range [...]struct {
		text string
		role role
	}{{`{"stringValue":"`, roleText}, {`{"intValue":"`, roleInt}, {`{"doubleValue":`, roleFloat}, {`{"boolValue":`, roleBool}} {
		if begins(b, at, t.text) {
			at += len(t.text)
			s.role = t.role
		}
	}
	switch {
	case s.role == roleNone:
		return 0
	case s.key == model.AttrNone && (s.role == roleText || s.role == roleInt):
		s.role = roleDropped
	case s.role == roleText && s.key < model.NumAttrs && model.Attrs[s.key].Type == model.Number:
		s.role = roleNumber
	}
	return d.spellings.learn(p, b[from:at], s)
}

// otherwise reads on behind the value of p, of which the spelling began at b[from] and which ends at b[at], where that is spelled in another way: up to the end of
// the attribute. It returns where that is; 0: there is none, what is next is a member of the span, or nothing after an error.
func (d *Decoder) otherwise(p *spelling, from, at int) int {
	s := &d.s
	switch p.role {
	case roleNone, roleStart:
		s.Pass(at+1, 0)
		return 0
	case roleAttribute:
		if s.Pass(at, 1); !s.Elem() {
			return 0
		}
		d.attribute()
	default:
		if p.key == model.AttrNone { // what is not kept is passed over as a whole
			s.Pass(from+int(p.value), 2)
			s.Skip()
		} else {
			if p.role != roleFloat && p.role != roleBool {
				at++ // the quote
			}
			s.Pass(at, 3)
			d.fields(s, p.key)
		}
		d.keyAndValue(p.key, true)
	}
	if s.Err() != nil {
		return 0
	}
	at = s.Pos()
	s.Pass(at, -1)
	return at
}
