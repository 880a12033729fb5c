//go:build unix

package ingest

import (
	"os"

	"golang.org/x/sys/unix"
)

// withoutWaiting opens a pipe that nobody writes to at once.
const withoutWaiting = unix.O_NONBLOCK

// mapFile maps a file for reading, which spares copying it; nil where that does not work.
func mapFile(f *os.File, size int64) []byte {
	if size <= 0 || int64(int(size)) != size {
		return nil
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return b
}

func unmap(b []byte) {
	if b != nil {
		_ = unix.Munmap(b)
	}
}

// release lets go of the memory behind bytes of a mapping, which come back when they are looked at.
func release(b []byte) {
	if len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_DONTNEED)
	}
}
