package where

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

var update = flag.Bool("update", false, "write the table of attributes into docs/where.md")

// docs/where.md has every field of the language with what it is, none else, every unit and sign, and examples that can be read. The table of attributes
// is made here.
func TestPage(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "where.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "-update -->\n", "<!-- end -->"
	head, rest, ok := strings.Cut(string(b), begin)
	have, tail, also := strings.Cut(rest, end)
	if !ok || !also {
		t.Fatal("docs/where.md has no place for the table of attributes")
	}
	made := attributeTable()
	page := head + begin + made + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if have != made {
		t.Error("the attributes of docs/where.md are not those of the program: go test ./internal/analyze/where -run TestPage -update")
	}

	// The other tables: a row per field, with what it is.
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.0-9]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(head+tail, -1) {
		if rows[m[1]] != "" {
			t.Errorf("%s has two rows", m[1])
		}
		rows[m[1]] = m[2]
	}
	for _, name := range Fields() {
		f := fields[name]
		is := sortOf(f)
		if len(f.values) > 0 && len(f.values) <= 8 {
			is += ": `" + strings.Join(f.values, "`, `") + "`"
		}
		if attribute := strings.HasPrefix(name, "span."); !attribute && rows[name] != is {
			t.Errorf("%s is %q, on the page %q", name, is, rows[name])
		} else if n := strings.Count(made, "`"+name+"`"); attribute && n != 1 {
			t.Errorf("%s is there %d times", name, n)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("%s is no field", name)
	}
	for _, m := range regexp.MustCompile("`(((span|request|resource)?\\.)[a-z_.0-9]+)`").FindAllStringSubmatch(page, -1) {
		if find(m[1]) == nil && m[1] != ".cbr" {
			t.Errorf("%s is no field", m[1])
		}
	}

	signs := []string{"&&", "||", "!", "( )", "nil"}
	for sign := range comparisons {
		signs = append(signs, sign)
	}
	for _, u := range units {
		if u.name != "μs" { // the other letter for µ
			signs = append(signs, u.name)
		}
	}
	for _, s := range signs {
		if !strings.Contains(page, "`"+s+"`") {
			t.Errorf("docs/where.md does not name %s", s)
		}
	}

	examples := 0
	for _, m := range regexp.MustCompile("`(\\{[^`]*\\})`|'(\\{.*?\\})'").FindAllStringSubmatch(page, -1) {
		if src := m[1] + m[2]; src != "{ … }" {
			examples++
			parsed(t, src)
		}
	}
	if examples < 20 {
		t.Errorf("%d examples", examples)
	}
}

// sortOf is what a field is compared with, in words.
func sortOf(f *field) string {
	switch f.is {
	case duration:
		return "a time"
	case size:
		return "a size"
	}
	return kindNames[f.kind]
}

// attributeTable has a row for the attributes of each set of stages, in the order of their table.
func attributeTable() string {
	var order []string
	of := map[string][]string{}
	for i := range attrFields {
		f := &attrFields[i]
		key := model.AttrOf([]byte(strings.TrimPrefix(f.name, "span.")))
		is := sortOf(f)
		switch unit := model.Attrs[key].Unit; {
		case f.is == duration:
			is += ", " + unit
		case f.is == plain && f.kind == number && unit != "":
			is = unit
		}
		for _, p := range parts {
			if f.name == "span."+p.rate {
				key = p.keys[0]
			}
		}
		on := "any"
		for n, s := range model.Attrs[key].Stages {
			if n == 0 {
				on = ""
			} else {
				on += ", "
			}
			on += "`" + s.String() + "`"
		}
		star := ""
		if f.saved != nil {
			star = "\\*"
		}
		if !slices.Contains(order, on) {
			order = append(order, on)
		}
		of[on] = append(of[on], fmt.Sprintf("`%s`%s (%s)", f.name, star, is))
	}
	var b strings.Builder
	b.WriteString("| on | attribute |\n|---|---|\n")
	for _, on := range order {
		fmt.Fprintf(&b, "| %s | %s |\n", on, strings.Join(of[on], ", "))
	}
	return b.String()
}
