package report

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/cbtrace/cbtrace/internal/model"
)

// The packed form of a digest: integers as varints, a bit per number that may be unknown. A typical request takes about 300 bytes (R8.4).
// Saved reports hold it too (codec.go), with names by their place in a list instead of StrIDs, which mean something in one run only: a change
// here is another version of the file.

// names are what of a digest is the number of a name.
func (d *Digest) names() [3]*model.StrID { return [3]*model.StrID{&d.Model, &d.Instance, &d.TopStage} }

// opts are the numbers of a digest that may be unknown, in the order of their bits.
func (d *Digest) opts() [17]*model.Opt {
	return [17]*model.Opt{&d.RootDuration, &d.TTFT, &d.Queue, &d.Prefill, &d.Decode, &d.PromptTokens, &d.CompletionTokens, &d.Requested, &d.Hit, &d.Written,
		&d.Prefix, &d.Segmented, &d.NonPrefix, &d.L1Tokens, &d.L2Tokens, &d.L1Keys, &d.L2Keys}
}

func (l *DigestLookup) opts() [7]*model.Opt {
	return [7]*model.Opt{&l.RPC, &l.Submit, &l.L2Load, &l.ServerOther, &l.PollWait, &l.Server, &l.Wait}
}

func packOpts(b []byte, opts []*model.Opt) []byte {
	known := uint64(0)
	for i, o := range opts {
		if o.OK {
			known |= 1 << i
		}
	}
	b = binary.AppendUvarint(b, known)
	for _, o := range opts {
		if o.OK {
			b = binary.AppendVarint(b, o.V)
		}
	}
	return b
}

// pack appends all of a digest but Hash and ID.
func (d *Digest) pack(b []byte) []byte {
	b = append(b, byte(d.Key), byte(d.Verdict), byte(d.HitClass))
	b = binary.AppendUvarint(b, uint64(len(d.External)))
	b = append(b, d.External...)
	for _, n := range [...]uint64{uint64(d.Flags), uint64(d.Findings), uint64(d.Model), uint64(d.Instance), uint64(d.TopStage)} {
		b = binary.AppendUvarint(b, n)
	}
	b = binary.AppendVarint(b, int64(d.Start))
	b = binary.AppendVarint(b, d.Window)
	opts := d.opts()
	b = packOpts(b, opts[:])
	if d.Weight == 0 {
		b = append(b, 0)
	} else {
		b = binary.BigEndian.AppendUint64(append(b, 1), math.Float64bits(d.Weight))
	}
	b = binary.AppendUvarint(b, uint64(len(d.Stages)))
	for _, s := range d.Stages {
		b = append(b, byte(s.Stage), byte(s.Owner))
		if s.Counted == s.Spans && s.Total == s.Union { // one span, or several one after the other: the usual case
			b = binary.AppendVarint(b, s.Spans<<1)
		} else {
			b = binary.AppendVarint(b, s.Spans<<1|1)
			b = binary.AppendVarint(b, s.Counted)
			b = binary.AppendVarint(b, s.Total)
		}
		b = binary.AppendVarint(b, s.Union)
		b = binary.AppendVarint(b, s.Critical)
	}
	b = binary.AppendUvarint(b, uint64(len(d.Lookups)))
	for i := range d.Lookups {
		l := &d.Lookups[i]
		flags := byte(l.Basis) << 1
		if l.AtMost {
			flags |= 1
		}
		b = append(b, flags)
		opts := l.opts()
		b = packOpts(b, opts[:])
	}
	return b
}

// errDigest says that bytes are no digest.
var errDigest = errors.New("not a digest of a request")

// unpacker reads what pack wrote; after an error all it reads is 0.
type unpacker struct {
	b   []byte
	err error
}

func (u *unpacker) fail() { u.b, u.err = nil, errDigest }

func (u *unpacker) byte() byte {
	if len(u.b) == 0 {
		u.fail()
		return 0
	}
	c := u.b[0]
	u.b = u.b[1:]
	return c
}

func (u *unpacker) bytes(n uint64) []byte {
	if n > uint64(len(u.b)) {
		u.fail()
		return nil
	}
	out := u.b[:n]
	u.b = u.b[n:]
	return out
}

func (u *unpacker) uint() uint64 {
	v, n := binary.Uvarint(u.b)
	if n <= 0 {
		u.fail()
		return 0
	}
	u.b = u.b[n:]
	return v
}

func (u *unpacker) int() int64 {
	v, n := binary.Varint(u.b)
	if n <= 0 {
		u.fail()
		return 0
	}
	u.b = u.b[n:]
	return v
}

func (u *unpacker) opts(opts []*model.Opt) {
	known := u.uint()
	for i, o := range opts {
		*o = model.Opt{}
		if known>>i&1 != 0 {
			*o = model.Some(u.int())
		}
	}
}

// count is a number of things that take at least size bytes each: no more than there can be.
func (u *unpacker) count(size int) int {
	n := u.uint()
	if n > uint64(len(u.b)/size) {
		u.fail()
		return 0
	}
	return int(n)
}

// enum is a byte that is the number of one of n things.
func (u *unpacker) enum(n numbers) uint8 {
	c := u.byte()
	if int(c) >= len(n) {
		u.fail()
		return 0
	}
	return n[c]
}

// unpack fills in all of a digest but Hash and ID. What it holds by number is numbered as of says.
func (d *Digest) unpack(b []byte, of *numbering) error {
	u := &unpacker{b: b}
	d.Key, d.Verdict, d.HitClass = model.KeyKind(u.enum(of.keys)), model.Verdict(u.enum(of.verdicts)), model.HitClass(u.enum(of.hitClasses))
	d.External = string(u.bytes(u.uint()))
	d.Flags, d.Findings = model.RowFlags(u.uint()), of.findingSet(u.uint())
	for _, id := range d.names() {
		*id = model.StrID(u.uint())
	}
	d.Start, d.Window = model.Time(u.int()), u.int()
	opts := d.opts()
	u.opts(opts[:])
	if u.byte() != 0 {
		if w := u.bytes(8); len(w) == 8 {
			d.Weight = math.Float64frombits(binary.BigEndian.Uint64(w))
		}
	}
	for range u.count(5) {
		s := DigestStage{Stage: model.Stage(u.enum(of.stages)), Owner: model.Owner(u.enum(of.owners)), Spans: u.int()}
		odd := s.Spans&1 != 0
		s.Spans >>= 1
		if odd {
			s.Counted, s.Total = u.int(), u.int()
		}
		s.Union, s.Critical = u.int(), u.int()
		if !odd {
			s.Counted, s.Total = s.Spans, s.Union
		}
		d.Stages = append(d.Stages, s)
	}
	for range u.count(2) {
		flags := u.byte()
		if int(flags>>1) >= len(of.bases) {
			u.fail()
			break
		}
		l := DigestLookup{Basis: model.Basis(of.bases[flags>>1]), AtMost: flags&1 != 0}
		opts := l.opts()
		u.opts(opts[:])
		d.Lookups = append(d.Lookups, l)
	}
	if len(u.b) != 0 {
		u.fail()
	}
	return u.err
}
