// Package ingest reads inputs: it finds the files, tells their formats from their bytes, takes compression and framing off, cuts them into
// blocks of whole records and has the decoders of the formats (packages jsonscan, otlp, otlpproto, …) turn those into model.Batches, in parallel.
//
//	set, err := ingest.Expand(args, os.Stdin)
//	stats, err := set.Read(ctx, dict, ingest.Options{}, func() ingest.Sink { return store.NewWriter() })
//
// The list of formats is in formats.go. A new one is a row there, a decoder in a package of its own, a fixture and a fuzz target.
package ingest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Stdin is the argument that stands for standard input.
const Stdin = "-"

// An Input is one file, or standard input.
type Input struct {
	Path  string // to open it; Stdin for standard input
	Shown string // as outputs name it (Expand)
	Named bool   // named by an argument; otherwise found in a folder
	Size  int64  // bytes, -1 when unknown
	Err   error  // why it cannot be opened, when that is known already
}

// A Set holds the inputs of a run, sorted by Shown.
type Set struct {
	Inputs []Input
	stdin  io.Reader
	block  int // bytes of a block, for tests
	limit  int // bytes of a JSON value, for tests
}

// Size is how many bytes the inputs have, as far as known.
func (s *Set) Size() int64 {
	size := int64(0)
	for i := range s.Inputs {
		size += max(0, s.Inputs[i].Size)
	}
	return size
}

// Expand finds the inputs behind the arguments: files, folders and Stdin. Of a folder every file below it is taken, without hidden files and
// folders and node_modules; links are followed as long as they stay in the tree. A file that is reached twice is taken once.
//
// An input found in a folder is shown by its path in that folder; an argument that is a file by its path below the folder that all arguments
// that are files have in common (one alone by its name), so that a folder and its files one by one are shown alike. Inputs that would be
// shown alike are shown as they were named. An argument that cannot be read becomes an Input with Err.
func Expand(args []string, stdin io.Reader) (*Set, error) {
	if len(args) == 0 {
		return nil, errors.New("no input")
	}
	e := expander{seen: map[string]bool{}, folders: map[string]bool{}}
	for _, arg := range args { // files first: named counts for more than found
		if arg == Stdin {
			if !e.seen[Stdin] {
				e.add(Stdin, Stdin, Input{Path: Stdin, Shown: Stdin, Named: true, Size: -1})
			}
			continue
		}
		info, err := os.Stat(arg)
		switch {
		case err != nil:
			given := filepath.ToSlash(filepath.Clean(arg))
			e.add(absolute(arg), given, Input{Path: arg, Shown: given, Named: true, Size: -1, Err: reason(err)})
		case info.IsDir():
		default:
			e.file(arg, "", info, true)
		}
	}
	e.nameFiles()
	folders := slices.Clone(args)
	slices.SortFunc(folders, func(a, b string) int { return strings.Compare(clean(a), clean(b)) }) // a folder before what is in it
	for _, arg := range folders {
		if info, err := os.Stat(arg); arg != Stdin && err == nil && info.IsDir() {
			e.walk(arg)
		}
	}
	return &Set{Inputs: e.finish(), stdin: stdin}, nil
}

type expander struct {
	found   []found
	seen    map[string]bool // resolved paths of files
	folders map[string]bool // resolved paths of folders that links led to
}

type found struct {
	Input
	given string // the argument, joined with the path below it
}

func (e *expander) add(resolved, given string, in Input) {
	e.seen[resolved] = true
	e.found = append(e.found, found{in, given})
}

// file takes a file, unless it was taken before.
func (e *expander) file(name, shown string, info fs.FileInfo, named bool) {
	resolved := absolute(name)
	if e.seen[resolved] {
		return
	}
	size := int64(-1)
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	e.add(resolved, filepath.ToSlash(filepath.Clean(name)), Input{Path: name, Shown: shown, Named: named, Size: size})
}

// nameFiles shows the arguments that are files by their paths below the folder they have in common.
func (e *expander) nameFiles() {
	common := ""
	for i := range e.found {
		if e.found[i].Path == Stdin || e.found[i].Err != nil {
			continue
		}
		dir := filepath.Dir(clean(e.found[i].Path))
		if common == "" {
			common = dir
		}
		for !within(common, dir) {
			common = filepath.Dir(common)
		}
	}
	for i := range e.found {
		if f := &e.found[i]; f.Path != Stdin && f.Err == nil {
			f.Shown = relative(common, clean(f.Path))
		}
	}
}

