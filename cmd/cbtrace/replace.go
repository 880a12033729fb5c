package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cbtrace/cbtrace/internal/ingest"
)

// What a run writes replaces what was there, so it must not be what the run reads: a capture cannot be made again.

// writing are the flags that name a file to write.
var writing = []string{"output", "save", "survey-out", "junit", "markdown"}

// A replaced file is there already and will be another one after the run.
type replaced struct {
	flag, path string
	info       fs.FileInfo
}

// toReplace finds the files that the flags of a command would replace. Two flags that name one file are an error: what is written to it last would be all
// that is left.
func toReplace(cmd *cobra.Command) (files []replaced, err error) {
	names := map[string]string{}
	for _, name := range writing {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		path := f.Value.String()
		info, missing := os.Stat(path)
		if missing == nil && !info.Mode().IsRegular() {
			continue // a device, a pipe
		}
		if missing == nil {
			files = append(files, replaced{name, path, info})
		}
		real := path
		if followed, err := filepath.EvalSymlinks(path); err == nil {
			real = followed
		}
		if real, err = filepath.Abs(real); err != nil {
			return nil, err
		}
		if other := names[real]; other != "" {
			return nil, fmt.Errorf("--%s and --%s name one file: want two", other, name)
		}
		names[real] = name
	}
	return files, nil
}

// spare refuses to replace a file that the run reads, by whatever name, through links too.
func (a *app) spare(path string) error {
	if len(a.replaced) == 0 {
		return nil
	}
	info, err := a.stat(path)
	if err != nil {
		return nil // whoever reads it says so
	}
	if path == ingest.Stdin {
		path = "standard input"
	}
	for _, r := range a.replaced {
		if os.SameFile(r.info, info) {
			return usagef("--%s %s would replace %s, which is read: want another file", r.flag, r.path, path)
		}
	}
	return nil
}

// stat says which file it is that is read.
func (a *app) stat(path string) (fs.FileInfo, error) {
	if path != ingest.Stdin {
		return os.Stat(path)
	}
	if f, ok := a.given.(*os.File); ok {
		return f.Stat()
	}
	return nil, fs.ErrNotExist
}

// spareInputs is spare for inputs. What was found in a folder and is no capture may be replaced: it is what an earlier run left there, a saved
// report or a page.
func (a *app) spareInputs(set *ingest.Set, opt ingest.Options) error {
	for i := range set.Inputs {
		in := &set.Inputs[i]
		if err := a.spare(in.Path); err != nil && (in.Named || !set.Foreign(in, opt)) {
			return err
		}
	}
	return nil
}

// spareAll is spare for inputs that are read one after the other, before the first one is.
func (a *app) spareAll(args []string) error {
	if len(a.replaced) == 0 || len(args) == 0 {
		return nil
	}
	set, err := ingest.Expand(args, nil)
	if err != nil {
		return err
	}
	return a.spareInputs(set, ingest.Options{})
}
