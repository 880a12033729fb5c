package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cbtrace/cbtrace/internal/render"
)

// A pipe is the standard output. Once nobody reads it any more every write gives errClosedPipe, which ends the run silently (R3.3).
type pipe struct {
	w      io.Writer
	closed bool
	failed error // why something could not be written
}

func (p *pipe) Write(b []byte) (int, error) {
	if p.closed {
		return 0, errClosedPipe
	}
	n, err := p.w.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.closed = true
		return n, errClosedPipe
	}
	if err != nil {
		p.failed = cannotWrite("standard output", err)
		return n, p.failed
	}
	return n, nil
}

// print writes the data of a command to standard output, or to a file: under a temporary name first, so that the file is whole or not there
// (R3.2).
func (a *app) print(path string, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		return buffered(a.stdout, func(w io.Writer) error {
			a.stderr.stop() // both may be one terminal
			return write(w)
		})
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a device, a named pipe
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return cannotWrite(path, err)
		}
		return writeAndClose(f, path, write)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := createBeside(path)
	if err != nil {
		return cannotWrite(path, err)
	}
	a.scratch.add(f.Name())
	if err := writeAndClose(f, path, write); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return cannotWrite(path, err)
	}
	a.scratch.keep(f.Name())
	return nil
}

// writeAndClose writes what goes to a path into the file that is open for it.
func writeAndClose(f *os.File, path string, write func(io.Writer) error) error {
	err := buffered(outlet{f, path}, write)
	if e := f.Close(); e != nil && err == nil {
		err = cannotWrite(path, e)
	}
	return err
}

// An outlet is a file that is written, whose errors tell it from the inputs that are read meanwhile.
type outlet struct {
	w    io.Writer
	path string
}

func (o outlet) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		err = cannotWrite(o.path, err)
	}
	return n, err
}

// cannotWrite is the error of a file that cannot be made or is on a full disk: what is wrong is where whoever named it wants it, not the inputs.
func cannotWrite(path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // it may name the temporary file
	}
	return usagef("cannot write %s: %w", path, err)
}

// writeJSON writes documents as JSON: one as it is, several as an array; as jsonl each on a line of its own.
func writeJSON[D any](w io.Writer, format string, docs []D) error {
	if format == "jsonl" {
		for _, d := range docs {
			if err := render.JSONLine(w, d); err != nil {
				return err
			}
		}
		return nil
	}
	if len(docs) == 1 {
		return render.JSON(w, docs[0])
	}
	return render.JSON(w, docs)
}

// show prints a page, or documents for machines, in the format that was asked for.
func show[D any](a *app, out *outputFlags, page *render.Page, docs []D) error {
	return a.print(out.path, func(w io.Writer) error {
		switch format := out.format.value; {
		case format == "json" || format == "jsonl":
			return writeJSON(w, format, docs)
		case out.table != "" || format == "csv":
			t, err := tableOf(page, cmp.Or(out.table, page.Main))
			if err != nil {
				return err
			}
			if out.table == "" {
				a.unasked(page)
			}
			return tableAs(w, t, format, a.style(out.path))
		case format == "markdown":
			return page.Markdown(w)
		}
		return page.Text(w, a.style(out.path))
	})
}

// unasked says which table of several CSV is of, where none was asked for.
func (a *app) unasked(page *render.Page) {
	names := page.Tables()
	if len(names) < 2 {
		return
	}
	chosen := cmp.Or(page.Main, names[0])
	others := slices.DeleteFunc(names, func(name string) bool { return name == chosen })
	a.note("csv is one table, this one %s; --table NAME prints another: %s", chosen, strings.Join(others, ", "))
}

// tableAs writes a table in a format.
func tableAs(w io.Writer, t *render.Table, format string, style render.Style) error {
	switch format {
	case "csv":
		return t.CSV(w)
	case "markdown":
		return t.Markdown(w)
	}
	return t.Text(w, style)
}

// tableOf is the table of a name.
func tableOf(page *render.Page, name string) (*render.Table, error) {
	names := page.Tables()
	if name == "" && len(names) > 0 {
		name = names[0]
	}
	if t := page.Find(name); t != nil {
		return t, nil
	}
	hint := ""
	if near := nearest(name, names); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return nil, usagef("no table %q here: want one of %s%s", name, strings.Join(names, ", "), hint)
}

func buffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// createBeside makes a new file in the folder of path, with the rights that path has or would get.
func createBeside(path string) (*os.File, error) {
	mode := fs.FileMode(0o666)
	info, err := os.Stat(path)
	if err == nil {
		mode = info.Mode().Perm()
	}
	for {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%08x", filepath.Base(path), rand.Uint32()))
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
