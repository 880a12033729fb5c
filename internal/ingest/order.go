package ingest

import (
	"cmp"
	"slices"
	"sort"
	"sync/atomic"

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

// An order is what the workers of a pass share to find the next chunk.
type order struct {
	patterns int          // at its beginning: what was not searched for as many is left
	begun    atomic.Int64 // files that a worker has begun with
	urgent   []place      // what comes before all else; below picker.mu
	turns    int          // how often there was such
}

// take is the next chunk for a worker to search, of the file that it is at where that has one. ok is false when none is left.
func (p *picker) take(at *int) (next place, ok bool, err error) {
	for {
		urgent, to := p.urgent()
		if urgent == nil {
			for ; *at < len(p.files); *at = int(p.order.begun.Add(1)) - 1 {
				if *at < 0 {
					continue
				}
				if next, ok, err = p.files[*at].take(*at, p.order.patterns, to); ok || err != nil {
					return next, ok, err
				}
			}
			for n, k := range p.files { // which others are at
				if next, ok, err = k.take(n, p.order.patterns, to); ok || err != nil {
					return next, ok, err
				}
			}
			return next, false, nil
		}
		if next, ok = p.files[urgent.file].taken(*urgent, to); ok {
			return next, true, nil
		}
	}
}

// urgent takes one of the chunks that come first, and tells how many patterns there are.
func (p *picker) urgent() (next *place, patterns int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := &p.order; len(o.urgent) > 0 {
		next, o.urgent = &o.urgent[0], o.urgent[1:]
	}
	return next, len(p.patterns)
}

// take is the next chunk that was searched for less than some patterns, to be searched for all up to to. file is the file's own number.
func (k *seekable) take(file, patterns, to int) (next place, ok bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for ; ; k.next++ {
		if k.next == len(k.chunks) {
			if k.whole() {
				return next, false, nil
			}
			if err := k.cut(k.cutOff+1, k.view); err != nil {
				return next, false, err
			}
		}
		if c := &k.chunks[k.next]; c.searched < patterns {
			return k.mark(place{file: file, n: k.next, chunk: c}, to), true, nil
		}
	}
}

// taken takes a chunk to be searched for the patterns up to to; ok is false where it was.
func (k *seekable) taken(at place, to int) (next place, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at.chunk.searched >= to {
		return at, false
	}
	return k.mark(at, to), true
}

func (k *seekable) mark(at place, to int) place {
	at.from, at.to, at.done = at.chunk.searched, to, -1
	at.chunk.searched = to
	if (at.n+1)%releaseChunks == 0 {
		at.done = k.chunks[at.n+1-releaseChunks].off
	}
	return at
}

// near makes the chunks urgent, below picker.mu, in which records of this time may stand, of the file first that has such a time nearest to it.
func (p *picker) near(t model.Time) error {
	o := &p.order
	if t == 0 || o.turns == mostTurns || len(p.files) > mostFiles {
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
		if err := k.ends(); err != nil {
			return err
		}
		if t < k.first-nearTime || k.last != 0 && t > k.last+farTime {
			continue
		}
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
	o.urgent = nil
	for _, c := range found[:min(len(found), mostNear)] {
		places, err := p.files[c.file].around(c.off)
		if err != nil {
			return err
		}
		for _, at := range places {
			at.file = c.file
			o.urgent = append(o.urgent, at)
		}
	}
	return nil
}

// around is the chunk at off and those beside it.
func (k *seekable) around(off int64) (places []place, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.cut(min(off+2*chunkSize, k.size), k.copied); err != nil { // what is mapped would stay in memory
		return nil, err
	}
	n := sort.Search(len(k.chunks), func(i int) bool { return k.chunks[i].off > off }) - 1 // without copies: the worker that has one writes to it
	for _, i := range [...]int{n, n + 1, n - 1} {
		if i >= 0 && i < len(k.chunks) {
			places = append(places, place{n: i, chunk: &k.chunks[i]})
		}
	}
	return places, nil
}

const (
	mostTurns = 8        // how often chunks may become urgent in a pass: an id may be in records all over the day
	mostNear  = 32       // files in which chunks become urgent at a time
	timeBytes = 64 << 10 // bytes in which a time is looked for
	timeStep  = 16 << 10 // bytes to which the place of a time is found
	mostFiles = 1000     // of which the times are looked up
	farTime   = 3600e9   // ns by which the last time of a file may lie about its end: spans are written as they end
	nearTime  = 60e9     // ns that a file may begin after the time that is looked for, or end before it
)

// ends finds the first and the last time of the file.
func (k *seekable) ends() (err error) {
	if k.first == 0 {
		if k.first, err = k.timeAt(0); err == nil {
			k.last, err = k.timeAt(max(0, k.size-timeBytes))
		}
	}
	return err
}

// offsetOf is the last place at which times are no later than t, to within timeStep, or the beginning, and the time that is there, 0 when none is. It takes
// the times to be in order: where they are not, it is any place.
func (k *seekable) offsetOf(t model.Time) (off int64, at model.Time, err error) {
	if at = k.first; at > t {
		return 0, at, nil
	}
	for end := k.size; end-off > timeStep; {
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
	data, _, err := k.view(nil, off, min(off+timeBytes, k.size))
	if err != nil {
		return 0, err
	}
	return k.firstTime(data), nil
}
