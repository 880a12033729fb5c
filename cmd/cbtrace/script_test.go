package main

import (
	"errors"
	"flag"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what the program prints into the expected files of the scripts")

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"cbtrace": main}) }

// Every testdata/script/*.txtar is a run of the command line; $DATA is the folder testdata.
func TestScripts(t *testing.T) {
	data, err := filepath.Abs(filepath.Join("..", "..", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(filepath.Join(data, "script", "*.txtar"))
	if err != nil || len(scripts) < 20 {
		t.Fatal(len(scripts), err)
	}
	if testing.Short() { // make race: all scripts go through the same few goroutines
		few := scripts[:0]
		for i := 2; i < len(scripts); i += 9 {
			few = append(few, scripts[i])
		}
		scripts = few
	}
	testscript.Run(t, testscript.Params{
		Files:         scripts,
		UpdateScripts: *update,
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "DATA="+data, "CBTRACE_INPUT=", "TZ=UTC", "NO_COLOR=1")
			return nil
		},
	})
}

// exits STATUS PROGRAM [ARG…] runs a program that must end with that very exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
