package ingest

import "github.com/cbtrace/cbtrace/internal/model"

// Of the sample.
const (
	sampleSlices = 16
	sampleBytes  = 24 << 20
	mostSampled  = 64 << 20 // R5.7
	besideBytes  = 8 << 20  // of what was written just before and after the requests
	besideChunks = 8        // of a file, on either side
)

// A reach is the time from the first start to the last end of records, both 0 for none.
type reach struct{ from, to model.Time }

func (r *reach) add(start, end model.Time) {
	if start <= 0 {
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
func spread(files []*seekable, own reach) ([][]piece, error) {
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
	chosen.beside(files, own)
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

// beside takes the chunks of all files that hold the ends of a reach and those before and behind them, the nearest first, as many as besideBytes allow.
func (c *choice) beside(files []*seekable, own reach) {
	if own.from == 0 {
		return
	}
	limit := c.bytes + besideBytes
	at := make([][2]int, len(files)) // the chunks of each file in which the reach begins and ends; -1: it ended before, or begins long after
	for f, k := range files {
		at[f] = k.chunksOf(own)
	}
	for distance := range besideChunks {
		for f, k := range files {
			for _, n := range [...]int{at[f][0] - distance, at[f][1] + distance} {
				if at[f][0] >= 0 && n >= 0 && n < len(k.chunks) && c.bytes < limit {
					c.take(files, f, n)
				}
			}
		}
	}
}

// chunksOf are the chunks of the file in which a reach begins and ends, those nearest to it where it lies before or behind; -1 where that is far away. It
// takes spans to be written in order of time, more or less.
func (k *seekable) chunksOf(own reach) [2]int {
	none := [2]int{-1, -1}
	found, first, last := none, model.Time(0), model.Time(0)
	for i := range k.chunks {
		t := k.chunks[i].first
		if t == 0 {
			continue
		}
		if first == 0 {
			first, found = t, [2]int{i, i}
		}
		if last = max(last, t); t <= own.from {
			found[0] = i
		}
		if t <= own.to {
			found[1] = i
		}
	}
	if first-nearTime > own.to || last+farTime < own.from {
		return none
	}
	return found
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
