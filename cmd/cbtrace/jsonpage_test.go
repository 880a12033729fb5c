package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/cbtrace/cbtrace/internal/render/schema"
)

// docs/json.md is what the types of the documents say.
func TestJSONPage(t *testing.T) {
	var want bytes.Buffer
	if err := schema.Markdown(&want); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "json.md")
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want.Bytes()) {
		t.Error("docs/json.md is not what the documents are: go test ./cmd/cbtrace -run TestJSONPage -update")
	}
}
