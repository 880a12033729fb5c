package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Reader gives out requests of partitions in one goroutine. Its memory is reused: what it hands out is good inside the callback only, but for texts,
// which stay. A text pins up to textBlock bytes: who keeps many clones them.
type Reader struct {
	s       *Store
	decoder decoder

	buf     []byte   // the partition
	recs    [][]byte // of each chunk, the records
	entries []entry
	origin  []uint32 // of each entry, its chunk
	group   []uint32 // of each entry, its request; dropped for those of refused files
	at      []place32
	order   []place32 // at, request by request
	keys    hashTable
	groups  []group
	sorted  []uint32

	blocks  [][]model.Span
	request model.Request
	touched byte // so that touch is not in vain
	inOrder
}

// place32 is where a record lies: in the chunk of its entry.
type place32 struct{ entry, off uint32 }

// A group is a request of the partition that is being read.
type group struct {
	text    []byte
	trace   model.TraceID
	byTrace bool
	n, to   uint32 // how many records, and where in order they end
}

const dropped = math.MaxUint32

// Reader returns a reader for one goroutine; Read uses one of a pool.
func (s *Store) Reader() *Reader { return s.newReader() }

func (s *Store) newReader() *Reader {
	return &Reader{s: s, decoder: newDecoder(s), inOrder: inOrder{dict: s.dict}}
}

// Read calls fn for every request of partition i, in order of the hash of its id. The spans of a request are in order of (untimed last, raw start, id,
// trace, content): the same records give the same request, whatever the order in which they came. The request and its spans are good inside fn only.
// Several goroutines may read different partitions at once.
func (s *Store) Read(ctx context.Context, i int, fn func(*model.Request) error) error {
	r := s.readers.Get().(*Reader)
	defer s.readers.Put(r)
	return r.Read(ctx, i, fn)
}

// ReadBare is Read of requests without the attributes of their spans, but for spans that have one of those that Config.Bare names, for whoever needs no
// others. What a request with profile lines is takes all of its attributes: it comes whole. Another one comes a second time, whole, where fn says of it that
// this was not enough.
func (s *Store) ReadBare(ctx context.Context, i int, fn func(r *model.Request, whole bool) (enough bool, err error)) error {
	r := s.readers.Get().(*Reader)
	defer s.readers.Put(r)
	return r.each(ctx, i, func(g *group, key hash) error {
		for _, r.decoder.skip = range [...]bool{true, false} {
			if err := r.fill(g, key); err != nil || len(r.spans) == 0 {
				return err
			}
			whole := !r.decoder.skip
			if !whole && slices.ContainsFunc(r.spans, func(s *model.Span) bool { return s.Line }) {
				continue
			}
			if enough, err := fn(&r.request, whole); err != nil || enough || whole {
				return err
			}
		}
		return nil
	})
}

// Read is Store.Read with the memory of this reader.
func (r *Reader) Read(ctx context.Context, i int, fn func(*model.Request) error) error {
	r.decoder.skip = false
	return r.each(ctx, i, func(g *group, key hash) error {
		if err := r.fill(g, key); err != nil || len(r.spans) == 0 {
			return err
		}
		return fn(&r.request)
	})
}

// each calls fn for the groups of partition i.
func (r *Reader) each(ctx context.Context, i int, fn func(g *group, key hash) error) error {
	if i < 0 || i >= r.s.partitions {
		return fmt.Errorf("partition %d of %d", i, r.s.partitions)
	}
	if r.s.closed.Load() {
		return ErrClosed
	}
	if err := r.load(ctx, i); err != nil {
		return err
	}
	if err := r.index(); err != nil {
		return err
	}
	for n, g := range r.sorted {
		if n&63 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.groups[g].n == 0 {
			continue
		}
		if err := fn(&r.groups[g], r.keys.keys[g]); err != nil {
			return err
		}
		r.shrink()
	}
	return nil
}

// load brings the chunks of a partition together and decodes their dictionaries. What is in memory is copied too: read in a row it comes faster than here and
// there, as requests have it.
func (r *Reader) load(ctx context.Context, stream int) error {
	s := r.s
	r.decoder.update(s)
	size := int64(0)
	_ = s.eachChunk(context.Background(), stream, func(_ int, c *chunk) error {
		size += c.size()
		return nil
	})
	r.buf = slack(resize(r.buf, int(size)))
	free := r.buf
	clear(r.recs[:cap(r.recs)])
	r.recs, r.entries, r.origin = r.recs[:0], r.entries[:0], r.origin[:0]
	return s.eachChunk(ctx, stream, func(_ int, c *chunk) error {
		whole := free[:c.size()]
		free = free[c.size():]
		if c.rec == nil {
			if err := s.load(stream, c, whole); err != nil {
				return err
			}
		} else {
			copy(whole[copy(whole, c.rec):], c.dict)
		}
		rec, dict := whole[:c.recLen], whole[c.recLen:]
		var err error
		r.entries, err = r.decoder.appendEntries(r.entries, dict, c.entries)
		for len(r.origin) < len(r.entries) {
			r.origin = append(r.origin, uint32(len(r.recs)))
		}
		r.recs = append(r.recs, rec)
		return err
	})
}

