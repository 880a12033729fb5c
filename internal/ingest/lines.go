package ingest

import (
	"errors"
	"time"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/profile"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Inputs of lines that are no spans: CB_PROFILE lines and lookup hashes.

func sniffProfile(src *source) verdict { return src.isKind("cb-profile") }
func sniffHashes(src *source) verdict  { return src.isKind("lookup-hashes") }

// isKind reports whether the JSON values of an input are of a kind.
func (src *source) isKind(name string) verdict {
	if k, _ := src.values(); k != nil && k.name == name {
		return verdict{ok: true, name: name}
	}
	return verdict{}
}

// lines decodes a block of profile lines by the plan of its input.
func (w *worker) lines(blk decode.Block, rep *decode.Report) {
	if w.plan.Refused() != "" {
		return
	}
	for len(blk.Data) > 0 {
		n, lines := w.profile.Decode(blk, w.plan, w.batch, rep)
		blk.Line += lines
		blk.Offset += int64(n)
		if blk.Data = blk.Data[n:]; len(blk.Data) > 0 {
			w.flush()
		}
	}
}

// hashes decodes a block of lookup hashes.
func (w *worker) hashes(blk decode.Block, rep *decode.Report) {
	w.lookups.Decode(blk, w.batch, rep)
}

// lookAhead is how many bytes may be held while the first lines of an input are looked at.
const lookAhead = 32 << 20

// look makes the plan of an input from its first blocks, which the cutter that it returns gives once more.
func (f *file) look(cut cutter, keys *profile.Keys) cutter {
	var blocks []block
	var large []error // of what is passed over
	var end error
	held := 0
	h := profile.NewHead(keys)
	h.Given(f.given)
	for {
		b, err := cut(nil)
		if _, ok := errors.AsType[*tooLarge](err); ok {
			large = append(large, err)
			continue
		}
		if err != nil {
			end = err
			f.plan = h.Plan()
			break
		}
		blocks = append(blocks, b)
		held += len(b.data)
		if !h.Add(b.data) || held >= lookAhead {
			f.plan = h.Plan()
			break
		}
	}
	return func(buf []byte) (block, error) {
		if len(large) > 0 {
			err := large[0]
			large = large[1:]
			return block{}, err
		}
		if len(blocks) > 0 {
			b := blocks[0]
			blocks[0] = block{}
			blocks = blocks[1:]
			return b, nil
		}
		if end != nil {
			return block{}, end
		}
		return cut(buf)
	}
}

// finish decides what hangs on all lines of an input of profile lines, once everything was read (R4.12).
func (f *file) finish(spans days, now time.Time) {
	if f.plan == nil {
		return
	}
	near := spans.near
	if len(spans) == 0 {
		near = nil
	}
	out := f.plan.Finish(near, now)
	if out.Refused != "" {
		err := errors.New(out.Refused)
		f.dict.Refused.Store(true)
		f.rep = decode.Report{Bytes: f.rep.Bytes}
		f.rep.Problem(0, nowhere, err)
		f.refuse(f.name, err)
		return
	}
	f.dict.Family, f.dict.Plan = f.family, out.Plan
	if out.Unanchored {
		f.dict.Divisor.Store(out.Divisor)
	}
	for _, n := range out.Notes {
		f.rep.Note(n)
	}
}

// days are the first and the last instant of the spans that begin on each day, in ns.
type days map[int64]*[2]int64

const dayNS = int64(24 * time.Hour)

func (d days) add(first, last int64) {
	at := d[first/dayNS]
	if at == nil {
		d[first/dayNS] = &[2]int64{first, last}
		return
	}
	at[0], at[1] = min(at[0], first), max(at[1], last)
}

// addBatch takes in the spans of a batch.
func (d days) addBatch(b *model.Batch) {
	var first, last int64
	for i := range b.Records {
		r := &b.Records[i]
		t := int64(r.Start)
		if t <= 0 || r.Flags&(model.RecordLine|model.RecordPoint) != 0 {
			continue
		}
		if first == 0 || t/dayNS != first/dayNS {
			if first != 0 {
				d.add(first, last)
			}
			first, last = t, t
		}
		first, last = min(first, t), max(last, t)
	}
	if first != 0 {
		d.add(first, last)
	}
}

func (d days) merge(o days) {
	for _, at := range o {
		d.add(at[0], at[1])
	}
}

// near reports whether a span begins in an interval.
func (d days) near(from, to int64) bool {
	for _, at := range d {
		if at[0] <= to && at[1] >= from {
			return true
		}
	}
	return false
}
