package main

import (
	"os"
	"sync"
)

// A scratch holds the temporary files of outputs: what must be gone when a run ends, however it ends. The zero value is ready.
type scratch struct {
	mu    sync.Mutex
	paths map[string]bool
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

// clear removes everything.
func (s *scratch) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range s.paths {
		_ = os.Remove(path) // it may be gone already
		delete(s.paths, path)
	}
}
