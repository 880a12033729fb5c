package ingest

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Reading a part of large inputs: the records of the requests that an id means, and a sample of all others (R5.7). The bytes of the id are looked for
// first; the records that hold them tell traces and further ids of the same requests, and so on until nothing new turns up. Whatever could hide a record
// from this (compression, ids that JSON has to escape, ids so common that nearly everything fits) is a reason to read everything.

// A Pick is the part of a set of inputs that Options.Pick has read.
type Pick struct {
	Searched int64 // bytes that were searched
	Sampled  int64 // bytes of the sample

	pieces map[int][]piece // by input; of others all is read
	related
}

// WorthPicking is the size from which searching beats reading everything: a capture no larger than the sample may be is surveyed whole anyway.
const WorthPicking = mostSampled

// What a search may find before everything is read after all.
const (
	maxHits    = 4096
	maxHitSize = 256 << 20
	maxIDs     = 512
	maxTraces  = 2048
	maxPasses  = 8
	smallInput = 16 << 20 // bytes of an input that is read as a whole when it cannot be searched
)

// errPickAll ends a search whose inputs are to be read as a whole.
var errPickAll = errors.New("everything is to be read")

// Pick finds what must be read of the inputs to show the requests that text means: an id, an external id, a trace id or the beginning of an id.
// With them goes a sample of the others, unless sampled is false. It is nil where everything must be read. The error is that of ctx, or of an input that
// could be opened and not read.
func (s *Set) Pick(ctx context.Context, text string, sampled bool, opt Options) (*Pick, error) {
	if s.Size() <= cmp.Or(opt.PickFrom, WorthPicking) {
		return nil, nil
	}
	p := picker{set: s, opt: opt, sampled: sampled, related: newRelated(text), matchers: map[matcherKey]*matcher{}}
	defer p.close()
	err := p.run(ctx)
	if errors.Is(err, errPickAll) || errors.Is(err, errNotSeekable) {
		return nil, ctx.Err()
	}
	return p.result, err
}

// piecesOf are the pieces of an input to read; ok is false where all of it is.
func (p *Pick) piecesOf(input int) (pieces []piece, ok bool) {
	if p == nil {
		return nil, false
	}
	pieces, ok = p.pieces[input]
	return pieces, ok
}

// A picker searches. What is below mu is shared by its workers.
type picker struct {
	set *Set
	opt Options

	sampled bool
	files   []*seekable
	result  *Pick

	mu sync.Mutex
	related
	order    order
	patterns []pattern
	matchers map[matcherKey]*matcher
	hits     [][]piece // by file, in order
	hitSize  int64
	records  []seen     // of hits, not related so far
	told     model.Time // start of the last one that told something new
	reach    reach      // of the records that are related
	worker   *worker
	searched atomic.Int64
}

// seen is what a record says of its request.
type seen struct {
	trace      model.TraceID
	ids        []string
	start, end model.Time
	begins     bool // its trace begins with what was asked for
}

func (p *picker) close() {
	for _, k := range p.files {
		k.close()
	}
}

func (p *picker) run(ctx context.Context) error {
	d := model.NewDict()
	p.worker = &worker{batch: model.NewBatch(d, false), sink: (*pickSink)(p), spans: days{}}
	small := Set{}
	for i, err := range p.open() {
		in := &p.set.Inputs[i]
		switch {
		case err == nil:
		case !errors.Is(err, errNotSeekable) || in.Size < 0:
			return errPickAll // Read says what is wrong
		case in.Size <= smallInput:
			small.Inputs = append(small.Inputs, *in)
		case !p.set.apart(i, p.opt):
			return errPickAll
		}
	}
	if len(small.Inputs) > 0 { // they are read as a whole later too: here for what they tell of the requests
		if _, err := small.Read(ctx, d, Options{Jobs: 1, ProfileKeys: p.opt.ProfileKeys}, func() Sink { return (*pickSink)(p) }); err != nil {
			return err
		}
	}
	p.hits = make([][]piece, len(p.files))
	if err := p.ask(p.related.text); err != nil {
		return err
	}
	if err := p.relate(0); err != nil {
		return err
	}
	for pass := 0; p.left(); pass++ {
		if pass == maxPasses {
			return errPickAll
		}
		if err := p.search(ctx); err != nil {
			return err
		}
	}
	return p.choose()
}

