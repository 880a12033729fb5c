package schema_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render/schema"
	"github.com/cbtrace/cbtrace/internal/render/schema/schematest"
)

// Every field of a document that was promised, in the order it was promised in: none is renamed or removed within v1 (DESIGN 10).
// … stands for a distribution.
var promised = map[string]map[string]string{"report": {
	"Document": "schema inputs window survey clock requests latency ttft queue decode_per_token slo stages critical_path lookup hits groups " +
		"double_start_load_kv blend transfers failed load findings slowest quality buckets confidence models cache_worth selected",
	"Interval":     "metric percentile n low_ns high_ns",
	"Input":        "file format bytes spans records skipped errors error_count",
	"Window":       "start_unix_ns end_unix_ns",
	"Clock":        "process reference offset_ns uncertainty_ns drift_ppm pairs disagreeing basis",
	"Requests":     "total complete edge other unattributed_spans",
	"Series":       "n mean_ns p50_ns p90_ns p95_ns p99_ns p999_ns max_ns total_ns method exact",
	"SLOResult":    "expr met of share",
	"Stage":        "stage owner class spans requests … self_ns critical_ns critical_share drag_ns longest",
	"CacheWorth":   "requests loaded_tokens per_token_ns spent_ns saved_ns saved_low_ns saved_high_ns",
	"CriticalPath": "total_ns by_stage by_bound ttft",
	"StageTime":    "stage ns share drag_ns uncertainty_ns rank",
	"BoundTime":    "bound ns",
	"TTFTPath":     "total_ns by_stage by_bound",
	"Lookup":       "n rpc submit l2_load server_other poll_wait wait l2_load_n_nonzero at_most totals basis uncertainty_ns",
	"LookupTotals": "rpc_ns submit_ns l2_load_ns server_other_ns poll_wait_ns server_ns wait_ns",
	"Bases":        "measured inferred_upper durations_only no_server no_rpc",
	"Hits": "requests zero_requested requested_tokens hit_tokens hit_rate request_mean prefix_tokens segmented_prefix_tokens non_prefix_tokens l1_tokens " +
		"l2_tokens l1_keys l2_keys written_tokens effective_reuse shortfall_tokens classes early_exits",
	"Classes":     "miss partial full none",
	"Group":       "by value requests latency ttft hits",
	"DoubleLoads": "requests partial_then_full noop_then_full repeat many double_unknown wasted_tokens exemplars",
	"Blend": "l2_bytes l2_chunks l2_gbps matches table_hits probes l1_hits l2_misses scattered_tokens slot_writes prefix_chunks shifted_chunks " +
		"dropped_chunks partial_blocks scatter_tokens_per_s imp_count matches_per_lookup recomp_ratio dispatch imp_empty",
	"Ratios":      "n mean p50 p90 p95 p99 max",
	"Transfers":   "n kernel staging idle bytes staging_gbps",
	"Failed":      "retrieve status_error aborted by_reason requests exemplars",
	"Load":        "requests_per_s tokens_per_s concurrency",
	"Concurrency": "mean max",
	"Finding":     "code scope severity count exemplars",
	"SlowRequest": "id duration_ns ttft_ns top_stage",
	"Quality": "spans_read records_read skipped duplicated conflicting unattributed orphaned adopted clipped outside cycles negative untimed open " +
		"unknown_stages joins open_copies coalesced dual",
	"Join":         "from to by n",
	"BucketResult": "start_unix_ns duration_ns requests p50_ns p95_ns hit_rate failed ttft_p50_ns ttft_p95_ns load",
}, "inspect": {
	"Document":     "schema request window tail_ns spans critical_path lookup hits loads blend transfers findings clock quality against",
	"Against":      "inputs requests compared duration_rank ttft_rank",
	"Request":      "id external_id key traces model root_stage root_duration_ns ttft_ns queue_ns prefill_ns decode_ns prompt_tokens completion_tokens",
	"Window":       "start_unix_ns duration_ns uncertainty_ns",
	"Span":         "id trace parent original_parent edge stage name owner process class start_ns raw_start_unix_ns duration_ns self_ns critical_ns attributes sources flags uncertainty_ns",
	"Source":       "file format line offset joined",
	"CriticalPath": "total_ns segments by_stage by_bound ttft",
	"Segment":      "kind stage span during start_ns duration_ns bound",
	"StageTime":    "stage ns share drag_ns uncertainty_ns rank",
	"BoundTime":    "bound ns",
	"TTFTPath":     "total_ns by_stage by_bound",
	"Lookup": "rpc_ns submit_ns l2_load_ns l2_load_min_ns server_other_ns poll_wait_ns server_ns wait_ns legs n_polls poll_max_interval_ns overshoot_ns " +
		"basis uncertainty_ns upper_bounds",
	"Leg": "stage ns",
	"Hits": "requested_tokens hit_tokens hit_rate class prefix_tokens segmented_prefix_tokens non_prefix_tokens l1_tokens l2_tokens l1_keys l2_keys " +
		"written_tokens effective_reuse shortfall_tokens early_exit_reason",
	"Loads": "attempts overlapping passes verdict wasted_tokens",
	"Pass":  "attempt worker span start_ns duration_ns written_tokens",
	"Blend": "l2_bytes l2_chunks l2_gbps matches table_hits probes l1_hits l2_misses scattered_tokens slot_writes prefix_chunks shifted_chunks " +
		"dropped_chunks partial_blocks scatter_tokens_per_s imp_count recomp_ratio dispatch imp_empty",
	"Transfer": "parent kernel_ns staging_ns idle_ns bytes staging_gbps first_unix_ns last_unix_ns",
	"Finding":  "code severity message spans",
	"Clock":    "process reference offset_ns uncertainty_ns drift_ppm pairs disagreeing basis",
	"Quality": "spans_read records_read skipped duplicated conflicting unattributed orphaned adopted clipped outside cycles negative untimed open " +
		"unknown_stages joins open_copies coalesced dual",
	"Join": "from to by n",
}, "gate": {
	"Document":     "schema verdict alpha results budget requests baselines notes",
	"BaselineInfo": "file requests",
	"Result": "rule metric level verdict value bound n low high baseline ratio delta p exemplars message unit line delta_low delta_high holm " +
		"mix_explained",
}, "diff": {
	"Document":    "schema a b changed metrics mix appeared vanished findings leading alpha notes",
	"DiffSide":    "label requests",
	"DiffMetric":  "metric a b delta ratio low high p verdict contribution_ns unit n_a n_b whole_p",
	"DiffMix":     "explained_ns",
	"DiffFinding": "code a b",
}, "list": {
	"Document": "schema requests total shown of",
	"Row":      "id external_id start_unix_ns duration_ns ttft_ns hit_rate hit_class model instance top_stage verdict findings",
}, "check": {
	"Document": "schema inputs quality survey findings verdict requests problems clock",
	"Input":    "file format bytes spans records skipped errors error_count notes truncated gaps unusable",
	"Problem":  "code severity count of unit message what_to_do switch exemplars",
}, "gate-selftest": {
	"Document":   "schema verdict rules",
	"TestedRule": "rule metric line change verdict message",
}, "explain": {
	"Document": "schema code scope severity meaning detected what_to_do",
}}

