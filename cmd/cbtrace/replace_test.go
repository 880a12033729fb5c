package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every flag that names a file to write is looked at before anything is read.
func TestFlagsThatWrite(t *testing.T) {
	writes := regexp.MustCompile("(write|save) .*to `FILE`")
	found := map[string]bool{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if writes.MatchString(f.Usage) {
				found[f.Name] = true
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&app{stderr: &screen{w: io.Discard}}))
	for name := range found {
		if !slices.Contains(writing, name) {
			t.Errorf("--%s writes a file and is not among %v", name, writing)
		}
	}
	if len(found) != len(writing) {
		t.Errorf("found %v, want %v", found, writing)
	}
}

// A file that is standard input is not written over either.
func TestSpareStandardInput(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "otlp", "engine.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var stderr strings.Builder
	got := run([]string{"report", "-", "-o", path}, in, io.Discard, &stderr)
	if now, _ := os.ReadFile(path); got != exitUsage || !bytes.Equal(now, text) || stderr.String() != "cbtrace: --output "+path+" would replace standard input, which is read: want another file\n" {
		t.Errorf("status %d, %q", got, stderr.String())
	}
}
