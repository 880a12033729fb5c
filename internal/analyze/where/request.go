package where

import (
	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A request is what a row and a digest of it have in common. Times are ns.
type request struct {
	id, external, key, model, instance, topStage string
	flags                                        model.RowFlags
	findings                                     model.FindingSet
	verdict                                      model.Verdict
	class                                        model.HitClass
	window                                       int64
	root, ttft, queue, prefill, decode           model.Opt
	prompt, completion                           model.Opt
	hits                                         model.RowHits // without Shortfall and EarlyExit
}

func rowRequest(d *model.Dict, r *model.Row) request {
	return request{
		r.ID, r.External, r.Key.String(), r.Model, r.Instance, d.Str(r.TopStage), r.Flags, r.Findings, r.Verdict, r.Hits.Class,
		r.Window, r.RootDuration, r.TTFT, r.Queue, r.Prefill, r.Decode, r.PromptTokens, r.CompletionTokens, r.Hits,
	}
}

func digestRequest(dict *model.Dict, d *report.Digest) request {
	return request{
		d.ID, d.External, d.Key.String(), dict.Str(d.Model), dict.Str(d.Instance), dict.Str(d.TopStage), d.Flags, d.Findings, d.Verdict, d.HitClass,
		d.Window, d.RootDuration, d.TTFT, d.Queue, d.Prefill, d.Decode, d.PromptTokens, d.CompletionTokens,
		model.RowHits{Requested: d.Requested, Hit: d.Hit, Prefix: d.Prefix, Segmented: d.Segmented, NonPrefix: d.NonPrefix, L1Tokens: d.L1Tokens,
			L2Tokens: d.L2Tokens, L1Keys: d.L1Keys, L2Keys: d.L2Keys, Written: d.Written},
	}
}

// failed is R7.11.
func (r *request) failed() bool {
	return r.findings.Has(finding.RetrieveFailed) || r.findings.Has(finding.RequestError) || r.flags&model.RowAborted != 0
}

// requestFields are the fields of a request, named as in the documents of inspect and list. A saved report has them all.
var requestFields = func() []field {
	all := []field{
		{name: "request.id", kind: text, of: func(s *subject) value { return textOf(s.id) }},
		{name: "request.external_id", kind: text, of: func(s *subject) value { return textOf(s.external) }},
		{name: "request.key", kind: text, values: namesOf(model.KeyID, model.KeyTrace), of: func(s *subject) value { return textOf(s.key) }},
		{name: "request.model", kind: text, of: func(s *subject) value { return textOf(s.model) }},
		{name: "request.instance", kind: text, of: func(s *subject) value { return textOf(s.instance) }},
		{name: "request.top_stage", kind: text, of: func(s *subject) value { return textOf(s.topStage) }},
		{name: "request.verdict", kind: text, values: namesOf(0, model.NumVerdicts-1), of: func(s *subject) value { return textOf(s.verdict.String()) }},
		{name: "request.hit_class", kind: text, values: namesOf(0, model.NumHitClasses-1), of: func(s *subject) value { return textOf(s.class.String()) }},
		{name: "request.finding", kind: texts, values: codes},
		{name: "request.complete", kind: truth, of: func(s *subject) value { return truthOf(s.flags&model.RowComplete != 0) }},
		{name: "request.edge", kind: truth, of: func(s *subject) value { return truthOf(s.flags&model.RowEdge != 0) }},
		{name: "request.aborted", kind: truth, of: func(s *subject) value { return truthOf(s.flags&model.RowAborted != 0) }},
		{name: "request.failed", kind: truth, of: func(s *subject) value { return truthOf(s.failed()) }},
		{name: "request.hit_rate", kind: number, of: func(s *subject) value { return rateOf(s.hits.Hit, s.hits.Requested) }},
		{name: "request.effective_reuse", kind: number, of: func(s *subject) value { return rateOf(s.hits.Written, s.hits.Requested) }},
		{name: "request.decode_per_token", kind: number, is: duration, of: func(s *subject) value {
			d := report.Digest{Decode: s.decode, CompletionTokens: s.completion}
			return optOf(d.DecodePerToken())
		}},
	}
	for name, opt := range map[string]func(*request) model.Opt{
		"duration": func(r *request) model.Opt { return model.Some(r.window) }, "root_duration": func(r *request) model.Opt { return r.root },
		"ttft": func(r *request) model.Opt { return r.ttft }, "queue": func(r *request) model.Opt { return r.queue },
		"prefill": func(r *request) model.Opt { return r.prefill }, "decode": func(r *request) model.Opt { return r.decode },
	} {
		all = append(all, field{name: "request." + name, kind: number, is: duration, of: func(s *subject) value { return optOf(opt(&s.request)) }})
	}
	for name, opt := range map[string]func(*request) model.Opt{
		"prompt_tokens": func(r *request) model.Opt { return r.prompt }, "completion_tokens": func(r *request) model.Opt { return r.completion },
		"requested_tokens": func(r *request) model.Opt { return r.hits.Requested }, "hit_tokens": func(r *request) model.Opt { return r.hits.Hit },
		"written_tokens": func(r *request) model.Opt { return r.hits.Written }, "prefix_tokens": func(r *request) model.Opt { return r.hits.Prefix },
		"segmented_prefix_tokens": func(r *request) model.Opt { return r.hits.Segmented }, "non_prefix_tokens": func(r *request) model.Opt { return r.hits.NonPrefix },
		"l1_tokens": func(r *request) model.Opt { return r.hits.L1Tokens }, "l2_tokens": func(r *request) model.Opt { return r.hits.L2Tokens },
		"l1_keys": func(r *request) model.Opt { return r.hits.L1Keys }, "l2_keys": func(r *request) model.Opt { return r.hits.L2Keys },
	} {
		all = append(all, field{name: "request." + name, kind: number, of: func(s *subject) value { return optOf(opt(&s.request)) }})
	}
	for i := range all {
		all[i].saved = all[i].of
		if all[i].kind == texts {
			all[i].saved = func(*subject) value { return value{} } // asked by has
		}
	}
	return all
}()
