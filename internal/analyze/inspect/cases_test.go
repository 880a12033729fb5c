package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

// TestCases holds the document of each case against its answers, as a user of the JSON would read it.
func TestCases(t *testing.T) {
	lookups := 0
	for _, c := range modeltest.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			got := Build(analysed(c.Request(t)))
			checkPath(t, &c, got)
			checkSpans(t, got)
			if c.Expect.Lookup != nil {
				checkLookup(t, &c, got)
				lookups += len(c.Expect.Lookup)
			}
		})
	}
	if lookups < 40 {
		t.Errorf("only %d lookups", lookups)
	}
}

func checkPath(t *testing.T, c *modeltest.Case, got *Document) {
	t.Helper()
	named := func(want map[string]int64) map[string]int64 {
		out := map[string]int64{}
		for k, n := range want {
			if k == "$root" {
				k = got.Request.RootStage
			}
			if n != 0 {
				out[k] = n
			}
		}
		return out
	}
	stages := func(rows []report.StageTime) (ns, drag map[string]int64) {
		ns, drag = map[string]int64{}, map[string]int64{}
		for _, r := range rows {
			ns[r.Stage] = r.NS
			if r.DragNS != 0 {
				drag[r.Stage] = r.DragNS
			}
		}
		if !slices.IsSortedFunc(rows, func(a, b report.StageTime) int {
			return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Stage, b.Stage))
		}) {
			t.Errorf("by stage out of order: %v", rows)
		}
		return
	}
	bounds := func(rows []report.BoundTime) map[string]int64 {
		out := map[string]int64{}
		for _, r := range rows {
			out[r.Bound] = r.NS
		}
		return out
	}
	same := func(what string, have, want map[string]int64) {
		t.Helper()
		if !maps.Equal(have, want) {
			t.Errorf("%s: have %v, want %v", what, have, want)
		}
	}
	e, p := &c.Expect, &got.CriticalPath
	if got.Window.StartUnixNS != model.Some(int64(modeltest.Epoch)+c.Window.Start) || got.Window.DurationNS != model.Some(e.Total) || p.TotalNS != e.Total || got.TailNS != e.Tail {
		t.Errorf("window %+v, total %d, tail %d", got.Window, p.TotalNS, got.TailNS)
	}
	ns, drag := stages(p.ByStage)
	same("by stage", ns, named(e.ByStage))
	if e.Drag != nil {
		same("drag", drag, named(e.Drag))
	}
	same("by bound", bounds(p.ByBound), e.ByBound)
	if (p.TTFT != nil) != (e.TTFT != nil) {
		t.Fatalf("ttft %v", p.TTFT)
	}
	if e.TTFT != nil {
		ns, _ := stages(p.TTFT.ByStage)
		same("by stage to the first token", ns, named(e.TTFT.ByStage))
		same("by bound to the first token", bounds(p.TTFT.ByBound), e.TTFT.ByBound)
	}
	at := int64(0)
	kinds := map[string]map[string]int64{"self": {}, "overlap": {}, "gap": {}}
	for _, s := range p.Segments {
		if s.StartNS != at || s.DurationNS <= 0 || (s.Kind == "overlap") != (s.During != "") {
			t.Fatalf("segment %+v does not follow on %d", s, at)
		}
		at += s.DurationNS
		kinds[s.Kind][s.Stage] += s.DurationNS
	}
	if at != e.Total {
		t.Errorf("segments end at %d", at)
	}
	same("self", kinds["self"], named(e.Self))
	same("overlap", kinds["overlap"], named(e.Overlap))
	same("gap", kinds["gap"], named(e.Gap))
}

func checkSpans(t *testing.T, got *Document) {
	t.Helper()
	ids, critical := map[string]bool{}, int64(0)
	for _, s := range got.Spans {
		ids[s.ID] = true
		critical += s.CriticalNS.V
	}
	if critical != got.CriticalPath.TotalNS {
		t.Errorf("critical times of the spans add up to %d", critical)
	}
	for i, s := range got.Spans {
		if s.Parent != "" && !ids[s.Parent] || (s.Parent == "") != (s.Edge == "root") || s.OriginalParent != "" && s.OriginalParent == s.Parent {
			t.Errorf("%s: edge %s, parent %q, original %q", s.ID, s.Edge, s.Parent, s.OriginalParent)
		}
		if i > 0 {
			if p := got.Spans[i-1]; p.StartNS.V > s.StartNS.V || p.StartNS.V == s.StartNS.V && p.ID > s.ID {
				t.Errorf("%s comes after %s", s.ID, p.ID)
			}
		}
	}
}

