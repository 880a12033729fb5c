package model

import (
	"cmp"
	"slices"
	"strconv"
)

// middles makes a cb.schedule or cb.execute where none was recorded and two spans or more of one process and attempt would hang under it (R4.15).
func (b *Builder) middles(r *Request) {
	var attempts []Attempt
	for _, stage := range [...]Stage{StageSchedule, StageExecute} {
		if len(b.byStage[stage]) > 0 {
			continue
		}
		b.order = b.order[:0]
		for _, s := range b.waiting {
			if s.Known() && !s.Has(FlagUntimed) && slices.Contains(Stages[s.Stage].Parents, stage) {
				b.order = append(b.order, s)
			}
		}
		if len(b.order) < 2 {
			continue
		}
		if attempts == nil {
			attempts = r.Attempts(&b.attempts)
		}
		of := AttemptOf
		if stage == StageSchedule {
			of = ScheduleAttemptOf
		}
		for _, s := range b.order {
			s.Mark = of(attempts, s.Start)
		}
		slices.SortFunc(b.order, func(x, y *Span) int {
			if c := cmp.Or(cmp.Compare(r.Dict.Proc(x.Proc).Name, r.Dict.Proc(y.Proc).Name), cmp.Compare(x.Mark, y.Mark)); c != 0 {
				return c
			}
			v, w := r.writerOf(x), r.writerOf(y)
			return cmp.Or(cmp.Compare(v.pid, w.pid), cmp.Compare(v.rank, w.rank), r.compareSpans(x, y))
		})
		for lo := 0; lo < len(b.order); {
			first, hi := b.order[lo], lo+1
			for hi < len(b.order) && b.order[hi].Proc == first.Proc && b.order[hi].Mark == first.Mark && r.writerOf(b.order[hi]) == r.writerOf(first) {
				hi++
			}
			if hi-lo >= 2 {
				beside := func(i int) bool {
					return i >= 0 && i < len(b.order) && b.order[i].Proc == first.Proc && b.order[i].Mark == first.Mark
				}
				b.middle(r, stage, b.order[lo:hi], beside(lo-1) || beside(hi))
			}
			lo = hi
		}
	}
}

// A lineWriter tells apart the processes that write lines to one file.
type lineWriter struct {
	pid  int64
	rank string // where there is no pid
}

func (w lineWriter) String() string {
	if w.pid != 0 {
		return strconv.FormatInt(w.pid, 10)
	}
	return w.rank
}

// writerOf is the zero value for spans, and for lines whose process turned out to be an instance.
func (r *Request) writerOf(s *Span) (w lineWriter) {
	if !s.Line {
		return w
	}
	switch res := r.Dict.Res(s.Res); {
	case res.Proc != s.Proc:
	case res.PID != 0:
		w.pid = res.PID
	default:
		w.rank = s.Worker()
	}
	return w
}

// middle makes a level above spans of one process; several says that the name of the process does not tell it apart from another with such a level.
func (b *Builder) middle(r *Request, stage Stage, kids []*Span, several bool) {
	m := b.make(stage, kids[0].Proc, kids[0].Mark)
	if several {
		m.ID = SyntheticID(stage, r.Dict.Process(r.Dict.Proc(m.Proc).Name+":"+r.writerOf(kids[0]).String()), kids[0].Mark)
	}
	m.Res = kids[0].Res
	m.Start, m.End = kids[0].Start, kids[0].End
	for _, k := range kids {
		m.Start, m.End = min(m.Start, k.Start), max(m.End, k.End)
		k.Parent = m
	}
	m.Clock, m.RawStart, m.RawEnd = kids[0].Clock, m.Start, m.End
	if a := r.alignment(m.Clock); a != nil {
		m.RawStart, m.RawEnd = m.Start-Time(a.Shift), m.End-Time(a.Shift)
	}
	b.addToStage(m)
	b.waiting = append(b.waiting, m)
	r.Spans = append(r.Spans, m)
}
