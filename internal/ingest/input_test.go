package ingest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes files in a temporary folder; a name that ends in "/" is a folder, "a -> b" a link.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		if link, target, ok := strings.Cut(name, " -> "); ok {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, link)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(strings.ReplaceAll(target, "ROOT", root), filepath.Join(root, link)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		dir := filepath.Dir(filepath.Join(root, name))
		if strings.HasSuffix(name, "/") {
			dir = filepath.Join(root, name)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "/") {
			if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		args  []string // below the root
		want  []string // as shown; + is named
	}{
		{"a folder", []string{"d/b.json", "d/a/x.jsonl", "d/a.json", "d/z"}, []string{"d"}, []string{"a.json", "a/x.jsonl", "b.json", "z"}},
		{"hidden, node_modules", []string{"d/.git/x", "d/.x", "d/node_modules/y", "d/sub/node_modules/z", "d/ok"}, []string{"d"}, []string{"ok"}},
		{"a hidden folder that is named", []string{".d/x", ".d/.y"}, []string{".d"}, []string{"x"}},
		{"an empty folder", []string{"d/"}, []string{"d"}, nil},
		{"a file", []string{"d/x.json"}, []string{"d/x.json"}, []string{"+x.json"}},
		{"files of a folder", []string{"d/a/x", "d/b/c/y"}, []string{"d/b/c/y", "d/a/x"}, []string{"+a/x", "+b/c/y"}},
		{"files of one name", []string{"a/x", "b/x"}, []string{"b/x", "a/x"}, []string{"+a/x", "+b/x"}},
		{"two folders", []string{"a/x", "b/y"}, []string{"b", "a"}, []string{"x", "y"}},
		{"two folders with files of one name", []string{"a/x", "b/x", "b/y"}, []string{"b", "a"}, []string{"ROOT/a/x", "ROOT/b/x", "y"}},
		{"a file and its folder", []string{"a/x", "a/y"}, []string{"a", "a/x"}, []string{"+x", "y"}},
		{"the same twice", []string{"a/x"}, []string{"a/x", "a/x", "a", "a/../a/x"}, []string{"+x"}},
		{"folders in one another", []string{"a/b/x", "a/y"}, []string{"a/b", "a"}, []string{"b/x", "y"}},
		{"links", []string{"out/o", "d/x", "d/in -> ROOT/d/x", "d/away -> ROOT/out/o", "d/outdir -> ROOT/out", "d/gone -> ROOT/nothing", "d/.hidden/h", "d/h -> ROOT/d/.hidden/h"}, []string{"d"}, []string{"h", "in"}},
		{"links to folders", []string{"d/a/x", "d/l -> ROOT/d/a", "d/a/up -> ROOT/d", "d/.data/y", "d/data -> ROOT/d/.data"}, []string{"d"}, []string{"a/x", "data/y"}},
		{"a link that is named", []string{"out/o", "l -> ROOT/out", "m -> ROOT/out/o"}, []string{"l"}, []string{"o"}},
		{"what is not there", []string{"a/x"}, []string{"a", "b/nothing"}, []string{"+ROOT/b/nothing!", "x"}},
		{"stdin", []string{"a/x"}, []string{"-", "a/x", "-"}, []string{"+-", "+x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.files...)
			show := func(args []string) (out []string) {
				for _, in := range expand(t, args...).Inputs {
					s := strings.ReplaceAll(in.Shown, filepath.ToSlash(root), "ROOT")
					if in.Named {
						s = "+" + s
					}
					if in.Err != nil {
						s += "!"
					}
					out = append(out, s)
				}
				return
			}
			var args []string
			for _, a := range c.args {
				if a != Stdin {
					a = root + "/" + a
				}
				args = append(args, a)
			}
			got := show(args)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			slices.Reverse(args)
			if again := show(args); !slices.Equal(again, got) {
				t.Errorf("in another order: %q", again)
			}
		})
	}
}

func TestExpandErrors(t *testing.T) {
	if _, err := Expand(nil, nil); err == nil {
		t.Error("no arguments are no error")
	}
	set := expand(t, filepath.Join(t.TempDir(), "x"))
	if len(set.Inputs) != 1 || !errors.Is(set.Inputs[0].Err, fs.ErrNotExist) || strings.Contains(set.Inputs[0].Err.Error(), "/") {
		t.Errorf("%+v", set.Inputs)
	}
}