func checkLookup(t *testing.T, c *modeltest.Case, got *Document) {
	t.Helper()
	if len(got.Lookup) != len(c.Expect.Lookup) {
		t.Fatalf("%d lookups, want %d", len(got.Lookup), len(c.Expect.Lookup))
	}
	for i, want := range c.Expect.Lookup {
		var have map[string]any
		if err := json.Unmarshal([]byte(asJSON(t, got.Lookup[i])), &have); err != nil {
			t.Fatal(err)
		}
		for k, v := range want {
			if have[k] != v {
				t.Errorf("lookup %d, %s: %v, want %v", i, k, have[k], v)
			}
		}
	}
}

// fields is the document of OUTPUT, shortened to its names.
const fields = `{schema,
 request: {id, external_id, key, traces, model, root_stage, root_duration_ns, ttft_ns, queue_ns, prefill_ns, decode_ns, prompt_tokens, completion_tokens},
 window: {start_unix_ns, duration_ns, uncertainty_ns}, tail_ns,
 spans: [{id, trace, parent, original_parent, edge, stage, name, owner, process, class, start_ns, raw_start_unix_ns, duration_ns, self_ns, critical_ns,
          attributes, sources: [{file, format, line, offset, joined}], flags, uncertainty_ns}],
 critical_path: {total_ns, segments: [{kind, stage, span, during, start_ns, duration_ns, bound}], by_stage: [{stage, ns, share, drag_ns, uncertainty_ns, rank}], by_bound: [{bound, ns}],
                 ttft: {total_ns, by_stage: [{stage, ns, share, drag_ns, uncertainty_ns, rank}], by_bound: [{bound, ns}]}},
 lookup: [{rpc_ns, submit_ns, l2_load_ns, l2_load_min_ns, server_other_ns, poll_wait_ns, server_ns, wait_ns, legs: [{stage, ns}], n_polls, poll_max_interval_ns, overshoot_ns, basis, uncertainty_ns, upper_bounds}],
 hits: {requested_tokens, hit_tokens, hit_rate, class, prefix_tokens, segmented_prefix_tokens, non_prefix_tokens, l1_tokens, l2_tokens, l1_keys, l2_keys, written_tokens, effective_reuse, shortfall_tokens, early_exit_reason},
 loads: {attempts, overlapping, passes: [{attempt, worker, span, start_ns, duration_ns, written_tokens}], verdict, wasted_tokens},
 blend: {l2_bytes, l2_chunks, l2_gbps, matches, table_hits, probes, l1_hits, l2_misses, scattered_tokens, slot_writes, prefix_chunks, shifted_chunks, dropped_chunks, partial_blocks, scatter_tokens_per_s, imp_count, recomp_ratio, dispatch, imp_empty},
 transfers: [{parent, kernel_ns, staging_ns, idle_ns, bytes, staging_gbps, first_unix_ns, last_unix_ns}],
 findings: [{code, severity, message, spans}],
 clock: [{process, reference, offset_ns, uncertainty_ns, drift_ppm, pairs, disagreeing, basis}],
 quality: {spans_read, records_read, skipped, duplicated, conflicting, unattributed, orphaned, adopted, clipped, outside, cycles, negative, untimed, open, unknown_stages, joins: [{from, to, by, n}], open_copies, coalesced, dual},
 against: {inputs, requests, compared, duration_rank, ttft_rank}}`

// TestFields holds the names and the order of fields against OUTPUT.
func TestFields(t *testing.T) {
	want := strings.Join(strings.Fields(fields), " ")
	if got := namesOf(reflect.TypeFor[Document]()); got != want {
		t.Errorf("have %s\nwant %s", got, want)
	}
}

// namesOf writes the type of a document as OUTPUT does.
func namesOf(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return namesOf(t.Elem())
	case t.Kind() == reflect.Slice:
		if inner := namesOf(t.Elem()); inner != "" {
			return "[" + inner + "]"
		}
	case t.Kind() == reflect.Struct && t.PkgPath() != reflect.TypeFor[model.Opt]().PkgPath():
		var names []string
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			if inner := namesOf(f.Type); inner != "" {
				name = fmt.Sprintf("%s: %s", name, inner)
			}
			names = append(names, name)
		}
		return "{" + strings.Join(names, ", ") + "}"
	}
	return ""
}
