package budget

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A budget file may be anything: rules, or a mistake that is told; a NUL in what is said comes from the file.
func FuzzBudget(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "budgets", "*.yaml"))
	if err != nil || len(files) < 10 {
		f.Fatalf("%d budgets, %v", len(files), err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := Parse("b", text, func(string, []string) string { return "" })
		if (b == nil) == (err == nil) {
			t.Fatalf("%v and %v", b, err)
		}
		if err == nil && len(b.Rules) == 0 {
			t.Fatal("no rule and no mistake")
		}
		if err != nil && bytes.ContainsRune([]byte(err.Error()), 0) && !bytes.ContainsRune(text, 0) {
			t.Fatal(err)
		}
	})
}
