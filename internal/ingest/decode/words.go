package decode

import (
	"encoding/binary"
	"math/bits"
)

// Words caches what short texts are known as, in front of a slower look-up: names (model.StrID), keys of attributes (model.AttrKey).
// It is small and for one goroutine, and holds what was used last. A word is in the slot of its hash or in the one beside it.
type Words[ID ~uint32] [wordSlots]struct {
	text string
	id   ID
}

const wordSlots = 512

// wordSlot hashes the length, both ends and the middle of a text: names that are alike differ there (gen_ai.prompt.7.content).
func wordSlot(p []byte) uint64 {
	var head, tail uint64
	switch n := len(p); {
	case n > 16:
		middle := binary.LittleEndian.Uint64(p[n/2-4:])
		head, tail = binary.LittleEndian.Uint64(p)^bits.RotateLeft64(middle, 29), binary.LittleEndian.Uint64(p[n-8:])
	case n >= 8:
		head, tail = binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[n-8:])
	case n >= 4:
		head, tail = uint64(binary.LittleEndian.Uint32(p)), uint64(binary.LittleEndian.Uint32(p[n-4:]))
	case n > 0:
		head, tail = uint64(p[0]), uint64(p[n-1])<<8|uint64(p[n/2])
	}
	hi, lo := bits.Mul64(head^0x9e3779b97f4a7c15, tail^0xbf58476d1ce4e5b9^uint64(len(p)))
	return (hi ^ lo) % wordSlots
}

// Find returns what p is known as. The empty text is not kept.
func (w *Words[ID]) Find(p []byte) (id ID, ok bool) {
	if len(p) == 0 {
		return 0, false
	}
	at := wordSlot(p)
	if e := &w[at]; e.text == string(p) {
		return e.id, true
	}
	if e := &w[at^1]; e.text == string(p) {
		return e.id, true
	}
	return 0, false
}

// Keep remembers what p is known as. Where both slots are taken, the word that it displaces moves to the slot beside.
func (w *Words[ID]) Keep(p []byte, id ID) {
	if len(p) == 0 {
		return
	}
	at := wordSlot(p)
	if w[at].text != "" {
		if w[at^1].text == "" {
			at ^= 1
		} else {
			w[at^1] = w[at]
		}
	}
	w[at].text, w[at].id = string(p), id
}
