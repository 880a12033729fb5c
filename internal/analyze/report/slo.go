package report

import (
	"fmt"
	"regexp"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// An SLO is a bound on one time of a request: `ttft<=800ms`.
type SLO struct {
	Expr   string // as it was given
	Metric string // ttft, latency or decode_per_token
	Below  bool   // the bound itself does not meet it
	Bound  time.Duration
}

var sloForm = regexp.MustCompile(`^\s*(\w+)\s*(<=?)\s*(\S+)\s*$`)

// ParseSLO reads an expression of --slo.
func ParseSLO(expr string) (SLO, error) {
	m := sloForm.FindStringSubmatch(expr)
	if m == nil {
		return SLO{}, fmt.Errorf("slo %q: want METRIC<=DURATION, for example ttft<=800ms", expr)
	}
	switch m[1] {
	case "ttft", "latency", "decode_per_token":
	default:
		return SLO{}, fmt.Errorf("slo %q: unknown metric %q: want ttft, latency or decode_per_token", expr, m[1])
	}
	d, err := time.ParseDuration(m[3])
	if err != nil || d < 0 {
		return SLO{}, fmt.Errorf("slo %q: want a duration such as 800ms or 2s, have %q", expr, m[3])
	}
	return SLO{expr, m[1], m[2] == "<", d}, nil
}

// Of is the number the bound is on, unknown when the request has none.
func (s SLO) Of(r *model.Row) model.Opt {
	switch s.Metric {
	case "ttft":
		return r.TTFT
	case "decode_per_token":
		return perToken(r)
	}
	return model.Some(r.Window)
}

// Met reports whether a number keeps the bound.
func (s SLO) Met(ns int64) bool { return ns < int64(s.Bound) || ns == int64(s.Bound) && !s.Below }

func perToken(r *model.Row) model.Opt { return perTokenOf(r.Decode, r.CompletionTokens) }

// perTokenOf is the decode time of a token after the first, rounded down (OUTPUT: decode_per_token).
func perTokenOf(decode, completion model.Opt) model.Opt {
	if !decode.OK || !completion.OK || completion.V < 2 {
		return model.Opt{}
	}
	return model.Some(floorDiv(decode.V, completion.V-1))
}

// sloSum counts the requests that have the number, and those that keep the bound.
type sloSum struct{ met, of int64 }
