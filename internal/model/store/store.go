package store

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Config says how a store works. The zero value is a good one.
type Config struct {
	Memory     int64                    // bytes that a run may take, 0: 1 GiB; records take half of it before partitions go to disk
	TempDir    string                   // where the folder for them is made; "": the system's
	Partitions int                      // 0: picked by Memory and Input
	Input      int64                    // bytes of the inputs as they lie on disk, as far as known
	KeyMode    KeyMode                  // R4.4
	Jobs       int                      // goroutines of Identify; 0: one per processor
	Bare       func(model.AttrKey) bool // what ReadBare keeps; nil: nothing
}

// What a store picks.
const (
	defaultMemory   = 1 << 30
	smallMemory     = 32 << 20
	partitionsSmall = 64 // with less than smallMemory
	partitionsMany  = 256
	maxPartitions   = 4096
	partitionInput  = 12 << 20  // bytes of input that make a partition which stays in a processor's cache while it is read
	partitionMemory = 256 << 10 // bytes of memory for each partition
	minChunk        = 1 << 10
	maxChunk        = 64 << 10
)

// A Store holds the records of one capture. Its life: writers Add and Close; Identify, once; Read and ReadProcess, as often as wanted; Close.
type Store struct {
	dict       *model.Dict
	mode       KeyMode
	partitions int
	chunkSize  int
	limit      int64 // bytes of chunks in memory; the other half is for what is made of them
	tempDir    string
	jobs       int

	streams  []stream // keyed, waiting, processes; inboxes of identify
	resident atomic.Int64
	evicting sync.Mutex
	spill    spill
	closed   atomic.Bool
	readers  sync.Pool
	shapes   shapes
	bare     func(model.AttrKey) bool

	mu         sync.Mutex
	writers    int
	counts     counts
	identified bool
	cut        atomic.Bool // records say which request they belong to (R2.6)
	joins      joins       // what Read needs of the external ids (R4.2)
	leftovers  []Leftover
}

// A stream is a list of chunks.
type stream struct {
	mu      sync.Mutex
	chunks  []chunk
	bytes   int64 // of them in memory
	spilled bool  // what comes goes to disk too
}

// New returns an empty store for records whose names are those of d. It removes what stores of dead processes left in the folder for temporary
// files; see Leftovers.
func New(d *model.Dict, cfg Config) *Store {
	if cfg.Memory <= 0 {
		cfg.Memory = defaultMemory
	}
	if cfg.TempDir == "" {
		cfg.TempDir = os.TempDir()
	}
	if cfg.Partitions <= 0 {
		cfg.Partitions = pickPartitions(cfg.Memory, cfg.Input)
	}
	cfg.Partitions = min(cfg.Partitions, maxPartitions)
	if cfg.Jobs <= 0 {
		cfg.Jobs = runtime.GOMAXPROCS(0)
	}
	s := &Store{dict: d, mode: cfg.KeyMode, partitions: cfg.Partitions, limit: cfg.Memory / 2, tempDir: cfg.TempDir, jobs: cfg.Jobs, bare: cfg.Bare, streams: make([]stream, (2+int(numInboxes))*cfg.Partitions+1)}
	// Open chunks of a few writers together stay below a quarter of the memory.
	s.chunkSize = int(min(max(cfg.Memory/int64(16*s.recordStreams()), minChunk), maxChunk))
	s.spill.free = freeSpace
	s.readers.New = func() any { return s.newReader() }
	s.leftovers = sweep(s.tempDir)
	return s
}

// pickPartitions is how many partitions there are: more for a large input, as memory allows. Small memory is for chunks that are not too short.
func pickPartitions(memory, input int64) int {
	if memory < smallMemory {
		return partitionsSmall
	}
	n := int64(partitionsMany)
	for n*partitionInput < input && 2*n*partitionMemory <= memory && n < maxPartitions {
		n *= 2
	}
	return int(n)
}

// Memory is how many bytes the run may take (Config).
func (s *Store) Memory() int64 { return 2 * s.limit }

