package otlp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// reading is what one decoder makes of data again and again, in lines that tell all records and all that is reported.
func reading(d *Decoder, keepAll bool) func(data []byte) []string {
	b := model.NewBatch(model.NewDict(), keepAll)
	return func(data []byte) (out []string) {
		b.Reset()
		var rep decode.Report
		n := d.Decode(decode.Block{Path: "a.jsonl", Family: "a.jsonl", Data: data, Line: 1}, b, &rep)
		for i := range b.Records {
			out = append(out, describe(b, &b.Records[i]))
		}
		return append(out, fmt.Sprintf("%d bytes, %d spans, %d skipped, %v %v %v\n%s", n, rep.Spans, rep.Skipped, rep.Truncated, rep.Notes, rep.Signals, problems(&rep)))
	}
}

// alike checks that spellings change nothing: data is read by a decoder without them, and twice by one that learns.
func alike(t *testing.T, learning, general func([]byte) []string, data []byte) {
	t.Helper()
	want := general(data)
	for _, pass := range []string{"learning", "learnt"} {
		if got := learning(data); !slices.Equal(got, want) {
			t.Fatalf("%s: got\n%s\nwant\n%s\nof\n%s", pass, strings.Join(got, "\n"), strings.Join(want, "\n"), data)
		}
	}
}

// Whatever happens to bytes of what was learnt, both read it alike.
func TestSpellingsChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(20251130, 1))
	pieces := []string{" ", "\n", ",", `"`, `\`, `\n`, `\u00e9`, "é", "{", "}", "[", "]", ":", "0", "7", "-", ".", "e5", "null", "true", "", "", "", `"`, `"}}`, `,"status":{}`, `,"status":{"code":2}`, `"value":`, `"attributes":[`,
		`,{"key":"bytes","value":{"stringValue":"12"}}`, `,{"key":"other","value":{"arrayValue":{"values":[{"intValue":1}]}}}`, `,"intValue":"3"`, `,"key":"bytes"`, `None`, `True`, `"session_id"`, `"stringValue"`, "12345678901234567890"}
	text := collector + "\n" + export(`{`+ids+`,"name":"a","startTimeUnixNano":"1750000000000000001","endTimeUnixNano":"1750000000000000002"}`, `{`+ids+`,"parentSpanId":"","kind":2}`) + string(corpus(t, 1))
	var samples [][]byte
	for _, line := range strings.SplitAfter(text, "\n") {
		samples = append(samples, []byte(line))
		head, rest, _ := strings.Cut(line, `"spans":[`)
		spans := strings.SplitAfter(rest, `},{"traceId"`)
		for range 20 { // a few of its spans
			from := r.IntN(len(spans))
			some := strings.Join(spans[from:min(len(spans), from+3)], "")
			if some = strings.TrimSuffix(some, `},{"traceId"`); from > 0 {
				some = `{"traceId"` + some
			}
			samples = append(samples, []byte(head+`"spans":[`+some+"}]}]}]}\n"))
		}
	}
	for _, keepAll := range []bool{false, true} {
		learning, general := reading(new(Decoder), keepAll), reading(&Decoder{general: true}, keepAll)
		for _, s := range samples {
			alike(t, learning, general, s)
		}
		for range 6000 {
			data := bytes.Clone(samples[r.IntN(len(samples))])
			for range 1 + r.IntN(3) {
				if len(data) == 0 || len(data) > 8<<10 {
					break
				}
				at := r.IntN(len(data))
				to := min(len(data), at+r.IntN(4)*r.IntN(2))
				if r.IntN(20) == 0 {
					to = len(data)
				}
				data = slices.Replace(data, at, to, []byte(pieces[r.IntN(len(pieces))])...)
			}
			alike(t, learning, general, data)
		}
	}
}
