package ingest

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/lct"
	"github.com/cbtrace/cbtrace/internal/model"
)

// sniffLCT: a length as 4 bytes, then the header of a recording.
func sniffLCT(src *source) verdict {
	h, ok, err := lct.Sniff(src.head, src.whole)
	switch {
	case !ok:
		return verdict{}
	case err != nil:
		return verdict{ok: true, refused: err}
	}
	return verdict{ok: true, name: recordingFormat(h.Level)}
}

var plainWord = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// recordingFormat is the name of a recording's format: lct-storage, lct-events, or that of a later level.
func recordingFormat(level string) string {
	if plainWord.MatchString(level) {
		return "lct-" + level
	}
	return "lct"
}

func cutLCT(src *source) cutter {
	r := src.all()
	c := lct.NewCutter(func(buf []byte, want int) ([]byte, bool) { return fill(r, buf, want, &src.broken) }, src.block)
	return func(buf []byte) (block, error) {
		data, offset, err := c.Next(buf)
		return block{data: data, offset: src.nuls + offset}, err
	}
}

// recording decodes a block of an LMCache recording.
func (w *worker) recording(blk decode.Block, rep *decode.Report) {
	w.recordings.Decode(blk, w.batch, rep)
}

// Recordings counts what the inputs hold that are LMCache recordings, several at a time, in the order of s.Inputs. Of one that is none (its format is "")
// or cannot be used only Input is filled in. The error is that of ctx.
func (s *Set) Recordings(ctx context.Context, opt Options) ([]*model.Recording, error) {
	jobs := opt.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	out := make([]*model.Recording, len(s.Inputs))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(jobs, len(out)) {
		workers.Go(func() {
			buf := make([]byte, 0, blockSize+sniffSize)
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(out) {
					return
				}
				out[n] = s.count(ctx, &s.Inputs[n], opt.Progress, &buf)
			}
		})
	}
	workers.Wait()
	return out, context.Cause(ctx)
}

// count reads one input.
func (s *Set) count(ctx context.Context, in *Input, p *Progress, buf *[]byte) *model.Recording {
	f := &file{in: in}
	var rep decode.Report
	var c lct.Counter
	if err := s.countBlocks(ctx, f, p, buf, &c, &rep); err != nil {
		f.refuse(f.name, err)
	}
	f.merge(&rep)
	r := &model.Recording{}
	if f.refused == nil {
		r = c.Recording(&rep)
	}
	r.Input = f.stats()
	return r
}

func (s *Set) countBlocks(ctx context.Context, f *file, p *Progress, buf *[]byte, c *lct.Counter, rep *decode.Report) error {
	var total *atomic.Int64
	if p != nil {
		total = &p.Bytes
	}
	src, err := s.open(f.in, &rep.Bytes, total)
	if err != nil {
		return err
	}
	defer src.close()
	v := sniffLCT(src)
	switch {
	case v.refused != nil:
		f.name = "lct"
		return v.refused
	case !v.ok && len(src.head) == 0 || !v.ok && src.broken != nil:
		return unknown(src)
	case !v.ok:
		return fmt.Errorf("%w: no LMCache recording (.lct)", decode.ErrUnknownFormat)
	}
	f.name = v.name + src.suffix
	cut := cutLCT(src)
	for ctx.Err() == nil {
		b, err := cut(*buf)
		if err != nil {
			break
		}
		blk := decode.Block{Path: f.in.Shown, Data: b.data, Offset: b.offset}
		if err := c.Add(blk, rep); err != nil {
			return err
		}
		if cap(b.data) <= 2*blockSize {
			*buf = b.data[:0]
		}
	}
	src.report(f.in, rep, false)
	return nil
}
