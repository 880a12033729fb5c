package report

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// MaxDigests is how many requests a request table holds (R8.4).
const MaxDigests = 30_000

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

	Weight  float64 // how many requests it stands for; 0 means 1 (R8.6, not built)
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
	dict  *model.Dict
	rows  []packed // in no order, and up to fullTable of them until prune
	bound uint64   // requests of a larger hash are out

	scratch Digest
	packing []byte
}

// fullTable is how many digests a table grows to before those of large hashes go.
const fullTable = MaxDigests + MaxDigests/4

func newTable(dict *model.Dict) Table { return Table{dict: dict, bound: math.MaxUint64} }

// Len is how many digests are kept.
func (t *Table) Len() int { return min(len(t.rows), MaxDigests) }

// Within tells an empty table that at least MaxDigests of the requests that will be added to it and to those it is merged with have no larger hash.
// The others need not be looked at then.
func (t *Table) Within(hash uint64) { t.bound = hash }

// A packed is a digest as it lies in a table.
type packed struct {
	hash uint64
	id   string
	data []byte
}

// digest is the digest that was packed.
func (p *packed) digest() *Digest {
	d := &Digest{}
	p.unpack(d)
	return d
}

// unpack makes d the digest that was packed, with the memory that d has.
func (p *packed) unpack(d *Digest) {
	*d = Digest{Hash: p.hash, ID: p.id, Stages: d.Stages[:0], Lookups: d.Lookups[:0]}
	_ = d.unpack(p.data, &own) // it was packed here, or read with this very function
}

// All gives the digests in order of (hash, id).
func (t *Table) All(yield func(*Digest) bool) {
	for _, p := range t.sorted() {
		if !yield(p.digest()) {
			return
		}
	}
}

// Repeated is how many ids have several digests that count. In one run none has: the requests of those lie in several of the shards that were
// merged (R2.6). Of a table that does not hold all requests it is the least there can be.
func (t *Table) Repeated(which Counting) int64 {
	var d Digest
	n, rows := int64(0), slices.DeleteFunc(t.sorted(), func(p packed) bool {
		p.unpack(&d)
		return !which.Counts(d.Flags)
	})
	for i := 1; i < len(rows); i++ {
		if rows[i].id == rows[i-1].id && (i < 2 || rows[i].id != rows[i-2].id) {
			n++
		}
	}
	return n
}

func (t *Table) sorted() []packed {
	t.prune()
	rows := slices.Clone(t.rows)
	t.order(rows)
	return rows
}

func (t *Table) order(rows []packed) {
	slices.SortFunc(rows, func(a, b packed) int { return t.compare(&a, &b) })
}

func (t *Table) add(r *model.Row) {
	t.Total++
	if r.Hash > t.bound {
		return
	}
	t.scratch.fill(t.dict, r)
	t.packing = t.scratch.pack(t.packing[:0])
	t.insert(packed{r.Hash, strings.Clone(r.ID), bytes.Clone(t.packing)})
}

func (t *Table) insert(p packed) {
	if p.hash > t.bound {
		return
	}
	if t.rows = append(t.rows, p); len(t.rows) >= fullTable {
		t.prune()
	}
}

// prune leaves the digests that are kept.
func (t *Table) prune() {
	if len(t.rows) <= MaxDigests {
		return
	}
	hashes := make([]uint64, len(t.rows))
	for i := range t.rows {
		hashes[i] = t.rows[i].hash
	}
	t.bound = model.NthSmallest(hashes, MaxDigests)
	t.rows = slices.DeleteFunc(t.rows, func(p packed) bool { return p.hash > t.bound })
	if len(t.rows) > MaxDigests { // several of the last hash
		t.order(t.rows)
		clear(t.rows[MaxDigests:])
		t.rows = t.rows[:MaxDigests]
	}
}

func (t *Table) merge(o *Table) {
	t.Total += o.Total
	t.bound = min(t.bound, o.bound)
	t.rows = append(t.rows, o.rows...)
	t.prune()
}

// compare orders by hash and id. Digests of one id, of a request that lies in two shards, are told apart by all they hold.
func (t *Table) compare(a, b *packed) int {
	if a.hash != b.hash {
		return cmp.Compare(a.hash, b.hash)
	}
	if c := strings.Compare(a.id, b.id); c != 0 || bytes.Equal(a.data, b.data) {
		return c
	}
	return bytes.Compare(t.named(a), t.named(b))
}

// named is a packed digest with names instead of their numbers, which are those of this run alone.
func (t *Table) named(p *packed) []byte {
	d := p.digest()
	var names []byte
	for _, id := range d.names() {
		names = append(append(names, t.dict.Str(*id)...), 0)
		*id = 0
	}
	return d.pack(names)
}
