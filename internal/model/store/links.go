package store

import (
	"context"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// links are the parents of spans without a key in traces that hold several keys, up to the first that has one (R4.3).
type links struct {
	dict  *model.Dict
	index map[uint64]uint32
	nodes []linkNode
}

// A linkNode is a span, or several that share an id: one with a key makes it the key of all, and of several keys or parents the smallest counts.
type linkNode struct {
	parent uint64
	key    hash // zero: none
	state  uint8
}

const (
	linkNew = iota
	linkOnPath
	linkDone
)

// node is the node of a span, made when it is new.
func (l *links) node(span uint64) *linkNode {
	n, ok := l.index[span]
	if !ok {
		n = uint32(len(l.nodes))
		l.index[span] = n
		l.nodes = append(l.nodes, linkNode{})
	}
	return &l.nodes[n]
}

// child notes a span without a key and the span above it.
func (l *links) child(t model.TraceID, id, parent model.SpanID) {
	up := uint64(0)
	if !parent.IsZero() {
		up = hashSpan(l.dict, t, parent)
		l.node(up)
	}
	if !id.IsZero() {
		n := l.node(hashSpan(l.dict, t, id))
		if up != 0 && (n.parent == 0 || up < n.parent) {
			n.parent = up
		}
	}
}

// keyed notes the key of a span, if any without a key is below it.
func (l *links) keyed(t model.TraceID, id model.SpanID, key hash) {
	if id.IsZero() {
		return
	}
	if n, ok := l.index[hashSpan(l.dict, t, id)]; ok {
		if k := &l.nodes[n].key; k.isZero() || key.compare(*k) < 0 {
			*k = key
		}
	}
}

// resolve gives every node the key of the nearest above it. A ring of parents has none.
func (l *links) resolve() {
	var path []uint32
	for i := range l.nodes {
		path = path[:0]
		n := uint32(i)
		var key hash
		for {
			x := &l.nodes[n]
			if !x.key.isZero() || x.state != linkNew {
				key = x.key
				break
			}
			x.state = linkOnPath
			path = append(path, n)
			up, ok := l.index[x.parent]
			if x.parent == 0 || !ok {
				break
			}
			n = up
		}
		for _, p := range path {
			l.nodes[p].key, l.nodes[p].state = key, linkDone
		}
	}
}

// find is the key of a span without one, zero when nothing above it has one.
func (l *links) find(t model.TraceID, id, parent model.SpanID) hash {
	if id.IsZero() {
		id = parent
	}
	if n, ok := l.index[hashSpan(l.dict, t, id)]; ok && !id.IsZero() {
		return l.nodes[n].key
	}
	return hash{}
}

// contested is step 5. Only spans on the way up from a record without a key are kept.
func (id *identifier) contested(ctx context.Context) error {
	if len(id.several.keys) == 0 {
		return nil
	}
	d := id.desk()
	for _, keyed := range [2]bool{false, true} { // spans without a key, then those waiting ones above them that have one
		for part, some := range id.home {
			if some {
				if err := d.linkWaiting(ctx, part, keyed); err != nil {
					return err
				}
			}
		}
	}
	for part := range id.s.partitions {
		if err := d.linkKeyed(ctx, part); err != nil {
			return err
		}
	}
	id.links.resolve()
	return nil
}

func (d *desk) several(t model.TraceID) bool {
	return !t.IsZero() && d.id.several.find(traceKey(t)) >= 0
}

func (d *desk) linkWaiting(ctx context.Context, part int, keyed bool) error {
	if err := d.waits.load(ctx, d, part); err != nil {
		return err
	}
	var keys []hash
	return d.linksOf(ctx, d.id.s.waiting(part), func(entries []entry, wanted []bool) {
		keys = append(keys[:0], make([]hash, len(entries))...)
		for i := range entries {
			w := waiterOf(&entries[i])
			k, ok := d.waits.keyOf(&w)
			keys[i] = k
			wanted[i] = ok == keyed && d.several(entries[i].trace)
		}
	}, func(n int, e *entry, content []byte) error {
		span, parent, err := d.scan.spanOf(content)
		if keyed {
			d.id.links.keyed(e.trace, span, keys[n])
		} else {
			d.id.links.child(e.trace, span, parent)
		}
		return err
	})
}

// linkKeyed finds the keyed spans above those without a key.
func (d *desk) linkKeyed(ctx context.Context, part int) error {
	return d.linksOf(ctx, part, func(entries []entry, wanted []bool) {
		for i := range entries {
			wanted[i] = d.several(entries[i].trace)
		}
	}, func(_ int, e *entry, rest []byte) error {
		if len(rest) == 0 {
			return errCorrupt
		}
		span, _, err := d.scan.spanOf(rest[1:]) // behind the meta byte
		d.id.links.keyed(e.trace, span, e.key)
		return err
	})
}

// linksOf calls fn for the records of the entries that are wanted, and reads no chunk that has none.
func (d *desk) linksOf(ctx context.Context, stream int, want func(entries []entry, wanted []bool), fn func(n int, e *entry, rest []byte) error) error {
	var wanted []bool
	s := d.id.s
	return s.eachChunk(ctx, stream, func(_ int, c *chunk) error {
		entries, err := d.scan.dictionary(stream, c)
		if err != nil {
			return err
		}
		wanted = append(wanted[:0], make([]bool, len(entries))...)
		want(entries, wanted)
		for i := range entries {
			wanted[i] = wanted[i] && !s.refused(&entries[i])
		}
		if !slices.Contains(wanted, true) {
			return nil
		}
		rec, err := d.scan.records(stream, c)
		if err != nil {
			return err
		}
		return eachRecord(rec, len(entries), func(n int, rest []byte) error {
			if !wanted[n] {
				return nil
			}
			return fn(n, &entries[n], rest)
		})
	})
}
