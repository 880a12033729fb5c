package ingest

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
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
// With them goes a sample of the others, unless sampled is false. It is nil where everything must be read. The error is that of ctx, or of an input that could be opened and not read.
func (s *Set) Pick(ctx context.Context, text string, sampled bool, opt Options) (*Pick, error) {
	size := int64(0)
	for i := range s.Inputs {
		size += max(0, s.Inputs[i].Size)
	}
	if size <= cmp.Or(opt.PickFrom, WorthPicking) {
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

// of are the pieces of an input to read; ok is false where all of it is.
func (p *Pick) of(input int) (pieces []piece, ok bool) {
	if p == nil {
		return nil, false
	}
	pieces, ok = p.pieces[input]
	return pieces, ok
}

// pieces hands on the pieces of a file that are to be read.
func (r *reader) pieces(f *file, pieces []piece) error {
	in, err := os.Open(f.in.Path)
	if err != nil {
		return reason(err)
	}
	defer in.Close()
	k := seekable{f: in}
	for n, p := range pieces {
		data, err := k.read(r.buffer(), p.off, p.end)
		if err != nil {
			return err
		}
		select {
		case r.tasks <- task{file: f, block: block{data: data, line: p.line, offset: p.off}, first: n == 0, part: !p.sample, lean: p.sample}:
		case <-r.ctx.Done():
			return nil
		}
	}
	return nil
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
	patterns []pattern
	matchers map[matcherKey]*matcher
	hits     [][]piece // by file, in order
	hitSize  int64
	records  []seen // of hits, not related so far
	worker   *worker
	searched atomic.Int64
}

// A pattern is bytes to look for in JSON, in protobuf, or in both.
type pattern struct {
	b            []byte
	text, binary bool
}

type matcherKey struct {
	from, to int
	binary   bool
}

// seen is what a record says of its request.
type seen struct {
	trace model.TraceID
	ids   []string
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
	for i := range p.set.Inputs {
		in := &p.set.Inputs[i]
		k, err := p.set.seekable(i, p.opt.ProfileKeys)
		switch {
		case err == nil:
			p.files = append(p.files, k)
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

// ask adds what text means to what is looked for: an id and its forms, and a trace.
func (p *picker) ask(text string) error {
	if err := p.addID(text); err != nil {
		return err
	}
	if p.half != nil {
		var raw [8]byte
		binary.BigEndian.PutUint64(raw[:], *p.half)
		p.add(pattern{[]byte(strings.ToLower(text)), true, false}, pattern{[]byte(strings.ToUpper(text)), true, false}, pattern{raw[:], false, true})
		p.add(pattern{[]byte(base64.StdEncoding.EncodeToString(raw[1:7])), true, false}) // its bytes 9 to 14 of 16 begin a group of three
	}
	if p.whole != nil {
		return p.addTrace(*p.whole)
	}
	return nil
}

// addID looks for an id, and for what is left of it where it is the child of another, between quotes or behind its length: an external id.
func (p *picker) addID(id string) error {
	if len(id) < minPattern || len(id) > maxPattern-2 || len(p.ids) > maxIDs || !plainText(id) {
		return errPickAll
	}
	p.add(pattern{[]byte(id), true, true})
	for _, form := range formsOf(id)[1:] {
		if len(form)+2 < minPattern || !plainText(form) {
			return errPickAll
		}
		p.add(pattern{[]byte(`"` + form + `"`), true, false}, pattern{append([]byte{stringTag, byte(len(form))}, form...), false, true})
	}
	return nil
}

// stringTag begins the text of an OTLP attribute in protobuf.
const stringTag = 1<<3 | 2

// plainText reports whether JSON writes a text as it is, whoever writes it.
func plainText(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' || strings.IndexByte(`"\/<>&'`, c) >= 0 {
			return false
		}
	}
	return true
}

// addTrace looks for a trace id: as hex digits, with or without zeros before them, as base64, as bytes.
func (p *picker) addTrace(t model.TraceID) error {
	if _, opaque := t.Opaque(); opaque || len(p.traces) > maxTraces {
		return errPickAll
	}
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], t.Hi)
	binary.BigEndian.PutUint64(raw[8:], t.Lo)
	digits := hex.EncodeToString(raw[:])
	forms := []string{digits}
	if short := strings.TrimLeft(digits, "0"); len(short) > 16 {
		forms = []string{short} // stands in the whole id too
	} else if short != digits { // an id of 64 bits, perhaps without the zeros before it
		if forms = append(forms, digits[16:], `"`+short+`"`); len(short)+2 < minPattern {
			return errPickAll
		}
	}
	p.add(pattern{raw[:], false, true})
	for _, form := range forms {
		p.add(pattern{[]byte(form), true, false}, pattern{[]byte(strings.ToUpper(form)), true, false})
	}
	standard := base64.RawStdEncoding.EncodeToString(raw[:])[:21] // 126 of its 128 bits: padding or not
	url := base64.RawURLEncoding.EncodeToString(raw[:])[:21]
	p.add(pattern{[]byte(standard), true, false})
	if url != standard {
		p.add(pattern{[]byte(url), true, false}, pattern{[]byte(strings.ReplaceAll(standard, "/", `\/`)), true, false})
	}
	return nil
}

func (p *picker) add(patterns ...pattern) {
	for _, n := range patterns {
		if !slices.ContainsFunc(p.patterns, func(o pattern) bool { return string(o.b) == string(n.b) && o.text == n.text }) {
			p.patterns = append(p.patterns, n)
		}
	}
}

// left reports whether a chunk was not searched for all patterns.
func (p *picker) left() bool {
	for _, k := range p.files {
		for i := range k.chunks {
			if k.chunks[i].searched < len(p.patterns) {
				return true
			}
		}
	}
	return false
}

// matcher is a matcher of the patterns from one on, and how many they were with those before; nil: there are none.
func (p *picker) matcher(from int, binary bool) (m *matcher, to int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := matcherKey{from, len(p.patterns), binary}
	if m, ok := p.matchers[key]; ok {
		return m, key.to
	}
	var patterns [][]byte
	for _, n := range p.patterns[from:] {
		if n.binary && binary || n.text && !binary {
			patterns = append(patterns, n.b)
		}
	}
	if len(patterns) > 0 {
		m = newMatcher(patterns)
	}
	p.matchers[key] = m
	return m, key.to
}

// search goes once over all chunks that were not searched for all patterns.
func (p *picker) search(ctx context.Context) error {
	jobs := p.opt.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type place struct{ file, chunk int }
	var places []place
	for f, k := range p.files {
		for i := range k.chunks {
			if k.chunks[i].searched < len(p.patterns) {
				places = append(places, place{f, i})
			}
		}
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			var buf []byte
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(places) {
					return
				}
				if err := guard(func() (err error) {
					buf, err = p.searchChunk(buf, places[n].file, places[n].chunk)
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
func (p *picker) searchChunk(buf []byte, file, n int) ([]byte, error) {
	k := p.files[file]
	c := &k.chunks[n]
	first := c.searched == 0
	m, to := p.matcher(c.searched, k.frame != nil)
	end := c.end
	if m != nil && k.frame == nil {
		end = min(k.size, end+int64(m.longest())-1)
	}
	c.searched = to
	if m == nil && !first {
		return buf, nil
	}
	data, buf, err := k.view(buf, c.off, end)
	if err != nil {
		return buf, err
	}
	defer k.passed(n)
	whole := data[:c.end-c.off]
	if first {
		p.searched.Add(int64(len(whole)))
		if p.opt.Progress != nil {
			p.opt.Progress.Bytes.Add(int64(len(whole)))
		}
		if c.first = k.firstTime(whole); k.frame == nil {
			c.newlines = newlines(whole)
		}
	}
	if m == nil {
		return buf, nil
	}
	for at := 0; ; {
		if at = m.next(data, at); at < 0 {
			return buf, nil
		}
		rec, err := k.record(c, data, c.off+int64(at-1))
		if err != nil {
			return buf, err
		}
		if err := p.hit(file, rec); err != nil {
			return buf, err
		}
		if rec.end-c.off >= int64(len(data)) {
			return buf, nil
		}
		at = int(rec.end - c.off)
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
	return p.relate(from)
}

// pickSink takes what decoded records say of their requests.
type pickSink picker

func (p *pickSink) Add(b *model.Batch) error {
	for i := range b.Records {
		r := &b.Records[i]
		s := seen{trace: r.Trace}
		for _, a := range b.AttrsOf(r) {
			if isKey(a.Key) && a.Kind == model.StrValue && a.Len > 0 {
				s.ids = append(s.ids, string(b.Text[a.Off:a.Off+a.Len]))
			}
		}
		p.records = append(p.records, s)
	}
	return nil
}

func (p *pickSink) Close() error { return nil }

// relate finds out which records belong to the requests, from the given one on and, when that told something new, of all, until nothing new is told.
func (p *picker) relate(from int) error {
	for {
		kept, news := p.records[:from], false
		for _, s := range p.records[from:] {
			if !p.fits(s.trace, s.ids) {
				kept = append(kept, s)
				continue
			}
			if !s.trace.IsZero() && !p.traces[s.trace] {
				p.traces[s.trace], news = true, true
				if err := p.addTrace(s.trace); err != nil {
					return err
				}
			}
			for _, id := range s.ids {
				if p.addRelated(id) {
					news = true
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
		if runs, err = spread(p.files); err != nil {
			return err
		}
	}
	p.result = &Pick{Searched: p.searched.Load(), pieces: map[int][]piece{}, related: p.related}
	for n, k := range p.files {
		k.count()
		pieces := without(runs[n], p.hits[n])
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

// related are the ids and traces of the requests that a text means. It takes ids for related that may turn out not to be (two children of one external
// id): what is read too much is sorted out by the store.
type related struct {
	text        string
	whole       *model.TraceID // the text as a trace id of 32 digits
	half        *uint64        // of 16
	ids, forms  map[string]bool
	traces      map[model.TraceID]bool
	executionOf string // of id#2: the id
}

func newRelated(text string) related {
	if at := strings.LastIndexByte(text, '#'); at > 0 && strings.Trim(text[at+1:], "0123456789") == "" {
		text = text[:at]
	}
	r := related{text: text, ids: map[string]bool{}, forms: map[string]bool{}, traces: map[model.TraceID]bool{}}
	if raw, err := hex.DecodeString(text); err == nil {
		switch len(raw) {
		case 16:
			r.whole = &model.TraceID{Hi: binary.BigEndian.Uint64(raw), Lo: binary.BigEndian.Uint64(raw[8:])}
		case 8:
			n := binary.BigEndian.Uint64(raw)
			r.half = &n
		}
	}
	return r
}

// isKey reports whether an attribute names a request (R4.1, R2.6).
func isKey(k model.AttrKey) bool {
	switch k {
	case model.AttrSessionID, model.AttrRequestID, model.AttrReqID, model.AttrExternalRequestID, model.AttrGenAIRequestID, model.AttrResolved:
		return true
	}
	return false
}

// formsOf are an id and the external ids that it may be the child of (R4.2).
func formsOf(id string) []string {
	forms := []string{id}
	child, indexed := model.TrimIndex(id)
	if indexed {
		forms = append(forms, child)
		if whole, ok := model.TrimSuffix(id); ok {
			forms = append(forms, whole)
		}
	}
	if base, ok := model.TrimSuffix(child); ok {
		forms = append(forms, base)
	}
	return forms
}

// fits reports whether a record with this trace and these ids may be of the requests.
func (r *related) fits(trace model.TraceID, ids []string) bool {
	if r.traces[trace] || r.whole != nil && *r.whole == trace || r.half != nil && *r.half == trace.Lo {
		return true
	}
	return slices.ContainsFunc(ids, r.fitsID)
}

func (r *related) fitsID(id string) bool {
	if strings.HasPrefix(id, r.text) || r.forms[id] {
		return true
	}
	return slices.ContainsFunc(formsOf(id), func(form string) bool { return r.ids[form] || form == r.text })
}

// addRelated takes in an id, and reports whether it is new.
func (r *related) addRelated(id string) bool {
	if r.ids[id] {
		return false
	}
	r.ids[id] = true
	for _, form := range formsOf(id) {
		r.forms[form] = true
	}
	return true
}

// keep drops the records of a batch that are of other requests.
func (r *related) keep(b *model.Batch) {
	kept := b.Records[:0]
	var ids []string
	for i := range b.Records {
		rec := &b.Records[i]
		ids = ids[:0]
		for _, a := range b.AttrsOf(rec) {
			if isKey(a.Key) && a.Kind == model.StrValue && a.Len > 0 {
				ids = append(ids, string(b.Text[a.Off:a.Off+a.Len]))
			}
		}
		if r.fits(rec.Trace, ids) {
			kept = append(kept, *rec)
		}
	}
	b.Records = kept
}
