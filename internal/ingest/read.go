package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jaeger"
	"github.com/cbtrace/cbtrace/internal/ingest/lct"
	"github.com/cbtrace/cbtrace/internal/ingest/otlp"
	"github.com/cbtrace/cbtrace/internal/ingest/profile"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Options say how inputs are read. The zero value is what report wants.
type Options struct {
	KeepAll       bool          // keep attributes outside the table too (inspect)
	ShowSensitive bool          // keep the values of secret keys (R3.6)
	Jobs          int           // goroutines that decode; 0: one per processor
	ProfileKeys   *profile.Keys // what the keys of profile lines mean (--profile-map); nil: as assumed
	Now           time.Time     // the present, by which absolute times are told where there are no spans (R4.12); zero: now
	Progress      *Progress
	Pick          *Pick // what is to be read; nil: everything
	PickFrom      int64 // bytes of inputs from which Pick searches; 0: WorthPicking
}

func (o *Options) now() time.Time {
	if o.Now.IsZero() {
		return time.Now()
	}
	return o.Now
}

// Progress tells how far reading has come, while it goes on.
type Progress struct {
	Bytes atomic.Int64 // read, as they lie on disk
	Spans atomic.Int64
}

// A Sink takes the records of one goroutine. A batch is good during the call.
type Sink interface {
	Add(*model.Batch) error
	Close() error
}

// Read reads all inputs and hands their records to sinks, one per decoding goroutine. It registers the inputs with d (FileID n is s.Inputs[n])
// and says what became of each, in their order. The error is that of a sink or of ctx; what is wrong with an input is in its InputStats.
// Which records reach which sink in which order is left open; that all of them do, and the InputStats, are not.
func (s *Set) Read(ctx context.Context, d *model.Dict, opt Options, newSink func() Sink) ([]model.InputStats, error) {
	jobs := opt.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &reader{set: s, keys: opt.ProfileKeys, pick: opt.Pick, keepAll: opt.KeepAll, spans: days{}, ctx: ctx}
	if opt.Progress != nil {
		r.bytes = &opt.Progress.Bytes
	}
	for i := range s.Inputs {
		in := &s.Inputs[i]
		id := d.AddFile(in.Shown)
		f := &file{n: i, in: in, id: id, dict: d.File(id), family: family(in.Shown)}
		if in.Path != Stdin { // which has no name
			f.given = d.Plans.Of(in.Shown, f.family)
		}
		r.files = append(r.files, f)
	}
	var workers sync.WaitGroup
	for range jobs {
		w := &worker{batch: model.NewBatch(d, opt.KeepAll), sink: newSink(), spans: days{}}
		w.batch.ShowSensitive = opt.ShowSensitive
		w.values.Enough = batchRecords
		workers.Go(func() {
			err := r.work(w, opt.Progress)
			r.mu.Lock()
			r.spans.merge(w.spans)
			r.mu.Unlock()
			if e := w.sink.Close(); err == nil {
				err = e
			}
			if err != nil {
				cancel(err)
			}
		})
	}
	workers.Wait()
	for _, f := range r.files {
		f.close()
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	stats := make([]model.InputStats, len(r.files))
	for i, f := range r.files {
		f.finish(r.spans, opt.now())
		stats[i] = f.stats()
	}
	return stats, nil
}

// work decodes blocks until there are no more.
func (r *reader) work(w *worker, p *Progress) error {
	var rep decode.Report
	for f := r.pass(nil); f != nil; {
		t, ok := f.next(r, w.block)
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if !ok {
			f = r.pass(f)
			continue
		}
		rep = decode.Report{}
		w.plan, w.first = f.plan, t.first
		w.pick, w.batch.KeepAll = nil, r.keepAll && !t.lean
		if t.part {
			w.pick = r.pick
		}
		f.format.decode(w, decode.Block{File: f.id, Path: f.in.Shown, Family: f.family, Data: t.data, Line: t.line, Offset: t.offset}, &rep)
		w.flush()
		if t.first {
			f.named(w.names())
		}
		if w.err != nil {
			return w.err
		}
		f.merge(&rep)
		if p != nil {
			p.Spans.Add(rep.Spans)
		}
		w.block = nil
		if n := cap(t.data); n >= blockSize && n <= 8*blockSize { // one for a larger record is not kept, nor one of a small input
			w.block = t.data[:0]
		}
	}
	return nil
}

func (f *file) merge(rep *decode.Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rep.Merge(rep)
}

func (f *file) named(names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names = names
}

func (f *file) refuse(name string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.name, f.refused = name, err
}

// maxSteps is how many steps of a clock are noted one by one.
const maxSteps = 5

// stats is what became of the file, when all of it was read.
func (f *file) stats() model.InputStats {
	st := model.InputStats{
		File: f.in.Shown, Path: filepath.ToSlash(filepath.Clean(f.in.Path)), Named: f.in.Named, Format: f.name, Names: f.names,
		Bytes: f.rep.Bytes, Spans: f.rep.Spans, Records: f.rep.Records, Skipped: f.rep.Skipped, ErrorCount: f.rep.ErrorCount,
		Truncated: f.rep.Truncated, Gaps: f.rep.Gaps + f.rep.Sequences.Lost(), Errors: []string{},
	}
	var all decode.Report
	all.Merge(&f.rep) // sorts
	steps := f.rep.Steps.List()
	st.Steps = int64(len(steps))
	for _, s := range steps[:min(len(steps), maxSteps)] {
		all.Note(fmt.Sprintf("the wall clock of its process was set by %+.6g s at about %s", s.By.Seconds(), time.Unix(0, int64(s.At)).UTC().Format(time.RFC3339)))
	}
	for _, p := range all.Problems {
		if p.Offset == nowhere {
			st.Errors = append(st.Errors, f.in.Shown+": "+p.Text)
			continue
		}
		st.Errors = append(st.Errors, (&decode.SyntaxError{File: f.in.Shown, Line: p.Line, Offset: p.Offset, Err: errors.New(p.Text)}).Error())
	}
	other := ""
	for _, signal := range slices.Sorted(maps.Keys(f.rep.Signals)) {
		n := f.rep.Signals[signal]
		switch signal {
		case otlp.EmptyValue, otlp.EmptyExport, jaeger.EmptyAnswer, lct.Empty:
			all.Note(fmt.Sprintf("%s: %d", signal, n))
		default:
			all.Note(fmt.Sprintf("values of another signal, %s: %d", signal, n))
			other = signal
		}
	}
	st.Notes = all.Notes
	f.useless(&st, all.Problems, other)
	if st.Unusable != "" && !st.Foreign() && st.ErrorCount == 0 { // lost as a whole (R3.5)
		st.Errors, st.ErrorCount = []string{st.File + ": " + st.Unusable}, 1
	}
	return st
}

// useless says why nothing of the file could be used, where that is so: what was wrong with it, or that it holds another signal.
func (f *file) useless(st *model.InputStats, problems []decode.Problem, other string) {
	if f.refused != nil {
		st.Unusable = f.refused.Error()
		_, st.Unread = errors.AsType[*unread](f.refused)
		return
	}
	if st.Spans > 0 || st.Records > 0 || f.format == nil || f.pick {
		return
	}
	switch {
	case len(problems) > 0:
		st.Unusable = "nothing in it could be read: " + problems[0].Text
	case f.rep.Signals[otlp.EmptyExport] > 0 || f.rep.Signals[jaeger.EmptyAnswer] > 0 || f.rep.Signals[lct.Empty] > 0:
	case other != "":
		st.Unusable = "holds no traces, only " + other
	default:
		st.Unusable = "no spans in it"
	}
}
