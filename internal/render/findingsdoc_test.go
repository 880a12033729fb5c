package render

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
)

var update = flag.Bool("update", false, "write what is made into the files that are held against it")

// docs/findings.md is what the registry says.
func TestFindingsDoc(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "findings.md")
	made := findingsDoc()
	if *update {
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != made {
		t.Errorf("%s is not what the registry says: go test ./internal/render -update", path)
	}
	for _, f := range finding.Registry {
		for _, part := range []string{"](#" + strings.ReplaceAll(f.Code, ".", "") + ") | " + f.Scope.String() + " | " + f.Severity.String() + " |\n", "\n## " + f.Code + "\n" + f.Meaning, f.Detected, f.WhatToDo} {
			if strings.Count(made, part) < 1 {
				t.Errorf("%s: the page lacks %q", f.Code, part)
			}
		}
	}
}

// findingsDoc is docs/findings.md: the registry of findings as a page, with their thresholds.
func findingsDoc() string {
	var b strings.Builder
	b.WriteString("# Findings\n\n" +
		"What `cbtrace` says about a request or a capture beside its numbers. `cbtrace explain CODE` prints one of these entries, `cbtrace inspect --finding CODE` shows a request that has it.\n" +
		"Errors are what failed; warnings are what costs time or makes numbers doubtful; notes are what is worth knowing. A finding that cannot be known for sure says *inferred*.\n" +
		"This page is made from the registry in `internal/analyze/finding` (`make golden`), and a test holds it against that.\n\n" +
		"| code | about | severity |\n|---|---|---|\n")
	for i := range finding.Registry {
		f := &finding.Registry[i]
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", f.Code, anchor(f.Code), f.Scope, f.Severity)
	}
	for i := range finding.Registry {
		f := &finding.Registry[i]
		fmt.Fprintf(&b, "\n## %s\n%s\n\n- **Detected:** %s\n- **What to do:** %s\n", f.Code, f.Meaning, f.Detected, f.WhatToDo)
	}
	return b.String()
}

// anchor is how a heading is linked to: letters, digits, - and _ stay.
func anchor(heading string) string { return strings.ReplaceAll(heading, ".", "") }
