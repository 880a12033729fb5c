package model

import "time"

// A KeyKind says what a request is keyed by.
type KeyKind uint8

const (
	KeyID    KeyKind = iota // an internal or external id
	KeyTrace                // a trace in which no span has a key (R4.4)
)

func (k KeyKind) String() string { return [...]string{"id", "trace"}[k] }

// Identity is what identify (4a) knows of a request.
type Identity struct {
	ID        string // internal id, else external id, else trace id; "id#2" for a second execution
	Key       KeyKind
	External  string // gen_ai.request.id of its llm_request, or the external id it is a candidate of; "" for none
	Candidate bool   // an external id fits it and others: neither aborted nor incomplete for it (R4.2)
	Ambiguous bool   // it is the external id that fits several (finding ambiguous_join)
	Reused    bool   // a second execution under the same id (R4.7)
}

// Counts are what cleaning and linking found out about a request: quality counts.
type Counts struct {
	Duplicated, OpenCopies, Conflicting, Orphaned, Adopted, Clipped, Outside, Cycles, Negative, Untimed, Open, UnknownStages int64
	Coalesced, Dual                                                                                                          int64 // lines made one; spans seen as a line too
}

// A Request is all that was recorded of one request. It passes through the phases: grouped (Spans in order of raw start and id, untimed
// ones last), cleaned (R4.7–R4.10: no copies), linked (R4.14–R4.25: a tree with a root, aligned times, a window).
type Request struct {
	Identity
	Dict   *Dict
	Spans  []*Span // every span but points without a stage and what Extra holds; synthetic ones at the end once linked
	Points []Source
	Notes  []Note // of its spans, in their order, once linked
	Root   *Span  // never nil once linked; FlagSynthetic when made up

	Reference ProcID      // the process on whose clock aligned times are (R5.5)
	Aligned   []Alignment // of the clocks of its spans, once linked

	WindowStart, WindowEnd Time          // R4.24, aligned
	Uncertainty            time.Duration // ± of a window that was widened across processes, or of the root's clock route
	OwnStart, OwnEnd       Time          // the root's own interval inside the window; the rest is gap
	Tail                   time.Duration // R4.25
	Counts                 Counts

	DuplicateRoot bool                                    // R4.22
	StageSeen     struct{ Spans, Lines [NumStages]int32 } // sightings by source, before dual sightings were paired (finding dual_mismatch)
	StagePaired   [NumStages]int32
	Anchors       []Anchor // of clocks without an epoch (R4.12), in no order
	Votes         []Vote   // of what was seen as a span and as lines (R4.10), in no order

	ids *idIndex // of its Builder: of these spans while it says so; nil for none
}

// A LineProcess is a process as profile lines tell it: where they lie (R4.11) and their pid; the lines of one file are on one clock, whatever their pids.
type LineProcess struct {
	Proc ProcID
	PID  int64 // 0: unsaid
}

// LineProcess is the process of a span that is a profile line.
func (r *Request) LineProcess(s *Span) LineProcess {
	return LineProcess{s.Proc, r.Dict.Res(s.Res).PID}
}

// A Vote says that lines of a process were seen as spans of another: they are one (R4.11).
type Vote struct {
	Lines LineProcess
	Span  ProcID
}

// Window is the length of the window in ns: the latency (R4.26).
func (r *Request) Window() time.Duration { return r.WindowEnd.Sub(r.WindowStart) }

// RealRoot reports whether a span was recorded that is the root.
func (r *Request) RealRoot() bool { return r.Root != nil && !r.Root.Has(FlagSynthetic) }

// SyntheticStage is the name of the stage of a root that was made up.
const SyntheticStage = "(synthetic)"

// A Clock is the finished survey's word on clocks (section 5).
type Clock interface {
	// Shift is what must be added to an instant of process from, at about that instant, to read it on the clock of process to,
	// and how far that may be wrong. ok is false where there is no route: the shift is 0 then (R5.5).
	Shift(from, to ProcID, at Time) (shift, uncertainty time.Duration, ok bool)
	// Anchor reports whether a clock has no epoch (profile lines with a monotonic clock, R4.12) and is known against another one, and names that which
	// it is known best against.
	Anchor(p ProcID) (ProcID, bool)
	// Routed reports whether a process has a route to any other.
	Routed(p ProcID) bool
	// Process is the process of a span: of a profile line the instance that its process turned out to be, where it did (R4.11).
	Process(r *Request, s *Span) ProcID
	// Shutdown reports whether a span of the request with this id was ended because its process was stopped (R4.30);
	// retrieved says that a retrieve of the request began inside it. Times are raw.
	Shutdown(s *Span, requestHash uint64, retrieved bool) bool
}
