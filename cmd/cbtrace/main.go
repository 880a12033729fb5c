// Command cbtrace turns what an LLM KV-cache deployment leaves behind into one tree per request, says where the time went and whether the
// cache earned it, and fails a build when it got worse.
//
// The command picks the pieces from flags, opens files and maps the outcome to an exit status; it computes nothing itself.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// An app is one run of the program.
type app struct {
	ctx      context.Context // ends with an interrupt
	stdin    io.Reader
	given    io.Reader // standard input as it was given
	stdout   *pipe
	stderr   *screen
	told     *progress // what is told of this run; nil: nothing
	getenv   func(string) string
	scratch  scratch
	quiet    bool
	terminal terminalFlags
	replaced []replaced
	begun    bool // arguments and flags are right, the command runs
	verdict  int  // the exit status when all goes well
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a := &app{ctx: ctx, stdin: newPatientReader(ctx, stdin), given: stdin, stdout: &pipe{w: stdout}, stderr: &screen{w: stderr}, getenv: os.Getenv}
	defer a.scratch.clear()
	a.catchSignals(cancel)
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	defer a.tellWork(ctx)
	return a.exit(cmd, err)
}

// catchSignals makes an interrupt end the program at once, with nothing left behind (R3.3), and a closed pipe an error of Write instead
// of a signal. The phases end by themselves when their context does and remove what they hold on disk; what does not end within
// stopTime, or before a second interrupt, is ended as it is, and the next run removes what it leaves.
func (a *app) catchSignals(cancel context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-c
		cancel()
		select {
		case <-c:
		case <-time.After(stopTime):
		}
		a.scratch.clear()
		os.Exit(exitInterrupted)
	}()
}

const stopTime = time.Second
