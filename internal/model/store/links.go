package store

import "github.com/cbtrace/cbtrace/internal/model"

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
