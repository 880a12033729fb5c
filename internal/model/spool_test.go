package model

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// A series of which values are put away now and then, asked and merged in between, is the same as one whose values stay in memory.
func TestSeriesPutAway(t *testing.T) {
	spool, other := NewSpool(inMemory), NewSpool(inMemory)
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		limit := []int{0, 50, 400, 1000}[rng.IntN(4)]
		type pair struct{ plain, spooled *Series }
		all := make([]pair, 3)
		for i := range all {
			all[i] = pair{NewSeries(limit), NewSeries(limit)}
		}
		for range 40 {
			p := all[rng.IntN(len(all))]
			switch rng.IntN(8) {
			case 0, 1:
				to := spool
				if rng.IntN(8) == 0 {
					to = other
				}
				exact := p.spooled.Exact() && p.spooled.N() > 0
				if err := p.spooled.PutAway(to); err != nil || exact && (!p.spooled.Away() || p.spooled.Held() != 0) {
					t.Fatalf("seed %d: %v, %d in memory", seed, err, p.spooled.Held())
				}
			case 2:
				if a, b := p.plain.Quantile(500), p.spooled.Quantile(500); a != b {
					t.Fatalf("seed %d: median %d, want %d", seed, b, a)
				}
			case 3:
				p.spooled.Release()
			case 4:
				if a, b := p.plain.Total(), p.spooled.Total(); a != b || p.plain.Mean() != p.spooled.Mean() || p.plain.Min() != p.spooled.Min() || p.plain.Max() != p.spooled.Max() {
					t.Fatalf("seed %d: total %d, want %d", seed, b, a)
				}
			case 5:
				o := all[rng.IntN(len(all))]
				if o != p {
					p.plain.Merge(o.plain)
					p.spooled.Merge(o.spooled)
				}
			default:
				wide := rng.IntN(3) == 0
				for range rng.IntN(60) {
					v := rng.Int64N(1000)
					if wide {
						v = rng.Int64N(1e12) - 1e10
					}
					n := 1 + rng.Int64N(2)
					p.plain.AddN(v, n)
					p.spooled.AddN(v, n)
				}
			}
			if a, b := p.plain.N(), p.spooled.N(); a != b || p.plain.Exact() != p.spooled.Exact() {
				t.Fatalf("seed %d: %d values, want %d", seed, b, a)
			}
		}
		for i, p := range all {
			if !bytes.Equal(p.plain.Append(nil), p.spooled.Append(nil)) {
				t.Fatalf("seed %d, series %d: other bytes", seed, i)
			}
			p.plain.Limit(20)
			p.spooled.Limit(20)
			if !bytes.Equal(p.plain.Append(nil), p.spooled.Append(nil)) {
				t.Fatalf("seed %d, series %d: other bytes once cut", seed, i)
			}
		}
	}
	if err := errors.Join(spool.Err(), other.Err()); err != nil {
		t.Error(err)
	}
}

// Values that are away count for a limit that is lowered later.
func TestLimitOfPutAway(t *testing.T) {
	s := NewSeries(0)
	for v := range int64(5000) {
		s.Add(v)
	}
	if err := s.PutAway(NewSpool(inMemory)); err != nil {
		t.Fatal(err)
	}
	s.Limit(6000)
	for v := range int64(1000) {
		s.Add(v)
	}
	if !s.Exact() || s.N() != 6000 {
		t.Errorf("%d values, exact: %v", s.N(), s.Exact())
	}
	if s.Add(1); s.Exact() || s.N() != 6001 {
		t.Errorf("%d values, exact: %v", s.N(), s.Exact())
	}
}

// A memFile is a file in memory, which may break.
type memFile struct {
	b      []byte
	broken bool
}

var errBroken = errors.New("broken")

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	if f.broken {
		return 0, errBroken
	}
	if need := int(off) + len(b); need > len(f.b) {
		f.b = append(f.b, make([]byte, need-len(f.b))...)
	}
	return copy(f.b[off:], b), nil
}

func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	if f.broken {
		return 0, errBroken
	}
	return copy(b, f.b[off:]), nil
}

func inMemory() (SpoolFile, error) { return &memFile{}, nil }

// A spool says what goes wrong: values that cannot be written stay, those that cannot be read back count as 0.
func TestSpoolErrors(t *testing.T) {
	file := &memFile{}
	p := NewSpool(func() (SpoolFile, error) { return file, nil })
	s := seriesOf(0, 1, 2, 3)
	if err := s.PutAway(p); err != nil {
		t.Fatal(err)
	}
	file.b[4] = 9
	if p.Err() != nil || s.Max() != 3 || s.Total() != 6 || p.Err() != nil {
		t.Errorf("%v", p.Err())
	}
	if s.Rank(2) != 0 || p.Err() == nil {
		t.Errorf("%d of what was written over, %v", s.Rank(2), p.Err())
	}

	gone := NewSpool(func() (SpoolFile, error) { return nil, errBroken })
	s = seriesOf(0, 1, 2, 3)
	if err := s.PutAway(gone); !errors.Is(err, errBroken) || s.Away() || s.Quantile(500) != 2 {
		t.Errorf("%v, median %d", err, s.Quantile(500))
	}
	file = &memFile{}
	full := NewSpool(func() (SpoolFile, error) { return file, nil })
	if err := s.PutAway(full); err != nil {
		t.Fatal(err)
	}
	s.Add(4)
	file.broken = true // nothing more can be written, nor read
	if err := s.PutAway(full); !errors.Is(err, errBroken) || s.N() != 4 || s.Held() != 1 {
		t.Errorf("%v, %d values", err, s.N())
	}
	if s.Rank(3); !errors.Is(full.Err(), errBroken) || s.N() != 4 || s.Max() != 4 {
		t.Errorf("%v, %d values, the largest %d", full.Err(), s.N(), s.Max())
	}
	var none *Spool
	if none.Err() != nil {
		t.Error("no spool has an error")
	}
}
