package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These tests run the program as a process of its own: signals, pipes, memory.

// command is a run of the program with a temporary folder of its own.
func command(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer, tmp string) {
	t.Helper()
	tmp = t.TempDir()
	cmd = exec.Command(filepath.Join(binary(t), "cbtrace"), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "CBTRACE_INPUT=")
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr, tmp
}

// binary is a folder that holds the program; the test binary is the program when it is called so (TestMain).
func binary(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "cbtrace")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// requests writes n requests of 5 spans each, a line per request.
func requests(w io.Writer, n int) {
	for i := range n {
		start := int64(1_764_432_000_000_000_000) + int64(i)*50_000_000
		span := func(k int, parent, name string, from, to int64) string {
			return fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","parentSpanId":"%s","name":"%s","startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"request_id","value":{"stringValue":"request-%06d"}}]}`,
				i+1, 16*i+k+1, parent, name, start+from*1_000_000, start+to*1_000_000+int64(i%977)*1000, i)
		}
		id := func(k int) string { return fmt.Sprintf("%016x", 16*i+k+1) }
		fmt.Fprintf(w, `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.instance.id","value":{"stringValue":"p"}}]},"scopeSpans":[{"spans":[%s,%s,%s,%s,%s]}]}]}`+"\n",
			span(0, "", "cb.request", 0, 100), span(1, id(0), "cb.schedule", 1, 40), span(2, id(1), "cb.lookup.rpc", 2, 30), span(3, id(0), "cb.execute", 45, 95), span(4, id(3), "cb.model_forward", 50, 90))
	}
}

func capture(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	requests(&b, n)
	path := filepath.Join(t.TempDir(), "day.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// R2.4: with little memory records lie on disk, and the answer is the same to the byte.
func TestLittleMemory(t *testing.T) {
	path := capture(t, 4000)
	var first string
	for _, args := range [][]string{{"--jobs", "2"}, {"--memory", "256KiB"}, {"--memory", "256KiB", "--jobs", "1"}, {"--memory", "1MiB", "--jobs", "7"}} {
		cmd, stdout, stderr, tmp := command(t, append([]string{"report", "--format", "json", path}, args...)...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, stderr)
		}
		empty(t, tmp)
		if first == "" {
			first = stdout.String()
			if !strings.Contains(first, `"total": 4000,`) || stderr.Len() > 0 {
				t.Fatalf("%.2000s\n%s", first, stderr)
			}
			continue
		}
		if stdout.String() != first {
			t.Errorf("%v: not the same report", args)
		}
		var partitions int
		if _, err := fmt.Sscanf(stderr.String(), "wrote %d partitions (", &partitions); err != nil || partitions < 8 {
			t.Errorf("%v: stderr %q, want 8 partitions or more", args, stderr)
		}
	}
}

// R3.3: an interrupt stops at once with 130 and leaves nothing, also while records lie on disk and standard input has no end.
func TestInterrupt(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.json")
	cmd, stdout, stderr, tmp := command(t, "report", "--memory", "256KiB", "-o", out, "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	requests(in, 4000)
	for deadline := time.Now().Add(20 * time.Second); ; { // until something lies on disk
		if left, _ := os.ReadDir(tmp); len(left) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was written to disk")
		}
		time.Sleep(10 * time.Millisecond)
	}
	start := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != exitInterrupted || stdout.Len() > 0 || stderr.Len() > 0 {
		t.Errorf("%v, %q, %q; want status 130 and silence", err, stdout, stderr)
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("stopped after %v", d)
	}
	empty(t, tmp)
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", out, err)
	}
}

// R3.3: what is read beside the inputs may be a named pipe, and whoever writes to it may take their time: an interrupt does not wait for them.
func TestInterruptBesideInputs(t *testing.T) {
	path := capture(t, 5)
	budgets := filepath.Join("..", "..", "testdata", "budgets", "demo.yaml")
	pipe := fifo(t)
	for _, args := range [][]string{
		{"report", "--survey", pipe, path}, {"report", "--profile-map", pipe, path}, {"cut", "--profile-map", pipe, "--shards", "2", filepath.Join(t.TempDir(), "shards"), path},
		{"gate", "--budget", pipe, path}, {"gate", "--budget", budgets, "--baseline", pipe, path}, {"merge", pipe},
	} {
		cmd, stdout, stderr, tmp := command(t, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // once it is opened at the other end
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString("version: 1\n"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != exitInterrupted || stdout.Len() > 0 || stderr.Len() > 0 {
			t.Errorf("%v: %v, %q, %q; want status 130 and silence", args, err, stdout, stderr)
		}
		if d := time.Since(start); d >= stopTime {
			t.Errorf("%v: stopped after %v", args, d)
		}
		w.Close()
		empty(t, tmp)
	}
}

// fifo makes a named pipe.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	return path
}

// R3.3: a pipe that nobody reads ends the run silently with the status it would have had.
func TestBrokenPipe(t *testing.T) {
	path := capture(t, 50)
	cmd, _, stderr, _ := command(t, "inspect", "request-", "--all", "--format", "json", path)
	cmd.Stdout = nil
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v, %q; want status 0 and silence", err, stderr)
	}
}

