package render

import "github.com/cbtrace/cbtrace/internal/analyze/report"

// Merge is the report of merged shards as a page: the shards first.
func (v *View) Merge(d *report.MergeDocument) *Page {
	p := &Page{Main: "stages"}
	p.Title("Shards")
	t := &Table{Columns: []Column{{Name: "file"}, {Name: "requests", Kind: Tally}}}
	for _, s := range d.Shards {
		t.Add(Word(s.File), Of(s.Requests))
	}
	p.Table(t)
	if d.InTwoShards > 0 {
		p.Say("At least " + Plural(d.InTwoShards, "request") + " in two shards: counted in each of them.")
	}
	if d.Survey == report.SurveyPerShard {
		p.Say("Clocks estimated per shard.")
	}
	p.Title("All")
	p.parts = append(p.parts, v.Report(&d.Document).parts...)
	return p
}
