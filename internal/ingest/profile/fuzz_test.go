package profile

import (
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Whatever a file holds: reading ends, every record has a name and times in range, nothing is counted twice, and neither the fast reading of lines alike
// nor where blocks end changes what comes out.
func FuzzProfileLines(f *testing.F) {
	for _, s := range []string{
		`{"name":"sched.gnnmt","ts":1764432001181727,"dur_us":50,"request_id":"r","pid":4242,"role":"scheduler"}`,
		`{"event":"slk.load","start_ts":1764432001.224255,"duration_ms":0.08,"req_id":"r","pid":4300,"rank":0}` + "\n" + `{"event":"slk.wait","start_ts":1764432001.5`,
		`{"name":"a","t0":17.5,"dur":1e-3,"end":18,"error":{"x":[1,2]}}{"name":"b","ts":NaN}`,
		`[{"name":"a","ts":1764432000},{"name":"a","ts":1764432000000}]`,
		"\xef\xbb\xbf" + `{"name":"a","ts":0}` + "\r\n\x00{" + `{"name":"a","ts":-1,"dur_ns":99999999999999999999}`,
		string(benchLines(14)), pollLines(2, `{"name":"%s","ts":%s,"dur":%s,"request_id":"r%d","pid":1}`, absoluteUS, in(1e6, 1)),
	} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, keepAll bool) {
		data = append(append(append([]byte(nil), data...), '\n'), data...) // spelled like lines before
		text := string(data)
		whole := setup{keepAll: keepAll}.read(t, text)
		slow := setup{keepAll: keepAll, slow: true}.read(t, text)
		if a, b := strings.Join(whole.records, "\n"), strings.Join(slow.records, "\n"); a != b {
			t.Fatalf("fast\n%s\nslow\n%s", a, b)
		}
		if a, b := strings.Join(whole.skipped, "\n"), strings.Join(slow.skipped, "\n"); a != b {
			t.Fatalf("fast skips\n%s\nslow skips\n%s", a, b)
		}
		if whole.out.Refused != slow.out.Refused {
			t.Fatalf("refused %q and %q", whole.out.Refused, slow.out.Refused)
		}
		d := model.NewDict()
		b := model.NewBatch(d, keepAll)
		h := NewHead(nil)
		h.Add(data)
		plan := h.Plan()
		if plan.Refused() != "" {
			return
		}
		var dec Decoder
		var rep decode.Report
		file := d.AddFile("f")
		last, lines, seen := int64(0), int64(strings.Count(text, "\n"))+1, int64(0)
		for rest, line := data, int64(1); len(rest) > 0; {
			b.Reset()
			n, passed := dec.Decode(decode.Block{File: file, Path: "f", Family: "f", Data: rest, Line: line}, plan, b, &rep)
			for i := range b.Records {
				r := &b.Records[i]
				if r.Name == 0 || r.Pos < last || r.Pos > lines || r.Flags&model.RecordLine == 0 || r.Start < 0 || r.End < 0 || r.Start >= maxNS || int64(r.AttrHi) < int64(r.AttrLo) {
					t.Fatalf("record %+v after line %d of %d", r, last, lines)
				}
				if r.Start == 0 && r.Flags&model.RecordUnanchored == 0 {
					t.Fatalf("a record without a time: %+v", r)
				}
				last = r.Pos
			}
			if n <= 0 || n > len(rest) || passed != decode.Newlines(rest[:n]) {
				t.Fatalf("%d bytes of %d", n, len(rest))
			}
			seen += int64(len(b.Records))
			line += decode.Newlines(rest[:n])
			rest = rest[n:]
		}
		if rep.Records != seen || rep.Skipped != rep.ErrorCount {
			t.Fatalf("%d records of %d, %d skipped, %d errors", rep.Records, seen, rep.Skipped, rep.ErrorCount)
		}
	})
}

// FuzzLookupHashes: reading ends, and a line is a record or an error.
func FuzzLookupHashes(f *testing.F) {
	f.Add([]byte(`{"timestamp":1764432001.03348,"request_id":"r","chunk_size":256,"seq_len":600,"chunk_hashes":["0x2b86c91f","C5241F03"]}`))
	f.Add([]byte("[{\"request_id\":\"r\",\"chunk_hashes\":[1,null,{}]}]\n{\"chunk_hashes\":[\"0x\"\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := model.NewBatch(model.NewDict(), true)
		var dec HashDecoder
		var rep decode.Report
		dec.Decode(decode.Block{Data: data, Line: 1}, b, &rep)
		if rep.Records != int64(len(b.Records)) || rep.Skipped != rep.ErrorCount {
			t.Fatalf("%d records of %d, %d skipped, %d errors", rep.Records, len(b.Records), rep.Skipped, rep.ErrorCount)
		}
	})
}
