package profile

import (
	"strings"
	"sync"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Keys say what the keys and the names of lines mean. They do not change once made, and any number of goroutines may ask them.
type Keys struct {
	list   []model.ProfileKey // by keyID; the first stands for all others
	order  []uint8            // within a role, smaller ones count first
	byName map[string]keyID
	names  []nameRule // of a Map; the first that fits counts
}

// A keyID is a key's place in Keys; 0 is any that says nothing about a line.
type keyID uint8

// maxKeys is how many keys there may be.
const maxKeys = 255

// A nameRule is what a Map says of a name, or of all that begin with it.
type nameRule struct {
	name  string
	below bool // it ends in ".*", which is cut off but for the dot
	to    string
	keep  bool // what stands behind the prefix is kept
}

// DefaultKeys are those of VOCABULARY 4.
var DefaultKeys = sync.OnceValue(func() *Keys { return newKeys(nil, nil) })

// newKeys puts keys of a Map before the assumed ones.
func newKeys(more []model.ProfileKey, names []nameRule) *Keys {
	k := &Keys{list: make([]model.ProfileKey, 1), byName: map[string]keyID{}, names: names}
	for _, list := range [...][]model.ProfileKey{more, model.ProfileKeys} {
		for _, key := range list {
			if _, taken := k.byName[key.Key]; !taken && len(k.list) <= maxKeys {
				k.byName[key.Key] = keyID(len(k.list))
				k.list = append(k.list, key)
			}
		}
	}
	k.order = make([]uint8, len(k.list))
	for i := range k.order {
		k.order[i] = uint8(i)
	}
	return k
}

// find is the key with a name.
func (k *Keys) find(name []byte) keyID { return k.byName[string(name)] }

// Match reports whether keys of a JSON object are those of a line: a name and a time (R4.12).
func (k *Keys) Match(keys []string) bool {
	if k == nil {
		k = DefaultKeys()
	}
	name, time := false, false
	for _, s := range keys {
		switch k.list[k.byName[s]].Role {
		case model.ProfileName:
			name = true
		case model.ProfileStart, model.ProfileEnd, model.ProfileDuration:
			time = true
		}
	}
	return name && time
}

// rename is what the lines of a name are called, and their stage.
func (k *Keys) rename(name string) (line string, stage model.Stage) {
	for i := range k.names {
		r := &k.names[i]
		rest, ok := strings.CutPrefix(name, r.name)
		if !ok || !r.below && rest != "" || r.below && rest == "" {
			continue
		}
		if r.keep {
			return r.to + rest, model.ProfileStage(r.to + rest)
		}
		if s := model.ProfileStage(r.to); s.String() == r.to {
			return name, s // to a stage: the line keeps its name
		}
		return r.to, model.ProfileStage(r.to)
	}
	return name, model.ProfileStage(name)
}
