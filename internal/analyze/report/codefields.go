package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/cbtrace/cbtrace/internal/model"
)

// How much of what has no bound of its own a saved report keeps (R8.3, R8.4: at most 15 MB). Each limit depends on a total that only grows
// when reports are merged and that is exact in all of them, so that it only falls: what one report cut is cut in every merge with it, and
// merging cut reports gives what cutting their merge gives.
const (
	manyValues   = 1 << 18 // of the series of one kind together; above
	seriesOfMany = 256     // each of them is exact up to so many values,
	fewestNames  = 1024    // and names outside the vocabulary are halved for each doubling of the values, down to so many
	savedBlocks  = 1 << 15 // of instants: 97 days with requests
)

// limitOf is up to how many values the series of a kind are exact that hold n values together.
func limitOf(n int64) int {
	if n > manyValues {
		return seriesOfMany
	}
	return model.SavedSeriesLimit
}

// namesFor is how many names outside the vocabulary are kept apart whose series hold n values together.
func namesFor(n int64) int {
	names := maxNames
	for ; n > manyValues && names > fewestNames; n /= 2 {
		names = max(names/2, fewestNames)
	}
	return names
}

// counting is what says which requests count; that a capture holds more than was selected of it only where it decides that.
func (c *codec) counting(a *Aggregate) {
	var bits uint8
	if a.opt.All {
		bits |= 1
	}
	if a.known && a.main.requests == 0 {
		bits |= 2
	}
	c.byte(&bits, 1<<2) // of older files below 2
	if c.reading {
		a.opt.All, a.known = bits&1 != 0, bits&2 != 0
	}
}

func (c *codec) options(a *Aggregate) {
	o := &a.opt
	c.byte((*uint8)(&o.Per), int(PerRequest)+1)
	c.byte((*uint8)(&o.Method), int(Linear)+1)
	c.counting(a)
	since, until := o.Since, o.Until
	if since == -1<<63 { // as open as 0
		since = 0
	}
	if until == 1<<63-1 {
		until = 0
	}
	c.time(&since)
	c.time(&until)
	list(c, &o.SLOs, maxGroups, 4, func(s *SLO) {
		c.text(&s.Expr)
		c.text(&s.Metric)
		c.bool(&s.Below)
		c.int((*int64)(&s.Bound))
	})
	list(c, &o.By, int(numBys), 1, func(b *By) { c.byte((*uint8)(b), int(numBys)) })
	c.int((*int64)(&o.Bucket))
	if c.reading {
		o.Since, o.Until = since, until
	}
}

func (c *codec) aggregate(a *Aggregate) {
	c.tally(a.main)
	c.tally(a.rest)
	counts := countsList(&a.counts)
	c.ints(counts[:]...)
	c.joins(a.joins)
	c.table(&a.table)
}

func (c *codec) tally(t *tally) {
	c.ints(&t.requests, &t.complete, &t.edge, &t.llm)
	c.full(&t.latency, &t.root, &t.ttft, &t.queue, &t.perToken)
	for i := range t.slos {
		c.ints(&t.slos[i].met, &t.slos[i].of)
	}
	c.stages(&t.stages)
	for _, b := range c.of.bounds {
		c.sums(&t.bounds[b], &t.ttftBounds[b])
	}
	c.optSum(&t.ttftTotal)
	c.lookups(&t.lookup)
	c.hits(&t.hits)
	for i := range t.groupings {
		c.grouping(&t.groupings[i])
	}
	for _, v := range c.of.verdicts {
		c.int(&t.verdicts[v])
	}
	c.sum(&t.wasted)
	c.top(&t.doubleLoads)
	c.blend(&t.blend)
	c.int(&t.transfers.n)
	c.sum(&t.transfers.bytes)
	c.full(&t.transfers.kernel, &t.transfers.staging, &t.transfers.idle)
	c.ints(&t.failures.requests, &t.failures.retrieve, &t.failures.status, &t.failures.aborted)
	c.counters(&t.failures.reasons)
	c.sums(&t.windows, &t.tokens)
	c.instants(&t.instants)
	c.buckets(&t.buckets)
	for _, n := range c.of.findings {
		c.finding(&t.findings[n])
	}
	c.ints(&t.notLoaded.loaded, &t.notLoaded.bare, &t.notLoaded.complete)
	c.finding(&t.notLoaded.unseen)
	for _, s := range c.of.stages {
		c.ints(&t.dual[s].Fewer, &t.dual[s].Paired)
	}
	c.finding(&t.disagreeing)
	c.finding(&t.mismatched)
	for _, l := range [...]*top{&t.slowest.byWindow, &t.slowest.byTTFT, &t.slowest.withoutIt, &t.slowest.any} {
		c.top(l)
	}
}

