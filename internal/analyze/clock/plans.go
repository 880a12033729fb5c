package clock

import (
	"maps"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Units of profile files: what a file's lines are read by is decided from all of the file and all of the capture's spans (R4.12). Readers that are given
// the table follow it, so that a shard reads its lines as the whole did (R2.2, R2.6).

// A filePlan is the plan of one file.
type filePlan struct {
	family  string
	plan    model.ProfilePlan
	several bool // surveys disagree about it: then nobody knows
}

// maxPlans bounds the files, those whose paths come first.
const maxPlans = 1 << 16

// AddFiles takes in what was decided of the profile files of the capture. All of them have been read.
func (v *Survey) AddFiles() {
	plans := map[string]filePlan{}
	_, _, files := v.dict.Sizes()
	for i := range files {
		if f := v.dict.File(model.FileID(i)); f.Plan != nil {
			plans[f.Path] = filePlan{family: f.Family, plan: *f.Plan}
		}
	}
	v.mergePlans(plans)
}

// Plans are the plans of files of profile lines, for readers.
func (v *Survey) Plans() *model.ProfilePlans {
	out := &model.ProfilePlans{}
	for path, p := range v.plans {
		if !p.several {
			out.Add(path, p.family, &p.plan)
		}
	}
	return out
}

func (v *Survey) mergePlans(plans map[string]filePlan) {
	for path, p := range plans {
		v.addPlan(path, p)
	}
	if len(v.plans) > maxPlans {
		for _, path := range slices.Sorted(maps.Keys(v.plans))[maxPlans:] {
			delete(v.plans, path)
		}
	}
}

func (v *Survey) addPlan(path string, p filePlan) {
	have, ok := v.plans[path]
	switch {
	case !ok && v.plans == nil:
		v.plans = map[string]filePlan{path: p}
	case !ok:
		v.plans[path] = p
	case have.several, p.several, have.family != p.family, !have.plan.Equal(&p.plan):
		v.plans[path] = filePlan{family: min(have.family, p.family), several: true}
	}
}

// appendPlans writes the plans in order of paths: path, family, whether surveys disagree, and unless they do the anchor, the divisor and the units.
func (e *encoder) appendPlans(plans map[string]filePlan) {
	e.uvarint(uint64(len(plans)))
	for _, path := range slices.Sorted(maps.Keys(plans)) {
		p := plans[path]
		e.text(path)
		e.text(p.family)
		e.b = append(e.b, when(p.several, 1))
		if p.several {
			continue
		}
		e.b = append(e.b, byte(p.plan.Anchor))
		e.uvarint(uint64(p.plan.Divisor))
		e.uvarint(uint64(len(p.plan.Units)))
		for _, u := range p.plan.Units {
			e.text(u.Key)
			e.b = append(e.b, byte(u.Unit))
		}
	}
}

func (d *decoder) plans(v *Survey) {
	n := d.count(3)
	d.require(n <= maxPlans)
	prev := ""
	for i := range n {
		path := d.text()
		d.require(i == 0 || path > prev)
		prev = path
		p := filePlan{family: d.text()}
		flag := d.bytes(1)[0]
		d.require(flag <= 1)
		if p.several = flag == 1; !p.several {
			d.plan(&p.plan)
		}
		if d.bad {
			return
		}
		v.addPlan(path, p)
	}
}

func (d *decoder) plan(p *model.ProfilePlan) {
	p.Anchor = model.ProfileAnchor(d.bytes(1)[0])
	p.Divisor = d.number()
	d.require(p.Anchor < model.NumAnchors && (p.Divisor > 0) == (p.Anchor == model.AnchorNone))
	prev := ""
	for i := range d.count(2) {
		u := model.ProfileKeyUnit{Key: d.text(), Unit: model.ProfileUnit(d.bytes(1)[0])}
		d.require((i == 0 || u.Key > prev) && slices.Contains(units[:], u.Unit))
		if d.bad {
			return
		}
		prev = u.Key
		p.Units = append(p.Units, u)
	}
}

// units are those that a time may be in.
var units = [...]model.ProfileUnit{model.Nanoseconds, model.Microseconds, model.Milliseconds, model.Seconds}
