package ingest

import (
	"cmp"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Of the sample.
const (
	sampleSlices = 16
	sampleBytes  = 16 << 20
	mostSampled  = 64 << 20 // R5.7
	besideBytes  = 8 << 20  // of what was written just before and after the requests
	besideChunks = 8        // of a file, on either side
)

// A reach is the time from the first start to the last end of records, both 0 for none.
type reach struct{ from, to model.Time }

func (r *reach) add(start, end model.Time) {
	if start < earliest { // no time of day: a clock without an epoch
		return
	}
	if r.from == 0 || start < r.from {
		r.from = start
	}
	r.to = max(r.to, start, end)
}

// spread chooses time slices, the first and the last instant among them, evenly spaced, and gives for each file the runs of records that lie there (R5.7).
// What was written beside the requests comes with them: a process that lived between two slices would be known by them alone otherwise, with clocks that
// nothing tells and as if it had ended with them.
func spread(files []*seekable, hits [][]piece, own reach) ([][]piece, error) {
	var first, last model.Time
	for _, k := range files {
		for i := range k.chunks {
			if t := k.chunks[i].first; t != 0 {
				if first == 0 || t < first {
					first = t
				}
				last = max(last, t)
			}
		}
	}
	slots, run := sampleSlices, 1
	chosen := chooseChunks(files, first, last, slots, run)
	for slots > 2 && chosen.bytes > mostSampled-besideBytes {
		slots /= 2
		chosen = chooseChunks(files, first, last, slots, run)
	}
	for chosen.bytes < sampleBytes && run < 64 {
		wider := chooseChunks(files, first, last, slots, 2*run)
		if wider.bytes > sampleBytes || wider.bytes == chosen.bytes {
			break
		}
		run *= 2
		chosen = wider
	}
	chosen.beside(files, hits, own)
	out := make([][]piece, len(files))
	for n, k := range files {
		for i := 0; i < len(k.chunks); i++ {
			if !chosen.of[n][i] {
				continue
			}
			from := i
			for i+1 < len(k.chunks) && chosen.of[n][i+1] {
				i++
			}
			p := piece{off: k.chunks[from].off, end: k.chunks[i].end, sample: true}
			if k.frame == nil { // the lines that begin in it
				var err error
				if p.off > 0 {
					if p.off, err = k.lineEnd(p.off - 1); err != nil {
						return nil, err
					}
				}
				if p.end < k.size {
					if p.end, err = k.lineEnd(p.end - 1); err != nil {
						return nil, err
					}
				}
			}
			if p.off < p.end {
				out[n] = append(out[n], p)
			}
		}
	}
	return out, nil
}

// A choice says which chunks are in a sample.
type choice struct {
	of    [][]bool
	bytes int64
}

// take takes a chunk of a file.
func (c *choice) take(files []*seekable, file, n int) {
	if !c.of[file][n] {
		c.of[file][n] = true
		c.bytes += files[file].chunks[n].end - files[file].chunks[n].off
	}
}

// beside takes the chunks of all files that hold the ends of a reach and those before and behind them, as many as besideBytes allow: of the files with hits
// first, then of the others of that time, then of those whose time is nearest to it.
func (c *choice) beside(files []*seekable, hits [][]piece, own reach) {
	if own.from == 0 {
		return
	}
	limit := min(c.bytes+besideBytes, mostSampled)
	groups := [3][]neighbour{}
	for f, k := range files {
		at, ok := k.neighbour(own)
		at.file = f
		switch {
		case !ok:
		case len(hits[f]) > 0:
			groups[0] = append(groups[0], at)
		case at.away == 0:
			groups[1] = append(groups[1], at)
		default:
			groups[2] = append(groups[2], at)
		}
	}
	slices.SortStableFunc(groups[2], func(a, b neighbour) int { return cmp.Compare(a.away, b.away) })
	for _, group := range groups {
		for distance := range besideChunks {
			for _, at := range group {
				k := files[at.file]
				for _, n := range [...]int{at.from - distance, at.to + distance} {
					if n >= 0 && n < len(k.chunks) && c.bytes+k.chunks[n].end-k.chunks[n].off <= limit {
						c.take(files, at.file, n)
					}
				}
			}
		}
	}
}

// A neighbour is where a reach lies in a file, or beside it.
type neighbour struct {
	file     int
	from, to int        // the chunks in which it begins and ends, those nearest to it where it lies before or behind the file
	away     model.Time // how far; 0: it lies in the file
}

// neighbour finds where a reach lies; ok is false where that is far away. It takes spans to be written in order of time, more or less.
func (k *seekable) neighbour(own reach) (at neighbour, ok bool) {
	first, last := model.Time(0), model.Time(0)
	for i := range k.chunks {
		t := k.chunks[i].first
		if t == 0 {
			continue
		}
		if first == 0 {
			first, at.from, at.to = t, i, i
		}
		if last = max(last, t); t <= own.from {
			at.from = i
		}
		if t <= own.to {
			at.to = i
		}
	}
	at.away = max(0, first-own.to, own.from-last)
	return at, first != 0 && first-nearTime <= own.to && last+farTime >= own.from
}

// chooseChunks takes of each file the chunks that cover the instants of n slices, and run-1 behind each.
func chooseChunks(files []*seekable, first, last model.Time, n, run int) choice {
	c := choice{of: make([][]bool, len(files))}
	for f, k := range files {
		c.of[f] = make([]bool, len(k.chunks))
		for i := range k.chunks {
			from := k.chunks[i].first
			to := from
			for j := i + 1; j < len(k.chunks); j++ {
				if k.chunks[j].first != 0 {
					to = k.chunks[j].first
					break
				}
			}
			if from == 0 {
				continue
			}
			from, to = min(from, to), max(from, to)
			for s := range n {
				at := first + model.Time(float64(last-first)*float64(s)/float64(max(1, n-1)))
				if s == n-1 {
					at = last
				}
				if at >= from && (at < to || at == from) {
					for j := i; j < min(i+run, len(k.chunks)); j++ {
						c.take(files, f, j)
					}
					break
				}
			}
		}
	}
	return c
}
