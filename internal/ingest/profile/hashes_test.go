package profile

import (
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

func TestHashes(t *testing.T) {
	const text = `{"timestamp":1764432001.03348,"request_id":"cmpl-a","model_name":"m","chunk_size":256,"seq_len":600,"dtypes":["torch.bfloat16"],"shapes":[[2,32]],"chunk_hashes":["0x2b86c91f","C5241F03"]}
{"timestamp":1764432002,"request_id":"cmpl-b","chunk_hashes":[]}
noise
{"timestamp":1764432002,"chunk_hashes":["0x1"]}
{"timestamp":1764432002,"request_id":"cmpl-c","chunk_hashes":"0x1"}
{"timestamp":1764432002,"request_id":"cmpl-d","chunk_`
	for _, keepAll := range []bool{true, false} {
		b := model.NewBatch(model.NewDict(), keepAll)
		var d HashDecoder
		var rep decode.Report
		d.Decode(decode.Block{File: b.Dict.AddFile("h.jsonl"), Family: "h.jsonl", Data: []byte(text), Line: 1}, b, &rep)
		var skipped []string
		for _, p := range rep.Problems {
			skipped = append(skipped, p.Text)
		}
		if got := strings.Join(skipped, "; "); got != "want a JSON object; want a request_id and chunk_hashes; want a request_id and chunk_hashes; ends in the middle of a record" || !rep.Truncated {
			t.Errorf("skipped %s", got)
		}
		if rep.Records != 2 || rep.Spans != 0 {
			t.Errorf("%d records, want 2", rep.Records)
		}
		if !keepAll {
			if len(b.Records) != 0 {
				t.Errorf("%d records are kept where nothing asks for them", len(b.Records))
			}
			continue
		}
		var got []string
		for i := range b.Records {
			r := &b.Records[i]
			if r.Flags != model.RecordHashes || r.Start != epoch+[]model.Time{1_033_480_000, 2_000_000_000}[i] {
				t.Errorf("record %+v", r)
			}
			got = append(got, shown(b, r))
		}
		if !strings.HasSuffix(got[0], " request_id=cmpl-a chunk_size=256 seq_len=600 chunk_hashes=2b86c91f c5241f03") || !strings.HasSuffix(got[1], " request_id=cmpl-b chunk_size=0 seq_len=0 chunk_hashes=") {
			t.Errorf("records %q", got)
		}
	}
}
