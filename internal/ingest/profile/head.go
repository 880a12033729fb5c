package profile

import (
	"math"

	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// bySurvey is the basis of a unit that a survey table knows.
const bySurvey = "the survey table"

// headLines is how many lines tell the units of an input (R4.12).
const headLines = 10_000

// A Head looks at the first lines of an input.
type Head struct {
	reader
	s       jsonscan.Scanner
	moments []moment // of all lines
	lines   []headLine
	given   *model.ProfilePlan
}

// A headLine is what a line says of units: its moments, and whose it is.
type headLine struct {
	owner    uint64 // request, process, rank and thread; 0: of no request
	from, to int
}

// NewHead returns a Head of an input whose keys mean what keys say; nil: as assumed.
func NewHead(keys *Keys) *Head {
	if keys == nil {
		keys = DefaultKeys()
	}
	h := &Head{}
	h.bind(keys, keys.order, nil)
	h.reader.moments = &h.moments
	return h
}

// Given says what a survey table knows of the input (R2.2): what it says counts, whatever the first lines tell.
func (h *Head) Given(plan *model.ProfilePlan) { h.given = plan }

// Add looks at a block; blocks come in order. It reports whether more lines count.
func (h *Head) Add(block []byte) (more bool) {
	s := &h.s
	s.Reset(block)
	for len(h.lines) < headLines && s.More() {
		start := s.Pos()
		switch s.Kind() {
		case jsonscan.Object:
			h.read()
		case jsonscan.Array:
			for s.Array(); s.Elem(); {
				if s.Kind() == jsonscan.Object && len(h.lines) < headLines {
					h.read()
				} else {
					s.Skip()
				}
			}
		default:
			if start == 0 && hasBOM(block) {
				s.Seek(len(bom))
			} else {
				s.Seek(nextLine(block, start))
			}
			continue
		}
		if s.Err() != nil {
			s.Seek(jsonscan.Resync(block, start))
		}
	}
	return len(h.lines) < headLines
}

func (h *Head) read() {
	s := &h.s
	h.begin()
	from := len(h.moments)
	s.Object()
	h.object(s)
	if s.Err() != nil || len(h.moments) == from {
		h.moments = h.moments[:from]
		return
	}
	l := &h.line
	owner := l.request
	if owner != 0 {
		owner = max(1, owner^l.who^uint64(l.pid)*0x9e3779b97f4a7c15)
	}
	h.lines = append(h.lines, headLine{owner, from, len(h.moments)})
}

// Plan is how an input that begins with these lines is read.
func (h *Head) Plan() *Plan {
	n := len(h.keys.list)
	p := &Plan{keys: h.keys, order: make([]uint8, n), class: make([]class, n), unit: make([]model.ProfileUnit, n), basis: make([]string, n), divisor: 1, given: h.given}
	for k, key := range h.keys.list {
		p.unit[k] = key.Unit
	}
	for _, m := range h.moments {
		k := h.keys.list[m.key]
		if p.class[m.key] == classUnseen && k.Role != model.ProfileDuration && k.Unit == model.UnitUnsaid && m.fault == sound && m.dec.mant != 0 && !m.dec.neg {
			p.class[m.key], _ = m.dec.classify()
		}
	}
	// Of several instants of one role on a line one that is absolute counts first.
	next := uint8(0)
	for _, last := range [...]bool{false, true} {
		for k := range h.keys.list {
			instant := h.keys.list[k].Role == model.ProfileStart || h.keys.list[k].Role == model.ProfileEnd
			if (instant && p.class[k] == classOther) == last {
				p.order[k] = next
				next++
			}
		}
	}
	h.durations(p)
	h.instants(p)
	return p
}

// pick is the moment of a role that counts on a line.
func (h *Head) pick(p *Plan, l *headLine, role model.ProfileRole) (m moment) {
	for _, c := range h.moments[l.from:l.to] {
		if h.keys.list[c.key].Role == role && c.fault == sound && (m.key == 0 || p.order[c.key] <= p.order[m.key]) {
			m = c
		}
	}
	return m
}

// durations finds the units of durations whose keys do not say them: by the ends of the same lines, else by how one request's lines nest.
func (h *Head) durations(p *Plan) {
	for k := range h.keys.list {
		if key := &h.keys.list[k]; key.Role != model.ProfileDuration || key.Unit != model.UnitUnsaid {
			continue
		}
		if u := h.given.Unit(h.keys.list[k].Key); u != model.UnitUnsaid {
			p.unit[k], p.basis[k] = u, bySurvey
			continue
		}
		used, judged, votes := 0, 0, [len(units)]int{}
		var pieces []piece
		grain, starts := math.Inf(1), model.UnitUnsaid
		for i := range h.lines {
			l := &h.lines[i]
			dur := h.pick(p, l, model.ProfileDuration)
			if int(dur.key) != k {
				continue
			}
			used++
			start, end := h.pick(p, l, model.ProfileStart), h.pick(p, l, model.ProfileEnd)
			from, ok := h.unitOf(p, start)
			if !ok {
				continue
			}
			if to, ok := h.unitOf(p, end); ok {
				a, _ := start.dec.ns(from)
				b, _ := end.dec.ns(to)
				if d := dur.dec.float(); b > a && d > 0 {
					judged++
					for u := range units {
						if x := float64(b-a) / (d * pow10(int(units[u]))); x > 0.5 && x < 2 {
							votes[u]++
						}
					}
				}
			}
			if l.owner != 0 && (starts == model.UnitUnsaid || starts == from) {
				starts = from
				pieces = append(pieces, piece{l.owner, start.dec.float(), dur.dec.float()})
				grain = min(grain, pow10(int(start.dec.exp)))
			}
		}
		if used == 0 {
			continue
		}
		if u, ok := unitByEnds(votes, judged); ok {
			p.unit[k], p.basis[k] = u, "the ends of its lines"
			continue
		}
		if judged == 0 && starts != model.UnitUnsaid {
			if r, ok := ratioOf(pieces, ratios(int(starts), -1), grain); ok {
				p.unit[k], p.basis[k] = model.ProfileUnit(int(starts)-r), "how its lines nest"
				continue
			}
		}
		p.refused = unknownUnit(h.keys.list[k].Key)
		return
	}
}

func unitByEnds(votes [len(units)]int, judged int) (model.ProfileUnit, bool) {
	for u, n := range votes {
		if agreed(n, judged) {
			return units[u], true
		}
	}
	return model.UnitUnsaid, false
}

// unitOf is the unit of an instant, where its magnitude or the map says it.
func (h *Head) unitOf(p *Plan, m moment) (model.ProfileUnit, bool) {
	if m.key == 0 {
		return 0, false
	}
	if u := h.keys.list[m.key].Unit; u != model.UnitUnsaid {
		return u, true
	}
	if c := p.class[m.key]; c > classUnseen && c < classOther {
		return classUnit[c], true
	}
	return 0, false
}

// ratios are the powers of ten by which a unit is larger than each of the units, or smaller with sign 1.
func ratios(unit, sign int) []int {
	out := make([]int, len(units))
	for i, u := range units {
		out[i] = sign * (int(u) - unit)
	}
	return out
}

// instants finds the units of starts that are no absolute times, and of those that may turn out to be none, by how one request's lines nest.
func (h *Head) instants(p *Plan) {
	for k := range h.keys.list {
		if key := &h.keys.list[k]; key.Role != model.ProfileStart || key.Unit != model.UnitUnsaid || p.class[k] == classUnseen {
			continue
		}
		if u := h.given.Unit(h.keys.list[k].Key); u != model.UnitUnsaid {
			p.unit[k], p.basis[k] = u, bySurvey
			continue
		}
		u, ok := h.nestedUnit(p, keyID(k))
		switch {
		case !ok:
		case p.class[k] == classOther:
			p.unit[k], p.basis[k] = u, "how its lines nest"
		default:
			if r := int(classUnit[p.class[k]]) - int(u); r > 0 {
				p.divisor = max(p.divisor, int64(math.Pow10(r)))
			}
		}
	}
}

// nestedUnit is the unit of a key's instants under which the lines that have it nest; their durations must be known.
func (h *Head) nestedUnit(p *Plan, k keyID) (model.ProfileUnit, bool) {
	var pieces []piece
	grain := math.Inf(1)
	for i := range h.lines {
		l := &h.lines[i]
		m, dur := h.pick(p, l, model.ProfileStart), h.pick(p, l, model.ProfileDuration)
		if l.owner == 0 || m.key != k || dur.key == 0 || p.unit[dur.key] == model.UnitUnsaid {
			continue
		}
		if d, ok := dur.dec.ns(p.unit[dur.key]); ok {
			pieces = append(pieces, piece{l.owner, m.dec.float(), float64(d)})
			grain = min(grain, pow10(int(m.dec.exp)))
		}
	}
	r, ok := ratioOf(pieces, ratios(0, 1), grain)
	return model.ProfileUnit(r), ok
}
