package main

import (
	"bytes"
	"encoding/csv"
	"os"
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
	skipShort(t)
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
	codes := documentCodes(t)
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
				for _, code := range strings.Split(cell, ", ") {
					if slices.Contains(columnsOfCodes, heading) && !slices.Contains(codes[heading], code) {
						t.Errorf("%s, %s: %q is none of %q", name, heading, code, codes[heading])
					}
				}
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

// columnsOfCodes are columns of which documents have a list of codes.
var columnsOfCodes = []string{"basis", "bound", "hit_class", "owner", "scope", "severity", "top_bound", "unit", "verdict"}

// documentCodes are the codes of each field that has a list of them, of all documents together.
func documentCodes(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|.*one of (.*) \\|$").FindAllStringSubmatch(string(page), -1) {
		codes[m[1]] = append(codes[m[1]], strings.Split(strings.Trim(m[2], "`"), "`, `")...)
	}
	codes["top_bound"] = codes["bound"]
	return codes
}

// Names in CSV are those of the documents also where pages have words for them; words stay where no document has a name.
func TestNamesInCSV(t *testing.T) {
	skipShort(t)
	data := func(name string) string { return filepath.Join("..", "..", "testdata", name) }
	call := func(name string) string { return "lmcache.v1.distributed.storage_manager.StorageManager." + name }
	budget := filepath.Join(t.TempDir(), "budget.yaml")
	write(t, budget, []byte(`{version: 1, budgets: [{stage: "cb.full*", metric: p50, max: 1s}]}`))
	for _, c := range []struct {
		args  []string
		table string
		pick  []string // headings, of which the first names the row
		want  []string // these cells of the rows that are looked at; of the others nothing is said
	}{
		{[]string{"report", data("demo")}, "stages", []string{"stage", "owner", "spans"}, []string{"cb.request scheduler 26", "cb.request server 24"}},
		{[]string{"report", data("demo")}, "times", []string{"of", "n"}, []string{"ttft 79", "latency 80", "queue 79", "decode_per_token 75"}},
		{[]string{"report", data("demo")}, "lookup_wait", []string{"of", "n"}, []string{"wait 30"}},
		{[]string{"report", data("demo")}, "transfers", []string{"of", "n"}, []string{"kernel 48", "staging 48", "idle 48"}},
		{[]string{"report", data("demo")}, "hits", []string{"part", "tokens"},
			[]string{"prefix_tokens 74240", "segmented_prefix_tokens 7680", "non_prefix_tokens 38912", "l1_tokens 20992", "l2_tokens 14336",
				"less those counted twice -64", "not found 119360", "requested_tokens 275456", "written_tokens 149952", "shortfall_tokens 256", "found, loading not recorded 5888"}},
		{[]string{"report", data("demo")}, "clocks", []string{"process", "pairs", "basis"}, []string{"lmcache-chat-0 28 none", "lmcache-rag-0 27 zero"}},
		{[]string{"report", "--no-skew", data("demo")}, "clocks", []string{"process", "pairs", "basis"}, []string{"lmcache-rag-0 27 none"}},
		{[]string{"check", data("lct")}, "inputs", []string{"file", "truncated", "unusable"},
			[]string{"README.md false not a format that cbtrace reads", "lct-schema2.lct false ", "lct-truncated-tail.lct true "}},
		{[]string{"inspect", "--slowest", data("demo")}, "clocks", []string{"process", "basis"},
			[]string{"/profile/cb_profile-worker0.jsonl route", "lmcache-rag-1 pairs", "vllm-rag-api-1 none"}},
		{[]string{"inspect", "req-2", data("lct")}, "spans", []string{"span", "spans", "note", "from"},
			[]string{"submit_prefetch_task 4 point lct-oldest-lmcache-version.lct@752"}},
		{[]string{"inspect", "chatcmpl-e858-92b3f36d", data("otlp")}, "spans", []string{"span", "spans", "note"}, []string{"transfer.staging 1 breakdown"}},
		{[]string{"inspect", "--slowest", "--why", data("demo")}, "asked", []string{"part", "tokens"},
			[]string{"prefix_tokens 2048", "segmented_prefix_tokens 0", "non_prefix_tokens 1536", "not found 2816", "requested_tokens 6400"}},
		{[]string{"inspect", "--slowest", "--why", data("demo")}, "given", []string{"part", "tokens"},
			[]string{"written_tokens 3584", "dropped 0", "not loaded 0", "hit_tokens 3584"}},
		{[]string{"inspect", "--slowest", "--explain-join", data("demo")}, "parts", []string{"process", "by", "stages"},
			[]string{"/profile/cb_profile-scheduler.jsonl id cb.schedule, cb_admission_check, cb.lookup.rpc, cb.build_meta"}},
		{[]string{"lct", "info", filepath.Join(data("demo"), "lct", "lmcache-chat.lct")}, "lmcache_chat_lct_2", []string{"qualname", "records"},
			[]string{call("submit_prefetch_task") + " 11", call("finish_write") + " 8"}},
		{[]string{"gate", "--budget", budget, data("demo")}, "results", []string{"rule", "metric"}, []string{"cb.full*.p50 ≤ 1s cb.full_recomp.p50"}},
	} {
		var out, errs bytes.Buffer
		run(append(c.args, "-q", "--format", "csv", "--table", c.table), strings.NewReader(""), &out, &errs)
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) == 0 {
			t.Fatalf("%v, table %s: %d rows, %v %s", c.args, c.table, len(rows), err, errs.String())
		}
		var got []string
		for _, row := range rows[1:] {
			var cells []string
			for _, heading := range c.pick {
				at := slices.Index(rows[0], heading)
				if at < 0 {
					t.Fatalf("%v, table %s: no heading %s among %q", c.args, c.table, heading, rows[0])
				}
				cells = append(cells, row[at])
			}
			got = append(got, strings.Join(cells, " "))
		}
		for _, want := range c.want {
			if !slices.Contains(got, want) {
				t.Errorf("%v, table %s: no row %q among\n%s", c.args, c.table, want, strings.Join(got, "\n"))
			}
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
	skipShort(t)
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

// skipShort leaves a test of what is printed out of make race: it runs many commands, one after the other.
func skipShort(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
}
