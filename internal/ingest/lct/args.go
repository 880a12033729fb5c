package lct

import (
	"bytes"
	"encoding/hex"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// Arguments of storage calls are values of Python: what is not plain is a map {"__t__": tag, "v": payload}. Only ObjectKey matters here; keys are
// looked for in all other values, whatever their tags (CONTRACT-lmcache 2.5).

// nested bounds how deep keys are looked for.
const nested = 64

// objectKey is how a key begins as the recorder writes it, up to its payload.
var objectKey = []byte("\x82\xa5__t__\xa9ObjectKey\xa1v")

// An objKey is the identity of a chunk in the cache. Its slices lie in the block.
type objKey struct {
	chunk []byte // hash of the chunk
	model []byte
	rank  int64 // kv_rank
	group int64 // object_group_id, 0 when absent
	salt  []byte
	more  uint64 // of what else the payload has: tags of an experiment
}

// A keyFinder gives the keys of values to found.
type keyFinder struct {
	found func(k *objKey)
	key   objKey

	// Keys of one call mostly differ in their chunk alone, which comes first. last is a key whose other fields are the bytes of tail; its slices are copies.
	last        objKey
	tail, texts []byte
	pairs       int // of its payload
}

// walk looks for keys in the value at i, which is sound, and returns the place after it.
func (f *keyFinder) walk(b []byte, i, depth int) int {
	if bytes.HasPrefix(b[i:], objectKey) {
		return f.payload(b, i+len(objectKey))
	}
	if depth == nested {
		return skip(b, i)
	}
	if n, next := arrayAt(b, i); next > 0 {
		for range n {
			next = f.walk(b, next, depth+1)
		}
		return next
	}
	n, next := mapAt(b, i)
	if next < 0 {
		return skip(b, i)
	}
	if n == 2 {
		if payload, end := tagged(b, next); payload > 0 {
			f.payload(b, payload)
			return end
		}
	}
	for range n {
		if next = skip(b, next); next < 0 {
			return -1
		}
		next = f.walk(b, next, depth+1)
	}
	return next
}

// tagged is the payload of an ObjectKey whose two pairs begin at i, in either order, and the place after them; 0 when it is something else.
func tagged(b []byte, i int) (payload, end int) {
	key := false
	for range 2 {
		name, at := textAt(b, i)
		if at < 0 {
			return 0, 0
		}
		i = skip(b, at)
		switch string(name) {
		case "__t__":
			tag, _ := textAt(b, at)
			key = string(tag) == "ObjectKey"
		case "v":
			payload = at
		}
	}
	if !key || payload == 0 {
		return 0, 0
	}
	if _, next := mapAt(b, payload); next < 0 {
		return 0, 0
	}
	return payload, i
}

// payload reads the map of an ObjectKey.
func (f *keyFinder) payload(b []byte, i int) int {
	n, next := mapAt(b, i)
	if next < 0 {
		return skip(b, i)
	}
	if bytes.HasPrefix(b[next:], chunkField) {
		if chunk, rest := blobAt(b, next+len(chunkField)); rest > 0 && n == f.pairs && bytes.HasPrefix(b[rest:], f.tail) {
			f.last.chunk = chunk
			f.found(&f.last)
			return rest + len(f.tail)
		}
	}
	end := f.key.read(b, i, "chunk_hash")
	if end < 0 {
		return -1
	}
	f.remember(b[next:end], n)
	f.found(&f.key)
	return end
}

// read reads the map of a key and returns the place after it. What is unknown, or not of its usual kind, tells keys apart all the same.
func (k *objKey) read(b []byte, i int, chunkName string) int {
	*k = objKey{}
	n, next := mapAt(b, i)
	for range n {
		name, at := textAt(b, next)
		if at < 0 {
			if at = skip(b, next); at < 0 {
				return -1
			}
		}
		from := next
		switch string(name) {
		case chunkName:
			k.chunk, next = blobAt(b, at)
		case "model_name":
			k.model, next = textAt(b, at)
		case "kv_rank":
			k.rank, next = intAt(b, at)
		case "object_group_id":
			k.group, next = intAt(b, at)
		case "cache_salt":
			k.salt, next = textAt(b, at)
		default:
			next = -1
		}
		if next < 0 {
			if next = skip(b, at); next < 0 {
				return -1
			}
			k.more += xxhash.Sum64(b[from:next])
		}
	}
	return next
}

// chunkField is how the payload of a key begins as the recorder writes it, up to the hash of the chunk.
var chunkField = []byte("\xaachunk_hash")

// remember keeps what the next key has most likely in common with this one, whose payload has these fields.
func (f *keyFinder) remember(fields []byte, pairs int) {
	f.pairs = -1
	if !bytes.HasPrefix(fields, chunkField) {
		return
	}
	_, rest := blobAt(fields, len(chunkField))
	if rest < 0 || bytes.Contains(fields[rest:], chunkField) || len(fields)-rest > maxTail {
		return
	}
	f.pairs, f.tail = pairs, append(f.tail[:0], fields[rest:]...)
	f.texts = append(append(f.texts[:0], f.key.model...), f.key.salt...)
	f.last = f.key
	f.last.model, f.last.salt = f.texts[:len(f.key.model)], f.texts[len(f.key.model):]
}

const maxTail = 1 << 10

// A keyHasher hashes keys. Names of models repeat from key to key.
type keyHasher struct {
	model []byte
	hash  uint64
}

// sum is the hash of a key: equal for keys that are the same whatever version wrote them.
func (h *keyHasher) sum(k *objKey) uint64 {
	if !bytes.Equal(h.model, k.model) {
		h.model, h.hash = append(h.model[:0], k.model...), xxhash.Sum64(k.model)
	}
	x := mix(xxhash.Sum64(k.chunk), h.hash)
	x = mix(x^uint64(k.rank), uint64(k.group)+0x9e3779b97f4a7c15)
	if len(k.salt) > 0 || k.more != 0 {
		x = mix(x^xxhash.Sum64(k.salt), k.more+0xbf58476d1ce4e5b9)
	}
	return x
}

// mix makes one well-spread number of two.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return hi ^ lo
}

// eventKey reads the key of a cache event, whose hash is written in hex digits, as the same chunk's key of a storage call. buf takes the hash.
func eventKey(b []byte, k *objKey, buf []byte) []byte {
	k.read(b, 0, "chunk_hash_hex")
	buf = unhex(buf[:0], bytes.TrimPrefix(k.chunk, []byte("0x")))
	k.chunk = buf
	return buf
}

// unhex appends what hex digits stand for, or the text where it is something else.
func unhex(dst, digits []byte) []byte {
	out, err := hex.AppendDecode(dst, digits)
	if err != nil {
		return append(dst, digits...)
	}
	return out
}
