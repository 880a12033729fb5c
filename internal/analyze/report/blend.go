package report

import "github.com/cbtrace/cbtrace/internal/model"

// blendSums are R7.7 over requests: a number is unknown when no request gave it, a rate sums both its parts over the requests that gave both.
type blendSums struct {
	l2Bytes, l2Chunks, matches, tableHits, probes, l1Hits, l2Misses, scatteredTokens, slotWrites,
	prefixChunks, shiftedChunks, droppedChunks, partialBlocks, impCount, impEmpty optSum
	l2Rate, scatterRate      rateSum
	matchesPerLookup, recomp series // in units of 2⁻³²
	dispatch                 counters
}

func newBlendSums() blendSums {
	return blendSums{dispatch: newCapped[string, counter](maxReasons, itself)}
}

// rateSum is an amount and the ns it took.
type rateSum struct{ amount, ns sum }

func (r *rateSum) add(amount, ns model.Opt) {
	if amount.OK && ns.OK {
		r.amount.add(amount.V)
		r.ns.add(ns.V)
	}
}

func (r *rateSum) merge(o rateSum) {
	r.amount.merge(o.amount)
	r.ns.merge(o.ns)
}

func (b *blendSums) sums() [15]*optSum {
	return [15]*optSum{&b.l2Bytes, &b.l2Chunks, &b.matches, &b.tableHits, &b.probes, &b.l1Hits, &b.l2Misses, &b.scatteredTokens, &b.slotWrites,
		&b.prefixChunks, &b.shiftedChunks, &b.droppedChunks, &b.partialBlocks, &b.impCount, &b.impEmpty}
}

func (b *blendSums) add(r *model.RowBlend) {
	b.l2Bytes.add(r.L2Bytes)
	b.l2Chunks.add(r.L2Chunks)
	b.matches.add(r.Matches)
	b.tableHits.add(r.TableHits)
	b.probes.add(r.Probes)
	b.l1Hits.add(r.L1Hits)
	b.l2Misses.add(r.L2Misses)
	b.scatteredTokens.add(r.ScatteredTokens)
	b.slotWrites.add(r.SlotWrites)
	b.prefixChunks.add(r.PrefixChunks)
	b.shiftedChunks.add(r.ShiftedChunks)
	b.droppedChunks.add(r.DroppedChunks)
	b.partialBlocks.add(r.PartialBlocks)
	b.impCount.add(r.ImpCount)
	b.impEmpty.add(model.Opt{V: r.ImpEmpty, OK: r.HasImpEmpty})
	b.l2Rate.add(r.L2Bytes, r.L2Union)
	b.scatterRate.add(r.ScatteredTokens, r.ScatterUnion)
	// Rows keep the matches of all lookups together: each of them counts with their mean.
	if r.Matches.OK && r.Lookups.V > 0 {
		if x, ok := fixed(float64(r.Matches.V) / float64(r.Lookups.V)); ok {
			for range min(r.Lookups.V, 1<<16) {
				b.matchesPerLookup.add(x)
			}
		}
	}
	for _, ratio := range r.RecompRatios {
		if x, ok := fixed(ratio); ok {
			b.recomp.add(x)
		}
	}
	for _, d := range r.Dispatches {
		*b.dispatch.at(d)++
	}
}

func (b *blendSums) merge(o *blendSums) {
	from := o.sums()
	for i, to := range b.sums() {
		to.merge(*from[i])
	}
	b.l2Rate.merge(o.l2Rate)
	b.scatterRate.merge(o.scatterRate)
	b.matchesPerLookup.merge(&o.matchesPerLookup)
	b.recomp.merge(&o.recomp)
	b.dispatch.merge(&o.dispatch)
}

func (b *blendSums) document(m Method) Blend {
	perSecond := b.scatterRate.amount.over(b.scatterRate.ns)
	perSecond.V *= second
	return Blend{
		L2Bytes: b.l2Bytes.opt(), L2Chunks: b.l2Chunks.opt(), L2GBps: b.l2Rate.amount.over(b.l2Rate.ns), Matches: b.matches.opt(),
		TableHits: b.tableHits.opt(), Probes: b.probes.opt(), L1Hits: b.l1Hits.opt(), L2Misses: b.l2Misses.opt(),
		ScatteredTokens: b.scatteredTokens.opt(), SlotWrites: b.slotWrites.opt(), PrefixChunks: b.prefixChunks.opt(),
		ShiftedChunks: b.shiftedChunks.opt(), DroppedChunks: b.droppedChunks.opt(), PartialBlocks: b.partialBlocks.opt(),
		ScatterTokensPerS: perSecond, ImpCount: b.impCount.opt(), MatchesPerLookup: b.matchesPerLookup.ratios(m), RecompRatio: b.recomp.ratios(m),
		Dispatch: countsOf(&b.dispatch), ImpEmpty: b.impEmpty.opt(),
	}
}

// transferSums are R7.8 over stores and retrieves.
type transferSums struct {
	n                     int64
	bytes                 sum
	kernel, staging, idle series
}

func (t *transferSums) add(r *model.RowTransfer) {
	t.n++
	t.bytes.add(r.Bytes)
	t.kernel.add(r.Kernel)
	t.staging.add(r.Staging)
	t.idle.add(r.Idle)
}

func (t *transferSums) merge(o *transferSums) {
	t.n += o.n
	t.bytes.merge(o.bytes)
	t.kernel.merge(&o.kernel)
	t.staging.merge(&o.staging)
	t.idle.merge(&o.idle)
}

func (t *transferSums) document(m Method) Transfers {
	return Transfers{
		N: t.n, Kernel: t.kernel.document(m), Staging: t.staging.document(m), Idle: t.idle.document(m),
		Bytes: model.Opt{V: t.bytes.int64(), OK: t.n > 0}, StagingGBps: t.bytes.over(t.staging.total()),
	}
}
