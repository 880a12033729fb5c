package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cbtrace/cbtrace/internal/analyze"
	"github.com/cbtrace/cbtrace/internal/ingest"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render"
	"github.com/cbtrace/cbtrace/internal/render/export/cut"
)

func newCut(a *app) *cobra.Command {
	var in captureFlags
	shards := 0
	cmd := &cobra.Command{
		Use:   "cut --shards N DIR [INPUT…]",
		Short: "a capture cut into shards by request",
		Long: "Writes the records of a capture into DIR/shard-0, DIR/shard-1 and so on, each request wholly into one of them and each record with the request that it was found to belong to. " +
			"Reports of the shards that are made with one survey table merge to the report of one run over all of them, to the byte.",
		Example: `  cbtrace cut --shards 4 cut/ traces/                                   four folders
  cbtrace report --quiet --survey-out t.survey cut/shard-* > /dev/null  one survey of all
  seq 0 3 | xargs -P4 -I{} sh -c 'cbtrace report -q --survey t.survey --save {}.cbr cut/shard-{} > /dev/null'
  cbtrace merge 0.cbr 1.cbr 2.cbr 3.cbr                                 what one run over all prints`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("cut needs a folder to write to")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("shards") {
				return usagef("cut needs --shards N: into how many folders")
			}
			if shards < 1 || shards > cut.Most {
				return usagef("--shards: want 1 to %d, have %d", cut.Most, shards)
			}
			return a.cut(cmd, &in, shards, args[0], args[1:])
		},
	}
	group(cmd, "Shards", func(s *pflag.FlagSet) {
		s.IntVar(&shards, "shards", 0, "how many folders")
	})
	in.registerReading(cmd)
	return cmd
}

// cut writes the shards beside dir and renames them at last, so that they are all there or none.
func (a *app) cut(cmd *cobra.Command, f *captureFlags, shards int, dir string, args []string) (err error) {
	dir = filepath.Clean(dir)
	if names, err := os.ReadDir(dir); err == nil && len(names) > 0 {
		return usagef("%s is not empty", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return cannotWrite(dir, err)
	}
	set, opt, read, err := a.reading(f, args)
	if err != nil {
		return err
	}
	read.KeepAll = true
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".")
	if err != nil {
		return cannotWrite(dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	whole := filepath.Join(temp, "shards")
	out := &shardFiles{dir: whole, shown: dir}
	for k := range shards {
		if err := os.MkdirAll(filepath.Join(whole, cut.Folder(k)), 0o777); err != nil {
			return cannotWrite(dir, err)
		}
	}
	var w *cut.Writer
	var inputs []cut.Input
	c, err := analyze.Group(cmd.Context(), reader(set, read), opt, analyze.Grouping{
		Start: func(d *model.Dict, stats []model.InputStats) error {
			inputs = make([]cut.Input, len(stats))
			for i := range stats {
				format, _, _ := strings.Cut(stats[i].Format, "+")
				inputs[i] = cut.Input{Family: set.Inputs[i].Family(), Lines: format == "cb-profile", Recording: strings.HasPrefix(format, "lct-") || format == "lookup-hashes"}
			}
			w = cut.New(d, shards, inputs, out.append)
			return nil
		},
		Request: func(r *model.Request) error { return w.Request(r) },
		Process: func(s *model.Span) error { return w.Process(s) },
	})
	if err != nil {
		return err
	}
	if err := errors.Join(a.judge(c, f), w.Flush()); err != nil {
		return err
	}
	for i := range inputs {
		if inputs[i].Recording && c.Inputs[i].Unusable == "" {
			if err := a.copyWhole(&set.Inputs[i], out, w.Recording(set.Inputs[i].Shown)); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) { // an empty one
		return cannotWrite(dir, err)
	}
	if err := os.Rename(whole, dir); err != nil {
		return cannotWrite(dir, err)
	}
	a.note("wrote %s and %s of %s into %s", render.Plural(w.Spans, "span"), render.Plural(w.Lines, "line"), render.Plural(w.Requests, "request"), render.Plural(int64(shards), "shard"))
	return nil
}

// copyWhole copies a recording into one shard.
func (a *app) copyWhole(in *ingest.Input, out *shardFiles, shard int) (err error) {
	if in.Path == ingest.Stdin {
		a.note("a recording on standard input cannot be copied: left out")
		return nil
	}
	from, err := os.Open(in.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	return out.write(filepath.Join(cut.Folder(shard), filepath.FromSlash(cut.Safe(in.Shown))), os.O_EXCL, func(to io.Writer) error {
		_, err := io.Copy(to, from)
		return err
	})
}

// shardFiles are the files of the shards, of which none stays open: there may be more than a process may have.
type shardFiles struct {
	dir   string
	shown string // as they will be named
}

func (s *shardFiles) open(name string, flag int) (*os.File, error) {
	path := filepath.Join(s.dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flag, 0o666)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			f, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flag, 0o666)
		}
	}
	return f, err
}

func (s *shardFiles) write(name string, flag int, write func(io.Writer) error) error {
	shown := filepath.Join(s.shown, name)
	f, err := s.open(name, flag)
	if err != nil {
		return cannotWrite(shown, err)
	}
	return writeAndClose(f, shown, write)
}

func (s *shardFiles) append(name string, b []byte) error {
	return s.write(filepath.FromSlash(name), os.O_APPEND, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