// open opens the inputs that are seekable and says of each what is in the way.
func (p *picker) open() []error {
	files, errs := make([]*seekable, len(p.set.Inputs)), make([]error, len(p.set.Inputs))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(p.jobs(), len(files)) {
		workers.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(files); n = int(next.Add(1)) - 1 {
				files[n], errs[n] = p.set.seekable(n, p.opt.ProfileKeys)
			}
		})
	}
	workers.Wait()
	for _, k := range files {
		if k != nil {
			p.files = append(p.files, k)
		}
	}
	return errs
}

func (p *picker) jobs() int { return cmp.Or(max(0, p.opt.Jobs), runtime.GOMAXPROCS(0)) }

// apart reports whether an input that cannot be searched has no spans that could name the request by their trace: it is read as a whole beside the rest.
func (s *Set) apart(n int, opt Options) bool {
	var read int64
	src, err := s.open(&s.Inputs[n], &read, nil)
	if err != nil {
		return true
	}
	defer src.close()
	src.keys = opt.ProfileKeys
	format, v := find(src)
	if format == nil || v.refused != nil || v.unread != "" {
		return true
	}
	return v.name == "cb-profile" || v.name == "lookup-hashes" || strings.HasPrefix(v.name, "lct")
}

// left reports whether a chunk was not searched for all patterns.
func (p *picker) left() bool {
	for _, k := range p.files {
		if !k.whole() {
			return true
		}
		for i := range k.chunks {
			if k.chunks[i].searched < len(p.patterns) {
				return true
			}
		}
	}
	return false
}

