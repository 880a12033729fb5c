package report

import (
	"math/bits"
	"slices"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A saved report holds stages, verdicts, findings and the like by number, and the names of all numbers once: a program whose tables have
// grown, or were put into another order, reads it all the same.

// numbers are ours, by the number in a file.
type numbers []uint8

// A numbering says what the numbers of a file mean.
type numbering struct {
	keys, stages, owners, classes, bounds, bases, hitClasses, verdicts, joins, findings numbers
}

// An enumeration is one of the lists of a numbering.
type enumeration struct {
	numbers *numbers
	names   []string // by our number
}

// lists are the enumerations in the order of the file.
func (n *numbering) lists() []enumeration {
	codes := make([]string, finding.NumFindings)
	for i := range codes {
		codes[i] = finding.Registry[i].Code
	}
	return []enumeration{
		{&n.keys, namesOf(model.KeyTrace + 1)}, {&n.stages, namesOf(model.NumStages)}, {&n.owners, namesOf(model.Server + 1)},
		{&n.classes, namesOf(model.Point + 1)}, {&n.bounds, namesOf(model.NumBounds)}, {&n.bases, namesOf(model.NumBases)},
		{&n.hitClasses, namesOf(model.NumHitClasses)}, {&n.verdicts, namesOf(model.NumVerdicts)}, {&n.joins, namesOf(model.NumJoins)},
		{&n.findings, codes},
	}
}

// namesOf are the names of the numbers below end.
func namesOf[E interface {
	~uint8
	String() string
}](end E) []string {
	out := make([]string, end)
	for i := range out {
		out[i] = E(i).String()
	}
	return out
}

// own is our own numbering.
var own = func() (n numbering) {
	for _, e := range n.lists() {
		for i := range e.names {
			*e.numbers = append(*e.numbers, uint8(i))
		}
	}
	return n
}()

// findingSet is a set of findings by our numbers; what stands for nothing is left out.
func (n *numbering) findingSet(set uint64) (out model.FindingSet) {
	for ; set != 0; set &= set - 1 {
		if i := bits.TrailingZeros64(set); i < len(n.findings) {
			out |= 1 << n.findings[i]
		}
	}
	return out
}

// numbering writes the names of our numbers, or reads those of a file.
func (c *codec) numbering() {
	for _, e := range c.of.lists() {
		n := c.count(len(e.names), 1)
		if !c.reading {
			for _, name := range e.names {
				c.text(&name)
			}
			continue
		}
		*e.numbers = make(numbers, 0, n)
		for range n {
			var name string
			c.text(&name)
			at := slices.Index(e.names, name)
			if at < 0 || slices.Contains(*e.numbers, uint8(at)) {
				c.unknown(name)
				return
			}
			*e.numbers = append(*e.numbers, uint8(at))
		}
	}
}
