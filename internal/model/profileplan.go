package model

import "slices"

// A ProfilePlan is what was decided of one file of profile lines from all of its lines and all of the capture's spans (R2.2, R4.12). A part of the
// file, or a capture without those spans, may tell less or something else, so the survey table keeps it.
type ProfilePlan struct {
	Units   []ProfileKeyUnit // of the keys in use that do not say theirs, by key; those of absolute instants are told by magnitude and not here
	Anchor  ProfileAnchor
	Divisor int64 // of starts without an epoch whose numbers look as if they had one: 1 for nothing; 0 unless Anchor is AnchorNone
}

// A ProfileKeyUnit is the unit of the numbers under a key.
type ProfileKeyUnit struct {
	Key  string
	Unit ProfileUnit
}

// A ProfileAnchor says whether the instants of a file that look absolute are.
type ProfileAnchor uint8

const (
	AnchorUnsaid ProfileAnchor = iota // it has no such instants
	AnchorEpoch                       // they are
	AnchorNone                        // they lie nowhere near the capture's spans: a clock without an epoch
	NumAnchors
)

// Unit is the unit of a key, UnitUnsaid where the plan does not have it; a nil plan has none.
func (p *ProfilePlan) Unit(key string) ProfileUnit {
	if p != nil {
		for _, u := range p.Units {
			if u.Key == key {
				return u.Unit
			}
		}
	}
	return UnitUnsaid
}

// Equal reports whether two plans say the same.
func (p *ProfilePlan) Equal(q *ProfilePlan) bool {
	return p.Anchor == q.Anchor && p.Divisor == q.Divisor && slices.Equal(p.Units, q.Units)
}

// ProfilePlans are plans by file.
type ProfilePlans struct {
	path, family map[string]*ProfilePlan
}

// Add adds the plan of a file. Files of one family (its path without the stamp of its rotation) that differ have none in common.
func (p *ProfilePlans) Add(path, family string, plan *ProfilePlan) {
	if p.path == nil {
		p.path, p.family = map[string]*ProfilePlan{}, map[string]*ProfilePlan{}
	}
	p.path[path] = plan
	if have, ok := p.family[family]; !ok {
		p.family[family] = plan
	} else if have != nil && !have.Equal(plan) {
		p.family[family] = nil
	}
}

// Of is the plan of a file: its own, else that of its family; nil for none.
func (p *ProfilePlans) Of(path, family string) *ProfilePlan {
	if p == nil {
		return nil
	}
	if plan := p.path[path]; plan != nil {
		return plan
	}
	return p.family[family]
}
