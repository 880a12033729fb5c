package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/model"
)

const (
	spanMost = 2*maxDepth + nameMost
	maxDepth = 20 // of indentation
	foldFrom = 4  // siblings of one stage that become one row
	fine     = 240
)

// A fall is a request on its way to a waterfall.
type fall struct {
	*inspect.Document
	scale  int64      // ns that a bar stands for, from the start of the window
	zoomed bool       // to the first token
	order  []treeNode // parents before their children
	kids   [][]int
	held   map[string][]*inspect.Segment // by span id
	below  []fineBits                    // where the path runs below a span
	loose  map[string]bool               // as of looseClocks
}

// fineBits are pieces of the window, each a fine-th of it.
type fineBits [(fine + 63) / 64]uint64

func (b *fineBits) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b *fineBits) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

// spanTable is the tree, each span with a bar over the window that tells what it holds of the path from what it does not.
func (v *View) spanTable(d *inspect.Document) *Table {
	f := newFall(d)
	axis := "window, " + Duration(f.scale)
	if f.zoomed {
		axis = "to first token, " + Duration(f.scale)
	}
	t := &Table{Name: "spans", Columns: []Column{{Name: "span", Shrink: true, Most: spanMost}, {Name: axis, Kind: Bar}, {Name: "start", Kind: Time},
		{Name: "duration", Kind: Time}, {Name: "on path", Key: "critical", Kind: Time, Drop: 2},
		{Name: "self", Kind: Time, Drop: 5}, {Name: "note", Most: 24, Drop: 4}, {Name: "process", Most: 36, Least: 12, Drop: 6}, {Name: "from", Most: 48, Least: 20, Tail: true, Drop: 3},
		{Name: "id", Hidden: true}, {Name: "parent", Hidden: true},
		{Name: "spans", Kind: Tally, Hidden: true}}}
	rows := f.rows(v.Unfold)
	for _, g := range rows {
		t.Add(f.cells(&g)...)
	}
	if !v.Unfold && len(rows) > spansShown {
		keep := f.weighty(rows)
		t.hide(spansShown, func(i int) bool { return keep[i] })
	}
	return t
}

// spansShown is how many rows a waterfall has, unless every span is asked for.
const spansShown = 400

// weighty are the rows of a waterfall to show of many: those that hold most of the path, then the longest, each with the rows above it.
func (f *fall) weighty(rows []group) map[int]bool {
	order, above := make([]int, len(rows)), make([]int, len(rows))
	path, long := make([]int64, len(rows)), make([]int64, len(rows))
	var line []int // the rows above, by depth
	for i := range rows {
		order[i], above[i] = i, -1
		if line = line[:min(rows[i].depth, len(line))]; len(line) > 0 {
			above[i] = line[len(line)-1]
		}
		line = append(line, i)
		for _, s := range rows[i].spans {
			path[i] += f.Spans[s].CriticalNS.V
			long[i] += f.Spans[s].DurationNS.V
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(path[b], path[a]), cmp.Compare(long[b], long[a])) })
	keep := map[int]bool{}
	for _, i := range order {
		var chain []int
		for at := i; at >= 0 && !keep[at]; at = above[at] {
			chain = append(chain, at)
		}
		if len(keep)+len(chain) > spansShown {
			break
		}
		for _, at := range chain {
			keep[at] = true
		}
	}
	return keep
}

func newFall(d *inspect.Document) *fall {
	f := &fall{Document: d, scale: d.Window.DurationNS.V, order: treeOrder(d.Spans), kids: make([][]int, len(d.Spans)), held: map[string][]*inspect.Segment{}, below: make([]fineBits, len(d.Spans)), loose: looseClocks(d)}
	// A decode that lasts much longer than the wait for the first token would leave that in a few characters (R4.28).
	if t := d.CriticalPath.TTFT; t != nil && t.TotalNS > 0 && t.TotalNS <= d.Window.DurationNS.V/2 {
		f.scale, f.zoomed = t.TotalNS, true
	}
	for i := range d.CriticalPath.Segments {
		g := &d.CriticalPath.Segments[i]
		f.held[g.Span] = append(f.held[g.Span], g)
	}
	parent := make([]int, len(d.Spans))
	var line []int // the spans above, by depth
	for _, n := range f.order {
		parent[n.span] = -1
		if line = line[:min(n.depth, len(line))]; len(line) > 0 {
			parent[n.span] = line[len(line)-1]
			f.kids[parent[n.span]] = append(f.kids[parent[n.span]], n.span)
		}
		line = append(line, n.span)
	}
	for _, n := range slices.Backward(f.order) {
		up := parent[n.span]
		if up < 0 {
			continue
		}
		for i, bits := range f.below[n.span] {
			f.below[up][i] |= bits
		}
		for _, g := range f.own(n.span) {
			lo, hi := f.pieces(g.StartNS, g.DurationNS)
			for i := lo; i < hi; i++ {
				f.below[up].set(i)
			}
		}
	}
	return f
}

