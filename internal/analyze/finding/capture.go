package finding

// What follows is decided over sums, when nothing more is merged (R2.3). Which clocks disagree, the survey says (package clock).

// A DualStage counts the sightings of one stage over the requests that have it as spans and as profile lines: Fewer sums the smaller of
// both per request, Paired those that are one.
type DualStage struct{ Fewer, Paired int64 }

// DualMismatches decides dual_mismatch for a stage.
func DualMismatches(s DualStage) bool { return s.Paired*100 < s.Fewer*dualPercent }

// An InputState is what an input says of its own completeness.
type InputState struct {
	Gaps      int64 // dropped events, gaps in sequence numbers
	Truncated bool
}

// Incomplete decides capture_incomplete for an input.
func Incomplete(in InputState) bool { return in.Gaps > 0 || in.Truncated }

// ClockSteps decides clock_step for a recording, of a process whose wall clock was set so often while it recorded.
func ClockSteps(steps int64) bool { return steps > 0 }

// LacksLLMRequests decides no_llm_request for a capture with requests.
func LacksLLMRequests(requests, llmRequests int64) bool { return requests > 0 && llmRequests == 0 }

// LoadIsMissing decides whether requests with hits and without a retrieve or scatter (model.RowHitsNotLoaded) show missing_stage and are not
// complete: when at least 90 % of the requests with hits have one.
func LoadIsMissing(loaded, notLoaded int64) bool {
	return notLoaded > 0 && loaded*100 >= (loaded+notLoaded)*loadPercent
}
