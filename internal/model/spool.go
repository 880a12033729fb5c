package model

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"
)

// A Spool is a file for values of series that are not wanted in memory. Any number of goroutines may use one.
type Spool struct {
	open func() (SpoolFile, error)

	mu   sync.Mutex
	file SpoolFile
	size int64
	err  error // the first of reading
}

// A SpoolFile is what a spool needs of a file. Any number of goroutines may use one.
type SpoolFile interface {
	io.ReaderAt
	io.WriterAt
}

// NewSpool returns a spool; its file is opened once there is something to write.
func NewSpool(open func() (SpoolFile, error)) *Spool { return &Spool{open: open} }

// A run is values as they lie in a spool: little-endian, of 4 bytes each, or of 8 where it is wide.
type run struct {
	off  int64
	n    int
	sum  uint32 // CRC-32C
	wide bool
}

func (r *run) bytes() int {
	if r.wide {
		return 8 * r.n
	}
	return 4 * r.n
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// write appends the values of a list.
func (p *Spool) write(l *numbers) (run, error) {
	b, wide := l.encode(nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		f, err := p.open()
		if err != nil {
			return run{}, fmt.Errorf("a file for values that do not fit into memory: %w", err)
		}
		p.file = f
	}
	if _, err := p.file.WriteAt(b, p.size); err != nil {
		return run{}, fmt.Errorf("writing values: %w: free some space, point TMPDIR to another disk or raise --memory", err)
	}
	r := run{p.size, l.len(), crc32.Checksum(b, castagnoli), wide}
	p.size += int64(len(b))
	return r, nil
}

// read gives the values of a run. What cannot be read is 0, and Err says why.
func (p *Spool) read(r *run) (l numbers) {
	b := make([]byte, r.bytes())
	_, err := p.file.ReadAt(b, r.off)
	if err == nil && crc32.Checksum(b, castagnoli) != r.sum {
		err = errors.New("they are not what was written")
	}
	if err != nil {
		clear(b)
		p.mu.Lock()
		if p.err == nil {
			p.err = fmt.Errorf("reading values back: %w", err)
		}
		p.mu.Unlock()
	}
	l.decode(b, r.wide)
	return l
}

// Size is how many bytes were written.
func (p *Spool) Size() int64 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}

// Err is the first error of reading values back: what was made of them since is worth nothing.
func (p *Spool) Err() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// away are the values of a series that lie in a spool.
type away struct {
	spool  *Spool
	runs   []run
	n      int64
	sum    int128
	min    int64
	max    int64
	loaded bool // they are in memory too, with all others
}

func (a *away) merge(o *away) {
	if a.n == 0 {
		a.min, a.max = o.min, o.max
	}
	a.min, a.max = min(a.min, o.min), max(a.max, o.max)
	a.sum.add(o.sum)
	a.runs = append(a.runs, o.runs...)
	a.n += o.n
}

// PutAway moves the values that are in memory to a spool, from which they come back when they are asked for. On an error they stay.
func (s *Series) PutAway(p *Spool) error {
	s.Release()
	if s.hist != nil || s.values.len() == 0 {
		return nil
	}
	s.count()
	if s.away != nil {
		p = s.away.spool
	}
	r, err := p.write(&s.values)
	if err != nil {
		return err
	}
	if s.away == nil {
		s.away = &away{spool: p}
	}
	s.away.runs = append(s.away.runs, r)
	s.away.n += int64(r.n)
	s.away.sum, s.away.min, s.away.max = s.sum, s.min, s.max
	s.values.forget()
	s.values.bound(int(s.bound() - s.away.n))
	s.unsorted = false
	return nil
}

// Away reports whether values lie in a spool.
func (s *Series) Away() bool { return s.away != nil }

// Held is how many values are in memory.
func (s *Series) Held() int { return s.values.len() }

// Release lets go of values that are in a spool too.
func (s *Series) Release() {
	if s.away != nil && s.away.loaded {
		s.values, s.unsorted, s.away.loaded = numbers{}, false, false
	}
}

// elsewhere is how many values are in a spool only.
func (s *Series) elsewhere() int64 {
	if s.away == nil || s.away.loaded {
		return 0
	}
	return s.away.n
}

// load brings all values into memory. Those that no spool takes are not let go of again.
func (s *Series) load() {
	if s.elsewhere() == 0 {
		return
	}
	err := s.PutAway(s.away.spool)
	widest := s.values.widest()
	if slices.ContainsFunc(s.away.runs, func(r run) bool { return r.wide }) {
		widest = -1
	}
	all := numbers{}
	all.room(int(s.N()), widest)
	s.eachAway(func(l *numbers) { all.append(l) })
	all.append(&s.values)
	s.values, s.unsorted, s.away.loaded = all, true, true
	if err != nil {
		s.away = nil
	}
}

// eachAway calls fn for the values in the spool, run by run.
func (s *Series) eachAway(fn func(l *numbers)) {
	for i := range s.away.runs {
		l := s.away.spool.read(&s.away.runs[i])
		fn(&l)
	}
}

// mergeAway takes over the values of another series that are in a spool only: runs are never written again.
func (s *Series) mergeAway(o *Series) {
	switch {
	case o.elsewhere() == 0:
	case s.away != nil && s.away.spool != o.away.spool:
		o.eachAway(func(l *numbers) {
			for i := range l.len() {
				s.Add(l.at(i))
			}
		})
	default:
		if s.away == nil {
			s.away = &away{spool: o.away.spool}
		}
		s.cover(o.away.min, o.away.max)
		s.sum.add(o.away.sum)
		s.counted += o.away.n
		s.away.merge(o.away)
		s.values.bound(int(s.bound() - s.away.n))
	}
}
