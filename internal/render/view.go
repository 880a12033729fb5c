package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A View is what a page must know beside its document. The zero value shows times in UTC and names no inputs.
type View struct {
	Where     *time.Location // of instants; nil: UTC
	Inputs    []string       // the arguments that named the inputs, for the commands that a page proposes
	Elsewhere bool           // what is to be read next is not at hand: the input was standard input, or a saved report, in which there are no spans
	Unfold    bool           // show every span, also of many alike
	Sort      string         // one of StageOrders: that of the stages of a report
	Trend     bool           // show every bucket of time, also when they are many
	Repeated  int64          // requests that several of the saved reports count that were added up
	Since     *budget.Trend  // since when it has been so; nil: not looked for, or too little to tell
}

// command is a command line that may be copied into a shell, with the inputs of this run. No line is broken in it.
func (v *View) command(words ...string) string {
	inputs := v.Inputs
	elsewhere := v.Elsewhere || len(inputs) > inputsShown
	if elsewhere {
		inputs = nil
	}
	line := v.bare(append(words, inputs...)...)
	if elsewhere {
		line += unbroken(" INPUT…")
	}
	return line
}

// bare is a command line without the inputs.
func (v *View) bare(words ...string) string {
	line := "cbtrace"
	for _, w := range words {
		line += " " + ShellWord(w)
	}
	return unbroken(line)
}

// inputsShown is how many inputs a proposed command repeats.
const inputsShown = 4

// ShellWord is text as one word of a POSIX shell. What must not reach a terminal as it is (R3.7) is written as $'…', which shells turn back.
func ShellWord(s string) string {
	switch {
	case s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=@%+,-") == "":
		return s
	case Escape(s) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range []byte(s) {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(r)
		case r < ' ' || r >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteByte(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// inspectCommand is the command that shows a request. An id that looks like a flag stands behind --.
func (v *View) inspectCommand(id string) string {
	if strings.HasPrefix(id, "-") {
		return v.command("inspect", "--", id)
	}
	return v.command("inspect", id)
}

// reasons says what bounds of a path mean.
var reasons = map[string]string{
	"queue": "waiting in a queue", "engine": "in the engine, not broken down", "decode": "decoding", "rpc": "calls between processes", "poll": "ready, but nobody asked yet",
	"match": "matching in the index", "l2_io": "reading from L2", "l1": "fetching from L1", "gpu_copy": "copying to the GPU", "recompute": "finding out what to compute anew",
	"forward": "the model's forward pass", "unexplained": "in no known span",
}

// stageWords say what a stage of the vocabulary spends its own time on; "" for others. Of some it depends on the request.
func stageWords(stage string) string {
	switch s := model.StageOf(stage); s {
	case model.StageNone:
		return ""
	case model.StageLLMRequest:
		return "its own time: in a queue, in the engine or decoding"
	case model.StageLookupRPC, model.StageLookup:
		return "the lookup around its parts"
	case model.StageSparsePrefetch, model.StageMPLookupPrefetch:
		return "fetching from L2 or L1"
	default:
		return reasons[s.Info().Bound.String()]
	}
}

// cacheBounds are those of time that goes into finding, loading and mending cached tokens.
var cacheBounds = map[string]bool{"rpc": true, "poll": true, "match": true, "l2_io": true, "l1": true, "gpu_copy": true, "recompute": true}

// cacheTime is how much of a path the cache took.
func cacheTime(bounds []report.BoundTime) (ns int64) {
	for _, b := range bounds {
		if cacheBounds[b.Bound] {
			ns += b.NS
		}
	}
	return ns
}

// reasonOf is what a bound means.
func reasonOf(bound string) string {
	if why := reasons[bound]; why != "" {
		return why
	}
	return Escape(bound)
}

// because is a bound with what it means: "l2_io: reading from L2".
func because(bound string) string {
	if why := reasons[bound]; why != "" {
		return bound + ": " + why
	}
	return Escape(bound)
}
