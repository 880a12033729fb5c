package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What bash completes, with the script that a shell would read, where the package bash-completion is not installed.
func TestBashCompletion(t *testing.T) {
	if testing.Short() {
		t.Skip("shells: make race leaves it out")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	const typed = `compopt() { :; }
source <(cbtrace completion bash)
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COLUMNS=80
read -ra COMP_WORDS <<< "${1//=/ = }"
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_cbtrace
printf '%s\n' "${COMPREPLY[@]}"`
	for line, want := range map[string]string{
		"cbtrace insp":                     "inspect",
		"cbtrace report --sort p9":         "p90 p95 p99",
		"cbtrace report --sort=p9":         "p90 p95 p99",
		"cbtrace report --by h":            "hit_class",
		"cbtrace explain late":             "late_poll",
		"cbtrace inspect --finding rank_n": "rank_not_ok",
		"cbtrace schema inspec":            "inspect inspect-all",
		"cbtrace completion z":             "zsh",
	} {
		cmd := exec.Command(bash, "--norc", "--noprofile", "-c", typed, "bash", line)
		cmd.Env = append(os.Environ(), "PATH="+binary(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", line, got, err, want)
		}
	}
}

// The manual names every command and flag, and groff has nothing to say about it.
func TestManual(t *testing.T) {
	a := &app{getenv: os.Getenv}
	root := newRoot(a)
	text := string(manual(root))
	for _, want := range []string{".TH CBTRACE 1\n", ".SS cbtrace gate init [flags] [INPUT\\[u2026]]\n", ".B \\-\\-slowest [N]\n", ".B 130\ninterrupted\n", "cbtrace report traces/"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	for i := range len(text) {
		if text[i] >= 0x80 {
			t.Fatalf("not ASCII at %q", text[i:min(i+20, len(text))])
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff")
	}
	path := filepath.Join(t.TempDir(), "cbtrace.1")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff: %v\n%s", err, out)
	}
}
