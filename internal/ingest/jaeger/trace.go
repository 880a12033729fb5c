package jaeger

import (
	"github.com/cbtrace/cbtrace/internal/model"
)

// A trace is what is known of the trace that is read now: its records are those of the batch from first on.
type trace struct {
	first int
	id    model.TraceID // of spans that have none
	alone bool          // one span by itself: what it refers to is elsewhere

	procs   []process // in the order of their first mention
	byName  map[model.StrID]int32
	last    int32
	procOf  []int32 // of each record: its process, or one of the two below
	follows []follow
	ids     map[model.SpanID]struct{} // of the records, when they are many
}

const (
	noProc     = -1
	inlineProc = -2 // the span has its process in itself
)

// A process is one of the trace's processes, by the name that spans use ("p1").
type process struct {
	name  model.StrID
	res   model.ResID
	known bool
}

// A follow is a record whose only references are FOLLOWS_FROM: the first of them is its parent if the trace has that span.
type follow struct {
	record int
	parent model.SpanID
}

// fewProcs is up to how many processes are looked for one by one, fewSpans up to how many spans.
const (
	fewProcs = 16
	fewSpans = 64
)

// begin starts a trace at the end of the batch, and ends the one before it.
func (d *Decoder) begin() {
	d.end()
	t := &d.trace
	t.first, t.id, t.alone = len(d.b.Records), model.TraceID{}, false
}

// end gives the records of the trace what they could not know when they were read.
func (d *Decoder) end() {
	t := &d.trace
	records := d.b.Records[min(t.first, len(d.b.Records)):]
	d.rep.Spans += int64(len(records))
	for i := range records {
		r := &records[i]
		if r.Trace.IsZero() {
			r.Trace = t.id
		}
		switch p := t.procOf[i]; {
		case p >= 0 && t.procs[p].known:
			r.Res = t.procs[p].res
		case p != inlineProc:
			r.Res = d.noResource()
		}
	}
	if len(t.follows) > 0 && len(records) > fewSpans {
		if t.ids == nil {
			t.ids = map[model.SpanID]struct{}{}
		}
		for i := range records {
			t.ids[records[i].ID] = struct{}{}
		}
	}
	for _, f := range t.follows {
		if t.has(records, f.parent) {
			d.b.Records[f.record].Parent = f.parent
		}
	}
	t.first = len(d.b.Records)
	t.procs, t.procOf, t.follows, t.last = t.procs[:0], t.procOf[:0], t.follows[:0], noProc
	clear(t.byName)
	clear(t.ids)
}

func (t *trace) has(records []model.Record, id model.SpanID) bool {
	if len(records) > fewSpans {
		_, ok := t.ids[id]
		return ok
	}
	for i := range records {
		if records[i].ID == id {
			return true
		}
	}
	return false
}

// proc is the index of the process of a name.
func (t *trace) proc(name model.StrID) int32 {
	if t.last >= 0 && t.procs[t.last].name == name {
		return t.last
	}
	t.last = t.search(name)
	return t.last
}

func (t *trace) search(name model.StrID) int32 {
	n := int32(len(t.procs))
	if n <= fewProcs {
		for i := range t.procs {
			if t.procs[i].name == name {
				return int32(i)
			}
		}
	} else if i, ok := t.byName[name]; ok {
		return i
	}
	t.procs = append(t.procs, process{name: name})
	switch {
	case n == fewProcs: // from now on there is a map
		if t.byName == nil {
			t.byName = map[model.StrID]int32{}
		}
		for i := range t.procs {
			t.byName[t.procs[i].name] = int32(i)
		}
	case n > fewProcs:
		t.byName[name] = n
	}
	return n
}