// own are the segments of the path that a span holds. Spans that share an id are told apart by their stage.
func (f *fall) own(span int) []*inspect.Segment {
	s := &f.Spans[span]
	all := f.held[s.ID]
	if slices.ContainsFunc(all, func(g *inspect.Segment) bool { return g.Stage != s.Stage }) {
		all = slices.DeleteFunc(slices.Clone(all), func(g *inspect.Segment) bool { return g.Stage != s.Stage })
	}
	return all
}

// pieces are those of the window that a stretch of time touches, [lo, hi).
func (f *fall) pieces(start, length int64) (lo, hi int) {
	total := float64(f.scale)
	if total <= 0 || float64(start) >= total {
		return 0, 0
	}
	lo = max(0, min(fine-1, int(float64(start)/total*fine)))
	hi = max(lo+1, min(fine, int(math.Ceil(float64(start+length)/total*fine))))
	return lo, hi
}

// A group is a row of the waterfall: a span, or many of one stage under one parent.
type group struct {
	spans  []int
	depth  int
	folded bool
}

// rows are the spans as they are shown: of a parent's children those of a stage that come foldFrom times or more are one row, and what is
// below them too.
func (f *fall) rows(unfold bool) []group {
	var out, stack []group
	push := func(spans []int, depth int, fold bool) {
		for _, g := range slices.Backward(f.groups(spans, depth, fold, unfold)) {
			stack = append(stack, g)
		}
	}
	for _, n := range slices.Backward(f.order) {
		if n.depth == 0 {
			stack = append(stack, group{spans: []int{n.span}})
		}
	}
	for len(stack) > 0 {
		g := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		out = append(out, g)
		var kids []int
		for _, s := range g.spans {
			kids = append(kids, f.kids[s]...)
		}
		push(kids, g.depth+1, g.folded)
	}
	return out
}

func (f *fall) groups(spans []int, depth int, fold, unfold bool) []group {
	n := map[string]int{}
	for _, s := range spans {
		n[f.Spans[s].Stage]++
	}
	var out []group
	at := map[string]int{}
	for _, s := range spans {
		stage := f.Spans[s].Stage
		if folded := !unfold && (fold || n[stage] >= foldFrom); !folded {
			out = append(out, group{[]int{s}, depth, false})
		} else if i, ok := at[stage]; ok {
			out[i].spans = append(out[i].spans, s)
		} else {
			at[stage] = len(out)
			out = append(out, group{[]int{s}, depth, true})
		}
	}
	return out
}

// cells are a row; of many spans the first start and the sums.
func (f *fall) cells(g *group) []Cell {
	first := &f.Spans[g.spans[0]]
	name := strings.Repeat("  ", min(g.depth, maxDepth)) + first.Stage
	if g.depth > maxDepth {
		name = fmt.Sprintf("%s(%d) %s", strings.Repeat("  ", maxDepth), g.depth, first.Stage)
	}
	if n := len(g.spans); n > 1 {
		name += fmt.Sprintf(" ×%d", n)
	}
	var strokes []Stroke
	var duration, path, self model.Opt
	add := func(to *model.Opt, n model.Opt) {
		if n.OK {
			*to = model.Opt{V: to.V + n.V, OK: true}
		}
	}
	for _, i := range g.spans {
		s := &f.Spans[i]
		strokes = append(strokes, f.strokes(i)...)
		if s.Class == "point" {
			continue
		}
		add(&duration, s.DurationNS)
		add(&path, s.CriticalNS)
		add(&self, s.SelfNS)
	}
	from := Cell{}
	if len(first.Sources) > 0 {
		at := place(&first.Sources[0])
		if from = Word(at); len(g.spans) > 1 {
			from = Word(at + ", …").InCSV(at)
		}
	}
	onPath := Known(path)
	if path.V > 0 {
		onPath = onPath.Toned(OnPath)
	}
	return []Cell{Word(name).InCSV(first.Stage), Drawn(strokes), startCell(Known(first.StartNS), first, f.loose), Known(duration), onPath, Known(self),
		Word(f.note(g, "a sum")).InCSV(f.note(g, "breakdown")), Word(first.Process), from, Word(first.ID), Word(first.Parent), Of(len(g.spans))}
}