func (c *codec) stages(t *stageSums) {
	for _, s := range c.of.stages {
		for _, o := range c.of.owners {
			at := &t.table[int(s)*numOwners+int(o)]
			there := *at != nil
			if c.bool(&there); !there {
				continue
			}
			if c.reading {
				*at = new(stageSum)
			}
			c.stage(*at, model.SavedSeriesLimit)
		}
	}
	n, names := int64(0), &t.names
	for _, e := range names.entries {
		n += e.value.durations.N()
	}
	if names.other != nil {
		n += names.other.durations.N()
	}
	limit := limitOf(n)
	if most := namesFor(n); !c.reading && most < names.limit {
		fewer := newCapped[model.StrID, stageSum](most, t.dict.Str)
		fewer.merge(names)
		names = &fewer
	}
	codeCapped(c, names, t.dict.InternString, func(s *stageSum) { c.stage(s, limit) })
}

func (c *codec) stage(s *stageSum, limit int) {
	c.bool(&s.known)
	enum(c, &s.class, c.of.classes)
	c.ints(&s.spans, &s.requests)
	c.series(&s.durations, limit)
	c.sums(&s.self, &s.critical, &s.drag, &s.ttft, &s.ttftDrag)
}

func (c *codec) lookups(s *lookupSums) {
	c.ints(&s.n, &s.atMost, &s.l2Nonzero, &s.clocked, &s.uncertainty)
	for _, b := range c.of.bases {
		c.int(&s.basis[b])
	}
	parts := s.parts()
	c.full(parts[:]...)
}

func (c *codec) hits(s *hitSums) {
	c.ints(&s.requests, &s.zero, &s.numbers)
	c.sums(&s.rate.requested, &s.rate.hit, &s.ratios, &s.reuseOf)
	for _, o := range s.optional() {
		c.optSum(o)
	}
	for _, h := range c.of.hitClasses {
		c.int(&s.classes[h])
	}
	c.counters(&s.exits)
}

func (c *codec) grouping(g *grouping) {
	n := int64(0)
	for _, e := range g.groups.entries {
		n += e.value.latency.N() + e.value.ttft.N()
	}
	if o := g.groups.other; o != nil {
		n += o.latency.N() + o.ttft.N()
	}
	limit := limitOf(n)
	codeCapped(c, &g.groups, itself, func(g *group) {
		g.init()
		c.int(&g.requests)
		c.series(&g.latency, limit)
		c.series(&g.ttft, limit)
		c.hits(&g.hits)
	})
}

func (c *codec) blend(b *blendSums) {
	for _, s := range b.sums() {
		c.optSum(s)
	}
	c.sums(&b.l2Rate.amount, &b.l2Rate.ns, &b.scatterRate.amount, &b.scatterRate.ns)
	c.full(&b.matchesPerLookup, &b.recomp)
	c.counters(&b.dispatch)
}

func (c *codec) finding(f *findingSum) {
	c.int(&f.n)
	c.top(&f.exemplars)
}

func (c *codec) top(t *top) {
	read := top{}
	list(c, (*[]exemplar)(t), longest, 6, func(e *exemplar) {
		c.ints(&e.by, &e.window)
		c.text(&e.id)
		c.opt(&e.ttft)
		c.text(&e.stage)
		flags := int64(e.flags)
		c.int(&flags)
		e.flags = model.RowFlags(flags) & model.RowTop
		if c.reading {
			read.insert(*e)
		}
	})
	if c.reading {
		*t = read
	}
}

// instants are the seconds at which the number of open windows changes, block by block.
func (c *codec) instants(m *instants) {
	over := m.over || len(m.blocks) > savedBlocks
	if c.bool(&over); over {
		if c.reading {
			m.over = true
		}
		return
	}
	keys := sortedKeys(m.blocks)
	last := int64(0)
	list(c, &keys, savedBlocks, 2, func(n *int64) {
		step := *n - last
		c.int(&step)
		if *n = last + step; c.reading && (*n <= last && len(m.blocks) > 0 || *n > 1<<40 || *n < -1<<40) {
			c.fail()
			return
		}
		last = *n
		c.block(m, *n)
	})
}

