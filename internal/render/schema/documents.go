package schema

import (
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/analyze/check"
	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/analyze/list"
	"github.com/cbtrace/cbtrace/internal/analyze/recording"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/render"
)

// all is behind the name of a command that prints several of its documents as an array.
const all = "-all"

// Documents are the documents that commands print, by command.
var Documents = []struct {
	Command string
	Doc     any
}{
	{"inspect", inspect.Document{}},
	{"inspect" + all, []inspect.Document{}},
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
	{"explain" + all, []render.Explanation{}},
}

// arrays says of which runs a document is an array.
var arrays = map[string]string{
	"inspect" + all: "what inspect --all prints, and inspect of more than one request",
	"explain" + all: "what explain prints of more than one finding",
}

// Command is the schema of the document that a command prints; nil when it prints none.
func Command(name string) (*Schema, error) {
	for _, d := range Documents {
		if d.Command != name {
			continue
		}
		if s, ok := d.Doc.(*Schema); ok {
			return s, nil
		}
		one, several := strings.CutSuffix(name, all)
		title := "cbtrace." + one + "/v1"
		if several {
			title += "[]"
		}
		s, err := Of(title, d.Doc)
		if err == nil {
			s.Description = arrays[name]
		}
		return s, err
	}
	return nil, nil
}