// walk takes the files of a folder.
func (e *expander) walk(root string) {
	top := absolute(root)
	var dir func(name string)
	dir = func(name string) {
		entries, err := os.ReadDir(name)
		if err != nil {
			e.add(name, filepath.ToSlash(filepath.Clean(name)), Input{Path: name, Shown: relative(root, name), Named: name == root, Size: -1, Err: reason(err)})
		}
		for _, entry := range entries {
			child := filepath.Join(name, entry.Name())
			if strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" {
				continue
			}
			info, err := entry.Info()
			if err != nil {
				continue // vanished
			}
			if info.Mode()&fs.ModeSymlink != 0 {
				target := absolute(child)
				if info, err = os.Stat(child); err != nil || !within(top, target) {
					continue
				}
				if info.IsDir() {
					if e.folders[target] || within(target, absolute(name)) {
						continue
					}
					e.folders[target] = true
				}
			}
			switch {
			case info.IsDir():
				dir(child)
			case info.Mode().IsRegular():
				e.file(child, relative(root, child), info, false)
			}
		}
	}
	dir(root)
}

// finish names apart what would be shown alike, and sorts.
func (e *expander) finish() []Input {
	alike := map[string]int{}
	for _, f := range e.found {
		alike[f.Shown]++
	}
	for i := range e.found {
		if f := &e.found[i]; alike[f.Shown] > 1 {
			f.Shown = f.given
		}
	}
	slices.SortStableFunc(e.found, func(a, b found) int {
		return strings.Compare(a.Shown+"\x00"+a.Path, b.Shown+"\x00"+b.Path)
	})
	inputs := make([]Input, len(e.found))
	for i, f := range e.found {
		inputs[i] = f.Input
	}
	return inputs
}

// clean is the absolute path without following links, absolute the path behind all links.
func clean(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return filepath.Clean(name)
}

func absolute(name string) string {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	return clean(name)
}

// within reports whether name is dir or below it.
func within(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func relative(dir, name string) string {
	if rel, err := filepath.Rel(dir, name); err == nil {
		name = rel
	}
	return filepath.ToSlash(name)
}

// openFile opens the file of an input. One that was a file when it was listed and is a pipe or a device by now is not waited for.
func (in *Input) openFile() (*os.File, error) {
	if in.Err != nil {
		return nil, &unread{in.Err}
	}
	if in.Size < 0 {
		f, err := os.Open(in.Path)
		if err != nil {
			return nil, &unread{reason(err)}
		}
		return f, nil
	}
	f, err := os.OpenFile(in.Path, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, &unread{reason(err)}
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(&unread{errors.New("no file any more")}, f.Close())
	}
	return f, nil
}

// An unread error is why an input could not be opened, or breaks off before anything tells what it is: nobody knows what is in it.
type unread struct{ error }

func (e *unread) Unwrap() error { return e.error }

// reason is why a file cannot be read, without its path.
func reason(err error) error {
	var in *fs.PathError
	if errors.As(err, &in) {
		return in.Err
	}
	return err
}

var (
	compressed = regexp.MustCompile(`\.(gz|zst|zstd)$`)
	stamps     = []*regexp.Regexp{
		regexp.MustCompile(`()-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}(\.|$)`),             // the collector's file exporter
		regexp.MustCompile(`(\w\.[a-z]+)\.\d{1,3}()$`),                                   // logrotate: profile.jsonl.1
		regexp.MustCompile(`^(.*?)[-_.](?:\d{3}|\d{6})(\.|$)`),                           // a counter: profile-000.jsonl, hashes_20251129_160000_000001.jsonl
		regexp.MustCompile(`()[-_.]\d{4}-?\d\d-?\d\d[-_T]?\d\d[-:]?\d\d[-:]?\d\d(\.|$)`), // a date and time
	}
	numbered = regexp.MustCompile(`(?i)(rank|worker|tp|dp|pp|pid|proc|gpu|node|host)$`) // what is numbered is no rotation: rank-000.jsonl
)

// family is the path of an input without the stamp of its rotation (data-2022-09-14T05-02-14.173.json is data.json) and without .gz: services
// without an instance id are told apart by it (R4.11).
func family(shown string) string {
	dir, name := path.Split(compressed.ReplaceAllString(shown, ""))
	for _, stamp := range stamps {
		if m := stamp.FindStringSubmatch(name); m != nil && !numbered.MatchString(m[1]) {
			name = stamp.ReplaceAllString(name, "$1$2")
		}
	}
	return dir + name
}

// Family is the path of the input without the stamp of its rotation: what processes without an instance are told apart by (R4.11).
func (in *Input) Family() string { return family(in.Shown) }

func (in *Input) String() string { return fmt.Sprintf("%s (%d bytes)", in.Shown, in.Size) }
