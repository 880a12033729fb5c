package report

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// maxDigests is how many requests a request table holds (R8.4).
const maxDigests = 30_000

// A Digest is what the request table keeps of a request (R8.4): enough for rows of `list`, and for statistics that need single requests.
// Times are ns, amounts tokens.
type Digest struct {
	Hash         uint64 // XXH64 of ID
	ID, External string
	Key          model.KeyKind
	Flags        model.RowFlags
	Findings     model.FindingSet
	Verdict      model.Verdict
	HitClass     model.HitClass
	Model        model.StrID
	Instance     model.StrID
	TopStage     model.StrID
	Start        model.Time
	Window       int64

	RootDuration, TTFT, Queue, Prefill, Decode                       model.Opt
	PromptTokens, CompletionTokens                                   model.Opt
	Requested, Hit, Written                                          model.Opt
	Prefix, Segmented, NonPrefix, L1Tokens, L2Tokens, L1Keys, L2Keys model.Opt

	Weight  float64 // how many requests it stands for; 0 means 1 (R8.6)
	Stages  []DigestStage
	Lookups []DigestLookup
}

// A DigestStage is what one stage of the vocabulary and one owner did in a request.
type DigestStage struct {
	Stage           model.Stage
	Owner           model.Owner
	Spans           int64
	Counted, Total  int64 // those of its spans that count in percentiles, and the ns they took one by one
	Union, Critical int64 // ns
}

// A DigestLookup is one lookup: of a basis that gives the parts of an rpc, those, which sum to RPC; of no_rpc Server and Wait.
type DigestLookup struct {
	Basis                                      model.Basis
	AtMost                                     bool
	RPC, Submit, L2Load, ServerOther, PollWait model.Opt
	Server, Wait                               model.Opt
}

// DigestOf is the digest of a row. Nothing of the row is kept; texts are interned or copied.
func DigestOf(dict *model.Dict, r *model.Row) Digest {
	var d Digest
	d.fill(dict, r)
	d.ID, d.External = strings.Clone(d.ID), strings.Clone(d.External)
	return d
}

// fill makes d the digest of a row, with the memory that d has. Its texts are those of the row.
func (d *Digest) fill(dict *model.Dict, r *model.Row) {
	h := &r.Hits
	*d = Digest{
		Hash: r.Hash, ID: r.ID, External: r.External, Key: r.Key, Flags: r.Flags, Findings: r.Findings,
		Verdict: r.Verdict, HitClass: h.Class, TopStage: r.TopStage, Start: r.Start, Window: r.Window,
		Model: dict.InternString(r.Model), Instance: dict.InternString(r.Instance),
		RootDuration: r.RootDuration, TTFT: r.TTFT, Queue: r.Queue, Prefill: r.Prefill, Decode: r.Decode,
		PromptTokens: r.PromptTokens, CompletionTokens: r.CompletionTokens,
		Requested: h.Requested, Hit: h.Hit, Written: h.Written, Prefix: h.Prefix, Segmented: h.Segmented, NonPrefix: h.NonPrefix,
		L1Tokens: h.L1Tokens, L2Tokens: h.L2Tokens, L1Keys: h.L1Keys, L2Keys: h.L2Keys, Weight: r.Weight,
		Stages: d.Stages[:0], Lookups: d.Lookups[:0],
	}
	var at [int(model.NumStages) * numOwners]uint16 // by (stage, owner): 1 + the place in r.Stages, then in d.Stages
	for i := range r.Stages {
		if s := &r.Stages[i]; s.Stage < model.NumStages.ID() && s.Owner != model.OwnerNone && (s.Spans > 0 || s.Critical != 0) {
			at[int(s.Stage)*numOwners+int(s.Owner)] = uint16(i + 1)
		}
	}
	for n, i := range at {
		if i == 0 {
			continue
		}
		s := &r.Stages[i-1]
		d.Stages = append(d.Stages, DigestStage{Stage: model.Stage(s.Stage), Owner: s.Owner, Spans: int64(s.Spans), Union: s.Union, Critical: s.Critical})
		at[n] = uint16(len(d.Stages))
	}
	for i := range r.Spans {
		s := &r.Spans[i]
		if s.Stage >= model.NumStages.ID() {
			continue
		}
		if n := at[int(s.Stage)*numOwners+int(s.Owner)]; n > 0 {
			to := &d.Stages[n-1]
			to.Counted++
			to.Total += s.NS
		}
	}
	for i := range r.Lookups {
		l := &r.Lookups[i]
		d.Lookups = append(d.Lookups, DigestLookup{l.Basis, l.AtMost, l.RPC, l.Submit, l.L2Load, l.ServerOther, l.PollWait, l.Server, l.Wait})
	}
}

