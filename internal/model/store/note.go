package store

import (
	"context"
	"encoding/binary"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A note is what one partition tells another while identify is at work. Notes lie in streams of their own, which go to disk as those of records do: noteLen
// bytes each, in memory or there.
type note struct {
	about hash // what it says something of
	key   hash
	kind  noteKind
	level uint8
	forms forms
	from  uint16
	found uint8
	join  model.Join
}

type noteKind uint8

const (
	noteWeak     noteKind = iota // from asks whether the weak key about is strong elsewhere (R4.1)
	noteStrong                   // it is
	noteExternal                 // from asks which internal id the external id about belongs to (R4.2)
	noteFit                      // it may mean the internal id key, which has those forms
	noteTaken                    // the internal id about fitted at a level
	noteJoined                   // what was found of the external id about
	notePair                     // the trace about holds a record with the key key
)

// forms are the partitions of the external ids that an internal id may mean, level by level.
type forms [numLevels]uint16

const noForm = 1<<16 - 1

const noteLen = 42

const (
	foundFits = 1 << iota
	foundAmbiguous
)

func (f joined) note(external hash) note {
	n := note{kind: noteJoined, about: external, key: f.key, join: f.join}
	if f.fits {
		n.found |= foundFits
	}
	if f.ambiguous {
		n.found |= foundAmbiguous
	}
	return n
}

func (n *note) joined() joined {
	return joined{key: n.key, join: n.join, fits: n.found&foundFits != 0, ambiguous: n.found&foundAmbiguous != 0}
}

func (n *note) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(le.AppendUint64(b, n.about.hi), n.about.lo)
	b = le.AppendUint64(le.AppendUint64(b, n.key.hi), n.key.lo)
	b = append(b, byte(n.kind), n.level)
	if n.kind == noteFit {
		for _, part := range n.forms {
			b = le.AppendUint16(b, part)
		}
		return b
	}
	return append(le.AppendUint16(b, n.from), n.found, byte(n.join), 0, 0, 0, 0)
}

func (n *note) decode(b *[noteLen]byte) {
	le := binary.LittleEndian
	*n = note{about: hash{le.Uint64(b[:]), le.Uint64(b[8:])}, key: hash{le.Uint64(b[16:]), le.Uint64(b[24:])}, kind: noteKind(b[32]), level: b[33]}
	if n.kind == noteFit {
		for i := range n.forms {
			n.forms[i] = le.Uint16(b[34+2*i:])
		}
		return
	}
	n.from, n.found, n.join = le.Uint16(b[34:]), b[36], model.Join(b[37])
}

// An inbox is the streams of notes of one kind of step, one for each partition.
type inbox int

const (
	inboxAsked   inbox = iota // of partitions of keys: what waiting partitions ask
	inboxFits                 // of partitions of keys: what the external ids in them may mean
	inboxAnswers              // of waiting partitions: what they asked
	inboxPairs                // of waiting partitions: the keys of their traces
	numInboxes
)

// inbox is a stream behind those of the records.
func (s *Store) inbox(box inbox, part int) (stream int) {
	return s.recordStreams() + int(box)*s.partitions + part
}

// A noteWriter writes the notes of one goroutine.
type noteWriter struct {
	s    *Store
	open [][]byte // of each inbox stream
	size int      // of a chunk
}

const (
	minNotes = 8 * noteLen
	maxNotes = 384 * noteLen
	fewNotes = 24 * noteLen // of a chunk that is begun: most stay small
)

func (s *Store) newNoteWriter() noteWriter {
	// Open chunks of a few writers together stay below a quarter of the memory.
	size := s.limit / int64(8*numInboxes) / int64(s.partitions)
	return noteWriter{s: s, open: make([][]byte, int(numInboxes)*s.partitions), size: int(min(max(size, minNotes), maxNotes))}
}

func (w *noteWriter) put(box inbox, part int, n *note) error {
	at := int(box)*w.s.partitions + part
	switch b := w.open[at]; {
	case b == nil:
		w.open[at] = make([]byte, 0, min(w.size, fewNotes))
	case len(b)+noteLen > w.size:
		if err := w.seal(at); err != nil {
			return err
		}
	}
	w.open[at] = n.append(w.open[at])
	return nil
}

// seal hands a chunk over.
func (w *noteWriter) seal(at int) error {
	b := w.open[at]
	kept, err := w.s.take(w.s.inbox(0, at), chunk{rec: b, recLen: uint32(len(b))})
	if w.open[at] = b[:0]; kept { // the bytes belong to the store now
		w.open[at] = make([]byte, 0, len(b))
	}
	return err
}

// flush hands over what is open.
func (w *noteWriter) flush() error {
	for at, b := range w.open {
		if len(b) == 0 {
			continue
		}
		if err := w.seal(at); err != nil {
			return err
		}
		w.open[at] = nil
	}
	return nil
}

// eachNote calls fn for the notes of a stream; they are good inside fn only.
func (sc *scanner) eachNote(ctx context.Context, stream int, fn func(n *note) error) error {
	return sc.s.eachChunk(ctx, stream, func(_ int, c *chunk) error {
		b, err := sc.records(stream, c)
		if err != nil {
			return err
		}
		var n note
		for ; len(b) >= noteLen; b = b[noteLen:] {
			n.decode((*[noteLen]byte)(b))
			if err := fn(&n); err != nil {
				return err
			}
		}
		return nil
	})
}
