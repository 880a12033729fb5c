package clock

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Which traces hold unrelated requests (R2.2, finding context_leak).
//
// A survey notes for each request in which traces its spans are, by hashes alone, and when it is done counts the families of requests of each
// trace. What is kept is bounded like the clock pairs (R5.6): the requests with the smallest hashes of their family, all their traces. So captures
// with up to maxTraced such notes are counted exactly; of larger ones a sample still holds enough of a context that many requests share, which
// is what a leak is.

// maxTraced bounds the notes that are kept.
const maxTraced = 1 << 18

// A note says that spans of a request are in a trace.
type note struct{ family, trace uint64 }

func compareNotes(x, y note) int {
	if x.family != y.family {
		return cmp.Compare(x.family, y.family)
	}
	return cmp.Compare(x.trace, y.trace)
}

// notes are those of the smallest families.
type notes struct {
	all     []note
	under   uint64 // other families are left out; it only falls
	most    int    // maxTraced, less in tests
	settled bool   // nothing was added since settle
}

func newNotes() notes { return notes{under: ^uint64(0), most: maxTraced} }

func (n *notes) add(x note) {
	if x.family >= n.under {
		return
	}
	n.all, n.settled = append(n.all, x), false
	if len(n.all) >= 2*n.most {
		n.settle()
	}
}

// settle leaves what depends on the requests alone: each note once, in order, whole families.
func (n *notes) settle() {
	if n.settled {
		return
	}
	n.all, n.settled = slices.Compact(inOrder(n.all)), true
	if len(n.all) > n.most {
		n.under = n.all[n.most].family
	}
	end, _ := slices.BinarySearchFunc(n.all, n.under, func(x note, under uint64) int { return cmp.Compare(x.family, under) })
	n.all = n.all[:end]
}

// inOrder puts notes in order. Families are hashes and lie evenly: the first bits of one say where about it comes.
func inOrder(all []note) []note {
	const few, ahead = 1 << 12, 16
	if len(all) < few {
		slices.SortFunc(all, compareNotes)
		return all
	}
	most := uint64(0)
	for i := range all {
		most = max(most, all[i].family)
	}
	shift := max(bits.Len64(most)-ahead, 0)
	ends := make([]int32, 1<<ahead+1)
	for i := range all {
		ends[all[i].family>>shift+1]++
	}
	for i := 1; i < len(ends); i++ {
		ends[i] += ends[i-1]
	}
	out := make([]note, len(all))
	for _, x := range all {
		to := &ends[x.family>>shift] // its first place, and in the end the first of the next
		out[*to] = x
		*to++
	}
	from := int32(0)
	for _, end := range ends[:1<<ahead] {
		if end-from > 1 {
			slices.SortFunc(out[from:end], compareNotes)
		}
		from = end
	}
	return out
}

func (n *notes) merge(o *notes) {
	n.under = min(n.under, o.under)
	for _, x := range o.all {
		n.add(x)
	}
}

// addTraces notes the traces of a request.
func (v *Survey) addTraces(r *model.Request) {
	if r.Key == model.KeyTrace { // without any key in its trace
		return
	}
	family := xxhash.Sum64String(familyOf(&r.Identity))
	if family >= v.notes.under {
		return
	}
	v.traces = v.traces[:0]
	var last model.TraceID
	for _, s := range r.Spans {
		if s.Trace == last || s.Trace.IsZero() || s.Line || s.IsPoint() || slices.Contains(v.traces, s.Trace) {
			continue
		}
		last = s.Trace
		if len(v.traces) < maxTracesOfOne {
			v.traces = append(v.traces, s.Trace)
		}
		v.notes.add(note{family, hashTrace(v.dict, s.Trace)})
	}
}

// maxTracesOfOne bounds how many traces of a request are looked through for one that was noted; past it a note may be made twice.
const maxTracesOfOne = 64

// familyOf is what the ids of a request share with those of related ones: the id that a client knows, where there is one.
func familyOf(id *model.Identity) string {
	if id.External != "" {
		return model.Family(id.External)
	}
	if id.Reused { // id#2
		for i := len(id.ID) - 1; i > 0; i-- {
			if id.ID[i] == '#' {
				return model.Family(id.ID[:i])
			}
		}
	}
	return model.Family(id.ID)
}

// hashTrace does not depend on the dictionary.
func hashTrace(d *model.Dict, t model.TraceID) uint64 {
	if text, ok := t.Opaque(); ok {
		return xxhash.Sum64String(d.Str(text))
	}
	const odd = 0x9e3779b97f4a7c15
	h := (t.Hi ^ t.Lo*odd) * odd
	return (h ^ h>>32 ^ t.Lo) * odd
}

// leaks are the traces that hold unrelated requests.
func (n *notes) leaks() map[uint64]bool {
	const slots = 1 << 20
	in := make([]uint8, slots) // how many notes have a trace of such a hash, as far as it matters: of most traces too few
	for i := range n.all {
		if c := &in[n.all[i].trace%slots]; *c < model.UnrelatedAtLeast {
			*c++
		}
	}
	var byTrace []note
	for _, x := range n.all {
		if in[x.trace%slots] >= model.UnrelatedAtLeast {
			byTrace = append(byTrace, x)
		}
	}
	slices.SortFunc(byTrace, func(x, y note) int {
		return cmp.Or(cmp.Compare(x.trace, y.trace), cmp.Compare(x.family, y.family))
	})
	out := map[uint64]bool{}
	for i := 0; i < len(byTrace); {
		from := i
		for i < len(byTrace) && byTrace[i].trace == byTrace[from].trace {
			i++
		}
		if i-from >= model.UnrelatedAtLeast {
			out[byTrace[from].trace] = true
		}
	}
	return out
}

// appendNotes writes the bound and the notes (8 bytes each number).
func (e *encoder) appendNotes(n *notes) {
	e.fixed(n.under)
	e.uvarint(uint64(len(n.all)))
	for _, x := range n.all {
		e.fixed(x.family)
		e.fixed(x.trace)
	}
}

func (d *decoder) notes(v *Survey) {
	v.notes.under = d.fixed()
	for range d.count(16) {
		x := note{d.fixed(), d.fixed()}
		d.require(x.family < v.notes.under)
		if d.bad {
			return
		}
		v.notes.add(x)
	}
}
