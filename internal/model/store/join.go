package store

import (
	"cmp"
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

// A fit is an internal id that an external one may mean.
type fit struct {
	key      hash
	external uint32
	level    uint8
}

// A joiner finds the internal id of each external one.
type joiner struct {
	external hashTable
	found    []joined
}

// fits are what one goroutine found of internal ids that fit.
type fits struct {
	external *hashTable // only read
	seen     []hash     // internal ids that were looked at lately, by their last bits
	all      []fit      // the first distinct of them in order of (external, level, key), each once
	distinct int
	ends     []uint32 // of each external id, where its fits end, once they are in order
	spare    []fit
}

const seenBits = 12

// joined is what became of an external id.
type joined struct {
	key       hash // of the request it belongs to
	join      model.Join
	fits      bool // key is an internal id
	ambiguous bool // it fits several internal ids: key is its own
}

// internal looks at a strong id.
func (j *fits) internal(id []byte, key hash) {
	if len(j.external.keys) == 0 {
		return
	}
	if j.seen == nil {
		j.seen = make([]hash, 1<<seenBits)
	}
	slot := &j.seen[key.lo&(1<<seenBits-1)]
	if *slot == key { // a request has several entries
		return
	}
	*slot = key
	j.fit(levelExact, key, key)
	forms, ok := model.ExternalForms(id)
	for level := levelIndex; level < numLevels; level++ {
		if ok[level] {
			j.fit(uint8(level), hashID(forms[level]), key)
		}
	}
}

func (j *fits) fit(level uint8, external, key hash) {
	n := j.external.find(external)
	if n < 0 {
		return
	}
	j.all = append(j.all, fit{key, uint32(n), level})
	if len(j.all) >= 2*j.distinct+1024 { // the same id comes with every entry that has it
		j.sort()
	}
}

// sort puts the fits in order, each once: a counting sort, since each external id has few.
func (j *fits) sort() {
	j.ends = append(j.ends[:0], make([]uint32, len(j.external.keys))...)
	for i := range j.all {
		j.ends[j.all[i].external]++
	}
	at := uint32(0)
	for i, n := range j.ends {
		j.ends[i] = at // where it begins, for now
		at += n
	}
	j.spare = slices.Grow(j.spare[:0], len(j.all))[:len(j.all)]
	for _, f := range j.all {
		j.spare[j.ends[f.external]] = f
		j.ends[f.external]++
	}
	j.all, j.spare = j.spare, j.all
	begin, out := uint32(0), 0
	for i, end := range j.ends {
		group := j.all[begin:end]
		begin = end
		if len(group) > 1 {
			slices.SortFunc(group, func(a, b fit) int { return cmp.Or(cmp.Compare(a.level, b.level), a.key.compare(b.key)) })
			group = slices.Compact(group)
		}
		out += copy(j.all[out:], group)
		j.ends[i] = uint32(out)
	}
	j.all = j.all[:out]
	j.distinct = out
}

// resolve decides every external id, and says for each internal id that is one of several candidates which external id it is a candidate of.
func (j *joiner) resolve(found []fits) (candidates map[hash]hash) {
	all := fits{external: &j.external}
	for i := range found {
		all.all = append(all.all, found[i].all...)
		found[i] = fits{}
	}
	all.sort()
	candidates = map[hash]hash{}
	j.found = make([]joined, len(j.external.keys))
	decided := make([]bool, len(j.found))
	var taken hashTable
	var now []hash // the internal ids that fit at this level
	for level := uint8(0); level < numLevels; level++ {
		now = now[:0]
		begin := uint32(0)
		for ext, end := range all.ends {
			group := all.all[begin:end]
			begin = end
			if decided[ext] {
				continue
			}
			first := len(now)
			for _, f := range group {
				if f.level == level && taken.find(f.key) < 0 {
					now = append(now, f.key)
				}
			}
			switch keys := now[first:]; {
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
		if level < numLevels-1 {
			for _, k := range now {
				taken.add(k)
			}
		}
	}
	for i := range j.found {
		if f := &j.found[i]; f.key.isZero() {
			f.key = j.external.keys[i]
		}
	}
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
