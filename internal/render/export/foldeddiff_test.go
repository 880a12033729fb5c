package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// part is the stacks of some requests, each as a text tree.
func part(t testing.TB, requests ...string) Part {
	t.Helper()
	var p Part
	for _, text := range requests {
		r := analysed(t, text)
		f := NewFolded(r.Dict, Options{})
		if err := f.Add(r); err != nil {
			t.Fatal(err)
		}
		if p.Folded == nil {
			p.Folded = f
		} else if err := p.Merge(f); err != nil {
			t.Fatal(err)
		}
		p.Requests++
	}
	return p
}

func different(t testing.TB, before, after Part) string {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := errors.Join(WriteDiff(w, before, after), w.Flush()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Two requests of 10 ms with a stage that is gone, and one of 14 ms with one that is new: times before are those of one request.
func TestWriteDiff(t *testing.T) {
	before := part(t, `
cb.request      sched  0ms 10ms
  cb.schedule   sched  0ms 3ms
`, `
cb.request      sched  0ms 10ms
  cb.schedule   sched  0ms 4ms
`)
	after := part(t, `
cb.request      sched  0ms 14ms
  cb.execute    worker 0ms 5ms
`)
	for _, c := range []struct {
		name, want    string
		before, after Part
	}{
		{"one way", "cb.request 6500000 9000000\ncb.request;cb.execute 0 5000000\ncb.request;cb.schedule 3500000 0\n", before, after},
		{"the other", "cb.request 18000000 13000000\ncb.request;cb.execute 10000000 0\ncb.request;cb.schedule 0 7000000\n", after, before},
		{"itself", "cb.request 13000000 13000000\ncb.request;cb.schedule 7000000 7000000\n", before, before},
	} {
		if have := different(t, c.before, c.after); have != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, have, c.want)
		}
	}
}

func TestScaled(t *testing.T) {
	for _, c := range []struct{ n, of, by, want int64 }{
		{10, 3, 3, 10}, {10, 1, 4, 3}, {9, 1, 4, 2}, {1, 1, 3, 0}, {2, 1, 3, 1}, {0, 7, 3, 0}, {1 << 62, 1 << 40, 1 << 40, 1 << 62},
	} {
		if have := scaled(big.NewInt(c.n), c.of, c.by); have.Int64() != c.want {
			t.Errorf("%d·%d/%d = %v, want %d", c.n, c.of, c.by, have, c.want)
		}
	}
	big1 := new(big.Int).Lsh(big.NewInt(1), 100)
	if have := scaled(new(big.Int).Set(big1), 2, 1); have.Cmp(new(big.Int).Lsh(big1, 1)) != 0 {
		t.Errorf("2¹⁰⁰·2 = %v", have)
	}
}

// The columns of a diff are what each part writes alone.
func TestWriteDiffHoldsBoth(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	random := func() Part {
		p := Part{Folded: NewFolded(nil, Options{}), Requests: 5}
		for range 200 {
			at := int32(0)
			for range 1 + rnd.IntN(4) {
				at, _ = p.child(at, p.frame(fmt.Sprintf("f%d", rnd.IntN(6))))
			}
			p.nodes[at].ns.add(total{lo: uint64(rnd.IntN(1000))})
		}
		return p
	}
	for range 20 {
		a, b := random(), random()
		var sides [2]strings.Builder
		for line := range strings.Lines(different(t, a, b)) {
			f := strings.Fields(line)
			for i := range sides {
				if f[1+i] != "0" {
					sides[i].WriteString(f[0] + " " + f[1+i] + "\n")
				}
			}
		}
		if sides[0].String() != written(t, a.Folded, "") || sides[1].String() != written(t, b.Folded, "") {
			t.Fatal("a column is not what its part writes")
		}
	}
}
