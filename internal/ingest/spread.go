package ingest

import "github.com/cbtrace/cbtrace/internal/model"

// Of the sample.
const (
	sampleSlices = 16
	sampleBytes  = 24 << 20
	mostSampled  = 64 << 20 // R5.7
)

// spread chooses time slices, the first and the last instant among them, evenly spaced, and gives for each file the runs of records that lie there (R5.7).
func spread(files []*seekable) ([][]piece, error) {
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
	for slots > 2 && chosen.bytes > mostSampled {
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

// chooseChunks takes of each file the chunks that cover the instants of n slices, and run-1 behind each.
func chooseChunks(files []*seekable, first, last model.Time, n, run int) choice {
	c := choice{of: make([][]bool, len(files))}
	for f, k := range files {
		c.of[f] = make([]bool, len(k.chunks))
		take := func(i int) {
			for j := i; j < min(i+run, len(k.chunks)); j++ {
				if !c.of[f][j] {
					c.of[f][j] = true
					c.bytes += k.chunks[j].end - k.chunks[j].off
				}
			}
		}
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
					take(i)
					break
				}
			}
		}
	}
	return c
}
