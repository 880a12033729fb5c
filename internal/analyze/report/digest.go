package report

import (
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
	h := &r.Hits
	d := Digest{
		Hash: r.Hash, ID: strings.Clone(r.ID), External: strings.Clone(r.External), Key: r.Key, Flags: r.Flags, Findings: r.Findings,
		Verdict: r.Verdict, HitClass: h.Class, TopStage: r.TopStage, Start: r.Start, Window: r.Window,
		Model: dict.InternString(r.Model), Instance: dict.InternString(r.Instance),
		RootDuration: r.RootDuration, TTFT: r.TTFT, Queue: r.Queue, Prefill: r.Prefill, Decode: r.Decode,
		PromptTokens: r.PromptTokens, CompletionTokens: r.CompletionTokens,
		Requested: h.Requested, Hit: h.Hit, Written: h.Written, Prefix: h.Prefix, Segmented: h.Segmented, NonPrefix: h.NonPrefix,
		L1Tokens: h.L1Tokens, L2Tokens: h.L2Tokens, L1Keys: h.L1Keys, L2Keys: h.L2Keys, Weight: r.Weight,
	}
	for i := range r.Stages {
		if s := &r.Stages[i]; s.Stage < model.NumStages.ID() && s.Owner != model.OwnerNone && (s.Spans > 0 || s.Critical != 0) {
			d.Stages = append(d.Stages, DigestStage{model.Stage(s.Stage), s.Owner, int64(s.Spans), s.Union, s.Critical})
		}
	}
	for i := range r.Lookups {
		l := &r.Lookups[i]
		d.Lookups = append(d.Lookups, DigestLookup{l.Basis, l.AtMost, l.RPC, l.Submit, l.L2Load, l.ServerOther, l.PollWait, l.Server, l.Wait})
	}
	slices.SortFunc(d.Stages, func(a, b DigestStage) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Owner, b.Owner))
	})
	return d
}

// A Table is the request table of R8.4: the digests of the requests with the smallest hashes, a uniform sample that merges exactly.
type Table struct {
	Total int64 // requests offered, also those that are not kept
	rows  digestHeap
}

// A packed is a digest as it lies in a table.
type packed struct {
	hash uint64
	id   string
	data []byte
}

func (a *packed) compare(b *packed) int {
	if c := cmp.Compare(a.hash, b.hash); c != 0 {
		return c
	}
	return strings.Compare(a.id, b.id)
}

// Len is how many digests are kept.
func (t *Table) Len() int { return len(t.rows) }

// All gives the digests in order of (hash, id).
func (t *Table) All(yield func(*Digest) bool) {
	rows := slices.Clone(t.rows)
	slices.SortFunc(rows, func(a, b packed) int { return a.compare(&b) })
	for i := range rows {
		d := Digest{Hash: rows[i].hash, ID: rows[i].id}
		d.unpack(rows[i].data)
		if !yield(&d) {
			return
		}
	}
}

func (t *Table) add(dict *model.Dict, r *model.Row) {
	t.Total++
	if len(t.rows) == maxDigests {
		if last := &t.rows[0]; r.Hash > last.hash || r.Hash == last.hash && r.ID >= last.id {
			return
		}
	}
	d := DigestOf(dict, r)
	t.insert(packed{d.Hash, d.ID, d.pack(make([]byte, 0, 384))})
}

func (t *Table) insert(p packed) {
	switch {
	case len(t.rows) < maxDigests:
		heap.Push(&t.rows, p)
	case p.compare(&t.rows[0]) < 0:
		t.rows[0] = p
		heap.Fix(&t.rows, 0)
	}
}

func (t *Table) merge(o *Table) {
	t.Total += o.Total
	for _, p := range o.rows {
		t.insert(p)
	}
}

// digestHeap has the largest (hash, id) first.
type digestHeap []packed

func (h digestHeap) Len() int           { return len(h) }
func (h digestHeap) Less(i, j int) bool { return h[i].compare(&h[j]) > 0 }
func (h digestHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *digestHeap) Push(x any)        { *h = append(*h, x.(packed)) }
func (h *digestHeap) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	*h = (*h)[:last]
	return p
}
