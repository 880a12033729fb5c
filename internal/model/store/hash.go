package store

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cespare/xxhash/v2"
)

// A hash is 128 bits of the id of a request. hi is its XXH64: what orders requests and what DESIGN's samples are drawn by.
// Two ids with one hash would be one request; with 2⁴⁰ ids that has a chance of 2⁻⁴⁹.
type hash struct{ hi, lo uint64 }

const hashLen = 16

func (h hash) isZero() bool { return h == hash{} }

func (h hash) compare(o hash) int {
	if c := cmp.Compare(h.hi, o.hi); c != 0 {
		return c
	}
	return cmp.Compare(h.lo, o.lo)
}

// Odd constants without a pattern, for mixing.
const (
	mixA = 0xa0761d6478bd642f
	mixB = 0xe7037ed1a0b428db
	mixC = 0x8ebc6af09c88c6e3
)

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hashID is the hash of an id.
func hashID(id []byte) hash {
	h := hash{hi: xxhash.Sum64(id)}
	lo := mix(uint64(len(id))^mixA, mixB)
	b := id
	for len(b) >= 8 {
		lo = mix(lo^binary.LittleEndian.Uint64(b)^mixC, mixB)
		b = b[8:]
	}
	last := uint64(0)
	for i, c := range b {
		last |= uint64(c) << (8 * i)
	}
	h.lo = mix(lo^last^mixC, mixA)
	return h
}

// hashTraceKey is the hash of a request that is keyed by its trace id, so that it never meets one with the same text as its internal id.
func hashTraceKey(id []byte) hash {
	h := hashID(id)
	h.lo = mix(h.lo^mixA, mixC)
	return h
}

// secret makes the places of hashes in tables differ from run to run, so that no input can be made to meet them all in one. Nothing that comes out
// depends on it.
var secret = [2]uint64{rand.Uint64(), rand.Uint64()}

// spread spreads 128 bits over a table.
func spread(a, b uint64) uint64 { return mix(a^secret[0], b^secret[1]) }

// hashTrace spreads traces over partitions.
func hashTrace(t model.TraceID) uint64 { return spread(t.Hi, t.Lo) }

// hashSpan stands for a span of a trace in the links of identify: 64 bits, since it only ever meets spans of contested traces.
// It is the same in every run: of names their text counts, not their number.
func hashSpan(d *model.Dict, t model.TraceID, id model.SpanID) uint64 {
	if text, opaque := t.Opaque(); opaque {
		t.Lo = xxhash.Sum64String(d.Str(text))
	}
	if id.Kind == model.IDOpaque {
		id.N = xxhash.Sum64String(d.Str(model.StrID(id.N)))
	}
	var b [25]byte
	binary.LittleEndian.PutUint64(b[:], t.Hi)
	binary.LittleEndian.PutUint64(b[8:], t.Lo)
	binary.LittleEndian.PutUint64(b[16:], id.N)
	b[24] = byte(id.Kind)
	return max(xxhash.Sum64(b[:]), 1)
}

// partitionOf cuts the range of a 64-bit hash into n equal parts.
func partitionOf(h uint64, n int) int {
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}
