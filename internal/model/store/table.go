package store

import "github.com/cbtrace/cbtrace/internal/model"

// A hashTable numbers hashes from 0 in order of arrival: open addressing, 20 bytes a hash and 4 a slot.
type hashTable struct {
	slots []uint32 // number + 1
	keys  []hash
}

func (t *hashTable) reset() {
	clear(t.slots)
	t.keys = t.keys[:0]
}

// find is the number of a hash, -1 when it is not there.
func (t *hashTable) find(h hash) int {
	if len(t.slots) == 0 {
		return -1
	}
	mask := uint64(len(t.slots) - 1)
	for i := h.slot() & mask; ; i = (i + 1) & mask {
		n := t.slots[i]
		if n == 0 {
			return -1
		}
		if t.keys[n-1] == h {
			return int(n - 1)
		}
	}
}

// add is the number of a hash, which is put in when it is new.
func (t *hashTable) add(h hash) (n int, added bool) {
	if 4*(len(t.keys)+1) > 3*len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	i := h.slot() & mask
	for ; t.slots[i] != 0; i = (i + 1) & mask {
		if n := t.slots[i] - 1; t.keys[n] == h {
			return int(n), false
		}
	}
	t.keys = append(t.keys, h)
	t.slots[i] = uint32(len(t.keys))
	return len(t.keys) - 1, true
}

func (t *hashTable) grow() {
	t.slots = make([]uint32, max(64, 2*len(t.slots)))
	mask := uint64(len(t.slots) - 1)
	for n, h := range t.keys {
		i := h.slot() & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = uint32(n + 1)
	}
}

// slot is where a key begins to look; trace ids are keys too, and they need not be random.
func (h hash) slot() uint64 { return spread(h.hi, h.lo) }

// traceKey is a trace id as a key of a hashTable: all its 128 bits.
func traceKey(t model.TraceID) hash { return hash{t.Hi, t.Lo} }
