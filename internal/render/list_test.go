package render

import (
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/list"
	"github.com/cbtrace/cbtrace/internal/model"
)

func listOf(starts ...int64) *list.Document {
	d := &list.Document{Schema: list.Schema, Total: 9, Shown: int64(len(starts))}
	for i, at := range starts {
		r := list.Row{ID: "chatcmpl-8482be01b733726a-acfe0b55", HitClass: "none", Model: "meta-llama/Llama-3.1-8B-Instruct", Instance: "5f0c2f9e-6a55-4f3e-9a3f-7f0d5f1f6f10",
			TopStage: "cb.sparse_prefetch", Verdict: "none", Findings: []string{}}
		if at != 0 {
			r.StartUnixNS, r.DurationNS = model.Some(at), model.Some(1_234e6)
		}
		if i == 1 {
			r.TTFTNS, r.HitRate, r.HitClass, r.Verdict = model.Some(90e6), model.SomeFloat(0.625), "partial", "repeat"
			r.Findings = []string{"double_start_load_kv.repeat", "late_poll"}
		}
		d.Requests = append(d.Requests, r)
	}
	return d
}

// Ids are whole in 80 columns; what was asked to be sorted by stays; one day is said once, in the heading.
func TestListPage(t *testing.T) {
	const at = 1_764_432_000e9
	for _, c := range []struct {
		name  string
		view  View
		doc   *list.Document
		width int
		want  string
	}{
		{"80 columns", View{}, listOf(at, at+1e9), 80, `
request                             start 2025-11-29  ttft ms  duration s  hit %
chatcmpl-8482be01b733726a-acfe0b55  16:00:00.000Z           –        1.23    –
chatcmpl-8482be01b733726a-acfe0b55  16:00:01.000Z          90        1.23   62.5

2 of 9 requests.
`},
		{"70 columns, fewer than half with a first token", View{Sort: "start"}, listOf(at, at+1e9, at+2e9), 70, `
request                             start 2025-11-29  duration s
chatcmpl-8482be01b733726a-acfe0b55  16:00:00.000Z           1.23
chatcmpl-8482be01b733726a-acfe0b55  16:00:01.000Z           1.23
chatcmpl-8482be01b733726a-acfe0b55  16:00:02.000Z           1.23

3 of 9 requests.
`},
		{"120 columns, a long finding", View{}, listOf(at, at+1e9), 120, `
request                             start 2025-11-29  ttft ms  duration s  hit %  most in             findings
chatcmpl-8482be01b733726a-acfe0b55  16:00:00.000Z           –        1.23    –    cb.sparse_prefetch
chatcmpl-8482be01b733726a-acfe0b55  16:00:01.000Z          90        1.23   62.5  cb.sparse_prefetch  …load_kv.repeat +1

2 of 9 requests.
`},
		{"by findings", View{Sort: "findings"}, listOf(at, at+1e9), 60, `
request                             ttft ms  findings
chatcmpl-8482be01b733726a-acfe0b55        –
chatcmpl-8482be01b733726a-acfe0b55       90  …d_kv.repeat +1

2 of 9 requests.
`},
		{"by duration", View{Sort: "duration"}, listOf(at, at+1e9), 80, `
request                             ttft ms  duration s  hit %  findings
chatcmpl-8482be01b733726a-acfe0b55        –        1.23    –
chatcmpl-8482be01b733726a-acfe0b55       90        1.23   62.5  …ad_kv.repeat +1

2 of 9 requests.
`},
		{"untimed, over midnight", View{}, listOf(at, 0, at+8*3600e9), 0, `
request                             start                     ttft ms  duration s  hit %  class    most in             loads   findings                        model                             instance
chatcmpl-8482be01b733726a-acfe0b55  2025-11-29T16:00:00.000Z        –        1.23    –    none     cb.sparse_prefetch  none                                    meta-llama/Llama-3.1-8B-Instruct  5f0c2f9e-6a55-4f3e-9a3f-7f0d5f1f6f10
chatcmpl-8482be01b733726a-acfe0b55                                 90        –      62.5  partial  cb.sparse_prefetch  repeat  double_start_load_kv.repeat +1  meta-llama/Llama-3.1-8B-Instruct  5f0c2f9e-6a55-4f3e-9a3f-7f0d5f1f6f10
chatcmpl-8482be01b733726a-acfe0b55  2025-11-30T00:00:00.000Z        –        1.23    –    none     cb.sparse_prefetch  none                                    meta-llama/Llama-3.1-8B-Instruct  5f0c2f9e-6a55-4f3e-9a3f-7f0d5f1f6f10

3 of 9 requests.
`},
	} {
		var b strings.Builder
		if err := c.view.List(c.doc).Text(&b, Style{Width: c.width}); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want[1:] {
			t.Errorf("%s:\n%s\nwant%s", c.name, b.String(), c.want)
		}
	}
}

// CSV has every finding and the whole instant; a request of a hostile id is one row.
func TestListCSV(t *testing.T) {
	d := listOf(1_764_432_000e9)
	d.Requests[0].ID, d.Requests[0].Findings = "=cmd|' /C'!A0\n\x1b", []string{"late_poll", "orphan"}
	d.Of = model.Some(500)
	page := (&View{}).List(d)
	var b strings.Builder
	if err := page.Find(page.Main).CSV(&b); err != nil {
		t.Fatal(err)
	}
	want := "id,external_id,start,start_unix_ns,ttft_ns,duration_ns,hit_rate,hit_class,top_stage,top_bound,verdict,findings,model,instance\n" +
		`'=cmd|' /C'!A0\x0a\x1b,,2025-11-29T16:00:00.000Z,1764432000000000000,,1234000000,,none,cb.sparse_prefetch,,none,late_poll orphan,meta-llama/Llama-3.1-8B-Instruct,5f0c2f9e-6a55-4f3e-9a3f-7f0d5f1f6f10` + "\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := page.Text(&b, Style{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "1 of 9 requests: the saved report keeps a sample of 500 requests.") {
		t.Error(b.String())
	}
}
