package render

import "github.com/cbtrace/cbtrace/internal/analyze/report"

// Merge is the report of merged shards as a page: the shards come last.
func (v *View) Merge(d *report.MergeDocument) *Page {
	all := *v
	all.Repeated = d.InTwoShards
	p := all.Report(&d.Document)
	p.Title("Shards")
	t := &Table{Columns: []Column{{Name: "file"}, {Name: "requests", Kind: Tally}}}
	for _, s := range d.Shards {
		t.Add(Word(s.File), Of(s.Requests))
	}
	p.Table(t)
	return p
}

// repeatedWords say what it means that several of the reports that were added up count the same requests (R2.6).
func repeatedWords(n int64) string {
	are := "requests are"
	if n == 1 {
		are = "request is"
	}
	return "at least " + Count(n) + " " + are + " in more than one of the saved reports, and each of these counts them: counts, tokens and rates below are too high by that, " +
		"and percentiles and shares take such a request for several"
}
