package report

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// maxGroups is how many values of a grouping are kept apart (R8.7).
const maxGroups = 256

// A By is what requests are grouped by.
type By uint8

const (
	ByModel By = iota
	ByInstance
	ByHitClass
	ByWorker       // a request is in the group of each of its ranks
	ByPromptTokens // in octaves: 1024-2047
	numBys
)

func (b By) String() string {
	return [...]string{"model", "instance", "hit_class", "worker", "prompt_tokens"}[b]
}

// ByNames are the names of all groupings.
func ByNames() (all []string) {
	for b := range numBys {
		all = append(all, b.String())
	}
	return all
}

// ParseBy is the grouping of a name.
func ParseBy(name string) (By, error) {
	if b := slices.Index(ByNames(), name); b >= 0 {
		return By(b), nil
	}
	return 0, fmt.Errorf("cannot group by %q: want %s", name, strings.Join(ByNames(), ", "))
}

// unknownValue is the group of the requests that do not say.
const unknownValue = "unknown"

// A group is what is kept of the requests of one value.
type group struct {
	requests      int64
	latency, ttft series
	hits          hitSums
	made          bool
}

func (g *group) init() *group {
	if !g.made {
		g.hits, g.made = newHitSums(), true
	}
	return g
}

func (g *group) merge(o *group) {
	g.init()
	g.requests += o.requests
	g.latency.merge(&o.latency)
	g.ttft.merge(&o.ttft)
	if o.made {
		g.hits.merge(&o.hits)
	}
}

func (g *group) add(r *model.Row) {
	g.init()
	g.requests++
	g.hits.add(r)
	if r.Flags.InLatency() {
		g.latency.add(r.Window)
		g.ttft.addOpt(r.TTFT)
	}
}

// A grouping is the requests by one property.
type grouping struct {
	by     By
	groups capped[string, group, *group]
}

func newGrouping(by By) grouping { return grouping{by, newCapped[string, group](maxGroups, itself)} }

func (g *grouping) add(r *model.Row) {
	one := func(value string) {
		if value == "" {
			value = unknownValue
		}
		g.groups.at(value).add(r)
	}
	switch g.by {
	case ByModel:
		one(r.Model)
	case ByInstance:
		one(r.Instance)
	case ByHitClass:
		one(r.Hits.Class.String())
	case ByWorker:
		if len(r.Workers) == 0 {
			one("")
		}
		for _, w := range r.Workers {
			one(w)
		}
	case ByPromptTokens:
		one(octave(r.PromptTokens))
	}
}

var octaves = func() (all [64]string) {
	all[0] = "0"
	for i := 1; i < 64; i++ {
		lo, hi := uint64(1)<<(i-1), uint64(1)<<i-1
		all[i] = strconv.FormatUint(lo, 10) + "-" + strconv.FormatUint(hi, 10)
	}
	all[1] = "1"
	return all
}()

// octave is the power of two a number lies in, as text: 1024-2047. "" when it is not known.
func octave(n model.Opt) string {
	if !n.OK || n.V < 0 {
		return ""
	}
	return octaves[bits.Len64(uint64(n.V))]
}

// document lists the groups: prompt lengths in their order, others by number of requests, largest first, then by value; unknown and
// (other) come last.
func (g *grouping) document(m Method) []Group {
	var out []Group
	place := func(value string) int {
		switch value {
		case unknownValue:
			return 1
		case model.OtherName:
			return 2
		}
		return 0
	}
	row := func(value string, g *group) {
		out = append(out, Group{Value: value, Requests: g.requests, Latency: g.latency.document(m), TTFT: g.ttft.document(m), Hits: g.hits.document()})
	}
	for _, e := range g.groups.sorted() {
		row(e.text, &e.value)
	}
	if g.groups.other != nil {
		row(model.OtherName, g.groups.other.init())
	}
	for i := range out {
		out[i].By = g.by.String()
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		if c := cmp.Compare(place(a.Value), place(b.Value)); c != 0 || g.by != ByPromptTokens {
			return cmp.Or(c, cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Value, b.Value))
		}
		return cmp.Compare(slices.Index(octaves[:], a.Value), slices.Index(octaves[:], b.Value))
	})
	return out
}
