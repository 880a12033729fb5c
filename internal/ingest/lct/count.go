package lct

import (
	"math"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

const (
	maxNames        = 1 << 16 // different names of a kind; the rest is counted together (R8.7)
	maxIncarnations = 1 << 16 // of all instances
)

// A Counter counts what a recording holds, block by block. The zero value is ready; its memory stays the same however long the recording is.
type Counter struct {
	header  Header
	begun   bool
	mono    float64 // the largest
	records int64

	names   tally
	batches tally
	entries tally
	events  model.RecordedEvents
	servers map[server]bool

	keys   keySet
	hasher keyHasher
	finder keyFinder

	event   event
	batched struct{ entries, bytes int64 } // of the batch that is read now
	entry   func(entry)
	key     objKey
	scratch []byte
}

type server struct {
	instance    string
	incarnation int64
}

// A tally counts by name.
type tally map[string]*int64

func (t *tally) add(name []byte, n int64) {
	if p := (*t)[string(name)]; p != nil {
		*p += n
		return
	}
	if *t == nil {
		*t = tally{}
	}
	text := string(name)
	if len(*t) >= maxNames || len(text) > maxWord {
		text = model.OtherName
	}
	if (*t)[text] == nil {
		(*t)[text] = new(int64)
	}
	*(*t)[text] += n
}

func (t tally) counts() map[string]int64 {
	out := make(map[string]int64, len(t))
	for name, n := range t {
		out[name] = *n
	}
	return out
}

// Add counts a block that a Cutter made. The error is that of the header.
func (c *Counter) Add(blk decode.Block, rep *decode.Report) error {
	w, h, err := newWalker(&blk, rep)
	if err != nil {
		return err
	}
	if !c.begun {
		c.header, c.begun = h, true
		c.finder.found = func(k *objKey) { c.keys.add(c.hasher.sum(k)) }
		c.entry = c.addEntry
	}
	var r record
	for {
		if _, ok := w.next(&r); !ok {
			return nil
		}
		rep.Records++
		c.records++
		if r.mono > c.mono && !math.IsInf(r.mono, 0) {
			c.mono = r.mono
		}
		r.addStep(rep)
		c.names.add(r.qualname, 1)
		switch h.Level {
		case Storage:
			c.finder.walk(r.args, 0, 0)
		case Events:
			c.addEvent(&r, rep)
		}
	}
}

func (c *Counter) addEvent(r *record, rep *decode.Report) {
	e := &c.event
	switch string(r.qualname) {
	case lifecycleName:
		e.read(r.args, nil)
		switch string(e.phase) {
		case "start":
			c.events.Starts++
		case "stop":
			c.events.Stops++
		}
	case batchName:
		c.batched.entries, c.batched.bytes = 0, 0
		e.read(r.args, c.entry)
		c.batch(e)
		if len(e.instance) <= maxWord {
			rep.Sequences.Add(e.instance, e.incarnation, e.seq)
		}
	default:
		return
	}
	if len(e.instance) == 0 || e.incarnation == 0 || len(e.instance) > maxWord || c.servers[server{string(e.instance), e.incarnation}] {
		return
	}
	if c.servers == nil {
		c.servers = map[server]bool{}
	}
	if len(c.servers) < maxIncarnations {
		c.servers[server{string(e.instance), e.incarnation}] = true
	}
}

// batch counts a batch by what it is about.
func (c *Counter) batch(e *event) {
	backend, place := e.backend, "local"
	if len(backend) == 0 {
		backend = []byte("-")
	}
	if e.shared {
		place = "shared"
	}
	name := append(append(c.scratch[:0], e.kind...), '/')
	name = append(append(name, e.tier...), '/')
	name = append(append(append(name, backend...), '/'), place...)
	c.batches.add(name, 1)
	c.scratch = name
	if c.batched.entries > 0 {
		c.entries.add(e.kind, c.batched.entries)
	}
	if string(e.kind) == "store" {
		c.events.StoreBytes = satAdd(c.events.StoreBytes, c.batched.bytes)
	}
}

func (c *Counter) addEntry(e entry) {
	c.batched.entries++
	if e.bytes > 0 {
		c.batched.bytes = satAdd(c.batched.bytes, e.bytes)
	}
	if e.tokens {
		c.events.EntriesWithTokens++
	}
	if e.key != nil {
		c.scratch = eventKey(e.key, &c.key, c.scratch)
		c.keys.add(c.hasher.sum(&c.key))
	}
}

// satAdd is a sum that does not wrap around.
func satAdd(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

// Recording is what was counted. rep is the report of all blocks; its counts are left to the caller.
func (c *Counter) Recording(rep *decode.Report) *model.Recording {
	h := &c.header
	r := &model.Recording{Level: h.Level, FormatVersion: h.FormatVersion, SchemaVersion: h.Schema, LMCacheVersion: h.LMCache, ConfigDigest: h.ConfigDigest, Meta: h.Meta,
		ByQualname: c.names.counts()}
	if c.records > 0 {
		r.Duration = model.SomeFloat(c.mono)
	}
	if h.Level == Storage || h.Level == Events {
		n, exact := c.keys.count()
		r.UniqueKeys = model.Some(n)
		if !exact {
			r.KeysError = model.SomeFloat(KeysError)
		}
	}
	if h.Level == Events {
		e := c.events
		e.Batches, e.Entries, e.LostBatches, e.Instances = c.batches.counts(), c.entries.counts(), rep.Sequences.Lost(), c.instances()
		r.Events = &e
	}
	return r
}

func (c *Counter) instances() []model.RecordedInstance {
	by := map[string][]int64{}
	for s := range c.servers {
		by[s.instance] = append(by[s.instance], s.incarnation)
	}
	out := []model.RecordedInstance{}
	for id, runs := range by {
		slices.Sort(runs)
		out = append(out, model.RecordedInstance{ID: id, Incarnations: runs})
	}
	slices.SortFunc(out, func(a, b model.RecordedInstance) int { return strings.Compare(a.ID, b.ID) })
	return out
}