func TestDocumentsKeepTheirPromise(t *testing.T) {
	merge := maps.Clone(promised["report"]) // a merge is a report, and its shards
	merge["Document"] += " shards in_two_shards"
	merge["Shard"] = "file requests"
	promised["merge"] = merge
	for _, shared := range []string{"Quality", "Join", "Finding", "Clock"} { // check has them from the report
		promised["check"][shared] = promised["report"][shared]
	}
	for command, types := range promised {
		s, err := schema.Command(command)
		if err != nil {
			t.Fatal(err)
		}
		all := append(schema.Properties{{Name: command + ".Document", Schema: s}}, s.Defs...)
		for _, d := range all {
			var names []string
			for _, p := range d.Schema.Properties {
				names = append(names, p.Name)
			}
			name := d.Name[strings.LastIndexByte(d.Name, '.')+1:]
			want := strings.Replace(types[name], "…", types["Series"], 1)
			if have := strings.Join(names, " "); have != want {
				t.Errorf("%s has %s\nwant %s", d.Name, have, want)
			}
		}
		if len(all) != len(types) {
			t.Errorf("%s: %d types, want %d", command, len(all), len(types))
		}
	}
}

// An array is of the document that the command prints of one, with all that hangs below.
func TestArraysAreOfTheirDocuments(t *testing.T) {
	for name, one := range map[string]string{"inspect-all": "inspect.Document", "explain-all": "render.Explanation"} {
		s, err := schema.Command(name)
		if err != nil {
			t.Fatal(err)
		}
		command := strings.TrimSuffix(name, "-all")
		alone, err := schema.Command(command)
		if err != nil {
			t.Fatal(err)
		}
		if s.Title != "cbtrace."+command+"/v1[]" || alone.Title != "cbtrace."+command+"/v1" {
			t.Errorf("titles %q and %q", s.Title, alone.Title)
		}
		if len(s.Type) != 1 || s.Type[0] != "array" || s.Items == nil || s.Items.Ref != "#/$defs/"+one {
			t.Fatalf("%s: no array of %s: %+v", name, one, s)
		}
		if len(s.Defs) != len(alone.Defs)+1 || s.Defs[0].Name != one {
			t.Fatalf("%s: %d definitions, the first %s", name, len(s.Defs), s.Defs[0].Name)
		}
		for i, p := range alone.Properties {
			if have := s.Defs[0].Schema.Properties[i].Name; have != p.Name {
				t.Errorf("%s: field %s, want %s", name, have, p.Name)
			}
		}
	}
}

