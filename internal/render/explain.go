package render

import (
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
)

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

// Explain is findings as a page: a few in full, more than that in a line each.
func Explain(docs []Explanation) *Page {
	p := &Page{Main: "findings"}
	t := &Table{Name: "findings", Columns: []Column{{Name: "finding", Key: "code"}, {Name: "severity", Drop: 1}, {Name: "about", Key: "scope", Drop: 2}, {Name: "meaning", Shrink: true},
		{Name: "detected", Hidden: true}, {Name: "what to do", Hidden: true}}}
	for _, d := range docs {
		t.Add(Word(d.Code), Word(d.Severity), Word(d.Scope), Word(d.Meaning), Word(d.Detected), Word(d.WhatToDo))
	}
	p.Data(t)
	if len(docs) > explainedInFull {
		for _, severity := range []string{"error", "warning", "note"} {
			p.Title(strings.ToUpper(severity[:1]) + severity[1:] + "s")
			for _, d := range docs {
				if d.Severity == severity {
					p.Item(Toned(Strong, d.Code) + ": " + d.Meaning)
				}
			}
		}
		return p
	}
	for _, d := range docs {
		p.Title(d.Code + " (" + d.Severity + " about a " + d.Scope + ")")
		p.Say(d.Meaning)
		p.Say("Shown when: " + d.Detected)
		p.Say("What to do: " + d.WhatToDo)
	}
	return p
}

// explainedInFull is how many findings are explained in full: the kinds of double loads, not the whole registry.
const explainedInFull = 8