func (c *codec) block(m *instants, n int64) {
	var at []int64
	b := &[blockSeconds]int32{}
	if !c.reading {
		b = m.blocks[n]
		for i, d := range b {
			if d != 0 {
				at = append(at, int64(i))
			}
		}
	}
	last := int64(-1)
	list(c, &at, blockSeconds, 2, func(i *int64) {
		step := *i - last
		c.int(&step)
		if *i = last + step; c.reading && (step <= 0 || *i >= blockSeconds) {
			c.fail()
			return
		}
		last = *i
		d := int64(b[*i])
		c.int(&d)
		b[*i] = int32(d)
	})
	if c.reading && c.err == nil {
		*m.at(n) = *b
	}
}

func (c *codec) buckets(b *buckets) {
	c.byteInt(&b.level, maxLevel+1)
	n := int64(0)
	for _, have := range b.by {
		n += have.latency.N() + have.ttft.N()
	}
	limit, keys := limitOf(n), sortedKeys(b.by)
	most := math.MaxInt64 / second / bucketWidth(b.level) // so that its start fits
	list(c, &keys, maxBuckets, 8, func(key *int64) {
		c.int(key)
		if c.reading {
			if *key > most || *key < -most-1 || b.by[*key] != nil {
				c.fail()
				return
			}
			if b.by == nil {
				b.by = map[int64]*bucket{}
			}
			b.by[*key] = &bucket{key: *key}
		}
		have := b.by[*key]
		c.ints(&have.requests, &have.failed)
		c.series(&have.latency, limit)
		c.series(&have.ttft, limit)
		c.sums(&have.hits.requested, &have.hits.hit, &have.windows, &have.tokens)
	})
}

// byteInt is an int below n.
func (c *codec) byteInt(v *int, n int) {
	b := uint8(*v)
	c.byte(&b, n)
	*v = int(b)
}

func (c *codec) joins(joins map[model.JoinKey]int64) {
	keys := slices.SortedFunc(maps.Keys(joins), func(a, b model.JoinKey) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), cmp.Compare(a.By, b.By))
	})
	list(c, &keys, maxGroups, 4, func(k *model.JoinKey) {
		c.text(&k.From)
		c.text(&k.To)
		enum(c, &k.By, c.of.joins)
		n := joins[*k]
		c.int(&n)
		joins[*k] = n
	})
}

// table is the request table: the names its digests use, then those in order of (hash, id).
func (c *codec) table(t *Table) {
	c.int(&t.Total)
	if c.reading {
		c.readTable(t)
		return
	}
	rows := t.sorted()
	digests, places := make([]*Digest, len(rows)), map[model.StrID]int{}
	for i := range rows {
		digests[i] = rows[i].digest()
		for _, id := range digests[i].names() {
			places[*id] = 0
		}
	}
	names := make([]string, 0, len(places))
	for id := range places {
		names = append(names, c.dict.Str(id))
	}
	slices.Sort(names)
	for id := range places {
		places[id], _ = slices.BinarySearch(names, c.dict.Str(id))
	}
	c.texts(&names, 0)
	c.count(len(rows), 1)
	var packed []byte
	for i, d := range digests {
		for _, id := range d.names() {
			*id = model.StrID(places[*id])
		}
		packed = d.pack(packed[:0])
		c.text(&rows[i].id)
		c.count(len(packed), 1)
		c.buf = append(c.buf, packed...)
	}
}

func (c *codec) readTable(t *Table) {
	var names []string
	c.texts(&names, 3*MaxDigests)
	ids := make([]model.StrID, len(names))
	for i, name := range names {
		ids[i] = c.dict.InternString(name)
	}
	n := c.count(0, 2)
	if n > MaxDigests || int64(n) > t.Total {
		c.fail()
	}
	var last *packed
	for range n {
		var d Digest
		c.text(&d.ID)
		size := c.count(0, 1)
		if c.err != nil {
			return
		}
		data := c.buf[:size]
		c.buf = c.buf[size:]
		if d.unpack(data, &c.of) != nil {
			c.fail()
			return
		}
		for _, id := range d.names() {
			if int(*id) >= len(ids) {
				c.fail()
				return
			}
			*id = ids[*id]
		}
		d.Hash = xxhash.Sum64String(d.ID)
		p := packed{d.Hash, d.ID, d.pack(make([]byte, 0, len(data)))}
		if last != nil && t.compare(last, &p) > 0 {
			c.fail()
			return
		}
		t.insert(p)
		last = &p
	}
}
