// Command run times cbtrace beside its peers over generated days and prints the table of docs/bench.md. The answer is held against what the generator
// knows before anything is timed.
//
//	run -cbtrace ../../bin/cbtrace -requests 60000 -tools DIR
//
// Every round runs each program once, one after the other; figures are medians of the rounds.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type bench struct {
	cbtrace, tools, dir string
	rounds              int
	kept                bool // corpora stay, and are used again
	slow                bool // time jq and Python too
}

func main() {
	var b bench
	requests := flag.Int("requests", 60_000, "of the smallest corpus")
	scales := flag.String("scales", "1,4,16", "how many times as large the corpora of the scaling table are; none without any")
	flag.StringVar(&b.cbtrace, "cbtrace", "cbtrace", "the program")
	flag.StringVar(&b.tools, "tools", ".", "where gen, pdata, duck and lines.py are")
	flag.IntVar(&b.rounds, "rounds", 5, "how many rounds")
	flag.BoolVar(&b.slow, "slow", true, "jq and Python too, one round")
	base := flag.String("tmp", os.TempDir(), "where corpora are made; they are removed")
	keep := flag.String("keep", "", "a folder where corpora are made and stay, to be used again")
	flag.Parse()
	err := func() (err error) {
		if *keep != "" {
			b.dir, b.kept = *keep, true
			return b.run(*requests, strings.Split(*scales, ","))
		}
		if b.dir, err = os.MkdirTemp(*base, "bench-day-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
		return b.run(*requests, strings.Split(*scales, ","))
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

// run makes the corpora and prints the tables.
func (b *bench) run(requests int, scales []string) error {
	fmt.Printf("%s, %d processors, %s, %s\n\n", cpu(), runtime.NumCPU(), runtime.Version(), time.Now().UTC().Format("2006-01-02"))
	day, err := b.generate("day", requests, "jsonl,pb,zst,frames")
	if err != nil {
		return err
	}
	for _, f := range []string{"jsonl", "pb", "zst", "frames"} {
		if err := b.check(day, f); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
	}
	lines := day.path("jsonl")
	works := []work{
		{"report, JSON lines", b.report(lines), "jsonl"},
		{"report, JSON lines, --jobs 1", b.report(lines, "--jobs", "1"), "jsonl"},
		{"report, JSON lines, --memory 16MiB (spills)", b.report(lines, "--memory", "16MiB"), "jsonl"},
		{"report, JSON lines, --memory 128MiB", b.report(lines, "--memory", "128MiB"), "jsonl"},
		{"pdata, parse only, JSON lines", []string{filepath.Join(b.tools, "pdata"), lines}, "jsonl"},
		{"DuckDB, percentiles by name, JSON lines", []string{filepath.Join(b.tools, "duck"), lines}, "jsonl"},
		{"report, protobuf", b.report(day.path("pb")), "pb"},
		{"pdata, parse only, protobuf", []string{filepath.Join(b.tools, "pdata"), day.path("pb")}, "pb"},
		{"report, zstd stream of JSON lines", b.report(day.path("zst")), "zst"},
		{"report, zstd message by message", b.report(day.path("frames")), "frames"},
		{"zstd -dc alone", shell("cat " + day.path("zst") + "/* | zstd -dc > /dev/null"), "zst"},
		{"inspect, JSON lines", []string{b.cbtrace, "inspect", "--quiet", day.Middle, lines}, "jsonl"},
		{"inspect, protobuf", []string{b.cbtrace, "inspect", "--quiet", day.Middle, day.path("pb")}, "pb"},
	}
	if err := b.table(day, works, b.rounds); err != nil {
		return err
	}
	if b.slow {
		err := b.table(day, []work{
			{"Python, percentiles by name", []string{"python3", filepath.Join(b.tools, "lines.py"), lines}, "jsonl"},
			{"jq, names and durations", shell("cat " + lines + "/* | jq -r '.resourceSpans[].scopeSpans[].spans[] | [.name, .endTimeUnixNano, .startTimeUnixNano] | @tsv' > /dev/null"), "jsonl"},
		}, 1)
		if err != nil {
			return err
		}
	}
	if err := b.drop(day); err != nil {
		return err
	}
	for _, scale := range scales {
		if scale == "" {
			continue
		}
		n, err := strconv.Atoi(scale)
		if err != nil {
			return err
		}
		if err := b.scaled(n, n*requests); err != nil {
			return err
		}
	}
	return nil
}

// scaled prints the rows of one size of the scaling table.
func (b *bench) scaled(n, requests int) error {
	day, err := b.generate("scale", requests, "jsonl")
	if err != nil {
		return err
	}
	defer b.drop(day)
	if err := b.check(day, "jsonl"); err != nil {
		return err
	}
	return b.table(day, []work{
		{fmt.Sprintf("%d×: report", n), b.report(day.path("jsonl")), "jsonl"},
		{fmt.Sprintf("%d×: report, --memory 64MiB", n), b.report(day.path("jsonl"), "--memory", "64MiB"), "jsonl"},
		{fmt.Sprintf("%d×: pdata, parse only", n), []string{filepath.Join(b.tools, "pdata"), day.path("jsonl")}, "jsonl"},
	}, min(b.rounds, 3))
}

// A day is a corpus and what is true of it.
type day struct {
	dir       string
	Requests  int64
	Spans     int64
	LatencyNS int64            `json:"latency_ns"`
	Requested int64            `json:"requested_tokens"`
	Hit       int64            `json:"hit_tokens"`
	Counts    map[string]int64 `json:"stage_spans"`
	NS        map[string]int64 `json:"stage_ns"`
	Bytes     map[string]int64
	Unread    float64
	Middle    string
}

func (d *day) path(format string) string { return filepath.Join(d.dir, format) }

func (b *bench) generate(name string, requests int, formats string) (*day, error) {
	d := &day{dir: filepath.Join(b.dir, fmt.Sprintf("%s-%d", name, requests))}
	if d.read() == nil && b.kept {
		return d, nil
	}
	gen := exec.Command(filepath.Join(b.tools, "gen"), "-requests", strconv.Itoa(requests), "-formats", formats, "-dir", d.dir)
	gen.Stderr = os.Stderr
	if err := gen.Run(); err != nil {
		return nil, fmt.Errorf("gen: %w", err)
	}
	return d, d.read()
}

// read reads what is true of the corpus, which the generator writes last.
func (d *day) read() error {
	text, err := os.ReadFile(filepath.Join(d.dir, "truth.json"))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, d)
}

// drop removes a corpus that is not kept.
func (b *bench) drop(d *day) error {
	if b.kept {
		return nil
	}
	return os.RemoveAll(d.dir)
}

// check holds a report of the day against what the generator knows.
func (b *bench) check(d *day, format string) error {
	cmd := b.report(d.path(format))
	text, err := exec.Command(cmd[0], cmd[1:]...).Output()
	if err != nil {
		return err
	}
	var r struct {
		Requests struct{ Total, Complete int64 }
		Latency  struct {
			Total int64 `json:"total_ns"`
		}
		Hits struct {
			Requested int64 `json:"requested_tokens"`
			Hit       int64 `json:"hit_tokens"`
		}
		Stages []struct {
			Stage string
			Spans int64
			Total int64 `json:"total_ns"`
		}
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	var wrong []error
	same := func(what string, got, want int64) {
		if got != want {
			wrong = append(wrong, fmt.Errorf("%s: %d, should be %d", what, got, want))
		}
	}
	same("requests", r.Requests.Total, d.Requests)
	same("ns of latency", r.Latency.Total, d.LatencyNS)
	same("requested tokens", r.Hits.Requested, d.Requested)
	same("hit tokens", r.Hits.Hit, d.Hit)
	counts, ns := map[string]int64{}, map[string]int64{}
	for _, s := range r.Stages {
		counts[s.Stage] += s.Spans
		ns[s.Stage] += s.Total
	}
	for stage, n := range d.Counts {
		same("spans of "+stage, counts[stage], n)
		same("ns of "+stage, ns[stage], d.NS[stage])
	}
	return errors.Join(wrong...)
}

func (b *bench) report(dir string, flags ...string) []string {
	return append([]string{b.cbtrace, "report", "--quiet", "--format", "json", dir}, flags...)
}

func shell(text string) []string { return []string{"sh", "-c", text} }

// A work is a command over the files of a format.
type work struct {
	name   string
	cmd    []string
	format string
}

// A cost is what one run took.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes
}

// table runs the works and prints a row for each. The bytes are those of JSON lines, whatever the framing, but for protobuf.
func (b *bench) table(d *day, works []work, rounds int) error {
	costs := make([][]cost, len(works))
	for round := range rounds + 1 { // the first is not counted where there are others
		for i, w := range works {
			if err := warm(d.path(w.format)); err != nil {
				return err
			}
			c, err := measure(w.cmd)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if round > 0 || rounds == 1 {
				costs[i] = append(costs[i], c)
			}
		}
		if rounds == 1 {
			break
		}
	}
	fmt.Printf("%d requests, %d spans, %d MB of JSON lines (%.0f %% that nobody reads), median of %d\n\n", d.Requests, d.Spans, d.Bytes["jsonl"]/1e6, 100*d.Unread, rounds)
	fmt.Println("| work | wall s | CPU s | MB/s | M spans/s | peak MiB |\n|---|---|---|---|---|---|")
	for i, w := range works {
		bytes := d.Bytes["jsonl"]
		if w.format == "pb" {
			bytes = d.Bytes["pb"]
		}
		wall := median(costs[i], func(c cost) time.Duration { return c.wall }).Seconds()
		fmt.Printf("| %s | %.2f | %.2f | %.0f | %.2f | %d |\n", w.name, wall, median(costs[i], func(c cost) time.Duration { return c.cpu }).Seconds(),
			float64(bytes)/1e6/wall, float64(d.Spans)/1e6/wall, median(costs[i], func(c cost) int64 { return c.peak })>>20)
	}
	fmt.Println()
	return nil
}

func median[T cmp.Ordered](costs []cost, of func(cost) T) T {
	var all []T
	for _, c := range costs {
		all = append(all, of(c))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// warm reads the files of a folder, so that all of them are in the cache: the system takes back what was not read for minutes.
func warm(dir string) error {
	files, err := os.ReadDir(dir)
	for _, e := range files {
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return err
}

// measure runs a command.
func measure(args []string) (c cost, err error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return c, err
	}
	c.wall = time.Since(start)
	c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.peak = u.Maxrss << 10
	}
	return c, nil
}

// cpu is the model of the processor.
func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(strings.TrimSpace(name), ": \t")
		}
	}
	return runtime.GOARCH
}
