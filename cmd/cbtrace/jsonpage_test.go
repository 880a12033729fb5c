package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/render/schema"
)

// docs/json.md is what the types of the documents say.
func TestJSONPage(t *testing.T) {
	var want bytes.Buffer
	if err := jsonPage(&want); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "docs", "json.md")
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want.Bytes()) {
		t.Error("docs/json.md is not what the documents are: go test ./cmd/cbtrace -run TestJSONPage -update")
	}
}

// jsonPage writes what every document holds as one page, made from the same types as the schemas.
func jsonPage(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# The JSON of every command\n\n" +
		"Made from the types of the program (`go test ./cmd/cbtrace -run TestJSONPage -update`); `cbtrace schema COMMAND` prints the same as JSON Schema.\n\n" +
		"Fields are added within `v1`, never renamed or removed. Times are whole nanoseconds (`*_ns`), instants nanoseconds since 1970 (`*_unix_ns`), shares and rates lie in [0, 1], `*_gbps` is in\n" +
		"10⁹ bytes a second. What is not known is null or absent, never 0. Several documents are an array,\n" +
		"of a schema of its own (`cbtrace schema inspect-all`), and with `--format jsonl` one a line.\n")
	seen := map[string]bool{}
	for _, d := range schema.Documents {
		s, err := schema.Command(d.Command)
		if err != nil {
			return err
		}
		if one, several := strings.CutSuffix(d.Command, "-all"); several {
			fmt.Fprintf(&b, "\n## %s\n\nA list of [%s](#%s): %s.\n", d.Command, one, jsonAnchor(one), s.Description)
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", strings.Replace(d.Command, "-", " ", 1))
		if s.Description != "" {
			fmt.Fprintf(&b, "%s\n\n", s.Description)
		}
		jsonTable(&b, s)
		for _, def := range s.Defs {
			if seen[def.Name] {
				continue
			}
			seen[def.Name] = true
			fmt.Fprintf(&b, "\n### %s\n\n", def.Name)
			if def.Schema.Description != "" {
				fmt.Fprintf(&b, "%s\n\n", def.Schema.Description)
			}
			jsonTable(&b, def.Schema)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// jsonTable has a row per field of an object.
func jsonTable(b *strings.Builder, s *schema.Schema) {
	if len(s.Properties) == 0 {
		return
	}
	b.WriteString("| field | is | |\n|---|---|---|\n")
	for _, p := range s.Properties {
		about := p.Schema.Description
		values := p.Schema.Enum
		if p.Schema.Items != nil && values == nil {
			values = p.Schema.Items.Enum
		}
		if len(values) > 1 {
			about = strings.TrimPrefix(about+"; ", "; ") + "one of `" + strings.Join(values, "`, `") + "`"
			if len(p.Schema.Type) == 1 && p.Schema.Type[0] == "array" {
				about = strings.Replace(about, "one of ", "of ", 1)
			}
		} else if len(values) == 1 {
			about = strings.TrimPrefix(about+"; ", "; ") + "`" + values[0] + "`"
		}
		what := jsonKind(p.Schema)
		if !slices.Contains(s.Required, p.Name) {
			what += ", or absent"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, what, strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(about))
	}
}

// jsonKind is what a value is, in words, with links to the types of this page.
func jsonKind(s *schema.Schema) string {
	switch {
	case s.Ref != "":
		name := path.Base(s.Ref)
		return "[" + name + "](#" + jsonAnchor(name) + ")"
	case len(s.AnyOf) > 0:
		var all []string
		for _, c := range s.AnyOf {
			all = append(all, jsonKind(c))
		}
		return strings.Join(all, " or ")
	case s.Items != nil:
		return "list of " + jsonKind(s.Items)
	case s.Values != nil && s.Values != schema.Nothing && len(s.Properties) == 0:
		return "map to " + jsonKind(s.Values)
	}
	var all []string
	for _, t := range s.Type {
		all = append(all, map[string]string{"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false", "null": "null", "object": "object", "array": "list"}[t])
	}
	if len(all) == 0 {
		return "any value"
	}
	return strings.Join(all, " or ")
}

// jsonAnchor is what GitHub makes of a heading to link to.
func jsonAnchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '.' || r == ',':
			return -1
		}
		return r
	}, strings.ToLower(heading))
}
