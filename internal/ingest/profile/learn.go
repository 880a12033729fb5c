package profile

import (
	"bytes"
	"encoding/binary"

	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Lines of one writer are spelled alike: the same keys in the same order with the same white space. What stood before each value of the lines so
// far is kept as a tree of texts; a line is read by comparing it with those texts, without looking for keys. What tells processes apart mostly stays the
// same too, and is compared with the value before. Where a line differs from all of them, or a value is not plain, it is read the general way, which
// adds its texts to the tree.
type learnt struct {
	root  *spot
	spots int
	never bool // for tests
}

// A spot is a text that stood before a value, from the end of the value before it on.
type spot struct {
	text pattern
	key  keyID
	role model.ProfileRole
	attr model.AttrKey
	last bool    // it closes the line: no value follows
	next []*spot // what came after the value, the last one first

	// What the values before were, where the next one may well be the same.
	same         pattern // of what says something about the process; size 0: none
	seen         []byte  // without quotes
	pid          int64
	id           []byte // of requests, as it is written
	idAt         uint32 // where its text is in the batch inBatch
	inBatch      uint64
	names        []knownText // of names
	name, expect int         // the place of the last one, and of the one that came after it before
	runs         [4]run
	nRuns        int
	turn         int // which of runs is built next, in place of the one that is there
	cool         int // how many more lines pass before that
}

// A knownText is a name as it is written, with its quotes.
type knownText struct {
	text  pattern
	known nameID
	after int // place of the name that came after it last
}

// A pattern is a text that is compared by words.
type pattern struct {
	size  int
	words [2]uint64 // its first 16 bytes
	masks [2]uint64 // which of them there are
	rest  string    // behind those
}

const (
	maxSpots   = 512 // of all lines
	maxFollows = 8   // texts after one value
	maxSame    = 16  // bytes of a value that is compared with the next
	maxID      = 96  // of an id
	maxNames   = 12  // names at one spot
	coolLines  = 64  // between two runs that are built behind one value
	margin     = 16  // bytes that must be there for a comparison
)

func patternOf(text []byte) pattern {
	p := pattern{size: len(text)}
	var first, there [margin]byte
	for i := range copy(first[:], text) {
		there[i] = 0xff
	}
	for i := range p.words {
		p.words[i], p.masks[i] = binary.LittleEndian.Uint64(first[8*i:]), binary.LittleEndian.Uint64(there[8*i:])
	}
	if len(text) > margin {
		p.rest = string(text[margin:])
	}
	return p
}

// fits reports whether the two words at some place, and what follows them, begin with the pattern.
func (p *pattern) fits(w0, w1 uint64) bool {
	return (w0^p.words[0])&p.masks[0]|(w1^p.words[1])&p.masks[1] == 0
}

func (t *learnt) forget() { *t = learnt{root: &spot{}, never: t.never} }

// follow finds the text at b[i], which begins with two words, among those that followed a value.
func (p *spot) follow(b []byte, i int, w0, w1 uint64) *spot {
	for k, n := range p.next {
		if !n.text.fits(w0, w1) {
			continue
		}
		if rest := n.text.rest; rest != "" && (i+n.text.size > len(b) || string(b[i+margin:i+n.text.size]) != rest) {
			continue
		}
		if k > 0 {
			p.next[k], p.next[k-1] = p.next[k-1], n
		}
		return n
	}
	return nil
}

// learn adds the texts of a line that was read the general way. raw is its object.
func (d *Decoder) learn(raw []byte) {
	t := &d.learnt
	if t.root == nil {
		t.forget()
	}
	if t.never || t.spots >= maxSpots || bytes.IndexByte(raw, '\n') >= 0 {
		return
	}
	var s jsonscan.Scanner
	s.Reset(raw)
	at, from := t.root, 0
	s.Object()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		k := s.Kind() // moves to the value
		if k == jsonscan.Object || k == jsonscan.Array {
			return
		}
		id := d.keys.find(key)
		attr := d.attrs[id]
		if id == 0 {
			attr = d.attr(key)
		}
		if at = t.add(at, raw[from:s.Pos()], spot{key: id, role: d.keys.list[id].Role, attr: attr}); at == nil {
			return
		}
		s.Skip()
		from = s.Pos()
	}
	t.add(at, raw[from:], spot{last: true})
}

// add adds a text after a value, unless it is there.
func (t *learnt) add(at *spot, text []byte, p spot) *spot {
	pattern := patternOf(text)
	for _, n := range at.next {
		if n.text == pattern && n.last == p.last {
			return n
		}
	}
	if len(at.next) >= maxFollows || t.spots >= maxSpots {
		return nil
	}
	t.spots++
	p.text = pattern
	n := &p
	at.next = append(at.next, n)
	return n
}