// search goes once over all chunks that were not searched for all patterns.
func (p *picker) search(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.order = order{patterns: len(p.patterns)}
	for _, k := range p.files {
		k.next = 0
	}
	var workers sync.WaitGroup
	for range p.jobs() {
		workers.Go(func() {
			var buf []byte
			at := -1
			for more := true; more && ctx.Err() == nil; {
				if err := guard(func() (err error) {
					var next place
					if next, more, err = p.take(&at); more && err == nil {
						buf, err = p.searchChunk(buf, next)
					}
					return err
				}); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// searchChunk looks for matches that begin in a chunk.
func (p *picker) searchChunk(buf []byte, at place) ([]byte, error) {
	k, c := p.files[at.file], at.chunk
	first := at.from == 0
	m := p.matcher(at.from, at.to, k.frame != nil)
	end := c.end
	if m != nil && k.frame == nil {
		end = min(k.size, end+int64(m.longest())-1)
	}
	if m == nil && !first {
		return buf, nil
	}
	data, buf, err := k.view(buf, c.off, end)
	if err != nil {
		return buf, err
	}
	if at.done >= 0 {
		defer k.passed(at.done, c.end)
	}
	if m != nil {
		if err := p.searchBytes(m, data, at); err != nil {
			return buf, err
		}
	}
	if whole := data[:c.end-c.off]; first { // behind the search, which is the one that may as well wait for memory
		p.searched.Add(int64(len(whole)))
		if p.opt.Progress != nil {
			p.opt.Progress.Bytes.Add(int64(len(whole)))
		}
		if c.first = k.firstTime(whole); k.frame == nil {
			c.newlines = decode.Newlines(whole)
		}
	}
	return buf, nil
}

// searchBytes looks for matches in data, which begins with the chunk.
func (p *picker) searchBytes(m *matcher, data []byte, at place) error {
	k, c := p.files[at.file], at.chunk
	for from := 0; ; {
		if from = m.next(data, from); from < 0 {
			return nil
		}
		rec, err := k.record(c, data, c.off+int64(from-1))
		if err != nil {
			return err
		}
		if err := p.hit(at.file, rec); err != nil {
			return err
		}
		if rec.end-c.off >= int64(len(data)) {
			return nil
		}
		from = int(rec.end - c.off)
	}
}

// hit takes in a record that holds a pattern.
func (p *picker) hit(file int, rec piece) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, found := slices.BinarySearchFunc(p.hits[file], rec, comparePieces)
	if found {
		return nil
	}
	p.hits[file] = slices.Insert(p.hits[file], n, rec)
	if p.hitSize += rec.end - rec.off; p.hitSize > maxHitSize {
		return errPickAll
	}
	total := 0
	for _, h := range p.hits {
		total += len(h)
	}
	if total > maxHits {
		return errPickAll
	}
	k := p.files[file]
	data, err := k.read(nil, rec.off, rec.end)
	if err != nil {
		return err
	}
	var rep decode.Report
	from := len(p.records)
	k.format.decode(p.worker, decode.Block{Data: data, Line: 1}, &rep)
	if p.worker.flush(); rep.ErrorCount > 0 || rep.Truncated || p.worker.err != nil {
		return errPickAll // no value of its own, or a broken one
	}
	known := len(p.patterns)
	if err := p.relate(from); err != nil || len(p.patterns) == known {
		return err
	}
	return p.near(p.told)
}

// pickSink takes what decoded records say of their requests.
type pickSink picker

func (p *pickSink) Add(b *model.Batch) error {
	for i := range b.Records {
		r := &b.Records[i]
		start, end := r.Start, r.End
		if r.Flags&model.RecordUnanchored != 0 {
			start, end = 0, 0
		}
		p.records = append(p.records, seen{r.Trace, namedBy(nil, b, r), start, end, p.beginsTrace(b.Dict, r.Trace)})
	}
	return nil
}

func (p *pickSink) Close() error { return nil }

// relate finds out which records belong to the requests, from the given one on and, when that told something new, of all, until nothing new is told.
func (p *picker) relate(from int) error {
	for {
		kept, news := p.records[:from], false
		for _, s := range p.records[from:] {
			if !s.begins && !p.fits(s.trace, s.ids) {
				kept = append(kept, s)
				continue
			}
			p.reach.add(s.start, s.end)
			if !s.trace.IsZero() && !p.traces[s.trace] {
				p.traces[s.trace], news, p.told = true, true, s.start
				if err := p.addTrace(s.trace); err != nil {
					return err
				}
			}
			for _, id := range s.ids {
				if p.addRelated(id) {
					news, p.told = true, s.start
					if err := p.addID(id); err != nil {
						return err
					}
				}
			}
		}
		clear(p.records[len(kept):])
		p.records = kept
		if from = 0; !news {
			return nil
		}
	}
}

// choose makes the result of what was found.
func (p *picker) choose() error {
	runs := make([][]piece, len(p.files))
	if p.sampled {
		var err error
		if runs, err = spread(p.files, p.hits, p.reach); err != nil {
			return err
		}
	}
	p.result = &Pick{Searched: p.searched.Load(), pieces: map[int][]piece{}, related: p.related}
	for n, k := range p.files {
		k.count()
		pieces := without(runs[n], p.hits[n])
		for i := range p.hits[n] {
			h := &p.hits[n][i]
			h.shared = slices.ContainsFunc(runs[n], func(r piece) bool { return r.off < h.end && h.off < r.end })
		}
		for _, s := range pieces {
			p.result.Sampled += s.end - s.off
		}
		pieces = append(pieces, p.hits[n]...)
		slices.SortFunc(pieces, comparePieces)
		for i := range pieces {
			var err error
			if pieces[i].line, err = k.lineOf(pieces[i].off); err != nil {
				return err
			}
		}
		p.result.pieces[k.input] = pieces
	}
	return nil
}
