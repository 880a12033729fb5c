package schema

import (
	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/analyze/check"
	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/analyze/list"
	"github.com/cbtrace/cbtrace/internal/analyze/recording"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/render"
)

// Documents are the documents that commands print, by command.
var Documents = []struct {
	Command string
	Doc     any
}{
	{"inspect", inspect.Document{}}, // with --all an array of these
	{"report", report.Document{}},
	{"merge", report.MergeDocument{}},
	{"list", list.Document{}}, // as jsonl its requests
	{"check", check.Document{}},
	{"gate", budget.Document{}},
	{"gate-selftest", budget.SelfTest{}},
	{"gate-budget", Budget()}, // what gate reads
	{"diff", budget.Diff{}},
	{"lct-info", recording.Document{}},
	{"explain", render.Explanation{}},
}

// Command is the schema of the document that a command prints; nil when it prints none.
func Command(name string) (*Schema, error) {
	for _, d := range Documents {
		if s, ok := d.Doc.(*Schema); ok && d.Command == name {
			return s, nil
		}
		if d.Command == name {
			return Of("cbtrace."+name+"/v1", d.Doc)
		}
	}
	return nil, nil
}
