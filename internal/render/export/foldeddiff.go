package export

import (
	"bufio"
	"math/big"
)

// A Part is the stacks of some requests, of which there are Requests.
type Part struct {
	*Folded
	Requests int64 // more than 0
}

// WriteDiff writes the stacks of two parts beside one another, in the order of their bytes: `root;child;leaf 1200 1234`, with the ns before and
// the ns after, as difffolded.pl writes them and flamegraph.pl, inferno and speedscope read them. Times before are those of as many requests
// as there are after, rounded: what is more is slower, not more traffic. Both parts have the same options; their dicts may be others.
func WriteDiff(w *bufio.Writer, before, after Part) error {
	both := NewFolded(nil, before.opt)
	var ns [2][]total
	for side, f := range []*Folded{before.Folded, after.Folded} {
		to := make([]int32, len(f.nodes))
		for i := 1; i < len(f.nodes); i++ { // parents come before their children
			n := &f.nodes[i]
			var err error
			if to[i], err = both.child(to[n.parent], both.frame(f.texts[n.frame])); err != nil {
				return err
			}
			for len(ns[side]) < len(both.nodes) {
				ns[side] = append(ns[side], total{})
			}
			ns[side][to[i]].add(n.ns)
		}
	}
	at := func(side int, n int32) total {
		if int(n) < len(ns[side]) {
			return ns[side][n]
		}
		return total{}
	}
	return both.lines(w, "", func(n int32) string {
		a, b := at(0, n), at(1, n)
		if a == (total{}) && b == (total{}) {
			return ""
		}
		return scaled(a.big(), after.Requests, before.Requests).String() + " " + b.big().String()
	})
}

// scaled is n·of/by, rounded to the nearest, halves up.
func scaled(n *big.Int, of, by int64) *big.Int {
	if of == by {
		return n
	}
	twice := n.Mul(n, big.NewInt(2*of))
	twice.Add(twice, big.NewInt(by))
	return twice.Div(twice, big.NewInt(2*by))
}
