package store

import (
	"encoding/binary"
	"fmt"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A chunk is a run of records of one stream with its dictionary. Its bytes are in memory, or at off of the stream's spill file:
// the records, then the dictionary.
type chunk struct {
	rec, dict        []byte // nil on disk
	off              int64
	recLen, dictLen  uint32
	recSum, dictSum  uint32 // CRC-32C, on disk only
	entries, records uint32
}

func (c *chunk) size() int64 { return int64(c.recLen) + int64(c.dictLen) }

// Flags of an entry as it is written.
const (
	entryTrace   = 1 << iota // a trace id follows
	entryText                // the text of the request's id follows; its hash is worked out
	entryHash                // only the hash follows: another record of the partition brings the text
	entryStrong              // the id is strong (R4.1): weak keys hold by it, external ids may fit it
	entryByTrace             // the request is keyed by the trace of the entry (R4.4)
	entryWaiting             // of a waiting stream: how the request is to be found follows, and the hashes that says
)

// An entry of a chunk's dictionary: what records of one request, trace and file share.
type entry struct {
	entryKey
	text []byte // the request's id when the entry brings it; the hashes of a waiting entry
}

// An entryKey tells entries of a chunk apart.
type entryKey struct {
	key   hash // of the request, or of all that a waiting record is to be found by; zero in the stream of the processes
	trace model.TraceID
	file  model.FileID
	flags uint8
	how   uint8 // of a waiting entry
}

func appendEntry(b []byte, k *entryKey, text []byte) []byte {
	b = binary.AppendUvarint(append(b, k.flags), uint64(k.file))
	if k.flags&entryTrace != 0 {
		b = binary.LittleEndian.AppendUint64(b, k.trace.Hi)
		b = binary.LittleEndian.AppendUint64(b, k.trace.Lo)
	}
	if k.flags&entryWaiting != 0 {
		b = append(append(b, k.how), text...)
	}
	if k.flags&entryText != 0 {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	if k.flags&entryHash != 0 {
		b = appendHash(b, k.key)
	}
	return b
}

// limits are how many names of each kind there are: what comes back from disk may hold no others.
type limits struct {
	strs, ress, files int
	shapes            []*shape
	spelt             shape // that of the last record that spelled it out
}

// update brings the limits up to date.
func (l *limits) update(s *Store) {
	l.strs, l.ress, l.files = s.dict.Sizes()
	l.shapes = s.shapes.list()
}

// holds reports whether an id names something that is there.
func (l *limits) holds(id model.SpanID) bool {
	switch id.Kind {
	case model.IDNone, model.IDHex:
		return true
	case model.IDLine:
		return id.N < model.LineID(model.FileID(l.files), 0).N
	case model.IDOpaque:
		return id.N < uint64(l.strs)
	}
	return false // readers never write others
}

// appendEntries decodes a dictionary; texts point into it.
func (l *limits) appendEntries(dst []entry, dict []byte, n uint32) ([]entry, error) {
	c := cursor{b: dict}
	for range n {
		dst = append(dst, entry{})
		e := &dst[len(dst)-1] // filled in place
		e.flags = c.byte()
		e.file = model.FileID(c.uvarint())
		if e.flags&entryTrace != 0 {
			e.trace.Hi, e.trace.Lo = c.uint64(), c.uint64()
		}
		if e.flags&entryWaiting != 0 {
			e.how = c.byte()
			e.text = c.bytes(uint64(waitHashes(e.how)) * hashLen)
		}
		if e.flags&entryText != 0 {
			e.text = c.bytes(c.uvarint())
			e.key = hashID(e.text)
		}
		if e.flags&entryHash != 0 {
			e.key = c.hash()
		}
		text, opaque := e.trace.Opaque()
		if c.bad || int(e.file) >= l.files || opaque && int(text) >= l.strs {
			return dst, errCorrupt
		}
	}
	if len(c.b) != 0 {
		return dst, errCorrupt
	}
	return dst, nil
}

// An openChunk is the chunk of a stream that a writer is filling.
type openChunk struct {
	rec, dict        []byte
	entries, records uint32
	size             int    // how many bytes it may have
	serial           uint64 // of this chunk, unlike any other of the writer; 0: not begun
}

// firstChunk is the size of the first chunk of a stream. The next ones are larger, up to that of the store: the records of a small capture are not
// copied from buffer to buffer while these grow, and those of a large one lie in few chunks.
const (
	firstChunk  = 4 << 10
	chunkGrowth = 4
)

// next makes room for the chunk after this one.
func (o *openChunk) next(largest int) {
	size := min(max(o.size*chunkGrowth, firstChunk), largest)
	*o = openChunk{rec: make([]byte, 0, size+window), dict: make([]byte, 0, size/8), size: size}
}

// A cacheSlot remembers the number of an entry in an open chunk.
type cacheSlot struct {
	key    entryKey
	serial uint64
	n      uint32
}

const cacheSlots = 1 << 11

// maxRecord bounds one encoded record, so that offsets in a chunk fit 32 bits.
const maxRecord = 1 << 30

// put appends a record to a stream: meta, where it is not noMeta, and its content. It names the entry k with its text.
func (w *Writer) put(stream int, k *entryKey, text []byte, meta int, content []byte) error {
	size := 1 + len(content) + 2*binary.MaxVarintLen32
	if size > maxRecord {
		return fmt.Errorf("a record of %d bytes is over the limit of %d", size, maxRecord)
	}
	o := &w.open[stream]
	if o.serial != 0 && len(o.rec)+len(o.dict)+size > o.size {
		if err := w.seal(stream); err != nil {
			return err
		}
	}
	if o.serial == 0 {
		if o.size == 0 {
			o.next(w.s.chunkSize)
		}
		w.serial++
		o.serial = w.serial
	}
	n := w.entry(o, k, text)
	length := len(content) + uvarintLen(uint64(n))
	if meta != noMeta {
		length++
	}
	rec := binary.AppendUvarint(binary.AppendUvarint(o.rec, uint64(length)), uint64(n))
	if meta != noMeta {
		rec = append(rec, byte(meta))
	}
	o.rec = append(rec, content...)
	o.records++
	return nil
}

// noMeta says that records of a stream have no meta byte.
const noMeta = -1

func uvarintLen(v uint64) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}

// entry is the number of an entry in an open chunk, which gets it when it is not known to have it. It may then have it twice: that is harmless.
func (w *Writer) entry(o *openChunk, k *entryKey, text []byte) uint32 {
	slot := &w.cache[spread(k.key.lo^k.trace.Lo, k.trace.Hi^uint64(k.file)^o.serial)&(cacheSlots-1)]
	// Field by field: k was just put together so, and reading it back in larger pieces waits for its stores.
	if slot.serial == o.serial && slot.key.key == k.key && slot.key.trace == k.trace && slot.key.file == k.file && slot.key.flags == k.flags && slot.key.how == k.how {
		return slot.n
	}
	n := o.entries
	o.entries++
	o.dict = appendEntry(o.dict, k, text)
	slot.key.key, slot.key.trace, slot.key.file, slot.key.flags, slot.key.how = k.key, k.trace, k.file, k.flags, k.how
	slot.serial, slot.n = o.serial, n
	return n
}

// eachRecord calls fn for the records of a chunk with the number of their entry and what follows it.
func eachRecord(rec []byte, entries int, fn func(n int, rest []byte) error) error {
	c := cursor{b: rec}
	for len(c.b) > 0 {
		r := cursor{b: c.bytes(c.uvarint())}
		n := r.uvarint()
		if c.bad || r.bad || n >= uint64(entries) {
			return errCorrupt
		}
		if err := fn(int(n), r.b); err != nil {
			return err
		}
	}
	if c.bad {
		return errCorrupt
	}
	return nil
}
