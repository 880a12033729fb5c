package render

import (
	"fmt"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
)

// FindingsDoc is docs/findings.md: the registry of findings as a page, with their thresholds.
func FindingsDoc() string {
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
