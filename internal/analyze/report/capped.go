package report

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// A merger adds another value of its kind to itself.
type merger[V any] interface {
	*V
	merge(*V)
}

// A capped holds one value per name, for at most limit names: those with the smallest XXH64. The values of all other names are added up
// in one (R8.7). Which names are kept depends on the set of names alone: one that had to go never comes back, because the largest hash that
// is kept only falls.
type capped[K comparable, V any, P merger[V]] struct {
	limit int
	text  func(K) string

	entries map[K]*cappedEntry[K, V]
	last    *cappedEntry[K, V] // the one asked for last, nil where it may be gone
	heap    cappedHeap[K, V]   // of all entries once there are limit of them, largest hash first
	other   *V
}

type cappedEntry[K comparable, V any] struct {
	key   K
	text  string
	hash  uint64
	value V
}

func (e *cappedEntry[K, V]) compare(o *cappedEntry[K, V]) int {
	if c := cmp.Compare(e.hash, o.hash); c != 0 {
		return c
	}
	return strings.Compare(e.text, o.text)
}

func newCapped[K comparable, V any, P merger[V]](limit int, text func(K) string) capped[K, V, P] {
	return capped[K, V, P]{limit: limit, text: text}
}

// at is the value of a name, or that of all others. The pointer is good until the next call.
func (c *capped[K, V, P]) at(key K) *V {
	if c.last != nil && c.last.key == key {
		return &c.last.value
	}
	if e, ok := c.entries[key]; ok {
		c.last = e
		return &e.value
	}
	text := c.text(key)
	e := &cappedEntry[K, V]{key: key, text: strings.Clone(text), hash: xxhash.Sum64String(text)}
	if c.entries == nil {
		c.entries = map[K]*cappedEntry[K, V]{}
	}
	if len(c.entries) >= c.limit {
		if c.heap == nil {
			for _, e := range c.entries {
				c.heap = append(c.heap, e)
			}
			heap.Init(&c.heap)
		}
		if c.other == nil {
			c.other = new(V)
		}
		last := c.heap[0]
		if e.compare(last) > 0 {
			return c.other
		}
		P(c.other).merge(&last.value)
		delete(c.entries, last.key)
		c.last = nil
		c.heap[0] = e
		heap.Fix(&c.heap, 0)
	}
	c.entries[key] = e
	return &e.value
}

// merge adds what another one holds, of which the smaller limit counts: what lies in its other cannot be told apart any more.
func (c *capped[K, V, P]) merge(o *capped[K, V, P]) {
	c.shrink(o.limit)
	for key, e := range o.entries {
		P(c.at(key)).merge(&e.value)
	}
	if o.other != nil {
		if c.other == nil {
			c.other = new(V)
		}
		P(c.other).merge(o.other)
	}
}

// shrink lowers the limit.
func (c *capped[K, V, P]) shrink(limit int) {
	if limit >= c.limit {
		return
	}
	c.limit, c.last = limit, nil
	all := slices.SortedFunc(maps.Values(c.entries), func(a, b *cappedEntry[K, V]) int { return a.compare(b) })
	for i := limit; i < len(all); i++ {
		if c.other == nil {
			c.other = new(V)
		}
		P(c.other).merge(&all[i].value)
		delete(c.entries, all[i].key)
	}
	c.heap = nil // made again when it is wanted
}

// sorted is what is kept, by name; the rest is in other.
func (c *capped[K, V, P]) sorted() []*cappedEntry[K, V] {
	out := make([]*cappedEntry[K, V], 0, len(c.entries))
	for _, e := range c.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b *cappedEntry[K, V]) int { return strings.Compare(a.text, b.text) })
	return out
}

type cappedHeap[K comparable, V any] []*cappedEntry[K, V]

func (h cappedHeap[K, V]) Len() int           { return len(h) }
func (h cappedHeap[K, V]) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h cappedHeap[K, V]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *cappedHeap[K, V]) Push(x any)        { *h = append(*h, x.(*cappedEntry[K, V])) }
func (h *cappedHeap[K, V]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}

// A counter is a number of times.
type counter int64

func (c *counter) merge(o *counter) { *c += *o }

func itself(s string) string { return s }
