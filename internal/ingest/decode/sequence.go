package decode

import (
	"cmp"
	"slices"
)

// A Stream is a run of numbers that count up by one: what one process numbered between two of its starts.
type Stream struct {
	Name string // the process
	Run  int64  // which of its starts
}

// Sequences are the numbers that were seen of streams. What lies between the smallest and the largest of a stream and was not seen got lost; numbers may come
// out of order and repeatedly. Parts add up (Merge), in any order. The zero value is empty.
type Sequences struct {
	streams map[Stream]*numbers
}

// numbers are disjoint intervals in ascending order that do not touch.
type numbers struct {
	seen []interval
	lost int64 // of gaps that were closed because there were too many
}

type interval struct{ low, high int64 }

const (
	maxStreams   = 1 << 12
	maxIntervals = 1 << 12 // of a stream
)

// maxNumber is the largest number that is believed.
const maxNumber = 1 << 50

// Add notes a number of a stream, from 1. A stream past the 4096th is not followed.
func (s *Sequences) Add(name []byte, run, n int64) {
	if n < 1 || n > maxNumber {
		return
	}
	q := s.streams[Stream{string(name), run}]
	if q == nil {
		if q = s.stream(Stream{string(name), run}); q == nil {
			return
		}
	}
	if last := len(q.seen) - 1; last >= 0 && q.seen[last].high+1 == n {
		q.seen[last].high = n
		return
	}
	q.add(interval{n, n})
}

func (s *Sequences) stream(key Stream) *numbers {
	q := s.streams[key]
	if q != nil || len(s.streams) >= maxStreams {
		return q
	}
	if s.streams == nil {
		s.streams = map[Stream]*numbers{}
	}
	q = &numbers{}
	s.streams[key] = q
	return q
}

// add takes an interval in, with those that it overlaps or touches.
func (q *numbers) add(v interval) {
	from, _ := slices.BinarySearchFunc(q.seen, v.low, func(e interval, low int64) int { return cmp.Compare(e.high, low-1) })
	to := from
	for ; to < len(q.seen) && q.seen[to].low <= v.high+1; to++ {
		v.low, v.high = min(v.low, q.seen[to].low), max(v.high, q.seen[to].high)
	}
	q.seen = slices.Replace(q.seen, from, to, v)
	if len(q.seen) > maxIntervals {
		q.lost += q.seen[1].low - q.seen[0].high - 1
		q.seen[1].low = q.seen[0].low
		q.seen = slices.Delete(q.seen, 0, 1)
	}
}

// Merge adds what another part of an input saw.
func (s *Sequences) Merge(o *Sequences) {
	for key, from := range o.streams {
		if q := s.stream(key); q != nil {
			q.lost += from.lost
			for _, v := range from.seen {
				q.add(v)
			}
		}
	}
}

// Lost is how many numbers are missing.
func (s *Sequences) Lost() (n int64) {
	for _, q := range s.streams {
		n += q.lost
		for i := 1; i < len(q.seen); i++ {
			n += q.seen[i].low - q.seen[i-1].high - 1
		}
	}
	return n
}
