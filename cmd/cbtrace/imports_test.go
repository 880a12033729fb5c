package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/cbtrace/cbtrace/"

type layer struct {
	pkg   string // a trailing /... means it and everything below, rows further up win
	ours  []string
	never []string // packages of others; time.Now stands for the call
}

// layers says where things go: what each package may import of ours (a trailing /... means with everything below), and what it must not
// know. Protobuf and Jaeger types end in ingest, which is checked for all others.
var layers = []layer{
	{"internal/model", nil, []string{"os", "io/fs", "net", "time.Now"}},
	{"internal/model/modeltest", []string{"internal/model"}, []string{"os", "time.Now"}},
	{"internal/model/jsontext", nil, []string{"os", "time.Now"}},
	{"internal/model/store", []string{"internal/model"}, []string{"time.Now"}},
	{"internal/ingest/...", []string{"internal/model", "internal/model/jsontext", "internal/ingest/..."}, []string{"gonum.org/v1/gonum", "github.com/olekukonko/tablewriter", "github.com/spf13/cobra"}},
	{"internal/analyze/clock", []string{"internal/model"}, []string{"os", "time.Now"}},
	{"internal/analyze/critpath", []string{"internal/model"}, []string{"os", "time.Now"}},
	{"internal/analyze/split", []string{"internal/model"}, []string{"os", "time.Now"}},
	{"internal/analyze/finding", []string{"internal/model", "internal/analyze/split"}, []string{"os", "time.Now"}},
	{"internal/analyze/report", []string{"internal/model", "internal/analyze/finding", "internal/analyze/clock"}, []string{"os", "time.Now"}},
	{"internal/analyze/...", []string{"internal/model", "internal/model/store", "internal/analyze/..."}, []string{"os", "time.Now"}},
	{"internal/render/...", []string{"internal/model", "internal/model/jsontext", "internal/analyze/...", "internal/render/..."}, []string{"os", "gonum.org/v1/gonum", "github.com/spf13/cobra", "time.Now"}},
	{"cmd/cbtrace", []string{"internal/..."}, []string{"gonum.org/v1/gonum"}},
}

var ingestOnly = []string{"google.golang.org/protobuf", "go.opentelemetry.io", "github.com/jaegertracing"}

func matches(pattern, name string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == below || strings.HasPrefix(name, below+"/")
	}
	return name == pattern
}

func TestImports(t *testing.T) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Imports,GoFiles", "./...")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); seen++ {
		var p struct {
			ImportPath, Dir  string
			Imports, GoFiles []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module)
		i := slices.IndexFunc(layers, func(l layer) bool { return matches(l.pkg, name) })
		if i < 0 {
			t.Errorf("%s: no row in the table of packages", name)
			continue
		}
		for _, imp := range p.Imports {
			if what := forbidden(name, imp, layers[i].ours, layers[i].never); what != "" {
				t.Errorf("%s imports %s: %s", name, imp, what)
			}
		}
		if slices.Contains(layers[i].never, "time.Now") {
			for _, file := range p.GoFiles {
				if at := callsNow(t, filepath.Join(p.Dir, file)); at != "" {
					t.Errorf("%s: time.Now at %s", name, at)
				}
			}
		}
	}
	if seen < 4 {
		t.Errorf("go list named %d packages", seen)
	}
}

func forbidden(pkg, imp string, ours, never []string) string {
	if own, ok := strings.CutPrefix(imp, module); ok {
		if !slices.ContainsFunc(ours, func(pattern string) bool { return matches(pattern, own) }) {
			return "not below it"
		}
		return ""
	}
	below := func(tree string) bool { return matches(tree+"/...", imp) }
	if imp != "os/exec" && slices.ContainsFunc(never, func(n string) bool { return n == imp || strings.Contains(n, ".") && below(n) }) {
		return "stays out"
	}
	if !matches("internal/ingest/...", pkg) && slices.ContainsFunc(ingestOnly, below) {
		return "ends in ingest"
	}
	return ""
}

// callsNow is where a file calls time.Now, "" when it does not.
func callsNow(t *testing.T, file string) string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	at := ""
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Now" {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
				pos := fset.Position(s.Pos())
				at = path.Base(pos.Filename) + ":" + pos.String()[len(pos.Filename)+1:]
			}
		}
		return true
	})
	return at
}

func TestForbidden(t *testing.T) {
	for _, c := range []struct{ pkg, imp, want string }{
		{"internal/model", module + "internal/ingest", "not below it"},
		{"internal/model", "os", "stays out"},
		{"internal/render", "gonum.org/v1/gonum/stat", "stays out"},
		{"internal/analyze", "google.golang.org/protobuf/proto", "ends in ingest"},
		{"internal/ingest/otlp", "google.golang.org/protobuf/proto", ""},
		{"internal/analyze/report", module + "internal/model", ""},
	} {
		for _, l := range layers {
			if matches(l.pkg, c.pkg) {
				if got := forbidden(c.pkg, c.imp, l.ours, l.never); got != c.want {
					t.Errorf("%s importing %s: %q, want %q", c.pkg, c.imp, got, c.want)
				}
				break
			}
		}
	}
}
