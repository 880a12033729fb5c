package split

import (
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A Transfer is R7.8, of one mp.store or mp.retrieve with transfer.* children. Kernel and Staging are the sums of what their bars say
// (elapsed_seconds), Idle is the parent's duration less both: Kernel + Staging + Idle is the parent, and Idle is negative where phases ran side
// by side. Bytes are those staged. The kernel interval is mostly waiting for the engine, so there is no rate for it.
type Transfer struct {
	model.RowTransfer
	Span        *model.Span // the mp.store or mp.retrieve
	First, Last model.Opt   // real first and last instant, ns since the epoch on the server's clock: bars are drawn one after the other
}

// StagingRate is Bytes per ns of Staging, which is decimal GB/s.
func (t *Transfer) StagingRate() (float64, bool) {
	if t.Staging <= 0 {
		return 0, false
	}
	return float64(t.Bytes) / float64(t.Staging), true
}

func (sp *Splitter) transfers() {
	sp.out.Transfers = sp.out.Transfers[:0]
	for _, stage := range [...]model.Stage{model.StageMPStore, model.StageMPRetrieve} {
		for _, s := range sp.of[stage] {
			if usable(s) && !s.Has(model.FlagShutdown) {
				if t, ok := transferOf(s); ok {
					sp.out.Transfers = append(sp.out.Transfers, t)
				}
			}
		}
	}
	slices.SortFunc(sp.out.Transfers, func(a, b Transfer) int { return sp.order(a.Span, b.Span) })
}

func transferOf(s *model.Span) (Transfer, bool) {
	t, bars := Transfer{Span: s}, false
	for _, k := range s.Kids {
		if k.Stage != model.StageTransferKernel && k.Stage != model.StageTransferStaging {
			continue
		}
		bars = true
		took, ok := k.Seconds(model.AttrElapsedSeconds)
		if !ok {
			took = max(0, k.Dur()) // a bar is as long as what it stands for
		}
		if k.Stage == model.StageTransferKernel {
			t.Kernel += int64(took)
		} else {
			t.Staging += int64(took)
			t.Bytes += k.Count(model.AttrNBytes)
		}
		if first, ok := k.Seconds(model.AttrFirstStartS); ok && (!t.First.OK || int64(first) < t.First.V) {
			t.First = model.Some(int64(first))
		}
		if last, ok := k.Seconds(model.AttrLastEndS); ok && (!t.Last.OK || int64(last) > t.Last.V) {
			t.Last = model.Some(int64(last))
		}
	}
	t.Idle = int64(s.Dur()) - t.Kernel - t.Staging
	return t, bars
}
