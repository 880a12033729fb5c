package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/critpath"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

const lookup = `
llm_request           engine   0ms  100ms
  cb.request          sched    5ms  90ms
    cb.schedule       sched    5ms  60ms
      cb.lookup.rpc   sched    10ms 55ms
        cb.lookup     server   15ms 50ms
    layer;7           worker   60ms 85ms
      mp.store        server   70ms 200ms
    cb.fingerprints.registered server 20ms 20ms
`

func analysed(t testing.TB, text string) *model.Request {
	t.Helper()
	r := modeltest.Linked(t, text)
	var w critpath.Work
	critpath.Analyze(r, &w)
	return r
}

func written(t testing.TB, f *Folded, below string) string {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := errors.Join(f.Write(w, below), w.Flush()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFolded(t *testing.T) {
	for _, c := range []struct {
		name, below string
		opt         Options
		want        string
	}{
		{"self", "", Options{}, `
llm_request 15000000
llm_request;cb.request 5000000
llm_request;cb.request;cb.schedule 10000000
llm_request;cb.request;cb.schedule;cb.lookup.rpc 10000000
llm_request;cb.request;cb.schedule;cb.lookup.rpc;cb.lookup 35000000
llm_request;cb.request;layer%3B7 10000000
llm_request;cb.request;layer%3B7;mp.store 130000000
`},
		// the store is background, the rest is a partition of the 100 ms
		{"critical", "", Options{Weight: Critical}, `
llm_request 15000000
llm_request;cb.request 5000000
llm_request;cb.request;cb.schedule 10000000
llm_request;cb.request;cb.schedule;cb.lookup.rpc 10000000
llm_request;cb.request;cb.schedule;cb.lookup.rpc;cb.lookup 35000000
llm_request;cb.request;layer%3B7 25000000
`},
		{"critical by owner, of a request", "chatcmpl 7", Options{Critical, true}, `
chatcmpl%207;engine;llm_request 15000000
chatcmpl%207;other;llm_request;cb.request;layer%3B7 25000000
chatcmpl%207;scheduler;llm_request;cb.request 5000000
chatcmpl%207;scheduler;llm_request;cb.request;cb.schedule 10000000
chatcmpl%207;scheduler;llm_request;cb.request;cb.schedule;cb.lookup.rpc 10000000
chatcmpl%207;server;llm_request;cb.request;cb.schedule;cb.lookup.rpc;cb.lookup 35000000
`},
	} {
		r := analysed(t, lookup)
		f := NewFolded(r.Dict, c.opt)
		if err := f.Add(r); err != nil {
			t.Fatal(err)
		}
		if got := written(t, f, c.below); got != c.want[1:] {
			t.Errorf("%s:\n%swant%s", c.name, got, c.want)
		}
		f.Reset()
		if got := written(t, f, ""); got != "" {
			t.Errorf("%s: after a reset %q", c.name, got)
		}
	}
}

// The server's own cb.request is another frame than the scheduler's; a root that was made up holds the gaps.
func TestFoldedOwners(t *testing.T) {
	r := analysed(t, `
cb.request    server  0ms 30ms   scope=lmcache_mp.blend trace=a
  cb.lookup   server  0ms 28ms   trace=a
cb.retrieve   server  60ms 75ms  trace=b
`)
	f := NewFolded(r.Dict, Options{Weight: Critical})
	if err := f.Add(r); err != nil {
		t.Fatal(err)
	}
	want := "cb.request@server 32000000\ncb.request@server;cb.lookup 28000000\ncb.request@server;cb.retrieve 15000000\n"
	if got := written(t, f, ""); got != want {
		t.Errorf("%swant\n%s", got, want)
	}
}

var names = []string{"llm_request", "cb.request", "cb.schedule", "cb.lookup.rpc", "cb.lookup", "cb.l2_load", "mp.store", "mp.retrieve", "transfer.staging", "x", "x.y", "x;z", "layer 3"}

// tree is a random request as text: spans stick out of their parents, overlap, end before they start, have no end or no time at all.
func tree(rng *rand.Rand, spans int) string {
	var b strings.Builder
	depth := 0
	for i := range spans {
		name := strings.ReplaceAll(names[rng.IntN(len(names))], " ", "_")
		start := rng.IntN(1000)
		end := strconv.Itoa(start+rng.IntN(400)-20) + "ms"
		switch rng.IntN(40) {
		case 0:
			end = "-"
		case 1:
			end = strconv.Itoa(start) + "ms"
		}
		fmt.Fprintf(&b, "%*s%s p%d %dms %s trace=t%d\n", 2*depth, "", name, rng.IntN(3), start, end, rng.IntN(2))
		if i > 0 {
			depth = rng.IntN(depth + 2)
		} else {
			depth = 1
		}
	}
	return b.String()
}

// foldedSlow is the stacks of a request: for each span the names on the way down to it.
func foldedSlow(stacks map[string]*big.Int, r *model.Request, opt Options) (total time.Duration) {
	for _, s := range append(slices.Clone(r.Spans), r.Root) {
		if s == r.Root && slices.Contains(r.Spans, s) && s.Mark == -1 {
			continue
		}
		ns := s.Critical
		if opt.Weight == Self {
			ns = s.Self
			if s.Class == model.Breakdown || s.Class == model.Point || s.Has(model.FlagSynthetic|model.FlagNegative|model.FlagUntimed|model.FlagShutdown) {
				ns = 0
			}
		}
		s.Mark = -1
		if ns == 0 {
			continue
		}
		total += ns
		stack := ""
		for p := s; p != nil; p = p.Parent {
			name := r.Dict.Str(p.StageKey)
			switch {
			case p.Known() && p.ServerRoot() && p.Stage == model.StageCBRequest:
				name += "@server"
			case !p.Known() && !p.Has(model.FlagSynthetic):
				name = Frame(name)
			}
			stack = name + ";" + stack
		}
		stack = strings.TrimSuffix(stack, ";")
		if opt.Owner {
			owner := s.Owner().String()
			if owner == "" {
				owner = "other"
			}
			stack = owner + ";" + stack
		}
		if stacks[stack] == nil {
			stacks[stack] = new(big.Int)
		}
		stacks[stack].Add(stacks[stack], big.NewInt(int64(ns)))
	}
	return total
}

func linesOf(stacks map[string]*big.Int) string {
	var lines []string
	for stack, ns := range stacks {
		lines = append(lines, stack+" "+ns.String()+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// Of random requests, one by one, added up and merged: the lines are those of the slow way, in the order of bytes; they sum to the self times, or
// to the windows; every reader reads them.
func TestFoldedProperties(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 1))
		opt := Options{Weight(seed % 2), seed%3 == 0}
		// All requests of a capture share a dict: here each request is drawn, and added to both halves or one.
		text := tree(rng, 1+rng.IntN(40))
		r := analysed(t, text)
		stacks := map[string]*big.Int{}
		total := foldedSlow(stacks, r, opt)
		if opt.Weight == Critical && total != r.Window() {
			t.Fatalf("seed %d: the path has %v of %v", seed, total, r.Window())
		}
		one, two := NewFolded(r.Dict, opt), NewFolded(r.Dict, opt)
		if err := one.Add(r); err != nil {
			t.Fatal(err)
		}
		want := linesOf(stacks)
		if got := written(t, one, ""); got != want {
			t.Fatalf("seed %d, %+v:\n%s\n%swant\n%s", seed, opt, text, got, want)
		}
		if sum := totalOf(one); sum.Int64() != int64(total) {
			t.Errorf("seed %d: total %v, want %d", seed, sum, total)
		}
		for range 2 {
			if err := errors.Join(two.Add(r), one.Merge(two)); err != nil {
				t.Fatal(err)
			}
		}
		for _, ns := range stacks { // once, and once, and twice
			ns.Mul(ns, big.NewInt(4))
		}
		if got := written(t, one, ""); got != linesOf(stacks) {
			t.Errorf("seed %d: merged:\n%swant\n%s", seed, got, linesOf(stacks))
		}
		for line := range strings.Lines(want) {
			stack, count, _ := cutLast(strings.TrimSuffix(line, "\n"))
			reads(t, stack, count)
		}
	}
}

func cutLast(line string) (stack, count string, ok bool) {
	at := strings.LastIndexByte(line, ' ')
	return line[:at], line[at+1:], at > 0
}

// Lines are in the order of their bytes where one name is the beginning of another, and where blanks and points sort before the semicolon.
func TestFoldedOrder(t *testing.T) {
	f := NewFolded(model.NewDict(), Options{})
	for _, stack := range []string{"a", "a;b", "a.b", "a b", "a b;c", "a!;c", "a;b;c", "a~", "b", "a-b;c"} {
		at := int32(0)
		for name := range strings.SplitSeq(stack, ";") {
			var err error
			if at, err = f.child(at, f.frame(Frame(name))); err != nil {
				t.Fatal(err)
			}
		}
		f.nodes[at].ns = total{lo: uint64(len(stack))}
	}
	lines := strings.SplitAfter(strings.TrimSuffix(written(t, f, ""), "\n"), "\n")
	if len(lines) != 10 || !slices.IsSorted(lines) {
		t.Errorf("%q", lines)
	}
}

// Sums beyond 64 bits stay exact.
func TestFoldedLargeSums(t *testing.T) {
	f := NewFolded(model.NewDict(), Options{})
	at, err := f.child(0, f.frame("a"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f.nodes[at].ns.add(total{lo: 1<<64 - 1})
	}
	if got := written(t, f, ""); got != "a 55340232221128654845\n" {
		t.Error(got)
	}
}

// A chain of spans has a stack for each, up to MaxDepth of them: what spans below took is the time of the last. What one request may cost
// is bounded by MaxStacks.
func TestFoldedDeep(t *testing.T) {
	const depth = MaxDepth + 500
	var b strings.Builder
	for i := range depth {
		fmt.Fprintf(&b, "%*sx p %dms %dms\n", i, "", i, 2*depth+1-i)
	}
	r := analysed(t, b.String())
	f := NewFolded(r.Dict, Options{})
	if err := f.Add(r); err != nil {
		t.Fatal(err)
	}
	got := written(t, f, "")
	if n := strings.Count(got, "\n"); n != MaxDepth || totalOf(f).Int64() != int64((2*depth+1)*time.Millisecond) {
		t.Errorf("%d lines, %v ns", n, totalOf(f))
	}
	// 2 ms itself, 499 spans below with 2 ms each and the innermost with 3 ms
	if want := strings.Repeat("x;", MaxDepth-1) + "x 1003000000\n"; !strings.Contains(got, want) {
		t.Errorf("the deepest stack is not %q", want[len(want)-20:])
	}

	f.nodes = slices.Grow(f.nodes, MaxStacks)[:MaxStacks+1]
	if _, err := f.child(0, f.frame("one more")); !errors.Is(err, ErrManyStacks) {
		t.Errorf("%v", err)
	}
}

// totalOf is the sum of all stacks, in ns.
func totalOf(f *Folded) *big.Int {
	sum := new(big.Int)
	for i := range f.nodes {
		sum.Add(sum, f.nodes[i].ns.big())
	}
	return sum
}
