// Package export writes requests in the formats of other tools (DESIGN 13).
//
// Folded stacks (FORMATS of FlameGraph, inferno, speedscope): a line per stack, `root;child;leaf 1234`, with the ns that its last frame took.
package export

import (
	"bufio"
	"errors"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Weight says which time of a span a folded stack counts.
type Weight uint8

const (
	Self     Weight = iota // R6.9: the sum is the summed self time of all work and background
	Critical               // time on the critical path: the sum is that of the windows
)

// MaxStacks is how many different stacks a Folded takes: what many more than that would show nobody can read.
const MaxStacks = 1 << 20

// MaxDepth is how many frames a stack has at most; what spans below take counts for the last of them. A line holds its whole stack: the
// lines of a chain take the square of its length.
const MaxDepth = 2048

// ErrManyStacks is the error of more than that.
var ErrManyStacks = errors.New("over " + strconv.Itoa(MaxStacks) + " different stacks")

// Options say what a stack is.
type Options struct {
	Weight Weight
	Owner  bool // the owner of the span whose time it is (engine, scheduler, worker, server, other) is the frame below all others
}

// A Folded adds up stacks: a tree of frames with the ns that each took itself. The zero value is not usable: see NewFolded. One goroutine
// uses one Folded; they can be merged.
type Folded struct {
	opt    Options
	dict   *model.Dict
	frames map[string]int32 // by what is written
	texts  []string
	ofName map[model.StrID]int32 // frame of a name
	ofCall map[model.StrID]int32 // of a stage whose owner is not that of the vocabulary
	edges  map[edge]int32
	nodes  []node        // 0 is below all
	at     []int32       // nodes of the spans of a request, by Mark and owner
	chain  []*model.Span // from a span up
}

type edge struct{ parent, frame int32 }

type node struct {
	frame  int32
	parent int32
	depth  int32 // frames of its stack
	ns     total
}

// A total is a sum of ns in 128 bits.
type total struct{ hi, lo uint64 }

func (t *total) add(u total) {
	var carry uint64
	t.lo, carry = bits.Add64(t.lo, u.lo, 0)
	t.hi, _ = bits.Add64(t.hi, u.hi, carry)
}

func (t total) big() *big.Int {
	n := new(big.Int).SetUint64(t.hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(t.lo))
}

// NewFolded returns an empty Folded for requests whose names are those of a dict.
func NewFolded(d *model.Dict, opt Options) *Folded {
	f := &Folded{opt: opt, dict: d, frames: map[string]int32{}, ofName: map[model.StrID]int32{}, ofCall: map[model.StrID]int32{}, edges: map[edge]int32{}}
	f.Reset()
	return f
}

// Reset makes it empty; its memory stays.
func (f *Folded) Reset() {
	clear(f.edges)
	f.nodes = append(f.nodes[:0], node{})
}

func (f *Folded) frame(text string) int32 {
	n, ok := f.frames[text]
	if !ok {
		n = int32(len(f.texts))
		f.frames[text] = n
		f.texts = append(f.texts, text)
	}
	return n
}

// spanFrame is the frame of a span: its stage, with its owner where that is not the one of the vocabulary (R8.2), or its name.
func (f *Folded) spanFrame(s *model.Span) int32 {
	cache := f.ofName
	foreign := s.Known() && s.Owner() != s.Stage.Info().Owner
	if foreign {
		cache = f.ofCall
	}
	n, ok := cache[s.StageKey]
	if !ok {
		text := f.dict.Str(s.StageKey)
		switch {
		case foreign:
			text += "@" + s.Owner().String()
		case !s.Known() && !s.Has(model.FlagSynthetic):
			text = Frame(text)
		}
		n = f.frame(text)
		cache[s.StageKey] = n
	}
	return n
}

// child is the node of a frame on that of a stack, or that itself where the stack is as deep as stacks get.
func (f *Folded) child(parent, frame int32) (int32, error) {
	depth := f.nodes[parent].depth + 1
	if depth > MaxDepth {
		return parent, nil
	}
	n, ok := f.edges[edge{parent, frame}]
	if !ok {
		if len(f.nodes) > MaxStacks {
			return 0, ErrManyStacks
		}
		n = int32(len(f.nodes))
		f.edges[edge{parent, frame}] = n
		f.nodes = append(f.nodes, node{frame: frame, parent: parent, depth: depth})
	}
	return n, nil
}

// Add adds the spans of a linked request whose path was found (package critpath). It changes their Mark.
func (f *Folded) Add(r *model.Request) error {
	owners := 1
	if f.opt.Owner {
		owners = len(ownerFrames)
	}
	r.Root.Mark = len(r.Spans)
	for i, s := range r.Spans {
		s.Mark = i
	}
	f.at = slices.Grow(f.at[:0], (len(r.Spans)+1)*owners)[:(len(r.Spans)+1)*owners]
	clear(f.at)
	for _, s := range r.Spans {
		if err := f.addSpan(s, owners); err != nil {
			return err
		}
	}
	if r.Root.Mark == len(r.Spans) { // made up, and not among the spans
		return f.addSpan(r.Root, owners)
	}
	return nil
}

// weight is the time of a span that counts, in ns.
func (f *Folded) weight(s *model.Span) uint64 {
	if f.opt.Weight == Critical {
		return uint64(max(0, s.Critical))
	}
	if s.Class != model.Work && s.Class != model.Background || s.Has(model.FlagSynthetic|model.FlagShutdown|model.FlagNegative|model.FlagUntimed) {
		return 0
	}
	return uint64(max(0, s.Self))
}

// ownerFrames are the frames of owners.
var ownerFrames = [...]string{model.OwnerNone: "other", model.Engine: model.Engine.String(), model.Scheduler: model.Scheduler.String(),
	model.Worker: model.Worker.String(), model.Server: model.Server.String()}

func (f *Folded) addSpan(s *model.Span, owners int) (err error) {
	ns := f.weight(s)
	if ns == 0 {
		return nil
	}
	owner, at := 0, int32(0)
	if owners > 1 {
		owner = int(s.Owner())
		if at, err = f.child(0, f.frame(ownerFrames[owner])); err != nil {
			return err
		}
	}
	f.chain = f.chain[:0] // up to the first ancestor whose node is known, and down again
	for p := s; p != nil; p = p.Parent {
		if n := f.at[p.Mark*owners+owner]; n != 0 {
			at = n
			break
		}
		f.chain = append(f.chain, p)
	}
	for _, p := range slices.Backward(f.chain) {
		if at, err = f.child(at, f.spanFrame(p)); err != nil {
			return err
		}
		f.at[p.Mark*owners+owner] = at
	}
	f.nodes[at].ns.add(total{lo: ns})
	return nil
}

// Merge adds what another Folded of the same dict and options holds.
func (f *Folded) Merge(o *Folded) error {
	to := make([]int32, len(o.nodes))
	for i := 1; i < len(o.nodes); i++ { // parents come before their children
		n := &o.nodes[i]
		var err error
		if to[i], err = f.child(to[n.parent], f.frame(o.texts[n.frame])); err != nil {
			return err
		}
		f.nodes[to[i]].ns.add(n.ns)
	}
	return nil
}

// An item is a line or, of a frame that has others above it, the lines of those.
type item struct {
	key  string // how its lines begin: with the line itself, or with the text of the frame and what follows it
	node int32
	tree bool
}

// Write writes the stacks, one a line, in the order of their bytes. A stack that took no time of its own is left out. Where below is not empty it
// is the text of a frame below all others, as Frame writes it.
func (f *Folded) Write(w *bufio.Writer, below string) error {
	return f.lines(w, below, func(n int32) string {
		if ns := f.nodes[n].ns; ns != (total{}) {
			return ns.big().String()
		}
		return ""
	})
}

// lines writes a line for each node that has a value.
func (f *Folded) lines(w *bufio.Writer, below string, value func(node int32) string) error {
	kids := make([][]int32, len(f.nodes))
	for i := 1; i < len(f.nodes); i++ {
		kids[f.nodes[i].parent] = append(kids[f.nodes[i].parent], int32(i))
	}
	type level struct {
		items []item
		next  int
		path  int // bytes of the path to it
	}
	var path []byte
	if below != "" {
		path = append(append(path, Frame(below)...), ';')
	}
	levels := []level{{items: f.items(kids[0], kids, value), path: len(path)}}
	for len(levels) > 0 {
		l := &levels[len(levels)-1]
		path = path[:l.path]
		if l.next == len(l.items) {
			levels = levels[:len(levels)-1]
			continue
		}
		it := &l.items[l.next]
		l.next++
		path = append(path, it.key...)
		if it.tree {
			levels = append(levels, level{items: f.items(kids[it.node], kids, value), path: len(path)})
			continue
		}
		w.Write(path)
		if err := w.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}

// items are the lines of some frames beside one another, in their order.
func (f *Folded) items(nodes []int32, kids [][]int32, value func(node int32) string) []item {
	var out []item
	for _, n := range nodes {
		text := f.texts[f.nodes[n].frame]
		if v := value(n); v != "" {
			out = append(out, item{key: text + " " + v, node: n})
		}
		if len(kids[n]) > 0 {
			out = append(out, item{key: text + ";", node: n, tree: true})
		}
	}
	slices.SortFunc(out, func(a, b item) int { return strings.Compare(a.key, b.key) })
	return out
}
