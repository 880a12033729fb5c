// Package list makes rows of requests, as `cbtrace list` prints them: one line of facts each, in the order that was asked for (OUTPUT list).
package list

import (
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Schema names the document and its version.
const Schema = "cbtrace.list/v1"

// A Document is the requests of a capture. As jsonl it is its requests, one a line.
type Document struct {
	Schema   string    `json:"schema" enum:"cbtrace.list/v1" doc:"name and version of this document"`
	Requests []Row     `json:"requests" doc:"in the order that was asked for, by start unless told otherwise"`
	Total    int64     `json:"total" doc:"requests that were selected"`
	Shown    int64     `json:"shown" doc:"of them those that are listed"`
	Of       model.Opt `json:"of" doc:"of a saved report that keeps a sample of its requests: how many there were; null where none is missing"`
}

// A Row is one request. Numbers that are not known are null.
type Row struct {
	ID          string         `json:"id" doc:"internal id, else external id, else trace id; id#2 for a second execution"`
	ExternalID  string         `json:"external_id,omitempty" doc:"what the client knows it by"`
	StartUnixNS model.Opt      `json:"start_unix_ns" doc:"of its window; null where nothing was timed"`
	DurationNS  model.Opt      `json:"duration_ns" doc:"of its window: what the caller waited, or the server side of it"`
	TTFTNS      model.Opt      `json:"ttft_ns" doc:"time to first token, as the engine says"`
	HitRate     model.OptFloat `json:"hit_rate" doc:"hit / requested tokens; null when nothing was requested"`
	HitClass    string         `json:"hit_class" enum:"miss|partial|full|none"`
	Model       string         `json:"model" doc:"unknown where nothing names it"`
	Instance    string         `json:"instance,omitempty" doc:"the process of the cache server, else of the root"`
	TopStage    string         `json:"top_stage" doc:"the stage with the most time on the path to the first token; where that is not known, on the path below the root"`
	Verdict     string         `json:"verdict" enum:"none|partial_then_full|noop_then_full|repeat|many|double_unknown" doc:"on its loads"`
	Findings    []string       `json:"findings" doc:"codes, errors first"`

	TopBound string `json:"-"` // what limited most of the top stage's time, where that is the root; else ""
}

// A Request is what a row is made of, small enough to hold many. Times are ns.
type Request struct {
	ID, External              string
	Start                     model.Time // of the window; 0: nothing was timed
	Window                    int64
	TTFT, Requested, Hit      model.Opt // ns, tokens, tokens
	Model, Instance, TopStage model.StrID
	Flags                     model.RowFlags
	Findings                  model.FindingSet
	HitClass                  model.HitClass
	Verdict                   model.Verdict
}

// OfRow is the request of a row. Its ids are those of the row, which live no longer than that: Clone keeps them.
func OfRow(d *model.Dict, r *model.Row) Request {
	return Request{
		ID: r.ID, External: r.External, Start: r.Start, Window: r.Window, TTFT: r.TTFT, Requested: r.Hits.Requested, Hit: r.Hits.Hit,
		Model: d.InternString(r.Model), Instance: d.InternString(r.Instance), TopStage: r.TopStage, Flags: r.Flags, Findings: r.Findings,
		HitClass: r.Hits.Class, Verdict: r.Verdict,
	}
}

// OfDigest is the request of a digest of a saved report.
func OfDigest(d *report.Digest) Request {
	return Request{
		ID: d.ID, External: d.External, Start: d.Start, Window: d.Window, TTFT: d.TTFT, Requested: d.Requested, Hit: d.Hit,
		Model: d.Model, Instance: d.Instance, TopStage: d.TopStage, Flags: d.Flags, Findings: d.Findings, HitClass: d.HitClass, Verdict: d.Verdict,
	}
}

// Clone is the request with ids of its own.
func (q Request) Clone() Request {
	q.ID, q.External = strings.Clone(q.ID), strings.Clone(q.External)
	return q
}

// hitRate is hit / requested (R7.6).
func (q *Request) hitRate() model.OptFloat {
	if !q.Hit.OK || !q.Requested.OK || q.Requested.V == 0 {
		return model.OptFloat{}
	}
	return model.SomeFloat(float64(q.Hit.V) / float64(q.Requested.V))
}

// Row is the request as it is printed.
func (q *Request) Row(d *model.Dict) Row {
	r := Row{
		ID: q.ID, ExternalID: q.External, TTFTNS: q.TTFT, HitRate: q.hitRate(), HitClass: q.HitClass.String(), Model: d.Str(q.Model),
		Instance: d.Str(q.Instance), TopStage: d.Str(q.TopStage), Verdict: q.Verdict.String(), Findings: Codes(q.Findings),
		TopBound: q.Flags.TopBound(),
	}
	if q.Start != 0 {
		r.StartUnixNS, r.DurationNS = model.Some(int64(q.Start)), model.Some(q.Window)
	}
	return r
}

// Codes are the codes of findings, errors first, then by code; never nil.
func Codes(set model.FindingSet) []string {
	codes := []string{}
	if set == 0 {
		return codes
	}
	for n := range finding.Registry {
		if set.Has(n) {
			codes = append(codes, finding.Registry[n].Code)
		}
	}
	slices.SortFunc(codes, func(a, b string) int {
		x, _ := finding.ByCode(a)
		y, _ := finding.ByCode(b)
		if s, t := finding.Registry[x].Severity, finding.Registry[y].Severity; s != t {
			return int(s) - int(t)
		}
		return strings.Compare(a, b)
	})
	return codes
}
