package model

import (
	"math"
	"time"
)

// Flags are the marks on a span that outputs show.
type Flags uint32

const (
	FlagDuplicateID Flags = 1 << iota // another span with this id and other content (R4.8)
	FlagCycleCut                      // a ring of parents was cut here (R4.21)
	FlagOpen                          // no end was written (R4.8)
	FlagUntimed                       // no time was written (R3.5): shown, without window, path or percentiles
	FlagOrphan                        // its parent id is not in the request (R4.17)
	FlagClipped                       // cut to its parent for the walk (R6.1)
	FlagOutside                       // nothing left of it inside its parent (R6.1)
	FlagFitted                        // moved rigidly into its client for the walk (R6.6)
	FlagSynthetic                     // made up (R4.15, R4.22)
	FlagTransparent                   // shown but not on the path (R4.23)
	FlagShutdown                      // ended because its process was stopped (R4.30)
	FlagNegative                      // ends before it starts
	numFlags        = iota
)

var flagNames = [numFlags]string{"duplicate_id", "cycle_cut", "open", "untimed", "orphan", "clipped", "outside", "fitted", "synthetic", "transparent", "shutdown", "negative"}

// Names are the names of the flags that are set, in the order of OUTPUT.
func (f Flags) Names() []string {
	names := []string{}
	for i, n := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

// An Edge says how a span came under its parent (R4.14).
type Edge uint8

const (
	EdgeNone       Edge = iota
	EdgeParent          // by id, same process
	EdgePropagated      // by id, across processes
	EdgeAdopted         // inferred
	EdgeRoot            // it is the root
)

func (e Edge) String() string { return [...]string{"", "parent", "propagated", "adopted", "root"}[e] }

// A Join says why a record is in its request (OUTPUT: sources[].joined).
type Join uint8

const (
	JoinID         Join = iota // it carries the request's id
	JoinTrace                  // through its trace (R4.3, R4.4)
	JoinNormalised             // an external id that fits after stripping (R4.2)
	JoinAdopted                // through a span that was adopted
	JoinHash                   // through chunk hashes (R4.6)
	NumJoins
)

func (j Join) String() string {
	return [...]string{"id", "trace", "normalised_id", "adopted", "hash"}[j]
}

// A Source is where a record was read.
type Source struct {
	File   FileID
	Pos    int64 // line from 1 or byte offset, as File.Lines says
	Joined Join
}

// An Attr is an attribute of a span.
type Attr struct {
	Key   AttrKey
	Value Value
}

// A Span is one timed piece of work by one process, in its request. Times are ns: RawStart and RawEnd as read, Start and End aligned to the
// clock of the request's reference process (section 5); durations never change.
type Span struct {
	Trace    TraceID
	ID       SpanID
	ParentID SpanID // as read
	Name     StrID  // as read
	StageKey StrID  // the stage's id, or that of the name outside the vocabulary: what totals are kept by
	Stage    Stage  // StageNone outside the vocabulary
	Kin      Stage  // whose class and bound it has (R4.13); StageNone: work, unexplained
	Class    Class
	Kind     SpanKind
	Edge     Edge
	Error    bool // status ERROR
	Line     bool // a profile line, or several coalesced
	MPScope  bool // its scope is lmcache_mp*: written by an LMCache server
	LMScope  bool // its scope is lmcache*
	Flags    Flags
	Scope    StrID
	Res      ResID
	Proc     ProcID
	Clock    ProcID // what its raw times are on: the clock of Proc, or one without an epoch (R4.12)

	RawStart, RawEnd Time
	Start, End       Time
	Attrs            []Attr // the last of a key counts
	Polls            []Time // of a cb.lookup.rpc made of profile lines: raw instants of its polls, ascending (R7.4)
	Sources          []Source

	Parent *Span   // in the tree, nil for the root
	Kids   []*Span // in order of (Start, id)

	// The walk (section 6). Lo, Hi: the interval clipped to the parents, Fit moved in (R6.6).
	Lo, Hi   Time
	Fit      time.Duration // how far a fitted span and what is under it was moved
	Blocking bool          // may be on the path (R6.4)
	Self     time.Duration // R6.9
	Critical time.Duration // its time on the path
	Steps    []*Span       // blocking children for the walk; those of transparent children count here (R4.23)

	Copies int32 // exact copies that were dropped (R4.8)
	Mark   int   // scratch of the analysis that holds the span
}

// Dur is the duration in ns; negative when the span ends before it starts.
func (s *Span) Dur() time.Duration { return s.RawEnd.Sub(s.RawStart) }

// Has reports whether any of the flags is set.
func (s *Span) Has(f Flags) bool { return s.Flags&f != 0 }

// Known reports whether the span's name is in the vocabulary.
func (s *Span) Known() bool { return s.Stage != StageNone }

// IsPoint reports whether the span is a recorded moment outside the vocabulary (an LCT record, a counter).
func (s *Span) IsPoint() bool { return s.Class == Point && !s.Known() }

// ServerRoot reports whether the span is an envelope that the cache server wrote: a request, or a cb.request of a scope lmcache_mp*.
func (s *Span) ServerRoot() bool {
	return s.Stage == StageRequest || s.Stage == StageCBRequest && s.MPScope
}

// Owner is the kind of process that emits the span; OwnerNone outside the vocabulary.
func (s *Span) Owner() Owner {
	if s.ServerRoot() {
		return Server
	}
	return ownerOfStage[s.Stage]
}

// Attr is the value of an attribute, the last of several.
func (s *Span) Attr(k AttrKey) Value { return *s.attr(k) }

func (s *Span) attr(k AttrKey) *Value {
	for i := len(s.Attrs) - 1; i >= 0; i-- {
		if s.Attrs[i].Key == k {
			return &s.Attrs[i].Value
		}
	}
	return &noValue
}

var noValue Value // what is not there; nobody writes to it

// Int is the first of the given attributes that holds a number, as an integer.
func (s *Span) Int(keys ...AttrKey) (int64, bool) {
	for _, k := range keys {
		if n, ok := s.attr(k).Whole(); ok {
			return n, true
		}
	}
	return 0, false
}

// Count is Int, with 0 for an absent number.
func (s *Span) Count(keys ...AttrKey) int64 {
	n, _ := s.Int(keys...)
	return n
}

// Seconds is an attribute in seconds, as ns: rounded to even.
func (s *Span) Seconds(k AttrKey) (time.Duration, bool) {
	f, ok := s.attr(k).Number()
	if !ok || math.Abs(f) >= 9.2e9 {
		return 0, false
	}
	return time.Duration(math.RoundToEven(f * 1e9)), true
}

// True and False report that an attribute holds a truth of that value.
func (s *Span) True(k AttrKey) bool {
	v := s.attr(k)
	return v.Kind == BoolValue && v.Int != 0
}

// False reports that an attribute holds false; see True.
func (s *Span) False(k AttrKey) bool {
	v := s.attr(k)
	return v.Kind == BoolValue && v.Int == 0
}

// Text is an attribute as text; "" when absent.
func (s *Span) Text(k AttrKey) string { return s.attr(k).Text() }

// Worker is the rank that a span names (worker_id, rank, tp_rank), "" when it names none.
func (s *Span) Worker() string {
	var found [3]*Value
	for i := range s.Attrs {
		switch a := &s.Attrs[i]; a.Key {
		case AttrWorkerID:
			found[0] = &a.Value
		case AttrRank:
			found[1] = &a.Value
		case AttrTPRank:
			found[2] = &a.Value
		}
	}
	for _, v := range found {
		if v != nil && v.Kind != NoValue {
			return v.Text()
		}
	}
	return ""
}
