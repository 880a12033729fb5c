package report

import (
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// lookupSums are the splits of all lookups (R7.1–R7.3). The parts are those of the bases measured and inferred_upper, zeros included;
// server and wait those of no_rpc (R8.2).
type lookupSums struct {
	n, atMost, l2Nonzero int64
	basis                [model.NumBases]int64
	clocked, uncertainty int64 // lookups whose clocks are known against each other; how well, in ns, added up
	rpc, submit, l2Load, serverOther, pollWait,
	server, wait series
}

func (s *lookupSums) parts() [7]*series {
	return [7]*series{&s.rpc, &s.submit, &s.l2Load, &s.serverOther, &s.pollWait, &s.server, &s.wait}
}

func (s *lookupSums) add(l *model.RowLookup) {
	s.n++
	s.basis[l.Basis]++
	if l.AtMost {
		s.atMost++
	}
	switch l.Basis {
	case model.Measured, model.InferredUpper:
		s.rpc.addOpt(l.RPC)
		s.submit.addOpt(l.Submit)
		s.l2Load.addOpt(l.L2Load)
		s.serverOther.addOpt(l.ServerOther)
		s.pollWait.addOpt(l.PollWait)
		if l.L2Load.V > 0 {
			s.l2Nonzero++
		}
		if l.Uncertainty.OK {
			s.clocked++
			s.uncertainty += min(l.Uncertainty.V, mostUncertain)
		}
	case model.NoRPC:
		s.server.addOpt(l.Server)
		s.wait.addOpt(l.Wait)
	}
}

func (s *lookupSums) merge(o *lookupSums) {
	s.n += o.n
	s.atMost += o.atMost
	s.l2Nonzero += o.l2Nonzero
	s.clocked += o.clocked
	s.uncertainty += o.uncertainty
	for i, n := range o.basis {
		s.basis[i] += n
	}
	from := o.parts()
	for i, p := range s.parts() {
		p.merge(from[i])
	}
}

// mostUncertain keeps the sum of a day in range, in ns.
const mostUncertain = int64(time.Minute)

func (s *lookupSums) document(m Method) Lookup {
	uncertainty := model.Opt{}
	if s.clocked > 0 {
		uncertainty = model.Some((s.uncertainty + s.clocked - 1) / s.clocked)
	}
	return Lookup{
		UncertaintyNS: uncertainty,
		N:             s.n, RPC: s.rpc.document(m), Submit: s.submit.document(m), L2Load: s.l2Load.document(m), ServerOther: s.serverOther.document(m),
		PollWait: s.pollWait.document(m), Wait: s.wait.document(m), L2LoadNNonzero: s.l2Nonzero, AtMost: s.atMost,
		Totals: LookupTotals{s.rpc.totalOpt(), s.submit.totalOpt(), s.l2Load.totalOpt(), s.serverOther.totalOpt(), s.pollWait.totalOpt(), s.server.totalOpt(), s.wait.totalOpt()},
		Basis:  Bases{s.basis[model.Measured], s.basis[model.InferredUpper], s.basis[model.DurationsOnly], s.basis[model.NoServer], s.basis[model.NoRPC]},
	}
}
