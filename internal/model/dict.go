package model

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

type (
	StrID  uint32 // an interned string of a Dict; 0 is ""; 1…NumStages-1 are the stage names, so a Stage is a StrID
	ProcID uint32 // a process of a Dict (R4.11): one clock
	ResID  uint32 // a resource of a Dict: what a file says of the process that wrote a span
	FileID uint32 // an input of a Dict, in the order of paths; 0 is the first
)

// OtherName is what names past the limit are called (R8.7).
const OtherName = "(other)"

// maxStrings bounds a Dict: an input with more distinct names than that loses them to OtherName.
const maxStrings = 1 << 20

// A Resource is what a file says of the process that wrote a span. Fields are "" and 0 when unsaid.
type Resource struct {
	Proc     ProcID
	Instance string // service.instance.id
	Service  string // service.name
	Host     string // host.name
	PID      int64  // process.pid, or the pid of a profile line
}

// A Process is one clock (R4.11). Name is the instance id, else host/pid, else service + / + path.
type Process struct{ Name string }

// A File is one input.
type File struct {
	Path    string      // as outputs show it
	Lines   bool        // positions are line numbers from 1; otherwise byte offsets after decompression
	Refused atomic.Bool // set while reading: no record of it counts (R4.12)

	// Divisor is set while reading when the times of its lines turned out to be on a clock without an epoch although their numbers looked absolute:
	// what their starts are to be divided by then, 1 for nothing. 0: they are as they were read (R4.12).
	Divisor atomic.Int64

	Family string       // its path without the stamp of its rotation, of profile lines
	Plan   *ProfilePlan // what was decided of its profile lines, once it was read; nil: it has none, or counts for nothing
}

// A Dict holds the names of one capture, shared by all its records: strings, resources, processes, files.
// Interning is safe for concurrent use; look-ups by id take no lock. Ids depend on the order of arrival and never reach an output:
// what is printed is ordered by text.
type Dict struct {
	mu    sync.RWMutex
	index map[string]StrID
	strs  atomic.Pointer[[]string]
	kin   atomic.Pointer[[]Stage] // by StrID: the stage itself, or the longest known prefix of an unknown name

	procIndex map[string]ProcID
	procs     atomic.Pointer[[]Process]
	resIndex  map[Resource]ResID
	res       atomic.Pointer[[]Resource]
	files     atomic.Pointer[[]*File]

	Plans *ProfilePlans // of profile lines, by a survey table that was given; set before anything is read
}

// NewDict returns a Dict that holds the vocabulary.
func NewDict() *Dict {
	d := &Dict{index: make(map[string]StrID, 1024), procIndex: map[string]ProcID{}, resIndex: map[Resource]ResID{}}
	strs, kin := make([]string, NumStages, 1024), make([]Stage, NumStages, 1024)
	for s := StageNone; s < NumStages; s++ {
		strs[s], kin[s] = Stages[s].Name, s
		d.index[Stages[s].Name] = StrID(s)
	}
	d.strs.Store(&strs)
	d.kin.Store(&kin)
	d.procs.Store(new([]Process))
	d.res.Store(new([]Resource))
	d.files.Store(new([]*File))
	return d
}

// Intern returns the id of a string. The bytes are copied when they are new.
func (d *Dict) Intern(b []byte) StrID {
	d.mu.RLock()
	id, ok := d.index[string(b)]
	d.mu.RUnlock()
	if ok {
		return id
	}
	return d.add(string(b))
}

// InternString is Intern for a string.
func (d *Dict) InternString(s string) StrID {
	d.mu.RLock()
	id, ok := d.index[s]
	d.mu.RUnlock()
	if ok {
		return id
	}
	return d.add(strings.Clone(s))
}

func (d *Dict) add(s string) StrID {
	d.mu.Lock()
	defer d.mu.Unlock()
	if id, ok := d.index[s]; ok {
		return id
	}
	strs, kin := *d.strs.Load(), *d.kin.Load()
	if len(strs) >= maxStrings && s != OtherName {
		return d.otherLocked()
	}
	id := StrID(len(strs))
	strs, kin = append(strs, s), append(kin, kinOf(s))
	d.index[s] = id
	d.strs.Store(&strs)
	d.kin.Store(&kin)
	return id
}

