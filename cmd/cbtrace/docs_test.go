package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// pages are the README and everything in docs.
func pages(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(found) < 7 {
		t.Fatal(found, err)
	}
	return append(found, filepath.Join(root, "README.md"))
}

// prose is a page without its blocks of code.
func prose(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			b.WriteString(line)
		}
	}
	return b.String()
}

// anchors are what the headings of a page can be linked to by, as GitHub makes them: lower case, blanks are hyphens, other punctuation is dropped but
// hyphens and underscores. Of several alike the second ends in -1.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	link := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	for line := range strings.Lines(prose(text)) {
		marks := strings.TrimLeft(line, "#")
		if n := len(line) - len(marks); n < 1 || n > 6 || !strings.HasPrefix(marks, " ") {
			continue
		}
		heading := strings.ToLower(strings.TrimSpace(link.ReplaceAllString(marks, "$1")))
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
				return r
			}
			return -1
		}, heading)
		one := anchor
		for n := 1; all[one]; n++ {
			one = fmt.Sprintf("%s-%d", anchor, n)
		}
		all[one] = true
	}
	return all
}

func TestAnchors(t *testing.T) {
	got := anchors("# A b\n## 5. Clocks (`internal/analyze/clock`)\n```\n# no heading\n```\n### list.Row\n### [`x_y`](z), now – then\n## a B\n#hash\n")
	for _, want := range []string{"a-b", "5-clocks-internalanalyzeclock", "listrow", "x_y-now--then", "a-b-1"} {
		if !got[want] {
			t.Errorf("no %s in %v", want, got)
		}
	}
	if len(got) != 5 {
		t.Error(got)
	}
}

// Every link of the README and of docs to a file or a heading leads somewhere.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	links := 0
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(prose(string(read(t, page))), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
			} else if anchor != "" && !anchors(string(read(t, target)))[anchor] {
				t.Errorf("%s: %s: no such heading", page, m[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links", links)
	}
}

// Every rule that code, tests, scripts or pages cite is in docs/rules.md.
func TestRulesCited(t *testing.T) {
	root := filepath.Join("..", "..")
	rules := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^- \*\*(R[0-9]+\.[0-9]+[a-z]?)\b`).FindAllStringSubmatch(string(read(t, filepath.Join(root, "docs", "rules.md"))), -1) {
		if rules[m[1]] {
			t.Errorf("%s is there twice", m[1])
		}
		rules[m[1]] = true
	}
	if len(rules) < 90 {
		t.Errorf("%d rules", len(rules))
	}
	cited := regexp.MustCompile(`\bR[0-9]+\.[0-9]+[a-z]?\b`)
	files := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if name := e.Name(); err == nil && path != root && (strings.HasPrefix(name, ".") || name == "bin") {
				return fs.SkipDir
			}
			return err
		}
		if !slices.Contains([]string{".go", ".txtar", ".md"}, filepath.Ext(path)) {
			return nil
		}
		files++
		missing := map[string]bool{}
		for _, rule := range cited.FindAllString(string(read(t, path)), -1) {
			if !rules[rule] && !missing[rule] {
				missing[rule] = true
				t.Errorf("%s cites %s, which docs/rules.md lacks", path, rule)
			}
		}
		return nil
	})
	if err != nil || files < 300 {
		t.Error(files, err)
	}
}

// R3.2: the table of shared flags says which commands show them in their help.
func TestSharedFlags(t *testing.T) {
	_, rest, ok := strings.Cut(string(read(t, filepath.Join("..", "..", "docs", "rules.md"))), "  | flags | commands |\n  |---|---|\n")
	if !ok {
		t.Fatal("no table of flags")
	}
	words := regexp.MustCompile("`([^`]+)`")
	rows := 0
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "  | ") {
			break
		}
		rows++
		cells := strings.Split(line, "|")
		var want []string
		for _, m := range words.FindAllStringSubmatch(cells[2], -1) {
			want = append(want, m[1])
		}
		slices.Sort(want)
		for _, m := range words.FindAllStringSubmatch(cells[1], -1) {
			have, without := showing(strings.TrimPrefix(m[1], "--"))
			if strings.TrimSpace(cells[2]) == "all" {
				have, want = without, nil
			}
			if !slices.Equal(have, want) {
				t.Errorf("%s: %q, on the page %q", m[1], have, want)
			}
		}
	}
	if rows < 8 {
		t.Errorf("%d rows", rows)
	}
}

// showing are the commands that show a flag in their help, and the others. lct only has commands below it.
func showing(flag string) (with, without []string) {
	root := newRoot(&app{getenv: os.Getenv})
	all := root.Commands()
	for _, cmd := range root.Commands() {
		all = append(all, cmd.Commands()...)
	}
	for _, cmd := range all {
		name := strings.TrimPrefix(cmd.CommandPath(), "cbtrace ")
		if cmd.Hidden || name == "lct" {
			continue
		}
		f := cmd.Flags().Lookup(flag)
		if f == nil {
			f = cmd.InheritedFlags().Lookup(flag)
		}
		if f != nil && !f.Hidden {
			with = append(with, name)
		} else {
			without = append(without, name)
		}
	}
	slices.Sort(with)
	slices.Sort(without)
	return with, without
}