// A Table is the request table of R8.4: the digests of the requests with the smallest hashes, a uniform sample that merges exactly.
type Table struct {
	Total int64 // requests offered, also those that are not kept
	kept  digestHeap

	scratch Digest
	packing []byte
}

func newTable(dict *model.Dict) Table { return Table{kept: digestHeap{dict: dict}} }

// Len is how many digests are kept.
func (t *Table) Len() int { return len(t.kept.rows) }

// A packed is a digest as it lies in a table.
type packed struct {
	hash uint64
	id   string
	data []byte
}

// digest is the digest that was packed.
func (p *packed) digest() *Digest {
	d := &Digest{Hash: p.hash, ID: p.id}
	_ = d.unpack(p.data, &own) // it was packed here, or read with this very function
	return d
}

// All gives the digests in order of (hash, id).
func (t *Table) All(yield func(*Digest) bool) {
	for _, p := range t.sorted() {
		if !yield(p.digest()) {
			return
		}
	}
}

// Repeated is how many ids have several digests. In one run none has: the requests of those lie in several of the shards that were merged
// (R2.6). Of a table that does not hold all requests it is the least there can be.
func (t *Table) Repeated() int64 {
	n, rows := int64(0), t.sorted()
	for i := 1; i < len(rows); i++ {
		if rows[i].id == rows[i-1].id && (i < 2 || rows[i].id != rows[i-2].id) {
			n++
		}
	}
	return n
}

func (t *Table) sorted() []packed {
	rows := slices.Clone(t.kept.rows)
	slices.SortFunc(rows, func(a, b packed) int { return t.kept.compare(&a, &b) })
	return rows
}

func (t *Table) add(r *model.Row) {
	t.Total++
	if t.Len() == maxDigests {
		if last := &t.kept.rows[0]; r.Hash > last.hash || r.Hash == last.hash && r.ID > last.id {
			return
		}
	}
	t.scratch.fill(t.kept.dict, r)
	t.packing = t.scratch.pack(t.packing[:0])
	t.insert(packed{r.Hash, strings.Clone(r.ID), bytes.Clone(t.packing)})
}

func (t *Table) insert(p packed) {
	switch {
	case t.Len() < maxDigests: // a heap only from the moment when it is full
		if t.kept.rows = append(t.kept.rows, p); t.Len() == maxDigests {
			heap.Init(&t.kept)
		}
	case t.kept.compare(&p, &t.kept.rows[0]) < 0:
		t.kept.rows[0] = p
		heap.Fix(&t.kept, 0)
	}
}

func (t *Table) merge(o *Table) {
	t.Total += o.Total
	for _, p := range o.kept.rows {
		t.insert(p)
	}
}

// digestHeap has the largest (hash, id) first.
type digestHeap struct {
	dict *model.Dict
	rows []packed
}

// compare orders by hash and id. Digests of one id, of a request that lies in two shards, are told apart by all they hold.
func (h *digestHeap) compare(a, b *packed) int {
	if c := cmp.Or(cmp.Compare(a.hash, b.hash), strings.Compare(a.id, b.id)); c != 0 || bytes.Equal(a.data, b.data) {
		return c
	}
	return bytes.Compare(h.named(a), h.named(b))
}

// named is a packed digest with names instead of their numbers, which are those of this run alone.
func (h *digestHeap) named(p *packed) []byte {
	d := p.digest()
	var names []byte
	for _, id := range d.names() {
		names = append(append(names, h.dict.Str(*id)...), 0)
		*id = 0
	}
	return d.pack(names)
}

func (h *digestHeap) Len() int           { return len(h.rows) }
func (h *digestHeap) Less(i, j int) bool { return h.compare(&h.rows[i], &h.rows[j]) > 0 }
func (h *digestHeap) Swap(i, j int)      { h.rows[i], h.rows[j] = h.rows[j], h.rows[i] }
func (h *digestHeap) Push(x any)         { h.rows = append(h.rows, x.(packed)) }
func (h *digestHeap) Pop() any {
	last := len(h.rows) - 1
	p := h.rows[last]
	h.rows = h.rows[:last]
	return p
}