// note says what is odd about the spans of a row; sum is what it calls the class breakdown.
func (f *fall) note(g *group, sum string) string {
	var words []string
	add := func(word string) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for _, i := range g.spans {
		s := &f.Spans[i]
		switch s.Class {
		case "background", "point":
			add(s.Class)
		case "breakdown":
			add(sum)
		}
		for _, flag := range s.Flags {
			add(flag)
		}
	}
	return strings.Join(words, " ")
}

// strokes are the bar of one span.
func (f *fall) strokes(span int) []Stroke {
	s, total := &f.Spans[span], f.scale
	if total <= 0 || !s.StartNS.OK {
		return nil
	}
	at := func(ns int64) float64 { return float64(ns) / float64(total) }
	start, end := s.StartNS.V, s.StartNS.V+max(0, s.DurationNS.V)
	switch {
	case start >= total:
		return []Stroke{{1, 1, Beyond}}
	case end <= start:
		return []Stroke{{at(start), at(start), Moment}}
	}
	// What the path spends in the span itself, to the nanosecond, and in each piece of the window the rest: below the span, or off the path.
	var out []Stroke
	var spent [fine]float64 // of a piece
	for _, g := range f.own(span) {
		kind := map[string]StrokeKind{"overlap": Overlapped, "gap": InNoSpan}[g.Kind]
		if g.StartNS >= total {
			continue
		}
		lo, hi := at(g.StartNS), at(g.StartNS+g.DurationNS)
		out = append(out, Stroke{lo, hi, kind})
		first, last := f.pieces(g.StartNS, g.DurationNS)
		for i := first; i < last; i++ {
			spent[i] += max(0, min(hi*fine, float64(i+1))-max(lo*fine, float64(i)))
		}
	}
	if f.zoomed && end > total {
		out = append(out, Stroke{1, 1, Beyond})
	}
	lo, hi := f.pieces(start, end-start)
	for i := lo; i < hi; i++ {
		from, to := max(float64(i), at(start)*fine), min(float64(i+1), at(end)*fine)
		if rest := to - from - spent[i]; rest > 1e-6 { // less is rounding
			kind := OffPath
			if f.below[span].has(i) {
				kind = Through
			}
			out = append(out, Stroke{from / fine, (from + rest) / fine, kind})
		}
	}
	return out
}

// legend says what the characters of bars mean, as far as they occur.
func (f *fall) legend() string {
	var seen [numStrokes]bool
	for i := range f.Spans {
		for _, s := range f.strokes(i) {
			seen[s.Kind] = true
		}
	}
	var words []string
	for k, text := range [numStrokes]string{Held: "holds the path", Overlapped: "holds it while work off the path runs", InNoSpan: "in no span", Through: "on the path by a child",
		OffPath: "off the path", Beyond: "later", Moment: "a moment"} {
		if seen[k] && text != "" {
			words = append(words, Toned(strokes[k].tone, strokes[k].mark)+" "+text)
		}
	}
	return strings.Join(words, ", ")
}

func place(s *inspect.Source) string {
	switch {
	case s.Line != nil:
		return fmt.Sprintf("%s:%d", s.File, *s.Line)
	case s.Offset != nil:
		return fmt.Sprintf("%s@%d", s.File, *s.Offset)
	}
	return s.File
}

type treeNode struct{ span, depth int }

// treeOrder lists spans so that children follow their parent, each span once. Spans whose parent is not there come last.
func treeOrder(spans []inspect.Span) []treeNode {
	first, kids := map[string]int{}, map[string][]int{}
	for i := range spans {
		if _, ok := first[spans[i].ID]; !ok {
			first[spans[i].ID] = i
		}
	}
	var stack []treeNode
	for i := len(spans) - 1; i >= 0; i-- {
		parent, ok := first[spans[i].Parent]
		if spans[i].Parent == "" || !ok || parent == i {
			stack = append(stack, treeNode{i, 0})
			continue
		}
		kids[spans[i].Parent] = append(kids[spans[i].Parent], i)
	}
	out, seen := make([]treeNode, 0, len(spans)), make([]bool, len(spans))
	visit := func() {
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[n.span] {
				continue
			}
			seen[n.span] = true
			out = append(out, n)
			if id := spans[n.span].ID; first[id] == n.span {
				for _, k := range kids[id] {
					stack = append(stack, treeNode{k, n.depth + 1})
				}
			}
		}
	}
	slices.SortStableFunc(stack, func(a, b treeNode) int { return rootRank(&spans[a.span]) - rootRank(&spans[b.span]) })
	visit()
	for i := range spans {
		if !seen[i] {
			stack = append(stack, treeNode{i, 0})
			visit()
		}
	}
	return out
}

// rootRank makes the root come off the stack first.
func rootRank(s *inspect.Span) int {
	if s.Edge == "root" {
		return 1
	}
	return 0
}
