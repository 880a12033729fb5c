package profile

import "github.com/cbtrace/cbtrace/internal/model"

// What says something about the process stands in every line and rarely changes: "pid":4242,"role":"scheduler"} to the end of the line. A value of such a
// key is compared with the one before; several of them, with the texts between, are one run of bytes, for which one comparison does.

// A run is what stood behind a value: texts and the values of keys that say something about the process, as far as the next other value or the end of
// the line. One comparison reads all of it.
type run struct {
	raw   []byte
	end   *spot // the last of its texts
	pid   int64
	role  []byte
	attrs []runAttr
}

type runAttr struct {
	key  model.AttrKey
	text bool
	from int // in raw
	to   int
}

// hit is the run behind a value that is there again at b[i].
func (p *spot) hit(b []byte, i int) *run {
	for k := range p.runs[:p.nRuns] {
		r := &p.runs[k]
		if n := len(r.raw); i+n <= len(b) && string(b[i:i+n]) == string(r.raw) {
			return r
		}
	}
	return nil
}

// apply takes what a run says.
func (d *Decoder) apply(r *run) {
	if r.pid != 0 {
		d.line.pid, d.line.fromProc = r.pid, false
	}
	if len(r.role) > 0 {
		d.line.role = r.role
	}
	for _, a := range r.attrs {
		if a.text {
			d.batch.AddText(a.key, r.raw[a.from:a.to])
		} else {
			d.addNumber(a.key, r.raw[a.from:a.to])
		}
	}
}

// A tracker follows what stands behind a value of the line that is read, so as to make a run of it.
type tracker struct {
	base  *spot // after its value
	from  int   // where that ends
	last  *spot // the last text
	build run
}

// pass notes that the value at a spot, which stands at b[i:end], is what it was on the line before.
func (d *Decoder) pass(p *spot, i, end int) {
	t := &d.track
	t.last = p
	if p.role == model.ProfilePID {
		t.build.pid = p.pid
	} else if d.keys.list[p.key].Attr == model.AttrRole {
		t.build.role = p.seen
	}
	if p.attr != model.AttrNone {
		a := runAttr{key: p.attr, text: p.isText(), from: i - t.from, to: end - t.from}
		if byte(p.same.words[0]) == '"' {
			a.from, a.to = a.from+1, a.to-1
		}
		t.build.attrs = append(t.build.attrs, a)
	}
}

// endRun ends the run that is tracked, if it holds anything: before b[i], or behind the text that closes the line.
func (d *Decoder) endRun(at *spot, b []byte, i, end int) {
	t := &d.track
	p := t.base
	if p == nil {
		return
	}
	if t.base = nil; t.last == nil {
		p.cool = coolLines
		return
	}
	if at.last {
		t.last = at
	}
	r := &p.runs[p.turn]
	p.turn, p.cool, p.nRuns = (p.turn+1)%len(p.runs), coolLines, max(p.nRuns, p.turn+1)
	r.raw, r.end, r.pid = append(r.raw[:0], b[t.from:end]...), t.last, t.build.pid
	r.role, r.attrs = append(r.role[:0], t.build.role...), append(r.attrs[:0], t.build.attrs...)
}

// beginRun begins to track what stands behind the value of a spot.
func (d *Decoder) beginRun(p *spot, end int) {
	t := &d.track
	t.base, t.from, t.last = p, end, nil
	t.build.pid, t.build.role, t.build.attrs = 0, nil, t.build.attrs[:0]
}

// remember keeps a value that says something about the process: the next line will have it too. raw is the value as it is written.
func (d *Decoder) remember(p *spot, raw, t []byte) {
	if p.role != model.ProfilePID && p.role != model.ProfileProcess {
		return
	}
	if p.same.size = 0; len(raw) <= maxSame && !(p.role == model.ProfilePID && d.line.fromProc) {
		p.same, p.seen, p.pid = patternOf(raw), append(p.seen[:0], t...), d.line.pid
	}
}

// isText reports whether the value before, of a spot that keeps it, is kept as text.
func (p *spot) isText() bool {
	return byte(p.same.words[0]) == '"' || p.attr < model.NumAttrs && model.Attrs[p.attr].Type == model.Text
}

// again takes the value that was there on the line before, and returns where it ends.
func (d *Decoder) again(p *spot, i int) int {
	end := i + p.same.size
	if d.track.base != nil {
		d.pass(p, i, end)
	}
	if p.role == model.ProfilePID {
		d.line.pid, d.line.fromProc = p.pid, false
	} else if d.keys.list[p.key].Attr == model.AttrRole {
		d.line.role = p.seen
	}
	switch {
	case p.attr == model.AttrNone:
	case p.isText():
		d.batch.AddText(p.attr, p.seen)
	default:
		d.addNumber(p.attr, p.seen)
	}
	return end
}
