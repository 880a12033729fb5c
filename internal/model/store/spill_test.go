package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// spilled is an identified store of 400 requests with 256 KiB of memory.
func spilled(t *testing.T) (*Store, *model.Dict) {
	t.Helper()
	d, batches, _ := workload(400, 10, false)
	s := New(d, Config{Memory: 256 << 10, TempDir: t.TempDir()})
	t.Cleanup(func() { s.Close() })
	fill(t, s, batches)
	if _, err := s.Identify(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s, d
}

func readAll(s *Store) (requests int, err error) {
	for i := range s.Partitions() {
		e := s.Read(context.Background(), i, func(*model.Request) error { requests++; return nil })
		err = errors.Join(err, e)
	}
	return requests, err
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// 256 KiB and 400 requests: 8 partitions or more are written, into a folder that is gone once the store is closed.
func TestSpill(t *testing.T) {
	s, _ := spilled(t)
	partitions, bytes, dir := s.Spilled()
	if partitions < 8 || bytes < 100<<10 || dir == "" {
		t.Errorf("%d partitions, %d bytes to %q", partitions, bytes, dir)
	}
	if s.resident.Load() > 128<<10 {
		t.Errorf("%d bytes in memory", s.resident.Load())
	}
	if base := filepath.Base(dir); !strings.HasPrefix(base, fmt.Sprintf("cbtrace-%d-", os.Getpid())) || !spillDir.MatchString(base) {
		t.Errorf("the folder is %s", base)
	}
	if n, err := readAll(s); n != 400 || err != nil {
		t.Errorf("%d requests, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left := entries(t, s.tempDir); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Nothing is written when all fits.
func TestNoSpill(t *testing.T) {
	d, batches, _ := workload(400, 10, false)
	s := New(d, Config{TempDir: t.TempDir()})
	defer s.Close()
	fill(t, s, batches)
	if _, err := s.Identify(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n, bytes, dir := s.Spilled(); n != 0 || bytes != 0 || dir != "" || len(entries(t, s.tempDir)) != 0 {
		t.Errorf("%d partitions, %d bytes to %q", n, bytes, dir)
	}
}

// Damaged or missing bytes are an error that names the file, never a panic and never another answer.
func TestDamagedSpill(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(path string, size int64) error
		want   error
	}{
		{"a byte of a record", func(path string, size int64) error { return flip(path, 100) }, errCorrupt},
		{"a byte in the middle", func(path string, size int64) error { return flip(path, size/2) }, errCorrupt},
		{"the last byte, of a dictionary", func(path string, size int64) error { return flip(path, size-1) }, errCorrupt},
		{"cut short", func(path string, size int64) error { return os.Truncate(path, size/2) }, nil},
		{"empty", func(path string, size int64) error { return os.Truncate(path, 0) }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := spilled(t)
			_, _, dir := s.Spilled()
			path := filepath.Join(dir, spillNames[fileKeyed])
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.damage(path, info.Size()); err != nil {
				t.Fatal(err)
			}
			_, err = readAll(s)
			if err == nil || !strings.Contains(err.Error(), path) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func flip(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return err
	}
	b[0] ^= 0x10
	_, err = f.WriteAt(b[:], at)
	return err
}

// A run that is stopped ends with the reason, and Close leaves nothing.
func TestCancel(t *testing.T) {
	d, batches, _ := workload(400, 10, true)
	s := New(d, Config{Memory: 256 << 10, TempDir: t.TempDir()})
	fill(t, s, batches)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Identify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("identify: %v", err)
	}
	if n, _, _ := s.Spilled(); n == 0 {
		t.Error("nothing was written")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left := entries(t, s.tempDir); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}

	s, _ = spilled(t)
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	n := 0
	var err error
	for i := 0; err == nil && i < s.Partitions(); i++ {
		err = s.Read(ctx, i, func(*model.Request) error {
			if n++; n == 100 {
				cancel()
			}
			return nil
		})
	}
	if !errors.Is(err, context.Canceled) || n >= 400 {
		t.Errorf("read: %v after %d requests", err, n)
	}
	stop := errors.New("enough")
	if err := s.Read(context.Background(), 0, func(*model.Request) error { return stop }); err != stop {
		t.Errorf("an error of the caller: %v", err)
	}
}

// A full disk is said before anything is written, and when it fills up meanwhile.
func TestNoSpace(t *testing.T) {
	d, batches, _ := workload(400, 10, false)
	for _, free := range []int64{0, spillMargin, spillMargin + 50<<10} {
		s := New(d, Config{Memory: 256 << 10, TempDir: t.TempDir()})
		s.spill.free = func(string) (int64, bool) { return free - s.spill.written, true }
		w := s.Writer()
		var err error
		for _, b := range batches {
			err = errors.Join(err, w.Add(b))
		}
		err = errors.Join(err, w.Close())
		if !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), s.tempDir) {
			t.Errorf("%d bytes free: %v", free, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left := entries(t, s.tempDir); len(left) != 0 {
			t.Errorf("left behind: %q", left)
		}
	}
	s := New(d, Config{Memory: 1, TempDir: filepath.Join(t.TempDir(), "not there")})
	defer s.Close()
	w := s.Writer()
	if err := errors.Join(w.Add(batches[0]), w.Close()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder for temporary files: %v", err)
	}
}

// What a killed process left is removed and reported; what belongs to a living one, or is none of ours, stays.
func TestLeftovers(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	dead := child.Process.Pid
	temp := t.TempDir()
	folder := func(name string, files ...string) string {
		dir := filepath.Join(temp, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, f), make([]byte, 1000), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	gone := folder(fmt.Sprintf("cbtrace-%d-1", dead), "records", "waiting", "lock")
	bare := folder(fmt.Sprintf("cbtrace-%d-2", dead))
	held := folder(fmt.Sprintf("cbtrace-%d-3", dead), "lock")
	living := folder(fmt.Sprintf("cbtrace-%d-4", os.Getpid()), "records")
	other := folder(fmt.Sprintf("cbtrace-%d-x", dead), "records")
	lock, err := os.Open(filepath.Join(held, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := lockFile(lock); err != nil {
		t.Fatal(err)
	}
	target := folder("elsewhere", "precious")
	if err := os.Symlink(target, filepath.Join(temp, fmt.Sprintf("cbtrace-%d-5", dead))); err != nil {
		t.Fatal(err)
	}

	s := New(model.NewDict(), Config{TempDir: temp})
	defer s.Close()
	got := s.Leftovers()
	if len(got) != 2 || got[0] != (Leftover{gone, 3000}) || got[1] != (Leftover{bare, 0}) {
		t.Errorf("reported %v", got)
	}
	for _, dir := range []string{held, living, other, target} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
	for _, dir := range []string{gone, bare} {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
	if _, err := os.Stat(filepath.Join(target, "precious")); err != nil {
		t.Error(err)
	}
}

// Bytes that no writer wrote are an error at most.
func FuzzChunk(f *testing.F) {
	d, batches, _ := workload(1, 1, true)
	temp := f.TempDir()
	s := New(d, Config{Partitions: 1, TempDir: temp})
	fill(f, s, batches)
	for i := range s.streams {
		for _, c := range s.streams[i].chunks {
			f.Add(c.rec, c.dict, uint8(c.entries), i == 1)
		}
	}
	known := s.shapes.list()
	s.Close()
	f.Fuzz(func(t *testing.T, rec, dict []byte, n uint8, waiting bool) {
		s := New(d, Config{Partitions: 1, TempDir: temp})
		s.shapes.all.Store(&known)
		defer s.Close()
		stream := 0
		if waiting {
			stream = 1
		}
		if rec == nil {
			rec = []byte{}
		}
		rec = slack(rec)
		c := chunk{rec: rec, dict: dict, recLen: uint32(len(rec)), dictLen: uint32(len(dict)), entries: uint32(n)}
		if _, err := s.take(stream, c); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Identify(context.Background()); err != nil {
			return
		}
		records := 0
		for i := range s.Partitions() {
			err := s.Read(context.Background(), i, func(r *model.Request) error {
				records += len(r.Spans)
				return nil
			})
			if err != nil {
				return
			}
		}
		if err := s.ReadProcess(context.Background(), func(*model.Span) error { records++; return nil }); err == nil && records > len(rec)+1 {
			t.Errorf("%d records out of %d bytes", records, len(rec))
		}
	})
}
