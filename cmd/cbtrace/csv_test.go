package main

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	plainNumber = regexp.MustCompile(`^-?\d+(\.\d+)?([eE][+-]?\d+)?$`)
	// numbers for people: with a unit, in groups, with another sign than a hyphen, within bounds, behind an apostrophe
	dressed   = regexp.MustCompile(`^['~≤<>Δ+−]*\d[\d,]*(\.\d+)?( ?(ns|µs|ms|s|min|h|B|kB|MB|GB|TB|kB/s|MB/s|GB/s|%)|( …| ±).*)?$|^–( ….*)?$`)
	anInstant = regexp.MustCompile(`^\d{4}-\d\d-\d\d|^\d\d:\d\d`)
	units     = regexp.MustCompile(`_(ns|bytes|share|rate|gbps|ppm)$`)
)

// namesLikeNumbers are columns of names, some of which are digits: ids of spans and ranks. value is that of the two-column tables of recordings, of which
// every row has its own kind.
var namesLikeNumbers = []string{"id", "parent", "worker", "value", "prompt_tokens"}

// Every table of every command as CSV: the headings are there and differ, a column is of plain numbers or of text, and a time is RFC 3339 or in ns.
func TestEveryTableAsCSV(t *testing.T) {
	data := func(name string) string { return filepath.Join("..", "..", "testdata", name) }
	dir := t.TempDir()
	saved, budget := filepath.Join(dir, "a.cbr"), filepath.Join(dir, "budget.yaml")
	output(t, "report", "-q", "--save", saved, data("demo"))
	output(t, "gate", "init", "-q", "-o", budget, data("demo"))
	baseline := filepath.Join(dir, "baseline.yaml")
	write(t, baseline, []byte(`{version: 1, budgets: [{metric: ttft.p95, baseline: {max_ratio: 1.05, min_delta: 5ms}}, {metric: hit_rate, baseline: {min_ratio: 0.9}, level: warn}]}`))
	seen := map[string]bool{}
	for _, args := range [][]string{
		{"report", "--local", "--by", "model,instance,hit_class,worker,prompt_tokens", "--bucket", "1m", data("demo")},
		{"report", saved},
		{"merge", saved, saved},
		{"list", "--local", data("demo")},
		{"list", saved},
		{"check", data("demo")},
		{"inspect", "--slowest", data("demo")},
		{"inspect", "--finding", "double_start_load_kv.repeat", "--latest", data("demo")},
		{"inspect", "--slowest", "--against", saved, data("demo")},
		{"inspect", "--slowest", "--why", data("demo")},
		{"inspect", "--slowest", "--explain-join", data("demo")},
		{"diff", data("otlp"), data("demo")},
		{"diff", data("otlp"), "--request", "chatcmpl-93ab", "--request", "chatcmpl-7c1e"},
		{"gate", "--budget", budget, data("demo")},
		{"gate", "--budget", baseline, "--baseline", saved, data("demo")},
		{"explain"},
		{"lct", "info", "--keep-going", data("lct")},
		{"lct", "info", "--keep-going", "--each", data("lct")},
		{"lct", "info", filepath.Join(data("lct"), "lct-truncated-tail.lct")},
		{"lct", "info", filepath.Join(data("demo"), "lct", "lmcache-chat.lct")},
	} {
		for _, table := range tablesOf(t, args) {
			name := args[0] + " " + table
			var out, errs bytes.Buffer
			run(append(slices.Clone(args), "-q", "--format", "csv", "--table", table), strings.NewReader(""), &out, &errs)
			rows, err := csv.NewReader(&out).ReadAll()
			if err != nil || len(rows) == 0 || errs.Len() > 0 {
				t.Fatalf("%v, table %s: %d rows, %v %s", args, table, len(rows), err, errs.String())
			}
			checkCSV(t, strings.Join(args, " ")+", table "+table, rows)
			seen[name] = seen[name] || len(rows) > 1
		}
	}
	for _, must := range []string{"report trend", "report times", "report hits", "report slowest", "report clocks", "inspect hits", "inspect lookup", "inspect path",
		"diff contributions", "diff times", "diff metrics",
		"diff changed", "diff path", "diff spans", "gate results", "list requests", "lct files"} {
		if !seen[must] {
			t.Errorf("no rows of %s were looked at", must)
		}
	}
}