// Partitions is how many partitions there are to Read.
func (s *Store) Partitions() int { return s.partitions }

func (s *Store) keyedStream(key hash) int { return partitionOf(key.hi, s.partitions) }

// waitingPart is the partition in which records of a trace wait.
func (s *Store) waitingPart(t model.TraceID) int { return partitionOf(hashTrace(t), s.partitions) }

func (s *Store) waiting(part int) (stream int) { return s.partitions + part }

func (s *Store) processStream() int { return 2 * s.partitions }

func (s *Store) recordStreams() int { return 2*s.partitions + 1 }

// passing reports whether a stream is gone once identify is done.
func (s *Store) passing(stream int) bool {
	return stream >= s.partitions && stream != s.processStream()
}

// take adds a chunk to a stream. kept says that the store keeps the bytes; otherwise they are on disk and may be reused.
func (s *Store) take(i int, c chunk) (kept bool, err error) {
	st := &s.streams[i]
	st.mu.Lock()
	if s.closed.Load() {
		st.mu.Unlock()
		return false, ErrClosed
	}
	if st.spilled {
		err := s.writeChunk(i, &c)
		if err == nil {
			st.chunks = append(st.chunks, c)
		}
		st.mu.Unlock()
		return false, err
	}
	st.chunks = append(st.chunks, c)
	st.bytes += c.size()
	st.mu.Unlock()
	if s.resident.Add(c.size()) > s.limit {
		return true, s.evict()
	}
	return true, nil
}

// evict writes the largest streams to disk until the rest fits, with room for what comes next: while it looks for them, other writers wait.
func (s *Store) evict() error {
	s.evicting.Lock()
	defer s.evicting.Unlock()
	if s.resident.Load() <= s.limit { // another writer saw to it meanwhile
		return nil
	}
	for s.resident.Load() > s.limit-s.limit/16 {
		largest, size := -1, int64(0)
		for i := range s.streams {
			st := &s.streams[i]
			st.mu.Lock()
			if st.bytes > size {
				largest, size = i, st.bytes
			}
			st.mu.Unlock()
		}
		if largest < 0 {
			return nil
		}
		if err := s.evictStream(largest); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) evictStream(i int) error {
	st := &s.streams[i]
	st.mu.Lock()
	defer st.mu.Unlock()
	st.spilled = true
	for j := range st.chunks {
		c := &st.chunks[j]
		if c.rec == nil && c.dict == nil {
			continue
		}
		if err := s.writeChunk(i, c); err != nil {
			return err
		}
		c.rec, c.dict = nil, nil
		st.bytes -= c.size()
		s.resident.Add(-c.size())
	}
	return nil
}

// drop forgets a stream.
func (s *Store) drop(i int) {
	st := &s.streams[i]
	st.mu.Lock()
	s.resident.Add(-st.bytes)
	st.chunks, st.bytes = nil, 0
	st.mu.Unlock()
}

// Spilled says how many streams were written to disk, how many bytes in all, and into which folder. Both are 0 when everything fitted.
func (s *Store) Spilled() (partitions int, bytes int64, dir string) {
	for i := range s.recordStreams() {
		st := &s.streams[i]
		st.mu.Lock()
		if st.spilled {
			partitions++
		}
		st.mu.Unlock()
	}
	s.spill.mu.Lock()
	defer s.spill.mu.Unlock()
	return partitions, s.spill.written, s.spill.dir
}

// Leftovers are the folders of dead processes that New found and removed.
func (s *Store) Leftovers() []Leftover { return s.leftovers }

// Close forgets the records and removes the temporary files. It may be called at any time and more than once; what is under way then ends with ErrClosed
// or an error of a file that is gone.
func (s *Store) Close() error {
	s.closed.Store(true)
	for i := range s.streams {
		s.drop(i)
	}
	if err := s.spill.remove(); err != nil {
		return fmt.Errorf("removing temporary files: %w", err)
	}
	return nil
}
