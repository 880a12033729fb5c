package report

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cbtrace/cbtrace/internal/model"
)

// What callers branch on when a saved report cannot be read or written.
var (
	ErrCorrupt  = errors.New("holds what no report was saved as")
	ErrUnknown  = errors.New("was written by a newer cbtrace")
	ErrTooLarge = errors.New("too large for a saved report")
)

// A codec writes fields behind buf or reads them from its front: one description of each struct serves both ways, so that the two cannot
// part. What is read may be anything. Lists are no longer than there are bytes for; after an error every field that is read is 0.
type codec struct {
	buf     []byte
	reading bool
	err     error
	dict    *model.Dict
	of      numbering
	size    int // integers in series so far
}

// maxSize is how many integers the series of a saved report hold: 256 MiB in memory. A histogram takes a few bytes in a file.
const maxSize = 1 << 25

// fail ends reading.
func (c *codec) fail() { c.failAs(ErrCorrupt) }

func (c *codec) failAs(err error) {
	if c.err == nil {
		c.err = err
	}
	c.buf = nil
}

// unknown ends reading at a name that our tables do not have.
func (c *codec) unknown(name string) { c.failAs(fmt.Errorf("%w: it knows of %.64q", ErrUnknown, name)) }

func (c *codec) uint(v *uint64) {
	if !c.reading {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	n := 0
	if *v, n = binary.Uvarint(c.buf); n <= 0 {
		*v = 0
		c.fail()
		return
	}
	c.buf = c.buf[n:]
}

func (c *codec) int(v *int64) {
	u := uint64(*v)<<1 ^ uint64(*v>>63)
	c.uint(&u)
	*v = int64(u>>1) ^ -int64(u&1)
}

func (c *codec) ints(all ...*int64) {
	for _, v := range all {
		c.int(v)
	}
}

func (c *codec) time(v *model.Time) { c.int((*int64)(v)) }

// count is the length of a list of things that take at least size bytes each.
func (c *codec) count(n, size int) int {
	u := uint64(n)
	c.uint(&u)
	if c.reading && u > uint64(len(c.buf)/size) {
		c.fail()
		return 0
	}
	return int(u)
}

// list is a list of at most so many things that take at least size bytes each.
func list[T any](c *codec, l *[]T, most, size int, each func(*T)) {
	n := c.count(len(*l), size)
	if !c.reading {
		for i := range *l {
			each(&(*l)[i])
		}
		return
	}
	if *l = nil; n > most {
		c.fail()
		return
	}
	for range n {
		var v T
		if each(&v); c.err != nil {
			return
		}
		*l = append(*l, v)
	}
}

func (c *codec) text(s *string) {
	n := c.count(len(*s), 1)
	if !c.reading {
		c.buf = append(c.buf, *s...)
		return
	}
	*s = string(c.buf[:n])
	c.buf = c.buf[n:]
}

func (c *codec) texts(l *[]string, most int) { list(c, l, most, 1, c.text) }

// byte is a number below n.
func (c *codec) byte(v *uint8, n int) {
	u := uint64(*v)
	if c.uint(&u); u >= uint64(n) {
		u = 0
		c.fail()
	}
	*v = uint8(u)
}

func (c *codec) bool(v *bool) {
	u := uint8(0)
	if *v {
		u = 1
	}
	c.byte(&u, 2)
	*v = u != 0
}

// enum is one of the things that a list of the numbering names.
func enum[E ~uint8](c *codec, v *E, of numbers) {
	u := uint8(*v)
	c.byte(&u, len(of))
	if c.reading && c.err == nil {
		u = of[u]
	}
	*v = E(u)
}

func (c *codec) opt(v *model.Opt) {
	if c.bool(&v.OK); v.OK {
		c.int(&v.V)
	}
}

func (c *codec) float(v *model.OptFloat) {
	if c.bool(&v.OK); v.OK {
		bits := math.Float64bits(v.V)
		c.uint(&bits)
		*v = model.SomeFloat(math.Float64frombits(bits))
	}
}

func (c *codec) sum(s *sum) {
	lo, hi := int64(s.lo), s.hi-int64(s.lo)>>63 // the usual one fits into the first
	c.ints(&lo, &hi)
	*s = sum{hi + lo>>63, uint64(lo)}
}

func (c *codec) sums(all ...*sum) {
	for _, s := range all {
		c.sum(s)
	}
}

func (c *codec) optSum(s *optSum) {
	c.bool(&s.known)
	c.sum(&s.sum)
}

// series is a series, cut to what a saved report holds of it: limit values one by one (R8.3).
func (c *codec) series(s *series, limit int) {
	if !c.reading {
		cut := model.NewSeries(limit)
		cut.Merge(&s.Series)
		if c.size += cut.Size(); c.size > maxSize && c.err == nil {
			c.err = ErrTooLarge
		}
		c.buf = cut.Append(c.buf)
		return
	}
	rest, err := s.Decode(c.buf)
	if err != nil || s.Exact() && s.N() > model.SavedSeriesLimit {
		*s = series{}
		c.fail()
		return
	}
	if c.size += s.Size(); c.size > maxSize {
		c.fail()
		return
	}
	c.buf = rest
}

// full are series of which each is exact up to the limit of a saved report.
func (c *codec) full(all ...*series) {
	for _, s := range all {
		c.series(s, model.SavedSeriesLimit)
	}
}

// codeCapped is a map by name: in order of the names, and what all others hold together.
func codeCapped[K comparable, V any, P merger[V]](c *codec, m *capped[K, V, P], key func(string) K, value func(*V)) {
	limit := int64(m.limit)
	c.int(&limit)
	n := c.count(len(m.entries), 2)
	if !c.reading {
		for _, e := range m.sorted() {
			c.text(&e.text)
			value(&e.value)
		}
	} else {
		if limit < 1 || limit > int64(m.limit) || int64(n) > limit {
			c.fail()
			return
		}
		m.limit = int(limit)
		last := ""
		for i := range n {
			var text string
			var v V
			if c.text(&text); i > 0 && text <= last {
				c.fail()
			}
			if value(&v); c.err != nil {
				return
			}
			last = text
			P(m.at(key(text))).merge(&v)
		}
	}
	rest := m.other != nil
	if c.bool(&rest); rest {
		if c.reading {
			m.other = new(V)
		}
		value(m.other)
	}
}

func (c *codec) counters(m *counters) {
	codeCapped(c, m, itself, func(n *counter) { c.int((*int64)(n)) })
}
