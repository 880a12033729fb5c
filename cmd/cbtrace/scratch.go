package main

import (
	"os"
	"sync"
)

// A scratch holds the temporary files and folders of a run: what must be gone when it ends, however it ends. The zero value is ready.
type scratch struct {
	mu    sync.Mutex
	paths map[string]bool
}

// folder makes a temporary folder.
func (s *scratch) folder() (string, error) {
	dir, err := os.MkdirTemp("", "cbtrace-")
	if err == nil {
		s.add(dir)
	}
	return dir, err
}

func (s *scratch) add(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paths == nil {
		s.paths = map[string]bool{}
	}
	s.paths[path] = true
}

// keep takes a path off the list.
func (s *scratch) keep(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.paths, path)
}

// clear removes everything. A worker may still be adding files to a folder: then it is tried again.
func (s *scratch) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range s.paths {
		for range 100 {
			if os.RemoveAll(path) == nil {
				break
			}
		}
		delete(s.paths, path)
	}
}
