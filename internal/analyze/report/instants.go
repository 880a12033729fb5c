package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

const (
	second       = 1_000_000_000
	blockSeconds = 256
	maxBlocks    = 1 << 16 // 194 days with requests; 64 MiB
)

// instants knows how many windows are open at each whole second of the epoch (R7.12), from how many open and close between two of them.
// Its size depends on the time that requests cover, not on how many there are.
type instants struct {
	blocks map[int64]*[blockSeconds]int32
	lately [1 << 9]numbered // blocks by the last bits of their numbers
	over   bool             // requests cover too much time: not known
}

// numbered is a block and its number.
type numbered struct {
	n     int64
	block *[blockSeconds]int32
}

// add counts a window [start, end): it is open at a whole second s when start ≤ s < end.
func (m *instants) add(start, end model.Time) {
	from, to := ceilSecond(start), ceilSecond(end)
	if from >= to || m.over {
		return
	}
	m.mark(from, 1)
	m.mark(to, -1)
}

// ceilSecond is the first whole second at or after t.
func ceilSecond(t model.Time) int64 {
	s := int64(t) / second
	if int64(t)%second > 0 {
		s++
	}
	return s
}

func (m *instants) mark(s int64, d int32) {
	if b := m.at(s >> 8); b != nil {
		b[s&(blockSeconds-1)] += d
	}
}

// at is a block, nil once there are too many.
func (m *instants) at(n int64) *[blockSeconds]int32 {
	lately := &m.lately[uint64(n)%uint64(len(m.lately))]
	if lately.block != nil && lately.n == n {
		return lately.block
	}
	b := m.blocks[n]
	if b == nil {
		if len(m.blocks) == maxBlocks {
			*m = instants{over: true}
		}
		if m.over {
			return nil
		}
		if m.blocks == nil {
			m.blocks = map[int64]*[blockSeconds]int32{}
		}
		b = new([blockSeconds]int32)
		m.blocks[n] = b
	}
	*lately = numbered{n, b}
	return b
}

func (m *instants) merge(o *instants) {
	if m.over || o.over {
		*m = instants{over: true}
		return
	}
	for n, from := range o.blocks {
		to := m.at(n)
		if to == nil {
			return
		}
		for i, d := range from {
			to[i] += d
		}
	}
}

// most is the largest number of windows that were open at once: over all, and within each of some stretches of time of the same
// length in seconds, given by their first second in ascending order.
func (m *instants) most(starts []int64, length int64) (all model.Opt, per []int64) {
	per = make([]int64, len(starts))
	if m.over {
		return model.Opt{}, per
	}
	all.OK = true
	open, from := int64(0), int64(0)
	for _, n := range sortedKeys(m.blocks) {
		for i, d := range m.blocks[n] {
			if d == 0 {
				continue
			}
			to := n*blockSeconds + int64(i)
			if open > 0 { // so many were open at every second in [from, to)
				all.V = max(all.V, open)
				at, _ := slices.BinarySearch(starts, from-length+1)
				for ; at < len(starts) && starts[at] < to; at++ {
					per[at] = max(per[at], open)
				}
			}
			open, from = open+int64(d), to
		}
	}
	return all, per
}

// sortedKeys are the keys of a map in ascending order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// floorDiv is a/b rounded down; b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