// A report of nothing, and one that has something everywhere, are what their schema says.
func TestReportIsWhatItsSchemaSays(t *testing.T) {
	s, err := schema.Command("report")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	dict := model.NewDict()
	slo, err := report.ParseSLO("ttft<=800ms")
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*report.Aggregate{
		"empty": report.New(dict, report.Options{}),
		"full":  report.New(dict, report.Options{SLOs: []report.SLO{slo}, By: []report.By{report.ByModel, report.ByPromptTokens}}),
	} {
		capture := &report.Capture{Survey: "whole"}
		if name == "full" {
			a.Add(fullRow(dict))
			capture.Start, capture.End = 1_700_000_000e9, 1_700_000_060e9
			capture.Inputs = []model.InputStats{{File: "a.json", Format: "otlp-json", Errors: []string{"a.json:1: cut off"}, ErrorCount: 1, Truncated: true}}
			capture.Clock = []report.Clock{{Process: "a", Reference: "b", OffsetNS: model.Some(1), Basis: "pairs"}}
			capture.Disagreeing = []string{"a"}
		}
		doc, err := json.Marshal(a.Document(capture))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range schematest.Validate(text, doc) {
			t.Errorf("%s: %v", name, err)
		}
		var fields map[string]any
		if err := json.Unmarshal(doc, &fields); err != nil {
			t.Fatal(err)
		}
		for field, v := range fields {
			if rows, ok := v.([]any); ok && name == "full" && len(rows) == 0 {
				t.Errorf("full: no rows of %s are checked", field)
			}
		}
	}
}

func TestMergeIsWhatItsSchemaSays(t *testing.T) {
	s, err := schema.Command("merge")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	dict := model.NewDict()
	a := report.New(dict, report.Options{})
	a.Add(fullRow(dict))
	doc := a.Merged(&report.Capture{Survey: "per_shard"}, []report.Shard{{File: "a.cbr", Requests: 1}})
	merge, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range schematest.Validate(text, merge) {
		t.Error(err)
	}
	plain, err := json.Marshal(doc.Document)
	if err != nil {
		t.Fatal(err)
	}
	if len(schematest.Validate(text, plain)) == 0 {
		t.Error("a report passes for a merge")
	}
}

func fullRow(dict *model.Dict) *model.Row {
	one := model.Some(1)
	r := &model.Row{
		Identity: model.Identity{ID: "r"}, Flags: model.RowRealRoot | model.RowRootClosed | model.RowVocabulary | model.RowHasLookup | model.RowAborted,
		Start: 1_700_000_000e9, Window: 50e6, TTFT: one, TTFTTotal: one, Queue: one, Decode: one, PromptTokens: one, CompletionTokens: model.Some(9),
		Stages: []model.RowStage{{Stage: model.StageLookupRPC.ID(), Owner: model.Scheduler, Spans: 1, Counted: 1, Critical: 5, TTFT: 1},
			{Stage: dict.InternString("mine"), Spans: 1, Counted: 1}},
		Spans:   []model.RowSpan{{Stage: model.StageLookupRPC.ID(), Owner: model.Scheduler, NS: 5}},
		Lookups: []model.RowLookup{{RPC: one, Submit: one, L2Load: one, ServerOther: one, PollWait: one}},
		Hits:    model.RowHits{Requested: one, Hit: one, Class: model.HitFull, EarlyExit: "no_gpu_context"}, Verdict: model.LoadRepeat,
		Blend:     model.RowBlend{L2Bytes: one, L2Union: one, Matches: one, Lookups: one, RecompRatios: []float64{0.5}, Dispatches: []string{"flex"}},
		Transfers: []model.RowTransfer{{Kernel: 1, Staging: 1, Bytes: 1}}, Disagreeing: 1,
		Findings: 1, Joins: map[model.JoinKey]int64{{From: "worker", To: "server"}: 1},
	}
	r.Bounds[model.BoundRPC], r.TTFTBound[model.BoundRPC] = 5, 1
	return r
}
