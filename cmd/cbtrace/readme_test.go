package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Every console block of the README is run in the root of the repository: lines that begin with $ are commands, the rest is what they print.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("processes of their own: make race leaves it out")
	}
	root := filepath.Join("..", "..")
	path := filepath.Join(root, "README.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+binary(t)+string(os.PathListSeparator)+os.Getenv("PATH"), "CBTRACE_INPUT=", "NO_COLOR=1", "LC_ALL=C.UTF-8", "TZ=UTC")
	var out bytes.Buffer
	ran := 0
	for block := ""; len(text) > 0; {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		out.Write(append(line, '\n'))
		switch {
		case strings.HasPrefix(string(line), "```"):
			block = strings.TrimPrefix(string(line), "```")
		case block == "console" && bytes.HasPrefix(line, []byte("$ ")):
			cmd := exec.Command("sh", "-c", string(line[2:]))
			cmd.Dir, cmd.Env = root, env
			got, err := cmd.CombinedOutput()
			if _, failed := err.(*exec.ExitError); err != nil && !failed {
				t.Fatal(err)
			}
			out.Write(got)
			ran++
			for len(text) > 0 && !bytes.HasPrefix(text, []byte("```")) && !bytes.HasPrefix(text, []byte("$ ")) {
				line, text, _ = bytes.Cut(text, []byte("\n"))
				if !bytes.HasPrefix(got, append(line, '\n')) && !*update {
					t.Errorf("%s\nprints\n%s\nREADME has %q", cmd.Args[2], got, line)
					got = nil
					continue
				}
				got = got[min(len(line)+1, len(got)):]
			}
			if len(got) > 0 && !*update {
				t.Errorf("%s prints more than the README has:\n%s", cmd.Args[2], got)
			}
		}
	}
	if ran < 4 {
		t.Errorf("%d commands in the README", ran)
	}
	if *update {
		if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
