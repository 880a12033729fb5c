package render

import (
	"flag"
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
	made := FindingsDoc()
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
