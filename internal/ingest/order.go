package ingest

import (
	"cmp"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// In which order chunks are searched. What a record of the request tells is looked for from then on, and once more in what was searched before: so as soon as
// one has told something, the chunks of its time in all files come next, which tell the rest. Any order finds the same.

// A place is a chunk to search.
type place struct {
	file  int
	n     int    // of the chunk
	chunk *chunk // n
	from  int    // patterns that it was searched for
	to    int    // patterns that it will have been searched for
	done  int64  // where memory begins that is let go of once it was searched; -1: none is
}

// An order hands out the chunks of one pass.
type order struct {
	patterns int     // at its beginning: whatever was not searched for as many is left
	file, n  int     // the next chunk, where none is urgent
	urgent   []place // that come before it
	turns    int     // how often chunks became urgent
}

// mostTurns is how often chunks may become urgent in a pass: an id that is in records all over the day would have all of them looked up.
const mostTurns = 8

// take is the next chunk to search; ok is false when none is left.
func (p *picker) take() (next place, ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := &p.order
	for len(o.urgent) > 0 {
		next, o.urgent = o.urgent[0], o.urgent[1:]
		if next.chunk.searched < len(p.patterns) {
			return p.taken(next), true, nil
		}
	}
	for ; o.file < len(p.files); o.file, o.n = o.file+1, 0 {
		for k := p.files[o.file]; ; o.n++ {
			if o.n == len(k.chunks) {
				if k.whole() {
					break
				}
				if err := k.cut(k.cutOff+1, k.view); err != nil {
					return next, false, err
				}
			}
			if c := &k.chunks[o.n]; c.searched < o.patterns {
				o.n++
				return p.taken(place{file: o.file, n: o.n - 1, chunk: c}), true, nil
			}
		}
	}
	return next, false, nil
}

// taken marks a chunk as searched for all patterns that there are.
func (p *picker) taken(c place) place {
	c.from, c.to = c.chunk.searched, len(p.patterns)
	c.chunk.searched = c.to
	c.done = -1
	if k := p.files[c.file]; (c.n+1)%releaseChunks == 0 {
		c.done = k.chunks[c.n+1-releaseChunks].off
	}
	return c
}

// near makes the chunks urgent in which records of this time may stand, of the file first that has such a time nearest to it.
func (p *picker) near(t model.Time) error {
	o := &p.order
	if t == 0 || o.turns == mostTurns {
		return nil
	}
	o.turns++
	type candidate struct {
		file     int
		off      int64
		distance model.Time
	}
	var found []candidate
	for n, k := range p.files {
		off, at, err := k.offsetOf(t)
		if err != nil {
			return err
		}
		distance := max(t-at, at-t)
		if outside := at > t || k.size-off <= 2*chunkSize; at != 0 && (!outside || distance < nearTime) {
			found = append(found, candidate{n, off, distance})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	o.urgent = o.urgent[:0]
	for _, c := range found[:min(len(found), mostNear)] {
		k := p.files[c.file]
		if err := k.cut(min(c.off+2*chunkSize, k.size), k.copied); err != nil { // what is mapped would stay in memory
			return err
		}
		n, exact := slices.BinarySearchFunc(k.chunks, c.off, func(c chunk, off int64) int { return cmp.Compare(c.off, off) })
		if !exact {
			n--
		}
		for _, i := range [...]int{n, n + 1, n - 1} {
			if i >= 0 && i < len(k.chunks) {
				o.urgent = append(o.urgent, place{file: c.file, n: i, chunk: &k.chunks[i]})
			}
		}
	}
	return nil
}

const (
	mostNear = 32   // files in which chunks become urgent at a time
	nearTime = 60e9 // ns that a file may begin after the time that is looked for, or end before it
)

// offsetOf is the last place at which times are no later than t, to within a chunk, or the beginning, and the time that is there, 0 when none is. It takes
// the times to be in order: where they are not, it is any place.
func (k *seekable) offsetOf(t model.Time) (off int64, at model.Time, err error) {
	if at, err = k.timeAt(0); err != nil || at > t {
		return 0, at, err
	}
	for end := k.size; end-off > chunkSize; {
		half := off + (end-off)/2
		switch then, err := k.timeAt(half); {
		case err != nil:
			return 0, 0, err
		case then == 0 || then > t:
			end = half
		default:
			off, at = half, then
		}
	}
	return off, at, nil
}

// timeAt is the start of the first span from off on that tells, 0 when none of the next does.
func (k *seekable) timeAt(off int64) (model.Time, error) {
	const some = 64 << 10
	data, _, err := k.view(nil, off, min(off+some, k.size))
	if err != nil {
		return 0, err
	}
	return k.firstTime(data), nil
}