// large is the size of large inputs: 100 means a line of 100 MB.
var large = 100

// Inputs that cannot be written into a script: sizes, bytes, compression.
func TestBadInput(t *testing.T) {
	var good bytes.Buffer
	requests(&good, 3)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	requests(z, 2000)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	line := func(s string) []byte { return append([]byte(s+"\n"), good.Bytes()...) }
	spans := func(n int, parent func(i int) int) []byte {
		var b bytes.Buffer
		b.WriteString(`{"resourceSpans":[{"scopeSpans":[{"spans":[`)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			up := ""
			if p := parent(i); p >= 0 {
				up = fmt.Sprintf("%016x", p+1)
			}
			fmt.Fprintf(&b, `{"traceId":"%032x","spanId":"%016x","parentSpanId":"%s","name":"step","startTimeUnixNano":"%d","endTimeUnixNano":"%d"}`, 1, i+1, up, 1_764_432_000_000_000_000+i, 1_764_432_001_000_000_000-i)
		}
		b.WriteString(`]}]}]}`)
		return b.Bytes()
	}
	for _, c := range []struct {
		name   string
		data   []byte
		status int
		stdout string // somewhere in it
		stderr string
	}{
		{"nothing", nil, 3, "", "cbtrace: "},
		{"a line of 100 MB", line(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000009","spanId":"0000000000000009","name":"` + strings.Repeat("x", large<<20) + `"}]}]}]}`), 0, `"total": 3,`, ""},
		{"invalid UTF-8", line("\xff\xfe{"), 0, `"total": 3,`, "in:1: "},
		{"NaN", line(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000009","spanId":"0000000000000009","startTimeUnixNano":NaN}]}]}]}`), 0, `"total": 3,`, "in:1: "},
		{"only brackets", line(strings.Repeat("[", 1<<20)), 3, "", "cbtrace: "},
		{"deep nesting", line(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000009","spanId":"0000000000000009","attributes":[{"key":"a","value":` +
			strings.Repeat(`{"arrayValue":{"values":[`, 1<<16) + strings.Repeat(`]}}`, 1<<16) + `}]}]}]}]}`), 0, `"total": 3,`, "in:1: "},
		{"a cut gzip", zipped.Bytes()[:zipped.Len()/2], 0, `"inputs"`, "in"},
		{"a length prefix of 0xffffffff", []byte{0xff, 0xff, 0xff, 0xff, 0x0a, 0x01}, 3, "", "cbtrace: "},
		{"bytes", bytes.Repeat([]byte{0x00, 0x9f, 0x92}, 1000), 3, "", "cbtrace: "},
		{"a chain of 10 000", spans(10_000, func(i int) int { return i - 1 }), 0, `"total": 1,`, ""},
		{"a ring", spans(100, func(i int) int { return (i + 1) % 100 }), 0, `"cycles": 1,`, ""},
		{"own parents", spans(10, func(i int) int { return i }), 0, `"total": 1,`, ""},
		{"many children", spans(1000*large, func(i int) int { return min(i, 1) - 1 }), 0, `"total": 1,`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "in")
			if err := os.WriteFile(path, c.data, 0o666); err != nil {
				t.Fatal(err)
			}
			runs := [][]string{{"report", "--format", "json", path}}
			if len(c.data) < 10<<20 {
				runs = append(runs, []string{"report", path})
			}
			for _, args := range runs {
				cmd, stdout, stderr, tmp := command(t, args...)
				err := cmd.Run()
				exit, failed := errors.AsType[*exec.ExitError](err)
				got := 0
				if failed {
					got = exit.ExitCode()
				}
				if got != c.status || args[1] != path && !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) || strings.Contains(stderr.String(), "panic") {
					t.Errorf("status %d, want %d\n%.1000s\n%.1000s", got, c.status, stdout, stderr)
				}
				if failed && exit.Sys().(syscall.WaitStatus).Signaled() {
					t.Error("ended by a signal")
				}
				empty(t, tmp)
			}
		})
	}
}

// The same file twice is the same file once.
func TestSameFileTwice(t *testing.T) {
	path := capture(t, 5)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(filepath.Dir(path), "copy.jsonl")
	if err := os.WriteFile(copied, b, 0o666); err != nil {
		t.Fatal(err)
	}
	var latency [2]string
	for i, args := range [][]string{{path, path}, {path, copied}} {
		cmd, stdout, stderr, _ := command(t, append([]string{"report", "--format", "json"}, args...)...)
		if err := cmd.Run(); err != nil || stderr.Len() > 0 {
			t.Fatalf("%v %s", err, stderr)
		}
		_, rest, _ := strings.Cut(stdout.String(), `"latency": {`)
		latency[i], _, _ = strings.Cut(rest, "}")
		if want := fmt.Sprintf(`"duplicated": %d,`, 25*i); !strings.Contains(stdout.String(), want) {
			t.Errorf("%v: no %s", args, want)
		}
	}
	if latency[0] != latency[1] || !strings.Contains(latency[0], `"n": 5,`) {
		t.Errorf("a copy changes the latency: %s and %s", latency[0], latency[1])
	}
}
