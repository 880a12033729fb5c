package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
)

// ErrNoSpace means that what does not fit into memory does not fit onto the disk either.
var ErrNoSpace = errors.New("no space left")

// A spill is the folder of temporary files: one of the keyed streams and the processes, one of the waiting streams and of notes, which goes first.
type spill struct {
	mu      sync.Mutex
	dir     string
	gone    bool
	lock    *os.File
	files   [2]*os.File
	sizes   [2]int64
	written int64
	room    int64 // bytes that may be written before free space is looked at again
	free    func(dir string) (int64, bool)
}

const (
	fileKeyed = iota
	fileWaiting
)

var spillNames = [...]string{"records", "waiting"}

// Free space is looked at again after every spillStep bytes; spillMargin is left to others.
const (
	spillStep   = 256 << 20
	spillMargin = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s *Store) spillFile(stream int) int {
	if s.passing(stream) {
		return fileWaiting
	}
	return fileKeyed
}

// writeChunk writes a chunk behind the others and notes where; its bytes are not needed any more.
func (s *Store) writeChunk(stream int, c *chunk) error {
	f, off, err := s.spill.reserve(s.tempDir, s.spillFile(stream), c.size())
	if err != nil {
		return err
	}
	for _, part := range [2][]byte{c.rec, c.dict} {
		if _, err := f.WriteAt(part, off); err != nil {
			if isNoSpace(err) {
				err = fmt.Errorf("%w: %w", ErrNoSpace, err)
			}
			return explain(filepath.Dir(f.Name()), err)
		}
		off += int64(len(part))
	}
	c.off = off - c.size()
	c.recSum, c.dictSum = crc32.Checksum(c.rec, castagnoli), crc32.Checksum(c.dict, castagnoli)
	c.rec, c.dict = nil, nil
	return nil
}

func explain(dir string, err error) error {
	return fmt.Errorf("writing records to %s: %w: free some, point TMPDIR to another disk or raise --memory", dir, err)
}

// reserve makes room for n bytes at the end of a file, and the folder when it is not there yet.
func (p *spill) reserve(tempDir string, file int, n int64) (*os.File, int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return nil, 0, ErrClosed
	}
	if p.dir == "" {
		if err := p.create(tempDir); err != nil {
			return nil, 0, fmt.Errorf("a folder for records that do not fit into memory: %w", err)
		}
	}
	if p.files[file] == nil {
		f, err := os.OpenFile(filepath.Join(p.dir, spillNames[file]), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, 0, err
		}
		p.files[file] = f
	}
	if p.room < n {
		free, ok := p.free(p.dir)
		switch {
		case !ok:
			p.room = spillStep
		case free < n+spillMargin:
			return nil, 0, explain(p.dir, fmt.Errorf("%w: %d MiB free", ErrNoSpace, free>>20))
		default:
			p.room = min(free-spillMargin, max(n, spillStep))
		}
	}
	off := p.sizes[file]
	p.room -= n
	p.sizes[file] += n
	p.written += n
	return p.files[file], off, nil
}

// create makes the folder and holds a lock in it for as long as the process lives.
func (p *spill) create(tempDir string) error {
	dir, err := os.MkdirTemp(tempDir, "cbtrace-"+strconv.Itoa(os.Getpid())+"-*")
	if err != nil {
		return err
	}
	p.dir = dir
	p.lock, err = os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_ = lockFile(p.lock) // a file system without locks: sweep then takes the folder for a living one's
	return nil
}

// file is an open spill file to read from.
func (p *spill) file(i int) (*os.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone || p.files[i] == nil {
		return nil, ErrClosed
	}
	return p.files[i], nil
}

// discard removes the file of the waiting streams.
func (p *spill) discard(i int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.files[i]
	if f == nil {
		return nil
	}
	p.files[i] = nil
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// remove removes everything. Nothing is written afterwards.
func (p *spill) remove() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	if p.dir == "" {
		return nil
	}
	for i, f := range p.files {
		if f != nil {
			f.Close()
			p.files[i] = nil
		}
	}
	err := os.RemoveAll(p.dir)
	if p.lock != nil {
		p.lock.Close()
		p.lock = nil
	}
	p.dir = ""
	return err
}

// load reads a chunk that is on disk into b, which is as long as its records and its dictionary together, or as its dictionary alone, and checks it.
func (s *Store) load(stream int, c *chunk, b []byte) error {
	f, err := s.spill.file(s.spillFile(stream))
	if err != nil {
		return err
	}
	off := c.off + c.size() - int64(len(b))
	if _, err := f.ReadAt(b, off); err != nil {
		return fmt.Errorf("%s: offset %d: reading records back: %w", f.Name(), off, err)
	}
	dict := b
	if len(b) > int(c.dictLen) {
		dict = b[c.recLen:]
		if crc32.Checksum(b[:c.recLen], castagnoli) != c.recSum {
			return fmt.Errorf("%s: offset %d: %w", f.Name(), off, errCorrupt)
		}
	}
	if crc32.Checksum(dict, castagnoli) != c.dictSum {
		return fmt.Errorf("%s: offset %d: %w", f.Name(), off, errCorrupt)
	}
	return nil
}

// TempFile makes a file in the folder for temporary files, "" for the system's. It has no name any more, so that nothing of it is left behind, however the
// process ends.
func TempFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "cbtrace-values-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// A Leftover is a folder of temporary files that a process left behind when it was killed.
type Leftover struct {
	Dir   string
	Bytes int64
}

const lockName = "lock"

var spillDir = regexp.MustCompile(`^cbtrace-([0-9]+)-[0-9]+$`)

// sweep removes the folders of this user's dead processes. A process lives when its number does, or when it holds its lock: numbers of other
// containers mean nothing here.
func sweep(tempDir string) []Leftover {
	entries, err := os.ReadDir(tempDir)
	if err != nil {
		return nil
	}
	var found []Leftover
	for _, e := range entries {
		m := spillDir.FindStringSubmatch(e.Name())
		if m == nil || !e.IsDir() {
			continue
		}
		pid, err := strconv.Atoi(m[1])
		dir := filepath.Join(tempDir, e.Name())
		if err != nil || processLives(pid) || !ownedByUs(dir) || locked(filepath.Join(dir, lockName)) {
			continue
		}
		size := int64(0)
		_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if info, err := d.Info(); err == nil {
					size += info.Size()
				}
			}
			return nil
		})
		if os.RemoveAll(dir) == nil {
			found = append(found, Leftover{dir, size})
		}
	}
	return found
}