func checkCSV(t *testing.T, name string, rows [][]string) {
	t.Helper()
	for i, heading := range rows[0] {
		if heading == "" || slices.Index(rows[0], heading) != i {
			t.Errorf("%s: heading %q: want one, and once", name, heading)
		}
		numbers, texts := "", ""
		for _, row := range rows[1:] {
			switch cell := row[i]; {
			case cell == "":
			case plainNumber.MatchString(cell):
				numbers = cell
				if _, err := strconv.ParseInt(cell, 10, 64); strings.HasSuffix(heading, "unix_ns") && err != nil {
					t.Errorf("%s, %s: %v", name, heading, err)
				}
			default:
				texts = cell
				if dressed.MatchString(cell) {
					t.Errorf("%s, %s: %q is a number for people", name, heading, cell)
				}
				if _, err := time.Parse(time.RFC3339, cell); anInstant.MatchString(cell) && err != nil {
					t.Errorf("%s, %s: %v", name, heading, err)
				}
			}
		}
		if texts != "" && (numbers != "" || units.MatchString(heading)) && !slices.Contains(namesLikeNumbers, heading) {
			t.Errorf("%s, %s: both %q and %q", name, heading, numbers, texts)
		}
	}
}

// tablesOf are the names of the tables of a command.
func tablesOf(t *testing.T, args []string) []string {
	t.Helper()
	var out, errs bytes.Buffer
	run(append(slices.Clone(args), "-q", "--table", "nosuch"), strings.NewReader(""), &out, &errs)
	_, names, ok := strings.Cut(strings.TrimSpace(errs.String()), "want one of ")
	if !ok {
		t.Fatalf("%v: %s", args, errs.String())
	}
	names, _, _ = strings.Cut(names, ";")
	return strings.Split(names, ", ")
}

// CSV without --table is of the table that the help names, and stderr says which one and what others there are; with --quiet, or where there is no other,
// it says nothing.
func TestTableOfCSV(t *testing.T) {
	otlp := filepath.Join("..", "..", "testdata", "otlp")
	saved := filepath.Join(t.TempDir(), "a.cbr")
	output(t, "report", "-q", "--save", saved, otlp)
	for _, c := range []struct {
		args         []string
		table, other string
	}{
		{[]string{"report", otlp}, "stages", "times, path, bounds, lookup,"},
		{[]string{"merge", saved}, "stages", "times, path, bounds, lookup,"},
		{[]string{"inspect", "--slowest", otlp}, "spans", "path, lookup, hits,"},
		{[]string{"check", otlp}, "inputs", "clocks"},
		{[]string{"diff", otlp, otlp}, "metrics", "contributions, changed, times, findings"},
		{[]string{"list", otlp}, "requests", ""},
		{[]string{"explain"}, "findings", ""},
	} {
		all, notes := output(t, append(c.args, "--format", "csv")...)
		want := "csv is one table, this one " + c.table + "; --table NAME prints another: " + c.other
		if strings.Contains(notes, want) != (c.other != "") || strings.Contains(notes, "csv is one table") != (c.other != "") {
			t.Errorf("%v: %q, want %q", c.args, notes, want)
		}
		one, quiet := output(t, append(c.args, "-q", "--format", "csv", "--table", c.table)...)
		if quiet != "" || one != all {
			t.Errorf("%v: table %s is another, or %q was said", c.args, c.table, quiet)
		}
		if _, quiet := output(t, append(c.args, "-q", "--format", "csv")...); quiet != "" {
			t.Errorf("%v: %q was said", c.args, quiet)
		}
		help, _ := output(t, c.args[0], "--help")
		if want := "csv is always one table, " + c.table + " unless this names another"; !strings.Contains(strings.Join(strings.Fields(help), " "), want) {
			t.Errorf("the help of %s does not say %q", c.args[0], want)
		}
	}
}
