package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Facts are what the lines of a block, or of several, say of their input as a whole. They add up in any order.
type Facts struct {
	keys       *Keys
	used       []bool              // by keyID: it counted on some line
	first      [][numClasses]int64 // by keyID: the first line with an instant of a class; 0: none
	bare       []int64             // by keyID: the first line with a duration of no known unit
	start, end int64               // of the absolute starts; 0: none
	unanchored int64               // lines on a clock without an epoch
	unplaced   int64               // of those whose unit nobody knows
}

func (f *Facts) reset(k *Keys) {
	n := len(k.list)
	if f.keys != k {
		*f = Facts{keys: k, used: make([]bool, n), first: make([][numClasses]int64, n), bare: make([]int64, n)}
		return
	}
	clear(f.used)
	clear(f.first)
	clear(f.bare)
	f.start, f.end, f.unanchored, f.unplaced = 0, 0, 0, 0
}

func (f *Facts) use(k keyID) { f.used[k] = true }

func (f *Facts) note(k keyID, c class, line int64) {
	if at := &f.first[k][c]; *at == 0 {
		*at = line
	}
}

func (f *Facts) noteBare(k keyID, line int64) {
	if f.bare[k] == 0 {
		f.bare[k] = line
	}
}

func (f *Facts) place(ns int64) {
	if f.start == 0 || ns < f.start {
		f.start = ns
	}
	f.end = max(f.end, ns)
}

// earlier is the smaller of two lines, of which 0 is none.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (f *Facts) merge(o *Facts) {
	for k := range f.used {
		f.used[k] = f.used[k] || o.used[k]
		f.bare[k] = earlier(f.bare[k], o.bare[k])
		for c := range f.first[k] {
			f.first[k][c] = earlier(f.first[k][c], o.first[k][c])
		}
	}
	if o.start != 0 {
		f.place(o.start)
		f.place(o.end)
	}
	f.unanchored += o.unanchored
	f.unplaced += o.unplaced
}

// A Plan is how the lines of one input are read: what the first of them tell of all (R4.12). Any number of Decoders may work by it at once.
type Plan struct {
	keys    *Keys
	order   []uint8             // by keyID
	class   []class             // by keyID: what the instants of the first lines are
	unit    []model.ProfileUnit // by keyID, of durations, and of instants that are not absolute; UnitUnsaid where nothing tells
	basis   []string            // by keyID: how a unit became known that the key does not say
	divisor int64               // of starts, should the file turn out to have no epoch although its numbers look as if it had: 1 for none
	refused string
	given   *model.ProfilePlan // by a survey table, nil for none

	mu    sync.Mutex
	facts Facts
}

// Refused says why the input cannot be read, "" when it can.
func (p *Plan) Refused() string { return p.refused }

func (p *Plan) add(f *Facts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.facts.keys == nil {
		p.facts.reset(p.keys)
	}
	p.facts.merge(f)
}

// An Outcome is what is known of an input once all its lines were decoded.
type Outcome struct {
	Refused    string // why no line of it counts
	Unanchored bool   // its times are not absolute, although they look so: its lines are placed by the requests they share with spans, or untimed
	Divisor    int64  // of starts, when Unanchored
	Notes      []string
	Plan       *model.ProfilePlan // what was decided, for the survey table; nil when Refused
}

// shared says what becomes of lines on a clock without an epoch.
const shared = "they are placed by the requests they share with spans, or untimed"

// Instants far from these are no wall clock (R4.12).
const day = int64(24 * time.Hour)

var firstYear = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// Finish decides what hangs on all lines of an input. near reports whether a span of the capture lies in an interval of ns; it is nil where there are no
// spans. now is the present.
func (p *Plan) Finish(near func(from, to int64) bool, now time.Time) Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.facts
	if f.keys == nil {
		f.reset(p.keys)
	}
	if p.refused == "" {
		p.refused = p.contradiction()
	}
	if p.refused != "" {
		return Outcome{Refused: p.refused}
	}
	out := Outcome{Divisor: 1, Notes: []string{p.choices()}}
	given := p.given != nil && p.given.Anchor != model.AnchorUnsaid
	if f.start != 0 {
		switch {
		case given:
			out.Unanchored = p.given.Anchor == model.AnchorNone
		case near != nil:
			out.Unanchored = !near(f.start-day, f.end+day)
		default:
			out.Unanchored = f.start < firstYear || f.end > now.UnixNano()+day
		}
	}
	switch {
	case out.Unanchored:
		if out.Divisor = p.divisor; given {
			out.Divisor = p.given.Divisor
		}
		out.Notes = append(out.Notes, "its times are not within a day of the capture's spans: "+shared)
		if near == nil && !given {
			out.Notes[1] = "its times are not of this century: " + shared
		}
	case f.unplaced > 0:
		out.Notes = append(out.Notes, fmt.Sprintf("%d lines have times on a clock without an epoch and of an unknown unit: untimed", f.unplaced))
	}
	if f.unanchored > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d lines have times on a clock without an epoch: %s", f.unanchored, shared))
	}
	out.Plan = p.decided(&out)
	return out
}

