package model

import "strings"

// VOCABULARY 4: names and keys of CB_PROFILE lines. They are assumed, not documented anywhere: --profile-map overrides them.

// ProfileNames are the names of lines and the stages they are lines of. A name that ends in ".*" matches every name with that prefix.
var ProfileNames = []struct {
	Line  string
	Stage Stage
}{
	{"sched.gnnmt", StageSchedule},
	{"gnnmt.cb_unified_submit", StageLookupRPC},
	{"gnnmt.cb_unified_poll", StageLookupRPC},
	{"sched.build_meta", StageBuildMeta},
	{"cb_admission_check", StageAdmission},
	{"slk.*", StageStartLoadKV},
	{"shim.wrapper.prepare", StagePrepare},
	{"shim.wrapper.fwd", StageModelForward},
	{"flex.full_recomp", StageFullRecomp},
	{"flex.full_recomp.*", StageFullRecomp}, // layer hooks
	{"flex.check", StageCheck},
	{"flex.check.*", StageCheck},
	{"flex.partial", StagePartial},
	{"flex.partial.*", StagePartial},
}

// ProfileStage is the stage of the lines of a name: by ProfileNames, the longest match, else the stage of the vocabulary with that very name.
// StageNone for any other, and for names that count only with a scope of LMCache.
func ProfileStage(name string) Stage {
	longest, found := -1, StageNone
	for i := range ProfileNames {
		line := ProfileNames[i].Line
		prefix, below := strings.CutSuffix(line, "*")
		if name == line || below && strings.HasPrefix(name, prefix) && len(name) > len(prefix) {
			if len(line) > longest {
				longest, found = len(line), ProfileNames[i].Stage
			}
		}
	}
	if found == StageNone {
		if s := StageOf(name); !Stages[s].Scoped {
			return s
		}
	}
	return found
}

// A ProfileRole says what a key of a line means.
type ProfileRole uint8

const (
	ProfileOther    ProfileRole = iota // an attribute
	ProfileName                        // what was done
	ProfileStart                       // when it began; also the only instant of a point or counter
	ProfileEnd                         // when it ended
	ProfileDuration                    // how long it took
	ProfileRequest                     // whose work it was: the id of a request
	ProfilePID                         // number of the process
	ProfileProc                        // name or number of the process
	ProfileProcess                     // otherwise about the process: rank, role, thread
	ProfileFailed                      // true, or a text: it failed
	ProfileOK                          // false: it failed
)

// A ProfileUnit is the unit of a time on a line, as the power of ten of ns.
type ProfileUnit int8

const (
	Nanoseconds  ProfileUnit = 0
	Microseconds ProfileUnit = 3
	Milliseconds ProfileUnit = 6
	Seconds      ProfileUnit = 9
	UnitUnsaid   ProfileUnit = -1 // the key does not say: by magnitude (instants), by other keys or nesting (durations) (R4.12)
)

func (u ProfileUnit) String() string {
	switch u {
	case Nanoseconds:
		return "ns"
	case Microseconds:
		return "µs"
	case Milliseconds:
		return "ms"
	case Seconds:
		return "s"
	}
	return "unknown unit"
}

// A ProfileKey is a key of lines.
type ProfileKey struct {
	Key  string
	Role ProfileRole
	Unit ProfileUnit // of times
	Attr AttrKey     // under which a request id or a fact of the process is kept; AttrNone: under the key itself, where all attributes are kept
}

// ProfileStartNS is the key of the start of a line that cut wrote: the unit is known then, whatever the magnitude (R2.6).
const ProfileStartNS = "cbtrace.start_ns"

// ProfileKeys are the keys of lines. Where a line has several of one role the first in this list counts; of request ids all are kept (R4.1).
var ProfileKeys = []ProfileKey{
	{"name", ProfileName, 0, AttrNone},
	{"span", ProfileName, 0, AttrNone},
	{"event", ProfileName, 0, AttrNone},
	{"op", ProfileName, 0, AttrNone},
	{"qualname", ProfileName, 0, AttrNone},
	{"stage", ProfileName, 0, AttrNone},

	{ProfileStartNS, ProfileStart, Nanoseconds, AttrNone},
	{"ts", ProfileStart, UnitUnsaid, AttrNone},
	{"timestamp", ProfileStart, UnitUnsaid, AttrNone},
	{"t", ProfileStart, UnitUnsaid, AttrNone},
	{"t0", ProfileStart, UnitUnsaid, AttrNone},
	{"start", ProfileStart, UnitUnsaid, AttrNone},
	{"start_ts", ProfileStart, UnitUnsaid, AttrNone},
	{"start_time", ProfileStart, UnitUnsaid, AttrNone},
	{"t_wall", ProfileStart, UnitUnsaid, AttrNone},

	{"end", ProfileEnd, UnitUnsaid, AttrNone},
	{"end_ts", ProfileEnd, UnitUnsaid, AttrNone},
	{"t1", ProfileEnd, UnitUnsaid, AttrNone},
	{"end_time", ProfileEnd, UnitUnsaid, AttrNone},

	// Those that say their unit come before those that do not.
	{"dur_ns", ProfileDuration, Nanoseconds, AttrNone},
	{"dur_us", ProfileDuration, Microseconds, AttrNone},
	{"dur_ms", ProfileDuration, Milliseconds, AttrNone},
	{"duration_ms", ProfileDuration, Milliseconds, AttrNone},
	{"latency_ms", ProfileDuration, Milliseconds, AttrNone},
	{"ms", ProfileDuration, Milliseconds, AttrNone},
	{"elapsed_ms", ProfileDuration, Milliseconds, AttrNone},
	{"elapsed_s", ProfileDuration, Seconds, AttrNone},
	{"duration_s", ProfileDuration, Seconds, AttrNone},
	{"dur", ProfileDuration, UnitUnsaid, AttrNone},
	{"duration", ProfileDuration, UnitUnsaid, AttrNone},
	{"elapsed", ProfileDuration, UnitUnsaid, AttrNone},

	{"request_id", ProfileRequest, 0, AttrRequestID},
	{"req_id", ProfileRequest, 0, AttrReqID},
	{"rid", ProfileRequest, 0, AttrReqID},
	{"req", ProfileRequest, 0, AttrReqID},
	{"session_id", ProfileRequest, 0, AttrSessionID},
	{"external_request_id", ProfileRequest, 0, AttrExternalRequestID},

	{"pid", ProfilePID, 0, AttrPID},
	{"proc", ProfileProc, 0, AttrNone},
	{"tid", ProfileProcess, 0, AttrNone},
	{"rank", ProfileProcess, 0, AttrRank},
	{"worker_id", ProfileProcess, 0, AttrWorkerID},
	{"tp_rank", ProfileProcess, 0, AttrTPRank},
	{"role", ProfileProcess, 0, AttrRole},

	{"failed", ProfileFailed, 0, AttrNone},
	{"error", ProfileFailed, 0, AttrNone},
	{"success", ProfileOK, 0, AttrSuccess},
	{"ok", ProfileOK, 0, AttrNone},
}
