package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// External ids are joined to internal ones in levels (R4.2): at the first at which an internal id fits, the others do not count. An internal id that
// fitted at one level is spoken for at the later ones, so that job-deadbeef-0a1b2c3d belongs to job-deadbeef, never to job.
const (
	levelExact = iota // of model.ExternalForms
	levelIndex
	numLevels = model.NumForms
)

// joins are what Read needs to know of external ids.
type joins struct {
	candidates map[hash]hash   // internal id → the external id it is a candidate of
	ambiguous  map[hash]string // external ids that fit several
}

// joined is what became of an external id.
type joined struct {
	key       hash // of the request it belongs to; of one that fits no single internal id its own
	join      model.Join
	fits      bool // key is an internal id
	ambiguous bool // it fits several internal ids
}

// joining are the external ids of a partition of keys.
type joining struct {
	ids   hashTable
	asks  []ask
	found []joined // by number
	taken hashTable
	fits  []note
}

// fit tells the partitions of the external ids that an internal id may mean, its own among them.
func (d *desk) fit(id []byte, key hash) error {
	texts, ok := model.ExternalForms(id)
	n := note{kind: noteFit, key: key}
	var keys [numLevels]hash
	for level := range keys {
		keys[level] = key
		if level > levelExact && ok[level] {
			keys[level] = hashID(texts[level])
		}
		n.forms[level] = noForm
		if ok[level] {
			n.forms[level] = uint16(d.id.s.keyedStream(keys[level]))
		}
	}
	for level, part := range n.forms {
		if part == noForm {
			continue
		}
		n.about, n.level = keys[level], uint8(level)
		d.id.fitting[level].Store(true)
		if err := d.out.put(inboxFits, int(part), &n); err != nil {
			return err
		}
	}
	return nil
}

// joining reads who asks for which external ids of a partition, and what was found of them at the levels before this one.
func (d *desk) joining(ctx context.Context, part int, level uint8) error {
	j := &d.ext
	j.ids.reset()
	j.taken.reset()
	j.asks, j.found, j.fits = j.asks[:0], j.found[:0], j.fits[:0]
	err := d.scan.eachNote(ctx, d.id.s.inbox(inboxAsked, part), func(n *note) error {
		if n.kind == noteExternal {
			at, added := j.ids.add(n.about)
			j.asks = append(j.asks, ask{uint32(at), n.from})
			if added {
				j.found = append(j.found, joined{key: n.about})
			}
		}
		return nil
	})
	if err != nil || len(j.asks) == 0 {
		return err
	}
	return d.scan.eachNote(ctx, d.id.s.inbox(inboxFits, part), func(n *note) error {
		if n.kind == noteTaken {
			if n.level < level { // those of this level are being noted by others
				j.taken.add(n.about)
			}
			return nil
		}
		at := j.ids.find(n.about)
		switch {
		case at < 0:
		case n.kind == noteJoined:
			j.found[at] = n.joined()
		case n.level == level:
			j.fits = append(j.fits, *n)
		}
		return nil
	})
}

// join decides the external ids of a partition that fit at a level and at none before.
func (d *desk) join(ctx context.Context, part int, level uint8) error {
	if err := d.joining(ctx, part, level); err != nil {
		return err
	}
	j := &d.ext
	fits := slices.DeleteFunc(j.fits, func(n note) bool {
		found := &j.found[j.ids.find(n.about)]
		return found.fits || found.ambiguous || j.taken.find(n.key) >= 0
	})
	slices.SortFunc(fits, func(a, b note) int { return cmp.Or(a.about.compare(b.about), a.key.compare(b.key)) })
	for len(fits) > 0 {
		same := 1
		for same < len(fits) && fits[same].about == fits[0].about {
			same++
		}
		if err := d.decide(fits[:same], part); err != nil {
			return err
		}
		fits = fits[same:]
	}
	return nil
}

// decide notes what became of an external id, given the internal ids that fit it.
func (d *desk) decide(fits []note, part int) error {
	f := joined{key: fits[0].key, join: model.JoinNormalised, fits: true}
	if fits[0].level == levelExact {
		f.join = model.JoinID
	}
	if len(fits) > 1 {
		f = joined{key: fits[0].about, ambiguous: true}
		d.id.candidates(fits)
	}
	n := f.note(fits[0].about)
	if err := d.out.put(inboxFits, part, &n); err != nil {
		return err
	}
	for i := range fits {
		taken := note{kind: noteTaken, about: fits[i].key, level: fits[i].level}
		for _, other := range fits[i].forms[fits[i].level+1:] {
			if other == noForm {
				continue
			}
			if err := d.out.put(inboxFits, int(other), &taken); err != nil {
				return err
			}
		}
	}
	return nil
}

// candidates notes which external id the internal ones that fit it are candidates of.
func (id *identifier) candidates(fits []note) {
	id.mu.Lock()
	defer id.mu.Unlock()
	for i := range fits {
		id.s.joins.candidates[fits[i].key] = fits[i].about
	}
}

// reply tells who asked what became of the external ids of a partition.
func (d *desk) reply(ctx context.Context, part int) error {
	if err := d.joining(ctx, part, numLevels); err != nil {
		return err
	}
	j := &d.ext
	for i := range j.found {
		switch f := &j.found[i]; {
		case f.ambiguous:
			d.sum.Ambiguous++
		case f.fits:
			d.sum.Joined++
		default:
			d.sum.Alone++
		}
	}
	for _, a := range j.asks {
		n := j.found[a.n].note(j.ids.keys[a.n])
		if err := d.out.put(inboxAnswers, int(a.from), &n); err != nil {
			return err
		}
	}
	return nil
}