// decided is what was decided of an input that its lines alone need not tell.
func (p *Plan) decided(out *Outcome) *model.ProfilePlan {
	plan := &model.ProfilePlan{}
	switch {
	case out.Unanchored:
		plan.Anchor, plan.Divisor = model.AnchorNone, out.Divisor
	case p.facts.start != 0:
		plan.Anchor = model.AnchorEpoch
	}
	for k := range p.keys.list {
		key := &p.keys.list[k]
		if p.unit[k] == model.UnitUnsaid || key.Unit != model.UnitUnsaid || !p.facts.used[k] && p.facts.first[k][classOther] == 0 {
			continue
		}
		switch key.Role {
		case model.ProfileStart, model.ProfileEnd, model.ProfileDuration:
			plan.Units = append(plan.Units, model.ProfileKeyUnit{Key: key.Key, Unit: p.unit[k]})
		}
	}
	slices.SortFunc(plan.Units, func(a, b model.ProfileKeyUnit) int { return cmp.Compare(a.Key, b.Key) })
	return plan
}

// contradiction is why an input cannot be read after all: a key of two magnitudes, or a duration whose unit nobody knows.
func (p *Plan) contradiction() string {
	for k := range p.facts.first {
		type seen struct {
			class class
			line  int64
		}
		var all []seen
		for c := classS; c < numClasses; c++ {
			if line := p.facts.first[k][c]; line != 0 {
				all = append(all, seen{c, line})
			}
		}
		if len(all) > 1 {
			slices.SortFunc(all, func(a, b seen) int { return cmp.Compare(a.line, b.line) })
			return fmt.Sprintf("%q is %s on line %d and %s on line %d: use --profile-map", p.keys.list[k].Key, all[0].class, all[0].line, all[1].class, all[1].line)
		}
	}
	for k, line := range p.facts.bare {
		if line != 0 {
			return unknownUnit(p.keys.list[k].Key)
		}
	}
	return ""
}

func unknownUnit(key string) string { return fmt.Sprintf("unit of %q unknown: use --profile-map", key) }

func (c class) String() string {
	if c == classOther {
		return "no absolute time"
	}
	return "in " + classUnit[c].String()
}

// choices says what the keys of an input were taken for (R4.12).
func (p *Plan) choices() string {
	parts := []string{}
	for _, role := range [...]struct {
		what string
		role model.ProfileRole
	}{{"name", model.ProfileName}, {"start", model.ProfileStart}, {"end", model.ProfileEnd}, {"duration", model.ProfileDuration}} {
		var keys []string
		for k, used := range p.facts.used {
			if !used && p.facts.first[k] == [numClasses]int64{} || p.keys.list[k].Role != role.role {
				continue
			}
			keys = append(keys, fmt.Sprintf("%q", p.keys.list[k].Key)+p.unitOf(k))
		}
		if len(keys) > 0 {
			parts = append(parts, role.what+" "+strings.Join(keys, ", "))
		}
	}
	if len(parts) == 0 {
		return "no line could be used"
	}
	return "taken for " + strings.Join(parts, "; ")
}

// unitOf says in what unit a key was read, and why.
func (p *Plan) unitOf(k int) string {
	key := &p.keys.list[k]
	switch key.Role {
	case model.ProfileDuration:
		if key.Unit == model.UnitUnsaid {
			return fmt.Sprintf(" (%s, by %s)", p.unit[k], p.basis[k])
		}
		return fmt.Sprintf(" (%s)", key.Unit)
	case model.ProfileStart, model.ProfileEnd:
		if key.Unit != model.UnitUnsaid {
			return fmt.Sprintf(" (%s)", key.Unit)
		}
		for c := classS; c < classOther; c++ {
			if p.facts.first[k][c] != 0 {
				return fmt.Sprintf(" (%s, by magnitude)", classUnit[c])
			}
		}
		if p.unit[k] != model.UnitUnsaid {
			return fmt.Sprintf(" (%s, by %s)", p.unit[k], p.basis[k])
		}
		return " (unit unknown)"
	}
	return ""
}
