package store

import (
	"cmp"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// External ids are joined to internal ones in levels (R4.2): at the first at which an internal id fits, the others do not count. An internal id that
// fitted at one level is spoken for at the later ones, so that job-deadbeef-0a1b2c3d belongs to job-deadbeef, never to job.
const (
	levelExact      = iota
	levelIndex      // 1_chat-0a1b2c3d without the index of a choice (n > 1)
	levelWholeChild // 2024_job-0a1b2c3d without vLLM's suffix: an external id may begin with a number itself
	levelSuffix     // without both
	numLevels
)

// trimIndex takes the index of one of several choices off an internal id.
func trimIndex(id []byte) ([]byte, bool) {
	i := 0
	for i < len(id) && id[i] >= '0' && id[i] <= '9' {
		i++
	}
	if i == 0 || i == len(id) || id[i] != '_' {
		return id, false
	}
	return id[i+1:], true
}

// trimSuffix takes the 8 hex digits off that vLLM adds to an id.
func trimSuffix(id []byte) ([]byte, bool) {
	n := len(id) - 9
	if n < 0 || id[n] != '-' {
		return id, false
	}
	for _, c := range id[n+1:] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return id, false
		}
	}
	return id[:n], true
}

// A fit is an internal id that an external one may mean.
type fit struct {
	external uint32
	level    uint8
	key      hash
}

func (f fit) compare(o fit) int {
	return cmp.Or(cmp.Compare(f.level, o.level), cmp.Compare(f.external, o.external), f.key.compare(o.key))
}

// A joiner finds the internal id of each external one.
type joiner struct {
	external hashTable
	last     hash
	fits     []fit
	sorted   int // fits[:sorted] are in order and distinct
	found    []joined
}

// joined is what became of an external id.
type joined struct {
	key       hash // of the request it belongs to
	join      model.Join
	fits      bool // key is an internal id
	ambiguous bool // it fits several internal ids: key is its own
}

// internal looks at a strong id.
func (j *joiner) internal(id []byte, key hash) {
	if len(j.external.keys) == 0 || key == j.last {
		return
	}
	j.last = key // entries of one request follow one another
	j.fit(levelExact, key, key)
	child, indexed := trimIndex(id)
	if indexed {
		j.fit(levelIndex, hashID(child), key)
		if whole, ok := trimSuffix(id); ok {
			j.fit(levelWholeChild, hashID(whole), key)
		}
	}
	if base, ok := trimSuffix(child); ok {
		j.fit(levelSuffix, hashID(base), key)
	}
}

func (j *joiner) fit(level uint8, external, key hash) {
	n := j.external.find(external)
	if n < 0 {
		return
	}
	j.fits = append(j.fits, fit{uint32(n), level, key})
	if len(j.fits) >= 2*j.sorted+1024 { // the same id comes with every entry that has it
		j.compact()
	}
}

func (j *joiner) compact() {
	slices.SortFunc(j.fits, fit.compare)
	j.fits = slices.Compact(j.fits)
	j.sorted = len(j.fits)
}

// resolve decides every external id, and says for each internal id that is one of several candidates which external id it is a candidate of.
func (j *joiner) resolve() (candidates map[hash]hash) {
	j.compact()
	candidates = map[hash]hash{}
	j.found = make([]joined, len(j.external.keys))
	decided := make([]bool, len(j.found))
	var taken hashTable
	for level := uint8(0); level < numLevels; level++ {
		n, _ := slices.BinarySearchFunc(j.fits, level, func(f fit, l uint8) int { return cmp.Compare(f.level, l) })
		rest := j.fits[n:]
		var now []hash
		for len(rest) > 0 && rest[0].level == level {
			ext := rest[0].external
			own := 0
			for own < len(rest) && rest[own].level == level && rest[own].external == ext {
				own++
			}
			group := rest[:own]
			rest = rest[own:]
			if decided[ext] {
				continue
			}
			start := len(now)
			for _, f := range group {
				if taken.find(f.key) < 0 {
					now = append(now, f.key)
				}
			}
			switch keys := now[start:]; {
			case len(keys) == 1:
				decided[ext] = true
				j.found[ext] = joined{key: keys[0], join: joinOf(level), fits: true}
			case len(keys) > 1:
				decided[ext] = true
				j.found[ext] = joined{ambiguous: true}
				for _, k := range keys {
					candidates[k] = j.external.keys[ext]
				}
			}
		}
		for _, k := range now {
			taken.add(k)
		}
	}
	for i := range j.found {
		if f := &j.found[i]; f.key.isZero() {
			f.key = j.external.keys[i]
		}
	}
	j.fits = nil
	return candidates
}

// of is what became of an external id.
func (j *joiner) of(external hash) joined {
	if n := j.external.find(external); n >= 0 {
		return j.found[n]
	}
	return joined{key: external}
}

func joinOf(level uint8) model.Join {
	if level == levelExact {
		return model.JoinID
	}
	return model.JoinNormalised
}

// joins are what Read needs to know of external ids.
type joins struct {
	candidates map[hash]hash   // internal id → the external id it is a candidate of
	ambiguous  map[hash]string // external ids that fit several
}
