package inspect

import (
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Relation is why something looks as if it belonged to a request that it is not in, the strongest first.
type Relation uint8

const (
	NoRelation   Relation = iota
	ParentOfIts           // it holds the parent that spans of the request name
	ChildOfIts            // its spans name a span of the request as their parent
	SameExternal          // it has the same external id (R4.2)
	SameFamily            // its id is that of the same call of a client: another choice, prompt or suffix (model.Family)
	AlikeID               // one's id holds the other's
	SameTrace             // it has spans in a trace of the request (R4.3)
	SameTime              // it has only what is missing here, and went on meanwhile
)

// Joins is what looks as if it belonged to a request and does not.
type Joins struct {
	Missing   []string   // kinds of process of which the request has no record, and other requests have
	Absent    []string   // kinds of process of which the inputs have no record at all
	Relatives []Relative // the strongest reasons first, then what began nearest to it
	More      int64      // that are not listed
}

// A Relative is another request, or the records of a process that are of no request.
type Relative struct {
	Why     Relation
	ID      string // of the request; "" where they are of none
	Process string // of records of no request
	Spans   int64
	Owners  []string  // kinds of process that wrote them
	Stages  []string  // the first few, by name
	FromNS  model.Opt // how much later than the request it began, on raw clocks
}

// stagesShown is how many stages of a relative are named.
const stagesShown = 3

// Owner adds the kind of process of a span.
func (r *Relative) Owner(o model.Owner) {
	if name := o.String(); o != model.OwnerNone && !slices.Contains(r.Owners, name) {
		r.Owners = append(r.Owners, name)
		slices.Sort(r.Owners)
	}
}

// Stage adds the stage of a span, or its name where that is none. Which are kept does not depend on their order.
func (r *Relative) Stage(d *model.Dict, s *model.Span) {
	name := d.Str(s.StageKey)
	at, have := slices.BinarySearch(r.Stages, name)
	if have || at >= stagesShown {
		return
	}
	r.Stages = slices.Insert(r.Stages, at, strings.Clone(name))
	r.Stages = r.Stages[:min(len(r.Stages), stagesShown)]
}

// Start takes in that a part of it began at an instant, the request at another; 0 is none.
func (r *Relative) Start(at, request model.Time) {
	if at == 0 || request == 0 {
		return
	}
	if later := int64(at - request); !r.FromNS.OK || later < r.FromNS.V {
		r.FromNS = model.Some(later)
	}
}

// Distance is how far it began from the request in ns, the most where nobody knows.
func (r *Relative) Distance() int64 {
	if !r.FromNS.OK {
		return 1<<63 - 1
	}
	return max(r.FromNS.V, -r.FromNS.V)
}
