package render

import (
	"fmt"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/list"
)

// List is requests as a table, one a row.
func (v *View) List(d *list.Document) *Page {
	p := &Page{Main: "requests"}
	day := v.oneDay(d)
	start := Column{Name: "start", Page: true, Shrink: true, Tail: true, Least: 14, Drop: 4}
	if day != "" {
		start.Name = "start " + day
	}
	ttft, duration := Column{Name: "ttft", Kind: Time, Drop: 1}, Column{Name: "duration", Kind: Time, Drop: 1}
	if leadsByTTFT(d) { // where space is short the one by which requests are judged stays (R4.28)
		ttft.Drop = 0
	} else {
		duration.Drop = 0
	}
	hit := Column{Name: "hit", Key: "hit_rate", Kind: Share, Drop: 2}
	findings := Column{Name: "findings", Page: true, Shrink: true, Tail: true, Least: 14, Drop: 3} // the gravest, and how many more
	switch v.Sort {
	case list.ByDuration.String():
		duration.Drop = 0
	case list.ByTTFT.String():
		ttft.Drop = 0
	case list.ByHitRate.String():
		hit.Drop = 0
	case list.ByFindings.String():
		findings.Drop = 0
	case list.ByStart.String(), "":
		start.Drop = 0
	}
	t := &Table{Name: "requests", Columns: []Column{
		{Name: "request", Key: "id"},
		{Name: "external id", Hidden: true},
		start,
		{Name: "start", Hidden: true},
		{Name: "start", Key: "start_unix_ns", Kind: Tally, Hidden: true},
		ttft,
		duration,
		hit,
		{Name: "class", Key: "hit_class", Idle: "none", Drop: 7},
		{Name: "most in", Page: true, Most: 32, Drop: 5}, // of the root what limited its own time
		{Name: "top stage", Hidden: true},
		{Name: "top bound", Hidden: true},
		{Name: "loads", Key: "verdict", Idle: "none", Drop: 6},
		findings,
		{Name: "findings", Hidden: true},
		{Name: "model", Shrink: true, Most: nameMost, Least: 12, Drop: 8},
		{Name: "instance", Shrink: true, Most: nameMost, Least: 12, Drop: 9},
	}}
	for i := range d.Requests {
		r := &d.Requests[i]
		var short, full Cell
		if r.StartUnixNS.OK {
			text := Instant(r.StartUnixNS.V, v.Where)
			short, full = Word(strings.TrimPrefix(text, day+"T")), Word(text)
		}
		t.Add(Word(r.ID), Word(r.ExternalID), short, full, Known(r.StartUnixNS), Known(r.TTFTNS), Known(r.DurationNS), KnownFloat(r.HitRate), Word(r.HitClass),
			Word(topWord(r.TopStage, r.TopBound)), Word(r.TopStage), Word(r.TopBound), Word(r.Verdict),
			Word(worst(r.Findings)), Word(strings.Join(r.Findings, " ")), Word(r.Model), Word(r.Instance))
	}
	p.Table(t)
	switch {
	case d.Of.OK:
		p.Say(fmt.Sprintf("%s of %s: the saved report keeps a sample of %s.", Count(d.Shown), Plural(d.Total, "request"), Plural(d.Of.V, "request")))
	case d.Shown < d.Total:
		p.Say(fmt.Sprintf("%s of %s.", Count(d.Shown), Plural(d.Total, "request")))
	}
	return p
}

// leadsByTTFT reports whether at least half of the requests have a time to first token.
func leadsByTTFT(d *list.Document) bool {
	n := 0
	for i := range d.Requests {
		if d.Requests[i].TTFTNS.OK {
			n++
		}
	}
	return 2*n >= len(d.Requests)
}

// worst is the gravest of some findings, and how many more there are.
func worst(codes []string) string {
	switch len(codes) {
	case 0:
		return ""
	case 1:
		return codes[0]
	}
	return fmt.Sprintf("%s +%d", codes[0], len(codes)-1)
}

// oneDay is the day on which all of the requests began, "" where it is not one.
func (v *View) oneDay(d *list.Document) string {
	day := ""
	for i := range d.Requests {
		if at := d.Requests[i].StartUnixNS; at.OK {
			switch this, _, _ := strings.Cut(Instant(at.V, v.Where), "T"); {
			case day == "":
				day = this
			case day != this:
				return ""
			}
		}
	}
	return day
}
