package analyze

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// An evidence is a capture and what its input says of itself.
type evidence struct {
	text  string
	input model.InputStats
}

// A captureProof is what shows a finding of the whole capture, what does not, and what nearly does.
type captureProof struct{ shows, not, near evidence }

// lookups are so many requests of a scheduler and a server of equal clocks, of which the server's span is inside the rpc and 1 ms away from its ends;
// in the odd ones, that come last, it lies 10 ms later.
func lookups(n, odd int) evidence {
	var b strings.Builder
	for i := range n {
		at, late := i*1000, 0
		if i >= n-odd {
			late = 10
		}
		fmt.Fprintf(&b, "l%d\n llm_request engine %d %d trace=1\n cb.request sched %d %d\n  cb.lookup.rpc sched %d %d\n   cb.lookup server %d %d\n",
			i, at, at+200, at+10, at+100, at+20, at+60, at+21+late, at+59+late)
	}
	return evidence{text: b.String()}
}

// seenTwice are so many steps that were seen as spans and as lines; of some the line is so late, in ms, that they are not one (over 1 ms, R4.10).
func seenTwice(n, apart int) evidence {
	var b strings.Builder
	for i := range n {
		late := 1.0
		if i >= n-apart {
			late = 1.000001
		}
		at := float64(1000 * i)
		fmt.Fprintf(&b, "d%d\n llm_request engine %.0f %.0f\n  cb.request sched %.0f %.0f\n   cb.build_meta sched %.0f %.0f\n sched.build_meta sched %.6f %.6f line\n",
			i, at, at+200, at+1, at+150, at+10, at+30, at+10+late, at+30+late)
	}
	return evidence{text: b.String()}
}

// loaded are requests with hits of which some were loaded and some not.
func loaded(loads, none int) evidence {
	var b strings.Builder
	for i := range loads + none {
		at := 1000 * i
		fmt.Fprintf(&b, "h%d\n llm_request engine %d %d trace=1\n cb.request server %d %d hit_tokens=256 requested_tokens=512\n  cb.lookup server %d %d\n", i, at, at+200, at+1, at+100, at+2, at+20)
		if i < loads {
			fmt.Fprintf(&b, "  cb.retrieve server %d %d worker_id=0\n", at+30, at+50)
		}
	}
	return evidence{text: b.String()}
}

// set is a recording whose wall clock was set by so much in its middle.
func set(by time.Duration) evidence {
	var steps decode.Steps
	for i := range 600 {
		wall := model.Time(1_764_432_000e9) + model.Time(i)*100_000_000
		if i >= 300 {
			wall += model.Time(by)
		}
		steps.Add(time.Duration(i)*100*time.Millisecond, wall)
	}
	e := lookups(1, 0)
	e.input.Steps = int64(len(steps.List()))
	return e
}

// numbered is a recording that has these sequence numbers.
func numbered(numbers ...int64) evidence {
	var q decode.Sequences
	for _, n := range numbers {
		q.Add([]byte("recorder"), 1, n)
	}
	e := lookups(1, 0)
	e.input.Gaps = q.Lost()
	return e
}

func withoutEngine(e evidence) evidence {
	var kept []string
	for line := range strings.Lines(e.text) {
		if !strings.Contains(line, "llm_request") {
			kept = append(kept, line)
		}
	}
	e.text = strings.Join(kept, "")
	return e
}

var captureProofs = map[string]captureProof{
	"clock_disagreement": {lookups(19, 1), lookups(20, 0), lookups(20, 1)}, // over 5 %
	"dual_mismatch":      {seenTwice(19, 2), seenTwice(20, 0), seenTwice(20, 2)},
	"capture_incomplete": {numbered(1, 2, 4), lookups(1, 0), numbered(3, 1, 2, 2, 4)},
	"no_llm_request":     {withoutEngine(lookups(3, 0)), lookups(3, 0), evidence{text: withoutEngine(lookups(3, 0)).text + "e\n llm_request engine 5000 5001\n"}},
	"clock_step":         {set(-5 * time.Millisecond), set(0), set(time.Millisecond)},
	// What of it the whole capture decides: 90 % of 90 are 81.
	"missing_stage": {loaded(81, 9), loaded(90, 0), loaded(80, 9)},
}

// Every finding of the whole capture is shown by something, not by a capture without it, and not by one that has nearly all of it.
func TestEveryFindingOfACapture(t *testing.T) {
	for i := range finding.Registry {
		info := &finding.Registry[i]
		p, ok := captureProofs[info.Code]
		if info.Scope == finding.Request && i != finding.MissingStage {
			if ok {
				t.Errorf("%s is a finding of a request", info.Code)
			}
			continue // package finding proves those
		}
		if !ok || p.shows.text == "" || p.not.text == "" || p.near.text == "" {
			t.Errorf("%s is not proved", info.Code)
			continue
		}
		for _, c := range []struct {
			what string
			evidence
			want bool
		}{{"what shows it", p.shows, true}, {"what does not", p.not, false}, {"what nearly does", p.near, false}} {
			d := reported(t, c.capture(t))
			got := slices.ContainsFunc(d.Findings, func(f report.Finding) bool { return f.Code == info.Code && f.Count > 0 })
			if got != c.want {
				t.Errorf("%s, %s: findings %+v", info.Code, c.what, d.Findings)
			}
			for _, f := range d.Findings {
				if f.Code != info.Code && f.Severity != finding.Note.String() {
					t.Errorf("%s, %s: also %s", info.Code, c.what, f.Code)
				}
			}
		}
	}
}

func (e *evidence) capture(t *testing.T) *Capture {
	t.Helper()
	read := textual(t, e.text)
	c, err := Open(t.Context(), func(ctx context.Context, d *model.Dict, newSink func() Sink) ([]model.InputStats, error) {
		inputs, err := read(ctx, d, newSink)
		if len(inputs) > 0 {
			inputs[0].Gaps, inputs[0].Steps = e.input.Gaps, e.input.Steps
		}
		return inputs, err
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