func (d *Dict) otherLocked() StrID {
	if id, ok := d.index[OtherName]; ok {
		return id
	}
	strs, kin := append(*d.strs.Load(), OtherName), append(*d.kin.Load(), StageNone)
	id := StrID(len(strs) - 1)
	d.index[OtherName] = id
	d.strs.Store(&strs)
	d.kin.Store(&kin)
	return id
}

// kinOf is the stage of a name, or the stage of its longest known prefix (R4.13).
func kinOf(name string) Stage {
	if s := StageOf(name); s != StageNone {
		return s
	}
	for {
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			return StageNone
		}
		name = name[:i]
		if s := StageOf(name); s != StageNone && !Stages[s].Scoped {
			return s
		}
	}
}

// Str is the string of an id.
func (d *Dict) Str(id StrID) string { return (*d.strs.Load())[id] }

// Kin is the stage whose class and bound a name has: its own, or that of its longest known prefix (R4.13).
func (d *Dict) Kin(id StrID) Stage { return (*d.kin.Load())[id] }

// Stage is the stage that a span name is, StageNone outside the vocabulary. Scope rules (R4.22) are the caller's.
func (d *Dict) Stage(name StrID) Stage {
	if s := d.Kin(name); s != StageNone && (name == s.ID() || StageOf(d.Str(name)) == s) {
		return s
	}
	return StageNone
}

// ProcessName is the name of a process by R4.11; family is the path of the file without its rotation stamp.
func ProcessName(r Resource, family string) string {
	switch {
	case r.Instance != "":
		return r.Instance
	case r.Host != "" && r.PID != 0:
		return r.Host + "/" + strconv.FormatInt(r.PID, 10)
	}
	return r.Service + "/" + family
}

// Resource returns the id of a resource, filling in its process (R4.11).
func (d *Dict) Resource(r Resource, family string) ResID {
	r.Proc = d.Process(ProcessName(r, family))
	d.mu.Lock()
	defer d.mu.Unlock()
	if id, ok := d.resIndex[r]; ok {
		return id
	}
	res := *d.res.Load()
	id := ResID(len(res))
	res = append(res, r)
	d.resIndex[r] = id
	d.res.Store(&res)
	return id
}

// Process returns the id of the process of a name.
func (d *Dict) Process(name string) ProcID {
	d.mu.Lock()
	defer d.mu.Unlock()
	if id, ok := d.procIndex[name]; ok {
		return id
	}
	procs := *d.procs.Load()
	id := ProcID(len(procs))
	procs = append(procs, Process{Name: name})
	d.procIndex[name] = id
	d.procs.Store(&procs)
	return id
}

// Proc is the process of an id, Res the resource, File the input.
func (d *Dict) Proc(id ProcID) *Process { return &(*d.procs.Load())[id] }

// NumProcs is how many processes there are.
func (d *Dict) NumProcs() int { return len(*d.procs.Load()) }

// Sizes are how many strings, resources and inputs there are: smaller ids are good ones.
func (d *Dict) Sizes() (strs, resources, files int) {
	return len(*d.strs.Load()), len(*d.res.Load()), len(*d.files.Load())
}

// Res is the resource of an id.
func (d *Dict) Res(id ResID) *Resource { return &(*d.res.Load())[id] }

// File is the input of an id.
func (d *Dict) File(id FileID) *File { return (*d.files.Load())[id] }

// AddFile adds an input. Inputs are added in the order of their paths, before anything is read.
func (d *Dict) AddFile(path string) FileID {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := append(*d.files.Load(), &File{Path: path})
	d.files.Store(&files)
	return FileID(len(files) - 1)
}

// An Interner is a cache in front of a Dict for one goroutine.
type Interner struct {
	dict  *Dict
	cache map[string]StrID
}

// NewInterner returns a cache in front of d.
func NewInterner(d *Dict) *Interner { return &Interner{dict: d, cache: make(map[string]StrID, 256)} }

// internerLimit keeps the cache of one goroutine small when names never repeat.
const internerLimit = 1 << 16

// Intern returns the id of a string.
func (in *Interner) Intern(b []byte) StrID {
	if id, ok := in.cache[string(b)]; ok {
		return id
	}
	id := in.dict.Intern(b)
	if len(in.cache) >= internerLimit {
		clear(in.cache)
	}
	in.cache[in.dict.Str(id)] = id
	return id
}
