package render

import "github.com/cbtrace/cbtrace/internal/analyze/finding"

// An Explanation is the document of `cbtrace explain`: one finding.
type Explanation struct {
	Schema   string `json:"schema" enum:"cbtrace.explain/v1" doc:"name and version of this document"`
	Code     string `json:"code"`
	Scope    string `json:"scope" enum:"request|capture" doc:"what it is about"`
	Severity string `json:"severity" enum:"error|warning|note"`
	Meaning  string `json:"meaning"`
	Detected string `json:"detected" doc:"when it is shown, with its threshold"`
	WhatToDo string `json:"what_to_do"`
}

// ExplanationOf is the finding of a number in the registry.
func ExplanationOf(n int) Explanation {
	f := &finding.Registry[n]
	return Explanation{"cbtrace.explain/v1", f.Code, f.Scope.String(), f.Severity.String(), f.Meaning, f.Detected, f.WhatToDo}
}

// Explain is findings as a page.
func Explain(docs []Explanation) *Page {
	p := &Page{}
	for _, d := range docs {
		p.Title(d.Code + " (" + d.Severity + " about a " + d.Scope + ")")
		p.Say(d.Meaning)
		p.Say("Shown when: " + d.Detected)
		p.Say("What to do: " + d.WhatToDo)
	}
	return p
}

// Findings is every finding in a line.
func Findings() *Table {
	t := &Table{Columns: []Column{{Name: "finding"}, {Name: "severity", Drop: 1}, {Name: "about", Drop: 2}, {Name: "meaning", Shrink: true}}}
	for i := range finding.Registry {
		f := &finding.Registry[i]
		t.Add(Word(f.Code), Word(f.Severity.String()), Word(f.Scope.String()), Word(f.Meaning))
	}
	return t
}