// index finds the requests of the partition and which records they have.
func (r *Reader) index() error {
	r.keys.reset()
	r.groups, r.group, r.at = r.groups[:0], r.group[:0], r.at[:0]
	for i := range r.entries {
		e := &r.entries[i]
		if r.s.refused(e) {
			r.group = append(r.group, dropped)
			continue
		}
		n, added := r.keys.add(e.key)
		if added {
			r.groups = append(r.groups, group{})
		}
		g := &r.groups[n]
		if e.flags&entryText != 0 {
			g.text = e.text
		}
		if e.flags&entryByTrace != 0 {
			g.trace, g.byTrace = e.trace, true
		}
		r.group = append(r.group, uint32(n))
	}
	first := 0 // entry of the chunk
	for c, rec := range r.recs {
		end := first
		for end < len(r.origin) && r.origin[end] == uint32(c) {
			end++
		}
		if err := r.indexChunk(rec, first, end); err != nil {
			return err
		}
		first = end
	}
	r.sorted = r.sorted[:0]
	to := uint32(0)
	for i := range r.groups {
		r.groups[i].to = to // filled from here on
		to += r.groups[i].n
		r.sorted = append(r.sorted, uint32(i))
	}
	r.order = slices.Grow(r.order[:0], len(r.at))[:len(r.at)]
	for _, p := range r.at {
		g := &r.groups[r.group[p.entry]]
		r.order[g.to] = p
		g.to++
	}
	slices.SortFunc(r.sorted, func(a, b uint32) int { return r.keys.keys[a].compare(r.keys.keys[b]) })
	return nil
}

// indexChunk notes where the records of a chunk lie; its entries are r.entries[first:end].
func (r *Reader) indexChunk(rec []byte, first, end int) error {
	c := cursor{b: rec}
	for len(c.b) > 0 {
		body := c.bytes(c.uvarint())
		off := len(rec) - len(c.b) - len(body)
		b := cursor{b: body}
		n := b.uvarint()
		if c.bad || b.bad || n >= uint64(end-first) {
			return errCorrupt
		}
		e := first + int(n)
		g := r.group[e]
		if g == dropped {
			continue
		}
		r.groups[g].n++
		r.at = append(r.at, place32{uint32(e), uint32(off)})
	}
	if c.bad {
		return errCorrupt
	}
	return nil
}

// ErrMemory means that one request does not fit into the memory that is allowed.
var ErrMemory = errors.New("raise --memory")

// A span in a request with its attributes and its place in the tree takes about spanCost bytes. A request may take spareMemory more than what records may.
const (
	spanCost    = 768
	spareMemory = 192 << 20
)

// spanBlock is how many spans are allocated at once.
const spanBlock = 256

// fill makes the request of a group.
func (r *Reader) fill(g *group, key hash) error {
	d := r.s.dict
	id := model.Identity{Key: model.KeyID}
	switch {
	case g.byTrace:
		id.ID, id.Key = d.TraceIDText(g.trace), model.KeyTrace
	case g.text != nil:
		id.ID = r.decoder.texts.keep(g.text)
	default:
		return fmt.Errorf("a request without an id: %w", errCorrupt)
	}
	if need := int64(g.n) * spanCost; need > 2*r.s.limit+spareMemory {
		return fmt.Errorf("request %s: its %d spans need about %d MiB: %w", id.ID, g.n, need>>20, ErrMemory)
	}
	r.begin(int(g.n))
	places := r.order[g.to-g.n : g.to]
	for i, p := range places {
		if i%touchedAtOnce == 0 {
			r.touch(places[i:min(i+touchedAtOnce, len(places))])
		}
		if i/spanBlock == len(r.blocks) {
			r.blocks = append(r.blocks, make([]model.Span, spanBlock))
		}
		s := &r.blocks[i/spanBlock][i%spanBlock]
		rec := r.recs[r.origin[p.entry]]
		if err := r.decoder.span(s, &r.entries[p.entry], id.ID, rec[p.off:]); err != nil {
			return err
		}
		if r.decoder.moment && r.s.cut.Load() {
			continue // recordings cannot say it, and lie in one shard as a whole: here they join no request (R2.6)
		}
		r.add(s)
	}
	r.end()
	r.external(&id, key)
	r.request = model.Request{Identity: id, Dict: d, Spans: r.spans}
	return nil
}

const (
	touchedAtOnce = 32
	usualRecord   = 48 // bytes of a record; one may lie on two lines of a cache
)

// touch looks at records and their entries before they are decoded one after the other, so that the processor fetches them side by side.
func (r *Reader) touch(places []place32) {
	seen := byte(0)
	for _, p := range places {
		rec := r.recs[r.origin[p.entry]][p.off:]
		seen ^= r.entries[p.entry].flags ^ rec[0] ^ rec[min(usualRecord, len(rec)-1)]
	}
	r.touched = seen
}

// external fills in what R4.2 says of a request.
func (r *Reader) external(id *model.Identity, key hash) {
	for _, s := range r.spans {
		if s.Stage == model.StageLLMRequest && !s.Line {
			if id.External = s.Text(model.AttrGenAIRequestID); id.External != "" {
				break
			}
		}
	}
	j := &r.s.joins
	if len(j.ambiguous) == 0 || id.Key == model.KeyTrace {
		return
	}
	_, id.Ambiguous = j.ambiguous[key]
	if ext, ok := j.candidates[key]; ok {
		id.Candidate = true
		if id.External == "" {
			id.External = j.ambiguous[ext]
		}
	}
}

// keepBlocks is how many blocks of spans stay from one request to the next.
const keepBlocks = 256

// shrink lets go of what one huge request needed.
func (r *Reader) shrink() {
	if len(r.blocks) > keepBlocks {
		clear(r.blocks[keepBlocks:])
		r.blocks = r.blocks[:keepBlocks]
		r.spans, r.request = nil, model.Request{}
	}
}
